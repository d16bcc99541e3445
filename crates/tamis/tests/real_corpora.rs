//! Totals of the real corpora, against what their documentation says. Set `TAMIS_DATA` to the folder that holds them.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use tamis::corpus::{
    Body, Format, Part, ReadOptions, ReutersLabels, ReutersOptions, ReutersSplit, ReviewLabels, Unused, Values, open,
};

/// Documents, parts, and documents of each label in train, test and neither.
#[derive(Default)]
struct Totals {
    format: Option<Format>,
    documents: u64,
    train: u64,
    test: u64,
    labels: BTreeMap<String, [u64; 3]>,
    ids: BTreeSet<String>,
    terms: BTreeSet<String>,
    bytes: usize,
    dated: u64,
}

fn data(folder: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("TAMIS_DATA") else {
        eprintln!("skipped: TAMIS_DATA is not set");
        return None;
    };
    Some(PathBuf::from(root).join(folder))
}

fn totals(folder: &str, options: &ReadOptions) -> Option<Totals> {
    let corpus = open(&[data(folder)?], options).unwrap();
    let mut totals = Totals { format: corpus.format(), ..Totals::default() };
    let tally = corpus
        .for_each(|document| {
            let part = match document.part {
                Some(Part::Train) => 0,
                Some(Part::Test) => 1,
                _ => 2,
            };
            totals.train += u64::from(part == 0);
            totals.test += u64::from(part == 1);
            totals.dated += u64::from(document.date.is_some());
            for label in document.labels {
                totals.labels.entry(label.into_owned()).or_default()[part] += 1;
            }
            match document.body {
                Body::Text(text) => totals.bytes += text.len(),
                Body::Tokens(tokens) => totals.bytes += tokens.iter().map(|t| t.len()).sum::<usize>(),
                Body::Fields(_) => {}
                Body::Counts(counts) => {
                    assert!(counts.iter().all(|(_, n)| *n == 1));
                    totals.terms.extend(counts.into_iter().map(|(t, _)| t.into_owned()));
                }
            }
            assert!(totals.ids.insert(document.id.clone().into_owned()), "{} twice", document.id);
            Ok(())
        })
        .unwrap();
    totals.documents = tally.documents;
    assert_eq!(tally.skipped.count, 0);
    Some(totals)
}

#[test]
fn reuters_mod_apte() {
    let Some(all) = totals("reuters21578", &ReadOptions::default()) else { return };
    assert_eq!((all.format, all.documents), (Some(Format::Reuters), 21_578));
    assert_eq!((all.train, all.test), (9_603, 3_299));
    let in_both = all.labels.values().filter(|n| n[0] > 0 && n[1] > 0).count();
    assert_eq!(in_both, 90);
    assert_eq!(all.labels["earn"][..2], [2_877, 1_087], "as every paper on this split has it");
    assert_eq!(all.labels["acq"][..2], [1_650, 719]);
    // One of the stories has a date that is none.
    assert!(all.dated >= 21_570, "{}", all.dated);
    assert_eq!(all.ids.len(), 21_578);
}

#[test]
fn reuters_mod_lewis_and_other_categories() {
    let reuters = ReutersOptions { split: ReutersSplit::ModLewis, labels: ReutersLabels::Places, unused: Unused::Drop };
    let Some(all) = totals("reuters21578", &ReadOptions { reuters, ..ReadOptions::default() }) else { return };
    assert_eq!((all.documents, all.train, all.test), (13_625 + 6_188, 13_625, 6_188));
    assert!(all.labels.contains_key("el-salvador"));
}

#[test]
fn newsgroups_by_date() {
    let options = ReadOptions { encoding: Some("latin1".parse().unwrap()), ..ReadOptions::default() };
    let Some(all) = totals("20news-bydate", &options) else { return };
    assert_eq!((all.format, all.documents), (Some(Format::Folders), 18_846));
    assert_eq!((all.train, all.test, all.labels.len()), (11_314, 7_532, 20));
    assert!(all.labels.contains_key("comp.sys.ibm.pc.hardware"));
    assert!(all.ids.contains("training/alt.atheism/49960"), "{:?}", all.ids.first());
}

#[test]
fn newsgroups_need_their_encoding() {
    let Some(path) = data("20news-bydate") else { return };
    let error = open(&[path], &ReadOptions::default()).unwrap().for_each(|_| Ok(())).unwrap_err().to_string();
    assert!(
        error.contains(": not UTF-8: byte 0x") && error.ends_with("such as the option `encoding=latin1`"),
        "{error}"
    );
}

#[test]
fn movie_reviews() {
    let Some(all) = totals("movie_reviews", &ReadOptions::default()) else { return };
    assert_eq!((all.format, all.documents), (Some(Format::Folders), 2_000));
    assert_eq!(all.labels["pos"], [0, 0, 1_000]);
    assert_eq!(all.labels["neg"], [0, 0, 1_000]);
}

#[test]
fn multi_domain_sentiment() {
    let Some(dvd) = totals("multi-domain-sentiment/dvd", &ReadOptions::default()) else { return };
    assert_eq!((dvd.format, dvd.documents), (Some(Format::Review), 2_000));
    assert_eq!(dvd.labels["positive"], [0, 0, 1_000]);
    assert_eq!(dvd.labels["negative"], [0, 0, 1_000]);
    let stars = ReadOptions { review_labels: ReviewLabels::Stars, ..ReadOptions::default() };
    let all = totals("multi-domain-sentiment", &stars).unwrap();
    assert_eq!(all.documents, 8_000);
    assert_eq!(all.labels.keys().map(String::as_str).collect::<Vec<_>>(), ["1", "2", "4", "5"]);
    assert!(all.ids.iter().any(|id| id.starts_with("kitchen_&_housewares/")));
    assert!(all.dated > 7_900, "{}", all.dated);
}

#[test]
fn advisories() {
    for path in ["advisories", "advisories/advisories.jsonl"] {
        let Some(all) = totals(path, &ReadOptions::default()) else { return };
        assert_eq!((all.format, all.documents), (Some(Format::Jsonl), 124_213));
        assert_eq!(all.labels.len(), 429);
        assert_eq!(all.dated, 124_213);
    }
}

#[test]
fn rcv1_vectors() {
    let Some(all) = totals("rcv1/rcv1-15k.svm", &ReadOptions::default()) else { return };
    assert_eq!((all.format, all.documents), (Some(Format::SvmLight), 14_401));
    assert_eq!(all.labels.len(), 102);
    let counts = ReadOptions { values: Values::Counts, ..ReadOptions::default() };
    let corpus = open(&[data("rcv1/rcv1-15k.svm").unwrap()], &counts).unwrap();
    let error = corpus.for_each(|_| Ok(())).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "rcv1-15k.svm:1: \"440:0.037683\": not a whole number, though the values are read as counts; \
             weights need the option `values=presence`"
        ),
        "{error}"
    );
}

/// Counts solved from the weights, beside those that another program solved (median residual 4·10⁻⁵). Where a term always has the same count,
/// nobody can tell which.
#[test]
fn rcv1_counts_are_recovered() {
    let (Some(weights), Some(counts)) = (data("rcv1/rcv1-15k.svm"), data("rcv1/rcv1-15k-counts.svm")) else { return };
    let read = |path, values| {
        let corpus = open(&[path], &ReadOptions { values, ..ReadOptions::default() }).unwrap();
        let mut all = Vec::new();
        corpus
            .for_each(|document| {
                let Body::Counts(counts) = document.body else { panic!("counts") };
                all.extend(counts.into_iter().map(|(_, count)| count));
                Ok(())
            })
            .unwrap();
        all
    };
    let (ours, theirs) = (read(weights, Values::Ltc), read(counts, Values::Counts));
    assert_eq!(ours.len(), theirs.len());
    let same = ours.iter().zip(&theirs).filter(|(a, b)| a == b).count();
    let share = same as f64 / ours.len() as f64;
    println!("{share:.4} of {} counts are the same", ours.len());
    assert!(share > 0.99, "{share}");
}
