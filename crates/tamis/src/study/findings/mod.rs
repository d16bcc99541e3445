//! What came out, in sentences: the winners, and what follows for the papers' claims.
//!
//! Claims and their rules are tables of constants, so that they can be printed before anything is run.

mod addis;
mod li;
mod novovicova;
mod preliminary;
mod simulation;
mod validation;

use serde::Serialize;

use super::arena::{Arena, Over, arenas};
use super::evidence::{Claim, Estimated, Units, Verdict};
use super::folder::Record;
use super::plan::{Grid, Plan, Work};
use super::rows::Row;
use super::statistics::{Pair, Summary};
use crate::features::Size;
use crate::measure::significance::SignTest;
use crate::report::short;

/// A claim of a paper and what was seen here.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// What it is called.
    pub key: String,
    /// What the paper says, and where.
    pub paper: String,
    /// What is measured, and what follows from it.
    pub rule: String,
    /// What was seen.
    pub ours: String,
    /// The effect with its interval: of several parts that of the weakest.
    #[serde(flatten)]
    pub estimated: Option<Estimated>,
    /// What follows.
    pub verdict: Verdict,
}

/// p-values as people write them.
pub(super) fn p_value(p: f64) -> String {
    if p < 0.0001 { "p < 0.0001".into() } else { format!("p = {}", short(p)) }
}

/// The winners of an arena in plain English, the evidence beside it.
pub fn winners(arena: &Arena, summaries: &[Summary], pairs: &[Pair], level: f64) -> Vec<String> {
    let Some(best) = summaries.first() else { return Vec::new() };
    let splits = arena.curves[0].values[0].len();
    let over = match arena.over {
        Over::Splits if splits == 1 => "on the one split".to_owned(),
        Over::Splits => format!("in the mean of {splits} splits"),
        Over::Documents => format!("in the mean of {splits} test documents"),
    };
    let error = if splits > 1 { format!(" ± {}", short(best.peak.standard_error)) } else { String::new() };
    let mut said = vec![format!(
        "{} is best: {} reaches {}{error} with {} features, {over}.",
        best.selector,
        arena.title(),
        short(arena.shown(best.peak.mean)),
        best.peak.size,
    )];
    let unit = if arena.over == Over::Splits { "splits" } else { "documents" };
    let of_best: Vec<&Pair> = pairs.iter().filter(|p| p.better == best.selector || p.worse == best.selector).collect();
    let (beaten, open): (Vec<&Pair>, Vec<&Pair>) =
        of_best.iter().partition(|p| p.better == best.selector && p.holm <= 1.0 - level);
    let name = |p: &Pair| if p.better == best.selector { p.worse.clone() } else { p.better.clone() };
    let evidence = |p: &Pair| {
        let SignTest { wins, losses, ties, .. } = p.sign;
        let (won, lost) = if p.better == best.selector { (wins, losses) } else { (losses, wins) };
        let tied = if ties > 0 { format!("–{ties}") } else { String::new() };
        format!("{} ({won}–{lost}{tied}, {})", name(p), p_value(p.holm))
    };
    if !beaten.is_empty() {
        let list: Vec<String> = beaten.iter().map(|p| evidence(p)).collect();
        said.push(format!("Its best values beat those of {}.", list.join(", ")));
    }
    if !open.is_empty() {
        let list: Vec<String> = open.iter().map(|p| evidence(p)).collect();
        said.push(format!("It cannot be told apart from {}.", list.join(", ")));
    }
    if !of_best.is_empty() {
        said.push(format!("In brackets: wins and losses (and ties) on {unit}, and p after Holm's correction."));
    }
    if pairs.is_empty() {
        said.push("There is one value for each method, so no difference can be tested; more splits would tell.".into());
    } else if arena.over == Over::Splits && splits < 6 {
        said.push(format!(
            "With {splits} splits no test can reach two-sided significance at 0.05: even {splits} wins of {splits} have \
             {} one-sided.",
            p_value(0.5f64.powi(splits as i32))
        ));
    }
    let widest = summaries.iter().max_by(|a, b| a.robustness.octaves.total_cmp(&b.robustness.octaves));
    if let Some(widest) = widest.filter(|w| w.robustness.sizes > 1 && splits > 1) {
        said.push(format!(
            "{} forgives a wrong number of features most: from {} to {} it stays within one standard error of its peak ({}).",
            widest.selector,
            widest.robustness.from,
            widest.robustness.to,
            short(arena.shown(widest.peak.mean)),
        ));
    }
    if best.compared > 0 && arena.over == Over::Splits {
        let reference = match &arena.baseline {
            Some(baseline) => format!("{} with {} features", baseline.selector, baseline.sizes[0]),
            None => "the use of all features".to_owned(),
        };
        said.push(format!("On every split it beats {reference} at {} of {} sizes.", best.always_better, best.compared));
    }
    said
}

/// What the claims of a plan are judged over.
fn units(plan: &Plan) -> Units {
    let level = plan.tests.level;
    match &plan.work {
        Work::Grid(grid) if grid.splits.count() == 1 && grid.documents => Units::independent("test document", level),
        Work::Grid(grid) => Units::splits(grid.splits, level),
        Work::Simulation(_) => Units::independent("simulated set", level),
        Work::Pipelines(_) => Units::independent("pipeline", level),
    }
}

/// The claims that a plan decides, and their rules in words: known before anything is run.
pub fn claims(plan: &Plan) -> Vec<(Claim, String)> {
    let claims = match (&plan.work, plan.name.as_str()) {
        (Work::Simulation(_), _) => simulation::CLAIMS,
        (Work::Pipelines(_), _) => addis::CLAIMS,
        (Work::Grid(_), "olsson-preliminary") => preliminary::CLAIMS,
        (Work::Grid(_), "olsson-validation") => validation::CLAIMS,
        (Work::Grid(_), "novovicova") => novovicova::CLAIMS,
        (Work::Grid(_), "li") => li::CLAIMS,
        _ => &[],
    };
    let units = units(plan);
    claims.iter().map(|claim| (*claim, claim.rule_text(&units))).collect()
}

/// What follows from a study's rows for the claims of its paper.
pub fn findings(record: &Record) -> Vec<Finding> {
    let (plan, rows) = (&record.plan, record.rows.as_slice());
    let units = units(plan);
    match (&plan.work, plan.name.as_str()) {
        (Work::Simulation(_), _) => simulation::findings(rows, &units),
        (Work::Pipelines(pipelines), _) => addis::findings(record, pipelines, &units),
        (Work::Grid(grid), name) => {
            let arenas = arenas(grid, rows);
            match name {
                "olsson-preliminary" => preliminary::findings(&arenas, &units),
                "olsson-validation" => validation::findings(&arenas, &units),
                "novovicova" => novovicova::findings(&arenas, &units),
                "li" => li::findings(grid, &arenas, rows, &units),
                _ => Vec::new(),
            }
        }
    }
}

/// `a − b`, split by split, at one place of each.
fn minus(a: &[f64], b: &[f64]) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The mean over several lists, place by place; empty for none.
fn mean_of(lists: &[Vec<f64>]) -> Vec<f64> {
    let Some(first) = lists.first() else { return Vec::new() };
    (0..first.len()).map(|i| lists.iter().map(|list| list[i]).sum::<f64>() / lists.len() as f64).collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// The λ that were learned where there was something to choose, by split, sizes ascending: with all features of a split every λ is the same.
fn learned_by_split(grid: &Grid, rows: &[Row]) -> Vec<Vec<(Size, f64)>> {
    let results = || rows.iter().filter_map(|row| if let Row::Result(r) = row { Some(r) } else { None });
    let splits = results().map(|r| r.split).max().unwrap_or(0);
    (1..=splits)
        .map(|split| {
            let all = results().filter(|r| r.split == split).map(|r| r.features).max().unwrap_or(0);
            let of = |size: &Size| results().find(|r| r.split == split && r.size == *size && r.lambda.is_some());
            let learned = grid.sizes.iter().filter_map(of).filter(|r| r.features < all);
            learned.filter_map(|r| Some((r.size, r.lambda?))).collect()
        })
        .collect()
}

/// The same of all splits.
pub(super) fn learned_lambdas(grid: &Grid, rows: &[Row]) -> Vec<(Size, f64)> {
    learned_by_split(grid, rows).into_iter().flatten().collect()
}
