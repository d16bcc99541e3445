//! Generates the built-in corpus and says what it looks like and how fast it came.
//!
//! ```text
//! cargo bench -p tamis --bench synth_speed -- rcv1 804414 > corpus.jsonl
//! ```
//!
//! Documents go to standard output as JSON lines, figures to standard error.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::time::Instant;

use serde_json::json;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{Body, Document, Part};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let shape: Shape = arguments.next().as_deref().unwrap_or("topics").parse()?;
    let mut options = SynthOptions::of(shape);
    if let Some(documents) = arguments.next() {
        options.documents = documents.parse()?;
    }
    if let Some(seed) = arguments.next() {
        options.seed = seed.parse()?;
    }

    let start = Instant::now();
    let mut tokens = 0u64;
    for document in synth::documents(&options)? {
        tokens += match document.body {
            Body::Tokens(tokens) => tokens.len() as u64,
            Body::Text(text) => text.split_whitespace().count() as u64,
            Body::Counts(_) | Body::Fields(_) => 0,
        };
    }
    let generated = start.elapsed();

    let start = Instant::now();
    let mut out = BufWriter::with_capacity(1 << 20, io::stdout().lock());
    let mut line = Vec::new();
    for document in synth::documents(&options)? {
        line.clear();
        write_json(&document, &mut line)?;
        out.write_all(&line)?;
    }
    out.flush()?;
    let written = start.elapsed();

    let mut terms: HashMap<String, u32> = HashMap::new();
    let mut labels: HashMap<String, u64> = HashMap::new();
    let (mut distinct, mut given, mut test) = (0u64, 0u64, 0u64);
    for document in synth::documents(&options)? {
        let mut words: Vec<&str> = match &document.body {
            Body::Tokens(tokens) => tokens.iter().map(|t| &**t).collect(),
            Body::Text(text) => text.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| !w.is_empty()).collect(),
            Body::Counts(_) | Body::Fields(_) => Vec::new(),
        };
        words.sort_unstable();
        words.dedup();
        distinct += words.len() as u64;
        for word in words {
            match terms.get_mut(word) {
                Some(n) => *n += 1,
                None => {
                    terms.insert(word.to_owned(), 1);
                }
            }
        }
        given += document.labels.len() as u64;
        test += u64::from(document.part == Some(Part::Test));
        for label in document.labels {
            *labels.entry(label.into_owned()).or_default() += 1;
        }
    }
    let n = options.documents as f64;
    eprintln!("generated in {generated:.2?}, generated and written as JSON in {written:.2?} (one thread)");
    eprintln!("tokens a document {:.1}, distinct {:.1}", tokens as f64 / n, distinct as f64 / n);
    eprintln!("distinct terms {}, labels a document {:.2}, test {:.3}", terms.len(), given as f64 / n, test as f64 / n);
    let mut df: Vec<u32> = terms.into_values().collect();
    df.sort_unstable_by(|a, b| b.cmp(a));
    for rank in [0, 1, 10, 100, 1_000, 5_000, 10_000, 20_000, 40_000] {
        if let Some(&df) = df.get(rank) {
            eprintln!("  term of rank {rank}: in {:.6} of the documents", f64::from(df) / n);
        }
    }
    let mut labels: Vec<(String, u64)> = labels.into_iter().collect();
    labels.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    eprintln!(
        "{} labels: {}",
        labels.len(),
        labels.iter().map(|(l, n)| format!("{l} {n}")).collect::<Vec<_>>().join(", ")
    );
    Ok(())
}

fn write_json(document: &Document<'_>, line: &mut Vec<u8>) -> io::Result<()> {
    write!(line, "{{\"id\":\"{}\",\"date\":{},", document.id, json!(document.date))?;
    if let Some(part) = document.part {
        write!(line, "\"split\":{},", json!(part))?;
    }
    line.write_all(b"\"labels\":")?;
    serde_json::to_writer(&mut *line, &document.labels)?;
    match &document.body {
        Body::Text(text) => {
            line.write_all(b",\"text\":")?;
            serde_json::to_writer(&mut *line, text)?;
        }
        Body::Tokens(tokens) => {
            line.write_all(b",\"tokens\":")?;
            serde_json::to_writer(&mut *line, tokens)?;
        }
        Body::Fields(_) => {}
        Body::Counts(counts) => {
            line.write_all(b",\"counts\":")?;
            serde_json::to_writer(&mut *line, counts)?;
        }
    }
    line.write_all(b"}\n")
}
