//! The words that matter, on a page: by label, by selector, and in li's two measurements.

use super::{Axis, HeatMap, Page, Point, scatter};
use crate::counts::Contingency;
use crate::features::{Ranking, Selector, overlap, rank_all};
use crate::{Error, Result};

/// Selectors compared on the page: those of the papers.
const COMPARED: [&str; 10] = ["df", "ig", "chi2max", "chi2avg", "mimax", "bns", "wllr", "wfo(0.3)", "or", "ib"];

/// Terms a selection is compared by.
const SIZE: usize = 200;

impl Page {
    /// Top words by label, overlap of selectors as a heat map, and what selectors look for as a scatter plot.
    pub fn selection(&mut self, table: &Contingency) -> Result<&mut Self> {
        let parse = |name: &str| name.parse::<Selector>();
        self.section("The words that matter");
        self.text(
            "For each label the words that speak for it, by weighted log-likelihood ratio (wllr): common among its \
             documents and rare elsewhere.",
        );
        let best = parse("wllr@1")?.rank_per_label(table, 8)?;
        let rows: Vec<Vec<String>> = best
            .iter()
            .enumerate()
            .filter(|(_, ranking)| !ranking.is_empty())
            .map(|(label, ranking)| {
                let words: Vec<&str> = ranking.terms().iter().map(|&t| table.vocabulary().name(t)).collect();
                let label = label as u32;
                vec![
                    table.labels().name(label).to_owned(),
                    table.label_documents()[label as usize].to_string(),
                    words.join(", "),
                ]
            })
            .collect();
        self.table(&["label", "documents", "words"], &rows);
        let selectors = COMPARED.iter().map(|name| parse(&format!("{name}@1"))).collect::<Result<Vec<_>>>()?;
        let rankings = rank_all(&selectors, table)?;
        self.figure(
            "overlap",
            overlaps(table, &rankings),
            &format!(
                "Share of terms that two selectors have in common among their best {SIZE} (Jaccard; dark is alike). \
                 Selectors that look for frequency and selectors that look for ratio choose different words."
            ),
        );
        self.figure(
            "measurements",
            measurements(table, &rankings)?,
            "The best 60 terms of three selectors in the two measurements of li: how many documents of its label contain \
             the term, and how many times more often they do than other documents. df wants frequency, mi wants ratio, \
             χ² wants both.",
        );
        Ok(self)
    }
}

fn overlaps(table: &Contingency, rankings: &[Ranking]) -> String {
    let terms = table.df().iter().filter(|&&df| df > 1).count();
    let size = [SIZE.min(terms)];
    let mut values = Vec::new();
    for first in rankings {
        for second in rankings {
            values.push(overlap::of_rankings(first, second, &size)[0].jaccard);
        }
    }
    let names: Vec<String> = COMPARED.iter().map(|&n| n.to_owned()).collect();
    HeatMap {
        title: format!("Overlap of the best {SIZE} terms"),
        rows: names.clone(),
        columns: names,
        values,
        range: Some((0.0, 1.0)),
        numbers: true,
        tips: Vec::new(),
    }
    .draw()
}

fn measurements(table: &Contingency, rankings: &[Ranking]) -> Result<String> {
    let groups = ["df", "chi2max", "mimax"];
    let mut points = Vec::new();
    for (group, name) in groups.iter().enumerate() {
        let at = COMPARED.iter().position(|n| n == name).ok_or_else(|| Error::data("a selector is not compared"))?;
        for (place, &term) in rankings[at].top(60).iter().enumerate() {
            let Some((a, ratio)) = best_cell(table, term) else { continue };
            points.push(Point {
                x: a,
                y: ratio,
                name: table.vocabulary().name(term).to_owned(),
                group,
                labelled: place < 8,
            });
        }
    }
    let (x, y) = (Axis::log("documents of the label with the term (frequency)"), Axis::log("ratio of rates"));
    let groups = groups.map(str::to_owned);
    Ok(scatter("What selectors look for", &x, &y, &groups, &points))
}

/// Frequency and ratio for the label that the term speaks for most (largest wllr); ½ for a count of zero (method 1).
fn best_cell(table: &Contingency, term: u32) -> Option<(f64, f64)> {
    let measured = table.meetings().row(term as usize).map(|(label, meeting)| {
        let cell = table.cell_with(term, label, meeting.documents);
        let rate = cell.a / (cell.a + cell.c);
        let ratio = rate / (cell.b.max(0.5) / (cell.b + cell.d).max(1.0));
        (cell.a, ratio, rate * ratio.ln())
    });
    measured.max_by(|x, y| x.2.total_cmp(&y.2)).map(|(a, ratio, _)| (a, ratio))
}
