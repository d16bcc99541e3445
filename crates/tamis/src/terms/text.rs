//! How text becomes terms: the options, as one value that travels inside a model.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::block::{Block, Digits, Form, TEXT_FIELD, Unit};
use super::html::Html;
use super::languages::{SNOWBALL_DATE, stop_words};
use super::scripts::needs_dictionary;
use super::{Words, expression};
use crate::{Error, Result};

/// Most blocks of an expression.
pub(crate) const MOST_BLOCKS: usize = 8;

/// Everything that decides which terms a text has: a terms expression, with the stop words it names. Classification uses the
/// very options that training used.
///
/// Parses and prints as the expression; see the module's documentation for what may stand in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Stored", into = "Current")]
pub struct TextOptions {
    blocks: Vec<Block>,
    /// The lists that blocks name. Stored, because another version may have other words.
    stop_words: BTreeMap<String, Vec<String>>,
    /// The algorithms' date, [`SNOWBALL_DATE`] when the options were made; empty without stemming.
    stem_date: String,
    /// Whether words were cut with dictionaries where scripts need them, by the build that made the options; none where no
    /// block asks.
    dictionaries: Option<bool>,
    html: Html,
}

impl Default for TextOptions {
    fn default() -> Self {
        let blocks = vec![Block::words()];
        Self {
            dictionaries: dictionaries(&blocks),
            blocks,
            stop_words: BTreeMap::new(),
            stem_date: String::new(),
            html: Html::default(),
        }
    }
}

/// Whether this build has the dictionaries, where a block would look into them.
fn dictionaries(blocks: &[Block]) -> Option<bool> {
    let asks = |block: &Block| block.unit == Unit::Words && block.words == Words::Scripts;
    blocks.iter().any(asks).then_some(cfg!(feature = "segmenter"))
}

impl TextOptions {
    /// Options of these blocks. `lists` are the stop words that they name; those of languages may be left out.
    pub fn new(blocks: Vec<Block>, mut lists: BTreeMap<String, Vec<String>>) -> Result<Self> {
        if blocks.is_empty() || blocks.len() > MOST_BLOCKS {
            return Err(Error::data(format!("a terms expression has 1 to {MOST_BLOCKS} blocks")));
        }
        let mut stop = BTreeMap::new();
        for block in &blocks {
            block.validate()?;
            let Some(name) = &block.stop else { continue };
            let words = match lists.remove(name) {
                Some(words) => words,
                None if stop.contains_key(name) => continue,
                None if name.starts_with('@') => {
                    return Err(Error::data(format!("the list of stop words {name} was not given")));
                }
                None => stop_words(name)?,
            };
            stop.insert(name.clone(), words);
        }
        let stems = blocks.iter().any(|block| block.stem.is_some());
        let stem_date = if stems { SNOWBALL_DATE } else { "" }.to_owned();
        Ok(Self { dictionaries: dictionaries(&blocks), blocks, stop_words: stop, stem_date, html: Html::default() })
    }

    /// The same with another treatment of HTML.
    pub fn with_html(self, html: Html) -> Self {
        Self { html, ..self }
    }

    /// What happens to HTML in texts.
    pub fn html(&self) -> Html {
        self.html
    }

    /// Its blocks.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The stop words of a block.
    pub fn stop_words(&self, block: &Block) -> &[String] {
        block.stop.as_ref().and_then(|name| self.stop_words.get(name)).map_or(&[], Vec::as_slice)
    }

    /// The fields that it reads, in the order of the expression; only `text` where no block names one.
    pub fn fields(&self) -> Vec<&str> {
        let mut fields: Vec<&str> = Vec::new();
        for block in &self.blocks {
            if !fields.contains(&block.field()) {
                fields.push(block.field());
            }
        }
        fields
    }

    /// The same with other blocks, which name no list of words that these do not.
    pub(super) fn with_blocks(&self, blocks: Vec<Block>) -> Self {
        let mut new = Self { blocks, ..self.clone() };
        new.stop_words.retain(|name, _| new.blocks.iter().any(|block| block.stop.as_ref() == Some(name)));
        if new.blocks.iter().all(|block| block.stem.is_none()) {
            new.stem_date.clear();
        }
        new.dictionaries = new.dictionaries.filter(|_| dictionaries(&new.blocks).is_some());
        new
    }

    /// Whether it reads fields other than the text.
    pub fn has_fields(&self) -> bool {
        self.blocks.iter().any(|block| block.field() != TEXT_FIELD)
    }

    /// What to say where the stemmers of these options are not those of this build.
    pub fn stemmed_otherwise(&self) -> Option<String> {
        (!self.stem_date.is_empty() && self.stem_date != SNOWBALL_DATE).then(|| {
            format!(
                "the model was trained with the Snowball stemmers of {}, this program has those of {SNOWBALL_DATE}: \
                 some words may be stemmed differently",
                self.stem_date
            )
        })
    }

    /// Why this build cannot go on with these terms: they are of scripts whose words it would cut otherwise.
    pub(crate) fn cut_otherwise<'t>(&self, mut terms: impl Iterator<Item = &'t str>) -> Option<&'static str> {
        let has = self.dictionaries.filter(|&has| has != cfg!(feature = "segmenter"))?;
        terms.any(|term| term.chars().any(needs_dictionary)).then_some(if has {
            "its words of Thai, Lao, Khmer or Burmese were cut with dictionaries, which this build does not have (cargo \
             feature `segmenter`): it would find other terms; take a build with them"
        } else {
            "its words of Thai, Lao, Khmer or Burmese were cut without dictionaries, and this build has them (cargo feature \
             `segmenter`): it would find other terms; train or count again"
        })
    }

    /// What stands before the terms of a block, so that blocks never share one; nothing where there is one block only.
    pub(super) fn mark(&self, block: usize) -> Option<char> {
        (self.blocks.len() > 1).then(|| char::from(1 + block as u8))
    }

    /// The term of a block as it is stored.
    pub(crate) fn marked(&self, block: usize, plain: &str) -> String {
        self.mark(block).map_or_else(|| plain.to_owned(), |mark| format!("{mark}{plain}"))
    }

    /// The terms that somebody may mean by a word of a list: the one that reads so ([`TextOptions::shown`]), else, where none does, that
    /// word in every block.
    pub fn meant(&self, written: &str) -> Vec<String> {
        let blocks = 0..self.blocks.len();
        let as_shown = |at: usize| {
            let block = &self.blocks[at];
            let plain = written.strip_suffix(&format!(" [{}]", at + 1)).unwrap_or(written);
            let plain = match &block.field {
                Some(field) => plain.strip_prefix(field.as_str())?.strip_prefix(':')?,
                None => plain,
            };
            let plain = match block.unit {
                Unit::Chars => plain.trim_start_matches('‹').trim_end_matches('›').replace('␣', " "),
                Unit::Words => plain.to_owned(),
            };
            let term = self.marked(at, &plain);
            (self.shown(&term) == written).then_some(term)
        };
        // `title:sea` might be a word of the text, too; what says its block is meant so.
        let shown = blocks.clone().filter_map(as_shown).min_by_key(String::len);
        shown.map_or_else(|| blocks.map(|at| self.marked(at, written)).collect(), |term| vec![term])
    }

    /// Whether terms carry the mark of a block, or are of a field.
    pub fn marks_terms(&self) -> bool {
        self.blocks.len() > 1 || self.blocks[0].field.is_some()
    }

    /// The block that a term is from, and the term without its mark.
    pub fn block_of<'t>(&self, term: &'t str) -> (usize, &'t str) {
        let marked = (0..self.blocks.len()).find_map(|at| Some((at, term.strip_prefix(self.mark(at)?)?)));
        marked.unwrap_or((0, term))
    }

    /// The block of each term; nothing where there is but one.
    pub(crate) fn blocks_of<'t>(&self, terms: impl Iterator<Item = &'t str>) -> Vec<u8> {
        if self.blocks.len() < 2 { Vec::new() } else { terms.map(|term| self.block_of(term).0 as u8).collect() }
    }

    /// A term as it reads for people: `title:new york`, `‹␣th›` for characters, and `word [2]` where the second block has the
    /// same field and kind as one before. Where all terms are of one block and of no field, it is the term itself, with
    /// visible blanks where it is of characters.
    pub fn shown<'t>(&self, term: &'t str) -> Cow<'t, str> {
        let (at, plain) = self.block_of(term);
        let block = &self.blocks[at];
        if !self.marks_terms() {
            let blanks = block.unit == Unit::Chars && plain.contains(' ');
            return if blanks { Cow::Owned(plain.replace(' ', "␣")) } else { Cow::Borrowed(plain) };
        }
        let mut shown = Cow::Borrowed(plain);
        if block.unit == Unit::Chars {
            shown = Cow::Owned(format!("‹{}›", plain.replace(' ', "␣")));
        }
        if let Some(field) = &block.field {
            shown = Cow::Owned(format!("{field}:{shown}"));
        }
        let alike = |other: &&Block| (other.unit, other.field()) == (block.unit, block.field());
        if self.blocks[..at].iter().any(|other| alike(&other)) {
            shown = Cow::Owned(format!("{shown} [{}]", at + 1));
        }
        shown
    }
}

impl fmt::Display for TextOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, block) in self.blocks.iter().enumerate() {
            if at > 0 {
                f.write_str("+")?;
            }
            block.fmt(f)?;
        }
        Ok(())
    }
}

impl FromStr for TextOptions {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(expression::parse(text, &Block::of)?, BTreeMap::new())
    }
}

/// The options in a file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Stored {
    Current(Current),
    Old(Old),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Current {
    terms: String,
    #[serde(default)]
    stop_words: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    stem_date: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dictionaries: Option<bool>,
    #[serde(default, skip_serializing_if = "is_kept")]
    html: Html,
}

/// What is usual is not stored, so that files are as they were.
fn is_kept(html: &Html) -> bool {
    *html == Html::Keep
}

/// As files had them before there were expressions: one block, words by UAX 29 whatever the script.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Old {
    #[serde(default = "uax29")]
    words: Words,
    lowercase: bool,
    min_length: usize,
    max_length: usize,
    #[serde(default)]
    digits: Digits,
    #[serde(default)]
    stop_words: Vec<String>,
    #[serde(default)]
    stem: Option<String>,
    #[serde(default)]
    stem_date: String,
    ngrams: usize,
    #[serde(default)]
    char_ngrams: Option<(usize, usize)>,
}

fn uax29() -> Words {
    Words::Unicode
}

/// The name of a list of stop words that has none of its own.
pub(super) const OWN_LIST: &str = "@list";

impl From<TextOptions> for Current {
    fn from(options: TextOptions) -> Self {
        let TextOptions { stop_words, stem_date, dictionaries, html, .. } = options.clone();
        Self { terms: options.to_string(), stop_words, stem_date, dictionaries, html }
    }
}

impl TryFrom<Stored> for TextOptions {
    type Error = Error;

    fn try_from(stored: Stored) -> Result<Self> {
        let html = match &stored {
            Stored::Current(now) => now.html,
            Stored::Old(_) => Html::Keep,
        };
        let (blocks, lists, stem_date, dictionaries) = match stored {
            Stored::Current(now) => {
                (expression::parse(&now.terms, &Block::of)?, now.stop_words, now.stem_date, now.dictionaries)
            }
            Stored::Old(old) => {
                let block = Block {
                    field: None,
                    unit: if old.char_ngrams.is_some() { Unit::Chars } else { Unit::Words },
                    range: old.char_ngrams.unwrap_or((1, old.ngrams)),
                    words: old.words,
                    lowercase: old.lowercase,
                    form: Form::Nfc,
                    min_length: old.min_length,
                    max_length: old.max_length,
                    digits: old.digits,
                    stop: (!old.stop_words.is_empty()).then(|| OWN_LIST.to_owned()),
                    stem: old.stem,
                };
                (vec![block], BTreeMap::from([(OWN_LIST.to_owned(), old.stop_words)]), old.stem_date, None)
            }
        };
        let new = Self::new(blocks, lists)?;
        Ok(Self { stem_date, html, dictionaries: dictionaries.or(new.dictionaries), ..new })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_travel_as_json() {
        let own = BTreeMap::from([("@mine".to_owned(), vec!["foo".to_owned()])]);
        let blocks = expression::parse("words(1-2,stop=@mine)+title:chars(3,stop=en,stem=en)", &Block::of).unwrap();
        let options = TextOptions::new(blocks, own).unwrap();
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(serde_json::from_str::<TextOptions>(&json).unwrap(), options);
        assert!(
            json.starts_with(r#"{"terms":"words(1-2,stop=@mine)+title:chars(3,stop=english,stem=english)""#),
            "{json}"
        );
        assert_eq!(options.fields(), ["text", "title"]);
    }

    #[test]
    fn what_happens_to_html_is_stored() {
        let options = TextOptions::default().with_html(Html::Strip);
        let json = serde_json::to_string(&options).unwrap();
        assert!(json.contains(r#""html":"strip""#), "{json}");
        assert_eq!(serde_json::from_str::<TextOptions>(&json).unwrap(), options);
        assert!(!serde_json::to_string(&TextOptions::default()).unwrap().contains("html"));
    }

    #[test]
    fn options_of_old_files_are_read() {
        let old = r#"{"words":"unicode","lowercase":true,"min_length":2,"max_length":40,"digits":"fold",
            "stop_words":["the"],"stem":"english","stem_date":"20240101","ngrams":2,"char_ngrams":null}"#;
        let options: TextOptions = serde_json::from_str(old).unwrap();
        assert_eq!(options.to_string(), "words(1-2,kind=unicode,form=nfc,digits=fold,stop=@list,stem=english)");
        assert_eq!(options.stop_words(&options.blocks()[0]), ["the"]);
        assert!(options.stemmed_otherwise().unwrap().contains("20240101"));
        let old = r#"{"lowercase":true,"min_length":2,"max_length":40,"ngrams":1,"char_ngrams":[2,3]}"#;
        let options: TextOptions = serde_json::from_str(old).unwrap();
        assert_eq!(options.to_string(), "chars(2-3,kind=unicode,form=nfc,min=2,max=40)");
    }

    #[test]
    fn terms_say_their_block() {
        let options: TextOptions = "words+title:words+chars(3)+words(2)".parse().unwrap();
        let term = |block: usize, name: &str| format!("{}{name}", options.mark(block).unwrap());
        assert_eq!(options.block_of(&term(2, " th")), (2, " th"));
        assert_eq!(options.shown(&term(0, "sea")), "sea");
        assert_eq!(options.shown(&term(1, "sea")), "title:sea");
        assert_eq!(options.shown(&term(2, " th")), "‹␣th›");
        assert_eq!(options.shown(&term(3, "new york")), "new york [4]");
        assert_eq!(TextOptions::default().shown("new york"), "new york");
        assert_eq!("chars(3)".parse::<TextOptions>().unwrap().shown(" th"), "␣th");
    }

    #[test]
    fn terms_of_a_list_are_found_as_they_read() {
        let options: TextOptions = "words+title:words+chars(3)+words(2)".parse().unwrap();
        for block in 0..4 {
            let term = options.marked(block, "sea");
            assert_eq!(options.meant(&options.shown(&term)), [term], "a term that is shown is itself");
        }
        assert_eq!(options.meant("‹␣th›"), [options.marked(2, " th")]);
        let fields: TextOptions = "title:words+body:words".parse().unwrap();
        assert_eq!(fields.meant("sea"), [fields.marked(0, "sea"), fields.marked(1, "sea")], "of every block");
        assert_eq!(fields.meant("body:sea"), [fields.marked(1, "sea")]);
        assert_eq!(TextOptions::default().meant("new york"), ["new york"]);
        assert_eq!("chars(3)".parse::<TextOptions>().unwrap().meant("␣th"), [" th"]);
    }

    #[test]
    fn words_that_this_build_cuts_otherwise_are_refused() {
        let has = cfg!(feature = "segmenter");
        let stored = |terms: &str, dictionaries: bool| -> TextOptions {
            serde_json::from_str(&format!(r#"{{"terms":"{terms}","dictionaries":{dictionaries}}}"#)).unwrap()
        };
        let thai = ["sea", "อาหาร"];
        assert!(stored("words", !has).cut_otherwise(thai.into_iter()).unwrap().contains("`segmenter`"));
        assert_eq!(stored("words", has).cut_otherwise(thai.into_iter()), None);
        assert_eq!(stored("words", !has).cut_otherwise(["sea", "手机"].into_iter()), None);
        // Who stores it: blocks that ask dictionaries, and only those.
        let json = |terms: &str| serde_json::to_string(&terms.parse::<TextOptions>().unwrap()).unwrap();
        assert!(json("words").contains(&format!("\"dictionaries\":{has}")));
        assert!(!json("chars(1-2)").contains("dictionaries") && !json("words(kind=unicode)").contains("dictionaries"));
    }

    #[test]
    fn lists_that_nobody_gave_are_missed() {
        let error = "words(stop=@mine)".parse::<TextOptions>().unwrap_err().to_string();
        assert!(error.contains("@mine"), "{error}");
    }
}
