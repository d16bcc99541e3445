//! What a term is, as people say it on the command line.

#![allow(clippy::unwrap_used)]

mod common;

use common::{Folder, says};

/// Thirty letters of each of two kinds, with a subject and a body.
fn letters() -> Folder {
    let folder = Folder::new();
    let line = |i: usize| {
        let (label, subject, body) = if i.is_multiple_of(2) {
            ("sport", "the puck match", "the goalie stopped the puck in the new rink")
        } else {
            ("trade", "the cargo", "a tanker with crude left the refinery in new york")
        };
        format!("{{\"id\":{i},\"subject\":\"{subject}\",\"body\":\"{body} {i}\",\"labels\":[\"{label}\"]}}\n")
    };
    folder.file("mail.jsonl", (0..60).map(line).collect::<String>());
    folder
}

#[test]
fn the_field_of_the_text_may_be_named_beside_it() {
    let folder = letters();
    folder.ok("fit mail.jsonl --text-field body --terms words+body:words(2)+subject:words --by df --features all --classifier svm -o m.model -q");
    let words = folder.ok("explain m.model --top 50 --format tsv");
    says(&words, &["puck", "body:the puck", "subject:match"]);
}

#[test]
fn a_vocabulary_says_what_terms_are() {
    let folder = letters();
    folder.file("words.txt", "puck\nnew york\n");
    folder.ok("fit mail.jsonl --text-field body --vocabulary words.txt -o m.model -q");
    let words = folder.ok("explain m.model --format tsv");
    says(&words, &["puck", "new york"]);
    assert!(!words.contains("goalie"), "{words}");
    // Of several blocks: as terms read, or in all of them.
    folder.file("words.txt", "puck\nsubject:cargo\n");
    let fit = "fit mail.jsonl --terms subject:words+body:words --vocabulary words.txt --by df --features all --classifier svm -o m.model -q";
    folder.ok(fit);
    let words = folder.ok("explain m.model --format tsv");
    says(&words, &["subject:puck", "body:puck", "subject:cargo"]);
    assert!(!words.contains("body:cargo") && !words.contains("match"), "{words}");
    folder.file("words.txt", "zebra\n");
    says(&folder.refused(fit), &["no document has any of the 2 terms", "subject:zebra"]);
    folder.file("words.txt", "\n");
    says(&folder.refused(fit), &["words.txt: no term"]);
}

#[test]
fn slips_in_an_expression_are_said_as_they_were_written() {
    let folder = letters();
    let fit = |terms: &str| folder.refused(&format!("fit mail.jsonl --terms {terms} -o m.model"));
    says(&fit("body:words(min=5,max=3)"), &["min=5 is above max=3"]);
    says(&fit("body:words(stem=english,stem=german)"), &["stem is said twice"]);
}

#[test]
fn fields_that_are_not_written_are_named() {
    let folder = letters();
    let said = |command: &str| {
        let output = folder.run(command);
        assert!(output.status.success(), "{command}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    says(&said("convert mail.jsonl --text-field body -o mail.csv"), &["not written: subject"]);
    assert!(!said("convert mail.jsonl all.csv --fields subject,body").contains("not written"));
    says(&said("convert all.csv --text-field body -o body.tsv"), &["not written: subject"]);
    says(&said("split mail.jsonl --text-field body -o a.jsonl b.jsonl"), &["not written: subject"]);
    says(&folder.refused("convert mail.jsonl"), &["what is to be written?"]);
}

#[test]
fn a_text_is_explained_as_it_stands() {
    let folder = letters();
    folder.ok("fit mail.jsonl --text-field body --terms words --by df --features all --classifier svm -o m.model -q");
    let output = folder.tamis().args(["explain", "m.model", "--text", "the puck and the goalie"]).output().unwrap();
    says(&String::from_utf8_lossy(&output.stdout), &["sport", "puck"]);
    says(&folder.refused("explain m.model puck"), &["No such file", "--text"]);
}

#[test]
fn a_recognised_language_is_named() {
    let folder = Folder::new();
    let sentence =
        "The committee has decided that the weather of the last months was not what people had been expecting";
    let line = |i: usize| format!("{{\"text\":\"{sentence} {i}\",\"labels\":[\"l{}\"]}}\n", i % 2);
    folder.file("news.jsonl", (0..40).map(line).collect::<String>());
    let output = folder.run("inspect news.jsonl --language auto");
    says(&String::from_utf8_lossy(&output.stderr), &["the documents are english", "stem=english"]);
}
