//! Words of scripts that do not part them by blanks.
//!
//! Text that is not ASCII is split into runs by what their script needs. Chinese, Japanese, Korean and a few others give
//! overlapping characters and pairs: what a word is there is a matter of opinion, and pairs are as good as a dictionary
//! (docs/terms.md has what was measured). Thai, Lao, Khmer and Burmese give the words of a dictionary, and pairs of them (feature
//! `segmenter`).
//! All other runs are left to UAX 29.

use unicode_normalization::char::is_combining_mark;
use unicode_segmentation::UnicodeSegmentation;

use super::words::uax29;

/// What was cut out of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece {
    /// A word.
    Word,
    /// A few characters of a script without blanks, which other pieces overlap.
    Part,
}

/// What a character needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Words by UAX 29, or no word at all.
    Blanks,
    /// Characters and pairs, within runs of the same group.
    Pairs(u8),
    /// The words of a dictionary, within runs of the same group.
    Dictionary(u8),
    /// The whole run is a word: letters that Unicode takes for symbols.
    Whole(u8),
    /// Belongs to the character before.
    Mark,
}

/// Chinese and Japanese are written in several scripts at once, and words have characters of more than one.
const EAST_ASIAN: Class = Class::Pairs(0);

fn class_of(c: char) -> Class {
    match c {
        '\0'..='\u{2FF}' | '\u{370}'..='\u{482}' | '\u{48A}'..='\u{590}' => Class::Blanks,
        '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}'..='\u{30FF}' => {
            EAST_ASIAN
        }
        '\u{AC00}'..='\u{D7A3}' => Class::Pairs(1),
        '\u{E01}'..='\u{E3A}' | '\u{E40}'..='\u{E4E}' => Class::Dictionary(0),
        '\u{E81}'..='\u{ECF}' | '\u{EDC}'..='\u{EDF}' => Class::Dictionary(1),
        '\u{1780}'..='\u{17D3}' | '\u{17D7}' | '\u{17DC}' | '\u{17DD}' => Class::Dictionary(2),
        '\u{1040}'..='\u{1049}' | '\u{104A}'..='\u{104F}' | '\u{1090}'..='\u{1099}' | '\u{A9F0}'..='\u{A9F9}' => {
            Class::Blanks
        }
        '\u{1000}'..='\u{109D}' | '\u{A9E0}'..='\u{A9FE}' | '\u{AA60}'..='\u{AA7F}' | '\u{116D0}'..='\u{116E3}' => {
            Class::Dictionary(3)
        }
        '\u{3400}'..='\u{4DBF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFD}' => EAST_ASIAN,
        '\u{3005}'..='\u{3007}' | '\u{3021}'..='\u{3029}' | '\u{3038}'..='\u{303B}' => EAST_ASIAN,
        '\u{309D}'..='\u{309F}' | '\u{31F0}'..='\u{31FF}' | '\u{FF66}'..='\u{FF9F}' => EAST_ASIAN,
        '\u{1AFF0}'..='\u{1B16F}' | '\u{3105}'..='\u{312F}' | '\u{31A0}'..='\u{31BF}' => EAST_ASIAN,
        '\u{1100}'..='\u{11FF}' | '\u{3131}'..='\u{318E}' | '\u{A960}'..='\u{A97C}' => Class::Pairs(1),
        '\u{D7B0}'..='\u{D7FB}' | '\u{FFA0}'..='\u{FFDC}' => Class::Pairs(1),
        // Tai Le, New Tai Lue, Tai Tham, Tai Viet, Ahom; Tangut, Khitan, Nüshu: no blanks, no dictionary.
        '\u{1950}'..='\u{1974}' => Class::Pairs(2),
        '\u{1980}'..='\u{19C9}' => Class::Pairs(3),
        '\u{1A20}'..='\u{1A7C}' | '\u{1AA7}' => Class::Pairs(4),
        '\u{AA80}'..='\u{AADD}' => Class::Pairs(5),
        '\u{11700}'..='\u{1172B}' | '\u{11740}'..='\u{11746}' => Class::Pairs(6),
        '\u{16FE0}' | '\u{17000}'..='\u{18AFF}' | '\u{18D00}'..='\u{18DFF}' => Class::Pairs(7),
        '\u{16FE4}' | '\u{18B00}'..='\u{18CFF}' => Class::Pairs(8),
        '\u{16FE1}' | '\u{1B170}'..='\u{1B2FF}' => Class::Pairs(9),
        // Braille, and Sutton's writing of signs.
        '\u{2801}'..='\u{28FF}' => Class::Whole(0),
        '\u{1D800}'..='\u{1DAAF}' => Class::Whole(1),
        '\u{200C}' | '\u{200D}' => Class::Mark,
        c if is_combining_mark(c) => Class::Mark,
        _ => Class::Blanks,
    }
}

/// Whether a word is of a script whose single characters are kept, however short words must not be.
pub(super) fn is_part(word: &str) -> bool {
    word.chars().next().is_some_and(is_dense)
}

/// Whether a character is of a script that does not part words by blanks.
pub(crate) fn is_dense(c: char) -> bool {
    matches!(class_of(c), Class::Pairs(_) | Class::Dictionary(_))
}

/// Whether a character is of a script whose words are in a dictionary.
pub(super) fn needs_dictionary(c: char) -> bool {
    matches!(class_of(c), Class::Dictionary(_))
}

/// Splits a part of the text into runs of one class.
fn split(text: &str, start: usize, end: usize, mut visit: impl FnMut(Class, usize, usize)) {
    let mut begin = start;
    let mut current = Class::Blanks;
    // Whether there may be a word: in a run that UAX 29 looks at, a letter or a digit.
    let mut any = false;
    for (at, c) in text[start..end].char_indices() {
        let class = class_of(c);
        if class == Class::Mark {
            continue;
        }
        if class != current {
            if any {
                visit(current, begin, start + at);
            }
            begin = start + at;
            current = class;
            any = false;
        }
        any = any || class != Class::Blanks || c.is_alphanumeric();
    }
    if any {
        visit(current, begin, end);
    }
}

/// The words of a part of the text, as each script has them.
pub(super) fn words(
    text: &str,
    start: usize,
    end: usize,
    range: (usize, usize),
    visit: &mut impl FnMut(usize, usize, Piece),
) {
    let mut ends = Vec::new();
    split(text, start, end, |class, from, to| match class {
        Class::Blanks | Class::Mark => uax29(text, from, to, visit),
        Class::Whole(_) => visit(from, to, Piece::Word),
        Class::Pairs(_) => parts(text, from, to, range, &mut ends, visit),
        Class::Dictionary(_) => dictionary(text, from, to, range, &mut ends, visit),
    });
}

/// The same with all that has no blanks left whole.
pub(super) fn runs(text: &str, start: usize, end: usize, visit: &mut impl FnMut(usize, usize, Piece)) {
    split(text, start, end, |class, from, to| match class {
        Class::Blanks | Class::Mark => uax29(text, from, to, visit),
        Class::Whole(_) | Class::Pairs(_) | Class::Dictionary(_) => visit(from, to, Piece::Word),
    });
}

/// Characters with their marks, one by one and together.
fn parts(
    text: &str,
    start: usize,
    end: usize,
    range: (usize, usize),
    ends: &mut Vec<usize>,
    visit: &mut impl FnMut(usize, usize, Piece),
) {
    ends.clear();
    ends.push(start);
    let run = &text[start..end];
    // Of these, each is a character of its own and nothing but: no need to look around.
    let alone = |c: char| matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{AC00}'..='\u{D7A3}');
    if run.chars().all(alone) {
        ends.extend(run.char_indices().skip(1).map(|(at, _)| start + at));
        ends.push(end);
    } else {
        ends.extend(run.grapheme_indices(true).map(|(at, character)| start + at + character.len()));
    }
    together(ends, range, visit);
}

/// Hands on what stands between the ends, and what follows each other. A Chinese word has about one character and a half, and a
/// dictionary cuts some words in two, so n-grams of words are those of up to one part more.
fn together(ends: &[usize], (low, high): (usize, usize), visit: &mut impl FnMut(usize, usize, Piece)) {
    for at in 0..ends.len() - 1 {
        for n in low..=high + 1 {
            if let Some(&until) = ends.get(at + n) {
                visit(ends[at], until, Piece::Part);
            }
        }
    }
}

/// Words of a dictionary, one by one and together.
#[cfg(feature = "segmenter")]
fn dictionary(
    text: &str,
    start: usize,
    end: usize,
    range: (usize, usize),
    ends: &mut Vec<usize>,
    visit: &mut impl FnMut(usize, usize, Piece),
) {
    use icu_segmenter::options::WordBreakInvariantOptions;
    use icu_segmenter::{WordSegmenter, WordSegmenterBorrowed};
    use std::sync::LazyLock;

    static SEGMENTER: LazyLock<WordSegmenterBorrowed<'static>> =
        LazyLock::new(|| WordSegmenter::new_dictionary(WordBreakInvariantOptions::default()));
    ends.clear();
    // The first boundary is the beginning.
    ends.extend(SEGMENTER.segment_str(&text[start..end]).map(|at| start + at));
    together(ends, range, visit);
}

/// Without dictionaries, these scripts are as those for which nobody has one.
#[cfg(not(feature = "segmenter"))]
use parts as dictionary;

#[cfg(test)]
mod tests {
    use super::super::Words;

    fn words(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        Words::Scripts.for_each(text, |w| out.push(w));
        out
    }

    fn runs(text: &str) -> Vec<&str> {
        let mut out = Vec::new();
        Words::Scripts.runs(text, |start, end| out.push(&text[start..end]));
        out
    }

    #[test]
    fn han_kana_and_hangul_are_characters_and_pairs() {
        assert_eq!(words("手机很好，买"), ["手", "手机", "机", "机很", "很", "很好", "好", "买"]);
        assert_eq!(words("食べる"), ["食", "食べ", "べ", "べる", "る"]);
        assert_eq!(words("좋은 책"), ["좋", "좋은", "은", "책"]);
    }

    #[test]
    fn mixed_text_is_cut_run_by_run() {
        assert_eq!(words("iPhone手机3個can't"), ["iPhone", "手", "手机", "机", "3", "個", "can't"]);
        assert_eq!(words("SK하이 «мир»ｶﾞ"), ["SK", "하", "하이", "이", "мир", "ｶﾞ"]);
        assert_eq!(words("\u{2807}\u{2811} ok"), ["\u{2807}\u{2811}", "ok"]);
    }

    #[test]
    fn conjoining_letters_are_one_character() {
        // 한글 in letters that join.
        let text = "\u{1112}\u{1161}\u{11ab}\u{1100}\u{1173}\u{11af}";
        assert_eq!(words(text).len(), 3);
    }

    #[cfg(feature = "segmenter")]
    #[test]
    fn thai_lao_khmer_and_burmese_have_dictionaries() {
        assert_eq!(words("อาหารอร่อย2มาก"), ["อาหาร", "อาหารอร่อย", "อร่อย", "2", "มาก"]);
        // "I speak" each of them.
        for text in ["ຂ້ອຍເວົ້າພາສາລາວ", "ខ្ញុំនិយាយភាសាខ្មែរ", "ကျွန်တော်မြန်မာစကားပြောတယ်"]
        {
            let found = words(text);
            assert!(found.len() > 2 && found.len() < text.chars().count(), "{found:?}");
        }
    }

    #[test]
    fn runs_are_whole() {
        assert_eq!(runs("iPhone手机很好，买can't 2"), ["iPhone手机很好", "买can't", "2"]);
        let long = "好".repeat(500);
        assert_eq!(runs(&long), [long.as_str()]);
    }
}
