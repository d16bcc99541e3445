//! The built-in corpus: the same documents however they are asked for, and of the stated size, sparsity and difficulty.
#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::ControlFlow;
use std::sync::Mutex;

use rayon::prelude::*;
use tamis::corpus::synth::{self, Generator, Shape, SynthOptions};
use tamis::corpus::{Batch, Body, Document, Part};

fn options(shape: Shape, documents: u64, seed: u64) -> SynthOptions {
    SynthOptions { documents, seed, ..SynthOptions::of(shape) }
}

fn corpus(shape: Shape, documents: u64, seed: u64) -> Vec<Document<'static>> {
    synth::documents(&options(shape, documents, seed)).expect("valid options").collect()
}

/// Lower-case words of a document.
fn words(document: &Document<'_>) -> Vec<String> {
    match &document.body {
        Body::Text(text) => {
            text.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| w.len() > 1).map(str::to_lowercase).collect()
        }
        Body::Tokens(tokens) => tokens.iter().map(ToString::to_string).collect(),
        Body::Counts(_) | Body::Fields(_) => panic!("neither counts nor fields are generated"),
    }
}

fn documents_of_labels(documents: &[Document<'_>]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for label in documents.iter().flat_map(|d| &d.labels) {
        *counts.entry(label.to_string()).or_default() += 1;
    }
    counts
}

fn parents(shape: Shape) -> HashMap<String, Option<String>> {
    synth::taxonomy(shape).into_iter().map(|(child, parent, _)| (child, parent)).collect()
}

/// The labels above a label.
fn above(label: &str, parents: &HashMap<String, Option<String>>) -> Vec<String> {
    std::iter::successors(parents[label].clone(), |p| parents[p].clone()).collect()
}

#[test]
fn the_seed_decides() {
    for &shape in Shape::ALL {
        let first = corpus(shape, 200, 7);
        assert_eq!(first, corpus(shape, 200, 7));
        let other = corpus(shape, 200, 8);
        let same = first.iter().zip(&other).filter(|(a, b)| a.body == b.body).count();
        assert_eq!(same, 0, "{shape}: seeds 7 and 8 share documents");
        let bodies: HashSet<String> = first.iter().map(|d| format!("{:?}", d.body)).collect();
        assert_eq!(bodies.len(), first.len(), "{shape}: a document occurs twice");
    }
}

#[test]
fn a_document_is_the_same_alone_and_in_any_range() {
    for &shape in Shape::ALL {
        let all = corpus(shape, 300, 3);
        let generator = Generator::new(&options(shape, 1, 3)).expect("valid");
        for number in [299, 0, 17, 150] {
            assert_eq!(generator.document(number), all[number as usize]);
        }
        assert_eq!(corpus(shape, 20, 3), all[..20], "a smaller corpus is the beginning of a larger one");
        let mut skipped = synth::documents(&options(shape, 300, 3)).expect("valid");
        assert_eq!(skipped.nth(123).as_ref(), Some(&all[123]));
        assert_eq!(skipped.next().as_ref(), Some(&all[124]));
        assert_eq!(skipped.size_hint(), (175, Some(175)));
        assert!(all.iter().enumerate().all(|(i, d)| d.id == (i + 1).to_string()));
        // Far beyond any corpus that has been generated before it.
        assert!(!generator.document(u64::MAX - 1).labels.is_empty());
    }
}

#[test]
fn batches_are_the_documents_on_any_number_of_threads() {
    for &shape in Shape::ALL {
        let expected = corpus(shape, 1_300, 5);
        let mut source = synth::batches(&options(shape, 1_300, 5)).expect("valid");
        let mut batches: Vec<(usize, Box<dyn Batch>)> = Vec::new();
        while let Some(batch) = source.next_batch().expect("cannot fail") {
            batches.push((batches.len(), batch));
        }
        assert!(batches.len() > 1);
        for threads in [1, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let read: Mutex<BTreeMap<usize, Vec<Document<'static>>>> = Mutex::default();
            // Boxed batches are Send, not Sync, so they are asked for again in each round.
            let mut source = synth::batches(&options(shape, 1_300, 5)).expect("valid");
            let round: Vec<(usize, Box<dyn Batch>)> =
                (0..batches.len()).map(|i| (i, source.next_batch().expect("cannot fail").expect("as many"))).collect();
            pool.install(|| {
                round.into_par_iter().for_each(|(i, batch)| {
                    let mut documents = Vec::new();
                    batch.visit(&mut |d| {
                        documents.push(d.expect("cannot fail").into_owned());
                        ControlFlow::Continue(())
                    });
                    read.lock().expect("no panic").insert(i, documents);
                });
            });
            let read: Vec<_> = read.into_inner().expect("no panic").into_values().flatten().collect();
            assert!(read == expected, "{shape}, {threads} threads");
        }
        let mut visited = 0;
        batches[0].1.visit(&mut |_| {
            visited += 1;
            if visited == 3 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        assert_eq!(visited, 3);
    }
}

#[test]
fn taxonomies_have_four_levels() {
    for (shape, expected) in [(Shape::Topics, None), (Shape::Rcv1, Some([4, 55, 43, 1]))] {
        let parents = parents(shape);
        let rows = synth::taxonomy(shape);
        assert_eq!(parents.len(), rows.len(), "{shape}: a topic occurs twice");
        let mut levels = [0; 4];
        let mut seen = HashSet::new();
        for (child, parent, name) in &rows {
            assert!(parent.as_ref().is_none_or(|p| seen.contains(p)), "{child} comes before its parent");
            seen.insert(child.clone());
            assert!(!name.is_empty() && !name.contains('\t') && !child.contains(['\t', ' ', ',']));
            levels[above(child, &parents).len()] += 1;
        }
        assert!(levels.iter().all(|&n| n > 0), "{levels:?}");
        if let Some(expected) = expected {
            assert_eq!(levels, expected);
        }
    }
}

#[test]
fn topics_is_of_the_stated_kind() {
    let parents = parents(Shape::Topics);
    for seed in [1, 2, 3] {
        let documents = corpus(Shape::Topics, 2_000, seed);
        let mut sizes = [0; 6];
        let mut lengths = Vec::new();
        for document in &documents {
            sizes[document.labels.len()] += 1;
            for label in &document.labels {
                assert!(parents.contains_key(&**label), "{label}");
                let above = above(label, &parents);
                assert!(!document.labels.iter().any(|l| above.iter().any(|a| a == l)), "{:?}", document.labels);
            }
            let distinct: BTreeSet<_> = document.labels.iter().collect();
            assert_eq!(distinct.len(), document.labels.len());
            let Body::Text(text) = &document.body else { panic!("not text") };
            let length = text.split_whitespace().count();
            assert!((40..=250).contains(&length), "{length} words");
            assert!(text.is_ascii() && text.ends_with(['.', '?']));
            lengths.push(length);
            let date = document.date.as_deref().expect("dated");
            assert!(("2015-01-01"..="2024-12-31").contains(&date), "{date}");
        }
        assert!(sizes[0] == 0 && sizes[1..].iter().all(|&n| n > 20), "{sizes:?}");
        lengths.sort_unstable();
        assert!(lengths[50] < 70 && lengths[1_950] > 160, "{} {}", lengths[50], lengths[1_950]);

        let counts = documents_of_labels(&documents);
        assert_eq!(counts.len(), parents.len(), "every topic occurs");
        let (least, most) = (counts.values().min().expect("some"), counts.values().max().expect("some"));
        assert!((1..=10).contains(least) && (150..=400).contains(most), "{counts:?}");

        let vocabulary: HashSet<String> = documents.iter().flat_map(words).collect();
        assert!((4_000..9_000).contains(&vocabulary.len()), "{}", vocabulary.len());
        let test = documents.iter().filter(|d| d.part == Some(Part::Test)).count();
        assert!((500..700).contains(&test), "{test} test documents");
        let years: BTreeSet<&str> = documents.iter().filter_map(|d| d.date.as_deref()).map(|d| &d[..4]).collect();
        assert_eq!(years.len(), 10);
    }
}

#[test]
fn rcv1_is_of_the_stated_size_and_sparsity() {
    let parents = parents(Shape::Rcv1);
    let n = 20_000;
    let documents = corpus(Shape::Rcv1, n, 1);
    let (mut tokens, mut distinct, mut labels) = (0, 0, 0);
    let mut df: HashMap<String, u32> = HashMap::new();
    for document in &documents {
        for label in &document.labels {
            assert!(parents.contains_key(&**label), "{label}");
            for ancestor in above(label, &parents) {
                assert!(document.labels.iter().any(|l| *l == ancestor), "{ancestor} is not in {:?}", document.labels);
            }
        }
        assert_eq!(document.labels.iter().collect::<BTreeSet<_>>().len(), document.labels.len());
        labels += document.labels.len();
        let all = words(document);
        tokens += all.len();
        let terms: HashSet<String> = all.into_iter().collect();
        distinct += terms.len();
        for term in terms {
            *df.entry(term).or_default() += 1;
        }
    }
    let mean = |sum: usize| sum as f64 / n as f64;
    assert!((3.0..3.4).contains(&mean(labels)), "{} labels a document", mean(labels));
    assert!((112.0..130.0).contains(&mean(tokens)), "{} tokens a document", mean(tokens));
    assert!((71.0..79.0).contains(&mean(distinct)), "{} distinct terms a document", mean(distinct));
    // 804,414 documents use nearly all of the 47,219 terms; 14,401 documents of RCV1 itself use 25,057.
    assert!((25_000..=45_000).contains(&df.len()), "{} terms", df.len());

    let mut df: Vec<u32> = df.into_values().collect();
    df.sort_unstable_by(|a, b| b.cmp(a));
    let share = |rank: usize| f64::from(df[rank]) / n as f64;
    // A few times the shares seen in 14,401 documents of RCV1 (0.44, 0.11, 0.017, 0.0004) either way.
    for (rank, real) in [(0, 0.44), (100, 0.11), (1_000, 0.017), (10_000, 0.0004)] {
        assert!((real / 2.5..real * 2.5).contains(&share(rank)), "rank {rank}: {} against {real}", share(rank));
    }

    let counts = documents_of_labels(&documents);
    let most = *counts.values().max().expect("some") as f64 / n as f64;
    assert!((0.42..0.52).contains(&most), "{most}");
    let rare = parents.keys().filter(|l| counts.get(*l).copied().unwrap_or(0) < n as usize / 1_000).count();
    assert!((8..40).contains(&rare), "{rare} topics below one in a thousand");
    assert!(counts.values().filter(|&&c| c > n as usize / 100).count() > 25);
}

#[test]
fn the_test_share_moves_documents_and_changes_nothing_else() {
    let with = |test_share| {
        let options = SynthOptions { test_share, ..options(Shape::Topics, 1_000, 1) };
        synth::documents(&options).expect("valid").collect::<Vec<_>>()
    };
    let (none, some, more, all) = (with(0.0), with(0.2), with(0.5), with(1.0));
    assert!(none.iter().all(|d| d.part.is_none()));
    assert!(all.iter().all(|d| d.part == Some(Part::Test)));
    for ((n, s), m) in none.iter().zip(&some).zip(&more) {
        assert_eq!((&n.body, &n.labels, &n.date), (&s.body, &s.labels, &s.date));
        assert!(s.part == Some(Part::Train) || m.part == Some(Part::Test), "a larger share keeps the test documents");
    }
    let tests = |documents: &[Document]| documents.iter().filter(|d| d.part == Some(Part::Test)).count();
    assert!((150..250).contains(&tests(&some)) && (440..560).contains(&tests(&more)));
}

/// A plain multinomial Bayes with add-one smoothing: how often its first label is one of the document's.
fn precision_at_1(documents: &[Document<'_>]) -> f64 {
    let mut ids: HashMap<String, usize> = HashMap::new();
    let mut tf: BTreeMap<&str, (f64, f64, HashMap<usize, f64>)> = BTreeMap::new();
    let bags: Vec<Vec<usize>> = documents
        .iter()
        .map(|d| {
            words(d)
                .into_iter()
                .map(|w| {
                    let next = ids.len();
                    *ids.entry(w).or_insert(next)
                })
                .collect()
        })
        .collect();
    for (document, bag) in documents.iter().zip(&bags).filter(|(d, _)| d.part == Some(Part::Train)) {
        for label in &document.labels {
            let (docs, sum, counts) = tf.entry(label).or_default();
            *docs += 1.0;
            *sum += bag.len() as f64;
            for &w in bag {
                *counts.entry(w).or_default() += 1.0;
            }
        }
    }
    let (mut right, mut all) = (0.0, 0.0);
    for (document, bag) in documents.iter().zip(&bags).filter(|(d, _)| d.part == Some(Part::Test)) {
        let score = |(docs, sum, counts): &(f64, f64, HashMap<usize, f64>)| {
            let total = (sum + ids.len() as f64).ln();
            docs.ln() + bag.iter().map(|w| (1.0 + counts.get(w).unwrap_or(&0.0)).ln() - total).sum::<f64>()
        };
        let best = tf.iter().max_by(|a, b| score(a.1).total_cmp(&score(b.1))).expect("labels").0;
        all += 1.0;
        right += f64::from(u8::from(document.labels.iter().any(|l| l == best)));
    }
    right / all
}

#[test]
fn a_classifier_learns_much_and_not_all() {
    let topics = precision_at_1(&corpus(Shape::Topics, 2_000, 1));
    assert!((0.6..0.97).contains(&topics), "{topics}");
    // Only labels below the roots, since the largest root alone would be right half of the time.
    let mut rcv1 = corpus(Shape::Rcv1, 4_000, 1);
    for document in &mut rcv1 {
        document.labels.retain(|l| l.len() > 1);
    }
    rcv1.retain(|d| !d.labels.is_empty());
    let rcv1 = precision_at_1(&rcv1);
    assert!((0.6..0.97).contains(&rcv1), "{rcv1}");
}

/// Figures that users publish rest on these documents: a change here changes every one of them and belongs in the
/// changelog.
#[test]
fn documents_do_not_change_between_versions() {
    let hash = |shape| {
        let mut hasher = blake3::Hasher::new();
        for document in corpus(shape, 500, 1) {
            let Document { id, body, labels, part, date, .. } = document;
            let line = format!(
                "Document {{ id: {id:?}, body: {body:?}, labels: {labels:?}, part: {part:?}, date: {date:?} }}\n"
            );
            hasher.update(line.as_bytes());
        }
        hasher.finalize().to_hex()[..16].to_owned()
    };
    assert_eq!((hash(Shape::Topics).as_str(), hash(Shape::Rcv1).as_str()), ("39026968cb9b1ffe", "5bd81e949b08ee9a"));
}
