//! Text → terms, by the options, with every decision made once for each distinct raw word.

use std::ops::Range;

use rustc_hash::{FxHashMap, FxHashSet};
use unicode_normalization::{UnicodeNormalization, is_nfc};

use super::word_table::{Vacant, WordTable};
use super::{Digits, TextOptions};
use crate::Result;
use crate::corpus::Body;
use crate::counts::Interner;

/// A raw word that gives no term.
const DROPPED: u32 = u32::MAX;

/// Turns bodies into numbers of terms. Numbers are given in order of first sight and stay until [`Analyzer::clear`]:
/// the caller maps them to whatever it needs (a vocabulary being built, the features of a model).
///
/// Case, Unicode form, length, digits, stop words and stemming are decided when a spelling is first seen and
/// remembered, so a token costs one look-up.
pub struct Analyzer {
    options: TextOptions,
    stemmer: Option<frostem::Stemmer>,
    stop_words: FxHashSet<String>,
    /// Raw word → its term, `DROPPED`, or with character n-grams its place in `grams`.
    raw: WordTable,
    terms: Interner,
    /// With character n-grams: the terms of each distinct raw word.
    grams: Vec<Box<[u32]>>,
    /// With word n-grams: (term of the first words, next word) → term of the longer n-gram.
    chains: FxHashMap<(u32, u32), u32>,
    /// With word n-grams: the last n-grams of each length, ending at the previous word.
    tails: Vec<u32>,
    /// Where a word takes its final form.
    form: String,
    /// Whether an ASCII spelling that was not seen before is a term that was not seen before: then nobody has to look.
    plain: bool,
}

impl Analyzer {
    /// Checks the options and starts with nothing seen.
    pub fn new(options: &TextOptions) -> Result<Self> {
        options.validate()?;
        Ok(Self {
            stemmer: options.stemmer()?,
            stop_words: options.stop_words.iter().cloned().collect(),
            options: options.clone(),
            raw: WordTable::new(options.lowercase),
            terms: Interner::default(),
            grams: Vec::new(),
            chains: FxHashMap::default(),
            tails: Vec::new(),
            form: String::new(),
            plain: is_plain(options),
        })
    }

    /// Hands the term of each token to `visit` with the number of occurrences it stands for (1, but for ready counts),
    /// in order.
    pub fn analyze(&mut self, body: &Body<'_>, mut visit: impl FnMut(u32, u32)) {
        self.tails.clear();
        match body {
            Body::Text(text) => {
                if self.options.ngrams == 1 && self.options.char_ngrams.is_none() {
                    // The common case, kept free of branches that it does not need.
                    let words = self.options.words;
                    words.spans(text, |start, end| {
                        let term = match self.raw.find(text.as_bytes(), start, end) {
                            Ok(term) => term,
                            Err(vacant) => self.new_word(&text[start..end], vacant),
                        };
                        if term != DROPPED {
                            visit(term, 1);
                        }
                    });
                } else {
                    self.options.words.for_each(text, |word| self.word(word, &mut visit));
                }
            }
            Body::Tokens(tokens) => {
                for token in tokens.iter().filter(|t| !t.is_empty()) {
                    self.word(token, &mut visit);
                }
            }
            Body::Counts(counts) => {
                // Their terms are not in the table of words.
                self.plain = false;
                for (term, count) in counts {
                    visit(self.terms.intern(term), *count);
                }
            }
        }
    }

    /// Hands every term of a text to `visit` with the bytes it was made of, in order. An n-gram of words spans from its
    /// first word to its last, a character n-gram is given the word it lies in.
    pub fn places(&mut self, text: &str, mut visit: impl FnMut(Range<usize>, u32)) {
        self.tails.clear();
        let words = self.options.words;
        let grams = self.options.char_ngrams.is_some();
        // Where the last words began that were not dropped, the latest first.
        let mut begins: Vec<usize> = Vec::new();
        words.spans(text, |start, end| {
            let mut length = 0;
            self.word(&text[start..end], &mut |term, _| {
                if length == 0 {
                    begins.insert(0, start);
                }
                let from = if grams { start } else { begins[length] };
                length += 1;
                visit(from..end, term);
            });
            begins.truncate(self.options.ngrams);
        });
    }

    /// Decides about a spelling that was not seen before, and remembers.
    #[cold]
    #[inline(never)]
    fn new_word(&mut self, word: &str, mut vacant: Vacant) -> u32 {
        let Self { options, stemmer, stop_words, raw, terms, grams, form, plain, .. } = self;
        let decided = match (decide(options, stemmer.as_ref(), stop_words, word, form), options.char_ngrams) {
            (None, _) => DROPPED,
            (Some(term), None) if *plain && word.is_ascii() => terms.push_new(term),
            (Some(term), None) if *plain && term.is_ascii() => {
                // A few letters beyond ASCII have a small one within (the sign of Kelvin): the word may be known.
                let known = raw.find(term.as_bytes(), 0, term.len());
                let known = known.unwrap_or_else(|vacant| {
                    let new = terms.push_new(term);
                    raw.store(vacant, term, new);
                    new
                });
                if let Err(moved) = raw.find(word.as_bytes(), 0, word.len()) {
                    vacant = moved;
                }
                known
            }
            (Some(term), None) => terms.intern(term),
            (Some(term), Some((low, high))) => {
                grams.push(character_ngrams(term, low, high).map(|gram| terms.intern(&gram)).collect());
                grams.len() as u32 - 1
            }
        };
        raw.store(vacant, word, decided);
        decided
    }

    fn word(&mut self, word: &str, visit: &mut impl FnMut(u32, u32)) {
        let decided = match self.raw.find(word.as_bytes(), 0, word.len()) {
            Ok(decided) => decided,
            Err(vacant) => self.new_word(word, vacant),
        };
        let Self { options, terms, grams, chains, tails, .. } = self;
        if decided == DROPPED {
            return;
        }
        if options.char_ngrams.is_some() {
            grams[decided as usize].iter().for_each(|&gram| visit(gram, 1));
            return;
        }
        visit(decided, 1);
        if options.ngrams == 1 {
            return;
        }
        // tails[k] is the (k+1)-gram that ended at the previous word; each grows by this word.
        let longer: Vec<u32> = tails
            .iter()
            .take(options.ngrams - 1)
            .map(|&tail| {
                *chains.entry((tail, decided)).or_insert_with(|| {
                    let gram = format!("{} {}", terms.name(tail), terms.name(decided));
                    terms.intern(&gram)
                })
            })
            .collect();
        longer.iter().for_each(|&gram| visit(gram, 1));
        tails.clear();
        tails.push(decided);
        tails.extend(longer);
    }

    /// How many distinct terms were seen; numbers are below this.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// The text of a term.
    pub fn term(&self, id: u32) -> &str {
        self.terms.name(id)
    }

    /// The options it works by.
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// Forgets all words and terms. Numbers start from 0 again.
    pub fn clear(&mut self) {
        self.raw.clear();
        self.terms.clear();
        self.grams.clear();
        self.chains.clear();
        self.plain = is_plain(&self.options);
    }

    /// Bytes held on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        self.raw.heap_bytes()
            + self.terms.heap_bytes()
            + self.grams.iter().map(|g| g.len() * 4 + 16).sum::<usize>()
            + self.chains.capacity() * 13
    }
}

/// Whether two ASCII words are one term only if they differ in nothing but case, and terms are made of nothing but words.
fn is_plain(options: &TextOptions) -> bool {
    options.stem.is_none() && options.digits != Digits::Fold && options.ngrams == 1 && options.char_ngrams.is_none()
}

/// The term of a raw word, written into `form`, or `None` when it is dropped.
fn decide<'f>(
    options: &TextOptions,
    stemmer: Option<&frostem::Stemmer>,
    stop_words: &FxHashSet<String>,
    raw: &str,
    form: &'f mut String,
) -> Option<&'f str> {
    form.clear();
    let length = if raw.is_ascii() {
        form.push_str(raw);
        if options.lowercase {
            form.make_ascii_lowercase();
        }
        raw.len()
    } else {
        if is_nfc(raw) {
            form.push_str(raw);
        } else {
            form.extend(raw.nfc());
        }
        if options.lowercase {
            *form = form.to_lowercase();
        }
        form.chars().count()
    };
    if length < options.min_length || length > options.max_length || stop_words.contains(form.as_str()) {
        return None;
    }
    match options.digits {
        Digits::Keep => {}
        Digits::Fold => *form = form.chars().map(|c| if c.is_numeric() { '0' } else { c }).collect(),
        Digits::Numbers if !form.chars().any(char::is_alphabetic) => return None,
        Digits::Drop if form.chars().any(char::is_numeric) => return None,
        Digits::Numbers | Digits::Drop => {}
    }
    if let Some(stemmer) = stemmer {
        let stem = stemmer.stem(form);
        // A stem of nothing would join unrelated words.
        if !stem.is_empty() && stem != form.as_str() {
            let stem = stem.to_string();
            *form = stem;
        }
    }
    Some(form)
}

/// All n-grams of a word between blanks, shorter first, left to right.
fn character_ngrams(word: &str, low: usize, high: usize) -> impl Iterator<Item = String> {
    let padded: Vec<char> = std::iter::once(' ').chain(word.chars()).chain(std::iter::once(' ')).collect();
    (low..=high.min(padded.len()))
        .flat_map(move |n| padded.windows(n).map(|w| w.iter().collect::<String>()).collect::<Vec<_>>())
        .filter(|gram| !gram.trim().is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(options: &TextOptions, text: &str) -> Vec<String> {
        let mut analyzer = Analyzer::new(options).unwrap();
        let mut ids = Vec::new();
        analyzer.analyze(&Body::Text(text.into()), |term, _| ids.push(term));
        ids.into_iter().map(|id| analyzer.term(id).to_owned()).collect()
    }

    #[test]
    fn default_is_lower_case_words_of_two_letters_or_more() {
        assert_eq!(terms(&TextOptions::default(), "A Tale of TWO Cities"), ["tale", "of", "two", "cities"]);
    }

    #[test]
    fn stop_words_and_stems() {
        let options = TextOptions { stop_words: super::super::stop_words("en").unwrap(), ..TextOptions::default() };
        let options = options.stemmed("english").unwrap();
        assert_eq!(terms(&options, "The running of the connections"), ["run", "connect"]);
    }

    #[test]
    fn word_ngrams_span_what_is_left() {
        let options = TextOptions { ngrams: 3, min_length: 1, ..TextOptions::default() };
        assert_eq!(
            terms(&options, "new york city hall"),
            ["new", "york", "new york", "city", "york city", "new york city", "hall", "city hall", "york city hall"]
        );
    }

    #[test]
    fn ngrams_do_not_cross_documents() {
        let options = TextOptions { ngrams: 2, ..TextOptions::default() };
        let mut analyzer = Analyzer::new(&options).unwrap();
        for text in ["one two", "three four"] {
            analyzer.analyze(&Body::Text(text.into()), |_, _| {});
        }
        let all: Vec<&str> = (0..analyzer.terms() as u32).map(|t| analyzer.term(t)).collect();
        assert_eq!(all, ["one", "two", "one two", "three", "four", "three four"]);
    }

    #[test]
    fn character_ngrams_stay_within_words() {
        let options = TextOptions { char_ngrams: Some((3, 3)), ..TextOptions::default() };
        assert_eq!(terms(&options, "the fox"), [" th", "the", "he ", " fo", "fox", "ox "]);
    }

    #[test]
    fn digits_policies() {
        let with = |digits| terms(&TextOptions { digits, ..TextOptions::default() }, "win95 1995 plain");
        assert_eq!(with(Digits::Keep), ["win95", "1995", "plain"]);
        assert_eq!(with(Digits::Fold), ["win00", "0000", "plain"]);
        assert_eq!(with(Digits::Numbers), ["win95", "plain"]);
        assert_eq!(with(Digits::Drop), ["plain"]);
    }

    #[test]
    fn canonical_forms_are_one_term() {
        assert_eq!(terms(&TextOptions::default(), "caf\u{e9} cafe\u{301} CAFÉ"), ["café", "café", "café"]);
    }

    /// Whatever way a term is reached, it is one.
    #[test]
    fn terms_are_distinct() {
        let long = "Electroencephalographically";
        let texts =
            [long, "kelvin 5\u{212a} \u{212a}elvin", &long.to_lowercase(), "5k ANGSTROM \u{212b}ngstrom ångstrom"];
        for lowercase in [false, true] {
            let mut analyzer = Analyzer::new(&TextOptions { lowercase, ..TextOptions::default() }).unwrap();
            for _ in 0..2 {
                for text in texts {
                    analyzer.analyze(&Body::Text(text.into()), |_, _| {});
                }
                analyzer.analyze(&Body::Counts(vec![("kelvin".into(), 3), ("fresh".into(), 1)]), |_, _| {});
                analyzer.analyze(&Body::Text("fresh kelvin new".into()), |_, _| {});
                let all: Vec<&str> = (0..analyzer.terms() as u32).map(|t| analyzer.term(t)).collect();
                let distinct: std::collections::BTreeSet<&str> = all.iter().copied().collect();
                assert_eq!(all.len(), distinct.len(), "{all:?}");
                assert_eq!(all.contains(&"5K"), !lowercase, "{all:?}");
            }
        }
    }

    #[test]
    fn places_are_those_of_the_terms() {
        let text = "Ah — the Naïve café\u{301}, a fox's 🦊 den!";
        let plain = TextOptions { stop_words: vec!["the".into()], ..TextOptions::default() };
        let pairs = TextOptions { ngrams: 3, ..plain.clone() };
        let grams = TextOptions { char_ngrams: Some((3, 4)), ..plain.clone() };
        for options in [&plain, &pairs, &grams] {
            let mut analyzer = Analyzer::new(options).unwrap();
            let mut found = Vec::new();
            analyzer.places(text, |range, term| found.push((range, term)));
            let terms_found: Vec<&str> = found.iter().map(|(_, t)| analyzer.term(*t)).collect();
            assert_eq!(terms_found, terms(options, text));
            for (range, _) in &found {
                assert!(text.get(range.clone()).is_some(), "{range:?} cuts a character");
            }
        }
        let mut analyzer = Analyzer::new(&pairs).unwrap();
        let mut spans = Vec::new();
        analyzer.places(text, |range, term| spans.push((text[range].to_owned(), term)));
        let spans: Vec<(&str, &str)> = spans.iter().map(|(s, t)| (s.as_str(), analyzer.term(*t))).collect();
        assert!(spans.contains(&("Ah — the Naïve", "ah naïve")), "{spans:?}");
        assert!(spans.contains(&("Naïve café\u{301}, a fox's", "naïve café\u{301} fox's")), "{spans:?}");
    }

    #[test]
    fn ready_tokens_are_filtered_and_counts_are_not() {
        let mut analyzer = Analyzer::new(&TextOptions::default()).unwrap();
        let mut seen = Vec::new();
        analyzer.analyze(&Body::Tokens(vec!["Foo".into(), "x".into(), "".into()]), |t, n| seen.push((t, n)));
        analyzer.analyze(&Body::Counts(vec![("Foo".into(), 3), ("7".into(), 1)]), |t, n| seen.push((t, n)));
        let seen: Vec<(&str, u32)> = seen.iter().map(|&(t, n)| (analyzer.term(t), n)).collect();
        assert_eq!(seen, [("foo", 1), ("Foo", 3), ("7", 1)]);
    }
}
