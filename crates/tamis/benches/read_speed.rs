//! How fast a corpus is read on one thread: `cargo bench -p tamis --bench read_speed -- CORPUS [ENCODING]`.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::time::Instant;

use tamis::corpus::{Body, ReadOptions, open};

fn main() -> tamis::Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|a| !a.starts_with("--"));
    let path = PathBuf::from(arguments.next().unwrap_or_else(|| "-".into()));
    let encoding = arguments.next().map(|name| name.parse()).transpose()?;
    let options = ReadOptions { encoding, ..ReadOptions::default() };
    let corpus = open(std::slice::from_ref(&path), &options)?;
    let size = std::fs::metadata(&path).map(|data| data.len()).unwrap_or_default();
    for _ in 0..5 {
        let begin = Instant::now();
        let mut bytes = 0u64;
        let tally = corpus.for_each(|document| {
            bytes += match &document.body {
                Body::Text(text) => text.len() as u64,
                Body::Tokens(tokens) => tokens.iter().map(|token| token.len() as u64).sum(),
                Body::Fields(fields) => fields.iter().map(|(_, text)| text.len() as u64).sum(),
                Body::Counts(counts) => counts.len() as u64,
            };
            Ok(())
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        eprintln!(
            "{} documents, {bytes} bytes of text, {seconds:.3} s, {:.0} MB/s of the file",
            tally.documents,
            size as f64 / 1e6 / seconds
        );
        if !corpus.is_rereadable() {
            break;
        }
    }
    Ok(())
}
