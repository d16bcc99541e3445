//! `tamis.toml` beside the data: how the corpus of a project is read, so that it need not be said each time.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tamis::corpus::ReadOptions;

use crate::columns::Labels;

/// The name of the file.
pub(crate) const FILE: &str = "tamis.toml";

/// What the file may say; whatever the command line says goes before it.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Settings {
    /// The files that are read so; all tables where it is empty.
    pub(crate) corpus: Vec<PathBuf>,
    /// Field or column of the text.
    pub(crate) text_field: Option<String>,
    /// Field or column of the labels.
    pub(crate) labels_field: Option<String>,
    /// Field or column of the id.
    pub(crate) id_field: Option<String>,
    /// Field or column that says train or test.
    pub(crate) split_field: Option<String>,
    /// Field or column of the date.
    pub(crate) date_field: Option<String>,
}

impl Settings {
    /// The settings of the folder the command runs in; none where there is no such file.
    fn here() -> tamis::Result<Option<Self>> {
        let path = Path::new(FILE);
        if !path.is_file() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path).map_err(|e| tamis::Error::io(path, e))?;
        Self::parse(&text).map(Some)
    }

    fn parse(text: &str) -> tamis::Result<Self> {
        toml::from_str(text).map_err(|error| {
            let line = error.span().map_or(1, |span| text[..span.start].matches('\n').count() + 1);
            tamis::Error::malformed_file(
                Path::new(FILE),
                format!("line {line}: {}; tamis init writes a new one", error.message()),
            )
        })
    }

    fn is_about(&self, paths: &[PathBuf]) -> bool {
        self.corpus.is_empty() || paths.iter().all(|path| self.corpus.contains(path))
    }
}

/// Fills in what the command line does not say. What nobody reads need not be there.
pub(crate) fn apply(paths: &[PathBuf], options: &mut ReadOptions, labels: Labels) -> tamis::Result<()> {
    let Some(mut settings) = Settings::here()?.filter(|settings| settings.is_about(paths)) else { return Ok(()) };
    if labels == Labels::Unread {
        settings = Settings { text_field: settings.text_field, id_field: settings.id_field, ..Settings::default() };
    }
    let fields = &mut options.fields;
    for (said, own) in [
        (&mut fields.text, settings.text_field),
        (&mut fields.labels, settings.labels_field),
        (&mut fields.id, settings.id_field),
        (&mut fields.split, settings.split_field),
        (&mut fields.date, settings.date_field),
    ] {
        if said.is_none() {
            *said = own;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_named_with_their_line() {
        let error = Settings::parse("text-field = \"a\"\ntextfield = \"b\"\n").expect_err("an unknown key");
        let text = error.to_string();
        assert!(text.contains("line 2") && text.contains("textfield"), "{text}");
    }
}
