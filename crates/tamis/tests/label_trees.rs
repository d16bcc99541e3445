//! Label trees against slow and obvious versions: all paths multiplied out, and the flat classifier.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use tamis::Silent;
use tamis::classify::tree::{Link, Tree, TreeParts};
use tamis::classify::{
    Classifier, ClassifierSpec, Fitted, LabelTrees, LogisticOptions, Problem, Query, Scored, Scratch, SvmOptions,
    TreeOptions,
};
use tamis::counts::Counts;
use tamis::features::Size;
use tamis::model::{FitOptions, Model, Ranker};

/// Documents of `labels` labels in groups of four: a word of the label, one of the group, and noise that all share.
fn corpus(labels: usize, each: usize, several: bool) -> Counts {
    let words = |label: usize, n: usize| {
        vec![
            format!("own{label}"),
            format!("group{}", label / 4),
            format!("noise{}", (label * 7 + n * 3) % 11),
            format!("noise{}", (label + n) % 5),
        ]
    };
    let name = |label: usize| format!("l{label:03}");
    let mut documents: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for n in 0..each {
        for label in 0..labels {
            let mut own = vec![name(label)];
            let mut text = words(label, n);
            if several && (label + n) % 3 == 0 {
                let other = (label + 5) % labels;
                own.push(name(other));
                text.push(format!("own{other}"));
            }
            documents.push((text, own));
        }
    }
    let borrowed: Vec<(Vec<&str>, Vec<&str>)> = documents
        .iter()
        .map(|(t, l)| (t.iter().map(String::as_str).collect(), l.iter().map(String::as_str).collect()))
        .collect();
    Counts::from_rows(&borrowed)
}

fn problem(counts: &Counts) -> Problem {
    let terms: Vec<u32> = (0..counts.vocabulary.len() as u32).collect();
    Problem::new(counts, &counts.rows(), &terms)
}

fn ranked(model: &dyn Classifier, query: Query<'_>) -> Vec<Scored> {
    let (mut scratch, mut list) = (Scratch::default(), Vec::new());
    model.rank(query, &mut scratch, &mut list);
    list
}

fn log(link: Link, value: f64) -> f64 {
    let short = (1.0 - value).max(0.0);
    match link {
        Link::Squared => -short * short,
        Link::Hinge => -short,
        Link::Logistic => -(1.0 + (-value).exp()).ln(),
    }
}

/// Every path of every tree, multiplied out in plain arithmetic.
fn exhaustive(parts: &TreeParts, query: Query<'_>) -> Vec<(u32, f64)> {
    fn walk(
        parts: &TreeParts,
        tree: &Tree,
        at: usize,
        so_far: f64,
        query: Query<'_>,
        x: &[f64],
        out: &mut Vec<(u32, f64)>,
    ) {
        let node = &tree.nodes[at];
        let value = |class: usize| {
            let mut sum = f64::from(node.bias[class]);
            for (&feature, &x) in query.features.iter().zip(x) {
                if let Ok(place) = node.features.binary_search(&feature) {
                    sum += x * node.weights.get(place, class as u32).map_or(0.0, f64::from);
                }
            }
            sum
        };
        for (class, &kid) in node.kids.iter().enumerate() {
            walk(parts, tree, kid as usize, so_far * log(parts.link, value(class)).exp(), query, x, out);
        }
        for (at, &label) in node.labels.iter().enumerate() {
            out.push((label, so_far * log(parts.link, value(node.kids.len() + at)).exp()));
        }
    }
    let mut x = Vec::new();
    parts.weighter.weigh(query, &mut x);
    let mut sums = vec![0.0; parts.labels];
    for tree in &parts.trees {
        let mut found = Vec::new();
        walk(parts, tree, 0, 1.0, query, &x, &mut found);
        found.into_iter().for_each(|(label, p)| sums[label as usize] += p / parts.trees.len() as f64);
    }
    (0..).zip(sums).collect()
}

#[test]
fn a_full_beam_is_the_exhaustive_product() {
    for (several, base) in [(false, "svm"), (true, "svm"), (false, "logistic"), (true, "logistic")] {
        let counts = corpus(24, 6, several);
        let problem = problem(&counts);
        let name = format!("tree({base},trees=2,leaf=3,beam=1000,prune=0.01)");
        let options: TreeOptions = name.parse().unwrap();
        let trees = options.fit(&problem, &Silent).unwrap();
        assert!(trees.parts().trees[0].nodes.len() > 8, "labels were halved");
        for row in (0..problem.documents()).step_by(5) {
            let list = ranked(&trees, problem.query(row));
            let expected = exhaustive(trees.parts(), problem.query(row));
            assert_eq!(list.len(), 24);
            for s in &list {
                let p = expected[s.label as usize].1;
                assert!((s.score.exp() - p).abs() < 1e-9, "{} {p}", s.score.exp());
            }
            assert!(list.windows(2).all(|w| w[0].score >= w[1].score));
        }
    }
}

#[test]
fn a_narrow_beam_gives_the_scores_of_a_full_one_to_whom_it_reaches() {
    let counts = corpus(24, 6, false);
    let problem = problem(&counts);
    let fit =
        |beam: usize| TreeOptions { beam, trees: 1, leaf: 3, ..TreeOptions::default() }.fit(&problem, &Silent).unwrap();
    let (full, narrow) = (fit(1000), fit(1));
    for row in 0..problem.documents() {
        let all = ranked(&full, problem.query(row));
        let some = ranked(&narrow, problem.query(row));
        assert!(!some.is_empty() && some.len() <= 3);
        for s in some {
            assert!(all.iter().any(|a| a.label == s.label && (a.score - s.score).abs() < 1e-12));
        }
    }
}

#[test]
fn a_tree_of_depth_one_is_the_flat_classifier() {
    for several in [false, true] {
        let counts = corpus(12, 6, several);
        let problem = problem(&counts);
        let svm = SvmOptions { gap: Some(1e-8), ..SvmOptions::default() };
        let flat = svm.fit(&problem, &Silent).unwrap().model;
        let tree = TreeOptions {
            base: svm.clone().into(),
            by: vec!["flat".parse().unwrap()],
            prune: 0.0,
            ..TreeOptions::default()
        };
        let learned = tree.fit(&problem, &Silent).unwrap();
        let made =
            LabelTrees::from_parts(TreeParts { trees: vec![Tree::of_linear(&flat, 0.0)], ..learned.parts().clone() })
                .unwrap();
        for row in 0..problem.documents() {
            let expected = ranked(&flat, problem.query(row));
            for model in [&learned, &made] {
                let list = ranked(model, problem.query(row));
                for s in &expected {
                    let found = list.iter().find(|t| t.label == s.label).unwrap();
                    // Both solve the same problem to the same gap, in an order of documents of their own.
                    assert!((found.score - log(Link::Squared, s.score)).abs() < 1e-3, "{found:?} {s:?}");
                }
            }
        }
    }
}

#[test]
fn a_tree_of_depth_one_over_logistic_regression_is_logistic_regression() {
    for several in [false, true] {
        let counts = corpus(12, 6, several);
        let problem = problem(&counts);
        let flat: LogisticOptions = "logistic(form=ovr,gap=1e-9)".parse().unwrap();
        let model = flat.fit(&problem, &Silent).unwrap().model;
        let tree: TreeOptions = "tree(logistic(form=ovr,gap=1e-9),by=flat,prune=0)".parse().unwrap();
        let tree = tree.fit(&problem, &Silent).unwrap();
        for row in 0..problem.documents() {
            let (expected, list) = (ranked(&model, problem.query(row)), ranked(&tree, problem.query(row)));
            assert_eq!(list.len(), expected.len());
            for s in &expected {
                let found = list.iter().find(|t| t.label == s.label).unwrap();
                // Scores of both are log probabilities.
                assert!((found.score - s.score).abs() < 1e-3, "{found:?} {s:?}");
            }
        }
    }
}

#[test]
fn trees_over_logistic_regression_are_files_and_find_labels() {
    let counts = corpus(20, 6, false);
    let options = FitOptions {
        by: Some("chi2max".parse().unwrap()),
        features: Some(Size::All),
        classifier: Some("tree(logistic(c=10),leaf=5,prune=0)".parse().unwrap()),
        ..FitOptions::default()
    };
    let model = options.fit(&counts, &counts.rows(), &Silent).unwrap().model;
    let model = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    let Ranker::Flat(Fitted::Trees(stored)) = &model.ranker else { panic!("label trees were asked for") };
    assert_eq!(stored.parts().link, Link::Logistic);
    let problem = problem(&counts);
    let trees = options.classifier.unwrap().fit(&problem, &Silent).unwrap();
    let right = (0..problem.documents())
        .filter(|&row| ranked(&trees, problem.query(row))[0].label == problem.assignments.row_indices(row)[0])
        .count();
    assert!(10 * right > 9 * problem.documents(), "{right} of {}", problem.documents());
}

#[test]
fn leaves_are_as_large_as_asked_and_labels_are_found() {
    let counts = corpus(40, 6, false);
    let problem = problem(&counts);
    let Fitted::Trees(trees) = "tree(svm,leaf=5)".parse::<ClassifierSpec>().unwrap().fit(&problem, &Silent).unwrap()
    else {
        panic!("trees")
    };
    assert_eq!(trees.parts().trees.len(), 3);
    assert!(trees.parts().trees.iter().flat_map(|t| &t.nodes).all(|n| n.labels.len() <= 5));
    let right = (0..problem.documents())
        .filter(|&row| ranked(&trees, problem.query(row))[0].label == problem.assignments.row_indices(row)[0])
        .count();
    assert_eq!(right, problem.documents(), "every label has a word of its own");
}

#[test]
fn explanations_add_up_along_the_path() {
    let counts = corpus(16, 6, false);
    let problem = problem(&counts);
    let options: TreeOptions = "tree(svm,trees=2,leaf=4,prune=0)".parse().unwrap();
    let trees = options.fit(&problem, &Silent).unwrap();
    let query = problem.query(3);
    let label = problem.assignments.row_indices(3)[0];
    let why = trees.explain(query, label).unwrap();
    // The label's own word speaks for it, more than any other.
    let best = why.features.iter().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap().0;
    assert_eq!(counts.vocabulary.name(best), "own3");
    // The weights of the label times the vector are what the words add.
    let mut x = Vec::new();
    trees.parts().weighter.weigh(query, &mut x);
    let weights = trees.label_weights(label);
    for (feature, adds) in why.features {
        let at = query.features.binary_search(&feature).unwrap();
        let weight = weights.iter().find(|(f, _)| *f == feature).unwrap().1;
        assert!((adds - weight * x[at]).abs() < 1e-9);
    }
    assert!(trees.explain(query, 99).is_none());
}

#[test]
fn a_taxonomy_gives_the_tree_its_shape() {
    let counts = corpus(8, 8, false);
    let mut problem = problem(&counts);
    // Labels 8 and 9 are the groups; the documents of label 0 are also said to end at group 8.
    problem.assignments = problem.assignments.map_columns(10, &(0..8).map(Some).collect::<Vec<_>>());
    let parents: Vec<Option<u32>> = (0..8).map(|l| Some(8 + l / 4)).chain([None, None]).collect();
    let options =
        TreeOptions { parents: Some(Arc::new(parents)), ..("tree(svm,by=taxonomy)".parse::<TreeOptions>().unwrap()) };
    let trees = options.fit(&problem, &Silent).unwrap();
    let nodes = &trees.parts().trees[0].nodes;
    assert_eq!(nodes.len(), 3);
    assert_eq!(nodes[0].kids, [1, 2]);
    assert_eq!(nodes[1].labels, [0, 1, 2, 3]);
    let without: TreeOptions = "tree(svm,by=taxonomy)".parse().unwrap();
    assert!(without.fit(&problem, &Silent).unwrap_err().to_string().contains("`taxonomy`"));
}

#[test]
fn threads_do_not_show() {
    let counts = corpus(30, 5, true);
    let problem = problem(&counts);
    let options: TreeOptions = "tree(svm,leaf=4)".parse().unwrap();
    let fit = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| options.fit(&problem, &Silent).unwrap())
    };
    assert_eq!(fit(1), fit(3));
}
