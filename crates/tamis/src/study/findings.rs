//! What came out, in sentences: the winners, and whether the papers' findings were seen again.

use super::arena::{Arena, Curve, Over, arenas};
use super::folder::Record;
use super::page;
use super::papers::OLSSON_REVERSALS;
use super::plan::{Grid, Work};
use super::rows::Row;
use super::simulated::Simulated;
use super::statistics::{Pair, Summary, pairs, summaries, wins_of_cut, wins_over_reference};
use crate::Result;
use crate::features::{Combination, Kind, Selector, Size};
use crate::measure::significance::SignTest;
use crate::report::short;

/// A finding of a paper and what was seen here.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// What the paper says, and where.
    pub paper: String,
    /// What was seen.
    pub ours: String,
    /// Whether that is the same; `None` when the rows do not say.
    pub confirmed: Option<bool>,
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

/// Whether the findings of the plan's paper were seen again.
pub fn findings(record: &Record) -> Result<Vec<Finding>> {
    match (&record.plan.work, record.plan.name.as_str()) {
        (Work::Simulation(_), _) => Ok(of_simulation(&record.rows)),
        (Work::Pipelines(pipelines), _) => Ok(page::pipelines::findings(record, pipelines)),
        (Work::Grid(grid), "olsson-preliminary") => Ok(of_preliminary(&arenas(grid, &record.rows))),
        (Work::Grid(grid), "olsson-validation") => of_validation(&arenas(grid, &record.rows), record),
        (Work::Grid(grid), "novovicova") => Ok(of_novovicova(&arenas(grid, &record.rows))),
        (Work::Grid(grid), "li") => Ok(of_li(grid, &arenas(grid, &record.rows), &record.rows)),
        _ => Ok(Vec::new()),
    }
}

fn finding(paper: &str, ours: String, confirmed: impl Into<Option<bool>>) -> Finding {
    Finding { paper: paper.to_owned(), ours, confirmed: confirmed.into() }
}

fn of_simulation(rows: &[Row]) -> Vec<Finding> {
    let Some(run) = Simulated::of(rows) else { return Vec::new() };
    let shares = run.reversals.map(|r| r.share());
    let list: Vec<String> =
        OLSSON_REVERSALS.iter().zip(shares).map(|((a, b, _), s)| format!("{a}/{b} {}", short(s))).collect();
    let [ranked, map_f1, rprec_f1] = [run.r_squared[0][1], run.r_squared[0][2], run.r_squared[1][2]];
    vec![
        finding(
            "MAP and R-precision reverse least: 0.194, against 0.314 and 0.352 with F1 (table 1)",
            list.join(", "),
            shares[0] < shares[1] && shares[0] < shares[2],
        ),
        finding(
            "The ranked measures agree more with each other than with F1 (figure 1: r²)",
            format!("r² {} against {} and {}", short(ranked), short(map_f1), short(rprec_f1)),
            ranked > map_f1 && ranked > rprec_f1,
        ),
    ]
}

/// The ways and inputs of a curve's selector, without cuts.
fn parts(curve: &Curve) -> (Option<Combination>, Vec<String>) {
    let Ok(selector) = curve.selector.parse::<Selector>() else { return (None, Vec::new()) };
    match selector.kind() {
        Kind::Combine(combine) => {
            let inputs = combine.inputs().iter().map(|s| s.clone().with_cut(None).to_string()).collect();
            (Some(combine.combination()), inputs)
        }
        _ => (None, vec![selector.with_cut(None).to_string()]),
    }
}

fn of_preliminary(arenas: &[Arena]) -> Vec<Finding> {
    let Some(arena) = arenas.first() else { return Vec::new() };
    let mut found = Vec::new();
    let peak = |c: &&Curve| c.mean(c.peak());
    let best =
        |of: &dyn Fn(&Curve) -> bool| arena.curves.iter().filter(|c| of(c)).max_by(|a, b| peak(a).total_cmp(&peak(b)));
    if let (Some(single), Some(combined)) = (best(&|c| !c.is_combination()), best(&Curve::is_combination)) {
        let chi2 = parts(combined).1.iter().any(|name| name.starts_with("chi2"));
        found.push(finding(
            "The best combinations peak above the best single selectors; both are built on χ² (figure 3)",
            format!(
                "{} peaks at {}, {} at {}",
                combined.selector,
                short(peak(&combined)),
                single.selector,
                short(peak(&single))
            ),
            peak(&combined) > peak(&single) && chi2 && single.selector.starts_with("chi2"),
        ));
    }
    let wins = |way: Combination, pairs: bool| {
        let of = arena.curves.iter().filter(|c| {
            let (combination, inputs) = parts(c);
            combination == Some(way) && (inputs.len() == 2) == pairs && c.without_cut().0 == Some(1)
        });
        let tests: Vec<SignTest> = of.flat_map(|c| wins_over_reference(arena, c)).flatten().collect();
        let (won, all) =
            (tests.iter().map(|t| t.wins).sum::<u64>(), tests.iter().map(|t| t.wins + t.losses + t.ties).sum::<u64>());
        if all == 0 { 0.0 } else { won as f64 / all as f64 }
    };
    let shares = [true, false].map(|pairs| [Combination::Lr, Combination::Hr].map(|way| wins(way, pairs)));
    let percent = |share: f64| format!("{:.0} %", 100.0 * share);
    found.push(finding(
        "Pairs beat all features more often by LR than by HR; with three or more inputs it is the other way round (table 2)",
        format!(
            "wins at cut 1: pairs LR {} HR {}, more inputs LR {} HR {}",
            percent(shares[0][0]),
            percent(shares[0][1]),
            percent(shares[1][0]),
            percent(shares[1][1])
        ),
        shares[0][0] > shares[0][1] && shares[1][1] > shares[1][0],
    ));
    found.extend(cutting(arena));
    found.extend(tops(arena));
    found
}

/// olsson table 3.
fn cutting(arena: &Arena) -> Option<Finding> {
    let share = |with: bool| {
        let (mut won, mut all) = (0, 0);
        for (name, tests) in wins_of_cut(arena, 1, 5) {
            if name.contains("chi2max") == with {
                won += tests.iter().map(|(_, t)| t.wins).sum::<u64>();
                all += tests.iter().map(|(_, t)| t.wins + t.losses).sum::<u64>();
            }
        }
        (all > 0).then(|| won as f64 / all as f64)
    };
    let (with, without) = (share(true)?, share(false)?);
    Some(finding(
        "Methods with χ²max gain from cutting at 5 instead of 1 (table 3)",
        format!(
            "cut 5 wins {:.0} % of the trials with χ²max in the method, {:.0} % without",
            100.0 * with,
            100.0 * without
        ),
        with > 0.5 && with > without,
    ))
}

/// olsson figure 2.
fn tops(arena: &Arena) -> Option<Finding> {
    let all = summaries(arena);
    let alone = all.iter().find(|s| s.selector == "chi2max@1")?;
    let pairs: Vec<&Summary> = all
        .iter()
        .filter(|s| {
            s.selector.starts_with("lr(")
                && s.selector.ends_with("@1")
                && s.selector.contains("chi2max")
                && s.selector.matches(',').count() == 1
        })
        .collect();
    let earlier = pairs.iter().filter(|s| s.peak.size < alone.peak.size).count();
    let wider = pairs.iter().filter(|s| s.robustness.octaves > alone.robustness.octaves).count();
    (!pairs.is_empty()).then(|| {
        finding(
            "LR pairs with χ²max peak with fewer features than χ²max alone, and their tops are flatter (figure 2)",
            format!(
                "of {} pairs {earlier} peak earlier than χ²max ({} features), {wider} have a wider top",
                pairs.len(),
                alone.peak.size
            ),
            2 * earlier > pairs.len() && 2 * wider > pairs.len(),
        )
    })
}

fn of_validation(arenas: &[Arena], record: &Record) -> Result<Vec<Finding>> {
    let mut found = Vec::new();
    for arena in arenas {
        let all = pairs(arena, &record.plan.tests)?;
        let is_combination = |name: &str| arena.curves.iter().any(|c| c.selector == name && c.is_combination());
        let mixed: Vec<&Pair> = all.iter().filter(|p| is_combination(&p.better) != is_combination(&p.worse)).collect();
        let won = |p: &&&Pair| is_combination(&p.better) && p.sign.p_one_sided <= 0.05;
        let wins = mixed.iter().filter(won).count();
        let list: Vec<String> = mixed
            .iter()
            .map(|p| {
                format!(
                    "{} over {} {}–{} ({})",
                    p.better,
                    p.worse,
                    p.sign.wins,
                    p.sign.losses,
                    p_value(p.sign.p_one_sided)
                )
            })
            .collect();
        found.push(finding(
            &format!("By peak {} the combinations beat the single selectors and all features, every pair significantly (figure 8)", arena.measure),
            format!("{wins} of {} pairs: {}", mixed.len(), list.join("; ")),
            (!mixed.is_empty()).then_some(wins == mixed.len()),
        ));
    }
    Ok(found)
}

fn of_novovicova(arenas: &[Arena]) -> Vec<Finding> {
    let mut found = Vec::new();
    for arena in arenas {
        let curve = |start: &str| arena.curves.iter().find(|c| c.selector.starts_with(start));
        let (Some(os), Some(ib), Some(ig)) = (curve("os("), curve("ib"), curve("ig")) else { continue };
        let small: Vec<usize> = (0..os.sizes.len()).filter(|&i| os.sizes[i] <= Size::Top(1000)).collect();
        let best = small.iter().filter(|&&i| os.mean(i) > ib.mean(i).max(ig.mean(i))).count();
        let gain: f64 =
            small.iter().map(|&i| os.mean(i) - ib.mean(i).max(ig.mean(i))).sum::<f64>() / small.len().max(1) as f64;
        found.push(finding(
            "Oscillating search beats both best-individual selections up to about 1,000 words (figures 1 and 2)",
            format!(
                "{}: best at {best} of {} sizes up to 1,000, on average by {:+.4}",
                arena.title(),
                small.len(),
                gain
            ),
            2 * best > small.len() && gain > 0.0,
        ));
        let ahead: f64 = (0..ib.sizes.len()).map(|i| ib.mean(i) - ig.mean(i)).sum::<f64>() / ib.sizes.len() as f64;
        found.push(finding(
            "Individual Bhattacharyya is slightly better than information gain (section 5.4)",
            format!("{}: on average by {ahead:+.4}", arena.title()),
            ahead > 0.0,
        ));
    }
    found
}

/// The λ that were learned where there was something to choose: with all features of a split every λ is the same.
pub(super) fn learned_lambdas(rows: &[Row]) -> Vec<(Size, f64)> {
    let results = || rows.iter().filter_map(|row| if let Row::Result(r) = row { Some(r) } else { None });
    let mut all: Vec<usize> = Vec::new();
    for row in results() {
        let split = row.split as usize;
        all.resize(all.len().max(split + 1), 0);
        all[split] = all[split].max(row.features);
    }
    results().filter(|r| r.features < all[r.split as usize]).filter_map(|r| Some((r.size, r.lambda?))).collect()
}

fn of_li(grid: &Grid, arenas: &[Arena], rows: &[Row]) -> Vec<Finding> {
    let mut found = Vec::new();
    let mean_of = |selector: &str, score: &str| {
        let values: Vec<f64> = rows
            .iter()
            .filter_map(|row| if let Row::Profile(p) = row { Some(p) } else { None })
            .filter(|p| p.selector.starts_with(selector))
            .filter_map(|p| p.means.iter().find(|(name, _)| name.starts_with(score)).map(|(_, v)| *v))
            .collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let group = |names: &[&str]| names.iter().filter_map(|n| mean_of(n, "mi")).collect::<Vec<f64>>();
    let (first, second, third) = (group(&["mi", "bns"]), group(&["chi2max", "ig", "wllr"]), group(&["df"]));
    if let (false, false, Some(df)) = (first.is_empty(), second.is_empty(), third.first()) {
        let low = first.iter().copied().fold(f64::INFINITY, f64::min);
        let (most, least) =
            (second.iter().copied().fold(0.0, f64::max), second.iter().copied().fold(f64::INFINITY, f64::min));
        found.push(finding(
            "MI and BNS prefer category information most, then IG, CHI and WLLR, DF least (table 1)",
            format!(
                "MI scores: first group from {}, second {} to {}, DF {}",
                short(low),
                short(least),
                short(most),
                short(*df)
            ),
            low > most && least > *df,
        ));
    }
    for arena in arenas {
        let Some(wfo) = arena.curves.iter().find(|c| c.selector.starts_with("wfo(auto)")) else { continue };
        let rank = |i: usize| arena.curves.iter().filter(|c| i < c.sizes.len() && c.mean(i) > wfo.mean(i)).count();
        // Where all features are taken, all methods are the same.
        let all = arena.curves.iter().flat_map(|c| &c.features).copied().fold(0.0, f64::max);
        let sizes: Vec<usize> = (0..wfo.sizes.len()).filter(|&i| wfo.features[i] < all).collect();
        let top = sizes.iter().filter(|&&i| rank(i) < 3).count();
        let worst = sizes.iter().filter(|&&i| rank(i) + 1 == arena.curves.len()).count();
        found.push(finding(
            "WFO with learned λ is among the best at all sizes and never the worst (figure 2)",
            format!(
                "{}: among the first three of {} at {top} of {} sizes, last at {worst}",
                arena.title(),
                arena.curves.len(),
                sizes.len()
            ),
            (!sizes.is_empty()).then_some(3 * top >= 2 * sizes.len() && worst == 0),
        ));
    }
    let learned = learned_lambdas(rows);
    let lambdas = |most: bool| {
        let middle = grid.sizes.len() / 2;
        let in_half = |size: &Size| (grid.sizes.iter().position(|s| s == size) >= Some(middle)) == most;
        let of: Vec<f64> = learned.iter().filter(|(size, _)| in_half(size)).map(|(_, l)| *l).collect();
        (!of.is_empty()).then(|| of.iter().sum::<f64>() / of.len() as f64)
    };
    if let (Some(few), Some(many)) = (lambdas(false), lambdas(true)) {
        found.push(finding(
            "λ is near 0.5 for few features and falls for many (section 4.3)",
            format!("mean λ {} for the smaller half of the sizes, {} for the larger", short(few), short(many)),
            many < few,
        ));
    }
    found
}
