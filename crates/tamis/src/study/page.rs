//! A study's report: one page from its rows.

use super::arena::{Arena, Over, arenas};
use super::{figures, page_pipelines};
use super::findings::{findings, p_value, winners};
use super::folder::Record;
use super::papers::{LI_CORPORA, LI_LAMBDA_20NG, LI_LAMBDA_AT_500, LI_PROFILE, OLSSON_REVERSALS};
use super::plan::{Grid, Plan, Work};
use super::rows::{ResultRow, Row, SplitRow};
use super::simulated::Simulated;
use super::statistics::{Pair, Summary, measure_reversals, pairs, summaries};
use crate::Result;
use crate::corpus::SplitPlan;
use crate::features::Selector;
use crate::measure::simulation::MEASURES;
use crate::report::{Page, short};

/// What a report says, for people at a terminal.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Digest {
    /// The winners, a paragraph for each measure and classifier: heading and sentences.
    pub winners: Vec<(String, Vec<String>)>,
    /// The paper's findings: what it says, what was seen, and whether that is the same.
    pub findings: Vec<super::Finding>,
    /// Warnings: what was missing or odd.
    pub warnings: Vec<String>,
}

/// Makes the report of a study, finished or not.
pub fn report(record: &Record) -> Result<(Page, Digest)> {
    let plan = &record.plan;
    let mut page = Page::new(&plan.title, &plan.about);
    let mut digest = Digest { findings: findings(record)?, ..Digest::default() };
    match &plan.work {
        Work::Simulation(_) => simulation(&mut page, record, &mut digest),
        Work::Pipelines(pipelines) => {
            digest.warnings = warnings(pipelines.splits.count(), &record.rows);
            page_pipelines::sections(&mut page, record, pipelines, &mut digest);
            splits_section(&mut page, record, &pipelines.splits, &digest);
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
            splits_section(&mut page, record, &grid.splits, &digest);
        }
    }
    how_section(&mut page, record);
    Ok((page, digest))
}

pub(super) fn winners_section(page: &mut Page, digest: &Digest) {
    page.section("In short");
    for (heading, sentences) in &digest.winners {
        page.heading(heading).text(&sentences.join(" "));
    }
    for warning in &digest.warnings {
        page.text(&format!("Note: {warning}"));
    }
}

pub(super) fn findings_section(page: &mut Page, plan: &Plan, digest: &Digest) {
    if digest.findings.is_empty() {
        return;
    }
    page.section(&format!("What the paper found ({})", plan.paper.as_deref().unwrap_or_default()));
    let rows: Vec<Vec<String>> = digest
        .findings
        .iter()
        .map(|f| {
            let verdict = match f.confirmed {
                Some(true) => "seen again",
                Some(false) => "not seen",
                None => "not tested",
            };
            vec![f.paper.clone(), f.ours.clone(), verdict.to_owned()]
        })
        .collect();
    page.table(&["The paper", "Here", ""], &rows);
}

fn arena_section(page: &mut Page, plan: &Plan, arena: &Arena, summaries: &[Summary], pairs: &[Pair]) {
    let (most, level) = (plan.tests.methods, plan.tests.level);
    let slug = arena.slug();
    let name = |what: &str| format!("{slug}-{what}");
    page.section(&arena.title());
    let over = if arena.over == Over::Splits { "splits" } else { "test documents" };
    page.figure(
        &name("quality"),
        figures::quality(arena, most, level),
        &format!(
            "The best {} methods by peak; bands are {:.0} % intervals of the mean over {over}.",
            most.min(arena.curves.len()),
            100.0 * level
        ),
    );
    summary_table(page, arena, summaries);
    if arena.over == Over::Splits && arena.curves[0].values[0].len() > 1 {
        for (what, map) in figures::dots(arena) {
            page.figure(&name(&what), map, "Darker: more splits. Hover for the sign test.");
        }
        if plan.name == "olsson-preliminary" {
            if let Some(map) = figures::paper_dots(arena) {
                page.figure(
                    &name("paper-table2"),
                    map,
                    "From our copy of the paper (olsson table 2): a dot stands for at least one win of five.",
                );
            }
        }
        if let Some(map) = figures::cuts(arena, 1, 5) {
            page.figure(
                &name("cuts"),
                map,
                "olsson table 3 has a dot for every method and size except for DF and IG alone; its sizes are lost in our copy.",
            );
        }
    }
    if arena.curves.len() > 3 {
        page.figure(
            &name("peaks"),
            figures::peaks(arena),
            "The best three single selectors and combinations are named.",
        );
    }
    if let Some(map) = figures::win_matrix(arena, most) {
        page.figure(
            &name("wins"),
            map,
            &format!("Over {over}, each method by its best value. Hover for the sign test."),
        );
    }
    pair_table(page, arena, pairs);
    if let Some(map) = figures::wins_by_pair(arena, most) {
        page.figure(&name("wins-by-size"), map, &format!("Out of {} {over}.", arena.curves[0].values[0].len()));
    }
    if let Some(map) = figures::best_of_all(arena, most) {
        page.figure(&name("best"), map, "Ties count for all that tie.");
    }
}

fn summary_table(page: &mut Page, arena: &Arena, summaries: &[Summary]) {
    let row = |s: &Summary| {
        let Summary { robustness: r, .. } = s;
        let better = if s.compared == 0 { String::new() } else { format!("{} of {}", s.always_better, s.compared) };
        vec![
            s.selector.clone(),
            format!("{:.4}", arena.shown(s.peak.mean)),
            format!("{:.4}", s.peak.standard_error),
            s.peak.size.to_string(),
            format!("{:.4}", arena.shown(s.area)),
            format!("{} – {}", r.from, r.to),
            better,
        ]
    };
    let header = [
        "selector",
        "peak",
        "± error",
        "features at peak",
        "mean height",
        "top (within 1 error)",
        "sizes always better",
    ];
    let rows: Vec<Vec<String>> = summaries.iter().map(row).collect();
    if rows.len() <= 12 {
        page.table(&header, &rows);
    } else {
        page.table(&header, &rows[..10]);
        page.details(&format!("All {} methods", rows.len()), |page| {
            page.table(&header, &rows);
        });
    }
}

fn pair_table(page: &mut Page, arena: &Arena, pairs: &[Pair]) {
    if pairs.is_empty() {
        return;
    }
    let row = |p: &Pair| {
        vec![
            p.better.clone(),
            p.worse.clone(),
            format!("{}–{}–{}", p.sign.wins, p.sign.losses, p.sign.ties),
            p_value(p.sign.p_one_sided),
            p_value(p.wilcoxon.p_two_sided),
            format!("{:+.4} [{:+.4}, {:+.4}]", p.bootstrap.difference, p.bootstrap.low, p.bootstrap.high),
            p_value(p.bootstrap.p_two_sided),
            p_value(p.randomisation.p_two_sided),
            p_value(p.holm),
        ]
    };
    let header = [
        "better",
        "worse",
        "wins–losses–ties",
        "sign test (one-sided)",
        "Wilcoxon",
        "difference (bootstrap)",
        "bootstrap",
        "randomisation",
        "after Holm",
    ];
    let rows: Vec<Vec<String>> = pairs.iter().map(row).collect();
    page.details(&format!("Tests of {} pairs ({})", rows.len(), arena.measure), |page| {
        page.text("Best values of each method, paired; two-sided unless it says otherwise. The last column corrects the randomisation test for all pairs of this table.");
        page.table(&header, &rows);
    });
}

fn reversals_section(page: &mut Page, arenas: &[Arena]) {
    let mut rows = Vec::new();
    for (i, x) in arenas.iter().enumerate() {
        for y in arenas[i + 1..].iter().filter(|y| y.classifier == x.classifier && y.measure != x.measure) {
            if let Some(found) = measure_reversals(x, y) {
                rows.push(vec![
                    x.title(),
                    y.title(),
                    found.reversed.to_string(),
                    found.trials.to_string(),
                    format!("{:.3}", found.share()),
                ]);
            }
        }
    }
    if !rows.is_empty() {
        page.section("Do the measures agree?");
        page.text("How often two measures prefer different methods: over all pairs of methods, sizes and splits.");
        page.table(&["measure", "measure", "reversed", "trials", "share"], &rows);
    }
}

fn searches_section(page: &mut Page, record: &Record) {
    if let Some(plot) = figures::search_times(&record.times) {
        page.section("Searches");
        page.figure(
            "search-times",
            plot,
            "Seconds of one search on this machine, mean over splits (novovicova figure 3).",
        );
    }
}

fn profile_section(page: &mut Page, plan: &Plan, rows: &[Row]) {
    let profiles: Vec<_> = rows.iter().filter_map(|r| if let Row::Profile(p) = r { Some(p) } else { None }).collect();
    let Some(first) = profiles.first() else { return };
    let mut selectors: Vec<&str> = Vec::new();
    for profile in &profiles {
        if !selectors.contains(&profile.selector.as_str()) {
            selectors.push(&profile.selector);
        }
    }
    let is_li = plan.paper.as_deref() == Some("li");
    let mut header: Vec<String> = vec!["selector".into()];
    header.extend(first.means.iter().map(|(name, _)| format!("{name} here")));
    if is_li {
        header.extend(LI_CORPORA.iter().flat_map(|c| [format!("DF {c}"), format!("MI {c}")]));
    }
    let mut table = Vec::new();
    for selector in selectors {
        let of: Vec<_> = profiles.iter().filter(|p| p.selector == selector).collect();
        let mut row = vec![selector.to_owned()];
        for i in 0..first.means.len() {
            row.push(format!("{:.3}", of.iter().map(|p| p.means[i].1).sum::<f64>() / of.len() as f64));
        }
        if is_li {
            let plain = selector.parse::<Selector>().map(|s| s.with_cut(None).to_string()).unwrap_or_default();
            let printed = LI_PROFILE.iter().find(|(name, _)| *name == plain).map(|(_, values)| values);
            for corpus in 0..LI_CORPORA.len() {
                let [df, mi] = printed.map_or([String::new(), String::new()], |v| {
                    [format!("{:.3}", v[corpus].0), format!("{:.3}", v[corpus].1)]
                });
                row.extend([df, mi]);
            }
        }
        table.push(row);
    }
    page.section("Which terms the selectors prefer");
    page.text("Mean of other scores, min-max normalised over all terms, of the first terms of each selector.");
    if is_li {
        page.text("The columns of the paper (li table 1) are its four corpora.");
    }
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    page.table(&header, &table);
}

fn lambda_section(page: &mut Page, plan: &Plan, grid: &Grid, rows: &[Row]) {
    let learned = |size| -> Vec<f64> {
        let of = rows.iter().filter_map(|r| match r {
            Row::Result(ResultRow { size: s, lambda, .. }) if *s == size => *lambda,
            _ => None,
        });
        of.collect()
    };
    let mut table = Vec::new();
    for &size in &grid.sizes {
        let values = learned(size);
        if !values.is_empty() {
            table.push(vec![size.to_string(), format!("{:.3}", values.iter().sum::<f64>() / values.len() as f64)]);
        }
    }
    if table.is_empty() {
        return;
    }
    page.section("λ as learned");
    page.table(&["features", "mean λ"], &table);
    if plan.paper.as_deref() == Some("li") {
        let at_500: Vec<String> = LI_LAMBDA_AT_500.iter().map(|(c, l)| format!("{l} ({c})")).collect();
        let later: Vec<String> = LI_LAMBDA_20NG.iter().map(|(n, l)| format!("{l} at {n}")).collect();
        page.text(&format!(
            "The paper (li 4.3) learned {} for 500 features; on 20NG {}.",
            at_500.join(", "),
            later.join(", ")
        ));
    }
}

fn splits(rows: &[Row]) -> Vec<&SplitRow> {
    rows.iter().filter_map(|row| if let Row::Split(split) = row { Some(split) } else { None }).collect()
}

fn warnings(all: usize, rows: &[Row]) -> Vec<String> {
    let mut said = Vec::new();
    let lacking: Vec<&SplitRow> = splits(rows).into_iter().filter(|s| !s.untrained.is_empty()).collect();
    if let Some(worst) = lacking.iter().max_by_key(|s| s.untrained.len()) {
        said.push(format!(
            "on {} of {} splits some labels of test documents have no training document and cannot be found; on split {} \
             these are {} labels of {} documents",
            lacking.len(),
            all,
            worst.split,
            worst.untrained.len(),
            worst.untrained_documents
        ));
    }
    let results = rows.iter().filter_map(|row| if let Row::Result(result) = row { Some(result) } else { None });
    let short_of: Vec<&ResultRow> =
        results.filter(|r| r.size.of(usize::MAX) > r.features && r.size != super::Size::All).collect();
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

fn splits_section(page: &mut Page, record: &Record, how: &SplitPlan, digest: &Digest) {
    page.section("Corpus and splits");
    if let Some(corpus) = &record.corpus {
        page.text(&format!(
            "{}: {} documents, {} terms, {} labels took part (fingerprint {}). Split by {} with seed {}.",
            corpus.source, corpus.documents, corpus.terms, corpus.labels, corpus.fingerprint, how, record.seed
        ));
    }
    for warning in &digest.warnings {
        page.text(&format!("Note: {warning}."));
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
    page.details(&format!("The {} splits", rows.len()), |page| {
        let header = ["split", "training", "test", "terms", "labels", "labels without training documents", "which"];
        page.table(&header, &rows);
    });
}

fn simulation(page: &mut Page, record: &Record, digest: &mut Digest) {
    let Some(run) = Simulated::of(&record.rows) else {
        page.section("Results").text("There are no sets yet.");
        return;
    };
    let share = |i: usize| run.reversals[i].share();
    digest.winners.push((
        "Reversals".into(),
        vec![format!(
            "MAP and RPrec prefer different classifiers on {:.1} % of {} sets, MAP and F1 on {:.1} %, RPrec and F1 on {:.1} %.",
            100.0 * share(0),
            run.reversals[0].trials,
            100.0 * share(1),
            100.0 * share(2)
        )],
    ));
    winners_section(page, digest);
    findings_section(page, &record.plan, digest);
    page.section("Reversals");
    let rows: Vec<Vec<String>> = OLSSON_REVERSALS
        .iter()
        .enumerate()
        .map(|(i, (a, b, paper))| vec![format!("{a}, {b}"), format!("{:.3}", share(i)), format!("{paper:.3}")])
        .collect();
    page.table(&["pair", "here", "olsson table 1"], &rows);
    page.section("Correlation");
    let rows: Vec<Vec<String>> = MEASURES
        .iter()
        .zip(&run.r_squared)
        .map(|(name, row)| std::iter::once((*name).to_owned()).chain(row.iter().map(|r| format!("{r:.3}"))).collect())
        .collect();
    page.table(&["r²", MEASURES[0], MEASURES[1], MEASURES[2]], &rows);
    for (x, y) in [(0, 1), (0, 2), (1, 2)] {
        let plot =
            figures::measure_plot([MEASURES[x], MEASURES[y]], [&run.values[x], &run.values[y]], run.r_squared[x][y]);
        page.figure(&format!("sets-{x}{y}"), plot, "One point for each simulated set (olsson figure 1).");
    }
}

fn how_section(page: &mut Page, record: &Record) {
    page.section("To run it again");
    let corpus = record.corpus.as_ref().map_or(String::new(), |c| format!(" --corpus {}", c.source));
    page.code(&format!("tamis study {}{corpus} --seed {}", record.plan.name, record.seed));
    page.text("The plan, all rows (rows.jsonl, rows.csv) and the plots as SVG files are beside this page. Times are of the machine it ran on and are kept apart, in times.jsonl.");
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
