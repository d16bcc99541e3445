//! A model of documents that lie in parts on many machines: selection and what decides are made here, from counts and scores that add up.

use std::sync::Arc;

use serde::Serialize;

use super::fit::Trained;
use super::flat::{TOO_FEW, sparing, terms, unsolved, usual_threshold};
use super::options::{Deciding, Unlabelled};
use super::shown::Shown;
use super::validated::{Decision, Validation, needs_folds};
use super::{FitOptions, FrontierPoint, Model, ModelParts, Ranker, Seen, TrainingSummary, Trial};
use crate::classify::parts::{Packer, Plan, PlannedModel, RoundReport, Rounds, Scorers, scored};
use crate::classify::svm::Solution;
use crate::classify::{ClassifierSpec, Fitted, Linear, Weighter};
use crate::counts::{Contingency, ContingencyParts, Csr, Vocabulary};
use crate::features::{Selector, Size};
use crate::terms::TextOptions;
use crate::threshold::{Threshold, Thresholds};
use crate::{Error, Progress, Result};

/// Counts of all documents.
#[derive(Debug, Clone)]
pub struct PartedTables {
    /// Of the documents of each fold ([`fold_of`](crate::classify::parts::fold_of)), one for all where there are no folds.
    pub folds: Vec<Contingency>,
    /// Documents without a label.
    pub unlabelled: u64,
    /// Documents with more than one.
    pub several: u64,
}

/// What there is to say before the rounds.
#[derive(Debug, Clone, Serialize)]
pub struct PartedReport {
    /// Documents.
    pub documents: u64,
    /// Labels.
    pub labels: usize,
    /// Features of the model, and of it and the models of folds together.
    pub features: usize,
    /// The second number.
    pub united: usize,
    /// Problems that are solved: labels, in the model and in those of folds.
    pub problems: usize,
    /// Folds; 0 for none.
    pub folds: usize,
    /// The gap at which a problem is solved.
    pub gap: f64,
}

/// One of the models that are trained together: the first is the one that is wanted, the others each leave a fold out.
struct Member {
    table: Contingency,
    /// Terms by rank, as numbers of the table, which all share.
    terms: Vec<u32>,
    /// Where each is among the terms of all members.
    places: Vec<u32>,
    /// Over its own terms.
    weighter: Weighter,
    /// Bayes needs no rounds.
    ready: Option<Linear>,
}

/// A fit in parts. Counts of the parts come first; then rounds, for the classifiers that need some; then the scores of held-out documents;
/// then there is a model.
pub struct PartedFit {
    options: FitOptions,
    text: TextOptions,
    classifier: ClassifierSpec,
    selector: Selector,
    threshold: Threshold,
    members: Vec<Member>,
    united: Arc<Vocabulary>,
    rounds: Option<Rounds>,
    validation: Validation,
    exclusive: bool,
    single_label: bool,
    folds: usize,
    reasons: Vec<String>,
    frontier: Vec<FrontierPoint>,
    trials: Vec<Trial>,
}

impl PartedFit {
    /// Selects terms and lays out what is to be trained, on so many parts in at most `most` rounds. The options leave nothing to choose
    /// ([`FitOptions::pinned`] chooses).
    pub fn new(
        options: FitOptions,
        text: TextOptions,
        tables: PartedTables,
        parts: usize,
        most: usize,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let (Some(selector), Some(classifier), Some(size)) =
            (options.by.clone(), options.classifier.clone(), options.features)
        else {
            return Err(Error::data(
                "selector, classifier and number of features must be named where documents are in parts",
            ));
        };
        if options.taxonomy.is_some() {
            return Err(Error::invalid("taxonomy", "…", "a model along a taxonomy is trained on one machine"));
        }
        if selector.has_auto() {
            return Err(Error::invalid("by", &selector, "λ is learned on one machine: name it"));
        }
        let threshold = match options.threshold {
            None => None,
            Some(Deciding::Flat(threshold)) => Some(threshold),
            Some(Deciding::Along(method)) => {
                return Err(Error::invalid("threshold", method, "it sets thresholds along a taxonomy"));
            }
        };
        let size = match size {
            Size::Top(0) => {
                return Err(Error::invalid("features", 0, "a model needs at least one feature; take a number or all"));
            }
            Size::Top(n) => Some(n),
            Size::All => None,
        };
        let asked = options.folds.unwrap_or(FitOptions::FOLDS);
        if asked == 1 {
            return Err(Error::invalid("folds", 1, "cross-validation needs two folds or more; 0 leaves it out"));
        }
        if tables.folds.len() != asked.max(1) {
            return Err(Error::data(format!("{} folds were counted instead of {asked}", tables.folds.len())));
        }
        let PartedTables { folds: tables, unlabelled, several } = tables;
        let all = merged(&tables, None, None)?;
        check(&all, &options, unlabelled, several)?;
        let (exclusive, single_label) = (unlabelled + several == 0, several == 0);
        let mut trained = vec![all];
        if asked > 0 {
            for fold in 0..asked {
                trained.push(merged(&tables, Some(fold), Some(&trained[0]))?);
            }
            if !trained[1..].iter().all(is_learnable) {
                trained.truncate(1);
            }
        }
        let folds = trained.len() - 1;
        needs_folds(&options, threshold, folds, asked, trained[0].documents() as usize)?;
        let mut reasons = Vec::new();
        let mut chosen = Vec::new();
        for (number, table) in trained.iter().enumerate() {
            let own = if number == 0 { selector.clone() } else { sparing(&selector, table) };
            let (terms, reason) = terms(&own, table, size, &options.budget, progress)?;
            reasons.extend(reason.filter(|_| number == 0));
            chosen.push(terms);
        }
        let threshold = threshold.unwrap_or_else(|| {
            let labels: u64 = trained[0].label_documents().iter().map(|&n| u64::from(n)).sum();
            let usual = labels as f64 / (trained[0].documents() - unlabelled).max(1) as f64;
            let (threshold, reason) = usual_threshold(&classifier, folds, exclusive, single_label, usual);
            reasons.push(reason);
            threshold
        });
        if folds < asked {
            reasons.push(TOO_FEW.into());
        }
        let mut united: Vec<u32> = chosen.iter().flatten().copied().collect();
        united.sort_unstable();
        united.dedup();
        let names = united.iter().map(|&term| trained[0].vocabulary().name(term));
        let names = Arc::new(Vocabulary::from_sorted(names));
        let mut members = Vec::new();
        for (table, terms) in trained.into_iter().zip(chosen) {
            let places = terms.iter().filter_map(|term| united.binary_search(term).ok().map(|p| p as u32)).collect();
            let (weighter, ready) = match &classifier {
                ClassifierSpec::Bayes(bayes) => {
                    let linear = bayes.fit_counts(&table, &terms)?;
                    (linear.parts().weighter.clone(), Some(linear))
                }
                ClassifierSpec::Svm(svm) => (svm.vectors.fit_counts(&table, &terms)?, None),
                ClassifierSpec::Logistic(logistic) => (logistic.vectors.fit_counts(&table, &terms)?, None),
                _ => {
                    let reason = "only svm, logistic and bayes are trained in parts";
                    return Err(Error::invalid("classifier", &classifier, reason));
                }
            };
            let blocks = text.blocks_of(terms.iter().map(|&term| table.vocabulary().name(term)));
            let weighter = weighter.with_blocks(blocks);
            members.push(Member { table, terms, places, weighter, ready });
        }
        let rounds = match &classifier {
            ClassifierSpec::Bayes(_) => None,
            _ => Some(Rounds::new(plan(&classifier, &members, names.len(), exclusive)?, parts, most)?),
        };
        let decide = if threshold.needs_held_out() { None } else { Some(Thresholds::untuned(threshold)?) };
        let validation = Validation::new(members[0].table.labels().len(), decide)?;
        Ok(Self {
            options,
            text,
            classifier,
            selector,
            threshold,
            members,
            united: names,
            rounds,
            validation,
            exclusive,
            single_label,
            folds,
            reasons,
            frontier: Vec::new(),
            trials: Vec::new(),
        })
    }

    /// Remembers how the options were chosen.
    pub fn chosen(&mut self, reasons: Vec<String>, trials: Vec<Trial>, frontier: Vec<FrontierPoint>) {
        self.reasons.splice(0..0, reasons);
        self.trials = trials;
        self.frontier = frontier;
    }

    /// What there is to say before the rounds.
    pub fn report(&self) -> PartedReport {
        PartedReport {
            documents: self.members[0].table.documents(),
            labels: self.members[0].table.labels().len(),
            features: self.members[0].terms.len(),
            united: self.united.len(),
            problems: self.rounds.as_ref().map_or(0, |rounds| rounds.plan().questions.len()),
            folds: self.folds,
            gap: self.rounds.as_ref().map_or(0.0, |rounds| rounds.plan().gap()),
        }
    }

    /// How documents are packed.
    pub fn packer(&self) -> Packer {
        Packer {
            text: self.text.clone(),
            terms: Arc::clone(&self.united),
            labels: Arc::clone(self.members[0].table.labels()),
        }
    }

    /// What every part must know; none where no rounds are needed.
    pub fn plan(&self) -> Option<&Plan> {
        self.rounds.as_ref().map(Rounds::plan)
    }

    /// Says how many parts there are, where some turned out to be without documents.
    pub fn on_parts(&mut self, parts: usize) {
        if let Some(rounds) = &mut self.rounds {
            rounds.on_parts(parts);
        }
    }

    /// What the next round asks of every part; none when the rounds are over.
    pub fn message(&mut self) -> Option<Vec<u8>> {
        self.rounds.as_mut().filter(|rounds| !rounds.is_done()).map(Rounds::message)
    }

    /// Adds what the parts answered, in their order.
    pub fn add<B: AsRef<[u8]>>(&mut self, answers: &[B]) -> Result<RoundReport> {
        match &mut self.rounds {
            Some(rounds) => rounds.add(answers),
            None => Err(Error::data("this classifier is trained without rounds")),
        }
    }

    /// What scores held-out documents, at most about so many scores of all of them; none where no fold is held out.
    pub fn scorers(&self, most: u64) -> Result<Option<Scorers>> {
        if self.folds == 0 {
            return Ok(None);
        }
        let models = (1..self.members.len())
            .map(|number| self.linear(number)?.spread(&self.members[number].places, self.united.len()))
            .collect::<Result<Vec<_>>>()?;
        let report = self.report();
        let scores = report.documents.saturating_mul(report.labels as u64).max(1);
        Ok(Some(Scorers { models, share: (most as f64 / scores as f64).min(1.0) }))
    }

    /// Adds the scores of a part; parts come in their order.
    pub fn add_scores(&mut self, bytes: &[u8]) -> Result<()> {
        let (labels, folds) = (self.members[0].table.labels().len(), self.folds);
        let validation = &mut self.validation;
        scored(bytes, labels, |fold, ranked, truth| {
            if fold < folds {
                validation.add(fold, ranked, truth);
            }
        })
    }

    fn linear(&self, number: usize) -> Result<Linear> {
        let member = &self.members[number];
        match (&member.ready, &self.rounds) {
            (Some(linear), _) => Ok(linear.clone()),
            (None, Some(rounds)) => {
                let with = with_documents(&member.table);
                rounds.linear(number, &member.places, member.weighter.clone(), &with)
            }
            (None, None) => Err(Error::data("this classifier is trained without rounds")),
        }
    }

    /// The model. `fingerprints` are the smallest of all documents.
    pub fn finish(self, fingerprints: Vec<u64>) -> Result<Trained> {
        let linear = self.linear(0)?;
        let linear = if self.options.quantise { linear.quantised()? } else { linear };
        let solutions: Vec<Solution> = self.rounds.as_ref().map_or_else(Vec::new, |rounds| rounds.solutions(0));
        if let Some(remark) = unsolved(&solutions) {
            tracing::warn!(target: crate::NOT_CONVERGED, "{remark}");
        }
        let Self { options, text, classifier, selector, members, validation, mut reasons, frontier, trials, .. } = self;
        let validated = validation.finish();
        let member = &members[0];
        let labels = Arc::clone(member.table.labels());
        reasons.extend(validated.unanswered(&labels));
        let Decision { thresholds, curves, report, calibration } =
            validated.decision(&options, &classifier, self.threshold, self.exclusive, labels.len())?;
        let mut order: Vec<(u32, u32)> = member.terms.iter().zip(0..).map(|(&term, feature)| (term, feature)).collect();
        order.sort_unstable();
        let names = Vocabulary::from_sorted(order.iter().map(|&(term, _)| member.table.vocabulary().name(term)));
        let model = Model::new(ModelParts {
            text,
            terms: Arc::new(names),
            feature_of: order.into_iter().map(|(_, feature)| feature).collect(),
            labels,
            taxonomy: None,
            ranker: Ranker::Flat(Fitted::Linear(linear)),
            neighbours: Vec::new(),
            thresholds,
            curves,
            calibration,
            worth: None,
            summary: TrainingSummary {
                program: TrainingSummary::this_program(),
                documents: member.table.documents(),
                label_documents: member.table.label_documents().to_vec(),
                vocabulary: member.table.df().iter().filter(|&&df| df > 0).count(),
                single_label: self.single_label,
                selector: selector.to_string(),
                classifier,
                seed: options.seed,
                choices: reasons,
                quality: validated.quality,
                folds: self.folds,
            },
            seen: Seen::from_fingerprints(fingerprints),
            target: None,
            shown: Shown { frontier: frontier.clone(), confusions: validated.confusions, ..Shown::default() },
        })?;
        Ok(Trained { model, trials, frontier, thresholds: report, unchanged: None, nodes: None, solutions })
    }
}

fn plan(classifier: &ClassifierSpec, members: &[Member], features: usize, exclusive: bool) -> Result<Plan> {
    let mut questions = Vec::new();
    for (number, member) in members.iter().enumerate() {
        questions.extend(Plan::questions(classifier, number as u32, &member.table, exclusive)?);
    }
    let model = |(number, member): (usize, &Member)| PlannedModel {
        held_out: number.checked_sub(1).map(|fold| fold as u32),
        weighter: member.weighter.spread(&member.places, features),
    };
    Ok(Plan {
        classifier: classifier.clone(),
        features,
        labels: members[0].table.labels().len(),
        folds: members.len() - 1,
        models: members.iter().enumerate().map(model).collect(),
        questions,
    })
}

/// The counts of all folds but one, with the terms and labels of `like`.
fn merged(tables: &[Contingency], without: Option<usize>, like: Option<&Contingency>) -> Result<Contingency> {
    let nothing = |like: &Contingency| {
        let mut meetings = Csr::new(like.labels().len());
        (0..like.terms()).for_each(|_| meetings.push_row([]));
        Contingency::from_parts(ContingencyParts {
            vocabulary: Arc::clone(like.vocabulary()),
            labels: Arc::clone(like.labels()),
            documents: 0,
            tokens: 0,
            label_documents: vec![0; like.labels().len()],
            df: vec![0; like.terms()],
            occurrences: vec![0; like.terms()],
            meetings,
        })
        .map_err(Error::data)
    };
    let mut sum = like.map(nothing).transpose()?;
    for (_, table) in tables.iter().enumerate().filter(|(fold, _)| Some(*fold) != without) {
        sum = Some(match sum {
            Some(sum) => sum.merge(table),
            None => table.clone(),
        });
    }
    sum.ok_or_else(|| Error::data("there is no training document"))
}

fn with_documents(table: &Contingency) -> Vec<u32> {
    let documents = table.label_documents();
    (0..documents.len() as u32).filter(|&label| documents[label as usize] > 0).collect()
}

/// Whether some label is in some documents and not in others.
fn is_learnable(table: &Contingency) -> bool {
    table.label_documents().iter().any(|&n| n > 0 && u64::from(n) < table.documents())
}

/// Refuses what nothing can be learned from.
fn check(table: &Contingency, options: &FitOptions, unlabelled: u64, several: u64) -> Result<()> {
    let documents = table.documents();
    if documents == 0 {
        return Err(Error::data("there is no training document"));
    }
    let with = with_documents(table);
    if with.is_empty() {
        return Err(Error::data("no training document has a label, so there is nothing to learn"));
    }
    if !is_learnable(table) {
        let names: Vec<&str> = with.iter().map(|&label| table.labels().name(label)).collect();
        return Err(Error::data(format!(
            "every training document has the same labels ({}), so there is nothing to tell apart; add documents of other labels, or \
             without any",
            names.join(", ")
        )));
    }
    if unlabelled > 0 && several == 0 && with.len() > 1 && options.unlabelled != Some(Unlabelled::Negative) {
        return Err(Error::data(format!(
            "{unlabelled} of {documents} training documents have no label, and all others have one: the option `unlabelled=ignore` leaves \
             them out, the option `unlabelled=negative` takes them for documents of none of the labels"
        )));
    }
    Ok(())
}
