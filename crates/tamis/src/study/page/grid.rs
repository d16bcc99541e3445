//! The report of a grid: curves, dots, wins and tests, a section for each measure and classifier.

use crate::report::Page;
use crate::study::arena::{Arena, Over};
use crate::study::figures;
use crate::study::findings::p_value;
use crate::study::folder::Record;
use crate::study::plan::Plan;
use crate::study::statistics::{Pair, Summary, measure_reversals};

pub(super) fn arena_section(page: &mut Page, plan: &Plan, arena: &Arena, summaries: &[Summary], pairs: &[Pair]) {
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
    if let Some(plot) = figures::quality_top(arena, most, level) {
        page.figure(&name("quality-top"), plot, "The same, near the top.");
    }
    summary_table(page, arena, summaries);
    if arena.over == Over::Splits && arena.curves[0].values[0].len() > 1 {
        for (what, map) in figures::dots(arena) {
            page.figure(&name(&what), map, "Darker: more splits. Hover for the sign test.");
        }
        if plan.name == "olsson-preliminary"
            && let Some(map) = figures::paper_dots(arena)
        {
            page.figure(
                &name("paper-table2"),
                map,
                "From our copy of the paper (olsson table 2): a dot stands for at least one win of five.",
            );
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
    let alone = arena.curves.iter().all(|c| c.values.iter().all(|of_size| of_size.len() < 2));
    let row = |s: &Summary| {
        let Summary { robustness: r, .. } = s;
        let better = if s.compared == 0 { String::new() } else { format!("{} of {}", s.always_better, s.compared) };
        vec![
            s.selector.clone(),
            format!("{:.4}", arena.shown(s.peak.mean)),
            if alone { String::new() } else { format!("{:.4}", s.peak.standard_error) },
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

pub(super) fn reversals_section(page: &mut Page, arenas: &[Arena]) {
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

pub(super) fn searches_section(page: &mut Page, record: &Record) {
    if let Some(plot) = figures::search_times(&record.times) {
        page.section("Searches");
        page.figure(
            "search-times",
            plot,
            "Seconds of one search on this machine, mean over splits (novovicova figure 3).",
        );
    }
}
