//! A study's report: one page from its rows.

mod grid;
mod pipelines;
mod simulation;
mod terms;

use self::grid::{arena_section, reversals_section, searches_section};
use self::terms::{lambda_section, profile_section};
use super::arena::arenas;
use super::findings::{findings, winners};
use super::folder::Record;
use super::plan::{Plan, Work};
use super::rows::{ResultRow, Row, SplitRow};
use super::statistics::{pairs, summaries};
use crate::Result;
use crate::counts::SplitPlan;
use crate::report::{Page, short};

/// What a report says, for people at a terminal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Digest {
    /// The winners, a paragraph for each measure and classifier: heading and sentences.
    pub winners: Vec<(String, Vec<String>)>,
    /// The paper's claims: what it says, by which rule it is judged, what was seen, and what follows.
    pub findings: Vec<super::Finding>,
    /// Warnings: what was missing or odd.
    pub warnings: Vec<String>,
}

/// Makes the report of a study, finished or not.
pub fn report(record: &Record) -> Result<(Page, Digest)> {
    let plan = &record.plan;
    let mut page = Page::new(&plan.title, &plan.about);
    let mut digest = Digest { findings: findings(record), ..Digest::default() };
    match &plan.work {
        Work::Simulation(_) => simulation::sections(&mut page, record, &mut digest),
        Work::Pipelines(plan) => {
            digest.warnings = warnings(plan.splits.count(), &record.rows);
            pipelines::sections(&mut page, record, plan, &mut digest);
            splits_section(&mut page, record, &plan.splits);
        }
        Work::Grid(grid) => {
            digest.warnings = warnings(grid.splits.count(), &record.rows);
            let arenas = arenas(grid, &record.rows);
            let mut judged = Vec::new();
            for arena in &arenas {
                judged.push((arena, summaries(arena), pairs(arena, &plan.tests)?));
            }
            for (arena, summaries, pairs) in &judged {
                digest.winners.push((arena.title(), winners(arena, summaries, pairs, plan.tests.level)));
            }
            winners_section(&mut page, &digest);
            findings_section(&mut page, plan, &digest);
            for (arena, summaries, pairs) in &judged {
                arena_section(&mut page, plan, arena, summaries, pairs);
            }
            if judged.is_empty() {
                page.section("Results").text("There are no rows yet that every split has.");
            }
            reversals_section(&mut page, &arenas);
            searches_section(&mut page, record);
            profile_section(&mut page, plan, &record.rows);
            lambda_section(&mut page, plan, grid, &record.rows);
            splits_section(&mut page, record, &grid.splits);
        }
    }
    how_section(&mut page, record);
    Ok((page, digest))
}

fn winners_section(page: &mut Page, digest: &Digest) {
    page.section("In short");
    for (heading, sentences) in &digest.winners {
        page.heading(heading).text(&sentences.join(" "));
    }
    for warning in &digest.warnings {
        page.text(&format!("Note: {warning}."));
    }
}

fn findings_section(page: &mut Page, plan: &Plan, digest: &Digest) {
    if digest.findings.is_empty() {
        return;
    }
    page.section(&format!("What the paper found ({})", plan.paper.as_deref().unwrap_or_default()));
    page.text("Verdicts follow from rules that are fixed before a run (`tamis study NAME --dry-run` prints them).");
    let rows: Vec<Vec<String>> = digest
        .findings
        .iter()
        .map(|f| {
            let verdict = f.verdict.to_string().replace(' ', "\u{a0}");
            vec![f.key.clone(), f.paper.clone(), f.ours.clone(), verdict, f.rule.clone()]
        })
        .collect();
    page.table(&["", "The paper", "Here", "", "The rule"], &rows);
}

/// "1 split", "2 splits".
pub(super) fn many(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}

fn splits(rows: &[Row]) -> Vec<&SplitRow> {
    rows.iter().filter_map(|row| if let Row::Split(split) = row { Some(split) } else { None }).collect()
}

fn warnings(all: usize, rows: &[Row]) -> Vec<String> {
    let mut said = Vec::new();
    let lacking: Vec<&SplitRow> = splits(rows).into_iter().filter(|s| !s.untrained.is_empty()).collect();
    if let Some(worst) = lacking.iter().max_by_key(|s| s.untrained.len()) {
        said.push(format!(
            "on {} of {} some labels of test documents have no training document and cannot be found; on split {} these are \
             {}, on {}",
            lacking.len(),
            many(all, "split"),
            worst.split,
            many(worst.untrained.len(), "label"),
            many(worst.untrained_documents, "document")
        ));
    }
    let results = rows.iter().filter_map(|row| if let Row::Result(result) = row { Some(result) } else { None });
    let short_of: Vec<&ResultRow> =
        results.filter(|r| r.size.of(usize::MAX) > r.features && r.size != crate::features::Size::All).collect();
    if let Some(first) = short_of.first() {
        said.push(format!(
            "{} rows ask for more features than there are, and take all there are: {} has {} features where {} were asked for",
            short_of.len(),
            first.selector,
            first.features,
            first.size
        ));
    }
    said
}

fn splits_section(page: &mut Page, record: &Record, how: &SplitPlan) {
    page.section("Corpus and splits");
    if let Some(corpus) = &record.corpus {
        page.text(&format!(
            "{}: {} documents, {} terms, {} labels took part (fingerprint {}). Split by {} with seed {}.",
            corpus.source, corpus.documents, corpus.terms, corpus.labels, corpus.fingerprint, how, record.seed
        ));
    }
    let row = |s: &SplitRow| {
        let mut missing = s.untrained.iter().take(8).cloned().collect::<Vec<_>>().join(", ");
        if s.untrained.len() > 8 {
            missing.push_str(" …");
        }
        vec![
            s.split.to_string(),
            s.train.to_string(),
            s.test.to_string(),
            s.terms.to_string(),
            s.labels.to_string(),
            s.untrained.len().to_string(),
            missing,
        ]
    };
    let rows: Vec<Vec<String>> = splits(&record.rows).into_iter().map(row).collect();
    page.details(&format!("The {}", many(rows.len(), "split")), |page| {
        let header = ["split", "training", "test", "terms", "labels", "labels without training documents", "which"];
        page.table(&header, &rows);
    });
}

fn how_section(page: &mut Page, record: &Record) {
    page.section("To run it again");
    let corpus = record.corpus.as_ref().map_or(String::new(), |c| format!(" --corpus {}", c.source));
    let taxonomy = record.corpus.as_ref().and_then(|c| c.taxonomy.as_ref());
    let taxonomy = taxonomy.map_or(String::new(), |t| format!(" --taxonomy {t}"));
    page.code(&format!("tamis study plan.toml{corpus}{taxonomy} --seed {}", record.seed));
    page.text("The plan, all rows (rows.jsonl, rows.csv, rows.parquet) and the plots (figures) are beside this page. Times are of the machine it ran on and are kept apart, in times.jsonl.");
    if let Some(grid) = record.plan.grid() {
        let list = |items: Vec<String>| items.join(", ");
        let rows = vec![
            vec!["selectors".to_owned(), list(grid.selectors.iter().map(ToString::to_string).collect())],
            vec!["sizes".into(), list(grid.sizes.iter().map(ToString::to_string).collect())],
            vec!["classifiers".into(), list(grid.classifiers.iter().map(ToString::to_string).collect())],
            vec!["thresholds".into(), list(grid.thresholds.iter().map(ToString::to_string).collect())],
            vec!["measures".into(), list(grid.measures.iter().map(ToString::to_string).collect())],
        ];
        page.details("What was run", |page| {
            page.table(&["", ""], &rows);
        });
        let used: f64 = record.times.iter().filter(|t| t.what == "unit").map(|t| t.seconds).sum();
        let lists: u64 = record.times.iter().filter_map(|t| t.classifications).sum();
        if used > 0.0 && lists > 0 {
            page.text(&format!(
                "{lists} classifications took {} seconds: {} a second.",
                short(used),
                short(lists as f64 / used)
            ));
        }
    }
}
