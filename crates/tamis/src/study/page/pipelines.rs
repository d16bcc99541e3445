//! The report of a study of pipelines: time by step, F1 by imbalance (addis tables 1 and 2).

use super::Digest;
use crate::hierarchy::pipeline::Imbalance;
use crate::report::{Axis, Page, Series, lines, short};
use crate::study::folder::Record;
use crate::study::papers::{ADDIS_IMBALANCE, ADDIS_TIMES};
use crate::study::pipelines::Pipelines;
use crate::study::rows::{PipelineRow, Row, UtilityRow};

/// The rows of a study, and its times.
struct Seen<'a> {
    record: &'a Record,
    rows: Vec<&'a PipelineRow>,
    /// Levels of the pipelines.
    depth: usize,
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let all: Vec<f64> = values.collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

fn imbalance(exponent: i32) -> String {
    Imbalance::power(exponent).to_string()
}

impl<'a> Seen<'a> {
    fn of(record: &'a Record) -> Self {
        let rows: Vec<&PipelineRow> =
            record.rows.iter().filter_map(|row| if let Row::Pipeline(p) = row { Some(p) } else { None }).collect();
        Self { record, depth: rows.iter().map(|r| r.thresholds.len()).max().unwrap_or(0), rows }
    }

    fn of_method(&self, method: &str) -> impl Iterator<Item = &&'a PipelineRow> {
        self.rows.iter().filter(move |r| r.method == method)
    }

    /// Mean F1 of a method at an imbalance: where thresholds were selected, and on other documents.
    fn f1(&self, method: &str, exponent: i32) -> Option<(f64, f64)> {
        let name = imbalance(exponent);
        let of = || self.of_method(method).filter(|r| r.imbalance == name);
        Some((mean(of().map(|r| r.utility))?, mean(of().map(|r| r.check))?))
    }

    /// Seconds of a method up to a step, over all pipelines.
    fn seconds(&self, method: &str, step: usize) -> Option<f64> {
        let of = |t: &&crate::study::Timing| t.what == method && t.step == Some(step as u32);
        let all: Vec<f64> = self.record.times.iter().filter(of).map(|t| t.seconds).collect();
        (!all.is_empty()).then(|| all.iter().sum())
    }

    /// Utilities of a method up to a step, over all pipelines.
    fn evaluations(&self, method: &str, step: usize) -> Option<f64> {
        let all: Vec<u64> = self.of_method(method).filter_map(|r| r.steps.get(step.checked_sub(1)?).copied()).collect();
        (!all.is_empty()).then(|| all.iter().sum::<u64>() as f64)
    }

    fn pipelines(&self) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        for row in &self.rows {
            if !names.contains(&row.pipeline.as_str()) {
                names.push(&row.pipeline);
            }
        }
        names
    }
}

fn ratio(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) if b > 0.0 => Some(a / b),
        _ => None,
    }
}

/// The winners, and all sections.
pub(super) fn sections(page: &mut Page, record: &Record, plan: &Pipelines, digest: &mut Digest) {
    let seen = Seen::of(record);
    if seen.rows.is_empty() {
        page.section("Results").text("There are no rows yet.");
        return;
    }
    let methods: Vec<String> = plan.methods.iter().map(ToString::to_string).collect();
    digest.winners.push(("Thresholds along pipelines".into(), in_short(&seen, &methods)));
    super::winners_section(page, digest);
    super::findings_section(page, &record.plan, digest);
    times(page, &seen, &methods);
    imbalances(page, plan, &seen, &methods);
    visited(page, &seen);
    utilities(page, record);
    each(page, &seen, &methods);
}

/// Which method comes how near to the best there is, and what is left of that on other documents.
fn in_short(seen: &Seen<'_>, methods: &[String]) -> Vec<String> {
    let over_all = |method: &str, of: fn(&PipelineRow) -> f64| mean(seen.of_method(method).map(|r| of(r)));
    let ranked = |of: fn(&PipelineRow) -> f64| {
        let mut all: Vec<(f64, &str)> = methods.iter().filter_map(|m| Some((over_all(m, of)?, m.as_str()))).collect();
        all.sort_by(|a, b| b.0.total_cmp(&a.0));
        all.iter().map(|(value, method)| format!("{method} {value:.3}")).collect::<Vec<_>>().join(", ")
    };
    let mut said = vec![
        format!(
            "Mean F1 over {} of {} levels and all imbalances, where thresholds were selected: {}.",
            super::many(seen.pipelines().len(), "pipeline"),
            seen.depth,
            ranked(|r| r.utility)
        ),
        format!("On documents that thresholds were not selected on: {}.", ranked(|r| r.check)),
    ];
    let exact: Vec<_> = seen.of_method("exact").collect();
    if !exact.is_empty() {
        let proven = exact.iter().filter(|r| r.proven).count();
        said.push(format!("Exact proved its thresholds best in {proven} of {} cases.", exact.len()));
    }
    said
}

fn times(page: &mut Page, seen: &Seen<'_>, methods: &[String]) {
    let mut table = Vec::new();
    for step in 1..=seen.depth {
        let cell = |value: Option<f64>| value.map_or(String::new(), short);
        let clock = ["rbf", "tsa"].map(|m| seen.seconds(m, step));
        let counted = ["rbf", "tsa"].map(|m| seen.evaluations(m, step));
        let mut row = vec![format!("step {step} (level {})", seen.depth + 1 - step)];
        let milliseconds = clock.map(|seconds| cell(seconds.map(|s| 1000.0 * s)));
        row.extend(milliseconds.into_iter().chain([cell(ratio(clock[0], clock[1]))]));
        row.extend([cell(counted[0]), cell(counted[1]), cell(ratio(counted[0], counted[1]))]);
        let paper = ADDIS_TIMES.get(step - 1).map(|p| [short(p.1), short(p.2), p.3.to_string()]);
        row.extend(paper.unwrap_or_default());
        table.push(row);
    }
    page.section("Time by calibrate step (addis table 1)");
    page.text("Up to each step, from the deepest level upwards, over all pipelines, on the balanced set. Utilities are counted as the pseudo-code of the paper computes them; our programs share work between them, so the clock tells another ratio.");
    page.table(
        &[
            "up to",
            "rbf, ms",
            "tsa, ms",
            "ratio",
            "rbf utilities",
            "tsa utilities",
            "ratio",
            "addis: rbf, s",
            "addis: tsa, s",
            "addis: ratio",
        ],
        &table,
    );
    let others: Vec<String> = methods
        .iter()
        .filter(|m| !["rbf", "tsa"].contains(&m.as_str()))
        .filter_map(|m| Some(format!("{m} {} ms", short(1000.0 * seen.seconds(m, seen.depth)?))))
        .collect();
    if !others.is_empty() {
        page.text(&format!("All levels by the methods that are not the paper's: {}.", others.join(", ")));
    }
}

fn imbalances(page: &mut Page, plan: &Pipelines, seen: &Seen<'_>, methods: &[String]) {
    let mut header: Vec<String> = vec!["imbalance".into()];
    header.extend(methods.iter().map(|m| format!("{m}, other documents")));
    header.extend(["addis: rbf".to_owned(), "addis: tsa".into()]);
    header.extend(methods.iter().map(|m| format!("{m}, same documents")));
    let mut table = Vec::new();
    let empty = |m: &String| Series { name: m.clone(), ..Series::default() };
    let mut series: [Vec<Series>; 2] = [(); 2].map(|()| methods.iter().map(empty).collect());
    for &exponent in &plan.imbalance {
        let values: Vec<Option<(f64, f64)>> = methods.iter().map(|m| seen.f1(m, exponent)).collect();
        let cell = |v: Option<f64>| v.map_or(String::new(), |v| format!("{v:.3}"));
        let paper = usize::try_from(exponent - 1).ok().and_then(|i| ADDIS_IMBALANCE.get(i));
        let mut row = vec![imbalance(exponent)];
        row.extend(values.iter().map(|v| cell(v.map(|v| v.1))));
        row.extend([cell(paper.map(|p| p.0)), cell(paper.map(|p| p.1))]);
        row.extend(values.iter().map(|v| cell(v.map(|v| v.0))));
        table.push(row);
        for (i, (same, others)) in values.iter().enumerate().filter_map(|(i, v)| Some((i, (*v)?))) {
            series[0][i].points.push((f64::from(exponent), others));
            series[1][i].points.push((f64::from(exponent), same));
        }
    }
    let paper = |name: &str, of: fn(&(f64, f64)) -> f64| {
        let points = ADDIS_IMBALANCE.iter().enumerate().map(|(i, p)| (i as f64 + 1.0, of(p))).collect();
        Series { name: name.into(), points, dashed: true, ..Series::default() }
    };
    series[0].extend([paper("addis: rbf", |p| p.0), paper("addis: tsa", |p| p.1)]);
    page.section("F1 by imbalance (addis table 2)");
    page.text("Thresholds are selected on some documents and judged on others; on the same documents they look better than they are, those of the thorough methods most.");
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(&header, &table);
    let plot = |title: &str, series: &[Series]| {
        lines(title, &Axis::linear("i of the imbalance 2^-i"), &Axis::linear("F1"), series)
    };
    page.figure(
        "imbalance",
        plot("F1 on other documents", &series[0]),
        "Mean over pipelines; dashed: the paper's, on its own corpus.",
    );
    page.figure(
        "imbalance-same",
        plot("F1 on the documents that thresholds were selected on", &series[1]),
        "Mean over pipelines; no thresholds can be above exact here.",
    );
}

/// ρ of addis 4.
fn visited(page: &mut Page, seen: &Seen<'_>) {
    let balance = imbalance(0);
    let of: Vec<&Vec<f64>> =
        seen.of_method("tsa").filter(|r| r.imbalance == balance && !r.visited.is_empty()).map(|r| &r.visited).collect();
    if of.is_empty() {
        return;
    }
    let row = |level: usize| {
        let share = mean(of.iter().map(|v| v[level])).unwrap_or_default();
        vec![format!("level {}", level + 1), (level + 1).to_string(), format!("{share:.3}")]
    };
    page.section("How far TSA searches (ρ of addis 4)");
    page.text("Share of the steps from one end of the grid to the other that a repair of each level makes, at balance; the paper has 0.29 over all, falling towards the root (level 1).");
    page.table(&["", "repairs", "share"], &(0..seen.depth).map(row).collect::<Vec<_>>());
}

/// addis figure 2.
fn utilities(page: &mut Page, record: &Record) {
    let rows: Vec<&UtilityRow> =
        record.rows.iter().filter_map(|row| if let Row::Utilities(u) = row { Some(u) } else { None }).collect();
    let Some(first) = rows.first() else { return };
    let line = |name: &str, of: fn(&UtilityRow) -> &Vec<f64>| Series {
        name: name.into(),
        points: (0..first.at.len())
            .filter_map(|i| Some((first.at[i], mean(rows.iter().filter_map(|r| of(r).get(i).copied()))?)))
            .collect(),
        ..Series::default()
    };
    let series = [line("precision", |r| &r.precision), line("recall", |r| &r.recall), line("F1", |r| &r.f1)];
    page.section("Utilities against the threshold (addis figure 2)");
    page.text("Of the last level, the others at 0, on the balanced set. The paper's argument is that such curves have one top.");
    page.figure(
        "utilities",
        lines("Precision, recall and F1", &Axis::linear("threshold"), &Axis::linear(""), &series),
        "Mean over pipelines.",
    );
}

fn each(page: &mut Page, seen: &Seen<'_>, methods: &[String]) {
    let names = seen.pipelines();
    page.section("The pipelines");
    page.text("Documents that thresholds were selected on, and mean F1 over imbalances.");
    let list: Vec<Vec<String>> = names
        .iter()
        .map(|name| {
            let of = || seen.rows.iter().filter(|r| r.pipeline == *name);
            let (documents, positives) = of().next().map_or((0, 0), |r| (r.documents, r.positives));
            let mut cells = vec![(*name).to_owned(), documents.to_string(), positives.to_string()];
            cells.extend(methods.iter().map(|m| {
                mean(of().filter(|r| r.method == *m).map(|r| r.utility)).map_or(String::new(), |v| format!("{v:.3}"))
            }));
            cells
        })
        .collect();
    let mut header = vec!["pipeline", "documents", "positives"];
    header.extend(methods.iter().map(String::as_str));
    page.table(&header, &list);
}
