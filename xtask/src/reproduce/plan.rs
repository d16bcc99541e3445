//! Plan files of `cargo xtask reproduce`: `xtask/reproduce/NAME.toml`.
//!
//! The upper part is written by people: what is run on which corpus, and what was published. The part from [`MARK`] on is what was
//! seen, written by `--accept` and compared with by every later run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::run::root;

/// Where what was seen begins.
const MARK: &str = "# What was seen: written by `cargo xtask reproduce NAME --accept`, not by hand.";

/// One published table or figure, or a few of one paper.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Plan {
    /// Heading of the page.
    pub(crate) title: String,
    /// What was published where.
    pub(crate) source: String,
    /// What is asked, in a few sentences.
    pub(crate) about: String,
    /// How far a number may be from what was seen.
    pub(crate) tolerance: f64,
    /// Corpora that it needs.
    #[serde(default)]
    pub(crate) corpus: Vec<Corpus>,
    /// What is run.
    pub(crate) run: Vec<Run>,
    /// What is shown.
    #[serde(default)]
    pub(crate) table: Vec<Table>,
    /// Claims that are judged over the runs of an `each`.
    #[serde(default)]
    pub(crate) claim: Vec<Claim>,
    /// What was seen when it was last accepted.
    pub(crate) seen: Option<Seen>,
}

/// A corpus under `TAMIS_DATA`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Corpus {
    /// Its place there.
    pub(crate) path: String,
    /// Where it comes from.
    pub(crate) get: String,
}

/// What a run prints or writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Gives {
    /// The folder of a study, with `numbers.json`.
    #[default]
    Study,
    /// Lines; the number is how many, without a header.
    Lines,
}

/// One command of the program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Run {
    /// What its numbers are called by, before a slash; may be left out where there is one run.
    #[serde(default)]
    pub(crate) name: String,
    /// What the run is, in a few words, for the page.
    #[serde(default)]
    pub(crate) about: String,
    /// Arguments of `tamis`, separated by blanks; `{data}` is the folder of the corpora, `{each}` one of `each`.
    pub(crate) command: Vec<String>,
    /// The command is run for each of these, and numbers are means over them.
    #[serde(default)]
    pub(crate) each: Vec<String>,
    /// What it gives.
    #[serde(default)]
    pub(crate) gives: Gives,
    /// Plots of the report that are shown.
    #[serde(default)]
    pub(crate) figures: Vec<String>,
}

/// A table of the page. Without `columns` it lists published, ours and the difference; with them every cell is ours, and the
/// published number in brackets.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    /// Its heading.
    pub(crate) title: String,
    /// What is to be said about it.
    #[serde(default)]
    pub(crate) note: String,
    /// What stands for `{row}`.
    pub(crate) rows: Vec<String>,
    /// What rows are called on the page; `rows` when not given.
    #[serde(default)]
    pub(crate) names: Vec<String>,
    /// What stands for `{column}`.
    #[serde(default)]
    pub(crate) columns: Vec<String>,
    /// What columns are called on the page; `columns` when not given.
    #[serde(default)]
    pub(crate) headers: Vec<String>,
    /// Name of the number in a cell.
    pub(crate) key: String,
    /// What was published, row by row; NaN where nothing was.
    #[serde(default)]
    pub(crate) published: Vec<Vec<f64>>,
    /// Digits after the point.
    #[serde(default = "three")]
    pub(crate) digits: usize,
}

fn three() -> usize {
    3
}

/// A published claim that one number is larger than another, judged over the runs of an `each` (corpora, or problems).
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Claim {
    /// What it is called.
    pub(crate) key: String,
    /// What was published.
    pub(crate) paper: String,
    /// The run whose `each` it is about.
    pub(crate) run: String,
    /// What `each` are: `corpora`, `problems`.
    pub(crate) unit: String,
    /// Numbers of which the mean is taken.
    pub(crate) more: Vec<String>,
    /// Numbers that it is held against: their mean, or with `best` the best of them by the mean over all.
    pub(crate) less: Vec<String>,
    #[serde(default)]
    pub(crate) best: bool,
}

/// What was seen.
#[derive(Debug, Default, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seen {
    /// Seconds that all runs took together, on two cores.
    pub(crate) seconds: f64,
    /// Most memory that a run took.
    pub(crate) megabytes: f64,
    /// Numbers of the tables and effects of the findings.
    #[serde(default)]
    pub(crate) numbers: BTreeMap<String, f64>,
    /// Verdicts by finding.
    #[serde(default)]
    pub(crate) verdicts: BTreeMap<String, String>,
}

impl Plan {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        let plan: Self = toml::from_str(&text).with_context(|| path.display().to_string())?;
        plan.check().with_context(|| path.display().to_string())?;
        Ok(plan)
    }

    fn check(&self) -> Result<()> {
        let mut names: Vec<&str> = self.run.iter().map(|run| run.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        if names.len() != self.run.len() || (self.run.len() > 1 && names.first() == Some(&"")) {
            bail!("runs need names of their own");
        }
        for table in &self.table {
            let columns = table.columns.len().max(1);
            let shape = |given: &[String], of: &[String]| given.is_empty() || given.len() == of.len();
            if !shape(&table.names, &table.rows) || !shape(&table.headers, &table.columns) {
                bail!("{}: names and headers are as many as rows and columns", table.title);
            }
            let fits = table.published.len() == table.rows.len() && table.published.iter().all(|r| r.len() == columns);
            if !table.published.is_empty() && !fits {
                bail!("{}: what was published has another shape than the table", table.title);
            }
        }
        Ok(())
    }

    /// The corpora that are not there.
    pub(crate) fn missing(&self, data: Option<&Path>) -> Vec<&Corpus> {
        self.corpus.iter().filter(|c| !data.is_some_and(|data| data.join(&c.path).exists())).collect()
    }
}

impl Table {
    /// The name of the number in a cell.
    pub(crate) fn key(&self, row: usize, column: usize) -> String {
        let column = self.columns.get(column).map_or("", String::as_str);
        self.key.replace("{row}", &self.rows[row]).replace("{column}", column)
    }

    /// All cells, row by row.
    pub(crate) fn keys(&self) -> impl Iterator<Item = String> + '_ {
        let columns = self.columns.len().max(1);
        (0..self.rows.len()).flat_map(move |row| (0..columns).map(move |column| self.key(row, column)))
    }

    /// What was published in a cell.
    pub(crate) fn published(&self, row: usize, column: usize) -> Option<f64> {
        self.published.get(row)?.get(column).copied().filter(|value| !value.is_nan())
    }

    pub(crate) fn name(&self, row: usize) -> &str {
        self.names.get(row).unwrap_or(&self.rows[row])
    }

    pub(crate) fn header(&self, column: usize) -> &str {
        self.headers.get(column).unwrap_or(&self.columns[column])
    }
}

/// The plan files, by name.
pub(crate) fn all() -> Result<Vec<(String, PathBuf)>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(root().join("xtask/reproduce"))? {
        let path = entry?.path();
        if let (Some("toml"), Some(name)) = (path.extension().and_then(|e| e.to_str()), path.file_stem()) {
            found.push((name.to_string_lossy().into_owned(), path.clone()));
        }
    }
    found.sort();
    Ok(found)
}

/// A number as plan files keep it: seven digits are beyond any tolerance.
pub(crate) fn kept(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let digits = 6 - value.abs().log10().floor() as i32;
    let scale = 10f64.powi(digits.clamp(-12, 12));
    (value * scale).round() / scale
}

/// The text of a plan with what was seen put in its place.
pub(crate) fn accepted(text: &str, seen: &Seen) -> String {
    let upper = text.split(MARK).next().unwrap_or_default().trim_end();
    let mut out = format!("{upper}\n\n{MARK}\n[seen]\n");
    let quoted = |name: &str| format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""));
    let number = |value: f64| if value.fract() == 0.0 { format!("{value:.1}") } else { value.to_string() };
    let _ =
        write!(out, "seconds = {}\nmegabytes = {}\n\n[seen.numbers]\n", number(seen.seconds), number(seen.megabytes));
    for (name, value) in &seen.numbers {
        let _ = writeln!(out, "{} = {}", quoted(name), number(*value));
    }
    out.push_str("\n[seen.verdicts]\n");
    for (name, verdict) in &seen.verdicts {
        let _ = writeln!(out, "{} = {}", quoted(name), quoted(verdict));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_seen_is_put_in_its_place() {
        let text = "title = \"t\"\nsource = \"s\"\nabout = \"a\"\ntolerance = 0.1\n[[run]]\ncommand = [\"demo\"]\n";
        let mut seen = Seen { seconds: 3.0, megabytes: 12.5, ..Seen::default() };
        seen.numbers.insert("a \"b\" c".into(), kept(0.123_456_789_1));
        seen.verdicts.insert("O1".into(), "not seen".into());
        let once = accepted(text, &seen);
        let plan: Plan = toml::from_str(&once).unwrap();
        assert_eq!(plan.seen.as_ref(), Some(&seen));
        assert_eq!(accepted(&once, &seen), once, "accepting again changes nothing");
        assert_eq!(kept(0.123_456_789_1), 0.123_456_8);
        assert_eq!((kept(0.0), kept(3_889_620.0)), (0.0, 3_889_620.0));
    }

    #[test]
    fn shapes_are_checked() {
        let with = |rest: &str| -> Result<()> {
            let text = format!("title = \"t\"\nsource = \"s\"\nabout = \"a\"\ntolerance = 0.1\n{rest}");
            toml::from_str::<Plan>(&text)?.check()
        };
        let run = "[[run]]\ncommand = [\"demo\"]\n";
        with(run).unwrap();
        assert!(with(&format!("{run}{run}")).is_err(), "two runs without names");
        let table = "[[table]]\ntitle = \"x\"\nrows = [\"a\", \"b\"]\nkey = \"{row}\"\n";
        with(&format!("{run}{table}published = [[0.1], [nan]]\n")).unwrap();
        assert!(with(&format!("{run}{table}published = [[0.1]]\n")).is_err());
        assert!(with(&format!("{run}{table}names = [\"A\"]\n")).is_err());
        assert!(with("[[run]]\ncommands = [\"demo\"]\n").is_err(), "a slip of the keyboard");
    }

    /// Every plan of the project reads, and those that were run say what was seen for every number they show.
    #[test]
    fn all_plans_are_whole() {
        for (name, path) in all().unwrap() {
            let plan = Plan::read(&path).unwrap();
            let Some(seen) = &plan.seen else { continue };
            for key in plan.table.iter().flat_map(Table::keys) {
                assert!(seen.numbers.contains_key(&key), "{name}: {key}");
            }
            assert!(root().join("docs/reproduced").join(format!("{name}.md")).exists(), "{name} has no page");
        }
    }
}
