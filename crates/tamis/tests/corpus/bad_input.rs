//! Everything that can be wrong with a corpus: where, why, and what to do.

use tamis::corpus::{Fields, Format, OnError, ReadOptions, Values, open};

use super::{Folder, compressed, read_with};

/// The message for a file with the given content.
fn error_with(name: &str, content: impl AsRef<[u8]>, options: &ReadOptions) -> String {
    let folder = Folder::new();
    let path = folder.file(name, content);
    let error = read_with(&path, options).unwrap_err();
    assert!(error.is_input(), "{error}");
    folder.message(&error)
}

fn error(name: &str, content: impl AsRef<[u8]>) -> String {
    error_with(name, content, &ReadOptions::default())
}

#[test]
fn wrong_types_in_jsonl() {
    let good = "{\"text\": \"a\"}\n".repeat(16);
    let cases = [
        (
            r#"{"text": "a", "labels": ["x", null]}"#,
            r#""labels" must be a list of labels (strings, numbers or booleans), found null in the list"#,
        ),
        (
            r#"{"text": "a", "labels": [["x"]]}"#,
            r#""labels" must be a list of labels (strings, numbers or booleans), found a list in the list"#,
        ),
        (
            r#"{"text": "a", "labels": {"x": 1}}"#,
            r#""labels" must be a list of labels (strings, numbers or booleans), found an object"#,
        ),
        (r#"{"text": "a", "label": {}}"#, r#""label" must be a string, a number or a boolean, found an object"#),
        (r#"{"text": ["a"]}"#, r#""text" must be a string, found a list"#),
        (r#"{"tokens": "a b"}"#, r#""tokens" must be a list of strings, found a string"#),
        (r#"{"counts": {"a": 1.5}}"#, r#""counts" must map terms to whole numbers, found 1.5"#),
        (r#"{"text": "a", "id": 1.5}"#, r#""id" must be a string or a whole number, found a number"#),
        (r#"{"text": "a", "split": "dog"}"#, r#""split" must be train, validation or test, found "dog""#),
        (
            r#"{"text": "a", "date": "5/31/24"}"#,
            r#""date" must be a date such as 2024-05-31 or 31.05.2024, found "5/31/24"; to leave it unread give the option `date_field=`"#,
        ),
        (
            r#"{"id": "a", "body": "words"}"#,
            r#"no "text" or "tokens"; the fields are body, id; name the one with the text with the option `text_field`"#,
        ),
        (
            r#"{"text": null}"#,
            r#"no "text" or "tokens"; the fields are text; name the one with the text with the option `text_field`"#,
        ),
        (r#"{"text": 5, "text": "a"}"#, "a field stands twice in the object"),
        (r#"["a"]"#, r#"expected an object with "text" and "labels", found a list"#),
        (r#"{"text": "a""#, "not JSON: EOF while parsing an object at column 12"),
        (r#"{"text": "a"} {}"#, "not JSON: trailing characters at column 15"),
        (
            "{",
            "not JSON: EOF while parsing an object at column 1; every line must hold one whole object (jq -c '.' or '.[]' writes them so)",
        ),
    ];
    for (line, reason) in cases {
        assert_eq!(error("corpus.jsonl", format!("{good}{line}\n")), format!("corpus.jsonl:17: {reason}"));
    }
}

#[test]
fn empty_corpora() {
    assert_eq!(error("corpus.jsonl", ""), "corpus.jsonl: the file is empty: there is no document to read");
    assert_eq!(
        error("corpus.jsonl.gz", compressed(b"", ".gz")),
        "corpus.jsonl.gz: the file is empty: there is no document to read"
    );
    assert_eq!(
        error("corpus.csv", "text,labels\n"),
        "corpus.csv: there is no document; is the format csv right? Another one is given with the option `from`"
    );
    let folder = Folder::new();
    let message = |error: tamis::Error| folder.message(&error).replace(&folder.path("").display().to_string(), "");
    std::fs::create_dir(folder.path("none")).unwrap();
    let empty = open(&[folder.path("none")], &ReadOptions::default()).unwrap_err();
    assert_eq!(message(empty), "none: the folder is empty: there is no document to read");
    let parts = [folder.file("a.jsonl", ""), folder.file("b.jsonl", "")];
    let empty = open(&parts, &ReadOptions::default()).unwrap_err();
    assert_eq!(message(empty), "the corpus is empty: all 2 files have no content");
    let nothing = open(&[], &ReadOptions::default()).unwrap_err();
    assert_eq!(message(nothing), "no corpus was named; give a file, a folder, - for standard input or synth:topics");
    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    assert_eq!(
        error_with("bad.jsonl", "{}\n{}\n", &skip).split("; the first: ").next(),
        Some("bad.jsonl: all 2 records are malformed")
    );
    let missing = open(&[folder.path("missing.jsonl")], &ReadOptions::default()).unwrap_err();
    assert!(missing.is_input());
    assert_eq!(message(missing), "missing.jsonl: No such file or directory (os error 2)");
}

#[test]
fn no_labels() {
    let folder = Folder::new();
    let path = folder.file("corpus.jsonl", "{\"text\": \"a\"}\n");
    let corpus = open(&[path], &ReadOptions::default()).unwrap();
    let tally = corpus.for_each(|_| Ok(())).unwrap();
    assert_eq!((tally.documents, tally.labelled), (1, 0));
    assert_eq!(
        folder.message(&corpus.no_labels()),
        "corpus.jsonl: no document has a label; name their field with the option `labels_field`; the fields are text"
    );
}

#[test]
fn files_that_are_not_what_their_ending_says() {
    let cases: [(&str, &[u8], &str); 8] = [
        (
            "a.jsonl",
            b"id,text\n1,a\n",
            "the ending says jsonl, but the content looks like csv; rename the file, or give the option `from=csv`",
        ),
        (
            "a.jsonl",
            b"hello\n",
            "the ending says jsonl, but the content begins with \"hello\"; give its format with the option `from`",
        ),
        (
            "a.json",
            b"[{\"text\": \"a\"}]",
            "the ending says jsonl, but the content is one JSON list; write one object in each line (jq -c '.[]')",
        ),
        (
            "a.csv",
            b"{\"text\": \"a\"}\n",
            "the ending says csv, but the content looks like jsonl; rename the file, or give the option `from=jsonl`",
        ),
        (
            "a.sgm",
            b"A 1:2 3:4\n",
            "the ending says reuters, but the content looks like svmlight; rename the file, or give the option `from=svmlight`",
        ),
        (
            "a.parquet",
            b"text,label\n",
            "the ending says parquet, but the content looks like csv; rename the file, or give the option `from=csv`",
        ),
        (
            "a.jsonl.gz",
            b"{\"text\": \"a\"}\n",
            "the ending says gzip, but the content is not compressed; rename the file, or give the option `from`",
        ),
        (
            "a.xyz",
            b"hello\n",
            "neither the ending nor the content tells the format; give it with the option `from` (jsonl csv tsv parquet folders text lines reuters lyrl svmlight fasttext review annif): text is one document, lines is one in each line",
        ),
    ];
    for (name, content, reason) in cases {
        assert_eq!(error(name, content), format!("{name}: {reason}"));
    }
    let forced = ReadOptions { from: Some(Format::Jsonl), ..ReadOptions::default() };
    let folder = Folder::new();
    assert_eq!(read_with(&folder.file("a.csv", "{\"text\": \"a\"}\n"), &forced).unwrap().len(), 1);
    assert_eq!(read_with(&folder.file("a.jsonl.gz", "{\"text\": \"a\"}\n"), &forced).unwrap().len(), 1);
    let folders = ReadOptions { from: Some(Format::Folders), ..ReadOptions::default() };
    assert_eq!(
        error_with("a.csv", "x", &folders),
        "a.csv: the option `from=folders` needs a folder, and this is a file"
    );
}

#[test]
fn folders_that_hold_no_corpus_or_several() {
    let folder = Folder::new();
    folder.file("x/a.jsonl", "{\"text\": \"a\"}\n");
    folder.file("x/b.csv", "text\na\n");
    folder.file("y/README", "hello\n");
    let message = |path: &str, from| {
        let options = ReadOptions { from, ..ReadOptions::default() };
        folder.message(&read_with(&folder.path(path), &options).unwrap_err())
    };
    assert_eq!(
        message("x", None),
        "x: the folder holds files of several formats (jsonl, csv); choose one, as with the option `from=jsonl`"
    );
    assert_eq!(
        message("y", None),
        "y: no corpus was found in the folder; name the file, or give its format with the option `from` (text where every file is a document)"
    );
    assert_eq!(
        message("y", Some(Format::Lyrl)),
        "y: no lyrl file was found in the folder; name the file, or give its format with the option `from` (text where every file is a document)"
    );
    assert_eq!(
        message("y", Some(Format::Folders)),
        "y: no document was found in the folder: expected a folder for each label with files in it"
    );
    let csv = ReadOptions { from: Some(Format::Csv), ..ReadOptions::default() };
    assert_eq!(read_with(&folder.path("x"), &csv).unwrap().len(), 1);
    let mixed = open(&[folder.path("x/a.jsonl"), folder.path("x/b.csv")], &ReadOptions::default()).unwrap_err();
    assert!(folder.message(&mixed).starts_with("x/b.csv: this is csv, but "), "{mixed}");
    assert!(mixed.to_string().ends_with("a.jsonl is jsonl; convert one of them first"), "{mixed}");
}

#[test]
fn truncated_and_damaged_streams() {
    let lines: Vec<String> =
        (0..40_000u64).map(|i| format!("{{\"text\": \"number {i} {}\"}}\n", i * i * 7919)).collect();
    let content = lines.concat();
    for (ending, kind) in [(".gz", "gzip"), (".zst", "zstd"), (".bz2", "bzip2")] {
        let mut bytes = compressed(content.as_bytes(), ending);
        bytes.truncate(bytes.len() - 1000);
        let name = format!("corpus.jsonl{ending}");
        let message = error(&name, &bytes);
        let (place, reason) = message.split_once(": ").unwrap();
        assert!(place.starts_with(&format!("{name}:")), "{message}");
        assert_eq!(reason, format!("the {kind} stream breaks off: the file is truncated; fetch or write it again"));
    }
    // A wrong checksum at the end of gzip, a wrong block in bzip2.
    for (ending, kind, from_end) in [(".gz", "gzip", 8), (".bz2", "bzip2", 5_000)] {
        let mut bytes = compressed(content.as_bytes(), ending);
        let at = bytes.len() - from_end;
        bytes[at..at + 4].fill(0x55);
        let message = error(&format!("corpus.jsonl{ending}"), &bytes);
        assert!(message.contains(&format!(": damaged {kind} stream (")), "{message}");
        assert!(message.ends_with("); fetch or write the file again"), "{message}");
    }
}

#[test]
fn invalid_utf8_names_its_line() {
    assert_eq!(
        error("corpus.jsonl", b"{\"text\": \"a\"}\n{\"text\": \"d\xe9j\xe0\"}\n"),
        "corpus.jsonl:2: not UTF-8: byte 0xe9 at column 12; name the encoding of the file, such as the option `encoding=latin1`"
    );
    assert_eq!(
        error("corpus.csv", b"text\na\nd\xe9\n"),
        "corpus.csv:3: not UTF-8: byte 0xe9 at column 2; name the encoding of the file, such as the option `encoding=latin1`"
    );
    let utf8 = ReadOptions { encoding: Some("utf-8".parse().unwrap()), ..ReadOptions::default() };
    assert_eq!(
        error_with("corpus.jsonl", b"\xff\xfe{\0\"\0", &utf8),
        "corpus.jsonl: the file is UTF-16, not UTF-8; read it with the option `encoding=utf-16`"
    );
    let folder = Folder::new();
    folder.file("x/1", b"fine\nna\xefve\n");
    let message = folder.message(&read_with(&folder.path(""), &ReadOptions::default()).unwrap_err());
    assert_eq!(
        message,
        "x/1:2: not UTF-8: byte 0xef at column 3; name the encoding of the file, such as the option `encoding=latin1`"
    );
    // Only the bad lines are lost when they are skipped.
    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let path = folder.file("y.jsonl", b"{\"text\": \"a\"}\n{\"text\": \"\xe9\"}\n{\"text\": \"b\"}\n");
    let tally = open(&[path], &skip).unwrap().for_each(|_| Ok(())).unwrap();
    assert_eq!((tally.documents, tally.skipped.count), (2, 1));
}

#[cfg(target_os = "linux")]
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

/// 200 MB in one line: a file of 20 kB that would fill the memory.
#[test]
fn a_line_of_200_megabytes() {
    use std::io::Write;
    let folder = Folder::new();
    let path = folder.path("corpus.jsonl.zst");
    let mut out = zstd::Encoder::new(std::fs::File::create(&path).unwrap(), 1).unwrap();
    out.write_all(b"{\"text\": \"before\"}\n{\"text\": \"").unwrap();
    for _ in 0..200 {
        out.write_all(&vec![b'x'; 1_000_000]).unwrap();
    }
    out.write_all(b"\"}\n{\"text\": \"after\"}\n").unwrap();
    out.finish().unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() < 100_000);
    #[cfg(target_os = "linux")]
    let before = peak_memory();
    let message = folder.message(&read_with(&path, &ReadOptions::default()).unwrap_err());
    assert_eq!(
        message,
        "corpus.jsonl.zst:2: the record is longer than 64 MiB; raise the option `max_record` if it is really one document"
    );
    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let ids: Vec<String> = read_with(&path, &skip).unwrap().into_iter().map(|d| d.id.into_owned()).collect();
    assert_eq!(ids, ["corpus:1", "corpus:3"]);
    #[cfg(target_os = "linux")]
    assert!(peak_memory() - before < 100 << 20, "{} MiB", (peak_memory() - before) >> 20);
}

#[test]
fn the_bound_holds_for_every_format() {
    let options = ReadOptions { max_record_bytes: 100, on_error: OnError::Skip, ..ReadOptions::default() };
    let long = "word ".repeat(50);
    let cases = [
        ("a.jsonl", format!("{{\"text\": \"a\"}}\n{{\"text\": \"{long}\"}}\n")),
        ("a.csv", format!("text\na\n{long}\n")),
        ("a.svm", format!("A 1:1\nA {}\n", "1:1 ".repeat(50))),
        ("a.ft", format!("__label__x a\n__label__x {long}\n")),
        ("a.dat", format!(".I 1\n.W\na\n.I 2\n.W\n{long}\n")),
        ("a.sgm", format!("<REUTERS>\n<TEXT>a</TEXT>\n</REUTERS>\n<REUTERS>\n<TEXT>{long}</TEXT>\n</REUTERS>\n")),
        (
            "a.review",
            format!(
                "<review>\n<review_text>a</review_text>\n</review>\n<review>\n<review_text>{long}</review_text>\n</review>\n"
            ),
        ),
    ];
    for (name, content) in cases {
        let folder = Folder::new();
        let path = folder.file(name, content);
        let tally = open(&[path], &options).unwrap().for_each(|_| Ok(())).unwrap();
        assert_eq!((tally.documents, tally.skipped.count), (1, 1), "{name}");
        assert!(tally.skipped.first[0].contains("the record is longer than 100 bytes"), "{name}");
    }
    let folder = Folder::new();
    folder.file("x/bomb", compressed(&vec![b'a'; 50_000_000], ".zst"));
    let message = folder.message(
        &read_with(&folder.path(""), &ReadOptions { max_record_bytes: 1 << 20, ..ReadOptions::default() }).unwrap_err(),
    );
    assert_eq!(
        message,
        "x/bomb: the record is longer than 1 MiB; raise the option `max_record` if it is really one document"
    );
    let none = ReadOptions { max_record_bytes: 0, ..ReadOptions::default() };
    assert_eq!(error_with("a.jsonl", "{}", &none), "the option `max_record=0`: a record needs at least one byte");
}

#[test]
fn csv_records() {
    assert_eq!(
        error("a.csv", "id,body\n1,x\n"),
        "a.csv:1: no column \"text\"; the columns are id, body; name the one with the text with the option `text_field`; where \
         the first row is no header, name the columns with the option `columns=text,label`; the first rows, with \",\" between \
         fields:\n  \"id\" | \"body\"\n  \"1\" | \"x\""
    );
    let fields = Fields { labels: Some("topic".into()), ..Fields::default() };
    let typo = error_with("a.csv", "id,text\n1,x\n", &ReadOptions { fields, ..ReadOptions::default() });
    let expected = "a.csv:1: no column \"topic\" (the option `labels_field`); the columns are id, text; ";
    assert!(typo.starts_with(expected), "{typo}");
    assert_eq!(
        error("a.csv", "id,text\n1,\"x\ny\"\n2,a,b\n"),
        "a.csv:4: 3 fields, but the header has 2; quote fields that hold the delimiter ','; found \"2\" | \"a\" | \"b\""
    );
    assert_eq!(
        error("a.csv", "id,text\n1,x\n2,\"never closed\n3,y\n"),
        "a.csv:3: a quoted field begins in this record and never ends; double the quotes within fields, or read quotes \
         as plain characters with the option `quotes=false`"
    );
    assert_eq!(
        error("a.csv", "text,split\nx,dog\n"),
        "a.csv:2: \"split\" must be train, validation or test, found \"dog\""
    );
    let wide: Vec<String> = (0..20_000).map(|i| format!("column{i}")).collect();
    let message = error("a.csv", format!("{}\n", wide.join(",")));
    assert!(message.contains("and 19970 more") && message.len() < 2_000, "{message}");
}

#[test]
fn a_stray_quote_is_said_with_its_line() {
    let skip = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let documents = |content: &str| {
        let folder = Folder::new();
        let read = read_with(&folder.file("a.csv", content), &skip).unwrap();
        read.into_iter().map(|d| d.id.into_owned()).collect::<Vec<_>>()
    };
    // It closes where the next quoted field opens, and the records between would be gone in silence.
    let swallowing = "id,text\n1,fine\n2,\"5 inch pipe\n3,lost\n4,lost\n5,\"good, old\"\n6,fine\n";
    let message = error("a.csv", swallowing);
    assert!(message.starts_with("a.csv:3: a quote opens a field here and closes 3 lines below"), "{message}");
    assert_eq!(documents(swallowing), ["1", "3", "4", "5", "6"]);
    // No other quote: it would take all the rest.
    assert_eq!(documents("id,text\n1,fine\n2,\"pipe\n3,kept\n4,kept\n"), ["1", "3", "4"]);
    // Lines within quotes that end a field are honest.
    assert_eq!(documents("id,text\n1,\"two\nlines \"\"here\"\"\"\n2,\"x\"\r\n3,y\n"), ["1", "2", "3"]);
    assert_eq!(documents("id,text\n1,say \"hi\" twice\n2,y\n"), ["1", "2"]);
}

#[cfg(target_os = "linux")]
#[test]
fn what_never_ends_is_given_up() {
    for format in [Format::Jsonl, Format::Lines, Format::Text, Format::Csv, Format::Lyrl] {
        let options = ReadOptions {
            from: Some(format),
            on_error: OnError::Skip,
            max_record_bytes: 1 << 20,
            ..ReadOptions::default()
        };
        let error = read_with(std::path::Path::new("/dev/zero"), &options).unwrap_err();
        assert!(error.is_input(), "{format}: {error}");
        let message = error.to_string();
        assert!(
            message.contains("does not end within 256 MiB") || message.contains("malformed"),
            "{format}: {message}"
        );
    }
}

#[test]
fn nul_bytes_are_no_text() {
    let folder = Folder::new();
    folder.file("x/1", b"fine\nhole \0\0\0\0");
    let message = folder.message(&read_with(&folder.path(""), &ReadOptions::default()).unwrap_err());
    assert!(message.starts_with("x/1:2: has NUL bytes: the file has a hole"), "{message}");
    for (name, content) in [
        ("a.csv", "text,label\nfine,x\n\0\0\0,y\n"),
        ("a.ft", "__label__x fine\nfine too\n__label__y \0\0\0\n"),
        ("a.sgm", "<REUTERS>\n<TEXT>a</TEXT>\n</REUTERS>\n<REUTERS>\n<TEXT>\0\0</TEXT>\n</REUTERS>\n"),
        ("a.review", "<review>\n<review_text>\n\0\0</review_text>\n</review>\n"),
        ("a.txt", "fine\n\0\0"),
    ] {
        let message = error(name, content);
        assert!(message.contains("has NUL bytes"), "{message}");
    }
}

#[test]
fn svmlight_records() {
    for value in ["nan", "inf", "-1", "-0.5"] {
        assert_eq!(
            error("a.svm", format!("A 1:1\nB 2:{value}\n")),
            format!("a.svm:2: \"2:{value}\": a value must be a finite number, 0 or more")
        );
    }
    assert_eq!(error("a.svm", "A 1:1\nB 2:x\n"), "a.svm:2: \"2:x\": expected term:value with a number as value");
    assert_eq!(
        error("a.svm", "A 1:1\nB C 2:1\n"),
        "a.svm:2: \"C\": expected term:value; labels stand first, joined by commas"
    );
    let counts = ReadOptions { values: Values::Counts, ..ReadOptions::default() };
    assert_eq!(
        error_with("a.svm", "A 1:0.5\n", &counts),
        "a.svm:1: \"1:0.5\": not a whole number, though the values are read as counts; weights need the option `values=presence`"
    );
}

#[test]
fn records_of_the_collections() {
    assert_eq!(
        error("a.sgm", "<REUTERS NEWID=\"1\">\n<TEXT>a</TEXT>\n</REUTERS>\n<REUTERS NEWID=\"2\">\n<TEXT>b"),
        "a.sgm:4: the story has no </REUTERS>: the file breaks off; fetch it again"
    );
    for (tag, story) in [
        ("TEXT", "<TEXT><TITLE>a</TITLE>b"),
        ("TITLE", "<TEXT><TITLE>a<BODY>b</BODY></TEXT>"),
        ("BODY", "<TEXT><TITLE>a</TITLE><BODY>b</TEXT>"),
        ("TOPICS", "<TOPICS><D>x</D><TEXT>b</TEXT>"),
        ("D", "<TOPICS><D>x</TOPICS><TEXT>b</TEXT>"),
    ] {
        assert_eq!(
            error("a.sgm", format!("<REUTERS NEWID=\"1\">\n{story}\n</REUTERS>\n")),
            format!("a.sgm:1: <{tag}> is not closed: the story is damaged; fetch it again")
        );
    }
    assert_eq!(
        error("a.review", "<review>\n<title>a</title>\n</review>\n"),
        "a.review:1: the review has no whole <review_text>"
    );
    assert_eq!(
        error("a.dat", ".I 1\n.W\na\n.I 2\nb\n"),
        "a.dat:4: expected \".I id\" and then a line \".W\" before the tokens"
    );
    let folder = Folder::new();
    let qrels = folder.file("bad.qrels", "E11 1 1\nE11 2\n");
    let path = folder.file("a.dat", ".I 1\n.W\na\n");
    let options = ReadOptions { qrels: Some(qrels), ..ReadOptions::default() };
    let message = folder.message(&read_with(&path, &options).unwrap_err());
    assert_eq!(message, "bad.qrels:2: expected \"topic id 1\", found \"E11 2\"");
}

#[cfg(not(feature = "parquet"))]
#[test]
fn parquet_needs_its_feature() {
    assert_eq!(
        error("a.parquet", "PAR1"),
        "a.parquet: this build has no Parquet; build with the cargo feature `parquet`, or convert the file to JSONL"
    );
}

#[cfg(feature = "parquet")]
#[test]
fn damaged_parquet() {
    let message = error("a.parquet", "PAR1 and nothing more");
    assert!(message.starts_with("a.parquet: not a whole Parquet file ("), "{message}");
}
