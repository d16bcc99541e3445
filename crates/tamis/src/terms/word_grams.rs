//! Words, and n-grams of words that follow each other.

use std::ops::Range;

use super::TextOptions;
use super::block::Digits;
use super::chains::Chains;
use super::scripts::Piece;
use super::shape::Shaper;
use super::word_table::{Vacant, WordTable};
use crate::Result;
use crate::counts::Lexicon;

/// A raw word that gives no term.
const DROPPED: u32 = u32::MAX;

/// Reads one block of words.
///
/// Case, Unicode form, length, digits, stop words and stemming are decided when a spelling is first seen and remembered, so a
/// token costs one look-up.
pub(super) struct WordGrams {
    shaper: Shaper,
    mark: Option<char>,
    /// Raw word → its unit, or `DROPPED`.
    raw: WordTable,
    /// With n-grams: characters and pairs of scripts without blanks → term.
    parts: WordTable,
    /// (unit of the first words, next word) → unit of the longer n-gram. A unit is a term, but for n-grams that begin above one
    /// word: there it is a number of `units`, for shorter ones are needed and are no terms.
    chains: Chains,
    units: Lexicon,
    /// The term of each of `units`, or `DROPPED` for one that is too short.
    term_of: Vec<u32>,
    /// The units of a text's words, with `DROPPED` where n-grams do not reach over.
    words: Vec<u32>,
    /// Where each of them is.
    spots: Vec<Range<usize>>,
    /// The n-grams of one length that end at each word, and those one word longer.
    tails: Vec<u32>,
    grown: Vec<u32>,
    /// Where a word takes its final form.
    form: String,
    /// Whether an ASCII spelling that was not seen before is a term that was not seen before: then nobody has to look.
    plain: bool,
}

impl WordGrams {
    pub(super) fn new(options: &TextOptions, at: usize) -> Result<Self> {
        let shaper = Shaper::new(options, &options.blocks()[at])?;
        let mut new = Self {
            raw: WordTable::new(shaper.block.lowercase),
            parts: WordTable::new(shaper.block.lowercase),
            mark: options.mark(at),
            chains: Chains::default(),
            units: Lexicon::default(),
            term_of: Vec::new(),
            words: Vec::new(),
            spots: Vec::new(),
            tails: Vec::new(),
            grown: Vec::new(),
            form: String::new(),
            plain: false,
            shaper,
        };
        new.plain = new.is_plain();
        Ok(new)
    }

    /// Whether two ASCII words are one term only if they differ in nothing but case, and terms are made of nothing but words.
    fn is_plain(&self) -> bool {
        let block = &self.shaper.block;
        block.stem.is_none() && block.digits != Digits::Fold && block.range == (1, 1)
    }

    /// Terms came from elsewhere, that are not in the table of words.
    pub(super) fn not_alone(&mut self) {
        self.plain = false;
    }

    /// Hands the terms of a text to `visit`.
    #[inline]
    pub(super) fn text(&mut self, terms: &mut Lexicon, text: &str, visit: &mut impl FnMut(u32)) {
        if self.shaper.block.range == (1, 1) {
            // The common case, kept free of branches that it does not need.
            let words = self.shaper.block.words;
            words.spans(text, |start, end| {
                let term = match self.raw.find(text.as_bytes(), start, end) {
                    Ok(term) => term,
                    Err(vacant) => self.new_word(terms, &text[start..end], vacant),
                };
                if term != DROPPED {
                    visit(term);
                }
            });
        } else {
            self.places(terms, text, &mut |_, term| visit(term));
        }
    }

    /// The same, with the bytes that each term was made of: an n-gram spans from its first word to its last. Shorter n-grams come
    /// first.
    pub(super) fn places(&mut self, terms: &mut Lexicon, text: &str, visit: &mut impl FnMut(Range<usize>, u32)) {
        self.begin();
        let (words, range) = (self.shaper.block.words, self.shaper.block.range);
        words.pieces(text, range, |start, end, piece| match piece {
            Piece::Word => self.word(terms, &text[start..end], start..end, visit),
            Piece::Part => self.part(terms, &text[start..end], start..end, visit),
        });
        self.grams(terms, visit);
    }

    /// Hands the terms of ready tokens to `visit`.
    pub(super) fn tokens<'t>(
        &mut self,
        terms: &mut Lexicon,
        tokens: impl Iterator<Item = &'t str>,
        visit: &mut impl FnMut(u32),
    ) {
        self.begin();
        let visit = &mut |_, term| visit(term);
        for token in tokens.filter(|t| !t.is_empty()) {
            self.word(terms, token, 0..0, visit);
        }
        self.grams(terms, visit);
    }

    /// N-grams do not reach over the beginning of a text.
    fn begin(&mut self) {
        self.words.clear();
        self.spots.clear();
    }

    /// Decides about a spelling that was not seen before, and remembers.
    #[cold]
    #[inline(never)]
    fn new_word(&mut self, terms: &mut Lexicon, word: &str, mut vacant: Vacant) -> u32 {
        let Self { shaper, raw, form, plain, units, term_of, .. } = self;
        let mark = self.mark;
        let fresh = |terms: &mut Lexicon, term: &str| match mark {
            None => terms.push_new(term),
            Some(mark) => terms.push_new(&format!("{mark}{term}")),
        };
        let decided = match shaper.shape(word, form) {
            None => DROPPED,
            Some(term) if *plain && word.is_ascii() => fresh(terms, term),
            Some(term) if *plain && term.is_ascii() => {
                // Letters beyond ASCII may have a form within (full-width ones, the sign of Kelvin): the word may be known.
                let known = raw.find(term.as_bytes(), 0, term.len());
                let known = known.unwrap_or_else(|vacant| {
                    let new = fresh(terms, term);
                    raw.store(vacant, term, new);
                    new
                });
                if let Err(moved) = raw.find(word.as_bytes(), 0, word.len()) {
                    vacant = moved;
                }
                known
            }
            // Where n-grams are longer than a word, words are units and no terms.
            Some(term) if shaper.block.range.0 > 1 => {
                let unit = units.intern(term);
                if unit as usize == term_of.len() {
                    term_of.push(DROPPED);
                }
                unit
            }
            Some(term) => match mark {
                None => terms.intern(term),
                Some(mark) => terms.intern(&format!("{mark}{term}")),
            },
        };
        raw.store(vacant, word, decided);
        decided
    }

    fn word(
        &mut self,
        terms: &mut Lexicon,
        word: &str,
        place: Range<usize>,
        visit: &mut impl FnMut(Range<usize>, u32),
    ) {
        let unit = match self.raw.find(word.as_bytes(), 0, word.len()) {
            Ok(unit) => unit,
            Err(vacant) => self.new_word(terms, word, vacant),
        };
        if unit == DROPPED {
            return;
        }
        let (low, high) = self.shaper.block.range;
        if low == 1 {
            visit(place.clone(), unit);
        }
        if high > 1 {
            self.words.push(unit);
            self.spots.push(place);
        }
    }

    /// Hands the n-grams of the words so far to `visit`, length by length: each grows by the word that follows it.
    fn grams(&mut self, terms: &mut Lexicon, visit: &mut impl FnMut(Range<usize>, u32)) {
        let Self { shaper, mark, chains, units, term_of, words, spots, tails, grown, .. } = self;
        let (low, high) = shaper.block.range;
        let marked = mark.is_some();
        tails.clear();
        tails.extend_from_slice(words);
        for length in 2..=high.min(words.len()) {
            // The last of `tails` has no word behind it, and the first word no n-gram before it.
            grown.clear();
            grown.extend_from_slice(words);
            grown[0] = DROPPED;
            chains.grow(&tails[..words.len() - 1], &mut grown[1..], DROPPED, |from, word| {
                if low == 1 {
                    return terms.grow(from, word, marked);
                }
                let unit = units.grow(from, word, false);
                term_of.push(if length < low { DROPPED } else { spelled(terms, units, unit, *mark) });
                unit
            });
            for (at, &unit) in grown.iter().enumerate().skip(length - 1).filter(|(_, unit)| **unit != DROPPED) {
                let term = if low == 1 { unit } else { term_of[unit as usize] };
                if term != DROPPED {
                    visit(spots[at + 1 - length].start..spots[at].end, term);
                }
            }
            std::mem::swap(tails, grown);
        }
    }

    /// A few characters of a script without blanks: they are n-grams already, and those of words end here.
    fn part(
        &mut self,
        terms: &mut Lexicon,
        part: &str,
        place: Range<usize>,
        visit: &mut impl FnMut(Range<usize>, u32),
    ) {
        if self.shaper.block.range == (1, 1) {
            return self.word(terms, part, place, visit);
        }
        self.words.push(DROPPED);
        self.spots.push(place.clone());
        let term = match self.parts.find(part.as_bytes(), 0, part.len()) {
            Ok(term) => term,
            Err(vacant) => {
                let term = match (self.shaper.shape(part, &mut self.form), self.mark) {
                    (None, _) => DROPPED,
                    (Some(term), None) => terms.intern(term),
                    (Some(term), Some(mark)) => terms.intern(&format!("{mark}{term}")),
                };
                self.parts.store(vacant, part, term);
                term
            }
        };
        if term != DROPPED {
            visit(place, term);
        }
    }

    pub(super) fn clear(&mut self) {
        self.raw.clear();
        self.parts.clear();
        self.chains.clear();
        self.units.clear();
        self.term_of.clear();
        self.plain = self.is_plain();
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.raw.heap_bytes()
            + self.parts.heap_bytes()
            + self.units.heap_bytes()
            + self.term_of.capacity() * 4
            + self.chains.heap_bytes()
    }
}

/// The term of a unit.
fn spelled(terms: &mut Lexicon, units: &Lexicon, unit: u32, mark: Option<char>) -> u32 {
    let mut name: String = mark.into_iter().collect();
    units.write(unit, &mut name);
    terms.intern(&name)
}
