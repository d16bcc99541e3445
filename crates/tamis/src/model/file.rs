//! Models on disk: one file, verified when it is opened.
//!
//! Version 1. Sections: `meta` (JSON: text options, taxonomy, thresholds, calibration, training summary, shapes of the
//! rest), the names of terms and labels, feature numbers, threshold curves, the classifier's numbers, and where labels were
//! more than text to whoever fitted the model, what they were (`target`, JSON), and what it shows of itself (`shown`, JSON). Integers and
//! floats are little-endian; the container hashes every section.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::{Model, ModelParts, Ranker, Seen, Shown, Target, TrainingSummary, file_trees};
use crate::atomic::AtomicFile;
use crate::classify::tree::{LabelTrees, Link, TreeParts};
use crate::classify::{
    Classifier, Fitted, Knn, KnnOptions, Linear, LinearParts, Outputs, Problem, Store, Weighter, Weighting, Weights,
};
use crate::container::{Builder, Container};
use crate::counts::{Csr, Vocabulary};
use crate::hierarchy::progressive::{NodeModel, NodeState, Tuned};
use crate::hierarchy::{NodeRecord, ParentPolicy, ProgressiveModel, ProgressiveOptions, Taxonomy, Worth};
use crate::terms::TextOptions;
use crate::threshold::{Calibration, ThresholdCurve, Thresholds};
use crate::{Error, Result};

const KIND: &str = "model";
const NODE_KIND: &str = "node";
const VERSION: u32 = 1;
/// Version 1 with sections that may be compressed: what quantised models are written in, for size matters there and
/// reading them where they lie does not.
const SMALL_VERSION: u32 = 2;
const NEWEST: u32 = SMALL_VERSION;

#[derive(Serialize, Deserialize)]
struct Meta {
    text: TextOptions,
    taxonomy: Option<Vec<NodeRecord>>,
    thresholds: Thresholds,
    calibration: Option<Calibration>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    worth: Option<Worth>,
    summary: TrainingSummary,
    classifier: Shape,
}

/// What the numeric sections mean.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Shape {
    Knn { options: KnnOptions },
    Linear { weighting: Weighting, mean_length: f64, outputs: OutputKind, weights: WeightKind, dense: bool },
    Trees { weighting: Weighting, mean_length: f64, link: Link, beam: usize, trees: usize },
    Progressive(Box<Filter>),
}

/// Progressive filtering without the numbers of its nodes: each trained node is a file within the file.
#[derive(Serialize, Deserialize)]
struct Filter {
    options: ProgressiveOptions,
    states: Vec<NodeState>,
    tuned: Vec<Option<Tuned>>,
    calibration: Option<Calibration>,
}

#[derive(Serialize, Deserialize)]
struct NodeMeta {
    labels: usize,
    /// The nodes it scores; when empty, the one that names the section.
    #[serde(default)]
    members: Vec<u32>,
    classifier: Shape,
}

#[derive(Serialize, Deserialize, Clone, Copy, PartialEq)]
#[serde(rename_all = "lowercase")]
enum OutputKind {
    Values,
    Posteriors,
    Odds,
    Votes,
}

#[derive(Serialize, Deserialize, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum WeightKind {
    Double,
    Single,
    Byte,
}

/// What a model file holds, for people.
#[derive(Debug, Clone, Serialize)]
pub struct ModelFileInfo {
    /// Version of the format.
    pub version: u32,
    /// Size in bytes.
    pub bytes: usize,
    /// Sections and their sizes.
    pub sections: Vec<(String, usize)>,
}

impl Model {
    /// Whether a file is a model, by its first bytes.
    pub fn is_one(path: &Path) -> bool {
        Container::kind_of(path).as_deref() == Some(KIND)
    }

    /// Writes the model; the file appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        let builder = builder(self)?;
        let mut file = AtomicFile::create(path)?;
        builder.write(&mut file).and_then(|()| file.flush()).map_err(|e| Error::io(path, e))?;
        file.commit()
    }

    /// The file as bytes, for those who keep it elsewhere.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        builder(self)?.write(&mut bytes).map_err(|e| Error::io("model", e))?;
        Ok(bytes)
    }

    /// Reads and verifies a model.
    pub fn read(path: &Path) -> Result<Self> {
        Self::load(&Container::open(path, KIND, NEWEST)?)
    }

    /// Reads and verifies a model that is in memory.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::load(&Container::from_bytes(Path::new("model"), bytes, KIND, NEWEST)?)
    }

    /// What the file holds.
    pub fn file_info(path: &Path) -> Result<ModelFileInfo> {
        let file = Container::open(path, KIND, NEWEST)?;
        Ok(ModelFileInfo {
            version: file.version(),
            bytes: file.size(),
            sections: file.sections().map(|(name, size)| (name.to_owned(), size)).collect(),
        })
    }

    fn load(file: &Container) -> Result<Self> {
        let json = |name: &str, e: serde_json::Error| file.error(format!("section {name}: {e}"));
        let meta: Meta = serde_json::from_str(file.text("meta")?).map_err(|e| json("meta", e))?;
        let curves: Vec<ThresholdCurve> = serde_json::from_str(file.text("curves")?).map_err(|e| json("curves", e))?;
        if let Some(warning) = meta.text.stemmed_otherwise() {
            tracing::warn!("{warning}");
        }
        let taxonomy = meta.taxonomy.map(|r| Taxonomy::from_records(r, ParentPolicy::All)).transpose()?;
        let terms = Vocabulary::load(file, "terms")?;
        if let Some(reason) = meta.text.cut_otherwise(terms.iter()) {
            return Err(file.error(reason));
        }
        let labels = Vocabulary::load(file, "labels")?;
        let ranker = match meta.classifier {
            Shape::Progressive(filter) => Ranker::Along(Box::new(load_filter(*filter, file, taxonomy.as_ref())?)),
            flat => Ranker::Flat(load_classifier(flat, file, labels.len())?),
        };
        // Files of older programs and of labels that are text in the usual form do not have it.
        let target = if file.sections().any(|(name, _)| name == "target") {
            Some(serde_json::from_str::<Target>(file.text("target")?).map_err(|e| json("target", e))?)
        } else {
            None
        };
        let shown = if file.sections().any(|(name, _)| name == "shown") {
            serde_json::from_str::<Shown>(file.text("shown")?).map_err(|e| json("shown", e))?
        } else {
            Shown::default()
        };
        let parts = ModelParts {
            neighbours: load_neighbours(&ranker, file)?,
            ranker,
            text: meta.text,
            terms: Arc::new(terms),
            feature_of: file.slice::<u32>("features")?.to_vec(),
            labels: Arc::new(labels),
            taxonomy,
            thresholds: meta.thresholds,
            curves,
            calibration: meta.calibration,
            worth: meta.worth,
            summary: meta.summary,
            seen: Seen::from_fingerprints(if file.sections().any(|(name, _)| name == "seen") {
                file.slice::<u64>("seen")?.to_vec()
            } else {
                Vec::new()
            }),
            target,
            shown,
        };
        Self::new(parts).map_err(|e| file.error(e.to_string()))
    }
}

/// The sections of the file of these parts.
fn builder(parts: &ModelParts) -> Result<Builder> {
    let quantised = matches!(&parts.ranker, Ranker::Flat(Fitted::Linear(linear))
        if matches!(linear.parts().weights, Weights::Byte { .. }));
    let mut file = if quantised { Builder::new(KIND, SMALL_VERSION).small() } else { Builder::new(KIND, VERSION) };
    let mut numbers = Builder::new(KIND, VERSION);
    let classifier = match &parts.ranker {
        Ranker::Flat(classifier) => store_classifier(classifier, &mut numbers),
        Ranker::Along(filter) => store_filter(filter, &mut numbers)?,
    };
    let meta = Meta {
        text: parts.text.clone(),
        taxonomy: parts.taxonomy.as_ref().map(Taxonomy::records),
        thresholds: parts.thresholds.clone(),
        calibration: parts.calibration.clone(),
        worth: parts.worth.clone(),
        summary: parts.summary.clone(),
        classifier,
    };
    let json = |e: serde_json::Error| Error::data(format!("the model cannot be written as JSON: {e}"));
    file.add("meta", serde_json::to_vec(&meta).map_err(json)?);
    file.add("curves", serde_json::to_vec(&parts.curves).map_err(json)?);
    parts.terms.store(&mut file, "terms");
    parts.labels.store(&mut file, "labels");
    file.add_slice("features", &parts.feature_of);
    if !parts.neighbours.is_empty() {
        file.add("train ids", serde_json::to_vec(&parts.neighbours).map_err(json)?);
    }
    if !parts.seen.fingerprints().is_empty() {
        file.add_slice("seen", parts.seen.fingerprints());
    }
    if let Some(target) = &parts.target {
        file.add("target", serde_json::to_vec(target).map_err(json)?);
    }
    if !parts.shown.is_empty() {
        file.add("shown", serde_json::to_vec(&parts.shown).map_err(json)?);
    }
    file.append(numbers);
    Ok(file)
}

/// How many bytes the file of these parts has.
pub(super) fn size_of(parts: &ModelParts) -> Result<u64> {
    struct Counted(u64);
    impl Write for Counted {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len() as u64;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counted = Counted(0);
    builder(parts)?.write(&mut counted).map_err(|e| Error::io("model", e))?;
    Ok(counted.0)
}

/// The names of the training documents. Files of older programs do not have them: there, documents are named by their
/// place, from 1.
fn load_neighbours(ranker: &Ranker, file: &Container) -> Result<Vec<String>> {
    const NAME: &str = "train ids";
    match ranker {
        Ranker::Flat(Fitted::Knn { .. }) if file.sections().any(|(name, _)| name == NAME) => {
            serde_json::from_str(file.text(NAME)?).map_err(|e| file.error(format!("section {NAME}: {e}")))
        }
        Ranker::Flat(Fitted::Knn { problem, .. }) => Ok((1..=problem.documents()).map(|n| n.to_string()).collect()),
        _ => Ok(Vec::new()),
    }
}

fn store_csr_shape<V: Copy>(matrix: &Csr<V>, name: &str, file: &mut Builder) {
    let offsets: Vec<u64> = matrix.offsets().iter().map(|&o| o as u64).collect();
    file.add_slice(&format!("{name} offsets"), &offsets);
    file.add_slice(&format!("{name} columns"), matrix.indices());
}

fn load_csr<V: Copy>(file: &Container, name: &str, columns: usize, values: Vec<V>) -> Result<Csr<V>> {
    let offsets = file.slice::<u64>(&format!("{name} offsets"))?.iter().map(|&o| o as usize).collect();
    let indices = file.slice::<u32>(&format!("{name} columns"))?.to_vec();
    Csr::try_from_parts(columns, offsets, indices, values).map_err(|reason| file.error(format!("{name}: {reason}")))
}

fn store_filter(filter: &ProgressiveModel, file: &mut Builder) -> Result<Shape> {
    for node in &filter.locals {
        let mut part = Builder::new(NODE_KIND, VERSION);
        part.add_slice("features", &node.features);
        let classifier = store_classifier(&node.classifier, &mut part);
        let meta = NodeMeta { labels: node.classifier.labels(), members: node.members.clone(), classifier };
        let json = |e: serde_json::Error| Error::data(format!("the model cannot be written as JSON: {e}"));
        part.add("meta", serde_json::to_vec(&meta).map_err(json)?);
        let mut bytes = Vec::new();
        part.write(&mut bytes).map_err(|e| Error::io("model", e))?;
        file.add(&format!("node {}", node.members[0]), bytes);
    }
    Ok(Shape::Progressive(Box::new(Filter {
        options: filter.options.clone(),
        states: filter.states.clone(),
        tuned: filter.tuned.clone(),
        calibration: filter.calibration.clone(),
    })))
}

fn load_filter(filter: Filter, file: &Container, taxonomy: Option<&Taxonomy>) -> Result<ProgressiveModel> {
    let wrong = |e: Error| file.error(e.to_string());
    let taxonomy = taxonomy.ok_or_else(|| file.error("there are classifiers for nodes, but no taxonomy"))?;
    let features = file.slice::<u32>("features")?.len();
    let present: Vec<&str> = file.sections().map(|(name, _)| name).collect();
    let mut locals = Vec::new();
    for number in taxonomy.nodes() {
        let name = format!("node {number}");
        if !present.contains(&name.as_str()) {
            continue;
        }
        let part = Container::from_bytes(Path::new(&name), file.section(&name)?, NODE_KIND, VERSION).map_err(wrong)?;
        let meta: NodeMeta =
            serde_json::from_str(part.text("meta")?).map_err(|e| file.error(format!("section {name}: {e}")))?;
        let own = part.slice::<u32>("features").map_err(wrong)?.to_vec();
        let classifier = load_classifier(meta.classifier, &part, meta.labels).map_err(wrong)?;
        if let Fitted::Linear(linear) = &classifier
            && linear.features() != own.len()
        {
            return Err(file.error(format!("section {name}: the weights are about other features")));
        }
        let members = if meta.members.is_empty() { vec![number] } else { meta.members };
        if members[0] != number || members.windows(2).any(|w| w[0] >= w[1]) || members.len() > meta.labels {
            return Err(file.error(format!("section {name}: its nodes do not belong to it")));
        }
        locals.push(NodeModel::new(members, own, classifier, &filter.options.classifier));
    }
    let mut model =
        ProgressiveModel::new(taxonomy.clone(), filter.options, filter.states, locals, features).map_err(wrong)?;
    model.tuned = filter.tuned;
    model.calibration = filter.calibration;
    model.validate().map_err(wrong)?;
    Ok(model)
}

fn store_classifier(classifier: &Fitted, file: &mut Builder) -> Shape {
    match classifier {
        Fitted::Knn { model, problem } => {
            store_csr_shape(&problem.matrix, "train", file);
            file.add_slice("train counts", problem.matrix.values());
            file.add_slice("train lengths", &problem.lengths);
            store_csr_shape(&problem.assignments, "truth", file);
            Shape::Knn { options: *model.options() }
        }
        Fitted::Trees(trees) => {
            let parts = trees.parts();
            file_trees::store(parts, file);
            Shape::Trees {
                weighting: parts.weighter.weighting(),
                mean_length: parts.weighter.mean_length(),
                link: parts.link,
                beam: parts.beam,
                trees: parts.trees.len(),
            }
        }
        Fitted::Linear(linear) => {
            let parts = linear.parts();
            let (outputs, labels, pairs) = match &parts.outputs {
                Outputs::Values(labels) => (OutputKind::Values, labels, &Vec::new()),
                Outputs::Posteriors(labels) => (OutputKind::Posteriors, labels, &Vec::new()),
                Outputs::Odds(labels) => (OutputKind::Odds, labels, &Vec::new()),
                Outputs::Votes { labels, pairs } => (OutputKind::Votes, labels, pairs),
            };
            file.add_slice("outputs", labels);
            file.add_slice("pairs", &pairs.iter().flat_map(|&(a, b)| [a, b]).collect::<Vec<_>>());
            store_weighter(&parts.weighter, file);
            file.add_slice("bias", &parts.bias);
            file.add_slice("every", &parts.every);
            file.add_slice("common", &parts.common);
            let (weights, dense) = match &parts.weights {
                Weights::Double(store) => (WeightKind::Double, store_weights(store, file)),
                Weights::Single(store) => (WeightKind::Single, store_weights(store, file)),
                Weights::Byte { store, scales } => {
                    file.add_slice("scales", scales);
                    (WeightKind::Byte, store_weights(store, file))
                }
            };
            Shape::Linear {
                weighting: parts.weighter.weighting(),
                mean_length: parts.weighter.mean_length(),
                outputs,
                weights,
                dense,
            }
        }
    }
}

/// Writes what a component is multiplied with, and where it matters the block that it is of.
pub(super) fn store_weighter(weighter: &Weighter, file: &mut Builder) {
    file.add_slice("factors", weighter.factors());
    if !weighter.blocks().is_empty() {
        file.add_slice("blocks", weighter.blocks());
    }
}

fn load_weighter(weighting: Weighting, mean_length: f64, file: &Container) -> Result<Weighter> {
    let factors = file.slice::<f64>("factors")?.to_vec();
    let has_blocks = file.sections().any(|(name, _)| name == "blocks");
    let blocks = if has_blocks { file.slice::<u8>("blocks")?.to_vec() } else { Vec::new() };
    Weighter::from_parts(weighting, factors, mean_length, blocks).map_err(|e| file.error(e.to_string()))
}

/// Writes the weights; tells whether they are dense.
fn store_weights<W: Copy + zerocopy::IntoBytes + zerocopy::Immutable>(store: &Store<W>, file: &mut Builder) -> bool {
    match store {
        Store::Dense { values, .. } => {
            file.add_slice("weights", values);
            true
        }
        Store::Sparse(matrix) => {
            store_csr_shape(matrix, "weights", file);
            file.add_slice("weights", matrix.values());
            false
        }
    }
}

fn load_weights<W>(file: &Container, dense: bool, outputs: usize) -> Result<Store<W>>
where
    W: Copy + zerocopy::FromBytes + zerocopy::Immutable + zerocopy::KnownLayout,
{
    let values = file.slice::<W>("weights")?.to_vec();
    if dense {
        Ok(Store::Dense { outputs, values })
    } else {
        Ok(Store::Sparse(load_csr(file, "weights", outputs, values)?))
    }
}

fn load_classifier(shape: Shape, file: &Container, labels: usize) -> Result<Fitted> {
    let wrong = |e: Error| file.error(e.to_string());
    match shape {
        Shape::Progressive(_) => Err(file.error("a node cannot be a taxonomy of its own")),
        Shape::Knn { options } => {
            let features = file.slice::<u32>("features")?.len();
            let matrix = load_csr(file, "train", features, file.slice::<u32>("train counts")?.to_vec())?;
            let entries = file.slice::<u32>("truth columns")?.len();
            let assignments = load_csr(file, "truth", labels, vec![(); entries])?;
            let lengths = file.slice::<u32>("train lengths")?.to_vec();
            if matrix.rows() != assignments.rows() || matrix.rows() != lengths.len() {
                return Err(file.error("the training documents do not belong together"));
            }
            let problem = Problem::of(matrix, lengths, assignments);
            let model = Box::new(Knn::fit(&problem, &options).map_err(wrong)?);
            debug_assert_eq!(model.labels(), labels);
            Ok(Fitted::Knn { model, problem })
        }
        Shape::Trees { weighting, mean_length, link, beam, trees } => {
            let weighter = load_weighter(weighting, mean_length, file)?;
            let trees = file_trees::load(file, trees)?;
            LabelTrees::from_parts(TreeParts { labels, weighter, link, beam, trees }).map(Fitted::Trees).map_err(wrong)
        }
        Shape::Linear { weighting, mean_length, outputs, weights, dense } => {
            let ranked = file.slice::<u32>("outputs")?.to_vec();
            let pairs: Vec<(u32, u32)> =
                file.slice::<u32>("pairs")?.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
            let outputs = match outputs {
                OutputKind::Values => Outputs::Values(ranked),
                OutputKind::Posteriors => Outputs::Posteriors(ranked),
                OutputKind::Odds => Outputs::Odds(ranked),
                OutputKind::Votes => Outputs::Votes { labels: ranked, pairs },
            };
            let n = outputs.len();
            let weights = match weights {
                WeightKind::Double => Weights::Double(load_weights(file, dense, n)?),
                WeightKind::Single => Weights::Single(load_weights(file, dense, n)?),
                WeightKind::Byte => Weights::Byte {
                    store: load_weights(file, dense, n)?,
                    scales: file.slice::<f32>("scales")?.to_vec(),
                },
            };
            Linear::from_parts(LinearParts {
                labels,
                weighter: load_weighter(weighting, mean_length, file)?,
                outputs,
                weights,
                bias: file.slice::<f64>("bias")?.to_vec(),
                every: file.slice::<f64>("every")?.to_vec(),
                common: file.slice::<f64>("common")?.to_vec(),
            })
            .map(Fitted::Linear)
            .map_err(wrong)
        }
    }
}
