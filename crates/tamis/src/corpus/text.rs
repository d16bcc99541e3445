//! Plain text without labels: a file is a document, or every line is one.

use std::ops::ControlFlow;

use super::blocks::{Block, FileContext, Parse, ParseLine, Visit, too_long};
use super::{Body, Document};
use crate::Result;

/// A stream that is one document.
pub(crate) struct WholeText(pub(crate) FileContext);

impl Parse for WholeText {
    fn parse(&self, block: &Block, visit: &mut Visit<'_>) -> ControlFlow<()> {
        let Self(context) = self;
        let bytes = block.bytes();
        if bytes.len() > context.limit {
            return visit(Err(context.error(block.line, too_long(context.limit))));
        }
        visit(context.text(block.line, bytes).map(|text| document(context.name.clone(), text, context)))
    }
}

/// A document in each line.
pub(crate) struct TextLines(pub(crate) FileContext);

impl ParseLine for TextLines {
    fn context(&self) -> &FileContext {
        &self.0
    }

    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>> {
        let line = line.trim();
        Ok((!line.is_empty()).then(|| document(self.0.id_of_line(number), line, &self.0)))
    }
}

fn document<'a>(id: String, text: &'a str, context: &FileContext) -> Document<'a> {
    Document {
        id: id.into(),
        body: Body::Text(text.into()),
        labels: Vec::new(),
        part: context.part,
        date: None,
        weight: None,
    }
}
