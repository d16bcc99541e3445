//! RCV1-v2 token files as Lewis, Yang, Rose and Li (2004) distribute them: `.I id`, `.W`, then tokens until the next
//! `.I`; the topics are in qrels files with lines `topic id 1`.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::blocks::{Block, Blocks, FileContext, Parse, Piece, Visit, too_long};
use super::cut::Cut;
use super::fields::quoted;
use super::source::Source;
use super::{Body, Document, Part};
use crate::{Error, Result};

/// How a record begins.
pub(crate) const START: &[u8] = b".I ";

/// Topics by document.
#[derive(Debug, Default)]
pub(crate) struct Qrels {
    topics: Vec<String>,
    documents: FxHashMap<Box<str>, u32>,
    /// Topics of document `d`: `assigned[starts[d]..starts[d + 1]]`, in the order of the file.
    starts: Vec<u32>,
    assigned: Vec<u32>,
}

impl Qrels {
    /// Reads qrels files; several give the topics of all.
    pub(crate) fn read(paths: &[PathBuf], limit: usize) -> Result<Self> {
        let mut qrels = Self::default();
        let mut topic_numbers = FxHashMap::<String, u32>::default();
        let mut pairs: Vec<(u32, u32)> = Vec::new();
        for path in paths {
            let mut blocks = Blocks::new(Source::open(path, None)?, Cut::Lines, limit);
            while let Some(piece) = blocks.next()? {
                let block = match piece {
                    Piece::Block(block) => block,
                    Piece::Bad(bad) => return Err(bad.error()),
                };
                for (line, bytes) in (block.line..).zip(block.bytes().split(|&b| b == b'\n')) {
                    let text = String::from_utf8_lossy(bytes);
                    let mut words = text.split_ascii_whitespace();
                    let (topic, document) = match (words.next(), words.next(), words.next(), words.next()) {
                        (Some(topic), Some(document), Some("1"), None) => (topic, document),
                        (None, ..) | (Some(_), Some(_), Some("0"), None) => continue,
                        _ => {
                            let reason = format!("expected \"topic id 1\", found {}", quoted(&text));
                            return Err(Error::malformed(path, line, reason));
                        }
                    };
                    let topic = topic_numbers.get(topic).copied().unwrap_or_else(|| {
                        let new = qrels.topics.len() as u32;
                        qrels.topics.push(topic.to_owned());
                        topic_numbers.insert(topic.to_owned(), new);
                        new
                    });
                    let next = qrels.documents.len() as u32;
                    let document = match qrels.documents.get(document) {
                        Some(&known) => known,
                        None => *qrels.documents.entry(document.into()).or_insert(next),
                    };
                    pairs.push((document, topic));
                }
            }
        }
        // Stable, so the topics of a document stay in the order of the file.
        pairs.sort_by_key(|pair| pair.0);
        pairs.dedup();
        qrels.starts = vec![0; qrels.documents.len() + 1];
        for (document, _) in &pairs {
            qrels.starts[*document as usize + 1] += 1;
        }
        for d in 0..qrels.documents.len() {
            qrels.starts[d + 1] += qrels.starts[d];
        }
        qrels.assigned = pairs.into_iter().map(|(_, topic)| topic).collect();
        Ok(qrels)
    }

    fn of(&self, document: &str) -> Vec<Cow<'_, str>> {
        let Some(&d) = self.documents.get(document) else { return Vec::new() };
        let range = self.starts[d as usize] as usize..self.starts[d as usize + 1] as usize;
        let mut labels: Vec<Cow<'_, str>> = Vec::with_capacity(range.len());
        for &topic in &self.assigned[range] {
            let name = self.topics[topic as usize].as_str();
            if !labels.iter().any(|known| known == name) {
                labels.push(name.into());
            }
        }
        labels
    }
}

/// The qrels files in the folder of a token file.
pub(crate) fn qrels_beside(token_file: &Path) -> Result<Vec<PathBuf>> {
    let folder = token_file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| Error::io(folder, e))? {
        let path = entry.map_err(|e| Error::io(folder, e))?.path();
        let plain = super::source::Compression::of_name(&path).1;
        if plain.extension().is_some_and(|e| e == "qrels") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

pub(crate) struct Lyrl {
    context: FileContext,
    qrels: Arc<Qrels>,
}

impl Lyrl {
    pub(crate) fn new(mut context: FileContext, qrels: Arc<Qrels>) -> Self {
        // The distribution holds the LYRL2004 split in its file names: lyrl2004_tokens_train.dat, …_test_pt0.dat.
        let name = context.path.file_name().map(|n| n.to_string_lossy().to_ascii_lowercase()).unwrap_or_default();
        if name.starts_with("lyrl2004") && context.part.is_none() {
            context.part = match (name.contains("_train"), name.contains("_test")) {
                (true, false) => Some(Part::Train),
                (false, true) => Some(Part::Test),
                _ => None,
            };
        }
        Self { context, qrels }
    }

    fn document<'a>(&'a self, line: u64, record: &'a [u8]) -> Result<Document<'a>> {
        if record.len() > self.context.limit {
            return Err(self.context.error(line, too_long(self.context.limit)));
        }
        let record = self.context.text(line, record)?;
        let (head, rest) = record.split_once('\n').unwrap_or((record, ""));
        let id = head[START.len()..].trim();
        let tokens = rest.split_once('\n').map_or((rest, ""), |(mark, tokens)| (mark, tokens));
        if id.is_empty() || tokens.0.trim() != ".W" {
            return Err(self.context.error(line, "expected \".I id\" and then a line \".W\" before the tokens"));
        }
        Ok(Document {
            id: id.into(),
            body: Body::Tokens(tokens.1.split_ascii_whitespace().map(Cow::Borrowed).collect()),
            labels: self.qrels.of(id),
            part: self.context.part,
            date: None,
            weight: None,
        })
    }
}

impl Parse for Lyrl {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        for (line, record) in block.starting_with(START) {
            visit(self.document(line, record))?;
        }
        ControlFlow::Continue(())
    }
}
