//! How far probabilities can be trusted, and what answering less would give.

use super::{Axis, Page, Series, lines};
use crate::Result;
use crate::measure::significance::clopper_pearson;
use crate::measure::{Average, Evaluation, Measure, risk_coverage};

impl Page {
    /// The reliability of probabilities and risk against coverage; nothing for a model without probabilities.
    pub(super) fn trust(&mut self, evaluation: &Evaluation) -> Result<()> {
        let bins = evaluation.reliability().bins();
        if bins.len() < 2 {
            return Ok(());
        }
        self.heading("How sure it is, and how rightly");
        let bounds = |bin: &crate::measure::ReliabilityBin| {
            clopper_pearson((bin.right * bin.documents as f64).round() as u64, bin.documents, 0.95)
        };
        let model = Series {
            name: "first labels".into(),
            points: bins.iter().map(|bin| (bin.probability, bin.right)).collect(),
            band: bins.iter().map(bounds).collect(),
            dashed: false,
        };
        let ideal = Series {
            name: "as it should be".into(),
            points: vec![(0.0, 0.0), (1.0, 1.0)],
            dashed: true,
            ..Series::default()
        };
        let x = Axis::linear("probability of the first label").within(0.0, 1.0);
        let y = Axis::linear("share of documents in which it is true").within(0.0, 1.0);
        self.figure(
            "reliability",
            lines("Reliability", &x, &y, &[model, ideal]),
            &format!(
                "Documents in bins by the probability of their first label, with 95 % intervals (Clopper & Pearson). Below the dashed line \
                 the model is too sure of itself. Expected calibration error: {:.4}.",
                evaluation.reliability().error().unwrap_or_default()
            ),
        );
        let points = risk_coverage(&evaluation.confidences()?);
        let curve = points.iter().map(|p| (p.coverage, p.risk)).collect();
        let mut series = vec![Series { name: "surest documents first".into(), points: curve, ..Series::default() }];
        let answered = evaluation.value(Measure::Answered);
        let precision = evaluation.value(Measure::Precision(Average::Micro));
        if let (Some(answered), Some(precision)) = (answered, precision) {
            let name = "labels as given".to_owned();
            series.push(Series { name, points: vec![(answered, 1.0 - precision)], ..Series::default() });
        }
        let caption = "Were only the surest documents answered, with their first label: so many of the answers would be wrong. The single \
                       point is what the model does: documents that get any label, and wrong labels among all given.";
        let (x, y) = (
            Axis::linear("share of documents answered").within(0.0, 1.0),
            Axis::linear("share of answers that are wrong"),
        );
        self.figure("risk-coverage", lines("Risk against coverage", &x, &y, &series), caption);
        Ok(())
    }
}
