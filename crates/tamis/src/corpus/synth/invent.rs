//! Words that do not exist but could: two or three syllables, easy to say.

use rustc_hash::FxHashSet;

use super::random::Stream;

const ONSETS: [&str; 24] = [
    "b", "d", "h", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z", "br", "dr", "kr", "pr", "tr", "bl", "kl", "pl",
    "st", "sk", "sp",
];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];
/// What may close a syllable before another one.
const JOINTS: [&str; 8] = ["", "", "", "", "l", "n", "r", "m"];
/// Endings that an English stemmer leaves alone: no s, no e, no d after a vowel, no -nt, -er, -al, -ic (a test checks).
const STEM_ENDS: [&str; 14] = ["b", "k", "m", "n", "p", "t", "lk", "lm", "lp", "lt", "rk", "rm", "rt", "mp"];
/// Endings of names.
const NAME_ENDS: [&str; 14] = ["n", "r", "l", "s", "m", "", "", "", "nd", "ck", "th", "rn", "ll", "x"];

/// What the words are for.
#[derive(Clone, Copy)]
pub(super) enum Use {
    /// Terms of a corpus that is already stemmed.
    Stems,
    /// People, places and things.
    Names,
}

/// `count` different invented words, none of them in `taken`; the first are the shorter ones, as common words are.
pub(super) fn words(count: usize, purpose: Use, taken: &FxHashSet<&str>) -> Vec<Box<str>> {
    let (ends, mut stream) = match purpose {
        Use::Stems => (&STEM_ENDS, Stream::fixed(0x57E3)),
        Use::Names => (&NAME_ENDS, Stream::fixed(0x4A3E)),
    };
    let mut seen: FxHashSet<Box<str>> = FxHashSet::default();
    let mut words = Vec::with_capacity(count);
    let mut word = String::new();
    while words.len() < count {
        // A quarter of the inventory has two syllables; three leave room for millions of words.
        let syllables = if words.len() < count / 4 { 2 } else { 2 + usize::from(stream.chance(0.6)) };
        word.clear();
        for syllable in 0..syllables {
            word.push_str(ONSETS[stream.below(if syllable == 0 { ONSETS.len() } else { 13 })]);
            word.push_str(VOWELS[stream.below(VOWELS.len())]);
            let last = syllable + 1 == syllables;
            word.push_str(if last { ends[stream.below(ends.len())] } else { JOINTS[stream.below(JOINTS.len())] });
        }
        let twins = word.as_bytes().windows(2).any(|pair| pair[0] == pair[1] && pair[0] != b'l');
        if !twins && word.len() >= 4 && !taken.contains(word.as_str()) && seen.insert(word.as_str().into()) {
            words.push(word.as_str().into());
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_distinct_plain_and_not_taken() {
        let all = words(5_000, Use::Names, &FxHashSet::default());
        assert_eq!(all.iter().collect::<FxHashSet<_>>().len(), 5_000);
        assert!(
            all.iter().all(|w| w.bytes().all(|b| b.is_ascii_lowercase()) && (4..=14).contains(&w.len())),
            "{all:?}"
        );
        let taken: FxHashSet<&str> = all[..100].iter().map(|w| &**w).collect();
        assert!(words(5_000, Use::Names, &taken).iter().all(|w| !taken.contains(&**w)));
    }
}
