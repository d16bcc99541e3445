//! What held-out documents say about what was chosen, wherever they were scored.

use super::FitOptions;
use super::shown::{Confused, Confusion};
use crate::classify::{ClassifierSpec, Scored};
use crate::counts::Vocabulary;
use crate::measure::{Beta, Evaluation, EvaluationOptions, LabelRow, Measure};
use crate::threshold::{
    Calibration, CalibrationMethod, HeldOut, Rivalry, Threshold, ThresholdCurve, ThresholdReport, Thresholds,
};
use crate::{Error, Result};

/// What held-out documents say about what was chosen.
pub(super) struct Validated {
    pub(super) held_out: HeldOut,
    pub(super) rivalry: Rivalry,
    /// Measure and value.
    pub(super) quality: Vec<(String, f64)>,
    /// Labels that held-out documents have and none was given, where it is known what decides.
    never: Vec<u32>,
    /// What is taken for what.
    pub(super) confusions: Vec<Confusion>,
}

/// Held-out documents as they are added up, one by one.
pub(super) struct Validation {
    held_out: HeldOut,
    rivalry: Rivalry,
    confused: Confused,
    evaluation: Evaluation,
    /// What decides, where that is known before.
    decide: Option<Thresholds>,
    decided: Vec<u32>,
}

impl Validation {
    pub(super) fn new(labels: usize, decide: Option<Thresholds>) -> Result<Self> {
        let mut measures = ["RPrec", "MAP", "P@1"].iter().map(|n| n.parse::<Measure>()).collect::<Result<Vec<_>>>()?;
        measures.extend(decide.as_ref().map(|_| Measure::F1_MACRO));
        let evaluation = EvaluationOptions { measures, labels, keep_documents: false, ..EvaluationOptions::default() };
        Ok(Self {
            held_out: HeldOut::new(labels),
            rivalry: Rivalry::default(),
            confused: Confused::default(),
            evaluation: Evaluation::new(evaluation)?,
            decide,
            decided: Vec::new(),
        })
    }

    /// Adds a document: its fold, its ranked list by a model that has not seen it, and its labels.
    pub(super) fn add(&mut self, fold: usize, ranked: &[Scored], truth: &[u32]) {
        self.held_out.add(fold, ranked, truth);
        self.rivalry.add(ranked, truth);
        self.confused.add(ranked, truth);
        if let Some(thresholds) = &self.decide {
            thresholds.decide_into(ranked, &mut self.decided);
        }
        self.evaluation.add(ranked, &self.decided, truth);
    }

    pub(super) fn finish(self) -> Validated {
        let Self { held_out, rivalry, confused, evaluation, decide, .. } = self;
        if held_out.documents() == 0 {
            return Validated { held_out, rivalry, quality: Vec::new(), never: Vec::new(), confusions: Vec::new() };
        }
        let quality = evaluation.values().into_iter().filter_map(|v| Some((v.measure.to_string(), v.value?))).collect();
        let never = |r: &LabelRow| decide.is_some() && r.tally.support() > 0 && r.tally.decided() == 0;
        let never = evaluation.per_label().iter().filter(|r| never(r)).map(|r| r.label).collect();
        Validated { held_out, rivalry, quality, never, confusions: confused.most() }
    }
}

/// What decides held-out documents where nothing needs to be tuned for that; none where nothing decides at all.
pub(super) fn known_before(threshold: Threshold) -> Result<Option<Thresholds>> {
    let is_known = !threshold.needs_held_out() && threshold != Threshold::None;
    is_known.then(|| Thresholds::untuned(threshold)).transpose()
}

/// What decides, and how sure it is.
pub(super) struct Decision {
    pub(super) thresholds: Thresholds,
    pub(super) curves: Vec<ThresholdCurve>,
    pub(super) report: Option<ThresholdReport>,
    pub(super) calibration: Option<Calibration>,
}

impl Validated {
    /// What to say of labels that were never answered.
    pub(super) fn unanswered(&self, labels: &Vocabulary) -> Option<String> {
        let Self { never, .. } = self;
        if never.is_empty() {
            return None;
        }
        let some: Vec<&str> = never.iter().take(5).map(|&label| labels.name(label)).collect();
        let more = if never.len() > some.len() { ", …" } else { "" };
        Some(format!(
            "{} of {} labels were never answered on held-out documents, although some have them: {}{more}.",
            never.len(),
            labels.len(),
            some.join(", ")
        ))
    }

    /// Tunes thresholds, and learns probabilities. `exclusive` where every training document has one label.
    pub(super) fn decision(
        &self,
        options: &FitOptions,
        classifier: &ClassifierSpec,
        threshold: Threshold,
        exclusive: bool,
        labels: usize,
    ) -> Result<Decision> {
        let Self { held_out, rivalry, .. } = self;
        let (thresholds, mut curves, report) = if threshold.needs_held_out() {
            let tuned = threshold.tune(held_out)?;
            if tuned.report.distrusted.len() == labels {
                tracing::warn!(
                    "{threshold}: what {} held-out documents show is not enough to trust any label to be that precise with that \
                     confidence, so this model never answers anything; ask for less precision or less confidence, or add documents",
                    held_out.documents()
                );
            }
            (tuned.thresholds, tuned.curves, Some(tuned.report))
        } else {
            (Thresholds::untuned(threshold)?, Vec::new(), None)
        };
        if curves.is_empty() && held_out.documents() > 0 {
            // Labels are not decided by thresholds of their own, but the server's page shows what one would do.
            curves = held_out.curves_with(&thresholds, Beta::ONE);
        }
        // The scores are there already, so probabilities cost next to nothing. Labels that exclude each other share what is sure;
        // logistic regression has probabilities of its own.
        let calibration = match options.calibrate {
            None if held_out.documents() == 0 || classifier.gives_probabilities() => None,
            None if exclusive && !rivalry.is_empty() && !matches!(classifier, ClassifierSpec::Knn(_)) => {
                Some(Calibration::exclusive(rivalry)?)
            }
            Some(CalibrationMethod::Softmax) => Some(Calibration::exclusive(rivalry)?),
            method => Some(Calibration::fit(method.unwrap_or_default(), held_out)?),
        };
        Ok(Decision { thresholds, curves, report, calibration })
    }
}

/// An error where something is to be tuned and no document is held out; `asked` is how many folds were asked for.
pub(super) fn needs_folds(
    options: &FitOptions,
    threshold: Option<Threshold>,
    folds: usize,
    asked: usize,
    documents: usize,
) -> Result<()> {
    let tuned = threshold.filter(Threshold::needs_held_out).map(|threshold| threshold.to_string());
    if folds == 0
        && let Some(what) = tuned.or(options.calibrate.map(|method| method.to_string()))
    {
        if asked == 0 {
            return Err(Error::invalid("folds", 0, format!("{what} is tuned by cross-validation; take 2 or more")));
        }
        let reason = "training documents are too few to hold some of them out; add documents of each label";
        return Err(Error::data(format!("{what} is tuned on held-out documents, and {documents} {reason}")));
    }
    Ok(())
}
