//! Running text → words.
//!
//! Words follow Unicode's word boundaries (UAX 29). Almost all bytes of almost all corpora are ASCII, where the
//! rules come down to one table look-up a byte; anything else goes, from the word it touches to the next blank,
//! to the full algorithm of `unicode-segmentation`, and where words are not parted by blanks to [`super::scripts`].

use unicode_segmentation::UnicodeSegmentation;

use super::scripts::{self, Piece};
use crate::named::named;

named! {
    /// What a text is cut into.
    #[derive(Default)]
    pub enum Words ("kind of word") {
        /// Words as each script has them: Unicode's (UAX 29) where blanks part words, characters and pairs of them in Chinese,
        /// Japanese and Korean, words of a dictionary in Thai, Lao, Khmer and Burmese. N-grams of characters run over all
        /// letters that stand together.
        #[default]
        Scripts = "scripts",
        /// Unicode words (UAX 29): `can't`, `3.14` and `naïve` are one word each, and so is every Chinese character.
        Unicode = "unicode",
        /// Runs of ASCII letters, what the regular expression `[A-Za-z]+` finds.
        Letters = "letters",
        /// Whatever stands between blanks: for text that is tokenised already.
        Blanks = "blanks",
        /// The text as a whole, punctuation and single blanks included: for n-grams of characters only.
        Text = "text",
    }
}

impl Words {
    /// Hands every word of `text` to `visit`, in order; of scripts without blanks characters and pairs, which overlap.
    pub fn for_each<'t>(self, text: &'t str, mut visit: impl FnMut(&'t str)) {
        self.spans(text, |start, end| visit(&text[start..end]));
    }

    /// Hands where every word of `text` starts and ends (in bytes, on boundaries of characters) to `visit`, in order.
    #[inline]
    pub(crate) fn spans(self, text: &str, mut visit: impl FnMut(usize, usize)) {
        self.pieces(text, (1, 1), |start, end, _| visit(start, end));
    }

    /// The same with what each is. `range` is that of word n-grams: pieces of scripts without blanks have one character more
    /// than the longest of them has words.
    #[inline]
    pub(super) fn pieces(self, text: &str, range: (usize, usize), mut visit: impl FnMut(usize, usize, Piece)) {
        match self {
            Self::Scripts => unicode(text, Beyond::Scripts(range), &mut visit),
            Self::Unicode => unicode(text, Beyond::Uax29, &mut visit),
            Self::Letters => letters(text, &mut |start, end| visit(start, end, Piece::Word)),
            Self::Blanks => {
                let begin = text.as_ptr().addr();
                for word in text.split_whitespace() {
                    let start = word.as_ptr().addr() - begin;
                    visit(start, start + word.len(), Piece::Word);
                }
            }
            Self::Text if text.is_empty() => {}
            Self::Text => visit(0, text.len(), Piece::Word),
        }
    }

    /// Hands what n-grams of characters run over to `visit`: the words, and of all scripts together whatever letters stand
    /// together, however many.
    pub(super) fn runs(self, text: &str, mut visit: impl FnMut(usize, usize)) {
        if self != Self::Scripts {
            return self.pieces(text, (1, 1), |start, end, _| visit(start, end));
        }
        let mut open: Option<(usize, usize)> = None;
        unicode(text, Beyond::Runs, &mut |start, end, _| match &mut open {
            Some((_, until)) if *until == start => *until = end,
            _ => {
                if let Some((start, end)) = open.replace((start, end)) {
                    visit(start, end);
                }
            }
        });
        if let Some((start, end)) = open {
            visit(start, end);
        }
    }
}

/// What is done with text that is not ASCII.
#[derive(Debug, Clone, Copy)]
enum Beyond {
    /// Words by UAX 29, whatever the script.
    Uax29,
    /// Words as each script has them, for word n-grams of this range.
    Scripts((usize, usize)),
    /// As before, but what has no blanks is left whole.
    Runs,
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

/// How many bytes are looked at together: what each of them is comes as a bit of one word. On the advisories this halves
/// the time of looking at one byte after the other, mostly because where a word ends is no longer a branch that the
/// processor has to guess.
const BLOCK: usize = 64;

/// The next bytes of a text, with zeros after its end: a zero is in no word.
#[inline]
fn block(rest: &[u8]) -> [u8; BLOCK] {
    match rest.first_chunk() {
        Some(block) => *block,
        None => {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            block
        }
    }
}

/// What the bytes of a block are, a bit for each.
#[derive(Debug, PartialEq, Eq)]
struct Classes {
    /// Letters, digits and underscores.
    inside: u64,
    /// What may join two of them.
    joiners: u64,
    /// Not ASCII.
    high: u64,
}

/// On x86-64 by the instructions that every such processor has: they make bits of comparisons without a detour, and the
/// compiler does not find them in [`anywhere`]. Words are found in 43 ms instead of 51, of 38 MB of advisories.
#[cfg(target_arch = "x86_64")]
mod sse2 {
    use std::arch::x86_64::{
        __m128i, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
        _mm_sub_epi8,
    };

    use super::{BLOCK, Classes};

    /// The bits of sixteen comparisons at a time, put together.
    #[inline]
    fn each(block: &[u8; BLOCK], kind: impl Fn(__m128i) -> __m128i) -> u64 {
        let (parts, _) = block.as_chunks::<16>();
        (0..).zip(parts).fold(0, |bits, (at, part)| {
            // SAFETY: SSE2 is part of x86-64, and sixteen bytes are read where sixteen are.
            let found = unsafe { _mm_movemask_epi8(kind(_mm_loadu_si128(part.as_ptr().cast()))) };
            bits | u64::from(found as u16) << (at * 16)
        })
    }

    #[inline]
    fn all(byte: u8) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_set1_epi8(byte as i8) }
    }

    #[inline]
    fn is(bytes: __m128i, byte: u8) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_cmpeq_epi8(bytes, all(byte)) }
    }

    #[inline]
    fn or(a: __m128i, b: __m128i) -> __m128i {
        // SAFETY: as above.
        unsafe { _mm_or_si128(a, b) }
    }

    /// Bytes in a range of this many from `first` on.
    #[inline]
    fn within(bytes: __m128i, first: u8, many: u8) -> __m128i {
        // SAFETY: as above.
        unsafe {
            let above = _mm_sub_epi8(bytes, all(first));
            _mm_cmpeq_epi8(_mm_min_epu8(above, all(many - 1)), above)
        }
    }

    #[inline]
    fn letter(bytes: __m128i) -> __m128i {
        within(or(bytes, all(0x20)), b'a', 26)
    }

    #[inline]
    pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
        each(block, letter)
    }

    #[inline]
    pub(super) fn classes(block: &[u8; BLOCK]) -> Classes {
        Classes {
            inside: each(block, |bytes| or(or(letter(bytes), within(bytes, b'0', 10)), is(bytes, b'_'))),
            joiners: each(block, |bytes| {
                or(or(or(is(bytes, b':'), is(bytes, b';')), or(is(bytes, b'.'), is(bytes, b','))), is(bytes, b'\''))
            }),
            high: each(block, |bytes| bytes),
        }
    }
}

/// The same anywhere else: plain code on an array, which the compiler turns into vector instructions; eight flags become
/// eight bits by one multiplication.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod anywhere {
    use super::{BLOCK, Classes};

    #[inline]
    fn bits(block: &[u8; BLOCK], kind: impl Fn(u8) -> bool) -> u64 {
        let mut flags = [0u8; BLOCK];
        for (flag, &byte) in flags.iter_mut().zip(block) {
            *flag = u8::from(kind(byte));
        }
        let mut bits = 0;
        for (at, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
            bits |= (u64::from_le_bytes(*eight).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (at * 8);
        }
        bits
    }

    #[inline]
    pub(super) fn letters(block: &[u8; BLOCK]) -> u64 {
        bits(block, |byte| byte.is_ascii_alphabetic())
    }

    #[inline]
    pub(super) fn classes(block: &[u8; BLOCK]) -> Classes {
        Classes {
            inside: bits(block, |byte| byte.is_ascii_alphanumeric() | (byte == b'_')),
            joiners: bits(block, |byte| matches!(byte, b':' | b'.' | b'\'' | b',' | b';')),
            high: bits(block, |byte| !byte.is_ascii()),
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
use anywhere as machine;
#[cfg(target_arch = "x86_64")]
use sse2 as machine;

#[inline]
fn class_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).map_or(class::OTHER, |&b| CLASSES[b as usize])
}

/// Words that lie in one block, ASCII all round, are found there by their bits. Where one may go on beyond the block, the
/// next block begins with it, and where other characters come near, [`one_by_one`] looks.
#[inline]
fn unicode(text: &str, beyond: Beyond, visit: &mut impl FnMut(usize, usize, Piece)) {
    let bytes = text.as_bytes();
    let mut base = 0;
    while base < bytes.len() {
        let Classes { mut inside, joiners, high } = machine::classes(&block(&bytes[base..]));
        // Where the bits stop telling: a word is certain when the byte after it and the one after that were seen.
        let known = high.trailing_zeros();
        let mut joiners = joiners & (inside << 1) & (inside >> 1);
        while joiners != 0 {
            let at = joiners.trailing_zeros();
            joiners &= joiners - 1;
            inside |= u64::from(joins(bytes, base + at as usize)) << at;
        }
        if known < 64 {
            inside &= (1 << known) - 1;
        }
        let mut open = None;
        let mut changes = inside ^ (inside << 1);
        while changes != 0 {
            let start = changes.trailing_zeros();
            changes &= changes - 1;
            // A word that fills the block to its end has no bit after it.
            let end = changes.trailing_zeros();
            if end + 1 >= known {
                open = Some(base + start as usize);
                break;
            }
            changes &= changes - 1;
            let (start, end) = (base + start as usize, base + end as usize);
            if is_word(&bytes[start..end]) {
                visit(start, end, Piece::Word);
            }
        }
        base = match open {
            None if known == 64 => base + BLOCK,
            None => one_by_one(text, base + known as usize, beyond, visit),
            Some(start) if known == 64 && start > base => start,
            Some(start) => one_by_one(text, start, beyond, visit),
        };
    }
}

/// Underscores alone are not a word.
#[inline]
fn is_word(run: &[u8]) -> bool {
    run[0] != b'_' || run.iter().any(|&b| b != b'_')
}

/// Whether a joiner makes one word of what stands around it (WB6, WB7, WB11, WB12).
#[inline]
fn joins(bytes: &[u8], at: usize) -> bool {
    let [before, joiner, after] = [at - 1, at, at + 1].map(|at| class_at(bytes, at));
    before == after
        && match joiner {
            class::MID_LETTER => before == class::LETTER,
            class::MID_DIGIT => before == class::DIGIT,
            class::MID_BOTH => before != class::UNDERSCORE,
            _ => false,
        }
}

/// Finds the word that begins at `start`, or deals with a character there that is not ASCII. Returns where to go on.
#[cold]
fn one_by_one(text: &str, start: usize, beyond: Beyond, visit: &mut impl FnMut(usize, usize, Piece)) -> usize {
    let bytes = text.as_bytes();
    if bytes[start] >= 0x80 {
        // A mark joins the character before it, punctuation included (WB4), and blanks stay together (WB3d), so the full
        // algorithm starts there; what lies before was dealt with.
        let blanks = bytes[..start].iter().rev().take_while(|&&b| b == b' ').count();
        return slow(text, start.saturating_sub(blanks.max(1)), beyond, visit);
    }
    let mut end = start;
    loop {
        match class_at(bytes, end) {
            class::LETTER | class::DIGIT | class::UNDERSCORE => end += 1,
            class::NOT_ASCII => return slow(text, start, beyond, visit),
            class::OTHER => break,
            // A character that joins may be followed by marks, which do not part it from what it joins.
            _ if class_at(bytes, end + 1) == class::NOT_ASCII && class_at(bytes, end - 1) != class::UNDERSCORE => {
                return slow(text, start, beyond, visit);
            }
            _ if joins(bytes, end) => end += 1,
            _ => break,
        }
    }
    if is_word(&bytes[start..end]) {
        visit(start, end, Piece::Word);
    }
    end
}

/// The full algorithm from `start`, a word's beginning, to the next ASCII blank, which always ends a word.
/// Returns where the blank is.
#[cold]
fn slow(text: &str, start: usize, beyond: Beyond, visit: &mut impl FnMut(usize, usize, Piece)) -> usize {
    let start = text.floor_char_boundary(start);
    let rest = &text.as_bytes()[start..];
    // What it begins with may be blanks that a mark joins; they do not end it.
    let first = rest.iter().take_while(|&&b| b == b' ').count().max(1);
    let blank = rest[first..].iter().position(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t'));
    let end = blank.map_or(text.len(), |blank| start + first + blank);
    match beyond {
        Beyond::Uax29 => uax29(text, start, end, visit),
        Beyond::Scripts(range) => scripts::words(text, start, end, range, visit),
        Beyond::Runs => scripts::runs(text, start, end, visit),
    }
    end
}

/// The words of a part of the text by the full algorithm.
pub(super) fn uax29(text: &str, start: usize, end: usize, visit: &mut impl FnMut(usize, usize, Piece)) {
    for (at, word) in text[start..end].unicode_word_indices() {
        visit(start + at, start + at + word.len(), Piece::Word);
    }
}

/// Runs of letters need no look around: the places where letters begin and end alternate, 64 bytes at a time.
#[inline]
fn letters(text: &str, visit: &mut impl FnMut(usize, usize)) {
    let mut open = None;
    let (blocks, rest) = text.as_bytes().as_chunks::<BLOCK>();
    let mut last = [0; BLOCK];
    last[..rest.len()].copy_from_slice(rest);
    // The zeros after the text end its last word, but for one that ends with a full block.
    for (number, block) in blocks.iter().chain(std::iter::once(&last)).enumerate() {
        let inside = machine::letters(block);
        let base = number * BLOCK;
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
        of(Words::Unicode, text)
    }

    fn of(kind: Words, text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        kind.for_each(text, |w| out.push(w));
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

    #[test]
    fn classes_are_those_of_the_table() {
        for base in (0..=255u8).step_by(64) {
            let block: [u8; BLOCK] = std::array::from_fn(|at| base + ((at * 37) % 64) as u8);
            let found = machine::classes(&block);
            assert_eq!(found, anywhere::classes(&block));
            assert_eq!(machine::letters(&block), anywhere::letters(&block));
            for (at, &byte) in block.iter().enumerate() {
                let class = CLASSES[usize::from(byte)];
                assert_eq!(found.inside >> at & 1 == 1, class < class::MID_LETTER);
                assert_eq!(found.joiners >> at & 1 == 1, (class::MID_LETTER..=class::MID_DIGIT).contains(&class));
                assert_eq!(found.high >> at & 1 == 1, class == class::NOT_ASCII);
            }
        }
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

        /// Where blanks part words, all scripts have Unicode's.
        #[test]
        fn scripts_with_blanks_are_as_unicode_has_them(text in "([a-c0-2:.,' \\-\"]|[éßאΣджआ\u{301}\u{200d}’·\u{ad}“…€😀]|[a-z]{20,60}){0,40}") {
            prop_assert_eq!(of(Words::Scripts, &text), words(&text));
        }

        #[test]
        fn equals_the_full_algorithm_on_anything(text in "([a-c0-2:.,' \\-\"]|[éßא\u{301}\u{200d}カん漢’·\u{ad}]|[a-z]{20,60}|\\PC){0,40}") {
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }
    }
}
