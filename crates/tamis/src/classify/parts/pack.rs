//! Documents in a few bytes each: what of a text its training needs, and a part of all documents made of them.

use std::sync::Arc;

use super::wire::{Reader, Writer, damaged};
use crate::corpus::Batches;
use crate::counts::{CountOptions, Counts, Csr, Vocabulary, count};
use crate::terms::TextOptions;
use crate::{Progress, Result};

/// Bytes of packed documents in one piece of a part.
const PIECE: usize = 8 << 20;

/// How texts become packed documents, on any machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Packer {
    /// Text to terms.
    pub text: TextOptions,
    /// The terms that are kept, in byte order; their numbers are the features.
    pub terms: Arc<Vocabulary>,
    /// The labels, in byte order.
    pub labels: Arc<Vocabulary>,
}

/// A packed document: the fingerprint of its text (8 bytes, the highest first, so that bytes sort by it), its length, labels and features with their
/// occurrences.
pub type Packed = Vec<u8>;

/// A number spread evenly, whatever the fingerprint; `use_of` tells the uses apart.
fn spread(fingerprint: u64, use_of: u64) -> u64 {
    // The finaliser of SplitMix64.
    let mut x = fingerprint.wrapping_add(use_of.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// Which of so many parts a document is in, by its fingerprint alone.
pub fn part_of(fingerprint: u64, parts: usize) -> usize {
    (spread(fingerprint, 1) % parts.max(1) as u64) as usize
}

/// Which of so many folds holds a document out, by its fingerprint alone.
pub fn fold_of(fingerprint: u64, folds: usize) -> usize {
    (spread(fingerprint, 2) % folds.max(1) as u64) as usize
}

/// A number from 0 to 1 that a sample is drawn by: documents below a share are that share of all.
pub fn draw_of(fingerprint: u64) -> f64 {
    (spread(fingerprint, 3) >> 11) as f64 / (1u64 << 53) as f64
}

/// The fingerprint of a packed document.
pub fn fingerprint_of(packed: &[u8]) -> Result<u64> {
    Reader(packed).take().map(u64::from_be_bytes)
}

impl Packer {
    /// As bytes for another machine.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut out = Writer::default();
        out.text(&serde_json::to_string(&self.text).map_err(|e| crate::Error::data(e.to_string()))?);
        for names in [&self.terms, &self.labels] {
            out.number(names.len() as u64);
            names.iter().for_each(|name| out.text(name));
        }
        Ok(out.0)
    }

    /// From [`Packer::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let text = serde_json::from_str(reader.text()?).map_err(|_| damaged())?;
        let mut names = || -> Result<Arc<Vocabulary>> {
            let length = reader.length()?;
            let names = (0..length).map(|_| reader.text()).collect::<Result<Vec<&str>>>()?;
            if names.windows(2).any(|w| w[0] >= w[1]) {
                return Err(damaged());
            }
            Ok(Arc::new(Vocabulary::from_sorted(names)))
        };
        Ok(Self { text, terms: names()?, labels: names()? })
    }

    /// Packs documents. Labels that are not known are left out.
    pub fn pack(&self, source: Box<dyn Batches>, memory: usize, progress: &dyn Progress) -> Result<Vec<Packed>> {
        let vocabulary = Some(Arc::clone(&self.terms));
        let options = CountOptions { text: self.text.clone(), memory, vocabulary, ..CountOptions::default() };
        let (counts, _) = count(source, &options, progress)?;
        Ok(self.pack_counted(&counts))
    }

    /// Packs documents that were counted.
    pub fn pack_counted(&self, counts: &Counts) -> Vec<Packed> {
        // Both are in byte order, so numbers that ascend go on ascending.
        let feature_of: Vec<Option<u32>> = counts.vocabulary.iter().map(|term| self.terms.id(term)).collect();
        let label_of: Vec<Option<u32>> = counts.labels.iter().map(|label| self.labels.id(label)).collect();
        let mut labels = Vec::new();
        (0..counts.len())
            .map(|row| {
                let mut out = Writer(counts.fingerprints.get(row).copied().unwrap_or(0).to_be_bytes().to_vec());
                out.number(u64::from(counts.lengths[row]));
                labels.clear();
                labels.extend(counts.assignments.row_indices(row).iter().filter_map(|&l| label_of[l as usize]));
                out.ascending(labels.iter().copied());
                let features: Vec<(u32, u32)> =
                    counts.matrix.row(row).filter_map(|(t, n)| Some((feature_of[t as usize]?, n))).collect();
                out.ascending(features.iter().map(|(feature, _)| *feature));
                features.iter().for_each(|(_, n)| out.number(u64::from(*n)));
                out.0
            })
            .collect()
    }
}

/// Packed documents of one part in the one order that depends on nothing but them, in pieces of a handy size.
pub fn pieces(mut documents: Vec<&[u8]>) -> Vec<Vec<u8>> {
    documents.sort_unstable();
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for document in documents {
        match pieces.last_mut() {
            Some(last) if last.len() + document.len() <= PIECE => last.extend_from_slice(document),
            _ => pieces.push(document.to_vec()),
        }
    }
    pieces
}

/// A part of all documents, as one machine trains on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Documents × features: occurrences.
    pub(super) matrix: Csr<u32>,
    pub(super) lengths: Vec<u32>,
    /// Documents × labels.
    pub(super) assignments: Csr<()>,
    pub(super) fingerprints: Vec<u64>,
}

impl Part {
    /// From its [`pieces`], in their order.
    pub fn read<'a>(pieces: impl IntoIterator<Item = &'a [u8]>, features: usize, labels: usize) -> Result<Self> {
        let (mut lengths, mut fingerprints) = (Vec::new(), Vec::new());
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let (mut label_offsets, mut label_indices) = (vec![0], Vec::new());
        for piece in pieces {
            let mut reader = Reader(piece);
            while !reader.is_empty() {
                fingerprints.push(u64::from_be_bytes(reader.take()?));
                lengths.push(u32::try_from(reader.number()?).map_err(|_| damaged())?);
                reader.ascending(labels, &mut label_indices)?;
                label_offsets.push(label_indices.len());
                reader.ascending(features, &mut indices)?;
                for _ in values.len()..indices.len() {
                    values.push(u32::try_from(reader.number()?).map_err(|_| damaged())?);
                }
                offsets.push(indices.len());
            }
        }
        let none = vec![(); label_indices.len()];
        Ok(Self {
            matrix: Csr::trusted(features, offsets, indices, values),
            lengths,
            assignments: Csr::trusted(labels, label_offsets, label_indices, none),
            fingerprints,
        })
    }

    /// Number of documents.
    pub fn documents(&self) -> usize {
        self.lengths.len()
    }

    /// The smallest fingerprints, ascending: of a model's training documents it remembers some.
    pub fn smallest(&self, most: usize) -> Vec<u64> {
        self.fingerprints.iter().copied().filter(|f| *f != 0).take(most).collect()
    }
}
