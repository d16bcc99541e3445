//! Shape `topics`: running text about topics that a reader recognises.
//!
//! A document has one to five labels, none above another. Each of its sentences is about one of them: some of its nouns
//! and adjectives are words of that topic or, less often, of the topics above it; the rest are common words and
//! invented names. Now and then a sentence is about something else altogether.

use std::borrow::Cow;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::invent;
use super::lists::{COMMON, Noun, Plural, TOPICS};
use super::prose::{Grammar, Words, by_rank};
use super::random::{Alias, Stream, zipf_mandelbrot};

/// Invented words for names and rare things.
const INVENTED: usize = 3_000;
/// How a document's number of labels is distributed, from one to five.
const LABELS: [f64; 5] = [0.50, 0.28, 0.13, 0.06, 0.03];
/// How often a further label has the root of the first; else it is any topic.
const RELATED: f64 = 0.45;
/// How often a sentence is about a topic that is none of the document's.
const ASIDE: f64 = 0.08;
/// The part of nouns and adjectives in a sentence that its topic gives, drawn evenly for each document.
const SIGNAL: (f64, f64) = (0.45, 0.92);
/// What a topic's ancestors give to its words, relative to its own.
const INHERITED: [f64; 4] = [1.0, 0.35, 0.18, 0.09];

/// Everything that is fixed for all corpora of this shape.
pub(super) struct Model {
    grammar: Grammar,
    counts: Alias,
    topics: Alias,
    /// For each topic: those with its root, itself included, and how common each is.
    related: Vec<(Vec<usize>, Alias)>,
    nouns: Vec<(Vec<Noun>, Alias)>,
    adjectives: Vec<(Vec<&'static str>, Alias)>,
    invented: Vec<Box<str>>,
    /// Common nouns first, invented ones after them.
    background: Alias,
    names: Alias,
    common_adjectives: Alias,
}

/// The model, built at first use.
pub(super) static MODEL: LazyLock<Model> = LazyLock::new(Model::new);

/// A topic and those above it, itself first.
fn lineage(topic: usize) -> impl Iterator<Item = usize> {
    std::iter::successors(Some(topic), |&t| TOPICS[t].parent)
}

/// Whether one of two topics is above the other, or is the other.
fn on_one_path(a: usize, b: usize) -> bool {
    lineage(a).any(|t| t == b) || lineage(b).any(|t| t == a)
}

/// The words of a topic and its ancestors with their weights.
fn words_of<T: Copy + 'static>(topic: usize, own: impl Fn(usize) -> &'static [T]) -> (Vec<T>, Alias) {
    let (mut words, mut weights) = (Vec::new(), Vec::new());
    for (ancestor, part) in lineage(topic).zip(INHERITED) {
        let list = own(ancestor);
        let ranks = zipf_mandelbrot(list.len(), 4.0, 1.0);
        let sum: f64 = ranks.iter().sum();
        words.extend_from_slice(list);
        weights.extend(ranks.iter().map(|w| w / sum * part));
    }
    (words, Alias::new(&weights))
}

impl Model {
    fn new() -> Self {
        let taken: FxHashSet<&str> = TOPICS
            .iter()
            .flat_map(|t| t.nouns.iter().map(|n| n.text).chain(t.adjectives.iter().copied()))
            .chain(COMMON.nouns.iter().map(|n| n.text))
            .chain(COMMON.verbs.iter().flat_map(|&(base, past)| [base, past]))
            .chain([&COMMON.adjectives, &COMMON.adverbs, &COMMON.prepositions].into_iter().flatten().copied())
            .collect();
        let root = |t: usize| lineage(t).last();
        let weights: Vec<f64> = TOPICS.iter().map(|t| t.weight).collect();
        Self {
            grammar: Grammar::new(),
            counts: Alias::new(&LABELS),
            topics: Alias::new(&weights),
            related: (0..TOPICS.len())
                .map(|t| {
                    let family: Vec<usize> = (0..TOPICS.len()).filter(|&o| root(o) == root(t)).collect();
                    let alias = Alias::new(&family.iter().map(|&o| weights[o]).collect::<Vec<_>>());
                    (family, alias)
                })
                .collect(),
            nouns: (0..TOPICS.len()).map(|t| words_of(t, |t| &TOPICS[t].nouns)).collect(),
            adjectives: (0..TOPICS.len()).map(|t| words_of(t, |t| &TOPICS[t].adjectives)).collect(),
            invented: invent::words(INVENTED, invent::Use::Names, &taken),
            background: Alias::new(&zipf_mandelbrot(COMMON.nouns.len() + INVENTED, 40.0, 1.9)),
            names: Alias::new(&zipf_mandelbrot(INVENTED, 5.0, 1.0)),
            common_adjectives: by_rank(COMMON.adjectives.len()),
        }
    }

    /// Draws a document: appends its text to `text` and its labels, the most specific only, to `labels`.
    pub(super) fn draw(&'static self, stream: &mut Stream, text: &mut String, labels: &mut Vec<Cow<'static, str>>) {
        let (chosen, count) = self.labels(stream);
        let chosen = &chosen[..count];
        labels.extend(chosen.iter().map(|&t| Cow::Borrowed(TOPICS[t].path)));

        let signal = SIGNAL.0 + stream.unit() * (SIGNAL.1 - SIGNAL.0);
        // At most 40 + 69 + 59 + 59, and a last sentence of at most 22 words, stay below 250.
        let wanted = 40 + stream.below(70) + stream.below(60) + stream.below(12 * count);
        let mut words = 0;
        for sentence in 0.. {
            let about = if sentence < count {
                chosen[sentence]
            } else if stream.chance(ASIDE) {
                self.topics.draw(stream)
            } else {
                // The first label is what the document is mainly about.
                chosen[stream.below(count + 1).saturating_sub(1)]
            };
            words += self.grammar.sentence(&mut Voice { model: self, about, signal }, stream, text);
            if words >= wanted {
                break;
            }
            text.push(if stream.chance(0.1) { '\n' } else { ' ' });
        }
    }

    /// One to five topics, none above another, in the order drawn.
    fn labels(&self, stream: &mut Stream) -> ([usize; LABELS.len()], usize) {
        let wanted = 1 + self.counts.draw(stream);
        let mut chosen = [0; LABELS.len()];
        chosen[0] = self.topics.draw(stream);
        let mut count = 1;
        // A small family may have no further topic to give: then the document has fewer labels.
        for _ in 0..4 * wanted {
            if count == wanted {
                break;
            }
            let topic = if stream.chance(RELATED) {
                let (family, alias) = &self.related[chosen[0]];
                family[alias.draw(stream)]
            } else {
                self.topics.draw(stream)
            };
            if !chosen[..count].iter().any(|&c| on_one_path(c, topic)) {
                chosen[count] = topic;
                count += 1;
            }
        }
        (chosen, count)
    }
}

/// The words of a sentence about a topic.
struct Voice {
    model: &'static Model,
    about: usize,
    signal: f64,
}

impl Words for Voice {
    fn noun(&mut self, stream: &mut Stream) -> Noun {
        if stream.chance(self.signal) {
            let (words, alias) = &self.model.nouns[self.about];
            return words[alias.draw(stream)];
        }
        let rank = self.model.background.draw(stream);
        match COMMON.nouns.get(rank) {
            Some(&noun) => noun,
            None => Noun { text: &self.model.invented[rank - COMMON.nouns.len()], plural: Plural::Regular },
        }
    }

    fn adjective(&mut self, stream: &mut Stream) -> &'static str {
        if stream.chance(self.signal) {
            let (words, alias) = &self.model.adjectives[self.about];
            return words[alias.draw(stream)];
        }
        COMMON.adjectives[self.model.common_adjectives.draw(stream)]
    }

    fn name(&mut self, stream: &mut Stream) -> &'static str {
        &self.model.invented[self.model.names.draw(stream)]
    }
}
