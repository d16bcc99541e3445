//! What all machines must know before the first round.

use super::wire::{Reader, Writer, damaged};
use crate::classify::{ClassifierSpec, Weighter, Weighting};
use crate::counts::Contingency;
use crate::{Error, Result};

/// One of the models that are trained together: the one that is wanted, or one that must not see a fold.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedModel {
    /// The fold that it is not trained on.
    pub held_out: Option<u32>,
    /// How its documents become vectors, over the features of all models; those that are not its own weigh 0.
    pub weighter: Weighter,
}

/// Some documents to be told from others, in one of the models.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question {
    /// Which model.
    pub model: u32,
    /// Documents of this label; or, from the number of labels on, those that have a label of one of the plan's groups.
    pub of: u32,
    /// The group that all documents of the question are of; none for all documents.
    pub within: Option<u32>,
    /// What a document without the label costs, and one with it.
    pub costs: [f64; 2],
}

/// What is to be trained.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The classifier: `svm` or `logistic`.
    pub classifier: ClassifierSpec,
    /// Features of all models together.
    pub features: usize,
    /// Labels.
    pub labels: usize,
    /// Folds; 0 for none.
    pub folds: usize,
    /// The models.
    pub models: Vec<PlannedModel>,
    /// Labels, ascending, of which documents of a group have at least one.
    pub groups: Vec<Vec<u32>>,
    /// The problems: those of a model one after the other, and of these those of the same documents.
    pub questions: Vec<Question>,
}

impl Plan {
    /// For each question the number of its scope: questions of the same model about the same documents have one.
    pub(super) fn scopes(&self) -> Vec<u32> {
        let mut scopes: Vec<u32> = Vec::with_capacity(self.questions.len());
        for (at, question) in self.questions.iter().enumerate() {
            let scope = match at.checked_sub(1).map(|before| &self.questions[before]) {
                None => 0,
                Some(before) => {
                    scopes[at - 1] + u32::from((before.model, before.within) != (question.model, question.within))
                }
            };
            scopes.push(scope);
        }
        scopes
    }

    /// The gap at which a problem is solved, as a share of its value.
    pub fn gap(&self) -> f64 {
        match &self.classifier {
            ClassifierSpec::Svm(options) => options.gap(),
            ClassifierSpec::Logistic(options) => options.gap,
            _ => 0.0,
        }
    }

    /// The problems of a model with these training documents, one for each label that has some; of two labels that exclude each
    /// other the first alone. An error where the classifier is none that can be trained in parts.
    pub fn questions(
        classifier: &ClassifierSpec,
        model: u32,
        table: &Contingency,
        exclusive: bool,
    ) -> Result<Vec<Question>> {
        use crate::classify::logistic::Form;
        use crate::classify::svm::Multi;
        let refused = |reason: &str| Err(Error::invalid("classifier", classifier, reason));
        let (classes, c, vectors) = match classifier {
            ClassifierSpec::Svm(options) if options.multi == Multi::Ovo => {
                return refused("pairs of labels are not trained in parts: take multi=ovr");
            }
            ClassifierSpec::Logistic(options) if options.form == Some(Form::Multinomial) => {
                return refused("labels that compete are not trained in parts: take form=ovr");
            }
            ClassifierSpec::Svm(options) => {
                options.validate()?;
                (&options.classes, options.c, &options.vectors)
            }
            ClassifierSpec::Logistic(options) => {
                options.validate()?;
                (&options.classes, options.c, &options.vectors)
            }
            _ => return refused("only svm, logistic and bayes are trained in parts"),
        };
        if vectors.per_label {
            return refused("vectors with a score for each label are not trained in parts: leave (per=label) out");
        }
        let told = classes.of_names(table.labels())?;
        let n = table.documents() as f64;
        let with: Vec<u32> =
            (0..told.len() as u32).filter(|&label| table.label_documents()[label as usize] > 0).collect();
        if with.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let mirrored = exclusive && with.len() == 2;
        let asked = if mirrored { &with[..1] } else { &with[..] };
        Ok(asked
            .iter()
            .map(|&label| {
                let own = f64::from(table.label_documents()[label as usize]);
                let others = if mirrored { told[with[1] as usize] } else { 1.0 };
                let sides = classes.sides([n - own, own], [others, told[label as usize]]);
                Question { model, of: label, within: None, costs: sides.map(|share| c * share) }
            })
            .collect())
    }

    /// As bytes for other machines.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.text(&self.classifier.to_string());
        for number in [self.features, self.labels, self.folds, self.models.len()] {
            out.number(number as u64);
        }
        for model in &self.models {
            out.number(model.held_out.map_or(0, |fold| u64::from(fold) + 1));
            put_weighter(&mut out, &model.weighter);
        }
        out.number(self.groups.len() as u64);
        self.groups.iter().for_each(|group| out.ascending(group.iter().copied()));
        out.number(self.questions.len() as u64);
        for question in &self.questions {
            out.number(u64::from(question.model));
            out.number(u64::from(question.of));
            out.number(question.within.map_or(0, |group| u64::from(group) + 1));
            question.costs.iter().for_each(|&cost| out.double(cost));
        }
        out.0
    }

    /// From [`Plan::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader(bytes);
        let classifier = reader.text()?.parse()?;
        let [features, labels, folds] = [reader.number()?, reader.number()?, reader.number()?].map(|n| n as usize);
        let mut models = Vec::new();
        for _ in 0..reader.length()? {
            let held_out = reader.below(folds + 1)?.checked_sub(1).map(|fold| fold as u32);
            let weighter = weighter(&mut reader)?;
            if weighter.features() != features {
                return Err(damaged());
            }
            models.push(PlannedModel { held_out, weighter });
        }
        let mut groups = Vec::new();
        for _ in 0..reader.length()? {
            let mut group = Vec::new();
            reader.ascending(labels, &mut group)?;
            groups.push(group);
        }
        let mut questions = Vec::new();
        for _ in 0..reader.length()? {
            let model = reader.below(models.len())? as u32;
            let of = reader.below(labels + groups.len())? as u32;
            let within = reader.below(groups.len() + 1)?.checked_sub(1).map(|group| group as u32);
            questions.push(Question { model, of, within, costs: [reader.double()?, reader.double()?] });
        }
        Ok(Self { classifier, features, labels, folds, models, groups, questions })
    }
}

pub(super) fn put_weighter(out: &mut Writer, weighter: &Weighter) {
    out.text(&weighter.weighting().to_string());
    out.double(weighter.mean_length());
    out.doubles(weighter.factors());
    out.bytes(weighter.blocks());
}

pub(super) fn weighter(reader: &mut Reader<'_>) -> Result<Weighter> {
    let weighting: Weighting = reader.text()?.parse()?;
    let mean_length = reader.double()?;
    let factors = reader.doubles()?;
    Weighter::from_parts(weighting, factors, mean_length, reader.bytes()?.to_vec())
}
