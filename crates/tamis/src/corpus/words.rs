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
        match self {
            Self::Unicode => unicode(text, &mut visit),
            Self::Letters => letters(text, &mut visit),
            Self::Blanks => text.split_whitespace().for_each(visit),
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

fn unicode<'t>(text: &'t str, visit: &mut impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let class_at = |at: usize| bytes.get(at).map_or(class::OTHER, |&b| CLASSES[b as usize]);
    let mut at = 0;
    while at < bytes.len() {
        let first = CLASSES[bytes[at] as usize];
        if first >= class::MID_LETTER {
            // A mark joins the character before it, punctuation included (WB4), so the full algorithm starts there.
            at = if first == class::NOT_ASCII { slow(text, at.saturating_sub(1), visit) } else { at + 1 };
            continue;
        }
        let start = at;
        let mut last = first;
        // Whether a letter or digit was seen: underscores alone are not a word.
        let mut real = first != class::UNDERSCORE;
        at += 1;
        let not_ascii = loop {
            let next = class_at(at);
            if next < class::MID_LETTER {
                real |= next != class::UNDERSCORE;
                last = next;
                at += 1;
                continue;
            }
            if next == class::NOT_ASCII {
                break true;
            }
            if next == class::OTHER || last == class::UNDERSCORE {
                break false;
            }
            let after = class_at(at + 1);
            if after == class::NOT_ASCII {
                break true;
            }
            let joins = match next {
                class::MID_LETTER => last == class::LETTER,
                class::MID_DIGIT => last == class::DIGIT,
                _ => true,
            };
            if joins && after == last {
                at += 2;
            } else {
                break false;
            }
        };
        if not_ascii {
            at = slow(text, start, visit);
        } else if real {
            visit(&text[start..at]);
        }
    }
}

/// The full algorithm from `start`, a word's beginning, to the next ASCII blank, which always ends a word.
/// Returns where the blank is.
fn slow<'t>(text: &'t str, start: usize, visit: &mut impl FnMut(&'t str)) -> usize {
    let start = text.floor_char_boundary(start);
    let rest = &text.as_bytes()[start..];
    // The first character may be the blank that a mark joins; it does not end what it begins.
    let end =
        start + 1 + rest[1..].iter().position(|b| matches!(b, b' ' | b'\n' | b'\r' | b'\t')).unwrap_or(rest.len() - 1);
    text[start..end].unicode_words().for_each(visit);
    end
}

fn letters<'t>(text: &'t str, visit: &mut impl FnMut(&'t str)) {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        if CLASSES[bytes[at] as usize] != class::LETTER {
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && CLASSES[bytes[at] as usize] == class::LETTER {
            at += 1;
        }
        visit(&text[start..at]);
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
        fn equals_the_full_algorithm_on_anything(text in "([a-c0-2:.,' \\-\"]|[éßא\u{301}\u{200d}カん漢’·\u{ad}]|\\PC){0,24}") {
            prop_assert_eq!(words(&text), text.unicode_words().collect::<Vec<_>>());
        }
    }
}
