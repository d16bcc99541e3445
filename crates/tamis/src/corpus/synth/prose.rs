//! Sentences: patterns filled with words of a topic and words of none.

use std::fmt::Write;

use super::lists::{COMMON, Noun, Plural};
use super::random::{Alias, Stream, zipf_mandelbrot};

/// Where a sentence's nouns, adjectives and names come from.
pub(super) trait Words {
    /// The next noun.
    fn noun(&mut self, stream: &mut Stream) -> Noun;
    /// The next adjective.
    fn adjective(&mut self, stream: &mut Stream) -> &'static str;
    /// A person or place, in lower case.
    fn name(&mut self, stream: &mut Stream) -> &'static str;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    /// With whether its noun must be single.
    Determiner(bool),
    /// The noun of the determiner before it.
    Noun,
    /// A noun by itself.
    Plural,
    Adjective,
    Past,
    Base,
    Modal,
    Preposition,
    Adverb,
    Said,
    Time,
    Name,
    Number,
    /// Stands close to the word before it.
    Mark(&'static str),
    Literal(&'static str),
}

/// The patterns and how often each word that fits them is drawn.
#[derive(Debug)]
pub(super) struct Grammar {
    patterns: Vec<Vec<Slot>>,
    determiners: Alias,
    prepositions: Alias,
    verbs: Alias,
    adverbs: Alias,
}

/// Commoner words come first in the lists; a flat start keeps the first from drowning the others.
pub(super) fn by_rank(n: usize) -> Alias {
    Alias::new(&zipf_mandelbrot(n, 3.0, 1.0))
}

impl Grammar {
    pub(super) fn new() -> Self {
        Self {
            patterns: COMMON.sentences.iter().map(|line| pattern(line)).collect(),
            // The list repeats its commonest words, so their order is no rank.
            determiners: Alias::new(&vec![1.0; COMMON.determiners.len()]),
            prepositions: by_rank(COMMON.prepositions.len()),
            verbs: by_rank(COMMON.verbs.len()),
            adverbs: by_rank(COMMON.adverbs.len()),
        }
    }

    /// Appends one sentence with its full stop to `text` and returns how many words it has.
    pub(super) fn sentence(&self, words: &mut impl Words, stream: &mut Stream, text: &mut String) -> usize {
        let slots = &self.patterns[stream.below(self.patterns.len())];
        let mut line = Line { text, start: true, article: false, words: 0 };
        let mut noun = None;
        let mut end = ".";
        for (i, slot) in slots.iter().enumerate() {
            match *slot {
                Slot::Determiner(single) => {
                    let next = words.noun(stream);
                    let countable = !matches!(next.plural, Plural::None | Plural::Name);
                    let many = !single && countable && stream.chance(0.2);
                    let (word, one) = COMMON.determiners[self.determiners.draw(stream)];
                    if next.plural != Plural::Name {
                        line.word(if one && (many || !countable) { "the" } else { word });
                    } else if slots.get(i + 1) != Some(&Slot::Noun) {
                        line.word("the");
                    }
                    noun = Some((next, many));
                }
                Slot::Noun => {
                    if let Some((next, many)) = noun.take() {
                        line.noun(next, many);
                    }
                }
                Slot::Plural => line.noun(words.noun(stream), true),
                Slot::Adjective => line.word(words.adjective(stream)),
                Slot::Past => line.word(COMMON.verbs[self.verbs.draw(stream)].1),
                Slot::Base => line.word(COMMON.verbs[self.verbs.draw(stream)].0),
                Slot::Modal => line.word(COMMON.modals[stream.below(COMMON.modals.len())]),
                Slot::Preposition => line.word(COMMON.prepositions[self.prepositions.draw(stream)]),
                Slot::Adverb => line.word(COMMON.adverbs[self.adverbs.draw(stream)]),
                Slot::Said => line.phrase(&COMMON.speaking[stream.below(COMMON.speaking.len())]),
                Slot::Time => line.phrase(&COMMON.times[stream.below(COMMON.times.len())]),
                Slot::Name => line.name(words.name(stream)),
                Slot::Number => line.number(stream),
                Slot::Mark("?") => end = "?",
                Slot::Mark(mark) => line.text.push_str(mark),
                Slot::Literal(word) => line.word(word),
            }
        }
        let words = line.words;
        text.push_str(end);
        words
    }
}

fn pattern(line: &'static str) -> Vec<Slot> {
    let mut determined = false;
    line.split_whitespace()
        .map(|part| match part {
            "D" | "E" => {
                determined = true;
                Slot::Determiner(part == "E")
            }
            "N" => {
                if std::mem::take(&mut determined) {
                    Slot::Noun
                } else {
                    Slot::Plural
                }
            }
            "A" => Slot::Adjective,
            "V" => Slot::Past,
            "B" => Slot::Base,
            "M" => Slot::Modal,
            "P" => Slot::Preposition,
            "R" => Slot::Adverb,
            "S" => Slot::Said,
            "T" => Slot::Time,
            "X" => Slot::Name,
            "U" => Slot::Number,
            "," | ";" | ":" | "?" => Slot::Mark(part),
            word => Slot::Literal(word),
        })
        .collect()
}

/// A sentence being written.
struct Line<'t> {
    text: &'t mut String,
    start: bool,
    /// The last word was "a", which becomes "an" before a vowel.
    article: bool,
    words: usize,
}

impl Line<'_> {
    fn word(&mut self, word: &str) {
        if self.article && sounds_like_a_vowel(word) {
            self.text.push('n');
        }
        self.article = word == "a";
        self.words += 1;
        if std::mem::take(&mut self.start) {
            self.capital(word);
        } else {
            self.text.push(' ');
            self.text.push_str(word);
        }
    }

    fn capital(&mut self, word: &str) {
        let mut chars = word.chars();
        self.text.extend(chars.next().map(|c| c.to_ascii_uppercase()));
        self.text.push_str(chars.as_str());
    }

    fn phrase(&mut self, phrase: &str) {
        phrase.split(' ').for_each(|word| self.word(word));
    }

    fn noun(&mut self, noun: Noun, many: bool) {
        match noun.plural {
            Plural::Irregular(text) if many => self.word(text),
            Plural::Regular if many => {
                self.word(noun.text);
                make_plural(self.text);
            }
            Plural::Name => self.name(noun.text),
            _ => self.word(noun.text),
        }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.start) {
            self.text.push(' ');
        }
        self.capital(name);
        self.article = false;
        self.words += 1;
    }

    /// A number; small ones are commoner.
    fn number(&mut self, stream: &mut Stream) {
        let digits = 1 + stream.below(4) as u32;
        let number = 2 + stream.below(10usize.pow(digits));
        if !std::mem::take(&mut self.start) {
            self.text.push(' ');
        }
        if number >= 1_000 {
            // Writing to a String cannot fail.
            let _ = write!(self.text, "{},{:03}", number / 1_000, number % 1_000);
        } else {
            let _ = write!(self.text, "{number}");
        }
        self.article = false;
        self.words += 1;
    }
}

fn sounds_like_a_vowel(word: &str) -> bool {
    let starts = |with: &[&str]| with.iter().any(|start| word.starts_with(start));
    if starts(&["hour", "honest", "honour", "unin", "unim"]) {
        return true;
    }
    word.starts_with(['a', 'e', 'i', 'o', 'u']) && !starts(&["uni", "use", "usu", "uti", "ura", "eu", "one", "once"])
}

/// Turns the last word of `text` into its regular plural.
fn make_plural(text: &mut String) {
    let bytes = text.as_bytes();
    match bytes {
        [.., b's' | b'x' | b'z'] | [.., b'c' | b's', b'h'] => text.push_str("es"),
        [.., before, b'y'] if !b"aeiou".contains(before) => {
            text.pop();
            text.push_str("ies");
        }
        _ => text.push('s'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(&'static str, Plural);

    impl Words for Fixed {
        fn noun(&mut self, _: &mut Stream) -> Noun {
            Noun { text: self.0, plural: self.1 }
        }
        fn adjective(&mut self, _: &mut Stream) -> &'static str {
            "old"
        }
        fn name(&mut self, _: &mut Stream) -> &'static str {
            "marlow"
        }
    }

    fn sentences(mut words: Fixed) -> Vec<(String, usize)> {
        let grammar = Grammar::new();
        let mut stream = Stream::fixed(5);
        (0..2_000)
            .map(|_| {
                let mut text = String::new();
                let n = grammar.sentence(&mut words, &mut stream, &mut text);
                (text, n)
            })
            .collect()
    }

    #[test]
    fn sentences_start_with_a_capital_and_end() {
        for (text, words) in sentences(Fixed("apple", Plural::Regular)) {
            assert!(text.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit()), "{text}");
            assert!(text.ends_with('.') || text.ends_with('?'), "{text}");
            assert_eq!(text.split_whitespace().count(), words, "{text}");
            assert!((4..=22).contains(&words), "{text}");
            assert!(!text.contains("  ") && !text.contains(" ,"), "{text}");
        }
    }

    #[test]
    fn articles_agree() {
        let all: String = sentences(Fixed("apple", Plural::Regular)).into_iter().map(|(t, _)| t + " ").collect();
        assert!(all.contains(" an apple") && !all.contains(" a apple") && !all.contains(" an old apples"));
        assert!(all.contains("an old apple") && all.contains("apples"));
        let water: String =
            sentences(Fixed("water", Plural::None)).into_iter().map(|(t, _)| t.to_lowercase() + " ").collect();
        assert!(!water.contains(" a water") && !water.contains("waters") && !water.contains("every water"));
        assert!(water.contains("the water"));
        let bach: String = sentences(Fixed("bach", Plural::Name)).into_iter().map(|(t, _)| t + " ").collect();
        assert!(bach.contains("the old Bach ") && !bach.contains("the Bach") && !bach.contains("bach"));
    }

    #[test]
    fn plurals_and_vowels() {
        for (one, many) in [
            ("cell", "cells"),
            ("galaxy", "galaxies"),
            ("day", "days"),
            ("virus", "viruses"),
            ("branch", "branches"),
            ("tax", "taxes"),
        ] {
            let mut word = one.to_owned();
            make_plural(&mut word);
            assert_eq!(word, many);
        }
        for (word, vowel) in [
            ("engine", true),
            ("university", false),
            ("uninformed", true),
            ("hour", true),
            ("honest", true),
            ("house", false),
            ("user", false),
            ("one", false),
            ("onion", true),
            ("umpire", true),
        ] {
            assert_eq!(sounds_like_a_vowel(word), vowel, "{word}");
        }
    }
}
