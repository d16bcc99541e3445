//! HTML in texts: told from prose, and taken off so that its tags are no words.
//!
//! Tags are searched for, not parsed: what people call HTML in a column of texts rarely is a document. Places are kept, so that
//! words can be shown where they stand in the text as it was given.

use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::char::compose;

use crate::corpus::Body;
use crate::named::named;

named! {
    /// What happens to HTML in texts.
    #[derive(Default)]
    pub enum Html ("treatment of HTML") {
        /// Nothing: tags and entities are characters like others.
        #[default]
        Keep = "keep",
        /// Tags, comments, scripts and styles go, entities become their characters.
        Strip = "strip",
    }
}

/// Tags that stand within words; all others part them.
const INLINE: [&str; 22] = [
    "a", "abbr", "acronym", "b", "big", "cite", "code", "em", "font", "i", "ins", "kbd", "mark", "q", "s", "small",
    "span", "strong", "sub", "sup", "tt", "u",
];

/// Tags by which HTML is recognised: no prose has them in angle brackets.
const TELLING: [&str; 26] = [
    "a",
    "b",
    "blockquote",
    "body",
    "br",
    "div",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "head",
    "html",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "script",
    "span",
    "strong",
    "table",
    "td",
    "tr",
    "ul",
];

/// Whether a text has tags of HTML: a closing one, or one that needs none.
pub fn looks_like_html(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        rest = &rest[at..];
        let Some(tag) = Tag::of(rest) else {
            rest = &rest[1..];
            continue;
        };
        let alone = matches!(tag.name.as_str(), "br" | "img" | "p" | "html" | "body");
        if TELLING.contains(&tag.name.as_str()) && (tag.closes || alone) {
            return true;
        }
        rest = &rest[tag.length..];
    }
    false
}

/// A text without HTML, and where its parts come from.
pub(super) struct Stripped {
    pub(super) text: String,
    pieces: Vec<Piece>,
}

/// A stretch of the stripped text, up to the next one.
struct Piece {
    /// Where it begins.
    at: usize,
    /// What it was: as long as itself, or an entity.
    was: Range<usize>,
    entity: bool,
}

impl Stripped {
    pub(super) fn new(html: &str) -> Self {
        let mut stripped = Self { text: String::with_capacity(html.len()), pieces: Vec::new() };
        let mut at = 0;
        while let Some(found) = html[at..].find(['<', '&']) {
            stripped.verbatim(html, at..at + found);
            at += found;
            let rest = &html[at..];
            if let Some((character, length)) = entity(rest) {
                stripped.replaced(character, at..at + length);
                at += length;
            } else if let Some(tag) = Tag::of(rest) {
                let mut length = tag.length;
                if matches!(tag.name.as_str(), "script" | "style") && !tag.closes {
                    length += content(&rest[length..], &tag.name);
                }
                if !INLINE.contains(&tag.name.as_str()) {
                    stripped.replaced(' ', at..at + length);
                }
                at += length;
            } else {
                stripped.verbatim(html, at..at + 1);
                at += 1;
            }
        }
        stripped.verbatim(html, at..html.len());
        stripped
    }

    fn verbatim(&mut self, html: &str, was: Range<usize>) {
        if !was.is_empty() {
            self.pieces.push(Piece { at: self.text.len(), was: was.clone(), entity: false });
            self.text.push_str(&html[was]);
        }
    }

    fn replaced(&mut self, character: char, was: Range<usize>) {
        self.pieces.push(Piece { at: self.text.len(), was, entity: true });
        self.text.push(character);
    }

    /// Where bytes of the stripped text were in the HTML.
    pub(super) fn was(&self, range: Range<usize>) -> Range<usize> {
        let piece = |at: usize| &self.pieces[self.pieces.partition_point(|piece| piece.at <= at).saturating_sub(1)];
        if self.pieces.is_empty() || range.is_empty() {
            return 0..0;
        }
        let (first, last) = (piece(range.start), piece(range.end - 1));
        let start = if first.entity { first.was.start } else { first.was.start + (range.start - first.at) };
        let end = if last.entity { last.was.end } else { last.was.start + (range.end - last.at) };
        start..end
    }
}

/// A body whose texts are without HTML; tokens and counts have none.
pub(super) fn stripped_body<'b>(body: &'b Body<'b>) -> Cow<'b, Body<'b>> {
    match body {
        Body::Text(text) => Cow::Owned(Body::Text(Stripped::new(text).text.into())),
        Body::Fields(fields) => Cow::Owned(Body::Fields(
            fields.iter().map(|(name, text)| (Cow::Borrowed(name.as_ref()), Stripped::new(text).text.into())).collect(),
        )),
        Body::Tokens(_) | Body::Counts(_) => Cow::Borrowed(body),
    }
}

/// A tag at the beginning of a text.
struct Tag {
    /// In lower case; empty for comments and declarations.
    name: String,
    closes: bool,
    length: usize,
}

impl Tag {
    fn of(text: &str) -> Option<Self> {
        let inner = text.strip_prefix('<')?;
        if let Some(comment) = inner.strip_prefix("!--") {
            let end = comment.find("-->").map_or(text.len(), |at| "<!--".len() + at + "-->".len());
            return Some(Self { name: String::new(), closes: false, length: end });
        }
        let closes = inner.starts_with('/');
        let inner = inner.strip_prefix('/').unwrap_or(inner);
        let declares = inner.starts_with(['!', '?']);
        if !declares && !inner.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return None;
        }
        let name = inner.split(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or_default().to_ascii_lowercase();
        // A bracket within quotes is part of an attribute; a tag is not longer than a page.
        let mut quote = None;
        for (at, c) in inner.char_indices().take_while(|(at, _)| *at < LONGEST_TAG) {
            match (quote, c) {
                (None, '>') => return Some(Self { name, closes, length: text.len() - inner.len() + at + 1 }),
                (None, '<') => return None,
                (None, '"' | '\'') if inner[..at].trim_end().ends_with('=') => quote = Some(c),
                (Some(open), _) if c == open => quote = None,
                _ => {}
            }
        }
        None
    }
}

/// Longest tag, in bytes: images within attributes are long, prose after a stray bracket is longer.
const LONGEST_TAG: usize = 4096;

/// Bytes of the content of an element that is no text, with its closing tag.
fn content(text: &str, name: &str) -> usize {
    let bytes = text.as_bytes();
    let close = format!("</{name}");
    let found = (0..bytes.len().saturating_sub(close.len() - 1))
        .find(|&at| bytes[at] == b'<' && bytes[at..at + close.len()].eq_ignore_ascii_case(close.as_bytes()));
    found.map_or(text.len(), |at| at + text[at..].find('>').map_or(text.len() - at, |end| end + 1))
}

/// The character of an entity at the beginning of a text, and the entity's length.
fn entity(text: &str) -> Option<(char, usize)> {
    let inner = text.strip_prefix('&')?;
    let end = inner.as_bytes().iter().take(12).position(|&b| b == b';')?;
    let name = &inner[..end];
    let number = name.strip_prefix('#').and_then(|number| match number.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok(),
        None => number.parse().ok(),
    });
    let character = match number {
        Some(number) => char::from_u32(number).filter(|c| !c.is_control()).unwrap_or(' '),
        None => named_entity(name)?,
    };
    Some((character, end + 2))
}

/// Entities by name: signs, and letters of Latin-1 by their accent.
fn named_entity(name: &str) -> Option<char> {
    const SIGNS: [(&str, char); 37] = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("shy", '\u{ad}'),
        ("copy", '©'),
        ("reg", '®'),
        ("trade", '™'),
        ("deg", '°'),
        ("middot", '·'),
        ("bull", '•'),
        ("hellip", '…'),
        ("ndash", '–'),
        ("mdash", '—'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("sbquo", '‚'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("bdquo", '„'),
        ("laquo", '«'),
        ("raquo", '»'),
        ("euro", '€'),
        ("pound", '£'),
        ("yen", '¥'),
        ("cent", '¢'),
        ("sect", '§'),
        ("para", '¶'),
        ("times", '×'),
        ("szlig", 'ß'),
        ("aelig", 'æ'),
        ("AElig", 'Æ'),
        ("oslash", 'ø'),
        ("Oslash", 'Ø'),
        ("oelig", 'œ'),
    ];
    const ACCENTS: [(&str, char); 8] = [
        ("grave", '\u{300}'),
        ("acute", '\u{301}'),
        ("circ", '\u{302}'),
        ("tilde", '\u{303}'),
        ("uml", '\u{308}'),
        ("ring", '\u{30a}'),
        ("caron", '\u{30c}'),
        ("cedil", '\u{327}'),
    ];
    if let Some((_, sign)) = SIGNS.iter().find(|(sign, _)| *sign == name) {
        return Some(*sign);
    }
    let letter = name.chars().next().filter(char::is_ascii_alphabetic)?;
    let (_, accent) = ACCENTS.iter().find(|(accent, _)| *accent == &name[1..])?;
    compose(letter, *accent)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn strip(html: &str) -> String {
        Stripped::new(html).text.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn tags_go_and_entities_are_read() {
        assert_eq!(strip("<p>Hello<br/>you &amp; <b>m</b>e</p>"), "Hello you & me");
        assert_eq!(strip("caf&eacute; &Uuml;ber &#8364; &#x41; &nbsp;x &szlig;"), "café Über € A x ß");
        assert_eq!(
            strip("a<!-- <b>no</b> -->b<script type=\"x\">var p = '<p>';</script>c<STYLE>p {}</style>d"),
            "a b c d"
        );
        assert_eq!(strip("<a href=\"x>y\" title='a > b'>link</a>"), "link");
        assert_eq!(strip("<!DOCTYPE html><html><td>a</td><td>b</td>"), "a b");
        for prose in ["3 < 4 and 5 > 4", "a <- b", "AT&T; R&D", "x <", "&", "&nosuch; &#xzz;", "<3 you"] {
            assert_eq!(strip(prose), prose);
        }
    }

    #[test]
    fn html_is_told_from_prose() {
        for html in ["<p>a", "a<br>b", "x <b>y</b>", "<div class=\"a\">b</div>", "<IMG SRC=x>"] {
            assert!(looks_like_html(html), "{html}");
        }
        for prose in ["3 < 4 > 2", "mail <me@here.org>", "List<String> a", "<grin>", "", "<", "a <b c"] {
            assert!(!looks_like_html(prose), "{prose}");
        }
    }

    #[test]
    fn places_are_those_of_the_html() {
        let html = "<p>caf&eacute;s <b>f</b>ox</p>";
        let stripped = Stripped::new(html);
        let place = |word: &str| {
            let at = stripped.text.find(word).unwrap();
            &html[stripped.was(at..at + word.len())]
        };
        assert_eq!(place("cafés"), "caf&eacute;s");
        assert_eq!(place("fox"), "f</b>ox");
        assert_eq!(place("é"), "&eacute;");
    }

    proptest! {
        #[test]
        fn any_text_is_stripped(text in "(<|>|&|;|/|!--|-->|\"|=|p|script|é| |amp|#){0,60}") {
            let stripped = Stripped::new(&text);
            for (at, c) in stripped.text.char_indices() {
                prop_assert!(text.get(stripped.was(at..at + c.len_utf8())).is_some());
            }
            looks_like_html(&text);
        }
    }
}
