//! Which scripts the terms of a corpus are written in, and which documents have none.

use serde::Serialize;
use unicode_script::{Script, UnicodeScript};

use super::Counts;

/// A script and what is written in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptSize {
    /// Its name in Unicode, such as `Latin` or `Han`.
    pub script: String,
    /// Documents with a term in it.
    pub documents: usize,
    /// Distinct terms in it.
    pub terms: usize,
}

/// The scripts of a corpus, by documents, most first. A term is of the script of its first letter that has one.
pub(super) fn scripts(counts: &Counts) -> Vec<ScriptSize> {
    let mut found: Vec<(Script, usize, usize)> = Vec::new();
    let place_of = |term: &str, found: &mut Vec<(Script, usize, usize)>| {
        let script = counts.text.block_of(term).1.chars().map(|c| c.script()).find(|&script| has_name(script))?;
        let place = found.iter().position(|(known, _, _)| *known == script).unwrap_or_else(|| {
            found.push((script, 0, 0));
            found.len() - 1
        });
        found[place].2 += 1;
        Some(place)
    };
    let places: Vec<Option<usize>> = counts.vocabulary.iter().map(|term| place_of(term, &mut found)).collect();
    let mut last_row = vec![usize::MAX; found.len()];
    for row in 0..counts.len() {
        for place in counts.matrix.row_indices(row).iter().filter_map(|&term| places[term as usize]) {
            if std::mem::replace(&mut last_row[place], row) != row {
                found[place].1 += 1;
            }
        }
    }
    let size = |(script, documents, terms): (Script, usize, usize)| ScriptSize {
        script: script.full_name().to_owned(),
        documents,
        terms,
    };
    let mut sizes: Vec<ScriptSize> = found.into_iter().map(size).collect();
    sizes.sort_by(|a, b| b.documents.cmp(&a.documents).then_with(|| a.script.cmp(&b.script)));
    sizes
}

/// Digits and signs are of no script.
fn has_name(script: Script) -> bool {
    !matches!(script, Script::Common | Script::Inherited | Script::Unknown)
}

impl Counts {
    /// What to say where more than one in a hundred of these documents has no term, and what can be done.
    pub fn without_terms(&self, rows: &[usize]) -> Option<String> {
        let empty: Vec<usize> = rows.iter().copied().filter(|&row| self.matrix.range(row).is_empty()).collect();
        let first = *empty.first()?;
        (empty.len() * 100 > rows.len()).then(|| {
            format!(
                "{} of {} documents have no term by {}, such as {}: nothing can be learned from them. `tamis inspect` shows \
                 them; the option `terms=chars(1-3,kind=text)` finds terms in any text, emoji and punctuation included",
                empty.len(),
                rows.len(),
                self.text,
                self.ids[first]
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_counted_by_documents() {
        let documents =
            [(vec!["hello", "мир"], vec!["x"]), (vec!["world", "1995"], vec!["x"]), (vec!["手机", "よ"], vec!["x"])];
        let sizes = scripts(&Counts::from_rows(&documents));
        let shown: Vec<(&str, usize, usize)> =
            sizes.iter().map(|s| (s.script.as_str(), s.documents, s.terms)).collect();
        assert_eq!(shown, [("Latin", 2, 2), ("Cyrillic", 1, 1), ("Han", 1, 1), ("Hiragana", 1, 1)]);
    }

    #[test]
    fn one_document_in_a_hundred_may_be_empty() {
        let mut documents = vec![(vec!["word"], vec!["x"]); 99];
        documents.push((vec![], vec!["x"]));
        let rows: Vec<usize> = (0..100).collect();
        assert_eq!(Counts::from_rows(&documents).without_terms(&rows), None);
        documents[0].0.clear();
        let said = Counts::from_rows(&documents).without_terms(&rows).unwrap();
        assert!(said.starts_with("2 of 100 documents have no term by words, such as 1:"), "{said}");
    }
}
