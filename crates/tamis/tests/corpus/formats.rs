//! Every format, plain and compressed, as files, folders and streams.

use std::borrow::Cow;
use std::path::Path;

use tamis::corpus::{
    Body, Document, Fields, Format, OnError, Part, ReadOptions, ReutersLabels, ReutersOptions, ReutersSplit,
    ReviewLabels, Unused, Values, Which, open,
};

use super::{Folder, compressed, corpus, read, read_with};

fn text<'a>(id: &'a str, text: &'a str, labels: &[&'a str]) -> Document<'a> {
    with_body(id, Body::Text(text.into()), labels)
}

fn with_body<'a>(id: &'a str, body: Body<'a>, labels: &[&'a str]) -> Document<'a> {
    let labels = labels.iter().map(|l| Cow::Borrowed(*l)).collect();
    Document { id: id.into(), body, labels, part: None, date: None, weight: None }
}

const REUTERS: &str = r#"<!DOCTYPE lewis SYSTEM "lewis.dtd">
<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN" CGISPLIT="TRAINING-SET" OLDID="5544" NEWID="1">
<DATE>26-FEB-1987 15:01:01.79</DATE>
<TOPICS><D>cocoa</D><D>grain</D></TOPICS>
<PLACES><D>usa</D></PLACES>
<TEXT>&#2;
<TITLE>COCOA &lt;XYZ> REVIEW</TITLE>
<DATELINE>    SALVADOR, Feb 26 - </DATELINE><BODY>Showers continued
in Bahia &amp; elsewhere. Reuter
&#3;</BODY></TEXT>
</REUTERS>
<REUTERS TOPICS="NO" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="5545" NEWID="2">
<DATE>26-FEB-1987 15:02:20.00</DATE>
<TOPICS></TOPICS>
<PLACES></PLACES>
<TEXT TYPE="BRIEF">&#2;
******<TITLE>SHORT NEWS
</TITLE>Blah blah blah.
&#3;
</TEXT>
</REUTERS>
<REUTERS TOPICS="YES" LEWISSPLIT="TEST" CGISPLIT="TRAINING-SET" OLDID="5546" NEWID="3">
<DATE> 1-MAR-1987 15:02:20.00</DATE>
<TOPICS><D>earn</D></TOPICS>
<PLACES></PLACES>
<TEXT TYPE="UNPROC">&#2;
Qtly net 5.10 dlrs
&#3;</TEXT>
</REUTERS>
"#;

const REVIEWS: &str = "<reviews>\n<review>\n<unique_id>\nA1:good:me\n</unique_id>\n<rating>\n5.0\n</rating>\n<title>\nGood \
                       </title>\n<date>\nMay 3, 2006\n</date>\n<review_text>\nVery <b>good</b> & more\n\n</review_text>\n\
                       </review>\n<review>\n<unique_id>\nA2:fine\n</unique_id>\n<rating>\n2.0\n</rating>\n<review_text>\n\
                       Bad\n</review>\n</reviews>\n";

/// One small corpus in each format that is a file: name, content, documents.
fn samples() -> Vec<(&'static str, String, Vec<Document<'static>>)> {
    let mut first =
        text("1", "COCOA <XYZ> REVIEW\nShowers continued\nin Bahia & elsewhere. Reuter", &["cocoa", "grain"]);
    first.part = Some(Part::Train);
    first.date = Some("1987-02-26T15:01:01.79".into());
    let mut brief = text("2", "SHORT NEWS", &[]);
    brief.date = Some("1987-02-26T15:02:20.00".into());
    let mut raw = text("3", "Qtly net 5.10 dlrs", &["earn"]);
    raw.part = Some(Part::Test);
    raw.date = Some("1987-03-01T15:02:20.00".into());
    let mut good = text("A1:good:me", "Good\nVery <b>good</b> & more", &["positive"]);
    good.date = Some("2006-05-03".into());
    let mut dated = text("a", "some \"words\"\nin lines — ünïcode", &["x", "y z"]);
    dated.date = Some("2024-05-31".into());
    dated.part = Some(Part::Test);
    let tokens = |words: &str| Body::Tokens(words.split(' ').map(|w| w.to_owned().into()).collect());
    let counts = |pairs: &[(&'static str, u32)]| Body::Counts(pairs.iter().map(|(t, n)| ((*t).into(), *n)).collect());
    vec![
        (
            "corpus.jsonl",
            "{\"id\": \"a\", \"text\": \"some \\\"words\\\"\\nin lines — ünïcode\", \"labels\": [\" x \", \"y z\", \"x\", \"\"], \
             \"split\": \"test\", \"date\": \"2024-05-31\", \"more\": {\"deep\": [1, 2]}}\r\n\n\
             {\"id\": 7, \"tokens\": [\"b\", \"c\"], \"label\": \"z\"}\n\
             {\"counts\": {\"q\": 2, \"r\": 1}, \"labels\": null}"
                .into(),
            vec![dated.clone(), with_body("7", tokens("b c"), &["z"]), with_body("corpus:4", counts(&[("q", 2), ("r", 1)]), &[])],
        ),
        (
            "corpus.csv",
            "id,split,date,text,labels,other\na,test,2024-05-31,\"some \"\"words\"\"\nin lines — ünïcode\",x; y z;;x,1\n\
             ,,,plain 5\" text,,\n"
                .into(),
            vec![dated.clone(), text("corpus:4", "plain 5\" text", &[])],
        ),
        (
            "corpus.tsv",
            "Label\tText\nx\thello, you\r\n\tbye\r\n".into(),
            vec![text("corpus:2", "hello, you", &["x"]), text("corpus:3", "bye", &[])],
        ),
        ("reut.sgm", REUTERS.into(), vec![first, brief, raw]),
        (
            "tokens.dat",
            ".I 2286\n.W\nrecov recov excit\nbring\n\n.I 2287\n.W\nuncollect\n".into(),
            vec![with_body("2286", tokens("recov recov excit bring"), &["E11", "ECAT"]), with_body("2287", tokens("uncollect"), &[])],
        ),
        (
            "corpus.svm",
            "# from tests\nC11,CCAT 440:3 587:1 # a comment\n 12:2\nM11\n5:1\n".into(),
            vec![
                with_body("corpus:2", counts(&[("440", 3), ("587", 1)]), &["C11", "CCAT"]),
                with_body("corpus:3", counts(&[("12", 2)]), &[]),
                with_body("corpus:4", counts(&[]), &["M11"]),
                with_body("corpus:5", counts(&[("5", 1)]), &[]),
            ],
        ),
        (
            "corpus.txt",
            "__label__x __label__y Hello there\nno label here\n__label__x one __label__z two\n".into(),
            vec![
                text("corpus.txt:1", "Hello there", &["x", "y"]),
                text("corpus.txt:2", "no label here", &[]),
                text("corpus.txt:3", "one two", &["x", "z"]),
            ],
        ),
        ("positive.review", REVIEWS.into(), vec![good, text("A2:fine", "Bad", &["positive"])]),
    ]
}

#[test]
fn every_format_in_every_compression() {
    for (name, content, expected) in samples() {
        for ending in ["", ".gz", ".zst", ".bz2"] {
            let folder = Folder::new();
            folder.file("topics.qrels", "E11 2286 1\nECAT 2286 1\nE11 9999 1\n");
            let path = folder.file(&format!("{name}{ending}"), compressed(content.as_bytes(), ending));
            assert_eq!(read(&path), expected, "{name}{ending}");
            // The content tells it too, whatever the file is called.
            let disguised = folder.file("disguised", compressed(content.as_bytes(), ending));
            if !matches!(name, "positive.review" | "tokens.dat") {
                assert_eq!(corpus(&disguised).format(), corpus(&path).format(), "{name}{ending}");
            }
        }
    }
}

#[test]
fn a_byte_order_mark_is_not_text() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "\u{feff}text,labels\nhello,x\n");
    assert_eq!(read(&path), [text("a:2", "hello", &["x"])]);
    let path = folder.file("b/x/1", "\u{feff}hello");
    assert_eq!(read(path.parent().unwrap().parent().unwrap()), [text("x/1", "hello", &["x"])]);
}

#[test]
fn other_encodings_are_named() {
    let folder = Folder::new();
    let content = "{\"text\": \"déjà vu\"}\n";
    let latin1: Vec<u8> = content.chars().map(|c| c as u8).collect();
    let utf16: Vec<u8> = "\u{feff}".chars().chain(content.chars()).flat_map(|c| (c as u16).to_le_bytes()).collect();
    for (name, bytes, encoding) in
        [("a", latin1.clone(), "latin1"), ("b", utf16, "utf-16"), ("c", latin1, "windows-1252")]
    {
        for ending in ["", ".gz"] {
            let path = folder.file(&format!("{name}.jsonl{ending}"), compressed(&bytes, ending));
            let options = ReadOptions { encoding: Some(encoding.parse().unwrap()), ..ReadOptions::default() };
            assert_eq!(read_with(&path, &options).unwrap(), [text(&format!("{name}:1"), "déjà vu", &[])]);
        }
    }
}

#[test]
fn a_folder_for_each_label() {
    let folder = Folder::new();
    folder.file("README", "not a document");
    folder.file("alt.atheism/1", "one");
    folder.file("alt.atheism/.hidden", "no");
    folder.file("comp/graphics/1.gz", compressed(b"two", ".gz"));
    folder.file("comp/1", "");
    let root = folder.path("");
    assert_eq!(corpus(&root).format(), Some(Format::Folders));
    let expected = [
        text("alt.atheism/1", "one", &["alt.atheism"]),
        text("comp/1", "", &["comp"]),
        text("comp/graphics/1.gz", "two", &["comp/graphics"]),
    ];
    assert_eq!(read(&root), expected);
}

#[test]
fn folders_train_and_test_are_parts() {
    for (train, test) in [("train", "test"), ("training", "test")] {
        let folder = Folder::new();
        folder.file(&format!("{train}/a/1"), "one");
        folder.file(&format!("{test}/a/1"), "two");
        let parts: Vec<_> = read(&folder.path("")).into_iter().map(|d| (d.id.into_owned(), d.labels, d.part)).collect();
        let mut expected = vec![
            (format!("{test}/a/1"), vec!["a".into()], Some(Part::Test)),
            (format!("{train}/a/1"), vec!["a".into()], Some(Part::Train)),
        ];
        expected.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(parts, expected);
    }
    let folder = Folder::new();
    folder.file("test/1", "one");
    folder.file("news/1", "two");
    let labels: Vec<_> = read(&folder.path("")).into_iter().map(|d| (d.labels, d.part)).collect();
    assert_eq!(labels, [(vec!["news".into()], None), (vec!["test".into()], None)], "a label may be called test");
    let folder = Folder::new();
    folder.file("train/part.jsonl", "{\"text\": \"a\"}\n");
    folder.file("test/part.jsonl", "{\"text\": \"b\"}\n");
    let parts: Vec<_> = read(&folder.path("")).into_iter().map(|d| (d.id, d.part)).collect();
    assert_eq!(parts, [("test/part:1".into(), Some(Part::Test)), ("train/part:1".into(), Some(Part::Train))]);
}

#[test]
fn several_files_are_one_corpus_with_distinct_ids() {
    let folder = Folder::new();
    let a = folder.file("a/part.jsonl", "{\"text\": \"1\"}\n{\"text\": \"2\"}\n");
    let b = folder.file("b/part.jsonl.gz", compressed(b"{\"text\": \"3\"}\n", ".gz"));
    folder.file("b/empty.jsonl", "");
    let ids = |paths: &[std::path::PathBuf]| {
        let mut ids = Vec::new();
        let corpus = open(paths, &ReadOptions::default()).unwrap();
        let push = |d: Document<'_>| {
            ids.push(d.id.into_owned());
            Ok(())
        };
        corpus.for_each(push).unwrap();
        ids
    };
    assert_eq!(ids(&[b.clone(), a.clone()]), ["b/part:1", "a/part:1", "a/part:2"]);
    assert_eq!(ids(std::slice::from_ref(&a)), ["part:1", "part:2"]);
    assert_eq!(ids(&[folder.path("")]), ["a/part:1", "a/part:2", "b/part:1"]);
    let twice = open(&[a.clone(), a], &ReadOptions::default()).unwrap_err();
    assert_eq!(folder.message(&twice), "a/part.jsonl: the file is given twice");
}

#[test]
fn a_taxonomy_beside_the_corpus_is_not_a_corpus() {
    let folder = Folder::new();
    folder.file("corpus.jsonl", "{\"text\": \"1\"}\n");
    folder.file("topics.taxonomy.tsv", "a\tb\n");
    folder.file("LICENSE", "free");
    assert_eq!(corpus(&folder.path("")).format(), Some(Format::Jsonl));
}

#[test]
fn fields_have_the_names_the_user_gives() {
    let folder = Folder::new();
    let path =
        folder.file("a.jsonl", "{\"body\": \"words\", \"text\": 3, \"cat\": \"x|y\", \"key\": \"k\", \"date\": 5}\n");
    let name = |name: &str| Some(name.to_owned());
    let fields =
        Fields { text: name("body"), labels: name("cat"), id: name("key"), date: name(""), ..Fields::default() };
    let options = ReadOptions { fields, label_separator: "|".into(), ..ReadOptions::default() };
    assert_eq!(read_with(&path, &options).unwrap(), [text("k", "words", &["x|y"])]);
    let path = folder.file("a.csv", "key,cat,body\nk,x|y,words\n");
    let fields = Fields { date: None, ..options.fields };
    let options = ReadOptions { fields, ..options };
    assert_eq!(read_with(&path, &options).unwrap(), [text("k", "words", &["x", "y"])]);
}

#[test]
fn csv_without_quotes_takes_them_as_they_are() {
    let folder = Folder::new();
    let path = folder.file("a.tsv", "text\tlabel\n\"quoted\tx\nplain\ty\n");
    let options = ReadOptions { quotes: false, ..ReadOptions::default() };
    assert_eq!(read_with(&path, &options).unwrap(), [text("a:2", "\"quoted", &["x"]), text("a:3", "plain", &["y"])]);
}

#[test]
fn weights_say_only_presence() {
    let folder = Folder::new();
    let path = folder.file("a.svm", "A 1:0.5 2:0 3:7\n");
    let presence = with_body("a:1", Body::Counts(vec![("1".into(), 1), ("3".into(), 1)]), &["A"]);
    assert_eq!(read(&path), [presence]);
    let counts = folder.file("b.svm", "A 1:5 3:7.0\n");
    let options = ReadOptions { values: Values::Presence, ..ReadOptions::default() };
    let expected = |n, m| with_body("b:1", Body::Counts(vec![("1".into(), n), ("3".into(), m)]), &["A"]);
    assert_eq!(read(&counts), [expected(5, 7)]);
    assert_eq!(read_with(&counts, &options).unwrap(), [expected(1, 1)]);
}

#[test]
fn weights_are_taken_as_they_are() {
    let folder = Folder::new();
    let path = folder.file("a.svm", "A 1:0.0377 2:0 3:7 4:0.00001\nB 1:1\n");
    let options = ReadOptions { values: Values::Weights, ..ReadOptions::default() };
    let expected = [
        with_body("a:1", Body::Counts(vec![("1".into(), 377), ("3".into(), 70_000), ("4".into(), 1)]), &["A"]),
        with_body("a:2", Body::Counts(vec![("1".into(), 10_000)]), &["B"]),
    ];
    assert_eq!(read_with(&path, &options).unwrap(), expected);
    for (line, reason) in [("A 1:500000\n", "a weight is at most"), ("A 1:-1\n", "0 or more"), ("A 1:x\n", "a number")]
    {
        let path = folder.file("b.svm", line);
        let error = read_with(&path, &options).unwrap_err().to_string();
        assert!(error.contains("b.svm:1") && error.contains(reason), "{error}");
    }
}

/// Counts of a few documents come back from weights with six digits; that many documents do is tested where it is solved.
#[test]
fn counts_are_recovered_from_ltc_weights() {
    let counts: [&[u32]; 6] =
        [&[1, 2, 1, 0, 1], &[3, 1, 0, 1, 1], &[1, 0, 1, 2, 1], &[0, 1, 4, 1, 0], &[1, 1, 0, 0, 2], &[2, 0, 1, 1, 0]];
    let df = |t: usize| counts.iter().filter(|row| row[t] > 0).count() as f64;
    let mut text = String::new();
    for row in counts {
        let weight = |t: usize| if row[t] == 0 { 0.0 } else { (1.0 + f64::from(row[t]).ln()) * (7.0 / df(t)).ln() };
        let norm = (0..5).map(|t| weight(t).powi(2)).sum::<f64>().sqrt();
        text.push('A');
        (0..5).filter(|&t| row[t] > 0).for_each(|t| text.push_str(&format!(" {}:{:.6}", t + 1, weight(t) / norm)));
        text.push('\n');
    }
    let folder = Folder::new();
    let path = folder.file("a.svm", &text);
    let options = ReadOptions { values: Values::Ltc, ..ReadOptions::default() };
    for (document, row) in read_with(&path, &options).unwrap().into_iter().zip(counts) {
        let Body::Counts(found) = document.body else { panic!("counts") };
        let found: Vec<u32> = found.into_iter().map(|(_, count)| count).collect();
        let expected: Vec<u32> = row.iter().copied().filter(|count| *count > 0).collect();
        assert_eq!(found, expected);
    }
    let wrong = folder.file("b.svm", "A 1:0.5 2:x\n");
    assert!(read_with(&wrong, &options).unwrap_err().to_string().contains("b.svm:1"));
}

#[test]
fn reuters_splits_and_categories() {
    let folder = Folder::new();
    let path = folder.file("reut2-000.sgm", REUTERS);
    let with = |split, labels, unused| {
        let options = ReadOptions { reuters: ReutersOptions { split, labels, unused }, ..ReadOptions::default() };
        let documents = read_with(&path, &options).unwrap();
        documents.into_iter().map(|d| (d.id.into_owned(), d.part, d.labels.join(","))).collect::<Vec<_>>()
    };
    let row = |id: &str, part, labels: &str| (id.to_owned(), part, labels.to_owned());
    assert_eq!(
        with(ReutersSplit::ModApte, ReutersLabels::Places, Unused::Drop),
        [row("1", Some(Part::Train), "usa"), row("3", Some(Part::Test), "")]
    );
    assert_eq!(
        with(ReutersSplit::ModLewis, ReutersLabels::Topics, Unused::Drop),
        [
            row("1", Some(Part::Train), "cocoa,grain"),
            row("2", Some(Part::Test), ""),
            row("3", Some(Part::Test), "earn")
        ]
    );
    assert_eq!(
        with(ReutersSplit::None, ReutersLabels::Topics, Unused::Drop),
        [row("1", None, "cocoa,grain"), row("2", None, ""), row("3", None, "earn")]
    );
}

#[test]
fn stray_latin1_in_reuters_and_reviews() {
    let folder = Folder::new();
    let mut bytes = REVIEWS.as_bytes().to_vec();
    let at = REVIEWS.find("Bad").unwrap();
    bytes[at + 1] = 0xe4;
    let path = folder.file("all.review", &bytes);
    let documents = read(&path);
    assert_eq!(documents[1].body, Body::Text("Bäd".into()));
    assert_eq!(documents.iter().map(|d| d.labels.join(",")).collect::<Vec<_>>(), ["positive", "negative"], "by rating");
    let stars = ReadOptions { review_labels: ReviewLabels::Stars, ..ReadOptions::default() };
    let documents = read_with(&path, &stars).unwrap();
    assert_eq!(documents.iter().map(|d| d.labels.join(",")).collect::<Vec<_>>(), ["5", "2"]);
    let reuters = REUTERS.replace("Showers", "Showérs").replace('é', "\u{fffd}");
    let bytes: Vec<u8> = reuters.chars().map(|c| if c == '\u{fffd}' { 0xfc } else { c as u8 }).collect();
    let path = folder.file("r.sgm", bytes);
    assert!(matches!(&read(&path)[0].body, Body::Text(text) if text.contains("Showürs")));
}

#[test]
fn lyrl_parts_and_qrels_elsewhere() {
    let folder = Folder::new();
    let qrels = folder.file("topics/rcv1.gz", compressed(b"C15 5 1\nCCAT 5 1\nC15 6 0\n", ".gz"));
    folder.file("tokens/lyrl2004_tokens_train.dat", ".I 5\n.W\na b\n");
    folder.file("tokens/lyrl2004_tokens_test_pt0.dat", ".I 6\n.W\nc\n");
    let options = ReadOptions { qrels: Some(qrels), ..ReadOptions::default() };
    let documents = read_with(&folder.path("tokens"), &options).unwrap();
    let rows: Vec<_> = documents.into_iter().map(|d| (d.id.into_owned(), d.labels.join(","), d.part)).collect();
    let expected = [("6", "", Some(Part::Test)), ("5", "C15,CCAT", Some(Part::Train))];
    assert_eq!(rows, expected.map(|(id, labels, part)| (id.to_owned(), labels.to_owned(), part)));
}

#[test]
fn blocks_do_not_show() {
    // More than a block of every record format: nothing is lost or doubled where blocks meet, and ids keep their lines.
    let folder = Folder::new();
    let words = |i: usize| format!("word{i} ").repeat(1 + i % 97);
    let n = 9_000;
    let make = |record: &dyn Fn(usize) -> String| (0..n).map(record).collect::<String>();
    let files = [
        ("a.jsonl", make(&|i| format!("{{\"id\": \"{i}\", \"text\": \"{}\", \"label\": \"l\"}}\n", words(i)))),
        ("a.csv", "id,label,text\n".to_owned() + &make(&|i| format!("{i},l,\"{}\n\"\"{i}\"\"\"\n", words(i)))),
        ("a.dat", make(&|i| format!(".I {i}\n.W\n{}\n\n", words(i)))),
        (
            "a.sgm",
            make(&|i| {
                format!("<REUTERS NEWID=\"{i}\">\n<TEXT><BODY>{}</BODY></TEXT>\n</REUTERS>\n", words(i))
                    .replace("<REUTERS ", "<REUTERS X=\"\" ")
            }),
        ),
        (
            "a.review",
            make(&|i| {
                format!("<review>\n<unique_id>{i}</unique_id>\n<review_text>{}</review_text>\n</review>\n", words(i))
            }),
        ),
    ];
    for (name, content) in files {
        assert!(content.len() > 3 * tamis::corpus::BATCH_BYTES, "{name} is large enough");
        let documents = read(&folder.file(name, &content));
        assert_eq!(documents.len(), n, "{name}");
        for (i, document) in documents.iter().enumerate() {
            assert_eq!(document.id, i.to_string(), "{name}");
            let count = match &document.body {
                Body::Text(text) => text.matches("word").count(),
                Body::Tokens(tokens) => tokens.len(),
                Body::Counts(_) | Body::Fields(_) => unreachable!(),
            };
            assert_eq!(count, 1 + i % 97, "{name} {i}");
        }
    }
}

#[test]
fn batches_are_parsed_anywhere_with_the_same_result() {
    let folder = Folder::new();
    let lines: Vec<String> =
        (0..20_000).map(|i| format!("{{\"text\": \"{}\"}}\n", "a b ".repeat(1 + i % 50))).collect();
    let path = folder.file("a.jsonl", lines.concat());
    let corpus = corpus(&path);
    let mut batches = corpus.batches().unwrap();
    let mut all = Vec::new();
    while let Some(batch) = batches.next_batch().unwrap() {
        all.push(batch);
    }
    assert!(all.len() > 2);
    let ids: Vec<Vec<String>> = std::thread::scope(|scope| {
        let visit = |batch: Box<dyn tamis::corpus::Batch>| {
            let mut ids = Vec::new();
            batch.visit(&mut |d| {
                ids.push(d.unwrap().id.into_owned());
                std::ops::ControlFlow::Continue(())
            });
            ids
        };
        let threads: Vec<_> = all.into_iter().rev().map(|batch| scope.spawn(move || visit(batch))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let ids: Vec<String> = ids.into_iter().rev().flatten().collect();
    assert_eq!(ids, read(&path).into_iter().map(|d| d.id.into_owned()).collect::<Vec<_>>());
}

#[cfg(unix)]
#[test]
fn a_stream_is_read_once() {
    let folder = Folder::new();
    let path = folder.path("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    let write = |path: &Path| {
        let path = path.to_owned();
        std::thread::spawn(move || std::fs::write(path, compressed(b"{\"text\": \"a\"}\n{\"text\": \"b\"}\n", ".zst")))
    };
    let writer = write(&path);
    let corpus = corpus(&path);
    assert_eq!(corpus.format(), Some(Format::Jsonl));
    assert!(!corpus.is_rereadable());
    assert_eq!(corpus.for_each(|_| Ok(())).unwrap().documents, 2);
    writer.join().unwrap().unwrap();
    let again = corpus.for_each(|_| Ok(())).unwrap_err();
    assert_eq!(
        folder.message(&again),
        "pipe: the stream was read already and cannot be read again; save it to a file first"
    );
}

#[test]
fn malformed_records_can_be_skipped() {
    let folder = Folder::new();
    let mut content = String::from("{\"text\": \"a\", \"label\": \"x\"}\n");
    for _ in 0..7 {
        content.push_str("{\"text\": 5}\n");
    }
    content.push_str("{\"text\": \"b\"}\n");
    let path = folder.file("a.jsonl", content);
    let options = ReadOptions { on_error: OnError::Skip, ..ReadOptions::default() };
    let tally = open(&[path], &options).unwrap().for_each(|_| Ok(())).unwrap();
    assert_eq!((tally.documents, tally.labelled, tally.skipped.count), (2, 1, 7));
    let shown = tally.skipped.to_string().replace(&format!("{}/", folder.path("").display()), "");
    let shown = shown.replace(&folder.path("").display().to_string(), "");
    assert!(
        shown.starts_with("7 malformed records skipped\n  a.jsonl:2: \"text\" must be a string, found a number\n"),
        "{shown}"
    );
    assert!(shown.ends_with("\n  and 2 more"), "{shown}");
}

#[test]
fn numbers_and_booleans_are_labels() {
    let folder = Folder::new();
    let lines = [
        (r#"{"text": "a", "label": 3}"#, vec!["3"]),
        (r#"{"text": "a", "label": -3}"#, vec!["-3"]),
        (r#"{"text": "a", "label": 2.0}"#, vec!["2"]),
        (r#"{"text": "a", "label": 0.5}"#, vec!["0.5"]),
        (r#"{"text": "a", "label": -0.0}"#, vec!["0"]),
        (r#"{"text": "a", "label": true}"#, vec!["true"]),
        (r#"{"text": "a", "labels": [1, "x", false, 1]}"#, vec!["1", "x", "false"]),
        (r#"{"text": "a", "labels": 18446744073709551615}"#, vec!["18446744073709551615"]),
        (r#"{"text": "a", "labels": null}"#, vec![]),
    ];
    let path = folder.file("a.jsonl", lines.clone().map(|(line, _)| line).join("\n"));
    for (document, (line, labels)) in read(&path).iter().zip(&lines) {
        assert_eq!(&document.labels, labels, "{line}");
    }
    let path = folder.file("a.csv", "text,label\na,1\nb,true\nc,0.50\n");
    assert_eq!(read(&path).iter().map(|d| d.labels.join("|")).collect::<Vec<_>>(), ["1", "true", "0.50"]);
}

fn with_columns(names: &str) -> ReadOptions {
    ReadOptions { columns: names.split(',').map(str::to_owned).collect(), ..ReadOptions::default() }
}

#[test]
fn csv_as_the_world_writes_it() {
    let folder = Folder::new();
    let plain =
        read(&folder.file("a.csv", "id,text,label,date\n1,\"Hello, you; there\",x,2024-05-31\n2,b,y,2024-06-01\n"));
    assert_eq!((plain.len(), plain[0].labels.join("|")), (2, "x".to_owned()));
    let excel = "id;text;label;date\r\n1;Hello, you; there;x;31.05.2024\r\n2;b;y;1.6.2024\r\n"
        .replace("Hello, you; there", "\"Hello, you; there\"");
    let utf16 = |text: &str, mark: &[u8], bytes: fn(u16) -> [u8; 2]| {
        [mark.to_vec(), text.encode_utf16().flat_map(bytes).collect()].concat()
    };
    for content in [
        excel.as_bytes().to_vec(),
        format!("\u{feff}{excel}").into_bytes(),
        format!("sep=;\r\n{excel}").into_bytes(),
        excel.replace(';', "\t").replace("you\t", "you;").into_bytes(),
        excel.replace(';', "|").replace("you|", "you;").into_bytes(),
        utf16(&excel, b"\xff\xfe", u16::to_le_bytes),
        utf16(&excel, b"\xfe\xff", u16::to_be_bytes),
        excel
            .to_uppercase()
            .replace("HELLO, YOU; THERE", "Hello, you; there")
            .replace(";B;Y", ";b;y")
            .replace(";X;", ";x;")
            .into_bytes(),
    ] {
        assert_eq!(read(&folder.file("a.csv", &content)), plain, "{:?}", String::from_utf8_lossy(&content));
    }
    // The same without a name that says so.
    assert_eq!(read(&folder.file("a", &excel))[0].body, plain[0].body);
    let bars = ReadOptions { delimiter: Some('!'), ..ReadOptions::default() };
    assert_eq!(read_with(&folder.file("a.csv", "text!label\na;b,c!x\n"), &bars).unwrap()[0].labels, ["x"]);
}

#[test]
fn csv_without_a_header() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "1,\"Hello, you\",x\n2,b,y\n");
    let documents = read_with(&path, &with_columns("id,text,label")).unwrap();
    assert_eq!(
        documents.iter().map(|d| (&*d.id, d.labels.join("|"))).collect::<Vec<_>>(),
        [("1", "x".to_owned()), ("2", "y".to_owned())]
    );
    // Columns without a name are passed over, and names of one's own are found by the options for fields.
    let fields = Fields { text: Some("body".into()), ..Fields::default() };
    let options = ReadOptions { fields, ..with_columns(",body,label") };
    assert_eq!(read_with(&path, &options).unwrap()[1].id, "a:2");
    // A header that is there after all is no document.
    let path = folder.file("b.csv", "id,Text,label\n1,a,x\n");
    assert_eq!(read_with(&path, &with_columns("id,text,label")).unwrap().len(), 1);
    let path = folder.file("c.tsv", "a, b\tx\nc\ty\n");
    assert_eq!(read_with(&path, &with_columns("text,label")).unwrap()[0].labels, ["x"]);
}

#[test]
fn plain_texts() {
    let folder = Folder::new();
    let path = folder.file("new.txt", "Dear sir, thank you\nfor the fish");
    let documents = read(&path);
    assert_eq!(documents.len(), 1);
    assert_eq!((&*documents[0].id, documents[0].labels.len()), ("new.txt", 0));
    assert_eq!(documents[0].body, Body::Text("Dear sir, thank you\nfor the fish".into()));
    assert_eq!(corpus(&path).format(), Some(Format::Text));
    let lines = ReadOptions { from: Some(Format::Lines), ..ReadOptions::default() };
    let ids = |documents: Vec<Document<'_>>| documents.iter().map(|d| d.id.to_string()).collect::<Vec<_>>();
    let path = folder.file("lines.txt", "one, two\n\n three \n");
    assert_eq!(ids(read_with(&path, &lines).unwrap()), ["lines.txt:1", "lines.txt:3"]);
    // Several, and a folder of them, with an empty one and a note.
    folder.file("flat/a.txt", "a");
    folder.file("flat/b.txt", "");
    assert_eq!(ids(read(&folder.path("flat"))), ["a.txt", "b.txt"]);
    let both = open(&[folder.path("flat/a.txt"), folder.path("new.txt")], &ReadOptions::default()).unwrap();
    assert_eq!(ids(both.first(9, &tamis::terms::TextOptions::default()).unwrap()), ["a.txt", "new.txt"]);
    // A folder of folders has labels, as ever.
    folder.file("deep/x/a.txt", "a");
    folder.file("deep/y/b.txt", "b");
    assert_eq!(read(&folder.path("deep"))[1].labels, ["y"]);
    // Files of another format are the corpus, and a text beside them is a note.
    folder.file("mixed/a.jsonl", "{\"text\": \"a\"}\n");
    folder.file("mixed/README.txt", "about, this");
    assert_eq!(corpus(&folder.path("mixed")).format(), Some(Format::Jsonl));
    // Prose that begins like data.
    for prose in ["12:30 the train left", "9:30\nx", "{curly} braces", "A 1:2\nB"] {
        assert_eq!(corpus(&folder.file("odd.txt", prose)).format(), Some(Format::Text), "{prose}");
    }
    assert_eq!(corpus(&folder.file("ft.txt", "__label__x a b\n")).format(), Some(Format::FastText));
    assert_eq!(corpus(&folder.file("j.txt", "{\"text\": \"a\"}\n")).format(), Some(Format::Jsonl));
    assert_eq!(corpus(&folder.file("s.txt", "x 1:2 3:1 7:1\n")).format(), Some(Format::SvmLight));
}

#[test]
fn a_document_by_id_or_number() {
    let folder = Folder::new();
    let corpus = corpus(&folder.file("a.jsonl", "{\"id\": \"x\", \"text\": \"a\"}\n{\"id\": 7, \"text\": \"b\"}\n"));
    let text = tamis::terms::TextOptions::default();
    let id = |which: Which| corpus.document(&which, &text).map(|d| d.id.into_owned());
    assert_eq!(id(Which::Id("7".into())).unwrap(), "7");
    assert_eq!(id(Which::Number(1)).unwrap(), "x");
    let error = id(Which::Number(3)).unwrap_err();
    assert_eq!(
        folder.message(&error),
        "a.jsonl: there is no document 3; there are 2 documents, the first ids are x, 7"
    );
    let error = id(Which::Only).unwrap_err();
    assert!(
        folder.message(&error).starts_with("a.jsonl: has several documents; choose one with the option `id`"),
        "{error}"
    );
    assert!(id(Which::Id("y".into())).unwrap_err().to_string().contains("no document has the id \"y\""));
}

#[test]
fn annifs_corpora_are_read() {
    let folder = Folder::new();
    let path = folder.file("corpus.tsv", "A text about cats\t<http://x.org/1> <http://x.org/2>\nNothing of note\t\n");
    let opened = corpus(&path);
    assert_eq!(opened.format(), Some(Format::Annif));
    let documents = read(&path);
    assert_eq!(documents[0].labels, ["http://x.org/1", "http://x.org/2"]);
    assert_eq!(documents[0].body, Body::Text("A text about cats".into()));
    assert!(documents[1].labels.is_empty());
    // A folder of texts with their subjects beside them.
    folder.file("texts/a.txt", "cats and dogs");
    folder.file("texts/a.key", "cats\ndogs\n\n");
    folder.file("texts/b.txt", "birds");
    folder.file("texts/b.tsv", "<http://x.org/birds>\tbirds\n");
    folder.file("texts/c.txt", "something");
    let documents = read(&folder.path("texts"));
    let labels: Vec<Vec<String>> =
        documents.iter().map(|d| d.labels.iter().map(ToString::to_string).collect()).collect();
    assert_eq!(labels, [vec!["cats".to_owned(), "dogs".into()], vec!["http://x.org/birds".into()], vec![]]);
    assert_eq!(documents[1].body, Body::Text("birds".into()));
    // What is wrong is named.
    folder.file("bad.tsv", "cats\t<http://a>\ndogs\thttp://b\n");
    let error = read_with(&folder.path("bad.tsv"), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains(":2") && error.contains("<uri>"), "{error}");
}
