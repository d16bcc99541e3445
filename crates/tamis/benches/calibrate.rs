//! Threshold selection at the paper's size (4 levels, 2,000 documents) beside the literal pseudo-code of addis 3, in the
//! same run and with the same thresholds.
#![allow(clippy::unwrap_used)]

mod common;
#[path = "../tests/literal/mod.rs"]
mod literal;

use common::{best, report};
use literal::{Shape, generate};
use tamis::hierarchy::pipeline::{Imbalance, Method, Options, RBF_STEP, TSA_STEP, Utility, select, select_all};

fn main() {
    let options = Options::default();
    let mut tables = Vec::new();
    for (votes, separation) in [(20, 1.0), (20, 1.8), (20, 2.5), (0, 1.8), (0, 2.5)] {
        let table = generate(Shape { depth: 4, positives: 1000, negatives: 1000, separation, votes }, 7);
        for exponent in [0, 3] {
            tables.push(table.weighted_to(Imbalance::power(exponent)).unwrap());
        }
    }
    let mut sums = [[0.0f64; 2]; 2];
    let (mut greedy_seconds, mut below, mut proven, mut slowest) = (0.0, 0, 0, 0.0f64);
    for table in &tables {
        let (slow, literal_tsa) = best(2, || literal::tsa(table, Utility::F1, TSA_STEP, options.keep));
        let (fast, tsa) = best(20, || select(table, Method::Tsa, &options).unwrap());
        assert_eq!((&literal_tsa.0, literal_tsa.2), (&tsa.thresholds, tsa.evaluations));
        sums[0] = [sums[0][0] + slow, sums[0][1] + fast];
        let (slow, literal_rbf) = best(1, || literal::rbf(table, Utility::F1, RBF_STEP));
        let (fast, rbf) = best(5, || select(table, Method::Rbf, &options).unwrap());
        assert_eq!((&literal_rbf.0, literal_rbf.2), (&rbf.thresholds, rbf.evaluations));
        sums[1] = [sums[1][0] + slow, sums[1][1] + fast];
        let (seconds, greedy) = best(20, || select(table, Method::GreedyExact, &options).unwrap());
        greedy_seconds += seconds;
        below += u32::from(greedy.utility < tsa.utility - 1e-12);
        let (seconds, exact) = best(1, || select(table, Method::Exact, &options).unwrap());
        proven += u32::from(exact.proven);
        slowest = slowest.max(seconds);
    }
    let n = tables.len() as f64;
    for (name, [slow, fast]) in ["tsa, step 0.0005", "rbf, step 0.05"].iter().zip(sums) {
        report(&format!("{name}, ours"), 1e3 * fast / n, "ms", "");
        report(&format!("{name}, literal pseudo-code"), 1e3 * slow / n, "ms", "same thresholds");
        report(&format!("{name}, times faster"), slow / fast, "x", "");
    }
    report("greedy-exact", 1e3 * greedy_seconds / n, "ms", &format!("{below} of {n} below tsa's utility"));
    report("greedy-exact, times faster than tsa", sums[0][1] / greedy_seconds, "x", "");
    report("exact, proven of ten", 10.0 * f64::from(proven) / n, "", &format!("slowest {slowest:.2} s"));
    let random: Vec<_> = (0..400u64)
        .map(|seed| {
            let depth = 2 + seed as usize % 3;
            let positives = [10, 50, 200, 1000][(seed / 3 % 4) as usize];
            let negatives = positives * [1, 4, 10][(seed / 12 % 3) as usize];
            let separation = [0.7, 1.2, 1.8, 2.5][(seed / 36 % 4) as usize];
            let votes = if seed % 2 == 0 { 0 } else { 20 };
            generate(Shape { depth, positives, negatives, separation, votes }, seed)
        })
        .collect();
    for (what, few) in [("fewer than 500", true), ("500 to 11,000", false)] {
        let tables: Vec<_> = random.iter().filter(|t| (t.documents() < 500) == few).collect();
        let all = |method, options: &Options| {
            best(5, || tables.iter().map(|t| select(t, method, options).unwrap().utility).collect::<Vec<_>>())
        };
        let (tsa_seconds, tsa) = all(Method::Tsa, &options);
        for starts in [None, Some(3)] {
            let (seconds, greedy) = all(Method::GreedyExact, &Options { starts, ..options.clone() });
            let differ = |sign: f64| greedy.iter().zip(&tsa).filter(|(g, t)| (*g - *t) * sign > 1e-12).count();
            let note =
                format!("of {} tables {} above tsa's utility, {} below", tables.len(), differ(1.0), differ(-1.0));
            let starts = starts.map_or(String::new(), |n| format!(", {n} starts"));
            let what = format!("greedy-exact{starts}, {what} documents, times faster than tsa");
            report(&what, tsa_seconds / seconds, "x", &note);
        }
    }
    // As many pipelines as the CWE tree has, 20,000 documents each.
    let many: Vec<_> = (0..458)
        .map(|seed| {
            let depth = 2 + seed as usize % 4;
            generate(Shape { depth, positives: 200, negatives: 19_800, separation: 1.8, votes: 0 }, seed)
        })
        .collect();
    for method in [Method::Tsa, Method::GreedyExact] {
        let (seconds, _) = best(1, || select_all(&many, method, &options, &tamis::Silent));
        report(&format!("458 pipelines of 20,000 documents by {method}"), seconds, "s", "");
    }
}
