//! What a model shows of itself to people: documents to try it on, what fewer terms would have cost, which labels it takes for
//! which. Nothing of it takes part in labelling.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::{FrontierPoint, Model};
use crate::Result;
use crate::classify::Scored;
use crate::corpus::{Body, Corpus, Document, Part};
use crate::terms::TEXT_FIELD;

/// A training document that people may try the model on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Example {
    /// Its labels, all of which the model gives it.
    pub labels: Vec<String>,
    /// Its texts by the names of their fields, `text` where it has one; long ones are cut.
    pub texts: BTreeMap<String, String>,
}

/// How often held-out documents of one label had another one first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Confusion {
    /// The label they carry.
    pub truth: u32,
    /// The label that was ranked first, and that they do not carry.
    pub taken_for: u32,
    /// How many documents.
    pub documents: u32,
}

/// What a model shows of itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Shown {
    /// Documents to try.
    pub examples: Vec<Example>,
    /// What fewer terms cost, fewest first, when sizes were compared.
    pub frontier: Vec<FrontierPoint>,
    /// The most frequent confusions in cross-validation, most first.
    pub confusions: Vec<Confusion>,
    /// For neighbours: how each training document begins, in their order.
    pub openings: Vec<String>,
}

/// Examples stored, at most.
const EXAMPLES: usize = 4;
/// Training documents among which examples are looked for, and how many of each label.
const LOOKED_AT: usize = 5000;
const OF_EACH_LABEL: usize = 8;
/// Labels for which there may be an example.
const LABELS: usize = 50;
/// Characters of an example: shorter texts say little, longer ones are cut.
const SHORTEST: usize = 40;
const LONGEST: usize = 1500;
/// Characters of an opening.
const OPENING: usize = 160;
/// Confusions stored, at most.
const CONFUSIONS: usize = 12;

impl Shown {
    /// Whether there is nothing to show.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Counts what is taken for what.
#[derive(Debug, Default)]
pub(super) struct Confused(FxHashMap<(u32, u32), u32>);

impl Confused {
    /// A held-out document: its ranked list and its labels.
    pub(super) fn add(&mut self, ranked: &[Scored], truth: &[u32]) {
        if let Some(first) = ranked.first().filter(|first| !truth.contains(&first.label)) {
            truth.iter().for_each(|&label| *self.0.entry((label, first.label)).or_default() += 1);
        }
    }

    /// The most frequent, most first; what happened once is chance.
    pub(super) fn most(self) -> Vec<Confusion> {
        let all = self.0.into_iter().filter(|(_, documents)| *documents > 1);
        let mut all: Vec<Confusion> =
            all.map(|((truth, taken_for), documents)| Confusion { truth, taken_for, documents }).collect();
        all.sort_unstable_by_key(|c| (std::cmp::Reverse(c.documents), c.truth, c.taken_for));
        all.truncate(CONFUSIONS);
        all
    }
}

/// A text of at most so many characters, cut before a word where there is a blank to cut at.
fn cut(text: &str, most: usize) -> &str {
    let Some((end, _)) = text.char_indices().nth(most) else { return text };
    match text[..end].rfind(char::is_whitespace) {
        Some(blank) if blank > end / 2 => &text[..blank],
        _ => &text[..end],
    }
}

/// The texts of a document as an example has them; none where it has no running text, or too little.
fn texts(body: &Body<'_>) -> Option<BTreeMap<String, String>> {
    let texts: BTreeMap<String, String> = match body {
        Body::Text(text) => [(TEXT_FIELD.to_owned(), cut(text.trim(), LONGEST).to_owned())].into(),
        Body::Fields(fields) => {
            fields.iter().map(|(name, text)| (name.to_string(), cut(text.trim(), LONGEST).to_owned())).collect()
        }
        Body::Tokens(_) | Body::Counts(_) => return None,
    };
    (texts.values().map(|text| text.chars().count()).sum::<usize>() >= SHORTEST).then_some(texts)
}

/// How a document begins.
fn opening(body: &Body<'_>) -> String {
    let line = |text: &str| {
        let words: Vec<&str> = text.split_whitespace().take(OPENING).collect();
        let line = words.join(" ");
        let short = cut(&line, OPENING);
        if short.len() < line.len() { format!("{short} …") } else { line }
    };
    match body {
        Body::Text(text) => line(text),
        Body::Fields(fields) => {
            fields.iter().find(|(_, t)| !t.trim().is_empty()).map_or_else(String::new, |(_, t)| line(t))
        }
        Body::Tokens(tokens) => {
            let words: Vec<&str> = tokens.iter().take(OPENING).map(AsRef::as_ref).collect();
            line(&words.join(" "))
        }
        Body::Counts(_) => String::new(),
    }
}

fn is_training(document: &Document<'_>) -> bool {
    document.part.is_none_or(|part| part == Part::Train)
}

impl Model {
    /// The same model with some of its training documents to try it on, and for neighbours with how each of them begins.
    /// Documents of the largest labels are taken that the model labels rightly, the first of a readable length; the last one
    /// has several labels where there is such a one. A corpus that cannot be read again gives none.
    pub fn with_examples(self, corpus: &Corpus) -> Result<Self> {
        if !corpus.is_rereadable() {
            return Ok(self);
        }
        let places: FxHashMap<&str, usize> =
            self.neighbours.iter().enumerate().map(|(n, id)| (id.as_str(), n)).collect();
        let mut openings = vec![String::new(); self.neighbours.len()];
        let mut wanted: Vec<u32> = (0..self.labels.len() as u32).collect();
        let documents = |label: u32| self.summary.label_documents.get(label as usize).copied().unwrap_or(0);
        wanted.sort_by_key(|&label| std::cmp::Reverse(documents(label)));
        wanted.truncate(LABELS);
        let mut room: FxHashMap<u32, usize> = wanted.iter().map(|&label| (label, OF_EACH_LABEL)).collect();
        let mut pool: Vec<(Vec<u32>, BTreeMap<String, String>)> = Vec::new();
        let mut seen = 0;
        corpus.until(&self.text, |document| {
            if !is_training(&document) {
                return ControlFlow::Continue(());
            }
            seen += 1;
            if let Some(&place) = places.get(&*document.id) {
                openings[place] = opening(&document.body);
            }
            let labels: Vec<u32> = document.labels.iter().filter_map(|label| self.labels.id(label)).collect();
            let places_left = labels.iter().filter_map(|label| room.get(label)).any(|&left| left > 0);
            if seen <= LOOKED_AT
                && places_left
                && labels.len() == document.labels.len()
                && let Some(texts) = texts(&document.body)
            {
                for label in &labels {
                    room.entry(*label).and_modify(|left| *left = left.saturating_sub(1));
                }
                pool.push((labels, texts));
            }
            if seen < LOOKED_AT || !places.is_empty() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        drop(places);
        let examples = self.chosen(&wanted, pool);
        Ok(self.with_parts(|parts| {
            parts.shown.examples = examples;
            parts.shown.openings = openings;
        }))
    }

    /// The examples: those of the pool that are labelled rightly, one for each of the largest labels, and one of several.
    fn chosen(&self, wanted: &[u32], pool: Vec<(Vec<u32>, BTreeMap<String, String>)>) -> Vec<Example> {
        let mut labeller = self.labeller();
        let right = |(labels, texts): (Vec<u32>, BTreeMap<String, String>)| {
            let body = if self.text.has_fields() {
                Body::Fields(texts.iter().map(|(name, text)| (name.into(), text.into())).collect())
            } else {
                Body::Text(texts.get(TEXT_FIELD)?.into())
            };
            let mut labels = labels;
            labels.sort_unstable();
            (labeller.label(&body).decided == labels.as_slice()).then_some((labels, texts))
        };
        let mut right: Vec<_> = pool.into_iter().filter_map(right).collect();
        let mut found = Vec::new();
        let mut take = |right: &mut Vec<(Vec<u32>, BTreeMap<String, String>)>, fits: &dyn Fn(&[u32]) -> bool| {
            let at = right.iter().position(|(labels, _)| fits(labels));
            if let Some((labels, texts)) = at.map(|at| right.remove(at)) {
                let labels = labels.iter().map(|&label| self.labels.name(label).to_owned()).collect();
                found.push(Example { labels, texts });
            }
            found.len()
        };
        let several = right.iter().any(|(labels, _)| labels.len() > 1);
        for &label in wanted {
            if take(&mut right, &|labels| labels == [label]) + usize::from(several) >= EXAMPLES {
                break;
            }
        }
        if several {
            take(&mut right, &|labels| labels.len() > 1);
        }
        found
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_cut_before_a_word() {
        assert_eq!(cut("short", 10), "short");
        assert_eq!(cut("one two three", 9), "one two");
        assert_eq!(cut("abcdefghijkl", 5), "abcde", "no blank to cut at");
        assert_eq!(cut("日本語の文章", 3), "日本語", "characters, not bytes");
    }

    #[test]
    fn openings_are_one_line() {
        assert_eq!(opening(&Body::Text("  a\n\n b  ".into())), "a b");
        let long = opening(&Body::Text("word ".repeat(100).into()));
        assert!(long.ends_with(" …") && long.chars().count() <= OPENING + 2, "{long}");
        assert_eq!(opening(&Body::Tokens(vec!["a".into(), "b".into()])), "a b");
    }

    #[test]
    fn confusions_are_counted_and_chance_is_left_out() {
        let ranked = |label| [Scored { label, score: 1.0 }];
        let mut confused = Confused::default();
        for _ in 0..3 {
            confused.add(&ranked(2), &[0]);
        }
        for _ in 0..2 {
            confused.add(&ranked(1), &[0, 2]);
        }
        confused.add(&ranked(0), &[1]);
        confused.add(&ranked(0), &[0]);
        confused.add(&[], &[0]);
        let most: Vec<(u32, u32, u32)> = confused.most().iter().map(|c| (c.truth, c.taken_for, c.documents)).collect();
        assert_eq!(most, [(0, 2, 3), (0, 1, 2), (2, 1, 2)]);
    }
}
