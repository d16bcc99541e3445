//! The whole way: documents, counts, a model, answers with reasons, and how good it is.
//!
//! `cargo run --release -p tamis --example fit_and_classify [CORPUS]`; without one on the built-in corpus.
#![allow(clippy::print_stdout)]

use std::path::Path;

use tamis::Silent;
use tamis::corpus::{ReadOptions, open};
use tamis::counts::{CountOptions, count};
use tamis::model::{EvaluateOptions, FitOptions, How, Model, WhyAsked};

fn main() -> tamis::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "synth:topics:2000".into());
    let corpus = open(&[path.into()], &ReadOptions::default())?;
    let (counts, _) = count(corpus.batches()?, &CountOptions::default(), &Silent)?;
    let trained = FitOptions::default().fit(&counts, &counts.training(), &Silent)?;
    trained.model.summary.choices.iter().for_each(|reason| println!("{reason}"));

    // A model is a file, and a file is a model.
    let file = Path::new("example.model");
    trained.model.write(file)?;
    let model = Model::read(file)?;

    let how = How { reasons: Some(WhyAsked { top: 3, ..WhyAsked::default() }), ..How::default() };
    for answer in model.label(corpus.batches()?, &how).take(5) {
        let answer = answer?;
        println!("\n{}: {}", answer.id.unwrap_or_default(), answer.labels.join(", "));
        for reason in answer.reasons.iter().flatten() {
            let words: Vec<String> = reason.words.iter().map(|w| format!("{} {:+.2}", w.word, w.adds)).collect();
            println!("  {}: {}", reason.label, words.join(", "));
        }
    }

    let quality = model.evaluate(corpus.batches()?, &EvaluateOptions::default(), &Silent)?;
    println!("\nOn {} documents", quality.evaluation.documents());
    for (name, value) in quality.report(false, None)?.measures {
        println!("  {name} {:.4}", value.unwrap_or(f64::NAN));
    }
    Ok(())
}
