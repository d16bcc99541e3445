//! The unit everything starts from.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::terms::TEXT_FIELD;

/// The part of a given split that a document belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Part {
    /// Counted and trained on.
    Train,
    /// Choices and thresholds are tuned on it; nothing is trained on it.
    Validation,
    /// Kept for evaluation.
    Test,
}

/// A hash by folded multiplication, as in wyhash: eight bytes for each multiplication.
#[derive(Default)]
struct Fingerprint(u64);

impl Fingerprint {
    fn word(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ 0x9e37_79b9_7f4a_7c15) * 0xa076_1d64_78bd_642f;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    /// Adds bytes and how many they are; no bytes change nothing.
    fn add(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        let mut chunks = bytes.chunks_exact(8);
        for chunk in &mut chunks {
            // Chunks of eight are eight long.
            self.word(u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        }
        let mut last = [0; 8];
        last[..chunks.remainder().len()].copy_from_slice(chunks.remainder());
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
        // 0 says that there was nothing.
        self.0 = self.0.max(1);
    }
}

/// What a document says.
#[derive(Debug, Clone, PartialEq)]
pub enum Body<'a> {
    /// Running text, to be tokenised.
    Text(Cow<'a, str>),
    /// Ready tokens, in order. Stop words, stemming and length limits still apply to them.
    Tokens(Vec<Cow<'a, str>>),
    /// Ready terms with their counts (svmlight); order is lost, nothing is stemmed.
    Counts(Vec<(Cow<'a, str>, u32)>),
    /// Several running texts with the names of their fields, such as title and body.
    Fields(Vec<(Cow<'a, str>, Cow<'a, str>)>),
}

impl Body<'_> {
    /// A number that tells documents apart, the same on every machine and in every version; 0 for one without content. Models
    /// keep some of them, so this never changes.
    pub fn fingerprint(&self) -> u64 {
        let mut print = Fingerprint::default();
        match self {
            Self::Text(text) => print.add(text.as_bytes()),
            Self::Tokens(tokens) => tokens.iter().for_each(|token| print.add(token.as_bytes())),
            Self::Counts(terms) => terms.iter().for_each(|(term, count)| {
                print.add(term.as_bytes());
                print.add(&count.to_le_bytes());
            }),
            Self::Fields(fields) => fields.iter().filter(|(_, text)| !text.is_empty()).for_each(|(name, text)| {
                print.add(name.as_bytes());
                print.add(text.as_bytes());
            }),
        }
        print.0
    }

    /// Bytes of running text; none where words are ready.
    pub(crate) fn text_bytes(&self) -> Option<usize> {
        match self {
            Self::Text(text) => Some(text.len()),
            Self::Fields(fields) => Some(fields.iter().map(|(_, text)| text.len()).sum()),
            Self::Tokens(_) | Self::Counts(_) => None,
        }
    }

    /// The running text of a field; a text without a name is the field `text`.
    #[inline]
    pub fn field(&self, name: &str) -> Option<&str> {
        match self {
            Self::Text(text) => (name == TEXT_FIELD).then_some(text),
            Self::Fields(fields) => fields.iter().find(|(field, _)| field == name).map(|(_, text)| text.as_ref()),
            Self::Tokens(_) | Self::Counts(_) => None,
        }
    }
}

/// One document. Fields borrow from the batch it was read from where they can.
#[derive(Debug, Clone, PartialEq)]
pub struct Document<'a> {
    /// Unique name; readers without one number the documents from 1.
    pub id: Cow<'a, str>,
    /// Its words.
    pub body: Body<'a>,
    /// Zero or more labels, in the order given, without repetition.
    pub labels: Vec<Cow<'a, str>>,
    /// Which part of a given split it is in, if the corpus says.
    pub part: Option<Part>,
    /// A date that sorts as text (ISO 8601), if the corpus has one.
    pub date: Option<Cow<'a, str>>,
    /// How often it counts when a classifier learns, 0 or more, if the corpus says; otherwise once.
    pub weight: Option<f64>,
}

impl Document<'_> {
    /// A copy that borrows nothing.
    pub fn into_owned(self) -> Document<'static> {
        let own = |c: Cow<'_, str>| Cow::Owned(c.into_owned());
        Document {
            id: own(self.id),
            body: match self.body {
                Body::Text(text) => Body::Text(own(text)),
                Body::Tokens(tokens) => Body::Tokens(tokens.into_iter().map(own).collect()),
                Body::Counts(counts) => Body::Counts(counts.into_iter().map(|(t, n)| (own(t), n)).collect()),
                Body::Fields(texts) => Body::Fields(texts.into_iter().map(|(f, t)| (own(f), own(t))).collect()),
            },
            labels: self.labels.into_iter().map(own).collect(),
            part: self.part,
            date: self.date.map(own),
            weight: self.weight,
        }
    }
}
