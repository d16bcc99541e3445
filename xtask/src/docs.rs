//! `cargo xtask docs`: pages made from the code, so that they cannot go stale unseen.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{capture, program, root};

/// Each page: file, title, and what `tamis list` is asked for.
const PAGES: &[(&str, &str, &str)] = &[
    ("docs/formats.md", "Corpus formats", "formats"),
    ("docs/selectors.md", "Selectors", "selectors"),
    ("docs/combinations.md", "Combinations of selectors", "combinations"),
    ("docs/searches.md", "Searches for subsets", "searches"),
    ("docs/classifiers.md", "Classifiers", "classifiers"),
    ("docs/thresholds.md", "Thresholds", "thresholds"),
    ("docs/methods.md", "Threshold selection along pipelines", "methods"),
    ("docs/measures.md", "Measures", "measures"),
];

/// The list as a Markdown table.
fn page(program: &Path, title: &str, what: &str) -> Result<String> {
    let rows = capture(Command::new(program).args(["list", what, "--format", "tsv"]))?;
    let mut page = format!("# {title}\n\nMade by `cargo xtask docs` from `tamis list {what}`; do not edit.\n\n");
    for (number, line) in rows.lines().enumerate() {
        let cells: Vec<String> = line.split('\t').map(|cell| cell.replace('|', "\\|")).collect();
        page.extend(["| ", &cells.join(" | "), " |\n"]);
        if number == 0 {
            page.extend(["|", &"---|".repeat(cells.len()), "\n"]);
        }
    }
    Ok(page)
}

/// Writes all pages.
pub(crate) fn write() -> Result<()> {
    let program = program()?;
    for (file, title, what) in PAGES {
        std::fs::write(root().join(file), page(&program, title, what)?).with_context(|| (*file).to_owned())?;
    }
    Ok(())
}

/// Fails when a page is not what the code says.
pub(crate) fn check() -> Result<()> {
    let program = program()?;
    for (file, title, what) in PAGES {
        if std::fs::read_to_string(root().join(file)).unwrap_or_default() != page(&program, title, what)? {
            bail!("{file} is stale: run `cargo xtask docs`");
        }
    }
    Ok(())
}
