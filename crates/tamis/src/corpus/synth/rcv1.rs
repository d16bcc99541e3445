//! Shape `rcv1`: the size and sparsity of RCV1-v2 (Lewis, Yang, Rose and Li 2004, JMLR 5), for tests of scale.
//!
//! 103 topics in a forest of four levels, of which one has nearly half of the documents and one nearly none; ancestors
//! are listed as labels, about 3.2 labels a document; 47,219 terms, stemmed and without stop words, about 120 tokens and
//! 75 distinct terms a document. A token repeats an earlier one of its document, or comes from the distribution of one
//! of its topics, or from the background.

use std::borrow::Cow;
use std::sync::LazyLock;

use rustc_hash::FxHashSet;

use super::invent;
use super::random::{Alias, Stream, share, zipf_mandelbrot};

/// Terms in the vocabulary: as many as RCV1-v2 has in its training set.
const TERMS: usize = 47_219;

/// The roots: letter, share of documents that are mainly of it, and how many children each of its children has.
const ROOTS: [(char, f64, &[usize]); 4] = [
    ('A', 0.375, &[2, 3, 3, 4, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
    ('B', 0.135, &[2, 1, 3, 1, 0, 2, 0, 3, 3, 0]),
    ('C', 0.26, &[0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ('D', 0.23, &[3, 0, 2, 0]),
];

/// How often a document mainly of a root is of none of its children.
const ROOT_ONLY: f64 = 0.04;
/// How often a document of an inner topic below the roots is of none of its children.
const INNER_ONLY: f64 = 0.2;
/// How much rarer each topic is than the sibling before it, on the second level and below.
const DECAY: [f64; 2] = [0.30, 0.55];
/// The last child of the widest root is rarer still, as GMIL is in RCV1: a handful of documents in 800,000.
const NEARLY_EMPTY: f64 = 0.05;
/// How many further topics a document has beside its main one.
const FURTHER: [f64; 5] = [0.71, 0.185, 0.065, 0.03, 0.01];
/// How often a further topic is one of the main topic's partners; else any topic.
const PARTNER: f64 = 0.6;
/// Partners of a topic.
const PARTNERS: usize = 3;

/// How often a token repeats an earlier token of the document.
const REPEAT: f64 = 0.29;
/// How often a token that repeats none is of the document's topics.
const TOPICAL: f64 = 0.35;
/// Terms that a topic prefers, and the rank from which they come: the commonest terms are nobody's.
const PREFERRED: usize = 300;
const PREFERRED_FROM: f64 = 30.0;
/// Tokens in a document: log-normal with this mean of logarithms and deviation, cut at the ends.
const LENGTH: (f64, f64, usize, usize) = (4.57, 0.65, 12, 900);

/// A node of the forest.
struct Topic {
    code: String,
    parent: Option<usize>,
    /// How often it is the main topic of a document.
    main: f64,
}

/// Everything that is fixed for all corpora of this shape.
pub(super) struct Model {
    topics: Vec<Topic>,
    main: Alias,
    further: Alias,
    partners: Vec<[usize; PARTNERS]>,
    lengths: Alias,
    terms: Vec<Box<str>>,
    background: Alias,
    preferred: Vec<(Vec<u32>, Alias)>,
}

/// The model, built at first use.
pub(super) static MODEL: LazyLock<Model> = LazyLock::new(Model::new);

/// The forest, parents first.
fn forest() -> Vec<Topic> {
    fn shares(n: usize, decay: f64) -> Vec<f64> {
        let weights: Vec<f64> = (0..n).map(|k| (-decay * k as f64).exp()).collect();
        let sum: f64 = weights.iter().sum();
        weights.iter().map(|w| w / sum).collect()
    }
    let widest = ROOTS.iter().map(|r| r.2.len()).max();
    let mut topics: Vec<Topic> = Vec::new();
    for (letter, part, children) in ROOTS {
        let root = topics.len();
        topics.push(Topic { code: letter.to_string(), parent: None, main: part * ROOT_ONLY });
        for (k, (&grandchildren, within)) in children.iter().zip(shares(children.len(), DECAY[0])).enumerate() {
            let mut part = part * (1.0 - ROOT_ONLY) * within;
            if Some(children.len()) == widest && k + 1 == children.len() {
                part *= NEARLY_EMPTY;
            }
            let child = topics.len();
            let code = format!("{letter}{:02}", k + 1);
            let stays = if grandchildren == 0 { 1.0 } else { INNER_ONLY };
            topics.push(Topic { code: code.clone(), parent: Some(root), main: part * stays });
            for (k, within) in shares(grandchildren, DECAY[1]).into_iter().enumerate() {
                let part = part * (1.0 - INNER_ONLY) * within;
                // The very first path goes one level deeper, as C15, C151, C1511 does in RCV1.
                let deeper = letter == 'A' && code == "A01" && k == 0;
                let grandchild = topics.len();
                let code = format!("{code}{}", k + 1);
                let stays = if deeper { 1.0 - INNER_ONLY } else { 1.0 };
                topics.push(Topic { code: code.clone(), parent: Some(child), main: part * stays });
                if deeper {
                    topics.push(Topic { code: format!("{code}1"), parent: Some(grandchild), main: part * INNER_ONLY });
                }
            }
        }
    }
    topics
}

/// A topic's preferred terms: log-uniform over the ranks, so that common and rare terms are among them.
fn preferred(stream: &mut Stream) -> (Vec<u32>, Alias) {
    let (first, last) = (PREFERRED_FROM, TERMS as f64);
    let mut seen = FxHashSet::default();
    let mut terms = Vec::with_capacity(PREFERRED);
    while terms.len() < PREFERRED {
        let rank = (first * (last / first).powf(stream.unit())) as u32;
        if (rank as usize) < TERMS && seen.insert(rank) {
            terms.push(rank);
        }
    }
    (terms, Alias::new(&zipf_mandelbrot(PREFERRED, 6.0, 1.0)))
}

impl Model {
    fn new() -> Self {
        let topics = forest();
        let main: Vec<f64> = topics.iter().map(|t| t.main).collect();
        let any = Alias::new(&main);
        let mut stream = Stream::fixed(0x2C71);
        let partners = topics
            .iter()
            .map(|_| {
                let mut draw = || any.draw(&mut stream);
                [draw(), draw(), draw()]
            })
            .collect();
        let (mean, deviation, shortest, longest) = LENGTH;
        let lengths: Vec<f64> = (shortest..=longest)
            .map(|n| {
                let z = ((n as f64).ln() - mean) / deviation;
                (-z * z / 2.0).exp() / n as f64
            })
            .collect();
        let background = zipf_mandelbrot(TERMS, 70.0, 1.58);
        Self {
            main: any,
            further: Alias::new(&FURTHER),
            partners,
            lengths: Alias::new(&lengths),
            terms: invent::words(TERMS, invent::Use::Stems, &FxHashSet::default()),
            preferred: topics.iter().map(|_| preferred(&mut stream)).collect(),
            background: Alias::new(&background),
            topics,
        }
    }

    /// Codes and parents' codes, parents first.
    pub(super) fn taxonomy(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.topics.iter().map(|t| (t.code.as_str(), t.parent.map(|p| self.topics[p].code.as_str())))
    }

    /// Draws a document: its tokens in order, and its labels with their ancestors, in the order of the taxonomy.
    pub(super) fn draw(
        &'static self,
        stream: &mut Stream,
        labels: &mut Vec<Cow<'static, str>>,
    ) -> Vec<Cow<'static, str>> {
        let (chosen, count, listed) = self.labels(stream);
        labels.extend(
            (0..self.topics.len())
                .filter(|&t| listed >> t & 1 == 1)
                .map(|t| Cow::Borrowed(self.topics[t].code.as_str())),
        );
        let (repeat, topical) = (share(REPEAT), share(TOPICAL));
        let length = LENGTH.2 + self.lengths.draw(stream);
        let mut tokens: Vec<Cow<'static, str>> = Vec::with_capacity(length);
        for i in 0..length {
            let token = if stream.bits() < repeat && i > 0 {
                tokens[stream.below(i)].clone()
            } else {
                let term = if stream.bits() < topical {
                    let mut topic = chosen[stream.below(count)];
                    // Words of the topics above: from one level up a third of the time, and so on.
                    while let Some(parent) = self.topics[topic].parent
                        && stream.chance(0.33)
                    {
                        topic = parent;
                    }
                    let (terms, alias) = &self.preferred[topic];
                    terms[alias.draw(stream)] as usize
                } else {
                    self.background.draw(stream)
                };
                Cow::Borrowed(&*self.terms[term])
            };
            tokens.push(token);
        }
        tokens
    }

    /// The topics that a document is about, how many they are, and these with all their ancestors as a set of bits.
    fn labels(&self, stream: &mut Stream) -> ([usize; FURTHER.len()], usize, u128) {
        let count = 1 + self.further.draw(stream);
        let mut chosen = [0; FURTHER.len()];
        chosen[0] = self.main.draw(stream);
        for i in 1..count {
            chosen[i] = if stream.chance(PARTNER) {
                self.partners[chosen[0]][stream.below(PARTNERS)]
            } else {
                self.main.draw(stream)
            };
        }
        let mut listed = 0u128;
        for &topic in &chosen[..count] {
            let mut at = Some(topic);
            while let Some(t) = at {
                listed |= 1 << t;
                at = self.topics[t].parent;
            }
        }
        (chosen, count, listed)
    }
}
