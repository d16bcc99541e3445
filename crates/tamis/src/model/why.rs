//! Why: which words speak for a label, in a document and in the whole model, and what is known about a label.

use super::{Labeller, Model, Ranker};
use crate::classify::{Classifier, Fitted, Query, Scratch, Similarity};
use crate::threshold::{CurvePoint, ThresholdCurve};
use crate::{Error, Result};

/// What a word of a document adds to a label's score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WordShare {
    /// Feature number.
    pub feature: u32,
    /// How often the document has it.
    pub count: u32,
    /// What all its occurrences add together; below 0 when they speak against the label.
    pub adds: f64,
}

/// What a training document adds to a label's score, for neighbours.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Neighbour {
    /// Row of the training document, from 0.
    pub document: u32,
    /// Its share of the score.
    pub adds: f64,
}

/// Why a document has its score for a label.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Why {
    /// What the label has without any word; none for neighbours.
    pub bias: Option<f64>,
    /// Words by how much they say, most first, ties by feature number.
    pub words: Vec<WordShare>,
    /// For kNN the neighbours that carry the label, nearest first; their shares add up to the score.
    pub neighbours: Vec<Neighbour>,
}

/// The words that say most about a label, with their weights.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LabelWords {
    /// Words that speak for it, most first.
    pub for_it: Vec<(u32, f64)>,
    /// Words that speak against it, most first; weights are below 0.
    pub against: Vec<(u32, f64)>,
}

impl LabelWords {
    /// Both together by how much they say, at most so many.
    pub fn largest(self, top: usize) -> Vec<(u32, f64)> {
        let mut all = self.for_it;
        all.extend(self.against);
        all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
        all.truncate(top);
        all
    }
}

/// What is known about a label.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelFacts<'m> {
    /// Label number.
    pub label: u32,
    /// Its name in data.
    pub id: &'m str,
    /// Its name for people, where a taxonomy gives another one.
    pub name: &'m str,
    /// Training documents that carry it; along a taxonomy also those of nodes below.
    pub documents: u32,
    /// The threshold its score must reach; along a taxonomy that of its own level. None where labels are not decided by
    /// thresholds, or this one is never assigned.
    pub threshold: Option<f64>,
    /// Precision, recall and F1 at that threshold on held-out documents; at the best one where there is none.
    pub quality: Option<CurvePoint>,
}

/// With more distinct words, leaving out one after the other would take long (kNN only).
const MOST_LEFT_OUT: usize = 256;

impl Model {
    /// The number of a label, or an error that suggests near names.
    pub fn find_label(&self, name: &str) -> Result<u32> {
        self.labels.id(name).ok_or_else(|| Error::unknown("label", name, self.labels.iter()))
    }

    /// What is known about a label; `label` is below the number of labels.
    pub fn label_facts(&self, label: u32) -> LabelFacts<'_> {
        let id = self.labels.name(label);
        let name = self.taxonomy.as_ref().and_then(|t| Some(t.name(t.node(id)?))).unwrap_or(id);
        let threshold = match &self.ranker {
            Ranker::Along(filter) => filter.tuned(label).and_then(|t| t.thresholds.last()).copied(),
            Ranker::Flat(_) => self.thresholds.of(label),
        };
        let quality = self.curve(label).and_then(|curve| match threshold {
            Some(threshold) => curve.at(threshold).copied(),
            None => curve.best,
        });
        let documents = self.summary.label_documents.get(label as usize).copied().unwrap_or(0);
        LabelFacts { label, id, name, documents, threshold, quality }
    }

    /// Precision and recall against the threshold of a label, where they were measured.
    pub fn curve(&self, label: u32) -> Option<&ThresholdCurve> {
        let at = self.curves.binary_search_by_key(&label, |curve| curve.label).ok()?;
        self.curves.get(at).filter(|curve| !curve.points.is_empty())
    }

    /// The words that say most about each of the given labels: at most `top` for and `top` against. Features are numbers;
    /// [`Model::word`] names them. An error for neighbours, which have none.
    pub fn label_words(&self, labels: &[u32], top: usize) -> Result<Vec<LabelWords>> {
        let lists: Vec<Vec<(u32, f64)>> = match &self.ranker {
            Ranker::Along(filter) => {
                labels.iter().map(|&node| largest_of_both(filter.node_weights(node), top)).collect()
            }
            Ranker::Flat(Fitted::Trees(trees)) => {
                labels.iter().map(|&label| largest_of_both(trees.label_weights(label), top)).collect()
            }
            Ranker::Flat(Fitted::Linear(linear)) => {
                let ranked = linear.parts().outputs.labels();
                let places: Vec<Option<usize>> = labels.iter().map(|l| ranked.binary_search(l).ok()).collect();
                let mut lists: Vec<Vec<(u32, f64)>> = vec![Vec::new(); labels.len()];
                for feature in 0..linear.features() as u32 {
                    let weights = linear.feature_weights(feature);
                    for (list, place) in lists.iter_mut().zip(&places) {
                        if let Some(place) = place {
                            list.push((feature, weights[*place]));
                            if list.len() >= 8 * top.max(8) {
                                *list = largest_of_both(std::mem::take(list), top);
                            }
                        }
                    }
                }
                lists.into_iter().map(|list| largest_of_both(list, top)).collect()
            }
            Ranker::Flat(Fitted::Knn { .. }) => {
                return Err(Error::data(
                    "a model of neighbours has no words of its own: give a document to see its neighbours",
                ));
            }
        };
        let apart = |list: Vec<(u32, f64)>| {
            let (for_it, against): (Vec<_>, Vec<_>) = list.into_iter().partition(|(_, weight)| *weight > 0.0);
            LabelWords { for_it, against }
        };
        Ok(lists.into_iter().map(apart).collect())
    }

    /// Why a document has its score for a label.
    pub fn why(&self, document: Query<'_>, label: u32) -> Why {
        let explanation = match &self.ranker {
            Ranker::Along(filter) => filter.explain(document, label),
            Ranker::Flat(Fitted::Linear(linear)) => linear.explain(document, label),
            Ranker::Flat(Fitted::Trees(trees)) => trees.explain(document, label),
            Ranker::Flat(Fitted::Knn { .. }) => return self.why_neighbours(document, label),
        };
        let Some(explanation) = explanation else { return Why::default() };
        let count = |feature| document.features.binary_search(&feature).map_or(0, |at| document.counts[at]);
        let share = |(feature, adds)| WordShare { feature, count: count(feature), adds };
        let mut words: Vec<WordShare> = explanation.features.into_iter().map(share).collect();
        sort(&mut words);
        Why { bias: Some(explanation.bias), words, neighbours: Vec::new() }
    }

    /// Neighbours, and for each word how far the score falls when it is left out.
    fn why_neighbours(&self, document: Query<'_>, label: u32) -> Why {
        let Ranker::Flat(Fitted::Knn { model: knn, .. }) = &self.ranker else { return Why::default() };
        let found = knn.neighbours(document);
        let total: f64 = found.iter().map(|n| n.1).sum();
        let share = |similarity: f64| match knn.options().similarity {
            Similarity::Okapi => similarity,
            Similarity::Cosine => similarity / total,
        };
        let carries = |&(row, _): &(u32, f64)| knn.labels_of(row).contains(&label);
        let neighbours: Vec<Neighbour> = found
            .into_iter()
            .filter(carries)
            .map(|(document, similarity)| Neighbour { document, adds: share(similarity) })
            .collect();
        let mut words = Vec::new();
        if document.features.len() <= MOST_LEFT_OUT {
            let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
            let mut score = |query: Query<'_>| {
                knn.rank(query, &mut scratch, &mut ranked);
                ranked.iter().find(|s| s.label == label).map_or(0.0, |s| s.score)
            };
            let whole = score(document);
            for (at, (&feature, &count)) in document.features.iter().zip(document.counts).enumerate() {
                let (mut features, mut counts) = (document.features.to_vec(), document.counts.to_vec());
                features.remove(at);
                counts.remove(at);
                let length = document.length.saturating_sub(count);
                let without = score(Query { features: &features, counts: &counts, length });
                words.push(WordShare { feature, count, adds: whole - without });
            }
            sort(&mut words);
        }
        Why { bias: None, words, neighbours }
    }
}

impl Labeller<'_> {
    /// Why the document read last has its score for a label.
    pub fn why(&self, label: u32) -> Why {
        self.model().why(self.query(), label)
    }
}

fn sort(words: &mut [WordShare]) {
    words.sort_by(|a, b| b.adds.abs().total_cmp(&a.adds.abs()).then(a.feature.cmp(&b.feature)));
}

/// The `top` largest weights and the `top` smallest below 0, each by how much they say.
fn largest_of_both(mut list: Vec<(u32, f64)>, top: usize) -> Vec<(u32, f64)> {
    // A weight of 0 speaks neither for nor against.
    list.retain(|(_, weight)| *weight != 0.0);
    list.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
    let (mut for_it, mut against) = (0, 0);
    list.retain(|(_, weight)| {
        let seen = if *weight > 0.0 { &mut for_it } else { &mut against };
        *seen += 1;
        *seen <= top
    });
    list
}
