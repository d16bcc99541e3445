//! Contingencies on disk: what `tamis count` writes and `tamis merge` adds up.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Contingency, ContingencyParts, Csr, Meeting, Pruned, Vocabulary};
use crate::atomic::AtomicFile;
use crate::container::{Builder, Container};
use crate::terms::TextOptions;
use crate::{Error, Result};

const KIND: &str = "counts";
const VERSION: u32 = 1;

/// A contingency with the options it was counted with.
///
/// It holds nothing about where the documents came from, so that the merged counts of parts are, byte for byte, the
/// counts of the whole.
#[derive(Debug, Clone, PartialEq)]
pub struct CountsFile {
    /// How text became terms.
    pub text: TextOptions,
    /// What was pruned while counting; sums over merged parts.
    pub pruned: Pruned,
    /// The counts.
    pub contingency: Contingency,
}

#[derive(Serialize, Deserialize)]
struct Meta {
    documents: u64,
    tokens: u64,
    text: TextOptions,
    pruned: Pruned,
}

impl CountsFile {
    /// Whether a file is one of these, by its first bytes.
    pub fn is_one(path: &Path) -> bool {
        Container::kind_of(path).as_deref() == Some(KIND)
    }

    /// Writes the file; it appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut file = AtomicFile::create(path)?;
        self.builder()?.write(&mut file).and_then(|()| file.flush()).map_err(|e| Error::io(path, e))?;
        file.commit()
    }

    /// The file as bytes, for those who keep it elsewhere.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.builder()?.write(&mut bytes).map_err(|e| Error::io("counts", e))?;
        Ok(bytes)
    }

    fn builder(&self) -> Result<Builder> {
        let counts = &self.contingency;
        let meta = Meta {
            documents: counts.documents(),
            tokens: counts.tokens(),
            text: self.text.clone(),
            pruned: self.pruned,
        };
        let mut builder = Builder::new(KIND, VERSION);
        builder.add("meta", serde_json::to_vec(&meta).map_err(|e| Error::data(e.to_string()))?);
        counts.vocabulary().store(&mut builder, "terms");
        counts.labels().store(&mut builder, "labels");
        builder.add_slice("label documents", counts.label_documents());
        builder.add_slice("df", counts.df());
        builder.add_slice("occurrences", counts.occurrences());
        let meetings = counts.meetings();
        builder.add_slice("offsets", &meetings.offsets().iter().map(|&o| o as u64).collect::<Vec<_>>());
        builder.add_slice("meeting labels", meetings.indices());
        builder.add_slice("meeting docs", &meetings.values().iter().map(|m| m.documents).collect::<Vec<_>>());
        builder.add_slice("meeting occurs", &meetings.values().iter().map(|m| m.occurrences).collect::<Vec<_>>());
        Ok(builder)
    }

    /// Reads and verifies a file.
    pub fn read(path: &Path) -> Result<Self> {
        Self::load(&Container::open(path, KIND, VERSION)?)
    }

    /// Reads and verifies counts that are in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::load(&Container::from_bytes(Path::new("counts"), bytes, KIND, VERSION)?)
    }

    fn load(file: &Container) -> Result<Self> {
        let meta: Meta =
            serde_json::from_str(file.text("meta")?).map_err(|e| file.error(format!("section meta: {e}")))?;
        let vocabulary = Vocabulary::load(file, "terms")?;
        if let Some(reason) = meta.text.cut_otherwise(vocabulary.iter()) {
            return Err(file.error(reason));
        }
        let labels = Vocabulary::load(file, "labels")?;
        let documents: &[u32] = file.slice("meeting docs")?;
        let occurrences: &[u32] = file.slice("meeting occurs")?;
        if documents.len() != occurrences.len() {
            return Err(file.error("sections of different lengths"));
        }
        let meetings = Csr::try_from_parts(
            labels.len(),
            file.slice::<u64>("offsets")?.iter().map(|&o| o as usize).collect(),
            file.slice::<u32>("meeting labels")?.to_vec(),
            documents
                .iter()
                .zip(occurrences)
                .map(|(&documents, &occurrences)| Meeting { documents, occurrences })
                .collect(),
        )
        .map_err(|reason| file.error(reason))?;
        let contingency = Contingency::from_parts(ContingencyParts {
            vocabulary: Arc::new(vocabulary),
            labels: Arc::new(labels),
            documents: meta.documents,
            tokens: meta.tokens,
            label_documents: file.slice::<u32>("label documents")?.to_vec(),
            df: file.slice::<u32>("df")?.to_vec(),
            occurrences: file.slice::<u64>("occurrences")?.to_vec(),
            meetings,
        })
        .map_err(|reason| file.error(reason))?;
        Ok(Self { text: meta.text, pruned: meta.pruned, contingency })
    }

    /// The counts of both; refused when they were not counted alike.
    pub fn merge(self, other: &Self) -> Result<Self> {
        if self.text != other.text {
            return Err(Error::data(
                "these counts were made with different text options and cannot be added; \
                 `tamis inspect` shows the options of each file",
            ));
        }
        Ok(Self {
            text: self.text,
            pruned: Pruned {
                rounds: self.pruned.rounds + other.pruned.rounds,
                terms: self.pruned.terms + other.pruned.terms,
                short_by: self.pruned.short_by + other.pruned.short_by,
            },
            contingency: self.contingency.merge(&other.contingency),
        })
    }
}
