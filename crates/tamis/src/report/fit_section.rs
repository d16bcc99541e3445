//! What a fit chose, and what fewer terms would cost.

use super::{Frontier, Page};
use crate::Result;
use crate::model::Trained;

impl Page {
    /// How the model came about: its choices, the frontier of quality against terms and bytes, and all candidates.
    pub fn fitted(&mut self, trained: &Trained) -> Result<&mut Self> {
        let (model, summary) = (&trained.model, &trained.model.summary);
        self.section("The model");
        self.text(&format!(
            "{} on {} of {} terms ({}), selected by {}; {}. {} training documents, {} labels.",
            summary.classifier,
            model.terms.len(),
            summary.vocabulary,
            model.text,
            summary.selector,
            super::model_section::decided_by(model),
            summary.documents,
            model.labels.len()
        ));
        for reason in &summary.choices {
            self.text(reason);
        }
        if !summary.quality.is_empty() {
            let rows: Vec<Vec<String>> =
                summary.quality.iter().map(|(name, value)| vec![name.clone(), format!("{value:.4}")]).collect();
            self.text(&format!("On training documents, by {}:", summary.measured_by()));
            self.table(&["measure", "value"], &rows);
        }
        let frontier = Frontier::of(trained)?;
        if let Some(drawn) = frontier.draw() {
            self.section("What fewer terms cost");
            let caption = "Every size was cross-validated on the same documents with the same classifier. The dashed line is the best; the band is one \
                           standard error. A smaller size can be asked for, or the smallest within a stated loss.";
            self.figure("frontier", drawn, caption);
        }
        self.thresholds_of(model);
        if !trained.trials.is_empty() {
            let rows: Vec<Vec<String>> = trained
                .trials
                .iter()
                .map(|t| {
                    let size = if t.all { format!("{} (all)", t.size) } else { t.size.to_string() };
                    let (mean, error) = (format!("{:.4}", t.mean), format!("{:.4}", t.error));
                    vec![
                        t.documents.to_string(),
                        t.terms.clone(),
                        t.classifier.to_string(),
                        t.selector.clone(),
                        size,
                        mean,
                        error,
                    ]
                })
                .collect();
            self.details("All candidates", |page| {
                page.table(&["documents", "terms", "classifier", "selector", "features", "RPrec", "±"], &rows);
            });
        }
        Ok(self)
    }
}
