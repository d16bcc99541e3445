//! Text → terms, by the options, with every decision made once for each distinct raw word.

use std::ops::Range;

use super::TextOptions;
use super::block::{TEXT_FIELD, Unit};
use super::characters::Characters;
use super::html::{Html, Stripped, stripped_body};
use super::word_grams::WordGrams;
use crate::Result;
use crate::corpus::Body;
use crate::counts::Lexicon;

/// Turns bodies into numbers of terms. Numbers are given in order of first sight and stay until [`Analyzer::clear`]:
/// the caller maps them to whatever it needs (a vocabulary being built, the features of a model).
pub struct Analyzer {
    options: TextOptions,
    blocks: Vec<Reader>,
    terms: Lexicon,
    /// Whether a document had what each block reads.
    seen: Vec<bool>,
}

/// What reads one block.
enum Reader {
    Words(Box<WordGrams>),
    Characters(Box<Characters>),
}

impl Analyzer {
    /// Checks the options and starts with nothing seen.
    pub fn new(options: &TextOptions) -> Result<Self> {
        let reader = |(at, unit)| match unit {
            Unit::Words => WordGrams::new(options, at).map(|new| Reader::Words(Box::new(new))),
            Unit::Chars => Characters::new(options, at).map(|new| Reader::Characters(Box::new(new))),
        };
        let blocks = options.blocks().iter().map(|block| block.unit).enumerate().map(reader);
        Ok(Self {
            blocks: blocks.collect::<Result<_>>()?,
            options: options.clone(),
            terms: Lexicon::default(),
            seen: vec![false; options.blocks().len()],
        })
    }

    /// Hands the term of each token to `visit` with the number of occurrences it stands for (1, but for ready counts),
    /// block by block, each in the order of the text, n-grams of words after the shorter ones.
    #[inline]
    pub fn analyze(&mut self, body: &Body<'_>, visit: impl FnMut(u32, u32)) {
        match self.options.html() {
            Html::Keep => self.analyze_plain(body, visit),
            Html::Strip => self.analyze_plain(&stripped_body(body), visit),
        }
    }

    fn analyze_plain(&mut self, body: &Body<'_>, mut visit: impl FnMut(u32, u32)) {
        let Self { options, blocks, terms, seen } = self;
        if let Body::Counts(counts) = body {
            seen.fill(true);
            for reader in blocks.iter_mut() {
                if let Reader::Words(words) = reader {
                    words.not_alone();
                }
            }
            counts.iter().for_each(|(term, count)| visit(terms.intern(term), *count));
            return;
        }
        let visit = &mut |term| visit(term, 1);
        for ((reader, block), seen) in blocks.iter_mut().zip(options.blocks()).zip(seen) {
            match body {
                Body::Tokens(tokens) if block.field() == TEXT_FIELD => {
                    *seen = true;
                    let mut tokens = tokens.iter().map(AsRef::as_ref).filter(|t: &&str| !t.is_empty());
                    match reader {
                        Reader::Words(words) => words.tokens(terms, tokens, visit),
                        Reader::Characters(chars) => tokens.by_ref().for_each(|token| chars.run(terms, token, visit)),
                    }
                }
                _ => {
                    let Some(text) = body.field(block.field()) else { continue };
                    *seen = true;
                    match reader {
                        Reader::Words(words) => words.text(terms, text, visit),
                        Reader::Characters(chars) => chars.text(terms, text, visit),
                    }
                }
            }
        }
    }

    /// Hands every term of a text to `visit` with the bytes it was made of, in the order of [`Analyzer::analyze`]. Places may
    /// overlap: an n-gram spans from its first word or character to its last.
    pub fn places(&mut self, text: &str, visit: impl FnMut(Range<usize>, u32)) {
        self.places_in(TEXT_FIELD, text, visit);
    }

    /// The same for the text of a field.
    pub fn places_in(&mut self, field: &str, text: &str, mut visit: impl FnMut(Range<usize>, u32)) {
        let stripped = (self.options.html() == Html::Strip).then(|| Stripped::new(text));
        let text = stripped.as_ref().map_or(text, |stripped| stripped.text.as_str());
        let mut visit = |range: Range<usize>, term| {
            visit(stripped.as_ref().map_or(range.clone(), |stripped| stripped.was(range)), term);
        };
        let Self { options, blocks, terms, .. } = self;
        for (reader, _) in blocks.iter_mut().zip(options.blocks()).filter(|(_, block)| block.field() == field) {
            match reader {
                Reader::Words(words) => words.places(terms, text, &mut visit),
                Reader::Characters(chars) => chars.places(terms, text, &mut visit),
            }
        }
    }

    /// Whether a document was analysed that has what each block reads.
    pub(crate) fn seen(&self) -> &[bool] {
        &self.seen
    }

    /// How many distinct terms were seen; numbers are below this.
    pub fn terms(&self) -> usize {
        self.terms.len()
    }

    /// The text of a term, with the mark of its block: [`TextOptions::shown`] is for people.
    pub fn term(&self, id: u32) -> String {
        let mut name = String::new();
        self.write_term(id, &mut name);
        name
    }

    /// Appends the text of a term to a string.
    pub fn write_term(&self, id: u32, out: &mut String) {
        self.terms.write(id, out);
    }

    /// The terms as they were numbered.
    pub(crate) fn lexicon(&self) -> &Lexicon {
        &self.terms
    }

    /// The options it works by.
    pub fn options(&self) -> &TextOptions {
        &self.options
    }

    /// Forgets all words and terms. Numbers start from 0 again.
    pub fn clear(&mut self) {
        self.terms.clear();
        for reader in &mut self.blocks {
            match reader {
                Reader::Words(words) => words.clear(),
                Reader::Characters(chars) => chars.clear(),
            }
        }
    }

    /// Bytes held on the heap, about.
    pub fn heap_bytes(&self) -> usize {
        let blocks = self.blocks.iter().map(|reader| match reader {
            Reader::Words(words) => words.heap_bytes(),
            Reader::Characters(chars) => chars.heap_bytes(),
        });
        self.terms.heap_bytes() + blocks.sum::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(expression: &str) -> TextOptions {
        expression.parse().unwrap()
    }

    fn terms(expression: &str, text: &str) -> Vec<String> {
        let mut analyzer = Analyzer::new(&options(expression)).unwrap();
        let mut ids = Vec::new();
        analyzer.analyze(&Body::Text(text.into()), |term, _| ids.push(term));
        ids.into_iter().map(|id| analyzer.term(id)).collect()
    }

    #[test]
    fn default_is_lower_case_words_of_two_letters_or_more() {
        assert_eq!(terms("words", "A Tale of TWO Cities"), ["tale", "of", "two", "cities"]);
    }

    #[test]
    fn stop_words_and_stems() {
        assert_eq!(terms("words(stop=en,stem=en)", "The running of the connections"), ["run", "connect"]);
    }

    #[test]
    fn word_ngrams_span_what_is_left() {
        assert_eq!(
            terms("words(1-3,min=1)", "new york city hall"),
            ["new", "york", "city", "hall", "new york", "york city", "city hall", "new york city", "york city hall"]
        );
    }

    #[test]
    fn ngrams_do_not_cross_documents() {
        let mut analyzer = Analyzer::new(&options("words(1-2)")).unwrap();
        for text in ["one two", "three four"] {
            analyzer.analyze(&Body::Text(text.into()), |_, _| {});
        }
        let all: Vec<String> = (0..analyzer.terms() as u32).map(|t| analyzer.term(t)).collect();
        assert_eq!(all, ["one", "two", "one two", "three", "four", "three four"]);
    }

    #[test]
    fn character_ngrams_stay_within_words() {
        assert_eq!(terms("chars(3)", "the fox"), [" th", "the", "he ", " fo", "fox", "ox "]);
    }

    #[test]
    fn digits_policies() {
        let with = |digits| terms(&format!("words(digits={digits})"), "win95 1995 plain");
        assert_eq!(with("keep"), ["win95", "1995", "plain"]);
        assert_eq!(with("fold"), ["win00", "0000", "plain"]);
        assert_eq!(with("numbers"), ["win95", "plain"]);
        assert_eq!(with("drop"), ["plain"]);
    }

    #[test]
    fn canonical_forms_are_one_term() {
        assert_eq!(terms("words", "caf\u{e9} cafe\u{301} CAFÉ"), ["café", "café", "café"]);
    }

    /// Whatever way a term is reached, it is one.
    #[test]
    fn terms_are_distinct() {
        let long = "Electroencephalographically";
        let texts =
            [long, "kelvin 5\u{212a} \u{212a}elvin", &long.to_lowercase(), "5k ANGSTROM \u{212b}ngstrom ångstrom"];
        for (case, lowercase) in [("keep", false), ("fold", true)] {
            let expression = format!("words(case={case},form=nfc)");
            let mut analyzer = Analyzer::new(&options(&expression)).unwrap();
            for _ in 0..2 {
                for text in texts {
                    analyzer.analyze(&Body::Text(text.into()), |_, _| {});
                }
                analyzer.analyze(&Body::Counts(vec![("kelvin".into(), 3), ("fresh".into(), 1)]), |_, _| {});
                analyzer.analyze(&Body::Text("fresh kelvin new".into()), |_, _| {});
                let all: Vec<String> = (0..analyzer.terms() as u32).map(|t| analyzer.term(t)).collect();
                let distinct: std::collections::BTreeSet<&String> = all.iter().collect();
                assert_eq!(all.len(), distinct.len(), "{all:?}");
                assert_eq!(all.iter().any(|term| term == "5K"), !lowercase, "{all:?}");
            }
        }
    }

    #[test]
    fn ngrams_may_begin_above_one_word() {
        let mut analyzer = Analyzer::new(&options("words(2-3)")).unwrap();
        let mut found = Vec::new();
        analyzer.analyze(&Body::Text("new york city hall 手机很好".into()), |term, _| found.push(term));
        let found: Vec<String> = found.iter().map(|&t| analyzer.term(t)).collect();
        assert_eq!(found[..6], ["手机", "手机很", "手机很好", "机很", "机很好", "很好"]);
        assert_eq!(found[6..], ["new york", "york city", "city hall", "new york city", "york city hall"]);
        // Nothing else was numbered.
        assert_eq!(analyzer.terms(), found.len());
    }

    #[test]
    fn blocks_never_share_a_term() {
        let options = options("words+chars(3)+words(1-2,case=keep)");
        let mut analyzer = Analyzer::new(&options).unwrap();
        let mut found = Vec::new();
        analyzer.analyze(&Body::Text("fox Fox".into()), |term, _| found.push(term));
        let found: Vec<String> = found.iter().map(|&t| analyzer.term(t)).collect();
        let found: Vec<(usize, &str)> = found.iter().map(|t| options.block_of(t)).collect();
        let chars = [(1, " fo"), (1, "fox"), (1, "ox ")];
        let expected: Vec<(usize, &str)> =
            [[(0, "fox"); 2].as_slice(), &chars, &chars, &[(2, "fox"), (2, "Fox"), (2, "fox Fox")]].concat();
        assert_eq!(found, expected);
        assert_eq!(analyzer.terms(), 7);
    }

    #[test]
    fn short_characters_are_kept_where_they_are_words() {
        assert_eq!(terms("words", "買 a 手机 ＡＢＣ ab ｶﾞ"), ["買", "手", "手机", "机", "abc", "ab", "ガ"]);
        assert_eq!(terms("words(kind=unicode)", "買 a 手机 ab"), ["ab"]);
    }

    #[test]
    fn no_run_is_too_long_for_characters() {
        let long = "很".repeat(300);
        assert_eq!(terms("chars(1-2)", &long).len(), 300 + 301);
        assert_eq!(terms("chars(2,kind=text)", "A  b\nc"), ["a ", " b", "b ", " c"]);
    }

    #[test]
    fn places_are_those_of_the_terms() {
        let text = "Ah — the Naïve café\u{301}, a fox's 🦊 den! 手机Ｘ";
        for expression in ["words", "words(1-3)", "chars(3-4)", "words(2-3)+chars(1-2,kind=text)", "chars(2-3,stem=en)"]
        {
            let mut analyzer = Analyzer::new(&options(expression)).unwrap();
            let mut found = Vec::new();
            analyzer.places(text, |range, term| found.push((range, term)));
            let terms_found: Vec<String> = found.iter().map(|(_, t)| analyzer.term(*t)).collect();
            assert_eq!(terms_found, terms(expression, text));
            for (range, _) in &found {
                assert!(text.get(range.clone()).is_some(), "{range:?} cuts a character");
            }
        }
        let spans = |expression: &str| {
            let mut analyzer = Analyzer::new(&options(expression)).unwrap();
            let mut spans = Vec::new();
            analyzer.places(text, |range, term| spans.push((text[range].to_owned(), term)));
            let named = spans.into_iter().map(|(span, term)| (span, analyzer.term(term)));
            named.collect::<Vec<(String, String)>>()
        };
        let has = |expression: &str, span: &str, term: &str| {
            let found = spans(expression);
            assert!(found.contains(&(span.to_owned(), term.to_owned())), "{found:?}");
        };
        has("words(1-3)", "Ah — the", "ah the");
        has("words(1-3)", "Naïve café\u{301}, a fox's", "naïve café\u{301} fox's");
        has("words", "手机", "手机");
        has("chars(3)", "Naï", "naï");
        has("chars(3)", "Na", " na");
        has("chars(2)", "机Ｘ", "机x");
        has("chars(2)", "fé\u{301}", "fé");
    }

    #[test]
    fn html_is_no_words_where_it_is_stripped() {
        let html = "<div>Caf&eacute;<br>au <b>l</b>ait</div>";
        let found = |html_is: Html| {
            let mut analyzer = Analyzer::new(&options("words").with_html(html_is)).unwrap();
            let (mut terms, mut places) = (Vec::new(), Vec::new());
            analyzer.analyze(&Body::Text(html.into()), |term, _| terms.push(term));
            analyzer.places(html, |range, _| places.push(&html[range]));
            (terms.iter().map(|&t| analyzer.term(t)).collect::<Vec<_>>(), places)
        };
        let (terms, places) = found(Html::Strip);
        assert_eq!(terms, ["café", "au", "lait"]);
        assert_eq!(places, ["Caf&eacute;", "au", "l</b>ait"]);
        assert!(found(Html::Keep).0.contains(&"div".to_owned()));
    }

    #[test]
    fn ready_tokens_are_filtered_and_counts_are_not() {
        let mut analyzer = Analyzer::new(&TextOptions::default()).unwrap();
        let mut seen = Vec::new();
        analyzer.analyze(&Body::Tokens(vec!["Foo".into(), "x".into(), "".into()]), |t, n| seen.push((t, n)));
        analyzer.analyze(&Body::Counts(vec![("Foo".into(), 3), ("7".into(), 1)]), |t, n| seen.push((t, n)));
        let seen: Vec<(String, u32)> = seen.iter().map(|&(t, n)| (analyzer.term(t), n)).collect();
        let seen: Vec<(&str, u32)> = seen.iter().map(|(t, n)| (t.as_str(), *n)).collect();
        assert_eq!(seen, [("foo", 1), ("Foo", 3), ("7", 1)]);
    }
}
