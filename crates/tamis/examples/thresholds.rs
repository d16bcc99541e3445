//! Thresholds for anyone's classifier: held-out scores in, decisions out; and along a pipeline of a taxonomy.
//!
//! `cargo run --release -p tamis --example thresholds`
#![allow(clippy::print_stdout)]

use tamis::classify::Scored;
use tamis::hierarchy::pipeline::{Method, Options, ScoreTable, select};
use tamis::threshold::{HeldOut, Threshold};

fn main() -> tamis::Result<()> {
    // Two labels; scores of documents that their classifier has not seen, with the true labels.
    let mut held_out = HeldOut::new(2);
    for (fold, (first, second, truth)) in
        [(0.9, 0.1, vec![0]), (0.8, 0.6, vec![0, 1]), (0.2, 0.7, vec![1]), (0.4, 0.3, vec![0]), (0.1, 0.5, vec![])]
            .into_iter()
            .cycle()
            .take(50)
            .enumerate()
    {
        let mut ranked = vec![Scored { label: 0, score: first }, Scored { label: 1, score: second }];
        ranked.sort_by(Scored::better_first);
        held_out.add(fold % 5, &ranked, &truth);
    }
    for name in ["scut", "pcut", "rcut"] {
        let tuned = name.parse::<Threshold>()?.tune(&held_out)?;
        let ranked = [Scored { label: 1, score: 0.65 }, Scored { label: 0, score: 0.35 }];
        println!("{name}: F1 {:.3}, decides {:?}", tuned.report.f_micro, tuned.thresholds.decide(&ranked));
    }

    // A pipeline of two levels: each row has a score for each level, and whether the document belongs to the last.
    let rows = [
        (vec![0.9, 0.8], true),
        (vec![0.7, 0.6], true),
        (vec![0.9, 0.3], false),
        (vec![0.2, 0.7], false),
        (vec![0.6, 0.5], false),
    ];
    let table = ScoreTable::from_rows(&rows)?;
    for method in [Method::Tsa, Method::Rbf, Method::GreedyExact, Method::Exact] {
        let found = select(&table, method, &Options::default())?;
        println!("{method}: thresholds {:?}, F1 {:.3}", found.thresholds, found.utility);
    }
    Ok(())
}
