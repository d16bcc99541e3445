//! Studies against separate runs: what the sweep shares must not change a digit.
#![allow(clippy::unwrap_used)]

use std::path::Path;

use tamis::classify::{Classifier, ClassifierSpec, Problem, Scratch};
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::counts::{Contingency, CountOptions, Counts, count};
use tamis::features::search::Budget;
use tamis::features::{Ranking, Selector, Size};
use tamis::measure::{Evaluation, EvaluationOptions, Measure};
use tamis::study::{Plan, ResultRow, Row, Sink, run};
use tamis::threshold::Thresholds;
use tamis::{Error, Progress, Result, Silent};

fn corpus(documents: u64) -> Counts {
    let options = SynthOptions { documents, ..SynthOptions::of(Shape::Topics) };
    count(synth::batches(&options).unwrap(), &CountOptions::default(), &Silent).unwrap().0
}

fn plan(text: &str) -> Plan {
    Plan::parse(text, Path::new("test.toml")).unwrap()
}

fn rows(plan: &Plan, counts: &Counts) -> Vec<Row> {
    let mut rows = Vec::new();
    run(plan, Some(counts), 1, &mut rows, &Silent).unwrap();
    rows
}

fn results(rows: &[Row]) -> Vec<&ResultRow> {
    rows.iter().filter_map(|row| if let Row::Result(result) = row { Some(result) } else { None }).collect()
}

const PLAN: &str = r#"
name = "test"
[splits]
how = "random(0.4,2)"
[selectors]
list = ["chi2max", "ig@1", "lr(chi2max,chi2avg)@2"]
[sizes]
at = [3, 20, 100, 100000, "all"]
[baseline]
selector = "df@1"
size = "all"
[classifiers]
list = ["knn(7)", "wknn", "bayes"]
[thresholds]
list = ["none", "rcut(2)", "rcut(best)"]
[measures]
list = ["RPrec", "MAP", "F1@micro", "F1@macro", "Precision@micro"]
"#;

/// The obvious way: select, fit, rank and judge for one split, selector, size and classifier.
fn separate(
    counts: &Counts,
    (train, test): (&[usize], &[usize]),
    classifier: &ClassifierSpec,
    ranking: &Ranking,
    size: Size,
    top: Option<u32>,
    measures: &[Measure],
) -> (usize, Vec<Option<f64>>) {
    let terms = ranking.top(size.of(ranking.len()));
    let (train, test) = (Problem::new(counts, train, terms), Problem::new(counts, test, terms));
    let fitted = classifier.fit(&train, &Silent).unwrap();
    let mut trained = vec![false; counts.labels.len()];
    train.assignments.indices().iter().for_each(|&l| trained[l as usize] = true);
    let mut evaluation = Evaluation::new(EvaluationOptions {
        measures: measures.to_vec(),
        labels: counts.labels.len(),
        trained: Some(trained),
        ..EvaluationOptions::default()
    })
    .unwrap();
    let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
    for row in 0..test.documents() {
        fitted.rank(test.query(row), &mut scratch, &mut ranked);
        let decided = top
            .map_or(Vec::new(), |n| Thresholds::untuned(tamis::threshold::Threshold::rcut(n)).unwrap().decide(&ranked));
        evaluation.add(&ranked, &decided, test.assignments.row_indices(row));
    }
    (terms.len(), evaluation.values().into_iter().map(|v| v.value).collect())
}

#[test]
fn a_sweep_is_separate_runs() {
    let counts = corpus(160);
    let plan = plan(PLAN);
    let grid = plan.grid().unwrap();
    let all = rows(&plan, &counts);
    let found = results(&all);
    assert_eq!(found.len(), 2 * 3 * (3 * 5 + 1) * 3);
    let splits = grid.splits.splits(&counts, 1).unwrap();
    let ranked: Vec<Measure> = grid.measures[..2].to_vec();
    let mut best_checked = 0;
    for row in &found {
        let split = &splits[row.split as usize - 1];
        let table = Contingency::of_rows(&counts, &split.train);
        let ranking = row.selector.parse::<Selector>().unwrap().rank(&table).unwrap();
        let classifier: ClassifierSpec = row.classifier.parse().unwrap();
        let judge = |top, measures: &[Measure]| {
            separate(&counts, (&split.train, &split.test), &classifier, &ranking, row.size, top, measures)
        };
        let values: Vec<Option<f64>> = row.values.0.iter().map(|(_, v)| *v).collect();
        let (features, expected) = match row.threshold.as_str() {
            "none" => judge(None, &ranked),
            "rcut(2)" => judge(Some(2), &grid.measures),
            _ => {
                // The best n is as good as any: its F1 is the largest.
                let f1: Measure = "F1@micro".parse().unwrap();
                if row.classifier != "bayes" || row.size != Size::Top(20) {
                    continue;
                }
                best_checked += 1;
                let of = |n: u32| judge(Some(n), &[f1]).1[0].unwrap();
                let largest = (1..=counts.labels.len() as u32).map(of).fold(0.0, f64::max);
                assert_eq!(values[2], Some(largest));
                assert_eq!(of(row.n.unwrap()), largest);
                continue;
            }
        };
        assert_eq!(row.features, features);
        assert_eq!(values[..expected.len()], expected, "{row:?}");
        assert!(values[expected.len()..].iter().all(Option::is_none), "nothing is decided without a threshold");
    }
    assert_eq!(best_checked, 6);
}

#[test]
fn threads_change_nothing() {
    let counts = corpus(120);
    let text = PLAN.replace("\"bayes\"", "\"bayes\", \"svm\"").replace("\"none\"", "\"scut\"");
    let plan = plan(&text);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| rows(&plan, &counts))
    };
    let one = with(1);
    assert!(one == with(3));
    let tuned = results(&one).into_iter().filter(|r| r.threshold == "scut" && r.size == Size::All);
    assert!(
        tuned.clone().count() > 0 && tuned.clone().any(|r| r.values.0[2].1.unwrap() > 0.1),
        "thresholds find labels"
    );
}

/// The SVM is solved to a gap, from where the size before left off: close to a fit of its own, not equal.
#[test]
fn svm_sweeps_come_near_separate_fits() {
    let counts = corpus(200);
    let plan =
        plan(&PLAN.replace("\"knn(7)\", \"wknn\", \"bayes\"", "\"svm(gap=0.0000001)\"").replace("\"none\", ", ""));
    let grid = plan.grid().unwrap();
    let splits = grid.splits.splits(&counts, 1).unwrap();
    let all = rows(&plan, &counts);
    // With few terms many documents have none of them, and their labels' equal scores are ordered by rounding.
    for row in results(&all).into_iter().filter(|r| r.threshold == "rcut(2)" && r.split == 1 && r.features > 500) {
        let split = &splits[0];
        let table = Contingency::of_rows(&counts, &split.train);
        let ranking = row.selector.parse::<Selector>().unwrap().rank(&table).unwrap();
        let classifier: ClassifierSpec = row.classifier.parse().unwrap();
        let rows = (&split.train[..], &split.test[..]);
        let (_, expected) = separate(&counts, rows, &classifier, &ranking, row.size, Some(2), &grid.measures);
        for ((_, found), expected) in row.values.0.iter().zip(expected) {
            assert!((found.unwrap() - expected.unwrap()).abs() < 0.005, "{row:?}");
        }
    }
}

#[test]
fn searches_and_learned_lambdas() {
    let counts = corpus(150);
    let plan = plan(
        r#"
name = "test"
[splits]
how = "random(0.3)"
[selectors]
list = ["ib", "os(ib)", "wfo(auto)@1"]
[sizes]
at = [5, 15]
[classifiers]
list = ["bayes", "knn"]
[thresholds]
list = ["rcut(1)", "scut"]
folds = 3
[measures]
list = ["RPrec", "F1@micro"]
documents = true
[lambda]
grid = [0.0, 0.5, 1.0]
folds = 3
[profile]
top = 0.1
scores = ["df", "mimax"]
"#,
    );
    let grid = plan.grid().unwrap();
    let all = rows(&plan, &counts);
    let split = &grid.splits.splits(&counts, 1).unwrap()[0];
    let table = Contingency::of_rows(&counts, &split.train);
    for row in results(&all) {
        let selector: Selector = row.selector.parse().unwrap();
        let selector = match row.lambda {
            Some(lambda) => selector.with_lambda(lambda).unwrap(),
            None => selector,
        };
        assert_eq!(row.search.is_some(), selector.as_search().is_some());
        let (ranking, found) = selector.subset(&table, row.size.of(usize::MAX), &Budget::default(), &Silent).unwrap();
        if let (Some(note), Some(found)) = (&row.search, found) {
            assert_eq!((note.value, note.swings), (found.value, found.steps));
        }
        let documents = row.documents.as_ref().unwrap().get(grid.measures[0]).unwrap();
        let mean = documents.iter().sum::<f64>() / documents.len() as f64;
        assert!((mean - row.values.0[0].1.unwrap()).abs() < 1e-12);
        let rows = (&split.train[..], &split.test[..]);
        if row.threshold == "rcut(1)" {
            let classifier = row.classifier.parse().unwrap();
            let (features, values) = separate(&counts, rows, &classifier, &ranking, Size::All, Some(1), &grid.measures);
            assert_eq!(row.features, features);
            assert_eq!(row.values.0.iter().map(|(_, v)| *v).collect::<Vec<_>>(), values, "{row:?}");
        }
    }
    let lambdas: Vec<f64> = results(&all).iter().filter_map(|r| r.lambda).collect();
    assert_eq!(lambdas.len(), 8);
    let profiles: Vec<_> = all.iter().filter_map(|r| if let Row::Profile(p) = r { Some(p) } else { None }).collect();
    assert_eq!(profiles.len(), 1, "of the rankings only: a search has none, and λ depends on the size");
    assert!(profiles[0].means.iter().all(|(_, mean)| (0.0..=1.0).contains(mean)));
    let Row::Split(first) = &all[0] else { panic!("{:?}", all[0]) };
    assert_eq!((first.train, first.test), (split.train.len(), split.test.len()));
}

/// Keeps rows, and fails or stops where it is told.
#[derive(Default)]
struct Fragile {
    rows: Vec<Row>,
    units: usize,
    break_at: usize,
}

impl Sink for Fragile {
    fn resume(&mut self, sizes: &[usize]) -> Result<usize> {
        assert_eq!(self.rows.len(), sizes[..self.units].iter().sum::<usize>());
        Ok(self.units)
    }

    fn unit(&mut self, rows: &[Row]) -> Result<()> {
        if self.units == self.break_at {
            return Err(Error::Interrupted);
        }
        self.rows.extend_from_slice(rows);
        self.units += 1;
        Ok(())
    }
}

#[test]
fn a_study_goes_on_from_any_unit() {
    let counts = corpus(80);
    let plan = plan(PLAN);
    let whole = rows(&plan, &counts);
    let mut sink = Fragile::default();
    loop {
        match run(&plan, Some(&counts), 1, &mut sink, &Silent) {
            Ok(extent) => {
                assert_eq!(extent.units, sink.units);
                assert_eq!(extent.rows, whole.len());
                break;
            }
            Err(Error::Interrupted) => sink.break_at += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(sink.units > 10 && sink.rows == whole);
}

struct Stopped;

impl Progress for Stopped {
    fn cancelled(&self) -> bool {
        true
    }
}

#[test]
fn a_study_can_be_stopped() {
    let counts = corpus(80);
    let result = run(&plan(PLAN), Some(&counts), 1, &mut Vec::<Row>::new(), &Stopped);
    assert!(matches!(result, Err(Error::Interrupted)));
    assert!(run(&plan(PLAN), None, 1, &mut Vec::<Row>::new(), &Silent).is_err());
}

/// A label whose documents are all in the test part cannot be learned: the split says so.
#[test]
fn labels_without_training_documents_are_reported() {
    let mut documents: Vec<(Vec<String>, Vec<String>)> =
        (0..30).map(|i| (vec![format!("w{}", i % 3), format!("v{}", i % 7)], vec![format!("L{}", i % 3)])).collect();
    documents.push((vec!["w0".into()], vec!["rare".into(), "L0".into()]));
    let mut counts = Counts::from_rows(&documents);
    counts.parts =
        (0..31).map(|i| Some(if i < 20 { tamis::corpus::Part::Train } else { tamis::corpus::Part::Test })).collect();
    let plan = plan(&PLAN.replace("random(0.4,2)", "given"));
    let Row::Split(split) = &rows(&plan, &counts)[0] else { panic!() };
    assert_eq!(split.untrained, ["rare"]);
    assert_eq!((split.untrained_documents, split.labels, split.train, split.test), (1, 3, 20, 11));
}

mod folders {
    use super::*;
    use std::fs;
    use tamis::study::{CorpusNote, Folder, Record, write_csv};

    const SMALL: &str = r#"
name = "test"
[splits]
how = "random(0.4,3)"
[selectors]
list = ["chi2max", "ig@1"]
[sizes]
at = [3, 20]
[classifiers]
list = ["knn(7)", "bayes"]
[measures]
list = ["RPrec"]
"#;

    fn note(counts: &Counts) -> CorpusNote {
        CorpusNote::of("test", counts, None)
    }

    #[test]
    fn torn_and_unfinished_rows_are_done_again() {
        let counts = corpus(60);
        let plan = plan(SMALL);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study");
        let mut sink = Folder::create(&path, &plan, SMALL, 1, Some(note(&counts))).unwrap();
        run(&plan, Some(&counts), 1, &mut sink, &Silent).unwrap();
        drop(sink);
        let whole = fs::read(path.join("rows.jsonl")).unwrap();
        assert!(whole.len() > 1000);
        // A crash can leave any prefix; a few, among them the empty one, ones in a line and ones between lines.
        let line = whole.iter().position(|b| *b == b'\n').unwrap() + 1;
        for end in [0, 1, line - 1, line, line + 1, whole.len() / 2, whole.len() / 3, whole.len() - 1, whole.len()] {
            fs::write(path.join("rows.jsonl"), &whole[..end]).unwrap();
            let mut sink = Folder::resume(&path, &plan, SMALL, 1, Some(note(&counts))).unwrap();
            run(&plan, Some(&counts), 1, &mut sink, &Silent).unwrap();
            assert!(fs::read(path.join("rows.jsonl")).unwrap() == whole, "cut at {end}");
        }
        let record = Record::read(&path).unwrap();
        assert_eq!(record.plan, plan);
        assert!(record.times.len() >= 9 && record.rows.len() == 3 * (1 + 2 * 2 * 2));
        write_csv(&record.rows, path.join("rows.csv")).unwrap();
        let csv = fs::read_to_string(path.join("rows.csv")).unwrap();
        assert!(csv.starts_with(
            "split,classifier,selector,size,features,threshold,lambda,n,RPrec\n1,knn(7),chi2max,3,3,none,,,"
        ));
        assert_eq!(csv.lines().count(), 1 + 24);
    }

    #[test]
    fn rows_that_were_changed_are_refused() {
        let counts = corpus(60);
        let plan = plan(SMALL);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("study");
        let mut sink = Folder::create(&path, &plan, SMALL, 1, Some(note(&counts))).unwrap();
        run(&plan, Some(&counts), 1, &mut sink, &Silent).unwrap();
        drop(sink);
        let rows = path.join("rows.jsonl");
        let whole = fs::read_to_string(&rows).unwrap();
        let resumed = || {
            let mut sink = Folder::resume(&path, &plan, SMALL, 1, Some(note(&counts))).unwrap();
            run(&plan, Some(&counts), 1, &mut sink, &Silent)
        };
        // A digit that still parses; the whole study and a part of it.
        let at = whole.find("0.").unwrap() + 2;
        let other = if whole.as_bytes()[at] == b'9' { "8" } else { "9" };
        let changed = format!("{}{other}{}", &whole[..at], &whole[at + 1..]);
        let half = changed[..changed.len() / 2].rfind('\n').unwrap() + 1;
        for text in [&changed[..], &changed[..half]] {
            fs::write(&rows, text).unwrap();
            let error = resumed().unwrap_err();
            assert!(error.is_input() && error.to_string().contains("are not as they were written"), "{error}");
            assert_eq!(fs::read_to_string(&rows).unwrap(), text, "what was changed is left as it is");
        }
        // What was not changed goes on, also where the last hash was not written any more, and in folders of before.
        let units = path.join("units.txt");
        let hashes = fs::read_to_string(&units).unwrap();
        for kept in [&hashes[..], &hashes[..hashes.len() - 1], &hashes[..40], ""] {
            fs::write(&units, kept).unwrap();
            fs::write(&rows, &whole).unwrap();
            resumed().unwrap();
            assert_eq!(fs::read_to_string(&rows).unwrap(), whole);
            assert_eq!(fs::read_to_string(&units).unwrap(), hashes);
        }
    }

    #[test]
    fn other_folders_are_refused() {
        let counts = corpus(60);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        let plan_ = plan(SMALL);
        let mut sink = Folder::create(path, &plan_, SMALL, 1, Some(note(&counts))).unwrap();
        let second = Folder::resume(path, &plan_, SMALL, 1, Some(note(&counts)));
        // Nothing is written yet, so a second one may begin; but not while the first one is at it.
        assert!(second.unwrap_err().to_string().contains("another tamis is running"));
        run(&plan_, Some(&counts), 1, &mut sink, &Silent).unwrap();
        drop(sink);
        let error = |result: Result<Folder>| result.unwrap_err().to_string();
        assert!(error(Folder::create(path, &plan_, SMALL, 1, Some(note(&counts)))).contains("the option `resume`"));
        let text = SMALL.replace("\"ig@1\"", "\"ig@2\"").replace("[3, 20]", "[3, 30]");
        let refused = error(Folder::resume(path, &plan(&text), &text, 1, Some(note(&counts))));
        assert!(refused.contains("- \"ig@1\"\n+ \"ig@2\"") && refused.contains("- 20\n+ 30"), "{refused}");
        let refused = error(Folder::resume(path, &plan_, SMALL, 2, Some(note(&counts))));
        assert!(refused.contains("- \"seed\": 1,\n+ \"seed\": 2,"), "{refused}");
        let refused = error(Folder::resume(path, &plan_, SMALL, 1, Some(note(&corpus(61)))));
        assert!(refused.contains("another corpus") && refused.contains("- \"documents\": 60"), "{refused}");
        // Words that do not change the rows may change.
        let text = SMALL.replace("name = \"test\"", "name = \"test\"\nabout = \"more\"");
        assert!(Folder::resume(path, &plan(&text), &text, 1, Some(note(&counts))).is_ok());
        fs::write(path.join("rows.jsonl"), "{\"row\":\"split\"}\n").unwrap();
        let mut sink = Folder::resume(path, &plan_, SMALL, 1, Some(note(&counts))).unwrap();
        let error = run(&plan_, Some(&counts), 1, &mut sink, &Silent).unwrap_err().to_string();
        assert!(error.contains("rows.jsonl:1: is not a row"), "{error}");
        fs::write(path.join("file"), "x").unwrap();
        let at_a_file = Folder::create(path.join("file"), &plan_, SMALL, 1, Some(note(&counts))).unwrap_err();
        assert!(at_a_file.is_input(), "{at_a_file}");
        assert!(Record::read(path.join("nothing")).unwrap_err().to_string().contains("no folder of a study"));
    }
}
