//! N-grams of characters within the words or runs of a text.

use std::ops::Range;

use super::Words;
use super::points::Points;
use super::scripts;
use super::shape::Shaper;
use super::word_table::{UNSURE, WordTable};
use crate::Result;
use crate::counts::Lexicon;
use crate::terms::TextOptions;

/// Runs of up to so many bytes are remembered with their n-grams; longer ones hardly ever come again.
const REMEMBERED: usize = 24;

/// A run that gives no term.
const DROPPED: u32 = u32::MAX;

/// Reads one block of characters.
pub(super) struct Characters {
    shaper: Shaper,
    mark: Option<char>,
    points: Option<Points>,
    /// Short run → its place in `grams`.
    runs: WordTable,
    grams: Vec<Box<[u32]>>,
    /// N-gram → term.
    known: WordTable,
    form: String,
    /// The form between blanks, and where its characters begin.
    padded: String,
    begins: Vec<usize>,
}

impl Characters {
    pub(super) fn new(options: &TextOptions, at: usize) -> Result<Self> {
        let shaper = Shaper::new(options, &options.blocks()[at])?;
        Ok(Self {
            runs: WordTable::new(shaper.block.lowercase),
            known: WordTable::new(false),
            grams: Vec::new(),
            mark: options.mark(at),
            points: Points::new(&shaper, options.mark(at)),
            form: String::new(),
            padded: String::new(),
            begins: Vec::new(),
            shaper,
        })
    }

    /// Hands the terms of a text to `visit`.
    pub(super) fn text(&mut self, terms: &mut Lexicon, text: &str, visit: &mut impl FnMut(u32)) {
        self.shaper.block.words.runs(text, |start, end| self.run(terms, &text[start..end], visit));
    }

    /// Hands the terms of a word or run to `visit`.
    pub(super) fn run(&mut self, terms: &mut Lexicon, raw: &str, visit: &mut impl FnMut(u32)) {
        // Between blanks stand words, which come again; where none are, whole clauses.
        if raw.len() > REMEMBERED || self.points.is_some() && raw.starts_with(scripts::is_dense) {
            return self.each(terms, raw, |term, _, _| visit(term));
        }
        let at = match self.runs.find(raw.as_bytes(), 0, raw.len()) {
            Ok(at) => at,
            Err(vacant) => {
                let mut found = Vec::new();
                self.each(terms, raw, |term, _, _| found.push(term));
                let at = if found.is_empty() { DROPPED } else { self.grams.len() as u32 };
                if !found.is_empty() {
                    self.grams.push(found.into());
                }
                self.runs.store(vacant, raw, at);
                at
            }
        };
        if at != DROPPED {
            self.grams[at as usize].iter().for_each(|&term| visit(term));
        }
    }

    /// The same as [`Characters::text`], with the bytes that each n-gram was made of.
    pub(super) fn places(&mut self, terms: &mut Lexicon, text: &str, visit: &mut impl FnMut(Range<usize>, u32)) {
        self.shaper.block.words.runs(text, |start, end| {
            let raw = &text[start..end];
            let mut found = Vec::new();
            self.spelled(terms, raw, |term, from, to| found.push((term, from, to)));
            if found.is_empty() {
                return;
            }
            let origins = self.shaper.origins(raw, &self.form);
            // The blanks around a run are not in the text.
            let around = usize::from(self.shaper.block.words != Words::Text);
            for (term, from, to) in found {
                let first = from.saturating_sub(around).min(origins.len() - 1);
                let last = (to - 1).saturating_sub(around).min(origins.len() - 1);
                let range = origins[first].start.min(origins[last].start)..origins[last].end.max(origins[first].end);
                visit(start + range.start..start + range.end, term);
            }
        });
    }

    /// Hands every n-gram to `visit`, shorter first, left to right: its term, its first character, the one after its last,
    /// counted in the form between blanks.
    fn each(&mut self, terms: &mut Lexicon, raw: &str, visit: impl FnMut(u32, usize, usize)) {
        if let Some(points) = &mut self.points
            && points.read(&self.shaper, raw)
        {
            return points.each(self.shaper.block.range, terms, visit);
        }
        self.spelled(terms, raw, visit);
    }

    /// The same for runs of any characters.
    fn spelled(&mut self, terms: &mut Lexicon, raw: &str, mut visit: impl FnMut(u32, usize, usize)) {
        let Self { shaper, mark, known, form, padded, begins, .. } = self;
        let Some(shaped) = shaper.shape(raw, form) else { return };
        let around = if shaper.block.words == Words::Text { "" } else { " " };
        padded.clear();
        for part in [around, shaped, around] {
            padded.push_str(part);
        }
        begins.clear();
        begins.extend(padded.char_indices().map(|(at, _)| at));
        begins.push(padded.len());
        let length = begins.len() - 1;
        let (low, high) = shaper.block.range;
        for n in low..=high.min(length) {
            for first in (0..=length - n).step_by(8) {
                let group = first..(length - n + 1).min(first + 8);
                let spans = group.clone().map(|at| (begins[at], begins[at + n]));
                let found = known.find_together(padded.as_bytes(), spans);
                for (at, found) in group.zip(found) {
                    let (start, end) = (begins[at], begins[at + n]);
                    // One of length 1 or 2 may be nothing but the blanks around.
                    if n <= 2 && padded[start..end].trim_start().is_empty() {
                        continue;
                    }
                    let term = if found == UNSURE { gram(terms, known, *mark, padded, start, end) } else { found };
                    visit(term, at, at + n);
                }
            }
        }
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
        self.known.clear();
        self.grams.clear();
        if let Some(points) = &mut self.points {
            points.clear();
        }
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let points = self.points.as_ref().map_or(0, Points::heap_bytes);
        points
            + self.runs.heap_bytes()
            + self.known.heap_bytes()
            + self.grams.iter().map(|g| g.len() * 4 + 16).sum::<usize>()
    }
}

/// The term of an n-gram that may not have been seen before.
fn gram(terms: &mut Lexicon, known: &mut WordTable, mark: Option<char>, padded: &str, start: usize, end: usize) -> u32 {
    known.find(padded.as_bytes(), start, end).unwrap_or_else(|vacant| {
        let gram = &padded[start..end];
        let term = match mark {
            None => terms.intern(gram),
            Some(mark) => terms.intern(&format!("{mark}{gram}")),
        };
        known.store(vacant, gram, term);
        term
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Letters that fold, join, part, expand or look around, beside any others.
    fn text() -> impl Strategy<Value = String> {
        let odd = "ΣσİıßŒＡｶﾞ각ᄀ\u{1161}e\u{301}\u{3099}か\u{202f}\u{3000}\n  手机ﬁ㍿ﷺ² Å\u{0}";
        let odd: Vec<char> = odd.chars().collect();
        let c = prop_oneof![3 => prop::sample::select(odd), 1 => any::<char>(), 2 => proptest::char::range('\u{4e00}', '\u{4e10}'), 1 => proptest::char::range('a', 'f')];
        prop::collection::vec(c, 0..40).prop_map(|chars| chars.into_iter().collect())
    }

    proptest! {
        /// By code points or by spelling, the terms are the same.
        #[test]
        fn points_are_spellings(
            text in text(),
            kind in prop::sample::select(vec!["scripts", "text", "blanks", "unicode"]),
            form in prop::sample::select(vec!["nfc", "nfkc"]),
            case in prop::sample::select(vec!["keep", "fold"]),
            range in prop::sample::select(vec!["1", "2", "1-2", "1-3", "2-3"]),
        ) {
            let options: TextOptions = format!("chars({range},kind={kind},form={form},case={case})").parse().unwrap();
            let (mut terms, mut characters) = (Lexicon::default(), Characters::new(&options, 0).unwrap());
            prop_assert!(characters.points.is_some());
            let words = characters.shaper.block.words;
            words.runs(&text, |start, end| {
                let (mut found, mut spelled) = (Vec::new(), Vec::new());
                characters.each(&mut terms, &text[start..end], |term, from, to| found.push((term, from, to)));
                characters.spelled(&mut terms, &text[start..end], |term, from, to| spelled.push((term, from, to)));
                assert_eq!(found, spelled);
            });
        }
    }
}
