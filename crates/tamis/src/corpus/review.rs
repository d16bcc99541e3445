//! The `.review` files of the multi-domain sentiment collection (Blitzer, Dredze, Pereira 2007): pseudo-XML with every
//! tag in a line of its own, nothing escaped, and stray Latin-1 bytes.

use std::borrow::Cow;
use std::ops::ControlFlow;

use super::blocks::{Block, FileContext, HAS_NUL, Parse, Visit, too_long};
use super::reuters::element;
use super::source::{Compression, forgiving};
use super::{Body, Document};
use crate::Result;
use crate::named::named;

/// How a review begins.
pub(crate) const START: &[u8] = b"<review>";

named! {
    /// What the label of a review is.
    #[derive(Default)]
    pub enum ReviewLabels ("label of reviews") {
        /// `positive` or `negative`: the name of the file when it is one of these, otherwise the rating, above or below
        /// three; three has no label.
        #[default]
        Polarity = "polarity",
        /// The rating: `1`, `2`, `4`, `5`.
        Stars = "stars",
    }
}

pub(crate) struct Reviews {
    context: FileContext,
    /// The label of all reviews of the file, or the rating decides.
    label: Option<String>,
    labels: ReviewLabels,
    /// What the file stands in, before the ids: the domain.
    prefix: String,
}

impl Reviews {
    pub(crate) fn new(context: FileContext, labels: ReviewLabels) -> Self {
        let stem = Compression::of_name(&context.path).1;
        let stem = stem.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default();
        let polar = labels == ReviewLabels::Polarity && matches!(stem.as_str(), "positive" | "negative");
        let prefix = context.name.rsplit_once('/').map(|(folder, _)| format!("{folder}/")).unwrap_or_default();
        Self { context, label: polar.then_some(stem), labels, prefix }
    }

    fn document(&self, line: u64, record: &[u8]) -> Result<Document<'_>> {
        if record.len() > self.context.limit {
            return Err(self.context.error(line, too_long(self.context.limit)));
        }
        if memchr::memchr(0, record).is_some() {
            return Err(self.context.error(line, HAS_NUL));
        }
        let review = forgiving(record);
        let review = review.as_ref();
        let text = match element(review, "review_text") {
            Some(text) => text,
            // The closing tag was lost, but the review ends.
            None => review
                .split_once("<review_text>")
                .and_then(|(_, rest)| rest.split_once("</review>"))
                .map(|(text, _)| text)
                .ok_or_else(|| self.context.error(line, "the review has no whole <review_text>"))?,
        };
        let title = element(review, "title").map(str::trim).unwrap_or_default();
        let text = clean(&[title, text.trim()].join("\n"));
        let label = match &self.label {
            Some(label) => Some(Cow::Borrowed(label.as_str())),
            None => self.rated(line, review)?,
        };
        let id = match element(review, "unique_id").map(str::trim).filter(|id| !id.is_empty()) {
            Some(id) => format!("{}{id}", self.prefix),
            None => self.context.id_of_line(line),
        };
        Ok(Document {
            id: id.into(),
            body: Body::Text(text.trim().to_owned().into()),
            labels: label.into_iter().collect(),
            part: self.context.part,
            date: element(review, "date").and_then(iso_date).map(Cow::Owned),
            weight: None,
        })
    }

    fn rated(&self, line: u64, review: &str) -> Result<Option<Cow<'static, str>>> {
        let Some(text) = element(review, "rating").map(str::trim).filter(|r| !r.is_empty()) else { return Ok(None) };
        let rating: f64 = text.parse().ok().filter(|r: &f64| r.is_finite()).ok_or_else(|| {
            self.context.error(line, format!("the rating must be a number, found {}", super::fields::quoted(text)))
        })?;
        Ok(match self.labels {
            ReviewLabels::Stars => Some(rating.to_string().into()),
            ReviewLabels::Polarity if rating > 3.0 => Some("positive".into()),
            ReviewLabels::Polarity if rating < 3.0 => Some("negative".into()),
            ReviewLabels::Polarity => None,
        })
    }
}

impl Parse for Reviews {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        for (line, record) in block.starting_with(START) {
            visit(self.document(line, record))?;
        }
        ControlFlow::Continue(())
    }
}

/// Control characters (the collection has some 0x1A) as spaces.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() && !matches!(c, '\n' | '\t') { ' ' } else { c }).collect()
}

/// `October 29, 2006` as `2006-10-29`; `None` for anything else.
fn iso_date(date: &str) -> Option<String> {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    let mut words = date.split_whitespace();
    let month = words.next()?;
    let month = MONTHS.iter().position(|name| name.eq_ignore_ascii_case(month))? + 1;
    let day: u32 = words.next()?.trim_end_matches(',').parse().ok().filter(|day| (1..=31).contains(day))?;
    let year: u32 = words.next()?.parse().ok().filter(|year| (1000..=9999).contains(year))?;
    Some(format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(iso_date("\nOctober 29, 2006\n").unwrap(), "2006-10-29");
        assert_eq!(iso_date("yesterday"), None);
    }
}
