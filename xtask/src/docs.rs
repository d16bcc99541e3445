//! `cargo xtask docs`: pages made from the code, so that they cannot go stale unseen.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::run::{capture, check as must, program, root, tools};

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

/// What the table of measures does not say of any one of them.
const RANKED: &str = "Measures of rankings (RPrec to RankingLoss), and the P@1 of always giving one label, are means over the documents that have \
                      a true label: where some have none, `tamis evaluate` says how many have. All others are over all documents.\n\n";

/// The page of all commands.
const COMMANDS: &str = "docs/commands.md";

/// The list as a Markdown table.
fn page(program: &Path, title: &str, what: &str) -> Result<String> {
    let rows = capture(Command::new(program).args(["list", what, "--format", "tsv"]))?;
    let mut page = format!("# {title}\n\nMade by `cargo xtask docs` from `tamis list {what}`; do not edit.\n\n");
    if what == "measures" {
        page.push_str(RANKED);
    }
    for (number, line) in rows.lines().enumerate() {
        let cells: Vec<String> = line.split('\t').map(|cell| cell.replace('|', "\\|")).collect();
        page.extend(["| ", &cells.join(" | "), " |\n"]);
        if number == 0 {
            page.extend(["|", &"---|".repeat(cells.len()), "\n"]);
        }
    }
    Ok(page)
}

/// Every command with its options, as `--help` prints them.
fn commands(program: &Path) -> Result<String> {
    let help = |words: &[&str]| capture(Command::new(program).env("COLUMNS", "100").args(words));
    let all = help(&["--help"])?;
    let listed = all.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let names: Vec<&str> = listed
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|l| l.split_whitespace().next())
        .collect();
    let mut page = String::from("# Commands\n\nMade by `cargo xtask docs` from `tamis help`; do not edit.\n");
    for name in names.into_iter().filter(|name| *name != "help") {
        let text = help(&[name, "--help"])?;
        let text: Vec<&str> = text.lines().map(str::trim_end).collect();
        page.extend(["\n## tamis ", name, "\n\n```text\n", text.join("\n").trim_end(), "\n```\n"]);
    }
    Ok(page)
}

/// The tutorial: its commands are run, and what they print is written into it or compared with it.
fn tutorial(program: &Path, write: bool) -> Result<()> {
    let mut script = Command::new("python3");
    script.current_dir(root()).args(["tests/docs/run_tutorial.py", "docs/tutorial.md"]).arg(program);
    must(script.args(write.then_some("--write")))
}

/// The manual as a site in `site/`; dead links and pages that nobody lists are errors.
pub(crate) fn site() -> Result<()> {
    let bin = tools("docs/requirements.txt")?;
    let build = ["-m", "mkdocs", "build", "--quiet", "--strict", "--clean"];
    must(Command::new(bin.join("python")).current_dir(root()).env("NO_MKDOCS_2_WARNING", "1").args(build))
}

/// Writes all pages, and the manual.
pub(crate) fn write() -> Result<()> {
    let program = program()?;
    std::fs::write(root().join(COMMANDS), commands(&program)?).context(COMMANDS)?;
    tutorial(&program, true)?;
    for (file, title, what) in PAGES {
        std::fs::write(root().join(file), page(&program, title, what)?).with_context(|| (*file).to_owned())?;
    }
    site()
}

/// Fails when a page is not what the code says.
pub(crate) fn check() -> Result<()> {
    let program = program()?;
    for (file, title, what) in PAGES {
        if std::fs::read_to_string(root().join(file)).unwrap_or_default() != page(&program, title, what)? {
            bail!("{file} is stale: run `cargo xtask docs`");
        }
    }
    if std::fs::read_to_string(root().join(COMMANDS)).unwrap_or_default() != commands(&program)? {
        bail!("{COMMANDS} is stale: run `cargo xtask docs`");
    }
    tutorial(&program, false)?;
    site()
}
