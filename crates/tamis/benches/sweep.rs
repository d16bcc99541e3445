//! The grid of olsson's preliminary study, against size-by-size and nested evaluation in numpy and scipy.
//!
//! The first part runs it on Reuters ModApte and leaves matrices and some of the rankings for the peer, which evaluates
//! the same lists. The second part is the study in the paper's size, on synthetic documents of RCV1's shape; the argument
//! `quick` leaves it out.
#![allow(clippy::unwrap_used)]

mod common;

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use common::{best, data, peak_mb, report, with_threads};
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{Batches, Part, ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, Counts, Csr, count};
use tamis::features::{Selector, rank_all};
use tamis::study::{BuiltIn, Plan, Row, run};
use tamis::{Result, Silent};

/// What the grid and the peers' part of it are called.
const GRID: &str = "reuters: the preliminary grid, 2 threads";

/// Rankings that the peer evaluates: one of each kind.
const SAMPLE: [&str; 4] = ["df@0", "chi2max@5", "lr(chi2max,chi2avg)@1", "dlor(df,ig,chi2max,chi2avg)@1"];

fn plan(changes: &[&str]) -> Plan {
    let built_in = BuiltIn::find("olsson-preliminary").expect("a study");
    let changes: Vec<String> = changes.iter().map(|c| (*c).to_owned()).collect();
    Plan::parse_with(built_in.text, built_in.name, &changes).expect("a plan").0
}

fn counts(plan: &Plan, source: Result<Box<dyn Batches>>) -> Counts {
    let options = CountOptions { text: plan.corpus.text.options().expect("text options"), ..CountOptions::default() };
    let counts = count(source.expect("documents"), &options, &Silent).expect("counts").0;
    plan.corpus.keep.apply(counts, 1).expect("documents")
}

/// Classifications, seconds and rows of a study.
fn time(plan: &Plan, counts: &Counts) -> (u64, f64, Vec<Row>) {
    with_threads(2, || {
        let mut rows = Vec::new();
        let start = Instant::now();
        let extent = run(plan, Some(counts), 1, &mut rows, &Silent).expect("a study");
        (extent.classifications, start.elapsed().as_secs_f64(), rows)
    })
}

fn main() {
    let plan_ = plan(&["splits.how=given"]);
    let corpus = open(&[data("reuters21578")], &ReadOptions::default()).expect("Reuters");
    let counts_ = counts(&plan_, corpus.batches());
    let (seconds, (lists, _, rows)) = best(2, || time(&plan_, &counts_));
    let note = format!("{lists} classifications in {seconds:.1} s, ranking and judging included");
    report(GRID, lists as f64 / seconds, "/s", &note);
    for selector in SAMPLE {
        let values = rows.iter().filter_map(|row| match row {
            Row::Result(result) if result.selector == selector => result.values.0[0].1,
            _ => None,
        });
        let values: Vec<f64> = values.collect();
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        report(&format!("reuters: mean RPrec over sizes, {selector}"), mean, "score", "");
    }
    leave_for_the_peer(&plan_, &counts_).expect("files for the peer");

    if std::env::args().any(|argument| argument == "quick") {
        return;
    }
    let plan_ = plan(&[]);
    let options = SynthOptions { documents: 23_149, ..SynthOptions::of(Shape::Rcv1) };
    let counts_ = counts(&plan_, synth::batches(&options));
    let (lists, seconds, _) = time(&plan_, &counts_);
    let note = format!("{} documents, 5 splits, {lists} classifications, 2 threads; the goal is 720", counts_.len());
    report("the paper's size: the preliminary study", seconds, "s", &note);
    report("the paper's size: classifications", lists as f64 / seconds, "/s", "");
    report("the paper's size: peak memory", peak_mb(), "MB", "the goal is 2,048");
}

/// Writes counts of training and test documents, labels, lengths, and the sample's rankings as plain arrays.
fn leave_for_the_peer(plan: &Plan, counts: &Counts) -> std::io::Result<()> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("sweep");
    std::fs::create_dir_all(&folder)?;
    let parts = [("train", counts.part(Part::Train)), ("test", counts.part(Part::Test))];
    for (name, rows) in &parts {
        let matrix = counts.matrix.select_rows(rows);
        write_csr(&folder, &format!("{name}.counts"), &matrix)?;
        write_csr(&folder, &format!("{name}.labels"), &counts.assignments.select_rows(rows).map_values(|()| 1u32))?;
        write(&folder, &format!("{name}.lengths"), rows.iter().map(|&row| counts.lengths[row]))?;
    }
    let selectors: Vec<Selector> = SAMPLE.iter().map(|s| s.parse().expect("a selector")).collect();
    let table = Contingency::of_rows(counts, &parts[0].1);
    for (name, ranking) in SAMPLE.iter().zip(rank_all(&selectors, &table).expect("rankings")) {
        write(&folder, &format!("ranking.{name}"), ranking.terms().iter().copied())?;
    }
    let sizes: Vec<String> = plan.grid().expect("a grid").sizes.iter().map(ToString::to_string).collect();
    let shape = [counts.vocabulary.len(), counts.labels.len()];
    let about = serde_json::json!({ "sample": SAMPLE, "sizes": sizes, "terms": shape[0], "labels": shape[1] });
    std::fs::write(folder.join("about.json"), about.to_string())
}

fn write_csr(folder: &Path, name: &str, matrix: &Csr<u32>) -> std::io::Result<()> {
    write(folder, &format!("{name}.indptr"), matrix.offsets().iter().map(|&o| o as u32))?;
    write(folder, &format!("{name}.indices"), matrix.indices().iter().copied())?;
    write(folder, &format!("{name}.data"), matrix.values().iter().copied())
}

fn write(folder: &Path, name: &str, values: impl Iterator<Item = u32>) -> std::io::Result<()> {
    let mut file = BufWriter::new(File::create(folder.join(format!("{name}.u32")))?);
    for value in values {
        file.write_all(&value.to_le_bytes())?;
    }
    file.flush()
}
