//! Training sets of progressive filtering against their definitions in words.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;

use proptest::prelude::*;
use tamis::counts::Counts;
use tamis::hierarchy::progressive::{NegativePolicy, NodeDocuments, TrainingOptions};
use tamis::hierarchy::{ParentPolicy, Separator, Taxonomy};

fn corpus(labels: &[Vec<&str>]) -> Counts {
    let documents: Vec<(Vec<&str>, Vec<&str>)> = labels.iter().map(|l| (vec!["word"], l.clone())).collect();
    Counts::from_rows(&documents)
}

/// a has children b and c, b has d; x is another root.
fn taxonomy() -> Taxonomy {
    let pairs = [("b", Some("a")), ("c", Some("a")), ("d", Some("b")), ("x", None), ("empty", Some("x"))];
    Taxonomy::from_pairs(pairs, ParentPolicy::Refuse).unwrap()
}

#[test]
fn policies_by_hand() {
    use NegativePolicy::{AllMinusNode, ParentMinusNode, Siblings};
    let t = taxonomy();
    //                         0          1          2          3               4          5       6          7
    let counts =
        corpus(&[vec!["a"], vec!["b"], vec!["c"], vec!["d", "c"], vec!["x"], vec![], vec!["d"], vec!["x", "a"]]);
    let documents = NodeDocuments::new(&t, &counts, &[0, 1, 2, 3, 4, 5, 6, 7]).unwrap();
    let node = |id: &str| t.node(id).unwrap();
    let negatives = |id: &str, policy| documents.negatives(node(id), policy);
    assert_eq!(documents.positives(node("a")), [0, 1, 2, 3, 6, 7]);
    assert_eq!(documents.positives(node("b")), [1, 3, 6]);
    assert_eq!(negatives("b", ParentMinusNode), [0, 2, 7]);
    assert_eq!(negatives("b", Siblings), [2]);
    assert_eq!(negatives("b", AllMinusNode), [0, 2, 4, 5, 7]);
    assert_eq!(negatives("a", ParentMinusNode), [4, 5]);
    assert_eq!(negatives("a", Siblings), [4]);
    assert_eq!(negatives("d", ParentMinusNode), [1]);
    assert_eq!(negatives("d", Siblings), Vec::<usize>::new());
    assert_eq!(documents.without_documents(), [node("empty")]);

    let sets = documents.training_sets(&TrainingOptions { negatives: Siblings, ..TrainingOptions::default() }).unwrap();
    assert_eq!(sets.without_documents, [node("empty")]);
    assert_eq!(sets.without_negatives, [node("d")]);
    assert_eq!(sets.trainable.iter().map(|s| s.node).collect::<Vec<_>>(), [node("a"), node("b"), node("c"), node("x")]);
    // Only the given documents count.
    let some = NodeDocuments::new(&t, &counts, &[6, 2]).unwrap();
    assert_eq!((some.positives(node("a")), some.negatives(node("d"), AllMinusNode)), (vec![2, 6], vec![2]));
}

#[test]
fn refusals() {
    let t = Taxonomy::from_names(["a.b"], Separator::Dot).unwrap();
    let counts = corpus(&[vec!["a.b"], vec!["zebra"]]);
    let error = NodeDocuments::new(&t, &counts, &[0]).unwrap_err().to_string();
    assert!(error.contains("not in the taxonomy: zebra"), "{error}");
    let known = corpus(&[vec!["a.b"]]);
    let documents = NodeDocuments::new(&t, &known, &[0]).unwrap();
    let one = TrainingOptions { per_node: Some(1), ..TrainingOptions::default() };
    assert!(documents.training_sets(&one).unwrap_err().to_string().starts_with("the option `per_node=1`:"));
    for &policy in NegativePolicy::ALL {
        assert_eq!(policy.to_string().parse::<NegativePolicy>().unwrap(), policy);
        assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{policy}\""));
    }
    assert!("sibling".parse::<NegativePolicy>().unwrap_err().to_string().contains("did you mean siblings"));
}

#[test]
fn sampling_is_balanced_and_repeatable() {
    let t = taxonomy();
    let labels: Vec<Vec<&str>> = (0..600)
        .map(|i| {
            if i % 3 == 0 {
                vec!["d"]
            } else if i % 50 == 1 {
                vec!["c"]
            } else {
                vec!["x"]
            }
        })
        .collect();
    let counts = corpus(&labels);
    let rows: Vec<usize> = (0..600).collect();
    let documents = NodeDocuments::new(&t, &counts, &rows).unwrap();
    let options = |seed| TrainingOptions { negatives: NegativePolicy::AllMinusNode, per_node: Some(100), seed };
    let a = t.node("a").unwrap();
    let set = documents.training_set(a, &options(1)).unwrap();
    assert_eq!((set.positives.len(), set.negatives.len()), (50, 50));
    assert_eq!(set.all_positives + set.all_negatives, 600);
    // All when fewer.
    let few = documents.training_set(t.node("c").unwrap(), &options(1)).unwrap();
    assert_eq!(
        (few.positives.len(), few.positives.len()),
        (few.all_positives, labels.iter().filter(|l| **l == ["c"]).count())
    );
    assert_eq!(few.negatives.len(), 50);
    assert_eq!(documents.training_set(a, &options(1)).unwrap(), set);
    assert_ne!(documents.training_set(a, &options(2)).unwrap(), set);
    let all = documents.training_sets(&options(1)).unwrap();
    assert_eq!(all.trainable.iter().find(|s| s.node == a), Some(&set));
    // Every document has its turn: over many seeds each is drawn about 50/all of the time.
    let mut drawn = vec![0u32; 600];
    for seed in 0..400 {
        documents.training_set(a, &options(seed)).unwrap().positives.iter().for_each(|&r| drawn[r] += 1);
    }
    let expected = 400.0 * 50.0 / set.all_positives as f64;
    for row in documents.positives(a) {
        assert!((f64::from(drawn[row]) - expected).abs() < 6.0 * expected.sqrt(), "{row}: {}", drawn[row]);
    }
}

proptest! {
    /// The policies as set expressions over closed label sets.
    #[test]
    fn policies_are_their_definitions(
        labels in prop::collection::vec(prop::collection::btree_set(prop::sample::select(vec!["a", "b", "c", "d", "x"]), 0..3), 1..30),
        keep in prop::collection::vec(any::<bool>(), 30),
    ) {
        let t = taxonomy();
        let labels: Vec<Vec<&str>> = labels.into_iter().map(|l| l.into_iter().collect()).collect();
        let counts = corpus(&labels);
        let rows: Vec<usize> = (0..labels.len()).filter(|&r| keep[r]).collect();
        let documents = NodeDocuments::new(&t, &counts, &rows).unwrap();
        let of = |n: u32| -> BTreeSet<usize> {
            rows.iter().copied().filter(|&r| labels[r].iter().any(|l| t.is_within(t.node(l).unwrap(), n))).collect()
        };
        let all: BTreeSet<usize> = rows.iter().copied().collect();
        for node in t.nodes() {
            let positives = of(node);
            prop_assert_eq!(&documents.positives(node).into_iter().collect::<BTreeSet<_>>(), &positives);
            for &policy in NegativePolicy::ALL {
                let pool = match (policy, t.parent(node)) {
                    (NegativePolicy::ParentMinusNode, Some(parent)) => of(parent),
                    (NegativePolicy::Siblings, parent) => t
                        .nodes()
                        .filter(|&s| s != node && t.parent(s) == parent)
                        .flat_map(of)
                        .collect(),
                    _ => all.clone(),
                };
                let expected: Vec<usize> = pool.difference(&positives).copied().collect();
                prop_assert_eq!(documents.negatives(node, policy), expected.clone());
                let options = TrainingOptions { negatives: policy, per_node: Some(4), seed: 3 };
                let set = documents.training_set(node, &options).unwrap();
                prop_assert_eq!(set.negatives.len(), expected.len().min(2));
                prop_assert!(set.negatives.iter().all(|r| expected.contains(r)));
                prop_assert!(set.positives.iter().all(|r| positives.contains(r)));
                prop_assert!(set.positives.is_sorted() && set.negatives.is_sorted());
            }
        }
    }
}
