//! Annif's corpora: lines of a text, a tab and subjects as `<uri> <uri>`; or a folder of `.txt` files, each with its
//! subjects in a `.key` file (a label in each line) or a `.tsv` file (`<uri>`, a tab and a label in each line).

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use rustc_hash::FxHashSet;

use super::blocks::{FileContext, ParseLine};
use super::fields::tidy_labels;
use super::folders::{DocumentFile, Found};
use super::{Body, Document};
use crate::whole::read_text;
use crate::{Error, Result};

/// Longest list of subjects of one document.
const MAX_SUBJECTS: u64 = 16 << 20;

pub(crate) struct Annif(pub(crate) FileContext);

/// Whether a line is a text and its subjects, at least one.
pub(crate) fn is_line(line: &str) -> bool {
    line.rsplit_once('\t').and_then(|(_, subjects)| subjects_of(subjects)).is_some_and(|subjects| !subjects.is_empty())
}

/// The URIs of `<uri> <uri>`; none where it is something else.
fn subjects_of(field: &str) -> Option<Vec<&str>> {
    let mut subjects = Vec::new();
    let mut rest = field.trim();
    while !rest.is_empty() {
        let (uri, after) = rest.strip_prefix('<')?.split_once('>')?;
        if uri.is_empty() || uri.contains(char::is_whitespace) {
            return None;
        }
        subjects.push(uri);
        rest = after.trim_start();
    }
    Some(subjects)
}

impl ParseLine for Annif {
    fn context(&self) -> &FileContext {
        &self.0
    }

    fn parse_line<'a>(&self, number: u64, line: &'a str) -> Result<Option<Document<'a>>> {
        if line.trim().is_empty() {
            return Ok(None);
        }
        let (text, field) = line.rsplit_once('\t').unwrap_or((line, ""));
        let Some(subjects) = subjects_of(field) else {
            let reason = "expected a text, a tab, and subjects as <uri> <uri>";
            return Err(Error::malformed(&self.0.path, number, reason));
        };
        let mut labels: Vec<Cow<'a, str>> = subjects.into_iter().map(Cow::Borrowed).collect();
        tidy_labels(&mut labels);
        let id = self.0.id_of_line(number).into();
        let body = Body::Text(text.trim().into());
        Ok(Some(Document { id, body, labels, part: self.0.part, date: None, weight: None }))
    }
}

fn ending(path: &Path) -> Option<&str> {
    path.extension().and_then(|ending| ending.to_str())
}

/// Whether texts lie beside the lists of their subjects.
pub(crate) fn is_folder(found: &[Found]) -> bool {
    let texts: FxHashSet<PathBuf> = found
        .iter()
        .filter(|file| ending(&file.path) == Some("txt"))
        .map(|file| file.path.with_extension(""))
        .collect();
    let lists = |file: &&Found| matches!(ending(&file.path), Some("key" | "tsv"));
    found.iter().filter(lists).any(|file| texts.contains(&file.path.with_extension("")))
}

/// The texts of a folder with their subjects: those of the `.key` file where there is one, else of the `.tsv` file, else none.
pub(crate) fn documents(found: Vec<Found>) -> Result<Vec<DocumentFile>> {
    let there: FxHashSet<PathBuf> = found.iter().map(|file| file.path.clone()).collect();
    let mut documents = Vec::new();
    for Found { path, below, bytes } in found.into_iter().filter(|file| ending(&file.path) == Some("txt")) {
        let (key, tsv) = (path.with_extension("key"), path.with_extension("tsv"));
        let labels = if there.contains(&key) {
            read_text(&key, "a list of subjects", MAX_SUBJECTS)?.lines().map(|line| line.trim().to_owned()).collect()
        } else if there.contains(&tsv) {
            subjects_by_line(&read_text(&tsv, "a list of subjects", MAX_SUBJECTS)?, &tsv)?
        } else {
            Vec::new()
        };
        let mut labels: Vec<Cow<'_, str>> = labels.into_iter().map(Cow::Owned).collect();
        labels.retain(|label| !label.is_empty());
        tidy_labels(&mut labels);
        let labels = labels.into_iter().map(Cow::into_owned).collect();
        documents.push(DocumentFile { path, id: below.join("/"), labels, part: None, bytes });
    }
    Ok(documents)
}

fn subjects_by_line(text: &str, path: &Path) -> Result<Vec<String>> {
    let mut all = Vec::new();
    for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1u64..).filter(|(l, _)| !l.trim().is_empty())
    {
        let subject = line.split('\t').next().unwrap_or_default().trim();
        let uri = subject.strip_prefix('<').and_then(|uri| uri.strip_suffix('>')).filter(|uri| !uri.is_empty());
        let uri = uri.ok_or_else(|| Error::malformed(path, number, "expected <uri>, a tab and a label"))?;
        all.push(uri.to_owned());
    }
    Ok(all)
}
