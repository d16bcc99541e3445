//! Words, and n-grams of words that follow each other.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::TextOptions;
use super::block::Digits;
use super::scripts::Piece;
use super::shape::Shaper;
use super::word_table::{Vacant, WordTable};
use crate::Result;
use crate::counts::Interner;

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
    chains: FxHashMap<(u32, u32), u32>,
    units: Interner,
    /// The term of each of `units`, or `DROPPED` for one that is too short.
    term_of: Vec<u32>,
    /// The last n-grams of each length, ending at the previous word, and where their words began, the latest first.
    tails: Vec<u32>,
    grown: Vec<u32>,
    begins: Vec<usize>,
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
            chains: FxHashMap::default(),
            units: Interner::default(),
            term_of: Vec::new(),
            tails: Vec::new(),
            grown: Vec::new(),
            begins: Vec::new(),
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
    pub(super) fn text(&mut self, terms: &mut Interner, text: &str, visit: &mut impl FnMut(u32)) {
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

    /// The same, with the bytes that each term was made of: an n-gram spans from its first word to its last.
    pub(super) fn places(&mut self, terms: &mut Interner, text: &str, visit: &mut impl FnMut(Range<usize>, u32)) {
        self.begin();
        let (words, range) = (self.shaper.block.words, self.shaper.block.range);
        words.pieces(text, range, |start, end, piece| match piece {
            Piece::Word => self.word(terms, &text[start..end], start..end, visit),
            Piece::Part => self.part(terms, &text[start..end], start..end, visit),
        });
    }

    /// Hands the terms of ready tokens to `visit`.
    pub(super) fn tokens<'t>(
        &mut self,
        terms: &mut Interner,
        tokens: impl Iterator<Item = &'t str>,
        visit: &mut impl FnMut(u32),
    ) {
        self.begin();
        for token in tokens.filter(|t| !t.is_empty()) {
            self.word(terms, token, 0..0, &mut |_, term| visit(term));
        }
    }

    /// N-grams do not reach over the beginning of a text.
    fn begin(&mut self) {
        self.tails.clear();
        self.begins.clear();
    }

    /// Decides about a spelling that was not seen before, and remembers.
    #[cold]
    #[inline(never)]
    fn new_word(&mut self, terms: &mut Interner, word: &str, mut vacant: Vacant) -> u32 {
        let Self { shaper, raw, form, plain, units, term_of, .. } = self;
        let mark = self.mark;
        let fresh = |terms: &mut Interner, term: &str| match mark {
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
            Some(term) => unit(terms, units, term_of, mark, shaper.block.range.0, 1, term),
        };
        raw.store(vacant, word, decided);
        decided
    }

    fn word(
        &mut self,
        terms: &mut Interner,
        word: &str,
        place: Range<usize>,
        visit: &mut impl FnMut(Range<usize>, u32),
    ) {
        let decided = match self.raw.find(word.as_bytes(), 0, word.len()) {
            Ok(decided) => decided,
            Err(vacant) => self.new_word(terms, word, vacant),
        };
        if decided == DROPPED {
            return;
        }
        let Self { shaper, mark, chains, units, term_of, tails, grown, begins, .. } = self;
        let (low, high) = shaper.block.range;
        begins.insert(0, place.start);
        begins.truncate(high);
        // tails[k] is the (k+1)-gram that ended at the previous word; each grows by this word.
        grown.clear();
        grown.push(decided);
        for &tail in tails.iter().take(high - 1) {
            let length = grown.len() + 1;
            let longer = *chains.entry((tail, decided)).or_insert_with(|| {
                let names = if low == 1 { &*terms } else { &*units };
                let gram =
                    format!("{} {}", plain_name(names, tail, *mark, low), plain_name(names, decided, *mark, low));
                unit(terms, units, term_of, *mark, low, length, &gram)
            });
            grown.push(longer);
        }
        for (at, &unit) in grown.iter().enumerate() {
            let term = if low == 1 { unit } else { term_of[unit as usize] };
            if term != DROPPED {
                visit(begins[at]..place.end, term);
            }
        }
        std::mem::swap(tails, grown);
    }

    /// A few characters of a script without blanks: they are n-grams already, and those of words end here.
    fn part(
        &mut self,
        terms: &mut Interner,
        part: &str,
        place: Range<usize>,
        visit: &mut impl FnMut(Range<usize>, u32),
    ) {
        if self.shaper.block.range == (1, 1) {
            return self.word(terms, part, place, visit);
        }
        self.begin();
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
            + self.chains.capacity() * 13
    }
}

/// The name of a unit, without the mark of its block.
fn plain_name(names: &Interner, unit: u32, mark: Option<char>, low: usize) -> &str {
    let name = names.name(unit);
    // Marks have one byte.
    if mark.is_some() && low == 1 { &name[1..] } else { name }
}

/// The unit of an n-gram of this many words.
fn unit(
    terms: &mut Interner,
    units: &mut Interner,
    term_of: &mut Vec<u32>,
    mark: Option<char>,
    low: usize,
    length: usize,
    gram: &str,
) -> u32 {
    let mut term = || match mark {
        None => terms.intern(gram),
        Some(mark) => terms.intern(&format!("{mark}{gram}")),
    };
    if low == 1 {
        return term();
    }
    let unit = units.intern(gram);
    if unit as usize == term_of.len() {
        term_of.push(if length < low { DROPPED } else { term() });
    }
    unit
}
