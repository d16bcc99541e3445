//! Reuters-21578 as distributed: SGML files of stories, with the splits of its README (ModApte, ModLewis).
//!
//! The files are not quite SGML (control characters, a stray Latin-1 byte), so tags are searched for, not parsed.

use std::borrow::Cow;
use std::ops::ControlFlow;

use memchr::{memchr, memmem};
use serde::{Deserialize, Serialize};

use super::blocks::{Block, FileContext, HAS_NUL, Parse, Visit, too_long};
use super::fields::tidy_labels;
use super::source::forgiving;
use super::{Body, Document, Part};
use crate::Result;
use crate::named::named;

/// How a story begins.
pub(crate) const START: &[u8] = b"<REUTERS";

named! {
    /// Which categories of a Reuters story are its labels.
    #[derive(Default)]
    pub enum ReutersLabels ("set of Reuters categories") {
        /// Economic subjects: what text categorisation means by Reuters-21578.
        #[default]
        Topics = "topics",
        /// Places.
        Places = "places",
        /// People.
        People = "people",
        /// Organisations.
        Orgs = "orgs",
        /// Stock exchanges.
        Exchanges = "exchanges",
    }
}

named! {
    /// A split of the Reuters-21578 README, section VIII.
    #[derive(Default)]
    pub enum ReutersSplit ("Reuters split") {
        /// Modified Apte: `LEWISSPLIT` with `TOPICS="YES"`; 9,603 train, 3,299 test, 8,676 in neither part.
        #[default]
        ModApte = "modapte",
        /// Modified Lewis: `LEWISSPLIT` with `TOPICS` `"YES"` or `"NO"`; 13,625 train, 6,188 test, 1,765 in neither part.
        ModLewis = "modlewis",
        /// No parts.
        None = "none",
    }
}

named! {
    /// What happens to stories that the split leaves out.
    #[derive(Default)]
    pub enum Unused ("fate of unused stories") {
        /// They are read, and are in neither part.
        #[default]
        Keep = "keep",
        /// They are passed over.
        Drop = "drop",
    }
}

/// How Reuters-21578 is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReutersOptions {
    /// Which categories are the labels.
    pub labels: ReutersLabels,
    /// Which split gives the parts.
    pub split: ReutersSplit,
    /// What happens to stories outside the split.
    pub unused: Unused,
}

pub(crate) struct Reuters {
    context: FileContext,
    options: ReutersOptions,
}

impl Reuters {
    pub(crate) fn new(context: FileContext, options: ReutersOptions) -> Self {
        Self { context, options }
    }

    fn part(&self, head: &str) -> Option<Part> {
        let topics = attribute(head, "TOPICS").unwrap_or_default();
        let used = match self.options.split {
            ReutersSplit::ModApte => topics == "YES",
            ReutersSplit::ModLewis => topics == "YES" || topics == "NO",
            ReutersSplit::None => false,
        };
        match attribute(head, "LEWISSPLIT") {
            Some("TRAIN") if used => Some(Part::Train),
            Some("TEST") if used => Some(Part::Test),
            _ => None,
        }
    }

    /// `None` for a story that is passed over.
    fn document(&self, line: u64, record: &[u8]) -> Result<Option<Document<'static>>> {
        if record.len() > self.context.limit {
            return Err(self.context.error(line, too_long(self.context.limit)));
        }
        if memchr(0, record).is_some() {
            return Err(self.context.error(line, HAS_NUL));
        }
        let story = forgiving(record);
        let Some((head, rest)) = story.split_once('>') else {
            return Err(self.context.error(line, "the <REUTERS …> tag is not closed"));
        };
        let Some((story, _)) = rest.split_once("</REUTERS>") else {
            let reason = "the story has no </REUTERS>: the file breaks off; fetch it again";
            return Err(self.context.error(line, reason));
        };
        let part = self.part(head).or(self.context.part);
        if part.is_none() && self.options.split != ReutersSplit::None && self.options.unused == Unused::Drop {
            return Ok(None);
        }
        let categories = match self.options.labels {
            ReutersLabels::Topics => "TOPICS",
            ReutersLabels::Places => "PLACES",
            ReutersLabels::People => "PEOPLE",
            ReutersLabels::Orgs => "ORGS",
            ReutersLabels::Exchanges => "EXCHANGES",
        };
        if let Some(tag) = unclosed(story, categories) {
            let reason = format!("<{tag}> is not closed: the story is damaged; fetch it again");
            return Err(self.context.error(line, reason));
        }
        let mut labels = Vec::new();
        let mut list = element(story, categories).unwrap_or_default();
        while let Some((label, rest)) = list.split_once("<D>").and_then(|(_, d)| d.split_once("</D>")) {
            labels.push(Cow::Owned(decode(label)));
            list = rest;
        }
        tidy_labels(&mut labels);
        let id = match attribute(head, "NEWID") {
            Some(id) => id.to_owned(),
            None => self.context.id_of_line(line),
        };
        Ok(Some(Document {
            id: id.into(),
            body: Body::Text(text(story).into()),
            labels,
            part,
            date: element(story, "DATE").and_then(iso_date).map(Cow::Owned),
            weight: None,
        }))
    }
}

impl Parse for Reuters {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        for (line, record) in block.starting_with(START) {
            if let Some(document) = self.document(line, record).transpose() {
                visit(document)?;
            }
        }
        ControlFlow::Continue(())
    }
}

/// Title and body; for the types UNPROC (no mark-up within) and BRIEF (no body) whatever there is.
fn text(story: &str) -> String {
    let all = match story.find("<TEXT").and_then(|at| story[at..].split_once('>')) {
        Some((_, rest)) => rest.split_once("</TEXT>").map_or(rest, |(text, _)| text),
        None => return String::new(),
    };
    let (title, body) = (element(all, "TITLE"), element(all, "BODY"));
    match (title, body) {
        (None, None) => decode(all),
        (Some(title), Some(body)) => decode(title) + "\n" + &decode(body),
        (Some(one), None) | (None, Some(one)) => decode(one),
    }
}

/// A tag of what is read that opens and does not close, so that its content would be lost or be too much.
fn unclosed<'t>(story: &str, categories: &'t str) -> Option<&'t str> {
    let opens = |text: &str, tag: &str| text.find(&format!("<{tag}>")).or_else(|| text.find(&format!("<{tag} ")));
    let closes = |text: &str, tag: &str| text.contains(&format!("</{tag}>"));
    if opens(story, categories).is_some() && !closes(story, categories) {
        return Some(categories);
    }
    let list = element(story, categories).unwrap_or_default();
    if list.matches("<D>").count() != list.matches("</D>").count() {
        return Some("D");
    }
    let text = &story[opens(story, "TEXT")?..];
    if !closes(text, "TEXT") {
        return Some("TEXT");
    }
    ["TITLE", "BODY"].into_iter().find(|tag| opens(text, tag).is_some() && !closes(text, tag))
}

/// The content of the first element with a name.
pub(crate) fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut from = 0;
    loop {
        let open = from + memmem::find(&text.as_bytes()[from..], name.as_bytes())?;
        from = open + name.len();
        if text[..open].ends_with('<') && text[from..].starts_with('>') {
            let content = &text[from + 1..];
            let mut close = 0;
            while let Some((before, after)) = content[close..].split_once("</") {
                if after.strip_prefix(name).is_some_and(|rest| rest.starts_with('>')) {
                    return Some(&content[..close + before.len()]);
                }
                close += before.len() + 2;
            }
            return None;
        }
    }
}

fn attribute<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.split_once(&format!(" {name}=\"")).and_then(|(_, value)| value.split_once('"')).map(|(value, _)| value)
}

/// Entities decoded; control characters, which are teletype codes here, become spaces; ends are trimmed.
fn decode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut push = |c: char| out.push(if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c });
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        rest[..at].chars().for_each(&mut push);
        rest = &rest[at + 1..];
        match rest.split_once(';').and_then(|(name, after)| Some((entity(name)?, after))) {
            Some((c, after)) => {
                push(c);
                rest = after;
            }
            None => push('&'),
        }
    }
    rest.chars().for_each(&mut push);
    let trimmed = out.trim();
    if trimmed.len() == out.len() { out } else { trimmed.to_owned() }
}

fn entity(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => name.strip_prefix('#').and_then(|number| number.parse().ok()).and_then(char::from_u32),
    }
}

/// `26-FEB-1987 15:01:01.79` as `1987-02-26T15:01:01.79`; `None` for anything else.
fn iso_date(date: &str) -> Option<String> {
    const MONTHS: [&str; 12] = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
    let mut words = date.split_whitespace();
    let mut fields = words.next()?.split('-');
    let day: u32 = fields.next()?.parse().ok().filter(|day| (1..=31).contains(day))?;
    let month = fields.next()?.to_ascii_uppercase();
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let year: u32 = fields.next()?.parse().ok().filter(|year| (1000..=9999).contains(year))?;
    let is_time = |time: &&str| time.len() >= 8 && time.bytes().all(|b| b.is_ascii_digit() || b":.".contains(&b));
    let time = words.next().filter(is_time).map(|time| format!("T{time}")).unwrap_or_default();
    Some(format!("{year:04}-{month:02}-{day:02}{time}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_entities_and_elements() {
        assert_eq!(iso_date(" 2-MAR-1987 04:43:22.10").unwrap(), "1987-03-02T04:43:22.10");
        assert_eq!(iso_date("5-APR-1987 x").unwrap(), "1987-04-05");
        assert_eq!(iso_date("soon"), None);
        assert_eq!(decode("&#2;\nA &lt;B> &amp; C&D &nosuch; \u{1f}E&#127;"), "A <B> & C&D &nosuch;  E");
        assert_eq!(element("<AB>1</AB><A>2</B></A>", "A"), Some("2</B>"));
        assert_eq!(element("<A>2", "A"), None);
    }
}
