//! Thresholds of one pipeline on a page: utility against threshold, and how far each method is from the best.

use super::{Axis, Page, Series, lines};
use crate::Result;
use crate::hierarchy::pipeline::{Method, Options, ScoreTable, select};

impl Page {
    /// Utility against the threshold of each level, the others held where the exact method puts them; and the gap of
    /// every method to the optimum.
    pub fn pipeline(&mut self, table: &ScoreTable, options: &Options) -> Result<&mut Self> {
        let exact = select(table, Method::Exact, options)?;
        self.section("Thresholds along a pipeline");
        self.text(&format!(
            "The path {} on {} documents that were held out, {} of them positive. A document comes through when its score \
             at every level reaches the threshold there.",
            table.levels().join(" → "),
            table.documents(),
            table.positives()
        ));
        let mut series = Vec::new();
        for (level, name) in table.levels().iter().enumerate() {
            series.push(Series {
                name: name.clone(),
                points: table.curve(options.utility, &exact.thresholds, level, 0.01)?,
                band: Vec::new(),
                dashed: false,
            });
        }
        let axis = |label: &str| Axis { label: label.to_owned(), ..Axis::default() };
        let title = "Utility against the threshold of a level";
        self.figure(
            "pipeline-utility",
            lines(title, &axis("threshold"), &axis(&options.utility.to_string()), &series),
            "One line for each level; the other levels keep their best thresholds.",
        );
        let mut rows = Vec::new();
        for method in [Method::Rbf, Method::Tsa, Method::GreedyExact, Method::Exact] {
            let found = if method == Method::Exact { exact.clone() } else { select(table, method, options)? };
            let thresholds: Vec<String> = found.thresholds.iter().map(|t| format!("{t:.4}")).collect();
            rows.push(vec![
                method.to_string(),
                thresholds.join(", "),
                format!("{:.4}", found.utility),
                format!("{:.4}", (exact.bound.unwrap_or(exact.utility) - found.utility).max(0.0)),
                found.evaluations.to_string(),
            ]);
        }
        let proof = if exact.proven { "proven optimum" } else { "upper bound" };
        self.text(&format!("How far each method stays below the {proof}:"));
        self.table(&["method", "thresholds, root first", &options.utility.to_string(), "gap", "evaluations"], &rows);
        Ok(self)
    }
}
