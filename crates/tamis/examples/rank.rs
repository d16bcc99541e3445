//! Which words matter: two selectors side by side, their combination, and a subset that is good together.
//!
//! `cargo run --release -p tamis --example rank [CORPUS]`; without one on the built-in corpus.
#![allow(clippy::print_stdout)]

use tamis::Silent;
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{Contingency, CountOptions, Counts, count};
use tamis::features::Selector;
use tamis::features::search::Budget;

fn main() -> tamis::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "synth:topics:2000".into());
    let corpus = open(&[path.into()], &ReadOptions::default())?;
    let (counts, _): (Counts, _) = count(corpus.batches()?, &CountOptions::default(), &Silent)?;
    // Selectors see counts of training documents only, never documents.
    let table = Contingency::of_rows(&counts, &counts.training());
    for expression in ["chi2max", "ig", "lr(chi2max,ig)@1"] {
        let ranking = expression.parse::<Selector>()?.rank(&table)?;
        let words: Vec<&str> = ranking.top(8).iter().map(|&t| counts.vocabulary.name(t)).collect();
        println!("{expression:18} {}", words.join(" "));
    }
    // A search has no ranking: it looks for so many words that are good together.
    let (subset, found) = "os(ib)".parse::<Selector>()?.subset(&table, 8, &Budget::default(), &Silent)?;
    let words: Vec<&str> = subset.terms().iter().map(|&t| counts.vocabulary.name(t)).collect();
    println!("{:18} {} ({} swings)", "os(ib)", words.join(" "), found.map_or(0, |f| f.steps));
    Ok(())
}
