//! Text to terms: every script, any text, several fields, and models from before there were expressions.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde::Deserialize;
use tamis::Silent;
use tamis::corpus::{self, Body, ReadOptions};
use tamis::counts::{CountOptions, Counted, Counts, CountsFile, count, count_contingency};
use tamis::model::Model;
use tamis::terms::{Analyzer, TextOptions, Words};
use unicode_script::{Script, UnicodeScript};

fn options(expression: &str) -> TextOptions {
    expression.parse().unwrap()
}

fn terms(expression: &str, text: &str) -> Vec<String> {
    let mut analyzer = Analyzer::new(&options(expression)).unwrap();
    let mut found = Vec::new();
    analyzer.analyze(&Body::Text(text.into()), |term, _| found.push(term));
    found.into_iter().map(|term| analyzer.term(term)).collect()
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/files/before_expressions").join(name)
}

#[derive(Deserialize)]
struct Answer {
    labels: Vec<String>,
    scores: BTreeMap<String, f64>,
}

/// The models and what they answer were written by the commit before expressions, from `corpus.jsonl`: with `--ngrams 2 --stem
/// english --stop-words english`, with `--words blanks --char-ngrams 2-3`, and with no option at all. Texts are of many scripts.
#[test]
fn models_from_before_expressions_answer_the_same() {
    let texts = std::fs::read_to_string(file("texts.jsonl")).unwrap();
    for (name, expression) in [
        ("words", "words(kind=unicode,form=nfc)"),
        ("stemmed", "words(1-2,kind=unicode,form=nfc,stop=@list,stem=english)"),
        ("chars", "chars(2-3,kind=blanks,form=nfc,min=2,max=40)"),
    ] {
        let model = Model::read(&file(&format!("{name}.model"))).unwrap();
        assert_eq!(model.text.to_string(), expression);
        let answers = std::fs::read_to_string(file(&format!("{name}.answers.jsonl"))).unwrap();
        let mut labeller = model.labeller();
        for (text, answer) in texts.lines().zip(answers.lines()) {
            let text: serde_json::Value = serde_json::from_str(text).unwrap();
            let answer: Answer = serde_json::from_str(answer).unwrap();
            let labelled = labeller.label(&Body::Text(text["text"].as_str().unwrap().into()));
            let label = |l: u32| model.labels.name(l).to_owned();
            assert_eq!(labelled.decided.iter().map(|&l| label(l)).collect::<Vec<_>>(), answer.labels);
            let scores: BTreeMap<String, f64> = labelled.ranked.iter().map(|s| (label(s.label), s.score)).collect();
            assert_eq!(scores, answer.scores, "{name}: {text}");
        }
        assert_eq!(answers.lines().count(), 20);
    }
    let old = CountsFile::read(&file("old.counts")).unwrap();
    assert_eq!(old.text.to_string(), "words(kind=unicode,case=keep,form=nfc,digits=fold)");
    let corpus = corpus::open(&[file("corpus.jsonl")], &ReadOptions::default()).unwrap();
    let again = CountOptions { text: old.text, ..CountOptions::default() };
    let again = count_contingency(corpus.batches().unwrap(), Counted::Training, &again, &Silent).unwrap().0;
    assert_eq!(old.contingency, again);
}

fn counts(paths: &[PathBuf], text: &TextOptions, threads: usize) -> tamis::Result<Counts> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let corpus = corpus::open(paths, &ReadOptions::default())?;
    let options = CountOptions { text: text.clone(), ..CountOptions::default() };
    pool.install(|| Ok(count(corpus.batches_for(text)?, &options, &Silent)?.0))
}

/// Unicode's own test of word breaks: words are the pieces with a letter or digit. Scripts that have words of their own are left
/// out where they are cut by scripts.
#[test]
fn word_breaks_are_those_of_unicode() {
    let file = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/WordBreakTest.txt"));
    let dense = [Script::Han, Script::Hiragana, Script::Katakana, Script::Hangul];
    let (mut all, mut by_scripts) = (0, 0);
    for line in file.unwrap().lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut pieces = vec![String::new()];
        for part in line.trim_matches(['÷', ' ']).split(' ') {
            match part {
                "÷" => pieces.push(String::new()),
                "×" => {}
                hex => {
                    let c = char::from_u32(u32::from_str_radix(hex, 16).unwrap()).unwrap();
                    pieces.last_mut().unwrap().push(c);
                }
            }
        }
        let text = pieces.concat();
        let words: Vec<&str> =
            pieces.iter().map(String::as_str).filter(|p| p.chars().any(char::is_alphanumeric)).collect();
        let found = |kind: Words| {
            let mut found = Vec::new();
            kind.for_each(&text, |word| found.push(word));
            found
        };
        assert_eq!(found(Words::Unicode), words, "{line}");
        all += 1;
        if !text.chars().any(|c| {
            dense.iter().any(|&s| c.script_extension().contains_script(s) && !c.script_extension().is_common())
        }) {
            assert_eq!(found(Words::Scripts), words, "{line}");
            by_scripts += 1;
        }
    }
    assert!(all > 1900 && by_scripts > 1500, "{all} {by_scripts}");
}

/// A few letters of every script of UAX 24, taken from its own code points.
#[test]
fn every_script_gives_terms() {
    let mut letters: BTreeMap<&'static str, String> = BTreeMap::new();
    let is_letter = |c: &char| c.is_alphabetic() && !unicode_normalization::char::is_combining_mark(*c);
    for c in ('\0'..=char::MAX).filter(|c| is_letter(c) || matches!(c.script(), Script::Braille | Script::SignWriting))
    {
        let script = c.script();
        if matches!(script, Script::Common | Script::Inherited | Script::Unknown) {
            continue;
        }
        let text = letters.entry(script.full_name()).or_default();
        if text.chars().count() < 12 {
            text.push(c);
        }
    }
    assert!(letters.len() >= 160, "{} scripts", letters.len());
    for (script, text) in letters {
        assert!(!terms("words", &text).is_empty(), "{script}: {text}");
        assert!(!terms("chars(1-2)", &text).is_empty(), "{script}: {text}");
    }
}

#[test]
fn sentences_without_blanks_give_words() {
    for (text, expected) in [
        ("这个手机很好", "手机"),
        ("ﾊﾝｶｸカナ", "ハン"),
        ("この本は面白い", "面白"),
        ("휴대폰이 좋아요", "휴대"),
        ("ＰＣを買う", "pc"),
        ("Cafe\u{301} au lait", "café"),
    ] {
        let found = terms("words", text);
        assert!(found.contains(&expected.to_owned()), "{text}: {found:?}");
    }
}

#[test]
fn counts_do_not_depend_on_threads() {
    let text = options("words(1-2)+chars(1-2)+words(2-3,stem=en)");
    let [one, two] = [1, 2].map(|threads| counts(&[file("corpus.jsonl")], &text, threads).unwrap());
    assert_eq!(one.vocabulary, two.vocabulary);
    assert_eq!(one.matrix, two.matrix);
    assert_eq!(one.lengths, two.lengths);
}

#[test]
fn fields_are_read_where_they_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        [path]
    };
    let jsonl = write(
        "a.jsonl",
        "{\"title\":\"Sea\",\"body\":\"ships sail\",\"text\":\"unread\"}\n{\"body\":\"sea\",\"text\":\"unread\",\"labels\":[\"x\"]}\n",
    );
    let csv = write("a.csv", "title,body,text\nSea,ships sail,unread\n,sea,unread\n");
    let text = options("title:words+body:words");
    for paths in [&jsonl, &csv] {
        let counts = counts(paths, &text, 2).unwrap();
        let shown: Vec<String> = counts.vocabulary.iter().map(|term| text.shown(term).into_owned()).collect();
        assert_eq!(shown, ["title:sea", "body:sail", "body:sea", "body:ships"]);
        assert_eq!(counts.lengths, [3, 1]);
    }
    for (paths, there) in [(&jsonl, "body, text, title"), (&csv, "the columns are title, body, text")] {
        let error = counts(paths, &options("words+titel:words"), 2).unwrap_err().to_string();
        assert!(error.contains("\"titel\"") && error.contains(there), "{error}");
    }
    // A document may lack every field, and another one of the two.
    let few = write("b.jsonl", "{\"other\":\"x\"}\n{\"title\":null,\"body\":\"sea\"}\n{\"title\":\"sea\"}\n");
    assert_eq!(counts(&few, &text, 2).unwrap().lengths, [0, 1, 1]);
    let nobody = counts(&few, &options("headline:words"), 1).unwrap_err().to_string();
    assert!(nobody.contains("\"headline\"") && nobody.contains("other, body, title"), "{nobody}");
    assert!(!nobody.contains("text_field"), "{nobody}");
    let csv = write("b.csv", "title,body\nSea,ships\n");
    let error = counts(&csv, &options("words+title:words"), 1).unwrap_err().to_string();
    assert!(error.contains("no column \"text\"") && error.contains("the columns are title, body"), "{error}");
    let folder_of_texts = folder.path().join("labels/x");
    std::fs::create_dir_all(&folder_of_texts).unwrap();
    std::fs::write(folder_of_texts.join("1.txt"), "ships").unwrap();
    let error = counts(&[folder.path().join("labels")], &text, 1).unwrap_err().to_string();
    assert!(error.contains("has one text, and the fields title, body are asked for"), "{error}");
}

fn any_text() -> impl Strategy<Value = String> {
    let letters = "[a-cA-C0-9 .,'\\-\n]|[éßΣσςאआ\u{301}\u{200d}’]|[手机很好，買々ー]|[カナｶﾞひら]|[한국어ᄒ\u{1161}\u{11ab}]|[ไทยมาก๑]|[ລາວខ្មែရမ]|[ＡＢ１ﬁ²½ﷺ]|[😀🦊❤\u{fe0f}]|\\PC|[a-z]{20,60}";
    prop::collection::vec(letters, 0..40).prop_map(|parts| parts.concat())
}

const EXPRESSIONS: [&str; 8] = [
    "words",
    "words(1-3)",
    "words(2-3,stem=english,stop=english)",
    "chars(1-3)",
    "chars(2-4,kind=blanks,case=keep)",
    "chars(1-3,kind=text,digits=fold)",
    "words(kind=unicode,form=nfc)+chars(2,kind=unicode,min=2,max=40)",
    "words(1-2)+chars(2-3,stem=english)",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// No panic; places lie in the text, cut no character, and have the terms of the analysis in its order.
    #[test]
    fn places_are_those_of_the_terms(texts in prop::collection::vec(any_text(), 1..4)) {
        for expression in EXPRESSIONS {
            let options = options(expression);
            let [mut analyzing, mut placing] = [0, 1].map(|_| Analyzer::new(&options).unwrap());
            for text in &texts {
                let (mut analysed, mut placed) = (Vec::new(), Vec::new());
                analyzing.analyze(&Body::Text(text.into()), |term, _| analysed.push(term));
                placing.places(text, |range, term| placed.push((range, term)));
                let analysed: Vec<String> = analysed.iter().map(|&t| analyzing.term(t)).collect();
                prop_assert_eq!(&analysed, &placed.iter().map(|(_, t)| placing.term(*t)).collect::<Vec<_>>());
                for (range, term) in &placed {
                    let span = text.get(range.clone());
                    prop_assert!(span.is_some_and(|s| !s.is_empty()), "{range:?} of {text:?}");
                    prop_assert!(options.block_of(&placing.term(*term)).0 < options.blocks().len());
                }
            }
            let distinct: std::collections::BTreeSet<String> = (0..analyzing.terms() as u32).map(|t| analyzing.term(t)).collect();
            prop_assert_eq!(distinct.len(), analyzing.terms());
        }
    }

    /// Words that were never dropped for their length are found as they stand in the text.
    #[test]
    fn plain_terms_are_their_spans(text in any_text()) {
        let mut analyzer = Analyzer::new(&options("words(case=keep,form=nfc,min=1,max=none)")).unwrap();
        let mut placed = Vec::new();
        analyzer.places(&text, |range, term| placed.push((range, term)));
        for (range, term) in placed {
            let term = analyzer.term(term);
            let span: String = unicode_normalization::UnicodeNormalization::nfc(&text[range]).collect();
            prop_assert_eq!(term, span);
        }
    }
}
