//! A model of documents that lie in parts on many machines: selection and what decides are made here, from counts and scores that add up.

use std::sync::Arc;

use serde::Serialize;

use super::fit::{NodesSeen, Trained};
use super::flat::{TOO_FEW, sparing, terms, unsolved, usual_threshold};
use super::form::{LabelTally, along};
use super::held::Held;
use super::options::{Deciding, Unlabelled};
use super::shown::Shown;
use super::validated::{Decision, Validation, needs_folds};
use super::{FitOptions, FrontierPoint, Model, ModelParts, Ranker, Seen, TrainingSummary, Trial, worth};
use crate::classify::parts::{Packer, Plan, PlannedModel, Question, RoundReport, Rounds, Scorers, scored};
use crate::classify::svm::Solution;
use crate::classify::tree::{Counted, Groups, Outline};
use crate::classify::{ClassifierSpec, Fitted, Linear, Weighter};
use crate::counts::{Contingency, ContingencyParts, Csr, Vocabulary};
use crate::features::{Selector, Size};
use crate::hierarchy::{Taxonomy, Worth};
use crate::terms::TextOptions;
use crate::threshold::{Calibration, Threshold, Thresholds};
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
    /// How labels lie in the taxonomy, where answers are to be chosen along one: then documents were counted with their most specific nodes
    /// ([`LabelTally::is_one`]) or with all.
    pub tally: Option<LabelTally>,
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
    /// Label trees.
    outline: Option<Outline>,
}

/// What held-out documents are judged by.
enum Judged {
    /// Labels side by side.
    Flat(Validation),
    /// Answers along a taxonomy, by what they are worth.
    Along(Box<Along>),
}

struct Along {
    worth: Worth,
    tally: LabelTally,
    held: Held,
}

/// What held-out documents taught.
struct Learned {
    thresholds: Thresholds,
    curves: Vec<crate::threshold::ThresholdCurve>,
    report: Option<crate::threshold::ThresholdReport>,
    calibration: Option<Calibration>,
    worth: Option<Worth>,
    quality: Vec<(String, f64)>,
    confusions: Vec<super::shown::Confusion>,
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
    taxonomy: Option<Taxonomy>,
    judged: Judged,
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
        if selector.has_auto() {
            return Err(Error::invalid("by", &selector, "λ is learned on one machine: name it"));
        }
        let threshold = match options.threshold {
            None => None,
            Some(Deciding::Flat(threshold)) => Some(threshold),
            Some(Deciding::Along(method)) => {
                return Err(Error::invalid("threshold", method, "thresholds along pipelines are set on one machine"));
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
        let PartedTables { folds: tables, unlabelled, several, tally } = tables;
        let mut all = merged(&tables, None, None)?;
        let taxonomy = match (&options.taxonomy, &tally) {
            (None, _) => None,
            (Some(given), None) => Some(given.of(all.labels())?),
            (Some(given), Some(tally)) => {
                let taxonomy = given.of(all.labels())?;
                if tally.specific.len() != taxonomy.len() {
                    return Err(Error::data("labels of another taxonomy were counted"));
                }
                // Every node is a label, with documents or without.
                all = nothing(all.vocabulary(), &Arc::new(taxonomy.ids().clone()))?.merge(&all);
                Some(taxonomy)
            }
        };
        check(&all, &options, unlabelled, several)?;
        let exclusive = unlabelled + several == 0;
        let single_label = tally.as_ref().map_or(several, |tally| tally.several) == 0;
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
        let by_worth = match (tally, &taxonomy) {
            (Some(tally), Some(taxonomy)) if threshold.is_none() => {
                if folds < 2 {
                    let reason = "probabilities are learned from documents that were held out: two folds or more";
                    return Err(Error::invalid("folds", asked, reason));
                }
                let worth = worth::worth_of(&options, &tally.form(), taxonomy)?;
                reasons.push(worth::about(&worth, &tally.form()));
                Some(Along { worth, tally, held: Held::new(taxonomy.len()) })
            }
            _ => None,
        };
        let threshold = threshold.or(by_worth.as_ref().map(|_| Threshold::None)).unwrap_or_else(|| {
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
        let classifier = match &taxonomy {
            Some(taxonomy) => along(classifier, taxonomy, trained[0].labels()),
            None => classifier,
        };
        let (mut groups, mut questions) = (Groups::default(), Vec::new());
        let mut members: Vec<Member> = Vec::new();
        for (table, terms) in trained.into_iter().zip(chosen) {
            let places = terms.iter().filter_map(|term| united.binary_search(term).ok().map(|p| p as u32)).collect();
            let (weighter, ready) = match &classifier {
                ClassifierSpec::Bayes(bayes) => {
                    let linear = bayes.fit_counts(&table, &terms)?;
                    (linear.parts().weighter.clone(), Some(linear))
                }
                ClassifierSpec::Svm(svm) => (svm.vectors.fit_counts(&table, &terms)?, None),
                ClassifierSpec::Logistic(logistic) => (logistic.vectors.fit_counts(&table, &terms)?, None),
                ClassifierSpec::Tree(tree) => (tree.base.vectors().fit_counts(&table, &terms)?, None),
                ClassifierSpec::Knn(_) => {
                    let reason = "only svm, logistic, bayes and trees are trained in parts";
                    return Err(Error::invalid("classifier", &classifier, reason));
                }
            };
            let blocks = text.blocks_of(terms.iter().map(|&term| table.vocabulary().name(term)));
            let weighter = weighter.with_blocks(blocks);
            let number = members.len() as u32;
            let outline = match &classifier {
                ClassifierSpec::Bayes(_) => None,
                ClassifierSpec::Tree(tree) => {
                    let counted = Counted { table: &table, terms: &terms, weighter: &weighter, exclusive };
                    Some(tree.outline(number, &counted, &mut groups, &mut questions)?)
                }
                _ => {
                    questions.extend(Plan::questions(&classifier, number, &table, exclusive)?);
                    None
                }
            };
            members.push(Member { table, terms, places, weighter, ready, outline });
        }
        let rounds = match &classifier {
            ClassifierSpec::Bayes(_) => None,
            _ => Some(Rounds::new(plan(&classifier, &members, names.len(), groups.all, questions), parts, most)?),
        };
        let decide = super::validated::known_before(threshold)?;
        let judged = match by_worth {
            Some(along) => Judged::Along(Box::new(along)),
            None => Judged::Flat(Validation::new(members[0].table.labels().len(), decide)?),
        };
        Ok(Self {
            options,
            text,
            classifier,
            selector,
            threshold,
            members,
            united: names,
            rounds,
            taxonomy,
            judged,
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
            .map(|number| {
                let places = &self.members[number].places;
                match self.fitted(number)? {
                    Fitted::Linear(linear) => linear.spread(places, self.united.len()).map(Fitted::Linear),
                    Fitted::Trees(trees) => trees.spread(places, self.united.len()).map(Fitted::Trees),
                    Fitted::Knn { .. } => Err(Error::data("neighbours are not found in parts")),
                }
            })
            .collect::<Result<Vec<_>>>()?;
        let report = self.report();
        let each = match &self.judged {
            Judged::Flat(_) => report.labels,
            Judged::Along(_) => report.labels.min(Worth::PLACES),
        };
        let scores = report.documents.saturating_mul(each as u64).max(1);
        Ok(Some(Scorers { models, most: each, share: (most as f64 / scores as f64).min(1.0) }))
    }

    /// Adds the scores of a part; parts come in their order.
    pub fn add_scores(&mut self, bytes: &[u8]) -> Result<()> {
        let (labels, folds) = (self.members[0].table.labels().len(), self.folds);
        let (judged, taxonomy) = (&mut self.judged, self.taxonomy.as_ref());
        scored(bytes, labels, |fold, ranked, truth| {
            if fold >= folds {
                return;
            }
            match judged {
                Judged::Flat(validation) => validation.add(fold, ranked, truth),
                Judged::Along(along) => {
                    let mut truth = truth.to_vec();
                    if let Some(taxonomy) = taxonomy {
                        taxonomy.most_specific(&mut truth);
                    }
                    along.held.push(fold, ranked, truth);
                }
            }
        })
    }

    fn fitted(&self, number: usize) -> Result<Fitted> {
        let Member { ready, outline, places, weighter, table, .. } = &self.members[number];
        match (ready, &self.rounds, &self.classifier, outline) {
            (Some(linear), ..) => Ok(Fitted::Linear(linear.clone())),
            (None, Some(rounds), ClassifierSpec::Tree(tree), Some(outline)) => {
                tree.grown(outline, rounds, places, weighter.clone()).map(Fitted::Trees)
            }
            (None, Some(rounds), ..) => {
                rounds.linear(number, places, weighter.clone(), &with_documents(table)).map(Fitted::Linear)
            }
            (None, None, ..) => Err(Error::data("this classifier is trained without rounds")),
        }
    }

    /// The model. `fingerprints` are the smallest of all documents.
    pub fn finish(self, fingerprints: Vec<u64>) -> Result<Trained> {
        let fitted = match self.fitted(0)? {
            Fitted::Linear(linear) if self.options.quantise => Fitted::Linear(linear.quantised()?),
            fitted => fitted,
        };
        let mut solutions: Vec<Solution> = self.rounds.as_ref().map_or_else(Vec::new, |rounds| rounds.solutions(0));
        if let Some(remark) = unsolved(&solutions) {
            tracing::warn!(target: crate::NOT_CONVERGED, "{remark}");
        }
        if matches!(fitted, Fitted::Trees(_)) {
            // Those of nodes are not of labels.
            solutions.clear();
        }
        let Self { options, text, mut classifier, selector, members, judged, mut reasons, frontier, trials, .. } = self;
        let (taxonomy, threshold, exclusive) = (self.taxonomy, self.threshold, self.exclusive);
        let member = &members[0];
        let labels = Arc::clone(member.table.labels());
        let mut label_documents = member.table.label_documents().to_vec();
        let mut nodes = None;
        let learned = match (judged, &taxonomy) {
            (Judged::Along(along), Some(taxonomy)) => {
                let Along { mut worth, tally, held } = *along;
                let (calibration, least) = held.learn(&worth, taxonomy)?;
                worth.least = least;
                let quality = held.quality(&worth, taxonomy)?;
                let (without, remark) = worth::without_documents(taxonomy, &tally.all);
                reasons.extend(remark);
                nodes = Some(NodesSeen { without_documents: without, untunable: Vec::new(), example: None });
                label_documents = if worth.closed { tally.all } else { tally.specific };
                Learned {
                    thresholds: Thresholds::untuned(Threshold::None)?,
                    curves: Vec::new(),
                    report: None,
                    calibration,
                    worth: Some(worth),
                    quality,
                    confusions: Vec::new(),
                }
            }
            (Judged::Along(_), None) => return Err(Error::data("there is no taxonomy")),
            (Judged::Flat(validation), _) => {
                let validated = validation.finish();
                reasons.extend(validated.unanswered(&labels));
                let Decision { thresholds, curves, report, calibration } =
                    validated.decision(&options, &classifier, threshold, exclusive, labels.len())?;
                let (quality, confusions) = (validated.quality, validated.confusions);
                Learned { thresholds, curves, report, calibration, worth: None, quality, confusions }
            }
        };
        if let ClassifierSpec::Tree(tree) = &mut classifier {
            tree.parents = None;
        }
        let mut order: Vec<(u32, u32)> = member.terms.iter().zip(0..).map(|(&term, feature)| (term, feature)).collect();
        order.sort_unstable();
        let names = Vocabulary::from_sorted(order.iter().map(|&(term, _)| member.table.vocabulary().name(term)));
        let model = Model::new(ModelParts {
            text,
            terms: Arc::new(names),
            feature_of: order.into_iter().map(|(_, feature)| feature).collect(),
            labels,
            taxonomy,
            ranker: Ranker::Flat(fitted),
            neighbours: Vec::new(),
            thresholds: learned.thresholds,
            curves: learned.curves,
            calibration: learned.calibration,
            worth: learned.worth,
            summary: TrainingSummary {
                program: TrainingSummary::this_program(),
                documents: member.table.documents(),
                label_documents,
                vocabulary: member.table.df().iter().filter(|&&df| df > 0).count(),
                single_label: self.single_label,
                selector: selector.to_string(),
                classifier,
                seed: options.seed,
                choices: reasons,
                quality: learned.quality,
                folds: self.folds,
            },
            seen: Seen::from_fingerprints(fingerprints),
            target: None,
            shown: Shown { frontier: frontier.clone(), confusions: learned.confusions, ..Shown::default() },
        })?;
        let (ranking, thresholds) = (Vec::new(), learned.report);
        Ok(Trained { model, trials, frontier, ranking, thresholds, unchanged: None, nodes, solutions })
    }
}

fn plan(
    classifier: &ClassifierSpec,
    members: &[Member],
    features: usize,
    groups: Vec<Vec<u32>>,
    questions: Vec<Question>,
) -> Plan {
    let model = |(number, member): (usize, &Member)| PlannedModel {
        held_out: number.checked_sub(1).map(|fold| fold as u32),
        weighter: member.weighter.spread(&member.places, features),
    };
    Plan {
        // Nodes of trees are problems like those of labels.
        classifier: match classifier {
            ClassifierSpec::Tree(tree) => tree.node().into(),
            other => other.clone(),
        },
        features,
        labels: members[0].table.labels().len(),
        folds: members.len() - 1,
        models: members.iter().enumerate().map(model).collect(),
        groups,
        questions,
    }
}

/// Counts of no document.
fn nothing(terms: &Arc<Vocabulary>, labels: &Arc<Vocabulary>) -> Result<Contingency> {
    let mut meetings = Csr::new(labels.len());
    (0..terms.len()).for_each(|_| meetings.push_row([]));
    Contingency::from_parts(ContingencyParts {
        vocabulary: Arc::clone(terms),
        labels: Arc::clone(labels),
        documents: 0,
        tokens: 0,
        label_documents: vec![0; labels.len()],
        df: vec![0; terms.len()],
        occurrences: vec![0; terms.len()],
        meetings,
    })
    .map_err(Error::data)
}

/// The counts of all folds but one, with the terms and labels of `like`.
fn merged(tables: &[Contingency], without: Option<usize>, like: Option<&Contingency>) -> Result<Contingency> {
    let mut sum = like.map(|like| nothing(like.vocabulary(), like.labels())).transpose()?;
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
