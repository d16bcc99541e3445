//! How a corpus is read, and the built-in one.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde::Deserialize;
use tamis::Result;
use tamis::corpus::synth::{self, Shape, SynthOptions};
use tamis::corpus::{Body, Encoding, Fields, Format, Part, ReadOptions};

use crate::errors::to_py;

/// How a corpus is read: the options of the command line that Python passes on.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ReadArguments {
    from: Option<String>,
    encoding: Option<String>,
    on_error: Option<String>,
    id_field: Option<String>,
    text_field: Option<String>,
    tokens_field: Option<String>,
    labels_field: Option<String>,
    split_field: Option<String>,
    date_field: Option<String>,
    weight_field: Option<String>,
    label_separator: Option<String>,
    max_record: Option<usize>,
    quotes: Option<bool>,
    delimiter: Option<char>,
    columns: Vec<String>,
    dates: Option<String>,
    label_prefix: Option<String>,
    values: Option<String>,
    qrels: Option<PathBuf>,
}

impl ReadArguments {
    /// The library's options; `seed` is for a built-in corpus.
    pub(crate) fn options(self, seed: u64) -> Result<ReadOptions> {
        let default = ReadOptions::default();
        Ok(ReadOptions {
            from: self.from.as_deref().map(str::parse::<Format>).transpose()?,
            encoding: self.encoding.as_deref().map(str::parse::<Encoding>).transpose()?,
            on_error: self.on_error.as_deref().map_or(Ok(default.on_error), str::parse)?,
            fields: Fields {
                id: self.id_field,
                text: self.text_field,
                tokens: self.tokens_field,
                labels: self.labels_field,
                split: self.split_field,
                date: self.date_field,
                weight: self.weight_field,
                date_order: self.dates.as_deref().map_or(Ok(default.fields.date_order), str::parse)?,
                ..Fields::default()
            },
            label_separator: self.label_separator.unwrap_or(default.label_separator),
            max_record_bytes: self.max_record.unwrap_or(default.max_record_bytes),
            quotes: self.quotes.unwrap_or(default.quotes),
            delimiter: self.delimiter,
            columns: self.columns,
            label_prefix: self.label_prefix.unwrap_or(default.label_prefix),
            values: self.values.as_deref().map_or(Ok(default.values), str::parse)?,
            qrels: self.qrels,
            seed,
            ..default
        })
    }
}

/// Documents of the built-in corpus: texts, labels, and whether each is in the test part.
#[pyfunction]
#[pyo3(name = "synth")]
fn built_in(shape: &str, documents: u64, seed: u64) -> PyResult<(Vec<String>, Vec<Vec<String>>, Vec<bool>)> {
    let shape: Shape = shape.parse().map_err(to_py)?;
    let options = SynthOptions { documents, seed, ..SynthOptions::of(shape) };
    let (mut texts, mut labels, mut test) = (Vec::new(), Vec::new(), Vec::new());
    for document in synth::documents(&options).map_err(to_py)? {
        texts.push(match document.body {
            Body::Text(text) => text.into_owned(),
            Body::Tokens(tokens) => tokens.join(" "),
            Body::Counts(_) | Body::Fields(_) => String::new(),
        });
        labels.push(document.labels.into_iter().map(std::borrow::Cow::into_owned).collect());
        test.push(document.part == Some(Part::Test));
    }
    Ok((texts, labels, test))
}

pub(crate) fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(built_in, m)?)
}
