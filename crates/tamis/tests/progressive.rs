//! Progressive filtering: all classifiers, the closure of answers, nodes that must stay silent, files and threads.
#![allow(clippy::unwrap_used)]

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use tamis::Silent;
use tamis::classify::Problem;
use tamis::counts::Counts;
use tamis::features::Size;
use tamis::hierarchy::ProgressiveMemory;
use tamis::hierarchy::pipeline::{Imbalance, Method, Utility};
use tamis::hierarchy::progressive::{Answers, NegativePolicy, NodeState, ProgressiveFit, fit};
use tamis::hierarchy::{GivenTaxonomy, ParentPolicy, ProgressiveOptions, Taxonomy};
use tamis::model::{FitOptions, HierarchyOptions, Memory, Model, Ranker};

/// sport (hockey, football (women)), trade (oil), and nodes nobody writes about: chess, and a whole root with a child.
fn taxonomy() -> Taxonomy {
    let pairs = [
        ("hockey", Some("sport")),
        ("football", Some("sport")),
        ("women", Some("football")),
        ("chess", Some("sport")),
        ("oil", Some("trade")),
        ("moon", Some("space")),
    ];
    Taxonomy::from_pairs(pairs, ParentPolicy::Refuse).unwrap()
}

/// Words of a node and of its ancestors, and noise. Some documents end at inner nodes.
fn corpus(documents: usize, seed: u64) -> Counts {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let kinds: [(&str, &[&str]); 6] = [
        ("sport", &["sport"]),
        ("hockey", &["sport", "hockey"]),
        ("football", &["sport", "football"]),
        ("women", &["sport", "football", "women"]),
        ("trade", &["trade"]),
        ("oil", &["trade", "oil"]),
    ];
    let rows: Vec<(Vec<String>, Vec<&str>)> = (0..documents)
        .map(|_| {
            let (label, path) = kinds[random.random_range(0..kinds.len())];
            let mut words: Vec<String> = (0..8).map(|_| format!("noise{}", random.random_range(0..60))).collect();
            for node in path {
                words.extend((0..3).map(|_| format!("{node}{}", random.random_range(0..5))));
            }
            (words, vec![label])
        })
        .collect();
    Counts::from_rows(&rows)
}

fn options(classifier: &str) -> ProgressiveOptions {
    ProgressiveOptions { classifier: classifier.parse().unwrap(), features: Some(40), ..ProgressiveOptions::default() }
}

fn fitted(counts: &Counts, rows: &[usize], options: &ProgressiveOptions) -> ProgressiveFit {
    fit(counts, rows, &taxonomy(), options, &Silent).unwrap()
}

/// Share of documents whose most specific accepted node is their label.
fn exactly_right(fit: &ProgressiveFit, counts: &Counts, rows: &[usize]) -> f64 {
    let problem = Problem::new(counts, rows, &fit.terms);
    let t = fit.model.taxonomy();
    let (mut scratch, mut ranked, mut decided) = (ProgressiveMemory::default(), Vec::new(), Vec::new());
    let right = (0..rows.len()).filter(|&at| {
        fit.model.rank_and_decide(problem.query(at), &mut scratch, &mut ranked, &mut decided);
        let truth = counts.assignments.row_indices(rows[at]).iter().map(|&l| t.node(counts.labels.name(l)).unwrap());
        decided == truth.collect::<Vec<_>>()
    });
    right.count() as f64 / rows.len() as f64
}

#[test]
fn every_classifier_learns_the_tree_and_stops_half_way() {
    let counts = corpus(900, 3);
    let (train, test): (Vec<usize>, Vec<usize>) = (0..900).partition(|r| r % 3 != 0);
    for (classifier, least) in [("svm", 0.85), ("bayes", 0.85), ("bayes(multi=ovr)", 0.85), ("wknn", 0.7), ("knn", 0.6)]
    {
        for answers in [Answers::All, Answers::Best] {
            let fit = fitted(&counts, &train, &ProgressiveOptions { answers, ..options(classifier) });
            let right = exactly_right(&fit, &counts, &test);
            assert!(right >= least, "{classifier}, {answers:?}: {right}");
        }
    }
}

/// Siblings trained together against the same documents are what they are when trained one by one.
#[test]
fn families_are_their_members() {
    let counts = corpus(300, 9);
    let rows: Vec<usize> = (0..300).collect();
    for &negatives in NegativePolicy::ALL {
        let gap = "svm(gap=0.000001)".parse().unwrap();
        let together = ProgressiveOptions { negatives, classifier: gap, ..ProgressiveOptions::default() };
        // More words than there are: the same features, but chosen for each node.
        let apart = ProgressiveOptions { features: Some(100_000), ..together.clone() };
        let (together, apart) = (fitted(&counts, &rows, &together), fitted(&counts, &rows, &apart));
        assert_eq!(together.terms, apart.terms);
        for node in taxonomy().nodes() {
            assert_eq!(together.model.state(node), apart.model.state(node));
            let (a, b) = (together.model.node_weights(node), apart.model.node_weights(node));
            let mut compared = 0;
            for (feature, weight) in a {
                let other = b.iter().find(|(f, _)| *f == feature).map_or(0.0, |(_, w)| *w);
                assert!((weight - other).abs() < 0.02, "{negatives} {node} {feature}: {weight} {other}");
                compared += 1;
            }
            assert!(compared > 0 || together.model.state(node) != NodeState::Trained);
        }
    }
}

/// One document of a node among many: its best thresholds let many others through.
#[test]
fn thresholds_that_accept_by_accident_are_not_used() {
    let mut rows: Vec<(Vec<String>, Vec<&str>)> = (0..120)
        .map(|i| (vec![format!("w{}", i % 7), format!("v{}", i % 5)], vec![if i % 2 == 0 { "hockey" } else { "oil" }]))
        .collect();
    rows.push((vec!["w3".to_owned(), "v2".to_owned()], vec!["women"]));
    let counts = Counts::from_rows(&rows);
    let all: Vec<usize> = (0..rows.len()).collect();
    let women = taxonomy().node("women").unwrap();
    let of = |least_utility| fitted(&counts, &all, &ProgressiveOptions { least_utility, ..options("svm") });
    let any = of(0.0);
    let tuned = any.model.tuned(women).expect("the one document can be accepted");
    assert!(tuned.utility < 0.5 && tuned.outcome.false_positives > 0, "{tuned:?}");
    let strict = of(0.5);
    assert!(strict.model.tuned(women).is_none() && strict.untunable.contains(&women));
    assert!(taxonomy().nodes().all(|n| strict.model.tuned(n).is_none_or(|t| t.utility >= 0.5)));
}

/// With `one` an accepted node or one above it, with `best` the first of the list, whatever was accepted.
#[test]
fn one_answer_may_stop_above_an_accepted_node() {
    let counts = corpus(300, 8);
    let rows: Vec<usize> = (0..300).collect();
    let weak = |answers| {
        let mut o = ProgressiveOptions { answers, features: Some(3), ..options("bayes") };
        o.thresholds.utility = Utility::F(4.0);
        fitted(&counts, &rows, &o)
    };
    let (all, one, best) = (weak(Answers::All), weak(Answers::One), weak(Answers::Best));
    let problem = Problem::new(&counts, &rows, &all.terms);
    let (mut scratch, mut ranked, mut decided) = (ProgressiveMemory::default(), Vec::new(), Vec::new());
    let (mut above, mut differ) = (0, 0);
    for at in 0..rows.len() {
        let accepted = all.model.decide(problem.query(at), &mut scratch);
        one.model.rank_and_decide(problem.query(at), &mut scratch, &mut ranked, &mut decided);
        let [answer] = decided[..] else { panic!("one answer") };
        let expected = ranked.iter().map(|s| s.label).find(|l| accepted.contains(l) || accepted.is_empty());
        assert_eq!(Some(answer), expected);
        above += usize::from(accepted.iter().any(|&n| n != answer && taxonomy().is_within(n, answer)));
        best.model.rank_and_decide(problem.query(at), &mut scratch, &mut ranked, &mut decided);
        assert_eq!(decided, [ranked[0].label]);
        differ += usize::from(decided != [answer]);
    }
    assert!(above > 0 && differ > 0, "{above} stop above a node that accepts them, {differ} where none does");
}

#[test]
fn every_method_tunes_and_exact_is_never_below() {
    let counts = corpus(400, 5);
    let rows: Vec<usize> = (0..400).collect();
    let of = |method| fitted(&counts, &rows, &ProgressiveOptions { method, ..options("svm") });
    let exact = of(Method::Exact);
    for method in [Method::Tsa, Method::Rbf, Method::GreedyExact] {
        let other = of(method);
        for node in taxonomy().nodes() {
            let (Some(best), Some(tuned)) = (exact.model.tuned(node), other.model.tuned(node)) else { continue };
            assert_eq!(tuned.thresholds.len(), taxonomy().depth(node));
            assert!(best.utility >= tuned.utility - 1e-12, "{method} at {node}");
            assert!(best.bound.unwrap() >= tuned.utility - 1e-9);
        }
    }
}

#[test]
fn accepted_nodes_are_closed_and_answers_most_specific() {
    let counts = corpus(300, 8);
    let rows: Vec<usize> = (0..300).collect();
    let recall = ProgressiveOptions { method: Method::Tsa, features: Some(2), ..options("bayes") };
    let recall = ProgressiveOptions {
        thresholds: tamis::hierarchy::pipeline::Options { utility: Utility::F(8.0), ..recall.thresholds },
        ..recall
    };
    let fit = fitted(&counts, &rows, &recall);
    let t = taxonomy();
    let problem = Problem::new(&counts, &rows, &fit.terms);
    let (mut scratch, mut ranked, mut decided) = (ProgressiveMemory::default(), Vec::new(), Vec::new());
    let mut several = 0;
    for at in 0..rows.len() {
        let accepted = fit.model.decide(problem.query(at), &mut scratch);
        for &node in &accepted {
            assert!(t.ancestors(node).all(|a| accepted.contains(&a)));
        }
        fit.model.rank_and_decide(problem.query(at), &mut scratch, &mut ranked, &mut decided);
        assert_eq!(t.closure(decided.iter().copied()), accepted);
        for (i, &a) in decided.iter().enumerate() {
            assert!(decided[i + 1..].iter().all(|&b| !t.is_within(a, b) && !t.is_within(b, a)));
        }
        several += usize::from(decided.len() > 1);
        assert!(ranked.windows(2).all(|w| w[0].better_first(&w[1]).is_lt()));
        assert!(ranked.iter().all(|s| (0.0..=1.0).contains(&s.score)));
        let mut plain = Vec::new();
        fit.model.rank(problem.query(at), &mut scratch, &mut plain);
        assert_eq!(plain, ranked);
    }
    assert!(several > 0, "recall-minded thresholds accept more than one branch sometimes");
}

#[test]
fn nodes_without_documents_are_kept_and_silent() {
    let counts = corpus(300, 4);
    let rows: Vec<usize> = (0..300).collect();
    for &answers in Answers::ALL {
        // Utility recall wants thresholds of 0: what has no documents must still not be accepted by accident.
        let mut o = ProgressiveOptions { answers, ..options("svm") };
        o.thresholds.utility = Utility::Recall;
        let features = if answers == Answers::One { None } else { o.features };
        let fit = fitted(&counts, &rows, &ProgressiveOptions { features, ..o });
        let t = taxonomy();
        let silent: Vec<u32> = ["chess", "moon", "space"].map(|id| t.node(id).unwrap()).to_vec();
        assert_eq!(fit.without_documents, silent);
        for &node in &silent {
            assert_eq!((fit.model.state(node), fit.model.tuned(node)), (NodeState::WithoutDocuments, None));
        }
        let problem = Problem::new(&counts, &rows, &fit.terms);
        let mut scratch = ProgressiveMemory::default();
        for at in 0..rows.len() {
            let accepted = fit.model.decide(problem.query(at), &mut scratch);
            assert!(accepted.iter().all(|n| !silent.contains(n)));
            assert!(answers == Answers::All || !accepted.is_empty());
        }
    }
}

#[test]
fn an_only_child_with_all_documents_needs_no_classifier() {
    let t = Taxonomy::from_pairs([("b", Some("a")), ("c", None)], ParentPolicy::Refuse).unwrap();
    let rows: Vec<(Vec<&str>, Vec<&str>)> =
        (0..40).map(|i| if i % 2 == 0 { (vec!["x", "y"], vec!["b"]) } else { (vec!["z", "y"], vec!["c"]) }).collect();
    let counts = Counts::from_rows(&rows);
    let all: Vec<usize> = (0..40).collect();
    let fit = fit(&counts, &all, &t, &options("svm"), &Silent).unwrap();
    let b = t.node("b").unwrap();
    assert_eq!(fit.model.state(b), NodeState::WithoutNegatives);
    let problem = Problem::new(&counts, &all, &fit.terms);
    assert_eq!(fit.model.decide(problem.query(0), &mut ProgressiveMemory::default()), t.closure([b]));
    assert_eq!(fit.model.decide(problem.query(1), &mut ProgressiveMemory::default()), [t.node("c").unwrap()]);
}

#[test]
fn a_rarer_world_makes_stricter_thresholds() {
    let counts = corpus(400, 11);
    let rows: Vec<usize> = (0..400).collect();
    let accepted = |imbalance: &str| -> usize {
        let imbalance: Imbalance = imbalance.parse().unwrap();
        // Few features, so that nodes make mistakes.
        let o = ProgressiveOptions { imbalance: Some(imbalance), features: Some(3), ..options("bayes") };
        let fit = fitted(&counts, &rows, &o);
        let problem = Problem::new(&counts, &rows, &fit.terms);
        let mut scratch = ProgressiveMemory::default();
        (0..rows.len()).map(|at| fit.model.decide(problem.query(at), &mut scratch).len()).sum()
    };
    assert!(accepted("2^0") > accepted("2^-7"));
}

#[test]
fn model_files_and_threads_change_nothing() {
    let counts = corpus(240, 6);
    let rows: Vec<usize> = (0..240).collect();
    for (classifier, features) in [("svm", Some(40)), ("svm", None), ("bayes", Some(40)), ("wknn", None)] {
        let train = || {
            let options = FitOptions {
                classifier: Some(classifier.parse().unwrap()),
                features: features.map(Size::Top),
                taxonomy: Some(GivenTaxonomy::Tree(taxonomy())),
                hierarchy: HierarchyOptions { answers: Some(Answers::One), ..HierarchyOptions::default() },
                ..FitOptions::default()
            };
            options.fit(&counts, &rows, &Silent).unwrap().model
        };
        let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
        let model = one.install(train);
        let bytes = model.to_bytes().unwrap();
        let three = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
        assert!(bytes == three.install(train).to_bytes().unwrap(), "{classifier}: threads");
        let read = Model::from_bytes(&bytes).unwrap();
        assert!(matches!(read.ranker, Ranker::Along(_)));
        assert!(read.to_bytes().unwrap() == bytes, "{classifier}: file");
        let terms: Vec<u32> = model.features().iter().map(|t| counts.vocabulary.id(t).unwrap()).collect();
        let problem = Problem::new(&counts, &rows, &terms);
        let (mut scratch, mut a, mut b) = (Memory::default(), (Vec::new(), Vec::new()), (Vec::new(), Vec::new()));
        for at in 0..rows.len() {
            model.rank_and_decide(problem.query(at), &mut scratch, &mut a.0, &mut a.1);
            read.rank_and_decide(problem.query(at), &mut scratch, &mut b.0, &mut b.1);
            assert_eq!(a, b);
            assert_eq!(a.1.len(), 1);
        }
        let women = model.labels.id("women").unwrap();
        assert_eq!(model.path(women).unwrap(), ["sport", "football", "women"]);
    }
}

#[test]
fn words_of_a_node_add_up_to_its_margin() {
    let counts = corpus(200, 2);
    let rows: Vec<usize> = (0..200).collect();
    let fit = fitted(&counts, &rows, &options("svm"));
    let t = taxonomy();
    let hockey = t.node("hockey").unwrap();
    let best = fit.model.node_weights(hockey).into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    assert!(counts.vocabulary.name(fit.terms[best as usize]).starts_with("hockey"));
    let row = (0..200).find(|&r| counts.labels.name(counts.assignments.row_indices(r)[0]) == "hockey").unwrap();
    let problem = Problem::new(&counts, &[row], &fit.terms);
    let explained = fit.model.explain(problem.query(0), hockey).unwrap();
    assert!(explained.features.iter().all(|(f, _)| fit.model.node_features(hockey).contains(f)));
    assert!(explained.bias + explained.features.iter().map(|f| f.1).sum::<f64>() > 0.0);
}

#[test]
fn bad_options_and_labels_are_refused() {
    let counts = corpus(60, 1);
    let rows: Vec<usize> = (0..60).collect();
    let error = |o: ProgressiveOptions| fit(&counts, &rows, &taxonomy(), &o, &Silent).unwrap_err().to_string();
    assert!(error(ProgressiveOptions { features: Some(0), ..options("svm") }).contains("features"));
    assert!(error(ProgressiveOptions { least_utility: 1.5, ..options("svm") }).contains("least_utility"));
    assert!(error(ProgressiveOptions { folds: 1, ..options("svm") }).contains("folds"));
    assert!(error(ProgressiveOptions { per_node: Some(1), ..options("svm") }).contains("per_node"));
    let small = Taxonomy::from_pairs([("hockey", Some("sport"))], ParentPolicy::Refuse).unwrap();
    let missing = fit(&counts, &rows, &small, &options("svm"), &Silent).unwrap_err().to_string();
    assert!(missing.contains("football"), "{missing}");
}
