//! fastText lines: labels as words with a prefix, usually `__label__`, and the text.

use std::borrow::Cow;

use super::blocks::{FileContext, ParseLine};
use super::fields::tidy_labels;
use super::{Body, Document};
use crate::Result;

pub(crate) struct FastText {
    context: FileContext,
    prefix: String,
}

impl FastText {
    pub(crate) fn new(context: FileContext, prefix: &str) -> Self {
        Self { context, prefix: prefix.to_owned() }
    }
}

impl ParseLine for FastText {
    fn context(&self) -> &FileContext {
        &self.context
    }

    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>> {
        let mut labels = Vec::new();
        let mut text = line.trim();
        if text.is_empty() {
            return Ok(None);
        }
        while let Some(rest) = text.strip_prefix(&self.prefix) {
            let (label, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
            labels.push(Cow::Borrowed(label));
            text = after.trim_start();
        }
        // fastText itself takes such a word for a label wherever it stands.
        let mut body = Cow::Borrowed(text);
        if text.contains(&self.prefix) {
            let mut words: Vec<&str> = Vec::new();
            for word in text.split_whitespace() {
                match word.strip_prefix(&self.prefix) {
                    Some(label) => labels.push(Cow::Borrowed(label)),
                    None => words.push(word),
                }
            }
            body = words.join(" ").into();
        }
        tidy_labels(&mut labels);
        let id = self.context.id_of_line(number).into();
        Ok(Some(Document { id, body: Body::Text(body), labels, part: self.context.part, date: None, weight: None }))
    }
}
