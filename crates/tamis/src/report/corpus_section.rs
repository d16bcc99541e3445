//! What a corpus is like, on a page.

use super::{Axis, Bar, Page, Series, bars, lines};
use crate::counts::Summary;

impl Page {
    /// Documents, labels, lengths and vocabulary growth.
    pub fn corpus(&mut self, summary: &Summary) -> &mut Self {
        self.section("The corpus");
        let facts = [
            ("documents", summary.documents.to_string()),
            ("of these for training", summary.train.to_string()),
            ("of these for testing", summary.test.to_string()),
            ("labels", summary.labels.to_string()),
            ("labels a labelled document", format!("{:.2}", summary.cardinality)),
            ("distinct terms", summary.terms.to_string()),
            ("tokens a document (median)", summary.lengths.median.to_string()),
            ("documents that repeat another", summary.duplicates.surplus.to_string()),
        ];
        self.table(&["what", "value"], &facts.map(|(what, value)| vec![what.to_owned(), value]));
        let largest: Vec<Bar> = summary
            .largest
            .iter()
            .map(|l| Bar {
                name: l.label.clone(),
                value: f64::from(l.documents),
                mark: None,
                tip: format!("{}: {} documents", l.label, l.documents),
            })
            .collect();
        self.figure(
            "labels",
            bars("Largest labels", "documents", &largest),
            "The most common labels; the others are rarer.",
        );
        let points = summary.growth.iter().map(|&(d, t)| (d as f64, t as f64)).collect();
        let series = [Series { name: "distinct terms".into(), points, ..Series::default() }];
        let (x, y) = (Axis::log("documents read"), Axis::log("distinct terms"));
        self.figure(
            "growth",
            lines("Vocabulary growth", &x, &y, &series),
            "New words keep coming (Heaps' law): most of them occur in one document only and say little about labels.",
        )
    }
}
