//! The report of a study of pipelines: time by step, F1 by imbalance (addis tables 1 and 2).

use super::Digest;
use crate::hierarchy::pipeline::Imbalance;
use crate::report::{Axis, Page, Series, lines, short};
use crate::study::findings::Finding;
use crate::study::folder::Record;
use crate::study::papers::{ADDIS_IMBALANCE, ADDIS_TIMES};
use crate::study::pipelines::Pipelines;
use crate::study::rows::{PipelineRow, Row};

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

/// Whether the findings of addis were seen again.
pub(in crate::study) fn findings(record: &Record, plan: &Pipelines) -> Vec<Finding> {
    let seen = Seen::of(record);
    let mut found = Vec::new();
    let of = |f: &dyn Fn(&str) -> Option<f64>| ratio(f("rbf"), f("tsa"));
    if let Some(counted) = of(&|method| seen.evaluations(method, seen.depth)) {
        let clock = of(&|method| seen.seconds(method, seen.depth))
            .map_or(String::new(), |clock| format!("; on the clock, as we compute both, {}", short(clock)));
        found.push(Finding {
            paper: "TSA takes 28 times less than RBF although its grid is 100 times finer (table 1)".into(),
            ours: format!(
                "RBF computes {} times as many utilities as TSA with {} levels{clock}",
                short(counted),
                seen.depth
            ),
            // RBF's grid grows with every level, so the paper's figure speaks of its four; of those, the order of magnitude.
            confirmed: (seen.depth == ADDIS_TIMES.len()).then_some(counted >= 10.0),
        });
    }
    let exponents: Vec<i32> = plan.imbalance.iter().copied().filter(|i| *i > 0).collect();
    let gaps: Vec<(f64, f64)> = exponents
        .iter()
        .filter_map(|&exponent| {
            let (rbf, tsa) = (seen.f1("rbf", exponent)?, seen.f1("tsa", exponent)?);
            Some((tsa.0 - rbf.0, tsa.1 - rbf.1))
        })
        .collect();
    if let (Some(selected), Some(others)) = (mean(gaps.iter().map(|g| g.0)), mean(gaps.iter().map(|g| g.1))) {
        let ahead = |of: fn(&(f64, f64)) -> f64| gaps.iter().filter(|g| of(g) > 0.0).count();
        let [ahead, ahead_selected] = [ahead(|g| g.1), ahead(|g| g.0)];
        found.push(Finding {
            paper: "F1 of TSA is above that of RBF at every imbalance, by 0.005 to 0.028 (table 2)".into(),
            ours: format!(
                "on documents that thresholds were not selected on at {ahead} of {}, on average by {others:+.4}; on those that they \
                 were selected on at {ahead_selected}, by {selected:+.4}",
                gaps.len()
            ),
            confirmed: Some(ahead == gaps.len()),
        });
    }
    if let (Some(&first), Some(&last)) = (exponents.first(), exponents.last())
        && let (Some(from), Some(to)) = (seen.f1("tsa", first), seen.f1("tsa", last))
    {
        found.push(Finding {
            paper: "F1 of TSA falls with the imbalance, from 0.835 at 2^-1 to 0.273 at 2^-7 (table 2)".into(),
            ours: format!(
                "on other documents from {:.3} at {} to {:.3} at {}; where thresholds were selected from {:.3} to {:.3}",
                from.1,
                imbalance(first),
                to.1,
                imbalance(last),
                from.0,
                to.0
            ),
            confirmed: Some(to.1 < from.1),
        });
    }
    found
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
