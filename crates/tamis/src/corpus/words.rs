//! Running text → words.
//!
//! Words follow Unicode's word boundaries (UAX 29). Almost all bytes of almost all corpora are ASCII, where the
//! rules come down to one table look-up a byte; anything else goes, from the word it touches to the next blank,
//! to the full algorithm of `unicode-segmentation`.

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation;

/// What counts as a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Words {
    /// Unicode words (UAX 29): `can't`, `3.14` and `naïve` are one word each.
    #[default]
    Unicode,
    /// Runs of ASCII letters, what the regular expression `[A-Za-z]+` finds.
    Letters,
    /// Whatever stands between blanks: for text that is tokenised already.
    Blanks,
}

impl Words {
    /// All choices with their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("unicode", Self::Unicode), ("letters", Self::Letters), ("blanks", Self::Blanks)];

    /// Hands every word of `text` to `visit`, in order.
    pub fn for_each<'t>(self, text: &'t str, mut visit: impl FnMut(&'t str)) {
        self.spans(text, |start, end| visit(&text[start..end]));
    }

    /// Hands where every word of `text` starts and ends (in bytes, on boundaries of characters) to `visit`, in order.
    #[inline]
    pub(crate) fn spans(self, text: &str, mut visit: impl FnMut(usize, usize)) {
        match self {
            Self::Unicode => unicode(text, &mut visit),
            Self::Letters => letters(text, &mut visit),
            Self::Blanks => {
                let begin = text.as_ptr().addr();
                for word in text.split_whitespace() {
                    let start = word.as_ptr().addr() - begin;
                    visit(start, start + word.len());
                }
            }
        }
    }
}

/// Classes of bytes under UAX 29; the order matters: below `MID_LETTER` a byte can be part of a word by itself.
mod class {
    pub(super) const LETTER: u8 = 0;
    pub(super) const DIGIT: u8 = 1;
    pub(super) const UNDERSCORE: u8 = 2;
    /// `:` joins letters.
    pub(super) const MID_LETTER: u8 = 3;
    /// `.` and `'` join letters, and join digits.
    pub(super) const MID_BOTH: u8 = 4;
    /// `,` and `;` join digits.
    pub(super) const MID_DIGIT: u8 = 5;
    pub(super) const OTHER: u8 = 6;
    pub(super) const NOT_ASCII: u8 = 7;
}

const CLASSES: [u8; 256] = {
    let mut table = [class::OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = match byte as u8 {
            b'a'..=b'z' | b'A'..=b'Z' => class::LETTER,
            b'0'..=b'9' => class::DIGIT,
            b'_' => class::UNDERSCORE,
            b':' => class::MID_LETTER,
            b'.' | b'\'' => class::MID_BOTH,
            b',' | b';' => class::MID_DIGIT,
            0x80..=0xFF => class::NOT_ASCII,
            _ => class::OTHER,
        };
        byte += 1;
    }
    table
};

/// Which bytes of a block of 64 are of a kind, a bit for each.
///
/// Plain code on an array, which the compiler turns into vector instructions on any machine; eight flags become eight
/// bits by one multiplication. On the advisories this halves the time of looking at one byte after the other, mostly
/// because where a word ends is no longer a branch that the processor has to guess.
#[inline]
fn bits(block: &[u8; 64], kind: impl Fn(u8) -> bool) -> u64 {
    let mut flags = [0u8; 64];
    for (flag, &byte) in flags.iter_mut().zip(block) {
        *flag = u8::from(kind(byte));
    }
    let mut bits = 0;
    for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
        bits |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (at * 8);
    }
    bits
}

/// A text seen as runs of the bytes that words are made of.
struct Runs<'t, K> {
    bytes: &'t [u8],
    /// Whether a byte belongs to a run.
    kind: K,
    /// Where the block that `inside` and `high` describe begins.
    base: usize,
    inside: u64,
    /// Bytes that are not ASCII.
    high: u64,
}

impl<'t, K: Fn(u8) -> bool> Runs<'t, K> {
    #[inline]
    fn new(text: &'t str, kind: K) -> Self {
        let mut runs = Self { bytes: text.as_bytes(), kind, base: 0, inside: 0, high: 0 };
        runs.look(0);
        runs
    }

    /// Reads the block around a place.
    #[inline]
    fn look(&mut self, at: usize) {
        self.base = at & !63;
        let rest = self.bytes.get(self.base..).unwrap_or_default();
        let block = match rest.first_chunk::<64>() {
            Some(block) => *block,
            None => {
                let mut block = [0; 64];
                block[..rest.len()].copy_from_slice(rest);
                block
            }
        };
        self.inside = bits(&block, &self.kind);
        self.high = bits(&block, |byte| byte >= 0x80);
    }

    /// The first byte from `at` on that is in a run or is not ASCII; the length of the text where there is none.
    #[inline]
    fn start(&mut self, mut at: usize) -> usize {
        loop {
            if at >= self.bytes.len() {
                return self.bytes.len();
            }
            if at & !63 != self.base {
                self.look(at);
            }
            let left = (self.inside | self.high) >> (at & 63);
            if left != 0 {
                return at + left.trailing_zeros() as usize;
            }
            at = self.base + 64;
        }
    }

    /// The first byte from `at` on that is not in the run.
    #[inline]
    fn end(&mut self, mut at: usize) -> usize {
        loop {
            if at & !63 != self.base {
                self.look(at);
            }
            // A run that fills the block to its end leaves only the zeros shifted in.
            let run = (!(self.inside >> (at & 63))).trailing_zeros() as usize;
            if (at & 63) + run < 64 {
                return at + run;
            }
            at = self.base + 64;
        }
    }
}

#[inline]
fn is_letter(byte: u8) -> bool {
    (byte | 0x20).wrapping_sub(b'a') < 26
}

#[inline]
fn unicode(text: &str, visit: &mut impl FnMut(usize, usize)) {
    let bytes = text.as_bytes();
    let class_at = |at: usize| bytes.get(at).map_or(class::OTHER, |&b| CLASSES[b as usize]);
    let mut runs = Runs::new(text, |byte| is_letter(byte) | (byte.wrapping_sub(b'0') < 10) | (byte == b'_'));
    let mut at = 0;
    loop {
        let start = runs.start(at);
        if start == bytes.len() {
            return;
        }
        if bytes[start] >= 0x80 {
            // A mark joins the character before it, punctuation included (WB4), so the full algorithm starts there;
            // what lies before `at` was dealt with.
            at = slow(text, start.saturating_sub(1), visit);
            continue;
        }
        let mut end = runs.end(start + 1);
        let not_ascii = loop {
            let next = class_at(end);
            if next == class::OTHER {
                break false;
            }
            if next == class::NOT_ASCII {
                break true;
            }
            let last = class_at(end - 1);
            let after = class_at(end + 1);
            if last == class::UNDERSCORE {
                break false;
            }
            if after == class::NOT_ASCII {
                break true;
            }
            let joins = match next {
                class::MID_LETTER => last == class::LETTER,
                class::MID_DIGIT => last == class::DIGIT,
                _ => true,
            };
            if !(joins && after == last) {
                break false;
            }
            end = runs.end(end + 2);
        };
        if not_ascii {
            at = slow(text, start, visit);
        } else {
            at = end;
            // Underscores alone are not a word.
            if bytes[start] != b'_' || bytes[start..end].iter().any(|&b| b != b'_') {
                visit(start, end);
            }
        }
    }
}

/// The full algorithm from `start`, a word's beginning, to the next ASCII blank, which always ends a word.
/// Returns where the blank is.
#[cold]
fn slow(text: &str, start: usize, visit: &mut impl FnMut(usize, usize)) -> usize {
    let start = text.floor_char_boundary(start);
    let rest = &text.as_bytes()[start..];
    // The first character may be the blank that a mark joins; it does not end what it begins.
    let end =
        start + 1 + rest[1..].iter().position(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).unwrap_or(rest.len() - 1);
    for (at, word) in text[start..end].unicode_word_indices() {
        visit(start + at, start + at + word.len());
    }
    end
}

/// Runs of letters need no look around: the places where letters begin and end alternate, 64 bytes at a time.
#[inline]
fn letters(text: &str, visit: &mut impl FnMut(usize, usize)) {
    let mut open = None;
    let (blocks, rest) = text.as_bytes().as_chunks::<64>();
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    // The zeros after the text end its last word, but for one that ends with a full block.
    for (number, block) in blocks.iter().chain(std::iter::once(&last)).enumerate() {
        let inside = bits(block, is_letter);
        let base = number * 64;
        let mut changes = inside ^ (inside << 1 | u64::from(open.is_some()));
        while changes != 0 {
            let at = base + changes.trailing_zeros() as usize;
            changes &= changes - 1;
            match open.take() {
                Some(start) => visit(start, at),
                None if changes == 0 => open = Some(at),
                None => {
                    visit(at, base + changes.trailing_zeros() as usize);
                    changes &= changes - 1;
                }
            }
        }
    }
    if let Some(start) = open {
        visit(start, text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        Words::Unicode.for_each(text, |w| out.push(w));
        out
    }

    /// The example sentence of UAX 29, figure 1, and the joiners of rules WB6–WB13b.
    #[test]
    fn follows_uax29() {
        assert_eq!(
            words("The quick (“brown”) fox can’t jump 32.3 feet, right?"),
            ["The", "quick", "brown", "fox", "can’t", "jump", "32.3", "feet", "right"]
        );
        assert_eq!(words("can't a:b 1,000.5 x_1 __ U.S.A. end."), ["can't", "a:b", "1,000.5", "x_1", "U.S.A", "end"]);
    }

    #[test]
    fn letters_are_runs_of_ascii_letters() {
        let mut out = Vec::new();
        Words::Letters.for_each("naïve a1b C++ x", |w| out.push(w));
        assert_eq!(out, ["na", "ve", "a", "b", "C", "x"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn equals_the_full_algorithm_on_ascii(text in "[a-cA-C0-2_:.,;' \\-\n]{0,40}") {
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn letters_equal_a_plain_scan(text in "([a-zA-Z]{1,70}|[ @\\[`{1é]){0,30}") {
            let mut found = Vec::new();
            Words::Letters.for_each(&text, |w| found.push(w));
            let plain: Vec<&str> =
                text.split(|c: char| !c.is_ascii_alphabetic()).filter(|w| !w.is_empty()).collect();
            prop_assert_eq!(found, plain);
        }

        #[test]
        fn equals_the_full_algorithm_on_long_runs(text in "([a-c]{1,70}|[0-9_]{1,9}|[ .:,'-]){0,20}") {
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }

        #[test]
        fn equals_the_full_algorithm_on_anything(text in "([a-c0-2:.,' \\-\"]|[éßא\u{301}\u{200d}カん漢’·\u{ad}]|\\PC){0,24}") {
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }
    }
}
