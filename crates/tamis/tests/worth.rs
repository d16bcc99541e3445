//! Answers by what they are worth: against brute force over all sets, and through `fit`.
#![allow(clippy::unwrap_used, clippy::format_collect)]

use proptest::prelude::*;
use tamis::Silent;
use tamis::counts::Counts;
use tamis::hierarchy::{CostTable, GivenTaxonomy, Goal, ParentPolicy, Taxonomy, Worth};
use tamis::model::{FitOptions, HierarchyOptions, Model};

fn name(node: usize) -> String {
    format!("n{node}")
}

/// A forest of `parents.len()` nodes; node i hangs below a node before it, or is a root.
fn forest(parents: &[usize]) -> Taxonomy {
    let pairs = parents.iter().enumerate().map(|(node, &p)| (name(node), (p < node).then(|| name(p))));
    Taxonomy::from_pairs(pairs, ParentPolicy::Refuse).unwrap()
}

/// All sets of nodes that have the ancestors of their members.
fn closed_sets(taxonomy: &Taxonomy) -> Vec<Vec<u32>> {
    let n = taxonomy.len();
    (0..1u32 << n)
        .map(|bits| (0..n as u32).filter(|node| bits >> node & 1 == 1).collect::<Vec<_>>())
        .filter(|set| taxonomy.closure(set.iter().copied()) == *set)
        .collect()
}

fn shared(a: &[u32], b: &[u32]) -> f64 {
    a.iter().filter(|n| b.contains(n)).count() as f64
}

proptest! {
    /// A world of closed sets with probabilities: no set has a larger expectation of `2|D∩T| − λ(|D|+|T|)` than the answer.
    #[test]
    fn several_paths_are_worth_most(
        parents in prop::collection::vec(0usize..6, 2..7),
        draws in prop::collection::vec((0usize..1000, 0.01f64..1.0), 1..6),
        lambda in 0.05f64..0.98,
    ) {
        let taxonomy = forest(&parents);
        let sets = closed_sets(&taxonomy);
        let total: f64 = draws.iter().map(|d| d.1).sum();
        let world: Vec<(&Vec<u32>, f64)> = draws.iter().map(|(at, p)| (&sets[at % sets.len()], p / total)).collect();
        let mut having = vec![0.0; taxonomy.len()];
        world.iter().for_each(|(set, p)| set.iter().for_each(|&n| having[n as usize] += p));
        let worth = Worth { goal: Goal::Hf1, one: false, closed: true, least: lambda / 2.0, costs: None };
        let (mut nodes, mut answer) = (Vec::new(), Vec::new());
        worth.node_probabilities(&taxonomy, &having, &mut nodes);
        worth.decide(&taxonomy, &having, &nodes, &mut answer);
        let expected = |set: &[u32]| -> f64 {
            world.iter().map(|(truth, p)| p * (2.0 * shared(set, truth) - lambda * (set.len() + truth.len()) as f64)).sum()
        };
        let best = sets.iter().map(|set| expected(set)).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(expected(&answer) >= best - 1e-9, "{answer:?}: {} of {best}", expected(&answer));
        // In the other form it is the same answer.
        let specific = Worth { closed: false, ..worth };
        let mut short = Vec::new();
        specific.decide(&taxonomy, &having, &nodes, &mut short);
        prop_assert_eq!(taxonomy.closure(short), answer);
    }

    /// Documents that end at one node: the answer is the node whose path has the largest expectation; `exact` the likeliest.
    #[test]
    fn one_path_is_worth_most(
        parents in prop::collection::vec(0usize..7, 2..9),
        weights in prop::collection::vec(0.0f64..1.0, 9),
        lambda in 0.05f64..0.98,
    ) {
        let taxonomy = forest(&parents);
        let total: f64 = weights[..taxonomy.len()].iter().sum();
        prop_assume!(total > 0.1);
        let ends: Vec<f64> = weights[..taxonomy.len()].iter().map(|w| w / total).collect();
        let path = |node: u32| taxonomy.closure([node]);
        let expected = |node: u32| -> f64 {
            let own = path(node);
            let one = |(truth, p): (u32, &f64)| {
                let truth = path(truth);
                p * (2.0 * shared(&own, &truth) - lambda * (own.len() + truth.len()) as f64)
            };
            (0u32..).zip(&ends).map(one).sum()
        };
        let mut worth = Worth { goal: Goal::Hf1, one: true, closed: false, least: lambda / 2.0, costs: None };
        let (mut nodes, mut answer) = (Vec::new(), Vec::new());
        worth.node_probabilities(&taxonomy, &ends, &mut nodes);
        for node in taxonomy.nodes() {
            let below: f64 = taxonomy.nodes().filter(|&n| taxonomy.is_within(n, node)).map(|n| ends[n as usize]).sum();
            prop_assert!((nodes[node as usize] - below).abs() < 1e-9);
        }
        worth.decide(&taxonomy, &ends, &nodes, &mut answer);
        prop_assert_eq!(answer.len(), 1);
        let best = taxonomy.nodes().map(expected).fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(expected(answer[0]) >= best - 1e-9);
        worth.goal = Goal::Exact;
        worth.decide(&taxonomy, &ends, &nodes, &mut answer);
        let likeliest = ends.iter().copied().fold(0.0, f64::max);
        prop_assert_eq!(ends[answer[0] as usize], likeliest);
    }

    /// The same with `f1`: no set of labels of which none is above another is expected to be worth more, one label or many.
    #[test]
    fn several_labels_are_answered_where_they_are_worth_more(
        parents in prop::collection::vec(0usize..7, 2..9),
        weights in prop::collection::vec(0.0f64..1.0, 9),
        lambda in 0.05f64..0.98,
    ) {
        let taxonomy = forest(&parents);
        let total: f64 = weights[..taxonomy.len()].iter().sum();
        prop_assume!(total > 0.1);
        let ends: Vec<f64> = weights[..taxonomy.len()].iter().map(|w| w / total).collect();
        let worth = Worth { goal: Goal::F1, one: true, closed: false, least: lambda / 2.0, costs: None };
        let (mut nodes, mut answer) = (Vec::new(), Vec::new());
        worth.node_probabilities(&taxonomy, &ends, &mut nodes);
        worth.decide(&taxonomy, &ends, &nodes, &mut answer);
        let expected = |set: &[u32]| -> f64 {
            let one = |(truth, p): (u32, &f64)| {
                p * (2.0 * f64::from(u8::from(set.contains(&truth))) - lambda * (set.len() + 1) as f64)
            };
            (0u32..).zip(&ends).map(one).sum()
        };
        let all: Vec<u32> = taxonomy.nodes().collect();
        let mut best = f64::NEG_INFINITY;
        for bits in 0u32..1 << all.len() {
            let set: Vec<u32> = all.iter().copied().filter(|&n| bits >> n & 1 == 1).collect();
            let mut specific = set.clone();
            taxonomy.most_specific(&mut specific);
            if specific.len() == set.len() {
                best = best.max(expected(&set));
            }
        }
        prop_assert!(expected(&answer) >= best - 1e-9, "{answer:?}");
    }

    /// Costs: no node, and no silence where the table allows it, is expected to cost less.
    #[test]
    fn the_cheapest_answer_is_given(
        parents in prop::collection::vec(0usize..5, 2..6),
        weights in prop::collection::vec(0.01f64..1.0, 6),
        costs in prop::collection::vec((0usize..7, 0usize..6, 0.0f64..3.0), 0..8),
    ) {
        let taxonomy = forest(&parents);
        let n = taxonomy.len();
        let total: f64 = weights[..n].iter().sum();
        let ends: Vec<f64> = weights[..n].iter().map(|w| w / total).collect();
        let mut rows = std::collections::BTreeMap::new();
        for (answer, truth, cost) in costs {
            let answer = if answer == 6 { "-".to_owned() } else { name(answer % n) };
            let truth = if truth == 5 { "*".to_owned() } else { name(truth % n) };
            rows.insert((answer, truth), cost);
        }
        let text: String = rows.iter().map(|((a, t), c)| format!("{a}\t{t}\t{c}\n")).collect();
        let table = CostTable::read(&text, "costs.tsv".as_ref(), &taxonomy).unwrap();
        let silent = rows.keys().any(|(a, _)| a == "-");
        let expected = |answer: Option<u32>| -> f64 { (0u32..).zip(&ends).map(|(t, p)| p * table.cost(answer, t)).sum() };
        let worth = Worth { goal: Goal::Cost, one: true, closed: false, least: 0.5, costs: Some(table.clone()) };
        let (mut nodes, mut answer) = (Vec::new(), Vec::new());
        worth.node_probabilities(&taxonomy, &ends, &mut nodes);
        worth.decide(&taxonomy, &ends, &nodes, &mut answer);
        let mut best = taxonomy.nodes().map(|node| expected(Some(node))).fold(f64::INFINITY, f64::min);
        if silent {
            best = best.min(expected(None));
        }
        prop_assert!(expected(answer.first().copied()) <= best + 1e-9);
    }
}

#[test]
fn a_table_of_costs_says_what_is_wrong() {
    let taxonomy = forest(&[9, 0, 0]);
    let error = |text: &str| CostTable::read(text, "costs.tsv".as_ref(), &taxonomy).unwrap_err().to_string();
    assert!(error("n1\tn2").contains("answer, truth and cost"));
    assert!(error("answer\ttruth\tcost\nn1\tn9\t1").contains("costs.tsv:2"));
    assert!(error("n1\tn2\tmuch").contains("no cost"));
    assert!(error("n1\tn2\t-1").contains("no cost"));
    assert!(error("n1\tn2\t1\nn1\tn2\t2").contains("given twice"));
    let table = CostTable::read("# costs\nn1\t*\t5\nn1\tn2\t2\n*\tn0\t7\n", "c".as_ref(), &taxonomy).unwrap();
    let (n0, n1, n2) = (taxonomy.node("n0").unwrap(), taxonomy.node("n1").unwrap(), taxonomy.node("n2").unwrap());
    assert_eq!([table.cost(Some(n1), n2), table.cost(Some(n1), n0), table.cost(Some(n2), n0)], [2.0, 5.0, 7.0]);
    assert_eq!([table.cost(Some(n0), n0), table.cost(Some(n2), n1), table.cost(None, n2)], [0.0, 1.0, 1.0]);
}

/// Three groups of three labels; a document has a word of its label, sometimes that of another, and one of the group.
fn documents(closed: bool, several: bool) -> Counts {
    let mut all: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for n in 0..240usize {
        let (group, own) = (n % 3, n / 3 % 3);
        let said = if n % 7 == 0 { (own + 1) % 3 } else { own };
        let mut words = vec![format!("word{group}{said}"), format!("group{group}"), format!("noise{}", n % 13)];
        let mut labels = vec![format!("g{group}/l{own}")];
        if closed {
            labels.push(format!("g{group}"));
        }
        if several && n % 2 == 0 {
            let other = (group + 1) % 3;
            labels.push(format!("g{other}/l{own}"));
            words.push(format!("word{other}{own}"));
            if closed {
                labels.push(format!("g{other}"));
            }
        }
        all.push((words, labels));
    }
    let borrowed: Vec<(Vec<&str>, Vec<&str>)> = all
        .iter()
        .map(|(w, l)| (w.iter().map(String::as_str).collect(), l.iter().map(String::as_str).collect()))
        .collect();
    Counts::from_rows(&borrowed)
}

fn fitted(counts: &Counts, goal: Option<Goal>) -> Model {
    let options = FitOptions {
        taxonomy: Some(GivenTaxonomy::Names),
        hierarchy: HierarchyOptions { goal, ..HierarchyOptions::default() },
        ..FitOptions::default()
    };
    options.fit(counts, &counts.training(), &Silent).unwrap().model
}

/// Item by item: what is decided for the training documents, with ancestors.
fn decided(model: &Model, counts: &Counts) -> Vec<Vec<String>> {
    use tamis::corpus::Body;
    let mut labeller = model.labeller();
    (0..counts.len())
        .map(|row| {
            let terms: Vec<&str> = counts.matrix.row_indices(row).iter().map(|&t| counts.vocabulary.name(t)).collect();
            let found = labeller.label(&Body::Text(terms.join(" ").into()));
            found.decided.iter().map(|&l| model.labels.name(l).to_owned()).collect()
        })
        .collect()
}

#[test]
fn labels_with_and_without_ancestors_give_the_same_model() {
    for goal in [Goal::Exact, Goal::Hf1, Goal::F1] {
        let (short, long) = (documents(false, false), documents(true, false));
        let (one, other) = (fitted(&short, Some(goal)), fitted(&long, Some(goal)));
        let taxonomy = one.taxonomy.clone().unwrap();
        assert_eq!(one.labels, other.labels);
        assert_eq!(one.summary.classifier, other.summary.classifier);
        let close = |labels: &Vec<String>| taxonomy.closure(labels.iter().map(|l| taxonomy.node(l).unwrap()));
        let (a, b) = (decided(&one, &short), decided(&other, &long));
        assert_eq!(a.iter().map(close).collect::<Vec<_>>(), b.iter().map(close).collect::<Vec<_>>());
        // Labels are answered in the form they were given in.
        assert!(a.iter().all(|labels| labels.len() == 1));
        assert!(b.iter().all(|labels| labels.len() == close(labels).len()));
    }
}

#[test]
fn trees_along_the_taxonomy_can_be_named() {
    for several in [false, true] {
        for closed in [false, true] {
            let counts = documents(closed, several);
            for more in [
                r#""hierarchy": {"goal": "hf1"}"#,
                r#""hierarchy": {"goal": "exact"}, "by": "chi2max", "features": "all""#,
                // A selector alone would ask for thresholds along pipelines, of which a tree is none.
                r#""by": "ig""#,
                r#""threshold": "scut", "folds": 2"#,
            ] {
                for by in ["taxonomy", "flat+taxonomy"] {
                    let json = format!(r#"{{"taxonomy": "names", "classifier": "tree(svm,by={by})", {more}}}"#);
                    let options: FitOptions = serde_json::from_str(&json).unwrap();
                    let fitted = options.fit(&counts, &counts.training(), &Silent);
                    let model = fitted.unwrap_or_else(|error| panic!("{json}: {error}")).model;
                    assert_eq!(model.summary.classifier.to_string(), format!("tree(svm,by={by})"));
                    let found = decided(&model, &counts);
                    let right = (0..counts.len()).filter(|&row| {
                        let truth = counts.assignments.row_indices(row).iter();
                        let truth: Vec<&str> = truth.map(|&label| counts.labels.name(label)).collect();
                        truth.iter().all(|label| found[row].iter().any(|given| given == label))
                    });
                    assert!(right.count() * 10 > counts.len() * 8, "{json}, several: {several}, closed: {closed}");
                    assert!(Model::from_bytes(&model.to_bytes().unwrap()).is_ok());
                }
            }
        }
    }
}

#[test]
fn models_are_files_and_back() {
    let counts = documents(false, true);
    let model = fitted(&counts, None);
    let again = Model::from_bytes(&model.to_bytes().unwrap()).unwrap();
    assert_eq!(decided(&model, &counts), decided(&again, &counts));
    assert_eq!(again.worth, model.worth);
    assert_eq!(again.to_bytes().unwrap(), model.to_bytes().unwrap());
}

#[test]
fn the_reasons_say_what_was_compared_and_taken() {
    let model = fitted(&documents(false, false), None);
    let why = model.summary.choices.join(" ");
    assert!(why.contains(" (flat)") && why.contains("by=taxonomy") && why.contains("is taken"), "{why}");
    assert!(why.contains("1.00 most specific labels"), "{why}");
}

/// Labels that only the order of two words tells apart.
#[test]
fn terms_are_looked_for_along_a_taxonomy_as_they_are_without_one() {
    use tamis::corpus::{ReadOptions, open};
    use tamis::counts::{CountOptions, count};
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.jsonl");
    let line = |n: usize| {
        let (group, own) = (n % 2, n / 2 % 2);
        let said = if own == 0 { "red blue" } else { "blue red" };
        format!("{{\"text\": \"{said} group{group} noise{}\", \"labels\": [\"g{group}/l{own}\"]}}\n", n * 7 % 11)
    };
    std::fs::write(&path, (0..160).map(line).collect::<String>()).unwrap();
    let corpus = open(&[path], &ReadOptions::default()).unwrap();
    let text = "words(1-2)".parse().unwrap();
    let (counts, _) =
        count(corpus.batches().unwrap(), &CountOptions { text, ..CountOptions::default() }, &Silent).unwrap();
    let options = FitOptions { taxonomy: Some(GivenTaxonomy::Names), ..FitOptions::default() };
    let plan = options.plan(&counts, &counts.training()).unwrap().expect("something is tried");
    assert!(plan.terms.len() > 1, "{:?}", plan.terms);
    let trained = options.fit(&counts, &counts.training(), &Silent).unwrap();
    assert_eq!(trained.model.text.to_string(), "words(1-2)");
    assert!(trained.trials.iter().any(|t| t.terms == "words") && !trained.frontier.is_empty());
    let exact = trained.model.summary.quality.iter().find(|(name, _)| name == "exact").unwrap().1;
    assert!(exact > 0.95, "{exact}");
    // What the search takes is what labels along the taxonomy are compared with.
    let flat = FitOptions::default().fit(&counts, &counts.training(), &Silent).unwrap();
    let why = trained.model.summary.choices.join(" ");
    assert!(why.contains(&format!("{} (flat)", flat.model.summary.classifier)), "{why}");
    // Where documents are weighed by terms as they were counted, nothing narrower is tried.
    let as_counted = FitOptions { terms_as_counted: true, ..options };
    assert_eq!(as_counted.plan(&counts, &counts.training()).unwrap().unwrap().terms, ["words(1-2)"]);
}

#[test]
fn documents_with_and_without_ancestors_are_judged_alike() {
    use tamis::corpus::{ReadOptions, open};
    use tamis::model::{EvaluateOptions, LabelForm};
    let folder = tempfile::tempdir().unwrap();
    let written = |closed: bool, several: bool, mixed: bool| {
        let path = folder.path().join(format!("{closed}{several}{mixed}.jsonl"));
        let (counts, other) = (documents(closed, several), documents(!closed, several));
        let line = |row: usize| {
            let from = if mixed && row.is_multiple_of(3) { &other } else { &counts };
            let name = |all: &[u32], names: &tamis::counts::Vocabulary| -> Vec<String> {
                all.iter().map(|&n| names.name(n).to_owned()).collect()
            };
            let words = name(from.matrix.row_indices(row), &from.vocabulary).join(" ");
            let labels = name(from.assignments.row_indices(row), &from.labels);
            format!("{}\n", serde_json::json!({"text": words, "labels": labels}))
        };
        std::fs::write(&path, (0..counts.len()).map(line).collect::<String>()).unwrap();
        path
    };
    for several in [false, true] {
        for trained_closed in [false, true] {
            let model = fitted(&documents(trained_closed, several), None);
            let judged = |closed: bool, mixed: bool| {
                let corpus = open(&[written(closed, several, mixed)], &ReadOptions::default()).unwrap();
                let quality = model.evaluate(corpus.batches().unwrap(), &EvaluateOptions::default(), &Silent).unwrap();
                (quality.report(true, None).unwrap(), quality.label_form)
            };
            let ((short, specific), (long, closed), (some, mixed)) =
                (judged(false, false), judged(true, false), judged(true, true));
            assert_eq!(specific, Some(LabelForm::MostSpecific));
            assert_eq!(closed, Some(LabelForm::WithAncestors));
            assert_eq!(mixed, Some(LabelForm::Mixed));
            if model.worth.is_some() {
                assert_eq!(short.measures, long.measures, "several {several}, closed {trained_closed}");
                assert_eq!(short.measures, some.measures);
                assert_eq!(short.labels, long.labels);
                assert_eq!(short.baseline, long.baseline);
            }
            assert_eq!(short.levels, long.levels);
        }
    }
}

/// Documents of groups and labels whose words are noisy, so that it depends on the goal who is best.
fn noisy(several: bool, documents: usize, noise: usize) -> Counts {
    let mut all: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    let mut state = 12345u64 + noise as u64;
    let mut draw = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    for n in 0..documents {
        let (mut words, mut labels) = (Vec::new(), Vec::new());
        for _ in 0..if several { 1 + n % 2 } else { 1 } {
            let (group, own) = (draw(4), draw(4));
            labels.push(format!("g{group}/l{own}"));
            for _ in 0..3 {
                let (right, other) = (draw(10) >= noise, draw(4));
                let said = if right { own } else { other };
                words.push(format!("word{group}{said}"));
                words.push(format!("shared{said}"));
                words.push(format!("group{}", if draw(10) >= noise { group } else { draw(4) }));
            }
        }
        words.push(format!("noise{}", draw(50)));
        labels.sort_unstable();
        labels.dedup();
        all.push((words, labels));
    }
    let borrowed: Vec<(Vec<&str>, Vec<&str>)> = all
        .iter()
        .map(|(w, l)| (w.iter().map(String::as_str).collect(), l.iter().map(String::as_str).collect()))
        .collect();
    Counts::from_rows(&borrowed)
}

/// The file, without what a search says of itself.
fn bytes(model: &Model) -> Vec<u8> {
    let mut parts = (**model).clone();
    parts.summary.choices.clear();
    parts.shown.frontier.clear();
    Model::new(parts).unwrap().to_bytes().unwrap()
}

/// What `fit` prints as "the same model without looking for it" is the same model.
#[test]
fn what_won_can_be_named() {
    let mut mixed = 0;
    for several in [false, true] {
        for goal in [Goal::Hf1, Goal::Exact, Goal::F1] {
            // Bayes wins where nothing is said, and is mixed with nothing.
            for (noise, classifier) in [(2, None), (5, None), (3, Some("svm")), (5, Some("svm"))] {
                let counts = noisy(several, 400, noise);
                let options = FitOptions {
                    taxonomy: Some(GivenTaxonomy::Names),
                    hierarchy: HierarchyOptions { goal: Some(goal), ..HierarchyOptions::default() },
                    effort: tamis::model::Effort::Quick,
                    classifier: classifier.map(|name| name.parse().unwrap()),
                    ..FitOptions::default()
                };
                let searched = options.fit(&counts, &counts.training(), &Silent).unwrap();
                let model = &searched.model;
                let summary = &model.summary;
                assert!(!searched.trials.is_empty());
                let again = FitOptions {
                    by: Some(summary.selector.parse().unwrap()),
                    features: Some(tamis::features::Size::Top(model.terms.len())),
                    classifier: Some(summary.classifier.to_string().parse().unwrap()),
                    threshold: model.worth.is_none().then(|| model.deciding().parse().unwrap()),
                    ..options
                };
                let named = again.fit(&counts, &counts.training(), &Silent).unwrap().model;
                let what = format!("{goal}, several: {several}, noise {noise}: {}", summary.classifier);
                println!("{what}, {:?}", summary.quality);
                mixed += usize::from(summary.classifier.to_string().contains("flat+"));
                assert_eq!(named.worth, model.worth, "{what}");
                assert_eq!(named.summary.quality, summary.quality, "{what}");
                assert!(bytes(&named) == bytes(model), "{what}");
                // The summary and the reasons say the same about the same documents.
                let measure = match goal {
                    Goal::Exact => "exact",
                    Goal::F1 => "F1@micro",
                    _ => "hF1",
                };
                if model.worth.is_some() {
                    let value = summary.quality.iter().find(|(name, _)| name == measure).unwrap().1;
                    let said = summary.choices.iter().find(|reason| reason.contains("is taken")).unwrap();
                    let winner = said.rsplit(". ").next().unwrap().trim_end_matches(" is taken.").to_owned();
                    assert!(said.contains(&format!("{winner} {value:.4}")), "{said} {value}");
                }
            }
        }
    }
    assert!(mixed > 0, "no mixture won anything");
}

#[test]
fn options_that_would_be_ignored_are_refused() {
    let counts = documents(false, false);
    for (json, says) in [
        (r#"{"taxonomy": "names", "hierarchy": {"goal": "exact", "costs": "costs.tsv"}}"#, "`goal=cost`"),
        (r#"{"taxonomy": "names", "hierarchy": {"goal": "exact"}, "threshold": "tsa"}"#, "decides without a goal"),
        (r#"{"hierarchy": {"goal": "exact"}}"#, "the option `taxonomy`"),
        (r#"{"loss": 0.5}"#, "`prefer=small`"),
    ] {
        let options: FitOptions = serde_json::from_str(json).unwrap();
        let error = options.fit(&counts, &counts.training(), &Silent).unwrap_err();
        assert!(error.is_input() && error.to_string().contains(says), "{json}: {error}");
        assert!(
            options.plan(&counts, &counts.training()).is_err()
                && options.pinned(&counts, &counts.training(), &Silent).is_err()
        );
    }
    let small: FitOptions = serde_json::from_str(r#"{"loss": 0.05, "prefer": "small"}"#).unwrap();
    assert!(small.fit(&counts, &counts.training(), &Silent).is_ok());
}
