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
    /// Kept for evaluation.
    Test,
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
        }
    }
}
