//! `docs/reproduced/NAME.md`: the page of a plan, from its template alone.

use std::fmt::Write as _;

use super::plan::{Plan, Seen, Table};
use super::results::Results;

/// Prepared for a cell of a Markdown table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn row(page: &mut String, cells: &[String]) {
    let _ = writeln!(page, "| {} |", cells.iter().map(|c| cell(c)).collect::<Vec<_>>().join(" | "));
}

fn rule(page: &mut String, columns: usize) {
    let _ = writeln!(page, "|{}", "---|".repeat(columns));
}

fn signed(value: f64, digits: usize) -> String {
    format!("{value:+.digits$}").replace('-', "−")
}

/// The page.
pub(crate) fn page(name: &str, plan: &Plan, results: &Results, seen: &Seen) -> String {
    let mut page = format!(
        "# {}\n\nMade by `cargo xtask reproduce {name}` from `xtask/reproduce/{name}.toml`; do not edit.\n\n*{}*\n\n{}\n\n",
        plan.title,
        plan.source,
        plan.about.trim()
    );
    page.push_str("## What is run\n\n");
    for run in &plan.run {
        let about = if run.about.is_empty() { String::new() } else { format!("{}: ", run.about) };
        let each = if run.each.is_empty() {
            String::new()
        } else {
            format!("; `{{each}}` is each of {}, and numbers are means over them", run.each.join(", "))
        };
        let corpus = results.corpus.get(&run.name).map_or(String::new(), |c| format!(" ({c})"));
        let _ =
            writeln!(page, "* {about}`tamis {}`{corpus}{each}", run.command.join(" ").replace("{data}", "$TAMIS_DATA"));
    }
    for corpus in &plan.corpus {
        let _ = writeln!(page, "* `$TAMIS_DATA/{}`: {}", corpus.path, corpus.get);
    }
    let _ = writeln!(
        page,
        "\nAll of it takes {:.0} s on two cores and {:.0} MB; seed 1. Numbers that move by more than {} from those below fail.\n",
        seen.seconds.ceil(),
        seen.megabytes,
        plan.tolerance
    );
    findings(&mut page, results);
    for table in &plan.table {
        let _ = write!(page, "## {}\n\n", table.title);
        if !table.note.is_empty() {
            let _ = write!(page, "{}\n\n", table.note.trim());
        }
        if table.columns.is_empty() {
            list(&mut page, table, results);
        } else {
            matrix(&mut page, table, results);
        }
        page.push('\n');
    }
    if !results.figures.is_empty() {
        page.push_str("## Plots\n\n");
        for (title, file) in &results.figures {
            let _ = write!(page, "![{title}]({file})\n\n");
        }
    }
    page.truncate(page.trim_end().len());
    page.push('\n');
    page
}

fn findings(page: &mut String, results: &Results) {
    if results.findings.is_empty() {
        return;
    }
    page.push_str("## Claims and verdicts\n\n");
    row(page, &["", "the claim", "here: effect [95 % interval]", "verdict"].map(str::to_owned));
    rule(page, 4);
    for (key, finding) in &results.findings {
        row(page, &[key.clone(), finding.paper.clone(), finding.ours.clone(), format!("**{}**", finding.verdict)]);
    }
    page.push_str("\nThe rules, which were written before the run:\n\n");
    let mut said: Vec<(&str, &str)> = Vec::new();
    for (key, finding) in &results.findings {
        let short = key.rsplit('/').next().unwrap_or(key);
        if !said.contains(&(short, finding.rule.as_str())) {
            said.push((short, &finding.rule));
            let _ = writeln!(page, "* {short}: {}.", finding.rule);
        }
    }
    page.push('\n');
}

fn list(page: &mut String, table: &Table, results: &Results) {
    let digits = table.digits;
    let printed = table.published.iter().flatten().any(|v| !v.is_nan());
    let mut header = vec![String::new(), "here".into(), "95 % interval".into()];
    if printed {
        header.extend(["published".to_owned(), "difference".into()]);
    }
    row(page, &header);
    rule(page, header.len());
    for at in 0..table.rows.len() {
        let number = results.numbers.get(&table.key(at, 0));
        let ours = number.map(|n| n.effect);
        let interval = number.and_then(|n| n.interval);
        let mut cells = vec![
            table.name(at).to_owned(),
            ours.map_or(String::new(), |v| format!("{v:.digits$}")),
            interval.map_or(String::new(), |(low, high)| format!("{low:.digits$} to {high:.digits$}")),
        ];
        if printed {
            let published = table.published(at, 0);
            cells.push(published.map_or(String::new(), |v| format!("{v:.digits$}")));
            let difference = ours.zip(published).map(|(ours, published)| signed(ours - published, digits));
            cells.push(difference.unwrap_or_default());
        }
        row(page, &cells);
    }
}

fn matrix(page: &mut String, table: &Table, results: &Results) {
    let digits = table.digits;
    let header: Vec<String> = (0..table.columns.len()).map(|c| table.header(c).to_owned()).collect();
    row(page, &std::iter::once(String::new()).chain(header).collect::<Vec<_>>());
    rule(page, 1 + table.columns.len());
    for at in 0..table.rows.len() {
        let mut cells = vec![table.name(at).to_owned()];
        for column in 0..table.columns.len() {
            let ours = results.numbers.get(&table.key(at, column)).map(|n| format!("{:.digits$}", n.effect));
            let published = table.published(at, column).map(|v| format!(" ({v:.digits$})"));
            cells.push(ours.unwrap_or_default() + &published.unwrap_or_default());
        }
        row(page, &cells);
    }
    if table.published.iter().flatten().any(|v| !v.is_nan()) {
        page.push_str("\nIn brackets: what was published.\n");
    }
}

/// The list of all pages.
pub(crate) fn index(plans: &[(String, Plan)]) -> String {
    let mut page = "# Reproduced\n\nMade by `cargo xtask reproduce`; do not edit. Each page is one plan in `xtask/reproduce`: what is run, what was published, \
        what came out, and what follows by rules that were written before.\n\n"
        .to_owned();
    row(
        &mut page,
        &["page", "what was published", "seen", "not seen", "cannot be told", "seconds", "MB"].map(str::to_owned),
    );
    rule(&mut page, 7);
    let mut total = 0.0;
    for (name, plan) in plans {
        let Some(seen) = &plan.seen else {
            let mut cells = vec![format!("{name}: not run yet"), plan.source.clone()];
            cells.resize(7, String::new());
            row(&mut page, &cells);
            continue;
        };
        let count = |verdict: &str| match seen.verdicts.values().filter(|v| *v == verdict).count() {
            0 => String::new(),
            n => n.to_string(),
        };
        total += seen.seconds.ceil();
        row(
            &mut page,
            &[
                format!("[{name}]({name}.md)"),
                plan.source.clone(),
                count("seen"),
                count("not seen"),
                count("cannot be told"),
                format!("{:.0}", seen.seconds.ceil()),
                format!("{:.0}", seen.megabytes),
            ],
        );
    }
    let _ = write!(page, "\nThose that were run take {:.0} minutes on two cores.\n", (total / 60.0).ceil());
    page
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::reproduce::results::{Finding, Number};

    #[test]
    fn tables_of_both_kinds() {
        let plan: Plan = toml::from_str(
            "title = \"T\"\nsource = \"a 2001, table 1\"\nabout = \"Why.\"\ntolerance = 0.001\n[[run]]\ncommand = [\"study\", \"x\", \"{data}/y\"]\n\
             [[table]]\ntitle = \"One\"\nrows = [\"a\", \"b\"]\nkey = \"k {row}\"\npublished = [[0.2], [nan]]\n\
             [[table]]\ntitle = \"Two\"\nrows = [\"a\"]\ncolumns = [\"1\", \"2\"]\nkey = \"k {row} {column}\"\npublished = [[0.5, nan]]\n",
        )
        .unwrap();
        let number = |effect| Number { effect, interval: Some((effect - 0.1, effect + 0.1)) };
        let finding = Finding {
            key: "O1".into(),
            paper: "p | q".into(),
            rule: "r".into(),
            ours: "+0.1".into(),
            verdict: "seen".into(),
            effect: None,
            interval: None,
        };
        let results = Results {
            numbers: [("k a", 0.25), ("k b", 1.0), ("k a 1", 0.5), ("k a 2", 0.75)]
                .map(|(name, value)| (name.to_owned(), number(value)))
                .into(),
            findings: vec![("O1".into(), finding)],
            corpus: BTreeMap::new(),
            figures: vec![("f".into(), "x-f.svg".into())],
        };
        let seen = Seen { seconds: 1.2, megabytes: 30.0, ..Seen::default() };
        let page = page("x", &plan, &results, &seen);
        for expected in [
            "* `tamis study x $TAMIS_DATA/y`",
            "takes 2 s on two cores and 30 MB",
            "| a | 0.250 | 0.150 to 0.350 | 0.200 | +0.050 |",
            "| b | 1.000 | 0.900 to 1.100 |  |  |",
            "| a | 0.500 (0.500) | 0.750 |",
            "| O1 | p \\| q | +0.1 | **seen** |",
            "* O1: r.",
            "![f](x-f.svg)",
        ] {
            assert!(page.contains(expected), "{expected} is not in\n{page}");
        }
    }
}
