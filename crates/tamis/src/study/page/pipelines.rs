//! The report of a study of pipelines: time by step, F1 by imbalance (addis tables 1 and 2).

use super::Digest;
use crate::report::{Axis, Page, Series, lines, short};
use crate::study::findings::Finding;
use crate::study::folder::Record;
use crate::study::papers::{ADDIS_IMBALANCE, ADDIS_TIMES};
use crate::study::pipelines::Pipelines;
use crate::study::rows::{PipelineRow, Row};

fn rows(record: &Record) -> Vec<&PipelineRow> {
    record.rows.iter().filter_map(|row| if let Row::Pipeline(p) = row { Some(p) } else { None }).collect()
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn imbalance(exponent: i32) -> String {
    crate::label::pipeline::Imbalance::power(exponent).to_string()
}

/// Mean F1 of a method at an imbalance: where thresholds were selected, and on other documents.
fn f1(rows: &[&PipelineRow], method: &str, exponent: i32) -> Option<(f64, f64)> {
    let name = imbalance(exponent);
    let of = || rows.iter().filter(|r| r.method == method && r.imbalance == name);
    Some((mean(of().map(|r| r.utility))?, mean(of().map(|r| r.check))?))
}

/// Seconds of a method up to a step, over all pipelines.
fn seconds(record: &Record, method: &str, step: u32) -> Option<f64> {
    let of = record.times.iter().filter(|t| t.what == method && t.step == Some(step)).map(|t| t.seconds);
    let all: Vec<f64> = of.collect();
    (!all.is_empty()).then(|| all.iter().sum())
}

/// Utilities of a method up to a step, over all pipelines.
fn evaluations(rows: &[&PipelineRow], method: &str, step: usize) -> Option<f64> {
    let all: Vec<u64> = rows.iter().filter(|r| r.method == method).filter_map(|r| r.steps.get(step).copied()).collect();
    (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64)
}

fn depth(rows: &[&PipelineRow]) -> usize {
    rows.iter().map(|r| r.thresholds.len()).max().unwrap_or(0)
}

/// Whether the findings of addis were seen again.
pub(in crate::study) fn findings(record: &Record, plan: &Pipelines) -> Vec<Finding> {
    let rows = rows(record);
    let depth = depth(&rows);
    let mut found = Vec::new();
    if let (Some(rbf), Some(tsa)) =
        (evaluations(&rows, "rbf", depth - depth.min(1)), evaluations(&rows, "tsa", depth - depth.min(1)))
    {
        let clock = match (seconds(record, "rbf", depth as u32), seconds(record, "tsa", depth as u32)) {
            (Some(rbf), Some(tsa)) if tsa > 0.0 => format!("; on the clock {}, as we compute both", short(rbf / tsa)),
            _ => String::new(),
        };
        found.push(Finding {
            paper: "TSA takes 28 times less than RBF although its grid is 100 times finer (table 1)".into(),
            ours: format!("RBF computes {} times as many utilities as TSA{clock}", short(rbf / tsa)),
            confirmed: Some(rbf > tsa),
        });
    }
    let (mut ahead, mut all, mut gaps) = (0, 0, Vec::new());
    for &exponent in plan.imbalance.iter().filter(|i| **i > 0) {
        if let (Some(rbf), Some(tsa)) = (f1(&rows, "rbf", exponent), f1(&rows, "tsa", exponent)) {
            all += 1;
            ahead += usize::from(tsa.0 > rbf.0);
            gaps.push(tsa.0 - rbf.0);
        }
    }
    if all > 0 {
        found.push(Finding {
            paper: "F1 of TSA is above that of RBF at every imbalance (table 2)".into(),
            ours: format!("at {ahead} of {all}, on average by {:+.4}", gaps.iter().sum::<f64>() / all as f64),
            confirmed: Some(ahead == all),
        });
        let of = |exponent| f1(&rows, "tsa", exponent).map(|f| f.0);
        let exponents: Vec<i32> = plan.imbalance.iter().copied().filter(|i| *i > 0).collect();
        if let (Some(&first), Some(&last)) = (exponents.first(), exponents.last())
            && let (Some(from), Some(to)) = (of(first), of(last))
        {
            found.push(Finding {
                paper: "F1 falls with the imbalance, from 0.835 at 2^-1 to 0.273 at 2^-7 (table 2)".into(),
                ours: format!("from {} at {} to {} at {}", short(from), imbalance(first), short(to), imbalance(last)),
                confirmed: Some(to < from),
            });
        }
    }
    found
}

/// The winners, and all sections.
pub(super) fn sections(page: &mut Page, record: &Record, plan: &Pipelines, digest: &mut Digest) {
    let rows = rows(record);
    if rows.is_empty() {
        page.section("Results").text("There are no rows yet.");
        return;
    }
    let methods: Vec<String> = plan.methods.iter().map(ToString::to_string).collect();
    let depth = depth(&rows);
    let mut names: Vec<&str> = rows.iter().map(|r| r.pipeline.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let over_all = |method: &str, check: bool| {
        mean(rows.iter().filter(|r| r.method == method).map(|r| if check { r.check } else { r.utility }))
    };
    let ranked = |check: bool| {
        let mut all: Vec<(f64, &String)> = methods.iter().filter_map(|m| Some((over_all(m, check)?, m))).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all
    };
    if let (Some(best), Some(checked)) = (ranked(false).first(), ranked(true).first()) {
        digest.winners.push((
            "Thresholds along pipelines".into(),
            vec![
                format!(
                    "{} finds the best thresholds: F1 {} in the mean of {} pipelines of {depth} levels and all imbalances.",
                    best.1,
                    short(best.0),
                    names.len()
                ),
                format!("On documents that thresholds were not selected on, {} is best with {}.", checked.1, short(checked.0)),
            ],
        ));
    }
    super::winners_section(page, digest);
    super::findings_section(page, &record.plan, digest);
    times(page, record, &rows, depth);
    imbalances(page, plan, &rows, &methods);
    page.details(&format!("The {} pipelines", names.len()), |page| {
        let list: Vec<Vec<String>> = names
            .iter()
            .map(|name| {
                let of = || rows.iter().filter(|r| r.pipeline == *name);
                let row = of().next().map_or((0, 0), |r| (r.documents, r.positives));
                let mut cells = vec![(*name).to_owned(), row.0.to_string(), row.1.to_string()];
                cells.extend(methods.iter().map(|m| {
                    mean(of().filter(|r| r.method == *m).map(|r| r.utility))
                        .map_or(String::new(), |v| format!("{v:.3}"))
                }));
                cells
            })
            .collect();
        let mut header = vec!["pipeline", "documents", "positives"];
        header.extend(methods.iter().map(String::as_str));
        page.table(&header, &list);
    });
}

fn times(page: &mut Page, record: &Record, rows: &[&PipelineRow], depth: usize) {
    let mut table = Vec::new();
    for step in 1..=depth {
        let cell = |value: Option<f64>| value.map_or(String::new(), short);
        let ratio = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if b > 0.0 => short(a / b),
            _ => String::new(),
        };
        let clock = ["rbf", "tsa"].map(|m| seconds(record, m, step as u32));
        let counted = ["rbf", "tsa"].map(|m| evaluations(rows, m, step - 1));
        let paper = if depth == ADDIS_TIMES.len() { ADDIS_TIMES.get(step - 1) } else { None };
        let mut row = vec![format!("step {step} (level {})", depth + 1 - step)];
        row.extend([cell(clock[0]), cell(clock[1]), ratio(clock[0], clock[1])]);
        row.extend([cell(counted[0]), cell(counted[1]), ratio(counted[0], counted[1])]);
        row.extend(
            paper.map_or([String::new(), String::new(), String::new()], |p| [short(p.1), short(p.2), p.3.to_string()]),
        );
        table.push(row);
    }
    page.section("Time");
    page.text("Up to each calibrate step, over all pipelines, on the balanced set. Utilities are counted as the pseudo-code of the paper computes them; ours shares work between them, so the clock tells another ratio.");
    page.table(
        &[
            "up to",
            "rbf s",
            "tsa s",
            "ratio",
            "rbf utilities",
            "tsa utilities",
            "ratio",
            "addis: rbf s",
            "tsa s",
            "ratio",
        ],
        &table,
    );
}

fn imbalances(page: &mut Page, plan: &Pipelines, rows: &[&PipelineRow], methods: &[String]) {
    let mut header: Vec<String> = vec!["imbalance".into()];
    header.extend(methods.iter().map(|m| format!("{m}")));
    header.extend(methods.iter().map(|m| format!("{m}, other documents")));
    header.extend(["addis: rbf".to_owned(), "addis: tsa".into()]);
    let mut table = Vec::new();
    let mut series: Vec<Series> = methods.iter().map(|m| Series { name: m.clone(), ..Series::default() }).collect();
    for &exponent in &plan.imbalance {
        let values: Vec<Option<(f64, f64)>> = methods.iter().map(|m| f1(rows, m, exponent)).collect();
        let cell = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.3}"));
        let mut row = vec![imbalance(exponent)];
        row.extend(values.iter().map(|v| cell(v.map(|v| v.0))));
        row.extend(values.iter().map(|v| cell(v.map(|v| v.1))));
        let paper = usize::try_from(exponent - 1).ok().and_then(|i| ADDIS_IMBALANCE.get(i));
        row.extend([cell(paper.map(|p| p.0)), cell(paper.map(|p| p.1))]);
        table.push(row);
        for (series, value) in series.iter_mut().zip(values) {
            series.points.extend(value.map(|v| (f64::from(exponent), v.0)));
        }
    }
    for (name, of) in [("addis: rbf", 0), ("addis: tsa", 1)] {
        let value = |p: &(f64, f64)| if of == 0 { p.0 } else { p.1 };
        let points = ADDIS_IMBALANCE.iter().enumerate().map(|(i, p)| (i as f64 + 1.0, value(p))).collect();
        series.push(Series { name: name.into(), points, dashed: true, ..Series::default() });
    }
    page.section("F1 by imbalance");
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(&header, &table);
    let plot = lines("F1 by imbalance", &Axis::linear("i of the imbalance 2^-i"), &Axis::linear("F1"), &series);
    page.figure(
        "imbalance",
        plot,
        "Mean over pipelines, on the documents that thresholds were selected on; dashed: the paper's.",
    );
}
