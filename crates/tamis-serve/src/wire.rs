//! What goes in and out as JSON. The OpenAPI document is made from these types.

use serde::{Deserialize, Serialize};
use tamis::model::{Answer, Example};
use utoipa::{IntoParams, ToSchema};

pub(crate) use crate::document::DocumentIn;
use crate::document::whole_given;

/// One document (`text`, `tokens` or the fields that the model reads) or several (`documents`).
#[derive(Debug, Default, ToSchema)]
#[schema(example = json!({ "text": "Where is my parcel?", "top": 3 }))]
pub(crate) struct ClassifyRequest {
    /// Which model; the first one when left out.
    #[schema(nullable = false)]
    pub(crate) model: Option<String>,
    /// The document; its keys stand beside the others.
    #[schema(ignore)]
    pub(crate) document: DocumentIn,
    /// Several documents at once.
    #[schema(nullable = false)]
    pub(crate) documents: Option<Vec<DocumentIn>>,
    /// Also give the N best labels with their scores, whatever the thresholds say.
    #[schema(minimum = 0, maximum = 10000, required = false)]
    pub(crate) top: u32,
}

/// Why a document has its labels.
#[derive(Debug, Default, ToSchema)]
#[schema(example = json!({ "text": "Where is my parcel?", "spans": true }))]
pub(crate) struct ExplainRequest {
    /// Which model; the first one when left out.
    #[schema(nullable = false)]
    pub(crate) model: Option<String>,
    /// The document; its keys stand beside the others.
    #[schema(ignore)]
    pub(crate) document: DocumentIn,
    /// The label to explain; when left out those the text gets, or the best one when it gets none.
    #[schema(nullable = false)]
    pub(crate) label: Option<String>,
    /// Most words, and most neighbours, for each label; 10 when left out.
    #[schema(minimum = 0, maximum = 10000, nullable = false)]
    pub(crate) top: Option<u32>,
    /// Also tell where in the text the words are.
    #[schema(required = false)]
    pub(crate) spans: bool,
}

/// Options of a stream.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct StreamQuery {
    /// Which model, for streams; a JSON request may also name it inside.
    #[param(nullable = false)]
    pub(crate) model: Option<String>,
    /// Also give the N best labels with their scores, for streams; a JSON request may also say it inside.
    #[serde(default, deserialize_with = "whole_given")]
    #[param(nullable = false, minimum = 0, maximum = 100)]
    pub(crate) top: Option<u32>,
}

/// Which model.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ModelQuery {
    /// Which model; the first one when left out.
    #[param(nullable = false)]
    pub(crate) model: Option<String>,
}

/// Which label.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct LabelQuery {
    /// Which model; the first one when left out.
    #[param(nullable = false)]
    pub(crate) model: Option<String>,
    /// The label.
    pub(crate) label: String,
    /// Most words on either side; 20 when left out.
    #[serde(default, deserialize_with = "whole_given")]
    #[param(nullable = false, minimum = 0, maximum = 10000)]
    pub(crate) top: Option<u32>,
}

/// Which features.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FeatureQuery {
    /// Which model; the first one when left out.
    #[param(nullable = false)]
    pub(crate) model: Option<String>,
    /// The words of this label with their weights; when left out the words of the model, best first.
    #[param(nullable = false)]
    pub(crate) label: Option<String>,
    /// Most words, on either side; 20 when left out.
    #[serde(default, deserialize_with = "whole_given")]
    #[param(nullable = false, minimum = 0, maximum = 10000)]
    pub(crate) top: Option<u32>,
}

/// The answer to one document.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnsweredOne<'a> {
    /// The model that was used.
    pub(crate) model: &'a str,
    #[serde(flatten)]
    pub(crate) answer: Answer<'a>,
}

/// The answers to several documents, in their order.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AnsweredMany<'a> {
    /// The model that was used.
    pub(crate) model: &'a str,
    /// One for each document.
    pub(crate) documents: Vec<Answer<'a>>,
}

/// What a model is, in short.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelLine {
    /// The name requests use.
    pub(crate) name: String,
    /// How many labels it knows.
    pub(crate) labels: usize,
    /// How many documents it was trained on.
    pub(crate) documents: u64,
    /// How many words it looks at.
    pub(crate) features: usize,
    /// The classifier.
    pub(crate) classifier: String,
    /// Whether its labels form a taxonomy.
    pub(crate) taxonomy: bool,
    /// 1 for the file the server started with, one more for each that replaced it.
    pub(crate) generation: u64,
    /// The texts of a document that it reads: `text`, or the fields that its terms name.
    pub(crate) fields: Vec<String>,
}

/// All models.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelList {
    /// The first is used where a request names none.
    pub(crate) models: Vec<ModelLine>,
}

/// What a model is and how good.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelDetails {
    #[serde(flatten)]
    pub(crate) line: ModelLine,
    /// Distinct words of the training documents, before selection.
    pub(crate) vocabulary: usize,
    /// What chose the words.
    pub(crate) selector: String,
    /// How labels are decided.
    pub(crate) deciding: String,
    /// What the scores are: `linear`, `taxonomy` or `neighbours`.
    pub(crate) kind: &'static str,
    /// Whether every training document has one label.
    pub(crate) single_label: bool,
    /// Whether it gives probabilities.
    pub(crate) probabilities: bool,
    /// Measured on training documents that were held out.
    pub(crate) quality: Vec<QualityLine>,
    /// Folds of that cross-validation; 0 when there was none.
    pub(crate) folds: usize,
    /// Why it is as it is, in sentences.
    pub(crate) choices: Vec<String>,
    /// The program that made it.
    pub(crate) program: String,
    /// Size of its file in bytes.
    pub(crate) bytes: u64,
    /// Whether thresholds decide; if not, those there are show what they would do.
    pub(crate) by_thresholds: bool,
    /// Training documents to try it on.
    pub(crate) examples: Vec<Example>,
    /// What fewer words would have cost, fewest first; empty when sizes were not compared.
    pub(crate) frontier: Vec<FrontierLine>,
    /// Which labels are taken for which in cross-validation, most frequent first.
    pub(crate) confusions: Vec<ConfusionLine>,
}

/// What a number of words reached.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FrontierLine {
    /// Number of words.
    pub(crate) features: usize,
    /// Mean R-precision on held-out documents.
    pub(crate) quality: f64,
    /// Its standard error.
    pub(crate) error: f64,
    /// Whether these are all words.
    pub(crate) all: bool,
}

/// Documents of a label for which another one was ranked first.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConfusionLine {
    /// The label they carry.
    pub(crate) label: String,
    /// The label ranked first.
    pub(crate) taken_for: String,
    /// How many held-out documents.
    pub(crate) documents: u32,
}

/// A measure and its value.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct QualityLine {
    /// The measure.
    pub(crate) measure: String,
    /// Its value.
    pub(crate) value: f64,
}

/// Labels of a model.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabelList<'a> {
    /// The model.
    pub(crate) model: &'a str,
    /// All of them, in byte order.
    pub(crate) labels: Vec<LabelLine<'a>>,
}

/// What is known about a label.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabelLine<'a> {
    /// The label.
    pub(crate) label: &'a str,
    /// A name for people.
    pub(crate) name: &'a str,
    /// Training documents that carry it; along a taxonomy also those of labels below.
    pub(crate) documents: u32,
    /// What its score must reach; null where thresholds do not decide, or it is never given.
    pub(crate) threshold: Option<f64>,
    /// On held-out documents at this threshold, or at the best one where there is none; null when not measured.
    pub(crate) quality: Option<Quality>,
}

/// How good a threshold is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Quality {
    /// The threshold.
    pub(crate) threshold: f64,
    /// Share of the documents that get the label which carry it.
    pub(crate) precision: f32,
    /// Share of the documents that carry it which get it.
    pub(crate) recall: f32,
    /// Their harmonic mean.
    pub(crate) f1: f32,
}

/// All about a label.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct LabelDetails<'a> {
    /// The model.
    pub(crate) model: &'a str,
    #[serde(flatten)]
    pub(crate) line: LabelLine<'a>,
    /// With a taxonomy: the path to it, root first.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(crate) path: Option<Vec<&'a str>>,
    /// Held-out documents that carry it.
    pub(crate) positives: u64,
    /// What thresholds would do, highest first; empty when not measured.
    pub(crate) curve: Vec<Quality>,
    /// Words that speak for it, most first; empty for neighbours.
    #[serde(rename = "for")]
    pub(crate) for_it: Vec<Weight<'a>>,
    /// Words that speak against it, most first.
    pub(crate) against: Vec<Weight<'a>>,
}

/// A word and its weight.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Weight<'a> {
    /// The word.
    pub(crate) word: &'a str,
    /// Its weight for the label.
    pub(crate) weight: f64,
}

/// Words of a label, or of the model.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Features<'a> {
    /// Words of a label.
    OfLabel {
        /// The model.
        model: &'a str,
        /// The label.
        label: &'a str,
        /// Words that speak for it, most first.
        #[serde(rename = "for")]
        for_it: Vec<Weight<'a>>,
        /// Words that speak against it, most first.
        against: Vec<Weight<'a>>,
    },
    /// Words of the model.
    OfModel {
        /// The model.
        model: &'a str,
        /// Best first.
        features: Vec<&'a str>,
    },
}

/// A taxonomy.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TaxonomyOut<'a> {
    /// The model.
    pub(crate) model: &'a str,
    /// Parents before children.
    pub(crate) nodes: Vec<Node<'a>>,
}

/// A node of a taxonomy.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Node<'a> {
    /// The label.
    pub(crate) label: &'a str,
    /// A name for people.
    pub(crate) name: &'a str,
    /// The label above; null for a root.
    pub(crate) parent: Option<&'a str>,
    /// 1 for a root.
    pub(crate) depth: usize,
    /// Training documents, those of labels below included; null when the classifier does not know the node.
    pub(crate) documents: Option<u32>,
}

/// The server itself.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ServerInfo {
    /// Version of the program.
    pub(crate) version: &'static str,
    /// Whether there is a study report to show.
    pub(crate) study: bool,
    /// Most bytes of a request.
    pub(crate) body_limit: usize,
    /// Most documents of a request.
    pub(crate) batch_limit: usize,
    /// Most bytes of an answer to documents.
    pub(crate) answer_limit: usize,
    /// Lines of the log that could not be written.
    pub(crate) log_lines_lost: u64,
}

/// How the server is.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`.
    pub(crate) status: &'static str,
}

impl From<tamis::threshold::CurvePoint> for Quality {
    fn from(point: tamis::threshold::CurvePoint) -> Self {
        Self { threshold: point.threshold, precision: point.precision, recall: point.recall, f1: point.f }
    }
}
