//! Options whose terms are some of those of wider options, so that one count serves all.

use super::block::{Block, Unit};
use super::{Analyzer, TextOptions};
use crate::corpus::Body;
use crate::{Error, Result};

impl TextOptions {
    /// The options worth comparing whose terms are all among those of these: shorter n-grams (of characters at least pairs), each
    /// block alone, and the first block with each of the others. Narrower ones stand before wider ones. Pieces of words (three
    /// characters and more) beside words are taken as they are and with these.
    pub fn narrower(&self) -> Vec<Self> {
        let shorter = |block: &Block| -> Vec<Block> {
            let (low, high) = block.range;
            let least = if block.unit == Unit::Words { low } else { low.max(2).min(high) };
            (least..=high).map(|high| Block { range: (low, high), ..block.clone() }).collect()
        };
        let (first, rest) = (&self.blocks()[0], &self.blocks()[1..]);
        let mut sets: Vec<Vec<Block>> = Vec::new();
        if !rest.is_empty() && rest.iter().all(is_piece) && first.unit == Unit::Words {
            sets.extend(shorter(first).into_iter().map(|block| vec![block]));
            sets.extend(rest.iter().map(|block| vec![first.clone(), block.clone()]));
        } else {
            if !rest.is_empty() {
                sets.extend(self.blocks().iter().flat_map(shorter).map(|block| vec![block]));
            }
            sets.extend(shorter(first).into_iter().map(|block| [&[block], rest].concat()));
        }
        sets.into_iter().map(|blocks| self.with_blocks(blocks)).collect()
    }

    /// Whether some terms are pieces of words: three characters and more.
    pub(crate) fn has_pieces(&self) -> bool {
        self.blocks().iter().any(is_piece)
    }

    /// For each of the terms of these options, the block of narrower ones that has it too. Words are joined by blanks, so that
    /// mostly tells; scripts without blanks have longer terms instead, and there the narrower block is asked what the term
    /// itself gives.
    pub fn also_in<'t>(&self, narrow: &Self, terms: impl Iterator<Item = &'t str>) -> Result<Vec<Option<usize>>> {
        let mut readers: Vec<Option<(usize, Reader)>> = Vec::new();
        readers.resize_with(self.blocks().len(), || None);
        for (at, block) in narrow.blocks().iter().enumerate() {
            let wide = self.blocks().iter().position(|wide| is_within(block, wide));
            let wide = wide.ok_or_else(|| Error::data(format!("{narrow} has terms that {self} does not have")))?;
            readers[wide] = Some((at, Reader::new(block, &self.blocks()[wide])?));
        }
        let also = |term: &str| {
            let (block, plain) = self.block_of(term);
            let (at, reader) = readers[block].as_mut()?;
            reader.has(plain).then_some(*at)
        };
        Ok(terms.map(also).collect())
    }
}

fn is_piece(block: &Block) -> bool {
    block.unit == Unit::Chars && block.range.0 >= 3
}

/// Whether a block is another with n-grams of at most its length.
fn is_within(narrow: &Block, wide: &Block) -> bool {
    narrow.range.0 == wide.range.0
        && narrow.range.1 <= wide.range.1
        && *narrow == Block { range: narrow.range, ..wide.clone() }
}

/// Tells which terms of a block are terms of a narrower one.
enum Reader {
    All,
    Characters(usize),
    Words { longest: usize, analyzer: Box<Analyzer>, units: Vec<u32> },
}

impl Reader {
    fn new(narrow: &Block, wide: &Block) -> Result<Self> {
        let longest = narrow.range.1;
        Ok(match narrow.unit {
            _ if narrow == wide => Self::All,
            Unit::Chars => Self::Characters(longest),
            Unit::Words => {
                // Terms are stemmed already, and none is a stop word.
                let plain = Block { field: None, stem: None, stop: None, ..narrow.clone() };
                let analyzer = Analyzer::new(&TextOptions::new(vec![plain], std::collections::BTreeMap::new())?)?;
                Self::Words { longest, analyzer: Box::new(analyzer), units: Vec::new() }
            }
        })
    }

    fn has(&mut self, term: &str) -> bool {
        match self {
            Self::All => true,
            Self::Characters(longest) => term.chars().count() <= *longest,
            Self::Words { longest, .. } if term.is_ascii() || term.contains(' ') => {
                term.bytes().filter(|&b| b == b' ').count() < *longest
            }
            Self::Words { analyzer, units, .. } => {
                units.clear();
                analyzer.analyze(&Body::Text(term.into()), |unit, _| units.push(unit));
                units.iter().any(|&unit| analyzer.term(unit) == term)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(expression: &str) -> TextOptions {
        expression.parse().unwrap()
    }

    #[test]
    fn narrower_options_stand_before_wider_ones() {
        let shown = |text: &str| options(text).narrower().iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(shown("words"), ["words"]);
        let stems = ["words(stem=english)", "words(1-2,stem=english)", "words(1-3,stem=english)"];
        assert_eq!(shown("words(1-3,stem=en)"), stems);
        assert_eq!(shown("chars(1)"), ["chars(1)"]);
        assert_eq!(shown("words+chars(1-3)"), ["words", "chars(1-2)", "chars(1-3)", "words+chars(1-3)"]);
        assert_eq!(
            shown("words(1-2)+chars(1-2)"),
            ["words", "words(1-2)", "chars(1-2)", "words+chars(1-2)", "words(1-2)+chars(1-2)"]
        );
        assert_eq!(
            shown("words(1-2)+chars(3-5)+chars(3-5,kind=text)"),
            ["words", "words(1-2)", "words(1-2)+chars(3-5)", "words(1-2)+chars(3-5,kind=text)"]
        );
    }

    #[test]
    fn what_is_not_narrower_is_refused() {
        let none: [&str; 0] = [];
        for other in ["words(1-3)", "words(2)", "chars(1-2)", "words(case=keep)"] {
            let error = options("words(1-2)").also_in(&options(other), none.into_iter()).unwrap_err().to_string();
            assert!(error.contains("does not have"), "{other}: {error}");
        }
    }
}
