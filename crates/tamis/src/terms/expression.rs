//! Terms expressions: the one string that says what a term is, everywhere.
//!
//! ```text
//! terms  := block { "+" block }                  words(1-2)+chars(3-5)
//! block  := [ field ":" ] kind [ "(" [ part { "," part } ] ")" ]      title:words(1-2,stem=english)
//! kind   := "words" | "chars"
//! part   := range | option "=" value             the range first: 1-2, or 3 for 3-3
//! option := kind | case | form | min | max | digits | stop | stem
//! field, value := a name, or anything in double quotes
//! ```
//! Blanks between the parts are allowed and not printed. What is usual is not printed either.

use std::fmt;
use std::ops::{Deref, DerefMut};

use super::block::{Block, Digits, Form, NO_LIMIT, Unit, length, range, range_rule};
use super::languages::{algorithm, stop_language_name};
use super::{MOST_BLOCKS, Words};
use crate::cursor::Cursor;
use crate::{Error, Result};

/// The options of a block, in the order in which they are printed.
const OPTIONS: [&str; 8] = ["kind", "case", "form", "min", "max", "digits", "stop", "stem"];

/// Reads an expression. `base` makes the block of a kind as it is where the expression says nothing else.
pub(super) fn parse(text: &str, base: &dyn Fn(Unit) -> Block) -> Result<Vec<Block>> {
    let mut parser = Parser { cursor: Cursor::new(text) };
    let mut blocks = Vec::new();
    loop {
        if blocks.len() == MOST_BLOCKS {
            return Err(parser.error(format!("an expression has at most {MOST_BLOCKS} blocks")));
        }
        let start = parser.at;
        let block = parser.block(base)?;
        if blocks.contains(&block) {
            parser.at = start;
            parser.blanks();
            return Err(parser.error(format!("the block {block} stands twice")));
        }
        blocks.push(block);
        if !parser.eat('+') {
            break;
        }
    }
    parser.blanks();
    match parser.rest().chars().next() {
        None => Ok(blocks),
        Some(c) => Err(parser.error(format!("expected '+' and another block, or the end, found {c:?}"))),
    }
}

struct Parser<'a> {
    cursor: Cursor<'a>,
}

impl<'a> Deref for Parser<'a> {
    type Target = Cursor<'a>;

    fn deref(&self) -> &Cursor<'a> {
        &self.cursor
    }
}

impl DerefMut for Parser<'_> {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.cursor
    }
}

impl Parser<'_> {
    /// A name, or anything in quotes, where a quote is written as `\"` and a backslash as `\\`.
    fn name(&mut self) -> Result<String> {
        if !self.eat('"') {
            let rest = self.rest();
            let name = &rest[..rest.find(|c| !is_plain(c)).unwrap_or(rest.len())];
            self.at += name.len();
            return Ok(name.to_owned());
        }
        let start = self.at - 1;
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(name);
                }
                '\\' => name.extend(chars.next().map(|(_, c)| c)),
                c => name.push(c),
            }
        }
        Err(self.error_at(start, "this quote is not closed"))
    }

    fn block(&mut self, base: &dyn Fn(Unit) -> Block) -> Result<Block> {
        const EXPECTED: &str = "expected words or chars, such as words(1-2)+chars(3-5)";
        self.blanks();
        let mut start = self.at;
        let mut name = self.name()?;
        let mut field = None;
        if self.eat(':') {
            if name.is_empty() {
                return Err(self.error_at(start, "expected the name of a field before ':'"));
            }
            field = Some(name);
            self.blanks();
            start = self.at;
            name = self.name()?;
        }
        if name.is_empty() {
            return Err(self.error(EXPECTED));
        }
        let unit: Unit = name.parse().map_err(|e: Error| self.error_at(start, e.to_string()))?;
        let mut block = Block { field, ..base(unit) };
        if self.eat('(') && !self.eat(')') {
            let mut said = Vec::new();
            loop {
                self.part(&mut block, &mut said)?;
                if !self.eat(',') {
                    break;
                }
            }
            if !self.eat(')') {
                return Err(self.error(format!("expected ',' and an option, or ')' to end {unit}")));
            }
        }
        if block.min_length > block.max_length {
            let said = format!("min={} is above max={}", block.min_length, length(block.max_length));
            return Err(self.error_at(start, said));
        }
        block.validate().map_err(|e| self.error_at(start, e.to_string()))?;
        Ok(block)
    }

    /// A range or an option; `said` are those before it.
    fn part(&mut self, block: &mut Block, said: &mut Vec<String>) -> Result<()> {
        self.blanks();
        let start = self.at;
        let option = self.name()?;
        if option.starts_with(|c: char| c.is_ascii_digit()) {
            if !said.is_empty() {
                return Err(self.error_at(start, "the range stands first, as in words(1-2,stem=english)"));
            }
            said.push(String::new());
            let found = self::range_of(&option).filter(|(low, high)| *low > 0 && low <= high);
            block.range = found
                .filter(|(_, high)| *high <= Block::longest(block.unit))
                .ok_or_else(|| self.error_at(start, format!("the range {option} {}", range_rule(block.unit))))?;
            return Ok(());
        }
        if !OPTIONS.contains(&option.as_str()) {
            let reason = if option.is_empty() {
                format!("expected a range such as 1-2, or an option: {}", OPTIONS.join(" "))
            } else {
                Error::unknown("option", &option, OPTIONS).to_string()
            };
            return Err(self.error_at(start, reason));
        }
        if said.contains(&option) {
            return Err(self.error_at(start, format!("{option} is said twice in one block")));
        }
        if !self.eat('=') {
            return Err(self.error(format!("expected '=' and a value, as in {option}=…")));
        }
        self.blanks();
        let start = self.at;
        let value = self.name()?;
        set(block, &option, &value).map_err(|e| self.error_at(start, e.to_string()))?;
        said.push(option);
        Ok(())
    }
}

/// Whether a character needs no quotes.
fn is_plain(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '+' | '(' | ')' | ',' | '=' | '"')
}

/// `1-2`, or `3` for `3-3`.
pub(super) fn range_of(text: &str) -> Option<(usize, usize)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    Some((low.trim().parse().ok()?, high.trim().parse().ok()?))
}

/// Sets an option by its name.
fn set(block: &mut Block, option: &str, value: &str) -> Result<()> {
    let number = |allowed: &str| {
        value.parse::<usize>().map_err(|_| Error::data(format!("{option} is {allowed}, not {value:?}")))
    };
    match option {
        "kind" => block.words = value.parse::<Words>()?,
        "case" => {
            block.lowercase = match value {
                "fold" => true,
                "keep" => false,
                other => return Err(Error::unknown("case", other, ["fold", "keep"])),
            }
        }
        "form" => block.form = value.parse::<Form>()?,
        "min" => block.min_length = number("a number of characters")?,
        "max" if value == "none" => block.max_length = NO_LIMIT,
        "max" => block.max_length = number("a number of characters, or none")?,
        "digits" => block.digits = value.parse::<Digits>()?,
        "stop" if value == "none" => block.stop = None,
        "stop" if value.starts_with('@') => block.stop = Some(value.to_owned()),
        "stop" => block.stop = Some(stop_language_name(value)?.to_owned()),
        "stem" if value == "none" => block.stem = None,
        "stem" => block.stem = Some(algorithm(value)?.name().to_owned()),
        _ => return Err(Error::unknown("option", option, OPTIONS)),
    }
    Ok(())
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.0.is_empty() && self.0.chars().all(is_plain) {
            f.write_str(self.0)
        } else {
            write!(f, "\"{}\"", self.0.replace('\\', "\\\\").replace('"', "\\\""))
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let usual = Self::of(self.unit);
        if let Some(field) = &self.field {
            write!(f, "{}:", Quoted(field))?;
        }
        let mut parts = Vec::new();
        let mut part = |differs: bool, option: &str, value: String| {
            if differs {
                parts.push(format!("{option}={value}"));
            }
        };
        part(self.words != usual.words, "kind", self.words.to_string());
        part(self.lowercase != usual.lowercase, "case", if self.lowercase { "fold" } else { "keep" }.to_owned());
        part(self.form != usual.form, "form", self.form.to_string());
        part(self.min_length != usual.min_length, "min", self.min_length.to_string());
        part(self.max_length != usual.max_length, "max", length(self.max_length));
        part(self.digits != usual.digits, "digits", self.digits.to_string());
        part(self.stop.is_some(), "stop", Quoted(self.stop.as_deref().unwrap_or_default()).to_string());
        part(self.stem.is_some(), "stem", self.stem.clone().unwrap_or_default());
        // The usual range of words goes without saying; that of characters is always said, since nobody knows it by heart.
        if self.range != usual.range || self.unit == Unit::Chars {
            parts.insert(0, range(self.range));
        }
        f.write_str(self.unit.name())?;
        if parts.is_empty() { Ok(()) } else { write!(f, "({})", parts.join(",")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<String> {
        let blocks = parse(text, &Block::of)?;
        let printed = blocks.iter().map(Block::to_string).collect::<Vec<_>>().join("+");
        assert_eq!(parse(&printed, &Block::of)?, blocks, "{printed}");
        Ok(printed)
    }

    #[test]
    fn parses_and_prints_back() {
        for (written, printed) in [
            ("words", "words"),
            ("words()", "words"),
            ("words(1)", "words"),
            (" words ( 1 - 2 ) ", "words(1-2)"),
            ("chars", "chars(2-5)"),
            ("words(1-2)+chars(3-5)", "words(1-2)+chars(3-5)"),
            ("title:words(1-2)+body:words", "title:words(1-2)+body:words"),
            (
                "words(1-2,stem=en,stop=en,case=keep,min=2,max=40,digits=fold,kind=letters)",
                "words(1-2,kind=letters,case=keep,digits=fold,stop=english,stem=english)",
            ),
            ("\"my \\\"field\":words(stop=@\"a b.txt\")", "\"my \\\"field\":words(stop=\"@a b.txt\")"),
            ("chars(3,kind=text,max=none,min=1,form=nfc)", "chars(3,kind=text,form=nfc)"),
        ] {
            // A range with blanks inside is written without them.
            let written = written.replace("1 - 2", "1-2").replace("@\"a b.txt\"", "\"@a b.txt\"");
            assert_eq!(read(&written).unwrap(), printed, "{written}");
        }
    }

    #[test]
    fn errors_point_at_the_character() {
        for (text, at, reason) in [
            ("wrods", 0, "did you mean words?"),
            ("", 0, "expected words or chars"),
            ("words+", 6, "expected words or chars"),
            ("words+grams(2)", 6, "unknown kind of block"),
            ("words(2-1)", 6, "must be ascending, from 1 to 8"),
            ("chars(0-3)", 6, "must be ascending"),
            ("chars(3-99)", 6, "from 1 to 16"),
            ("words(stem=klingon)", 11, "unknown stemmer"),
            ("words(stop=klingon)", 11, "unknown stop-word language"),
            ("words(1-2", 9, "expected ','"),
            ("words(size=3)", 6, "unknown option"),
            ("words(min=x)", 10, "a number of characters"),
            ("words(min=9,max=3)", 0, "min=9 is above max=3"),
            ("words(stem=en,stem=de)", 14, "stem is said twice"),
            ("words(kind=text)", 0, "is for characters"),
            ("words words", 6, "expected '+'"),
            (":words", 0, "name of a field"),
            ("\"a:words", 0, "not closed"),
            ("words+words", 6, "stands twice"),
            ("words(stem=en,1-2)", 14, "the range stands first"),
        ] {
            match parse(text, &Block::of) {
                Err(Error::Expression { at: found, reason: said, .. }) => {
                    assert!(said.contains(reason), "{text}: {said}");
                    assert_eq!(found, at, "{text}: {said}");
                }
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
