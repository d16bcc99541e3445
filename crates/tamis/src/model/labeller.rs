//! Raw text to labels, one document at a time.

use std::ops::Range;

use super::{Memory, Model};
use crate::classify::{Query, Scored};
use crate::corpus::Body;
use crate::terms::{Analyzer, TEXT_FIELD};

/// A document's labels as numbers. Borrows from the labeller until the next document.
#[derive(Debug, Clone, Copy)]
pub struct Decided<'a> {
    /// All labels the classifier ranks, best first.
    pub ranked: &'a [Scored],
    /// The labels it gets, ascending by number.
    pub decided: &'a [u32],
    /// Whether the document has a word that the model knows.
    pub known: bool,
}

/// Raw text to labels, one document at a time. It reuses its memory from document to document, and remembers every spelling it
/// has seen, up to a bound; what it remembers goes back to the model when it is dropped, for the next labeller.
pub struct Labeller<'m> {
    model: &'m Model,
    /// None only while it is dropped.
    desk: Option<Desk>,
}

/// What a labeller works with.
pub(super) struct Desk {
    analyzer: Analyzer,
    /// Feature of each term the analyzer numbered; the number of features for a term that is not selected.
    feature_of_unit: Vec<u32>,
    /// The terms of the current document, and those that come with a count.
    units: Vec<u32>,
    counted: Vec<(u32, u32)>,
    /// Occurrences of each feature in the current document, and one place more; zero between documents.
    dense: Vec<u32>,
    features: Vec<u32>,
    counts: Vec<u32>,
    length: u32,
    memory: Memory,
    ranked: Vec<Scored>,
    decided: Vec<u32>,
}

/// Spellings remembered before a labeller starts afresh: streams of any length take constant memory.
const REMEMBERED_BYTES: usize = 64 << 20;

impl Desk {
    fn new(model: &Model) -> Self {
        Self {
            analyzer: Analyzer::new(&model.text).expect("the model's own text options made one when it was checked"),
            feature_of_unit: Vec::new(),
            units: Vec::new(),
            counted: Vec::new(),
            dense: vec![0; model.terms.len() + 1],
            features: Vec::new(),
            counts: Vec::new(),
            length: 0,
            memory: Memory::default(),
            ranked: Vec::new(),
            decided: Vec::new(),
        }
    }

    /// Turns a body into features.
    fn read(&mut self, model: &Model, body: &Body<'_>) {
        self.forget_when_full();
        let Self { analyzer, units, counted, .. } = self;
        units.clear();
        counted.clear();
        let mut length = 0u32;
        analyzer.analyze(body, |unit, count| {
            length = length.saturating_add(count);
            if count == 1 {
                units.push(unit);
            } else {
                counted.push((unit, count));
            }
        });
        self.length = length;
        self.number_units(model);
        let Self { units, counted, feature_of_unit, dense, features, counts, .. } = self;
        features.clear();
        features.resize(units.len() + counted.len(), 0);
        // Every word is written, only a new one moves on: whether a word is new, or selected, is hard to guess.
        // Words not selected are counted in the last place, which no feature has.
        let mut distinct = 0;
        let mut add = |unit: u32, count: u32| {
            let feature = feature_of_unit[unit as usize];
            let seen = &mut dense[feature as usize];
            features[distinct] = feature;
            distinct += usize::from(*seen == 0);
            *seen = seen.saturating_add(count);
        };
        units.iter().for_each(|&unit| add(unit, 1));
        counted.iter().filter(|(_, count)| *count > 0).for_each(|&(unit, count)| add(unit, count));
        features.truncate(distinct);
        let not_selected = dense.len() as u32 - 1;
        if std::mem::take(&mut dense[not_selected as usize]) > 0
            && let Some(at) = features.iter().position(|&f| f == not_selected)
        {
            features.swap_remove(at);
        }
        features.sort_unstable();
        counts.clear();
        counts.extend(features.iter().map(|&f| std::mem::take(&mut dense[f as usize])));
    }

    fn forget_when_full(&mut self) {
        if self.analyzer.heap_bytes() > REMEMBERED_BYTES {
            self.analyzer.clear();
            self.feature_of_unit.clear();
        }
    }

    /// Looks up the features of the terms seen for the first time.
    fn number_units(&mut self, model: &Model) {
        let not_selected = model.terms.len() as u32;
        let mut name = String::new();
        for unit in self.feature_of_unit.len()..self.analyzer.terms() {
            name.clear();
            self.analyzer.write_term(unit as u32, &mut name);
            let term = model.terms.id(&name);
            self.feature_of_unit.push(term.map_or(not_selected, |t| model.feature_of[t as usize]));
        }
    }

    fn query(&self) -> Query<'_> {
        Query { features: &self.features, counts: &self.counts, length: self.length }
    }
}

impl<'m> Labeller<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        Self { model, desk: Some(model.idle_desk().unwrap_or_else(|| Desk::new(model))) }
    }

    fn desk(&mut self) -> &mut Desk {
        self.desk.as_mut().expect("a labeller has its desk until it is dropped")
    }

    /// The model it labels with.
    pub fn model(&self) -> &'m Model {
        self.model
    }

    /// Every occurrence of a feature in a text, block by block in the order of the text: which bytes, which feature.
    pub fn places(&mut self, text: &str) -> Vec<(Range<usize>, u32)> {
        self.places_in(TEXT_FIELD, text)
    }

    /// The same in the text of a field.
    pub fn places_in(&mut self, field: &str, text: &str) -> Vec<(Range<usize>, u32)> {
        let model = self.model;
        let desk = self.desk();
        desk.forget_when_full();
        let mut units: Vec<(Range<usize>, u32)> = Vec::new();
        desk.analyzer.places_in(field, text, |range, unit| units.push((range, unit)));
        desk.number_units(model);
        units.iter_mut().for_each(|(_, unit)| *unit = desk.feature_of_unit[*unit as usize]);
        units.retain(|&(_, feature)| (feature as usize) < model.terms.len());
        units
    }

    /// The document labelled last, as the classifier sees it.
    pub fn query(&self) -> Query<'_> {
        self.desk.as_ref().expect("a labeller has its desk until it is dropped").query()
    }

    /// Turns a document into features, and no more.
    pub(super) fn read(&mut self, body: &Body<'_>) {
        let model = self.model;
        self.desk().read(model, body);
    }

    /// Ranks and decides the labels of a document.
    pub fn label(&mut self, body: &Body<'_>) -> Decided<'_> {
        let model = self.model;
        let desk = self.desk();
        desk.read(model, body);
        let Desk { features, counts, length, memory, ranked, decided, .. } = desk;
        model.rank_and_decide(Query { features, counts, length: *length }, memory, ranked, decided);
        Decided { ranked, decided, known: !features.is_empty() }
    }
}

impl Drop for Labeller<'_> {
    fn drop(&mut self) {
        // What a panic left half done is not for the next one.
        if let Some(desk) = self.desk.take().filter(|_| !std::thread::panicking()) {
            self.model.put_back(desk);
        }
    }
}
