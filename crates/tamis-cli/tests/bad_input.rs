//! What a user sees when something is wrong with the input: exit code 2, a message that names the place and what to do,
//! and nothing written.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod common;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use common::{Folder, READERS, SMALL, out, says, warned};

/// Each reader refuses the corpus; outputs that are there already stay as they are.
fn refused_by_all(folder: &Folder, corpus: &str, parts: &[&str]) {
    for name in ["written.jsonl", "written.counts", "written.model"] {
        folder.file(name, "what was here before");
    }
    for command in READERS {
        says(&folder.refused(&command.replace("CORPUS", corpus)), parts);
    }
    for name in ["written.jsonl", "written.counts", "written.model"] {
        std::fs::remove_file(folder.path(name)).unwrap();
    }
    for command in READERS {
        says(&folder.refused(&command.replace("CORPUS", corpus)), parts);
    }
}

/// `SMALL` with line `number` replaced.
fn with_line(number: usize, line: &str) -> String {
    let mut lines: Vec<&str> = SMALL.lines().collect();
    lines[number - 1] = line;
    lines.join("\n") + "\n"
}

#[test]
fn a_malformed_record_names_file_and_line() {
    let folder = Folder::new();
    folder.file("bad.jsonl", with_line(3, r#"{"id":"3","text":"stars","labels":{}}"#));
    refused_by_all(&folder, "bad.jsonl", &[r#"bad.jsonl:3: "labels" must be a list of labels"#, "found an object"]);
    folder.file("bad.jsonl", with_line(5, r#"{"id":"5","text":"#));
    refused_by_all(&folder, "bad.jsonl", &["bad.jsonl:5: not JSON"]);
    folder.file("bad.csv", "id,text,labels\n1,goals,sport\n2,stars\n");
    refused_by_all(&folder, "bad.csv", &["bad.csv:3: "]);
}

#[test]
fn a_malformed_record_stops_classify_and_evaluate() {
    let folder = Folder::with_model();
    folder.file("bad.jsonl", with_line(3, r#"{"id":"3","text":5}"#));
    let output = folder.run("classify small.model bad.jsonl");
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &[r#"bad.jsonl:3: "text" must be a string, found a number"#]);
    says(&folder.refused("evaluate small.model bad.jsonl"), &["bad.jsonl:3: "]);
    says(&folder.refused("compare small.model small.model bad.jsonl"), &["bad.jsonl:3: "]);
}

#[test]
fn skipping_counts_and_reports() {
    let folder = Folder::with_model();
    let bad = with_line(3, r#"{"id":"3","text":5}"#).replace("goals match referee", "goals \\u12 referee");
    folder.file("bad.jsonl", bad);
    for command in READERS.iter().chain(&["classify small.model CORPUS", "evaluate small.model CORPUS"]) {
        // Four documents are too few for choices by cross-validation.
        if *command == "fit CORPUS -o written.model" {
            continue;
        }
        let command = command.replace("CORPUS", "bad.jsonl") + " --on-error skip";
        let message = warned(&command, &folder.run(&command));
        says(&message, &["2 malformed records skipped", "bad.jsonl:3: ", "bad.jsonl:5: "]);
        assert!(folder.run(&(command + " -q")).stderr.is_empty());
    }
    assert_eq!(folder.text("written.jsonl").lines().count(), 4);
    assert_eq!(folder.json_lines("classify small.model bad.jsonl --on-error skip -q").len(), 4);
    let facts = folder.json("inspect written.counts --format json");
    assert_eq!(facts["documents"], 4);
}

#[test]
fn only_malformed_records_is_an_error_even_when_skipping() {
    let folder = Folder::new();
    folder.file("bad.jsonl", "{\"text\":5}\n{\"text\":6}\n");
    for command in ["inspect", "rank --by df", "fit -o m", "count -o c"] {
        says(
            &folder.refused(&format!("{command} bad.jsonl --on-error skip")),
            &["bad.jsonl", "all 2 records are malformed"],
        );
    }
}

#[test]
fn empty_corpora() {
    let folder = Folder::with_model();
    folder.file("empty.jsonl", "");
    refused_by_all(&folder, "empty.jsonl", &["empty.jsonl: the file is empty"]);
    says(&folder.refused("evaluate small.model empty.jsonl"), &["empty.jsonl: the file is empty"]);
    folder.file("blank.jsonl", "\n\n\n");
    for command in &READERS[2..] {
        says(&folder.refused(&command.replace("CORPUS", "blank.jsonl")), &["blank.jsonl: ", "--from"]);
    }
    std::fs::create_dir(folder.path("nothing")).unwrap();
    refused_by_all(&folder, "nothing", &["nothing: "]);
    let output = folder.run_with("rank - --by df", "");
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &["the corpus is empty", "nothing came from the stream"]);
}

#[test]
fn a_corpus_without_labels() {
    let folder = Folder::with_model();
    let plain: String = SMALL.lines().map(|l| l.split(",\"labels").next().unwrap().to_owned() + "}\n").collect();
    folder.file("plain.jsonl", &plain);
    let needed = ["plain.jsonl: no document has a label", "--labels-field"];
    says(&folder.refused("rank plain.jsonl --by chi2max"), &needed);
    says(&folder.refused("rank plain.jsonl --by lr(df,ig)"), &needed);
    says(&folder.refused("rank plain.jsonl --by df --per-label"), &needed);
    says(&folder.refused("fit plain.jsonl -o m.model"), &needed);
    says(&folder.refused("evaluate small.model plain.jsonl"), &needed);
    // What needs no labels works without.
    assert_eq!(folder.tsv("rank plain.jsonl --by df --format tsv --top 1")[1], ["1", "the", "4", "4"]);
    assert_eq!(folder.json_lines("classify small.model plain.jsonl").len(), 6);
    says(&folder.ok("inspect plain.jsonl"), &["no document has a label"]);
    folder.ok("count plain.jsonl -o plain.counts");
    says(&folder.refused("rank plain.counts --by chi2max"), &["chi2max", "no training document has a label"]);
    // A field of another name is the usual reason: a usual one is found, of another one it must be said.
    folder.file("topics.jsonl", SMALL.replace("\"labels\"", "\"topics\""));
    let run = folder.run("rank topics.jsonl --by chi2max");
    says(&warned("rank topics.jsonl", &run), &["taken as if you had said --labels-field topics"]);
    folder.file("colours.jsonl", SMALL.replace("\"labels\"", "\"colours\""));
    says(&folder.refused("fit colours.jsonl -o m.model"), &["--labels-field"]);
    folder.ok("rank colours.jsonl --by chi2max --labels-field colours");
}

#[test]
fn a_file_that_is_not_what_its_ending_says() {
    let folder = Folder::new();
    for (name, says_ending) in [("a.csv", "csv"), ("a.svm", "svmlight"), ("a.parquet", "parquet")] {
        folder.file(name, SMALL);
        let expected = format!("{name}: the ending says {says_ending}, but the content looks like jsonl");
        refused_by_all(&folder, name, &[&expected, "--from jsonl"]);
        folder.ok(&format!("rank {name} --by chi2max --from jsonl"));
    }
    for (name, says_ending) in [("a.jsonl.gz", "gzip"), ("a.jsonl.zst", "zstd"), ("a.jsonl.bz2", "bzip2")] {
        folder.file(name, SMALL);
        refused_by_all(&folder, name, &[&format!("{name}: the ending says {says_ending}"), "not compressed"]);
    }
    folder.file("list.jsonl", format!("[{}]", SMALL.trim_end().replace('\n', ",\n")));
    refused_by_all(&folder, "list.jsonl", &["list.jsonl: ", "one JSON list", "jq -c"]);
    folder.file("noise", [0x9f, 0x01, 0x00, 0xee, 0x8a]);
    refused_by_all(&folder, "noise", &["noise: ", "--from"]);
}

#[test]
fn a_truncated_or_damaged_gzip() {
    let folder = Folder::new();
    folder.ok("synth -n 200 whole.jsonl.gz");
    let whole = folder.bytes("whole.jsonl.gz");
    folder.file("cut.jsonl.gz", &whole[..whole.len() * 3 / 4]);
    let message = folder.refused("rank cut.jsonl.gz --by df");
    says(&message, &["the gzip stream breaks off: the file is truncated; fetch or write it again"]);
    // The line is where the readable part ends.
    let line: usize = message.split(':').nth(2).unwrap().parse().unwrap();
    assert!((120..200).contains(&line), "{message}");
    refused_by_all(&folder, "cut.jsonl.gz", &["cut.jsonl.gz:", "the file is truncated"]);
    let mut bad = whole;
    let middle = bad.len() / 2;
    bad[middle] ^= 0x55;
    folder.file("bad.jsonl.gz", bad);
    refused_by_all(&folder, "bad.jsonl.gz", &["bad.jsonl.gz:"]);
    // Skipping is for records; what comes after the break is not known.
    says(&folder.refused("rank cut.jsonl.gz --by df --on-error skip"), &["the file is truncated"]);
}

#[test]
fn invalid_utf8_names_the_encoding_option() {
    let folder = Folder::new();
    let mut latin = SMALL.replace("the cup", "caf\u{e9}").into_bytes();
    let at = latin.iter().position(|&b| b == 0xc3).unwrap();
    latin.splice(at..at + 2, [0xe9]);
    folder.file("latin.jsonl", &latin);
    refused_by_all(&folder, "latin.jsonl", &["latin.jsonl:2: not UTF-8: byte 0xe9", "--encoding latin1"]);
    let rows = folder.tsv("rank latin.jsonl --by df --encoding latin1 --format tsv");
    assert!(rows.iter().any(|row| row[1] == "café"));
    let wide: Vec<u8> = [0xff, 0xfe].into_iter().chain(SMALL.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    folder.file("wide.jsonl", wide);
    // Its mark names the encoding, unless another one is insisted on.
    assert_eq!(folder.ok("rank wide.jsonl --by df"), folder.ok("rank wide.jsonl --by df --encoding utf-16"));
    says(&folder.refused("rank wide.jsonl --by df --encoding utf-8"), &["wide.jsonl: ", "--encoding utf-16"]);
    says(&folder.refused("rank latin.jsonl --by df --encoding latn1"), &["unknown encoding", "latin1"]);
    // A wrong guess is told with the line it fails in.
    let mut shift: Vec<u8> = SMALL.as_bytes().to_vec();
    let third = SMALL.match_indices('\n').nth(2).unwrap().0 + 30;
    shift[third] = 0xff;
    folder.file("shift.jsonl", shift);
    says(&folder.refused("rank shift.jsonl --by df --encoding shift_jis"), &["shift.jsonl:4: ", "--encoding"]);
}

#[test]
fn a_line_beyond_the_bound() {
    let folder = Folder::new();
    let long = format!(r#"{{"id":"4","text":"{}","labels":["space"]}}"#, "word ".repeat(5000));
    folder.file("long.jsonl", with_line(4, &long));
    says(
        &folder.refused("rank long.jsonl --by df --max-record 10k"),
        &["long.jsonl:4: the record is longer than 10240 bytes", "raise --max-record if"],
    );
    // What the message advises works.
    folder.ok("rank long.jsonl --by df --max-record 1M");
    let output = folder.run("rank long.jsonl --by df --max-record 10k --on-error skip");
    says(&warned("skip", &output), &["1 malformed record", "long.jsonl:4"]);
    for bad in ["0", "-1", "x", "nan", "inf"] {
        says(&folder.refused(&format!("rank long.jsonl --by df --max-record={bad}")), &["--max-record"]);
    }
}

#[test]
fn a_bomb_is_stopped_by_the_bound() {
    let folder = Folder::new();
    // 100 MB of one line in a file of a few kB.
    let zeros = vec![b' '; 1 << 20];
    let mut plain = std::process::Command::new("gzip").arg("-c").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
    let Ok(gzip) = &mut plain else {
        println!("skipped: there is no gzip");
        return;
    };
    let mut input = gzip.stdin.take().unwrap();
    let writer = std::thread::spawn(move || {
        input.write_all(b"{\"text\":\"").unwrap();
        (0..100).for_each(|_| input.write_all(&zeros).unwrap());
    });
    let mut bytes = Vec::new();
    std::io::Read::read_to_end(&mut gzip.stdout.take().unwrap(), &mut bytes).unwrap();
    writer.join().unwrap();
    gzip.wait().unwrap();
    folder.file("bomb.jsonl.gz", bytes);
    says(&folder.refused("rank bomb.jsonl.gz --by df"), &["bomb.jsonl.gz:1: the record is longer than 64 MiB"]);
}

#[test]
fn unknown_names_suggest_near_ones() {
    let folder = Folder::small();
    for (arguments, parts) in [
        ("rank small.jsonl --by chi2mx", ["unknown selector \"chi2mx\"", "did you mean chi2max"]),
        ("rank small.jsonl --by lr(ig,wlr)", ["unknown selector \"wlr\"", "wllr"]),
        ("fit small.jsonl -o m --by igg", ["unknown selector \"igg\"", "ig"]),
        ("fit small.jsonl -o m --classifier svn", ["unknown classifier \"svn\"", "svm"]),
        ("fit small.jsonl -o m --threshold cut", ["unknown threshold \"cut\"", "rcut"]),
        ("rank small.jsonl --by df --from jsonlines", ["unknown format", "jsonl"]),
        ("rank small.jsonl --by df --stem englisch", ["unknown stemmer", "english"]),
        ("rank small.jsonl --by df --stop-words englich", ["--stop-words englich", "english"]),
        ("synth --shape topic", ["unknown shape", "topics"]),
    ] {
        says(&folder.refused(arguments), &parts);
    }
    folder.ok("fit small.jsonl -o small.model --by df --features all --classifier bayes --folds 0");
    says(&folder.refused("evaluate small.model small.jsonl --measures RPrex"), &["unknown measure", "RPrec"]);
    says(&folder.refused("explain small.model --label spot"), &["unknown label \"spot\"", "did you mean sport"]);
}

#[test]
fn expressions_point_at_the_character() {
    let folder = Folder::small();
    for (expression, at, reason) in [
        ("chi2mx", 0, "unknown selector"),
        ("lr(chi2max,)", 11, "expected a selector"),
        ("lr(chi2max,ig", 13, "')'"),
        ("chi2max@", 8, ""),
        ("chi2max@x", 8, ""),
        ("chi2max ig", 8, ""),
        ("lr(ig,bnz)", 6, "unknown selector"),
        ("wfo(1.5)", 4, "between 0"),
        ("wfo(-0.1)", 4, "between 0"),
        ("wfo(x)", 4, "between 0"),
        ("lr(ig)", 5, "two selectors or more"),
        ("os()", 3, "expected a selector"),
        ("", 0, "expected a selector"),
    ] {
        let by = format!("--by={expression}");
        let message = folder.refused_words(&["rank", "small.jsonl", &by]);
        says(&message, &[reason]);
        let lines: Vec<&str> = message.lines().collect();
        let shown = lines.iter().position(|line| line.trim_end() == format!("  {expression}").trim_end());
        let caret = shown.map(|place| lines[place + 1]);
        assert_eq!(caret, Some(format!("  {}^", " ".repeat(at)).as_str()), "{message}");
    }
}

#[test]
fn more_features_than_there_are() {
    let folder = Folder::small();
    let output = folder.run("rank small.jsonl --by chi2max --top 100 --format tsv");
    says(&warned("rank", &output), &["100 terms asked for, and there are 10: all are taken"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 11);
    let fitted = folder.ok("fit small.jsonl -o m.model --by chi2max --features 100 --classifier bayes --folds 0");
    says(&fitted, &["100 features were asked for, and there are 10: all are taken", "10 of 10"]);
    let searched = folder.run("rank small.jsonl --by os(ib) --top 100 --format tsv");
    says(&warned("search", &searched), &["all are taken"]);
}

#[test]
fn a_corpus_with_one_label() {
    let folder = Folder::new();
    folder.file("one.jsonl", SMALL.replace("space", "sport"));
    says(&folder.refused("fit one.jsonl -o m.model"), &["(sport)", "nothing to tell apart", "add documents"]);
    for selector in ["chi2max", "ig", "bns", "or", "ar(chi2max,df)"] {
        let message = folder.refused(&format!("rank one.jsonl --by {selector}"));
        says(&message, &["cannot be computed", "nothing to tell apart", "at least two classes"]);
    }
    says(&folder.refused("rank one.jsonl --by ib"), &["ib", "compares pairs of classes"]);
    says(&folder.refused("rank one.jsonl --by os(ib) --top 3"), &["classes"]);
    folder.ok("rank one.jsonl --by df");
    // One label and documents without it are two classes.
    folder.file("some.jsonl", SMALL.replace("\"space\"", ""));
    folder.ok("rank some.jsonl --by chi2max");
    folder.ok("fit some.jsonl -o m.model --by chi2max --features all --classifier svm --folds 0");
}

#[test]
fn options_outside_their_range() {
    let folder = Folder::small();
    for (arguments, parts) in [
        ("fit small.jsonl -o m --features 0", ["--features", "at least 1"]),
        ("fit small.jsonl -o m --features some", ["--features", "all or auto"]),
        ("fit small.jsonl -o m --features=-3", ["--features", "all or auto"]),
        ("fit small.jsonl -o m --folds 1", ["--folds 1", "two folds or more"]),
        ("fit small.jsonl -o m --threshold scut --folds 0", ["--folds 0", "scut is tuned by cross-validation"]),
        ("fit small.jsonl -o m --calibrate platt --folds 0", ["--folds 0", "platt is tuned by cross-validation"]),
        ("fit small.jsonl -o m --classifier svm(c=0)", ["--classifier", "c = 0"]),
        ("fit small.jsonl -o m --classifier svm(c=nan)", ["--classifier", "c = NaN"]),
        ("fit small.jsonl -o m --classifier knn(0)", ["--classifier", "from 1"]),
        ("fit small.jsonl -o m --threshold rcut(0)", ["--threshold", "at least 1"]),
        ("fit small.jsonl -o m --threshold fixed(nan)", ["--threshold", "must be a number"]),
        ("fit small.jsonl -o m --by df --features all --classifier knn --quantise", ["--quantise", "linear"]),
        ("fit small.jsonl -o m --by os(ib) --features auto", ["--features auto", "name it"]),
        ("fit small.jsonl -o m --by df@100", ["df@100", "lower the cut"]),
        ("fit small.jsonl -o m --by os(ib) --features 3 --seconds=-1", ["seconds = -1", "0 or more"]),
        ("rank small.jsonl --by os(ib)", ["os(ib)", "--top N"]),
        ("rank small.jsonl --by ig --per-label", ["ig", "single one"]),
        ("rank small.jsonl --by chi2max --resample 1", ["resamples = 1", "two or more"]),
        ("rank small.jsonl --by chi2max --by or --per-label", ["--per-label", "one --by"]),
        ("rank small.jsonl --by df --ngrams 0", ["--ngrams 0", "from 1"]),
        ("rank small.jsonl --by df --char-ngrams 5-3", ["--char-ngrams 5-3", "ascending"]),
        ("rank small.jsonl --by df --terms wrods", ["did you mean words?", "^"]),
        ("rank small.jsonl --by df --terms words(2-1)", ["must be ascending", "^"]),
        ("rank small.jsonl --by df --terms words(stem=klingon)", ["unknown stemmer", "^"]),
        ("rank small.jsonl --by df --terms words --ngrams 2", ["go into the expression", "words(1-2)"]),
        ("rank small.jsonl --by df --terms words+titel:words", ["\"titel\"", "id, labels, text"]),
        ("rank small.jsonl --by df --char-ngrams few", ["--char-ngrams", "3-5"]),
        ("rank small.jsonl --by df --min-length 9 --max-length 3", ["--min-length 9", "maximum"]),
        ("rank small.jsonl --by df --memory 1", ["memory", "raise"]),
        ("rank synth:topics:many --by df", ["synth:topics:many", "number of documents"]),
        ("synth -n 0", ["documents = 0", "at least one"]),
        ("synth --test-share 2", ["test", "from 0 to 1"]),
        ("fit small.jsonl", ["--output", "Usage"]),
        ("frobnicate", ["unrecognized subcommand", "Usage"]),
    ] {
        says(&folder.refused(arguments), &parts);
    }
}

#[test]
fn documents_too_few_to_compare_give_a_model_that_says_so() {
    let folder = Folder::new();
    folder.file("tiny.jsonl", SMALL.lines().skip(1).take(2).fold(String::new(), |all, line| all + line + "\n"));
    says(&folder.ok("fit tiny.jsonl -o m.model"), &["2 labelled documents are too few to compare candidates on"]);
    folder.ok("fit tiny.jsonl -o m.model --by df --features all --classifier svm");
    folder.file("small.jsonl", SMALL);
    folder.ok("fit small.jsonl -o m.model --by wfo(auto) --features 3 --classifier bayes");
}

#[test]
fn values_that_are_no_counts_in_svmlight() {
    let folder = Folder::new();
    for bad in ["nan", "NaN", "inf", "-1", "1e400"] {
        folder.file("x.svm", format!("1 1:1 2:3\n2 1:2 3:{bad}\n1 2:1\n"));
        refused_by_all(&folder, "x.svm", &[&format!("x.svm:2: \"3:{bad}\": "), "finite number"]);
    }
    folder.file("x.svm", "1 1:1 2:3\n2 1:2 3\n");
    refused_by_all(&folder, "x.svm", &["x.svm:2: "]);
}

#[test]
fn missing_files() {
    let folder = Folder::with_model();
    refused_by_all(&folder, "missing.jsonl", &["missing.jsonl: No such file"]);
    for arguments in [
        "classify missing.model small.jsonl",
        "evaluate missing.model small.jsonl",
        "compare missing.model small.model small.jsonl",
        "explain missing.model",
        "merge missing.counts -o c",
        "classify small.model missing.jsonl",
        "explain small.model missing.txt",
        "rank small.jsonl --by df --vocabulary missing.txt",
    ] {
        let message = folder.refused(arguments);
        says(&message, &["missing.", "No such file"]);
        assert_eq!(message.matches("No such file").count(), 1, "said twice: {message}");
    }
    for arguments in ["fit small.jsonl -o no/m.model", "count small.jsonl -o no/c", "convert small.jsonl no/o.jsonl"] {
        let message = folder.refused(&format!("{arguments} -q"));
        says(&message, &["no/", "there is no folder no"]);
        assert!(!message.contains(".part"), "{message}");
    }
    // A folder in place of a file.
    std::fs::create_dir(folder.path("folder")).unwrap();
    says(&folder.refused("classify folder small.jsonl"), &["folder: a folder", "model"]);
    says(&folder.refused("fit small.jsonl -o folder --by df --features all --classifier svm"), &["folder: "]);
}

/// Reads one line of what a command prints and goes away; gives back the exit code and what it complained about.
fn first_line_only(folder: &Folder, arguments: &str) -> (Option<i32>, String, String) {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("tamis"))
        .args(arguments.split_ascii_whitespace())
        .current_dir(folder.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let output = child.wait_with_output().unwrap();
    (output.status.code(), line, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::with_model();
    folder.ok("synth -n 3000 docs.jsonl");
    for arguments in [
        "list selectors",
        "synth -n 100000",
        "convert synth:topics:100000 -",
        "convert docs.jsonl -",
        "rank docs.jsonl --by df --format tsv",
        "rank docs.jsonl --by df --format json",
        "classify small.model docs.jsonl --scores",
        "completions bash",
        "inspect docs.jsonl",
    ] {
        let (code, line, complaint) = first_line_only(&folder, arguments);
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{arguments}");
        assert!(!line.is_empty(), "{arguments}");
    }
}

#[test]
fn standard_input_is_read_once() {
    let folder = Folder::with_model();
    let output = folder.run_with("compare small.model small.model -", SMALL);
    assert_eq!(output.status.code(), Some(2));
    says(&String::from_utf8_lossy(&output.stderr), &["save them to a file"]);
    assert_eq!(out("rank", &folder.run_with("rank - --by df --format tsv --top 1", SMALL)).lines().count(), 2);
}

#[test]
fn taxonomies_that_are_none() {
    let folder = Folder::small();
    folder.file("cycle.tsv", "sport\ttopics\ntopics\thobbies\nhobbies\tsport\nspace\ttopics\n");
    let message = folder.refused("inspect small.jsonl --taxonomy cycle.tsv");
    says(&message, &["cycle.tsv:", "sport", "topics", "hobbies"]);
    folder.file("twice.tsv", "sport\ttopics\nspace\ttopics\nsport\thobbies\n");
    says(
        &folder.refused("fit small.jsonl -o m --taxonomy twice.tsv --parent refuse"),
        &["twice.tsv:3", "sport", "hobbies"],
    );
    folder.file("empty.tsv", "");
    says(&folder.refused("inspect small.jsonl --taxonomy empty.tsv"), &["empty.tsv"]);
    says(&folder.refused("inspect small.jsonl --taxonomy missing.tsv"), &["missing.tsv: No such file"]);
    // A label outside is a finding about the corpus.
    folder.file("short.tsv", "sport\ttopics\n");
    let problems = folder.ok("inspect small.jsonl --taxonomy short.tsv");
    says(&problems, &["1 labels are not in the taxonomy: space", "add them"]);
    folder.file("whole.tsv", "sport\ttopics\nspace\ttopics\n");
    let value = folder.json("inspect small.jsonl --taxonomy whole.tsv --format json");
    let expected = serde_json::json!(
        { "from": "the taxonomy file", "nodes": 3, "roots": 1, "depth": 2, "labels_outside": [] }
    );
    assert_eq!(value["hierarchy"], expected);
}
