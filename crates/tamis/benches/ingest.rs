//! Text → sparse counts, against scikit-learn's CountVectorizer with the same tokenisation.

mod common;

use std::ops::ControlFlow;
use std::sync::Arc;

use common::{best, data, report, with_threads};
use tamis::corpus::{Batch, Batches, Body, Document, TextOptions, Words};
use tamis::counts::{CountOptions, count};
use tamis::{Result, Silent};

/// Texts in memory, as the peer has them.
struct Texts(Arc<Vec<String>>, usize);

struct Slice(Arc<Vec<String>>, std::ops::Range<usize>);

impl Batches for Texts {
    fn next_batch(&mut self) -> Result<Option<Box<dyn Batch>>> {
        let start = self.1;
        self.1 = (start + 512).min(self.0.len());
        Ok(if start == self.1 { None } else { Some(Box::new(Slice(Arc::clone(&self.0), start..self.1))) })
    }
}

impl Batch for Slice {
    fn visit(&self, visit: &mut dyn FnMut(Result<Document<'_>>) -> ControlFlow<()>) {
        for text in &self.0[self.1.clone()] {
            let document =
                Document { id: "".into(), body: Body::Text(text.into()), labels: vec![], part: None, date: None };
            if visit(Ok(document)).is_break() {
                return;
            }
        }
    }
}

fn advisories() -> Vec<String> {
    let file = std::fs::read_to_string(data("advisories/advisories.jsonl")).expect("advisories");
    file.lines()
        .map(|line| {
            serde_json::from_str::<serde_json::Value>(line).expect("JSON")["text"].as_str().expect("text").to_owned()
        })
        .collect()
}

fn newsgroups() -> Vec<String> {
    let mut texts = Vec::new();
    for part in ["training", "test"] {
        for label in std::fs::read_dir(data("20news-bydate").join(part)).expect("20news-bydate") {
            for file in std::fs::read_dir(label.expect("entry").path()).expect("folder") {
                let bytes = std::fs::read(file.expect("entry").path()).expect("file");
                texts.push(bytes.iter().map(|&b| char::from(b)).collect());
            }
        }
    }
    texts
}

fn main() {
    let options = CountOptions {
        text: TextOptions { words: Words::Letters, ..TextOptions::default() },
        ..CountOptions::default()
    };
    for (name, texts) in [("advisories", advisories()), ("20news", newsgroups())] {
        let megabytes = texts.iter().map(String::len).sum::<usize>() as f64 / 1e6;
        let texts = Arc::new(texts);
        for threads in [1, 2] {
            let (seconds, counts) = with_threads(threads, || {
                best(5, || count(Box::new(Texts(Arc::clone(&texts), 0)), &options, &Silent).expect("counts").0)
            });
            report(
                &format!("{name}: text to counts, ours on {threads} thread(s)"),
                megabytes / seconds,
                "MB/s",
                &format!("{megabytes:.0} MB, {} terms, {} entries", counts.vocabulary.len(), counts.matrix.entries()),
            );
        }
    }
}
