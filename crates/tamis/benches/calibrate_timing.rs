//! Threshold selection against the literal pseudo-code of addis 3.2, at the paper's size: 4 levels, 2,000 documents.
//!
//! `cargo bench -p tamis --bench calibrate_timing -- [SCORES.tsv …]`: on given score tables, or on generated ones.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

#[path = "../tests/literal/mod.rs"]
mod literal;

use std::time::Instant;

use literal::{Shape, generate};
use tamis::hierarchy::pipeline::{Imbalance, Method, Options, RBF_STEP, ScoreTable, TSA_STEP, Utility, select};

/// Seconds of the fastest of several runs, and the last result.
fn time<T>(runs: usize, mut f: impl FnMut() -> T) -> (f64, T) {
    let mut best = f64::INFINITY;
    let mut last = None;
    for _ in 0..runs {
        let begin = Instant::now();
        last = Some(f());
        best = best.min(begin.elapsed().as_secs_f64());
    }
    (best, last.unwrap())
}

fn main() {
    let files: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let mut tables: Vec<(String, ScoreTable)> = Vec::new();
    for file in &files {
        tables.push((file.clone(), ScoreTable::open(file).unwrap()));
    }
    if files.is_empty() {
        for (votes, separation) in [(20, 1.0), (20, 1.8), (20, 2.5), (0, 1.0), (0, 1.8), (0, 2.5)] {
            let shape = Shape { depth: 4, positives: 1000, negatives: 1000, separation, votes };
            let table = generate(shape, 7);
            for exponent in [0, 3] {
                let weighted = table.weighted_to(Imbalance::power(exponent)).unwrap();
                tables.push((format!("votes {votes} separation {separation} 2^-{exponent}"), weighted));
            }
        }
    }
    let options = Options::default();
    for (name, table) in &tables {
        println!("{name}: {} documents, {} positives, depth {}", table.documents(), table.positives(), table.depth());
        let (slow, literal_tsa) = time(3, || literal::tsa(table, Utility::F1, TSA_STEP, options.keep));
        let (fast, tsa) = time(50, || select(table, Method::Tsa, &options).unwrap());
        assert_eq!((&literal_tsa.0, literal_tsa.2), (&tsa.thresholds, tsa.evaluations));
        println!(
            "  tsa          {:.4} literal {:8.3} ms, ours {:8.3} ms, {:6.0} ×",
            tsa.utility,
            slow * 1e3,
            fast * 1e3,
            slow / fast
        );
        let stable = Options { until_stable: true, ..Options::default() };
        let (greedy_time, greedy) = time(50, || select(table, Method::GreedyExact, &stable).unwrap());
        let (once_time, greedy_once) = time(50, || select(table, Method::GreedyExact, &options).unwrap());
        println!(
            "  greedy-exact {:.4} {:8.3} ms, {:.2} × tsa; one pass {:.4} {:8.3} ms, {:.2} × tsa",
            greedy.utility,
            greedy_time * 1e3,
            fast / greedy_time,
            greedy_once.utility,
            once_time * 1e3,
            fast / once_time
        );
        if table.depth() <= 4 {
            let (slow, literal_rbf) = time(1, || literal::rbf(table, Utility::F1, RBF_STEP));
            let (fast, rbf) = time(10, || select(table, Method::Rbf, &options).unwrap());
            assert_eq!((&literal_rbf.0, literal_rbf.2), (&rbf.thresholds, rbf.evaluations));
            println!(
                "  rbf          {:.4} literal {:8.3} ms, ours {:8.3} ms, {:6.0} ×",
                rbf.utility,
                slow * 1e3,
                fast * 1e3,
                slow / fast
            );
        }
        let (seconds, exact) = time(1, || select(table, Method::Exact, &options).unwrap());
        println!(
            "  exact        {:.4} bound {:.4} {} in {:.3} s, {} boxes",
            exact.utility,
            exact.bound.unwrap(),
            if exact.proven { "proven" } else { "open" },
            seconds,
            exact.evaluations
        );
    }
}
