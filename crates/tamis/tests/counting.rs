//! Counting: the parallel pass against the obvious one, whatever the threads, chunks and memory.
#![allow(clippy::unwrap_used)]

use std::borrow::Cow;
use std::collections::BTreeMap;

use proptest::prelude::*;
use tamis::Silent;
use tamis::corpus::{Body, Document, InMemory, Part};
use tamis::counts::{Contingency, CountOptions, Counted, Counts, count, count_contingency};

fn document(number: usize, text: String, labels: Vec<String>) -> Document<'static> {
    Document {
        id: Cow::Owned(format!("d{number}")),
        body: Body::Text(Cow::Owned(text)),
        labels: labels.into_iter().map(Cow::Owned).collect(),
        part: Some(if number.is_multiple_of(3) { Part::Test } else { Part::Train }),
        date: None,
        weight: None,
    }
}

fn corpus(texts: &[(String, Vec<String>)]) -> Vec<Document<'static>> {
    texts.iter().enumerate().map(|(i, (t, l))| document(i, t.clone(), l.clone())).collect()
}

fn with_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

fn counted(documents: Vec<Document<'static>>, options: &CountOptions) -> Counts {
    count(Box::new(InMemory(documents.into_iter())), options, &Silent).unwrap().0
}

/// A corpus of many small documents over a skewed vocabulary, larger than a batch.
fn many(documents: usize) -> Vec<Document<'static>> {
    (0..documents)
        .map(|i| {
            let words: Vec<String> = (0..20).map(|j| format!("w{}", (i * 7 + j * j * 31) % (10 + i % 997))).collect();
            document(i, words.join(" "), vec![format!("l{}", i % 7), format!("l{}", i % 3)])
        })
        .collect()
}

proptest! {
    #[test]
    fn equals_the_obvious_count(
        texts in prop::collection::vec(("[a-dA-D ]{0,30}", prop::collection::vec("[x-z]", 0..3)), 0..20)
    ) {
        let options = CountOptions {
            text: "words(min=1)".parse().unwrap(), ..CountOptions::default()
        };
        let counts = counted(corpus(&texts), &options);
        prop_assert_eq!(counts.len(), texts.len());
        for (row, (text, labels)) in texts.iter().enumerate() {
            let mut expected = BTreeMap::<String, u32>::new();
            for word in text.split_whitespace() {
                *expected.entry(word.to_lowercase()).or_default() += 1;
            }
            let found: BTreeMap<String, u32> =
                counts.matrix.row(row).map(|(t, n)| (counts.vocabulary.name(t).to_owned(), n)).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert_eq!(counts.lengths[row], expected.values().sum::<u32>());
            let mut labels = labels.clone();
            labels.sort();
            labels.dedup();
            let found: Vec<&str> =
                counts.assignments.row_indices(row).iter().map(|&l| counts.labels.name(l)).collect();
            prop_assert_eq!(found, labels);
        }
    }
}

#[test]
fn threads_do_not_change_counts() {
    let options = CountOptions::default();
    let one = with_threads(1, || counted(many(5000), &options));
    let three = with_threads(3, || counted(many(5000), &options));
    assert!(one == three);
    assert_eq!(one.ids[4999], "d4999");
    assert_eq!(one.part(Part::Test).len(), 1667);
}

#[test]
fn a_contingency_folded_in_chunks_is_the_contingency_of_the_counts() {
    let whole = Contingency::of(&counted(many(3000), &CountOptions::default()));
    // Small enough that every batch is folded by itself, large enough that nothing is pruned.
    let options = CountOptions { memory: 300_000, ..CountOptions::default() };
    let (folded, report) =
        count_contingency(Box::new(InMemory(many(3000).into_iter())), Counted::All, &options, &Silent).unwrap();
    assert_eq!(report.pruned.terms, 0);
    assert!(folded == whole);
}

#[test]
fn a_memory_bound_prunes_rare_terms_and_says_so_whatever_the_threads() {
    let options = CountOptions { memory: 200_000, ..CountOptions::default() };
    let run = |threads| {
        let source = Box::new(InMemory(many(4000).into_iter()));
        with_threads(threads, || count_contingency(source, Counted::All, &options, &Silent).unwrap())
    };
    let ((one, report), (three, same)) = (run(1), run(3));
    assert!(one == three);
    assert_eq!(report.pruned, same.pruned);
    assert!(report.pruned.rounds > 0 && report.pruned.terms > 0 && report.pruned.short_by > 0);
    let all = Contingency::of(&counted(many(4000), &CountOptions::default()));
    assert!(one.terms() < all.terms() && one.documents() == all.documents() && one.tokens() == all.tokens());
    for (id, term) in one.vocabulary().iter().enumerate() {
        let (short, whole) = (one.df()[id], all.df()[all.vocabulary().id(term).unwrap() as usize]);
        assert!(short <= whole && whole - short <= report.pruned.short_by, "{term}: {short} of {whole}");
    }
    assert!(u64::from(report.pruned.short_by) <= one.documents(), "no term misses more documents than there are");
}

/// Documents are whole or refused with what they need; a bound that is just enough gives what no bound gives.
#[test]
fn documents_that_do_not_fit_are_refused_with_what_they_need() {
    let run = |threads, memory| {
        let options = CountOptions { memory, ..CountOptions::default() };
        let source = Box::new(InMemory(many(40_000).into_iter()));
        with_threads(threads, || count(source, &options, &Silent))
    };
    let messages = [1, 3].map(|threads| run(threads, 1 << 20).unwrap_err().to_string());
    assert_eq!(messages[0], messages[1]);
    let needed: usize = messages[0].split(" need ").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
    assert!(messages[0].contains("40000 documents with"), "{}", messages[0]);
    let (counts, report) = run(3, needed << 20).unwrap();
    assert_eq!(report.pruned.terms, 0);
    assert!(counts == counted(many(40_000), &CountOptions::default()));
    run(3, (needed - 1) << 20).unwrap_err();
}

#[test]
fn where_a_split_is_given_only_training_documents_are_counted() {
    let counts = counted(many(3000), &CountOptions::default());
    let expected = Contingency::of_rows(&counts, &counts.training()).retain_terms(|_| true);
    let source = Box::new(InMemory(many(3000).into_iter()));
    let (found, _) = count_contingency(source, Counted::Training, &CountOptions::default(), &Silent).unwrap();
    assert_eq!(found.documents(), 2000);
    let seen = |table: &Contingency| table.retain_terms(|t| table.df()[t as usize] > 0);
    assert!(seen(&found) == seen(&expected));
}

#[test]
fn a_users_vocabulary_limits_terms_but_not_lengths() {
    let options = CountOptions {
        vocabulary: Some(std::sync::Arc::new(tamis::counts::Vocabulary::new(["gold", "unused"]))),
        ..CountOptions::default()
    };
    let counts = counted(vec![document(0, "Gold and silver, gold".into(), vec![])], &options);
    assert_eq!(counts.vocabulary.iter().collect::<Vec<_>>(), ["gold"]);
    assert_eq!((counts.matrix.values(), counts.lengths[0]), (&[2][..], 4));
}

#[test]
fn merged_files_of_parts_are_the_file_of_the_whole_byte_for_byte() {
    use tamis::counts::CountsFile;
    let folder = tempfile::tempdir().unwrap();
    let documents = many(1000);
    let file = |name: &str, documents: &[Document<'static>]| {
        let options = CountOptions::default();
        #[allow(clippy::unnecessary_to_owned)] // the source owns its documents
        let source = Box::new(InMemory(documents.to_vec().into_iter()));
        let (contingency, report) = count_contingency(source, Counted::All, &options, &Silent).unwrap();
        let path = folder.path().join(name);
        CountsFile { text: options.text, pruned: report.pruned, contingency }.write(&path).unwrap();
        path
    };
    let whole = file("whole", &documents);
    let parts = [file("a", &documents[..333]), file("b", &documents[333..400]), file("c", &documents[400..])];
    for order in [[0, 1, 2], [2, 0, 1]] {
        let [first, second, third] = order.map(|i| CountsFile::read(&parts[i]).unwrap());
        let merged = folder.path().join("merged");
        first.merge(&second).unwrap().merge(&third).unwrap().write(&merged).unwrap();
        assert!(std::fs::read(&merged).unwrap() == std::fs::read(&whole).unwrap());
    }
}

proptest! {
    /// Terms in too few documents to learn from are gone, and all else is as it was.
    #[test]
    fn rare_terms_are_left_out(
        texts in prop::collection::vec(("[a-dA-D ]{0,30}", prop::collection::vec("[x-z]", 0..3)), 1..20),
        terms in prop::sample::select(vec!["words(min=1)", "words(1-2,min=1)", "chars(1-2)"]),
        min_df in 2u32..4,
    ) {
        let options = CountOptions { text: terms.parse().unwrap(), ..CountOptions::default() };
        let all = counted(corpus(&texts), &options);
        let without = counted(corpus(&texts), &CountOptions { min_df, ..options });
        let df = |term: u32| all.training().into_iter().filter(|&row| all.matrix.get(row, term).is_some()).count();
        let kept: Vec<&str> =
            (0..).zip(all.vocabulary.iter()).filter(|(term, _)| df(*term) >= min_df as usize).map(|(_, name)| name).collect();
        prop_assert_eq!(without.vocabulary.iter().collect::<Vec<_>>(), kept.clone());
        prop_assert_eq!(&without.lengths, &all.lengths);
        for row in 0..all.len() {
            let named = |counts: &Counts| -> Vec<(String, u32)> {
                counts.matrix.row(row).map(|(t, n)| (counts.vocabulary.name(t).to_owned(), n)).collect()
            };
            let mut expected = named(&all);
            expected.retain(|(name, _)| kept.contains(&name.as_str()));
            prop_assert_eq!(named(&without), expected);
        }
    }
}
