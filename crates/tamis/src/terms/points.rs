//! Short n-grams of characters by their code points.
//!
//! Where each character has its form by itself, as in Chinese, a run is a row of numbers, and nothing is spelled or hashed byte
//! by byte until an n-gram is new.

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfkc_quick};

use super::Words;
use super::block::Digits;
use super::chains::Chains;
use super::shape::Shaper;
use crate::counts::Lexicon;

/// Not looked at yet.
const UNKNOWN: u32 = u32::MAX;
/// A character whose form depends on its neighbours, or is none or several.
const TOGETHER: u32 = u32::MAX - 1;

const BLANK: u32 = ' ' as u32;

/// Reads runs whose characters have their form by themselves.
pub(super) struct Points {
    mark: Option<char>,
    /// The form of each character, by its code point.
    forms: Vec<u32>,
    /// The term of each single character, by the code point of its form.
    singles: Vec<u32>,
    /// (first, second character) → term, and (term of two, third character) → term.
    longer: [Chains; 2],
    /// The forms of the run, between blanks.
    run: Vec<u32>,
    /// The n-gram that begins at each of them, and the same one character longer.
    grams: Vec<u32>,
    next: Vec<u32>,
    name: String,
}

impl Points {
    /// `None` where the options look at whole words, or n-grams have more than three characters: of those most beginnings would
    /// be kept for nothing else.
    pub(super) fn new(shaper: &Shaper, mark: Option<char>) -> Option<Self> {
        let (low, high) = shaper.block.range;
        let fits = low <= 2 && high <= 3 && shaper.block.digits == Digits::Keep && !shaper.looks_at_words();
        fits.then(|| Self {
            mark,
            forms: Vec::new(),
            singles: Vec::new(),
            longer: [Chains::default(), Chains::default()],
            run: Vec::new(),
            grams: Vec::new(),
            next: Vec::new(),
            name: String::new(),
        })
    }

    /// Reads a run; says whether all its characters have their form by themselves, and it is neither too long nor too short.
    pub(super) fn read(&mut self, shaper: &Shaper, raw: &str) -> bool {
        let around = (shaper.block.words != Words::Text).then_some(BLANK);
        self.run.clear();
        self.run.extend(around);
        let mut length = 0;
        for c in raw.chars() {
            let form = match self.forms.get(c as usize) {
                Some(&form) if form != UNKNOWN => form,
                _ => self.look_up(shaper, c),
            };
            if form == TOGETHER {
                return false;
            }
            length += 1;
            // Of blanks that stand together one is left.
            if form != BLANK || self.run.last() != Some(&BLANK) {
                self.run.push(form);
            }
        }
        self.run.extend(around);
        (shaper.block.min_length..=shaper.block.max_length).contains(&length)
    }

    #[cold]
    fn look_up(&mut self, shaper: &Shaper, c: char) -> u32 {
        if self.forms.len() <= c as usize {
            self.forms.resize((c as usize + 1).next_power_of_two(), UNKNOWN);
        }
        let form = alone(shaper, c).map_or(TOGETHER, u32::from);
        self.forms[c as usize] = form;
        form
    }

    /// Hands every n-gram of the run that was read to `visit`, shorter first, left to right: its term, its first character, the
    /// one after its last.
    pub(super) fn each(
        &mut self,
        (low, high): (usize, usize),
        terms: &mut Lexicon,
        mut visit: impl FnMut(u32, usize, usize),
    ) {
        let Self { mark, singles, longer, run, grams, next, name, .. } = self;
        let mut spell = |terms: &mut Lexicon, from: Option<u32>, points: &[u32]| {
            name.clear();
            match from {
                None => name.extend(*mark),
                Some(from) => terms.write(from, name),
            }
            name.extend(points.iter().copied().filter_map(char::from_u32));
            terms.intern(name)
        };
        if low == 1 {
            for (at, &point) in run.iter().enumerate().filter(|(_, point)| **point != BLANK) {
                if singles.len() <= point as usize {
                    singles.resize((point as usize + 1).next_power_of_two(), UNKNOWN);
                }
                let single = &mut singles[point as usize];
                if *single == UNKNOWN {
                    *single = spell(terms, None, &[point]);
                }
                visit(*single, at, at + 1);
            }
        }
        grams.clear();
        grams.extend_from_slice(run);
        for (chains, n) in longer.iter_mut().zip(2..=high.min(run.len())) {
            next.clear();
            next.extend_from_slice(&run[n - 1..]);
            chains.grow(&grams[..next.len()], next, UNKNOWN, |from, last| match n {
                2 => spell(terms, None, &[from, last]),
                _ => spell(terms, Some(from), &[last]),
            });
            for (at, &term) in next.iter().enumerate() {
                visit(term, at, at + n);
            }
            std::mem::swap(grams, next);
        }
    }

    /// Forgets everything.
    pub(super) fn clear(&mut self) {
        self.singles.clear();
        self.longer.iter_mut().for_each(Chains::clear);
    }

    /// Bytes held on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        let numbers = self.forms.capacity() + self.singles.capacity();
        numbers * 4 + self.longer.iter().map(Chains::heap_bytes).sum::<usize>()
    }
}

/// The form of a character where it is one character whatever stands beside it. Such forms do not join what is before them
/// (UAX 15, concatenation), and of the lower case only the final sigma looks around.
fn alone(shaper: &Shaper, c: char) -> Option<char> {
    // A sign that stands for a phrase changes the form of the whole run; see `Shaper::normal`.
    if shaper.block.words != Words::Text && std::iter::once(c).nfkc().any(char::is_whitespace) {
        return None;
    }
    let mut form = String::new();
    let mut bytes = [0; 4];
    let raw = c.encode_utf8(&mut bytes);
    let mut only = |lower: bool| {
        shaper.normal(raw, lower, &mut form);
        let mut chars = form.chars();
        chars.next().filter(|_| chars.next().is_none())
    };
    let upright = only(false)?;
    let starts =
        canonical_combining_class(upright) == 0 && is_nfkc_quick(std::iter::once(upright)) != IsNormalized::Maybe;
    if !starts || upright == 'Σ' {
        return None;
    }
    let form = if shaper.block.lowercase { only(true)? } else { upright };
    match (form.is_whitespace(), shaper.block.words) {
        (false, _) => Some(form),
        (true, Words::Text) => Some(' '),
        (true, _) => None,
    }
}
