//! The report of a simulation (olsson 2).

use super::{Digest, findings_section, winners_section};
use crate::measure::simulation::MEASURES;
use crate::report::Page;
use crate::study::figures;
use crate::study::folder::Record;
use crate::study::papers::OLSSON_REVERSALS;
use crate::study::simulated::Simulated;

pub(super) fn sections(page: &mut Page, record: &Record, digest: &mut Digest) {
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
