//! Label trees: thousands of labels, each asked about only where the document may belong (method 7).
//!
//! A tree halves the labels, or follows a taxonomy. Every node has a linear classifier for each node and label below it, learned
//! from the documents that reach it. A document goes down with the best few nodes of every level (the beam); what
//! the classifiers on the way say is multiplied, and several trees are averaged.

mod cluster;
mod options;
mod outline;
mod shape;
mod train;

pub use options::{Layout, TreeBase, TreeOptions};
pub(crate) use outline::{Counted, Groups, Outline};

use super::svm::Loss;
use super::{Classifier, Explanation, Linear, LinearParts, Query, Scored, Scratch, Weighter};
use crate::counts::Csr;
use crate::named::named;
use crate::{Error, Result};

named! {
    /// How the value of a node's classifier becomes a log probability.
    pub enum Link ("link of a label tree") {
        /// `−max(0, 1 − v)²`, the squared hinge loss of the class (Prabhu et al. 2018).
        Squared = "squared",
        /// `−max(0, 1 − v)`.
        Hinge = "hinge",
        /// `−log(1 + exp(−v))`, the probability of logistic regression.
        Logistic = "logistic",
    }
}

impl Link {
    fn of(base: &TreeBase) -> Self {
        match base {
            TreeBase::Svm(svm) if svm.loss == Loss::Hinge => Self::Hinge,
            TreeBase::Svm(_) => Self::Squared,
            TreeBase::Logistic(_) => Self::Logistic,
        }
    }

    /// The log probability that a value stands for.
    fn log(self, value: f64) -> f64 {
        let short = (1.0 - value).max(0.0);
        match self {
            Self::Squared => -short * short,
            Self::Hinge => -short,
            // Either way of writing it is exact on its side only.
            Self::Logistic if value > 0.0 => -(-value).exp().ln_1p(),
            Self::Logistic => value - value.exp().ln_1p(),
        }
    }
}

/// A node: what is below it, and a linear classifier for each.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    /// Nodes below: the first classes.
    pub kids: Vec<u32>,
    /// Labels that end here: the other classes.
    pub labels: Vec<u32>,
    /// The bias of each class; infinite where every document that comes here has it.
    pub bias: Vec<f32>,
    /// The features that have a weight here, ascending.
    pub features: Vec<u32>,
    /// Places in `features` × classes.
    pub weights: Csr<f32>,
}

/// A tree; node 0 is the root, and nodes come before those below them.
#[derive(Debug, Clone, PartialEq)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

/// All that makes up [`LabelTrees`]: what a model file stores.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeParts {
    /// How many labels there are, with or without a place in the trees.
    pub labels: usize,
    /// How documents become vectors.
    pub weighter: Weighter,
    /// What values of classifiers mean.
    pub link: Link,
    /// Nodes of a level that are looked into.
    pub beam: usize,
    /// The trees.
    pub trees: Vec<Tree>,
}

/// Fitted label trees. The score of a label is the logarithm of its mean probability over trees; labels that no beam
/// reaches are not in the list.
#[derive(Debug, Clone, PartialEq)]
pub struct LabelTrees {
    parts: TreeParts,
    /// For each tree and label the node where it ends and its class there.
    places: Vec<Vec<Option<(u32, u32)>>>,
    /// For each tree the parent of each node and its class there.
    above: Vec<Vec<Option<(u32, u32)>>>,
}

/// Reusable memory of a thread.
#[derive(Debug, Default)]
pub(crate) struct TreeMemory {
    vector: Vec<f64>,
    sums: Vec<f64>,
    beam: Vec<(u32, f64)>,
    next: Vec<(u32, f64)>,
    /// Trees × labels: log probabilities, −∞ between documents.
    logs: Vec<f64>,
    /// Whether a label was reached, and those that were.
    is_reached: Vec<bool>,
    reached: Vec<u32>,
}

impl Tree {
    /// A linear model as a tree of depth one, without weights below `prune`.
    pub fn of_linear(linear: &Linear, prune: f64) -> Self {
        let LinearParts { outputs, weights, bias, .. } = linear.parts();
        let mut by_feature = Csr::new(outputs.len());
        let mut features = Vec::new();
        for feature in 0..linear.features() {
            let row = weights.row(feature).filter(|(_, w)| w.abs() >= prune).map(|(class, w)| (class as u32, w as f32));
            let before = by_feature.entries();
            by_feature.push_row(row);
            features.push((feature as u32, by_feature.entries() > before));
        }
        let kept: Vec<usize> = features.iter().filter(|(_, has)| *has).map(|(f, _)| *f as usize).collect();
        let node = Node {
            kids: Vec::new(),
            labels: outputs.labels().to_vec(),
            bias: bias.iter().map(|&b| b as f32).collect(),
            features: kept.iter().map(|&f| f as u32).collect(),
            weights: by_feature.select_rows(&kept),
        };
        Self { nodes: vec![node] }
    }
}

impl LabelTrees {
    /// The same over other features: `places` says where each of its own is among so many; those that are not its own weigh 0.
    pub(crate) fn spread(&self, places: &[u32], features: usize) -> Result<Self> {
        let node = |node: &Node| {
            let mut order: Vec<(u32, usize)> = node.features.iter().map(|&f| places[f as usize]).zip(0..).collect();
            order.sort_unstable();
            let rows: Vec<usize> = order.iter().map(|(_, row)| *row).collect();
            Node {
                features: order.iter().map(|(place, _)| *place).collect(),
                weights: node.weights.select_rows(&rows),
                ..node.clone()
            }
        };
        let tree = |tree: &Tree| Tree { nodes: tree.nodes.iter().map(node).collect() };
        Self::from_parts(TreeParts {
            weighter: self.parts.weighter.spread(places, features),
            trees: self.parts.trees.iter().map(tree).collect(),
            ..self.parts.clone()
        })
    }

    /// The same with some of the features (ascending) alone, numbered anew.
    pub(crate) fn select(&self, features: &[u32]) -> Result<Self> {
        let node = |node: &Node| {
            let place = |f: &u32| features.binary_search(f).ok().map(|at| at as u32);
            let own: Vec<(usize, u32)> =
                node.features.iter().enumerate().filter_map(|(row, f)| Some((row, place(f)?))).collect();
            let rows: Vec<usize> = own.iter().map(|(row, _)| *row).collect();
            Node {
                kids: node.kids.clone(),
                labels: node.labels.clone(),
                bias: node.bias.clone(),
                features: own.into_iter().map(|(_, place)| place).collect(),
                weights: node.weights.select_rows(&rows),
            }
        };
        let tree = |tree: &Tree| Tree { nodes: tree.nodes.iter().map(node).collect() };
        Self::from_parts(TreeParts {
            labels: self.parts.labels,
            weighter: self.parts.weighter.select(features),
            link: self.parts.link,
            beam: self.parts.beam,
            trees: self.parts.trees.iter().map(tree).collect(),
        })
    }

    /// Takes parts that were computed or stored, and checks that they fit together.
    pub fn from_parts(parts: TreeParts) -> Result<Self> {
        let wrong = |what: &str| Err(Error::data(format!("label trees: {what}")));
        let features = parts.weighter.features();
        let (mut places, mut above) = (Vec::new(), Vec::new());
        if parts.trees.is_empty() || parts.beam == 0 {
            return wrong("there must be a tree, and a beam of at least 1");
        }
        for tree in &parts.trees {
            let mut place = vec![None; parts.labels];
            let mut parent: Vec<Option<(u32, u32)>> = vec![None; tree.nodes.len()];
            if tree.nodes.is_empty() {
                return wrong("a tree has no node");
            }
            for (number, node) in tree.nodes.iter().enumerate() {
                let classes = node.kids.len() + node.labels.len();
                if node.bias.len() != classes
                    || node.weights.columns() != classes
                    || node.weights.rows() != node.features.len()
                {
                    return wrong("the weights of a node are not for its classes");
                }
                if node.features.windows(2).any(|w| w[0] >= w[1])
                    || node.features.last().is_some_and(|&f| f as usize >= features)
                {
                    return wrong("the features of a node must ascend and be features of the model");
                }
                if node.bias.iter().any(|b| b.is_nan() || *b == f32::NEG_INFINITY)
                    || node.weights.values().iter().any(|w| !w.is_finite())
                {
                    return wrong("a weight is not a finite number");
                }
                for (class, &kid) in node.kids.iter().enumerate() {
                    match parent.get_mut(kid as usize) {
                        Some(free @ None) if kid as usize > number => *free = Some((number as u32, class as u32)),
                        _ => return wrong("nodes must come before those below them, each once"),
                    }
                }
                for (at, &label) in node.labels.iter().enumerate() {
                    match place.get_mut(label as usize) {
                        Some(free @ None) => *free = Some((number as u32, (node.kids.len() + at) as u32)),
                        _ => return wrong("each label has one place"),
                    }
                }
            }
            if parent.iter().skip(1).any(Option::is_none) {
                return wrong("a node hangs nowhere");
            }
            places.push(place);
            above.push(parent);
        }
        Ok(Self { parts, places, above })
    }

    /// What they are made of.
    pub fn parts(&self) -> &TreeParts {
        &self.parts
    }

    /// Number of features.
    pub fn features(&self) -> usize {
        self.parts.weighter.features()
    }

    /// The nodes and classes on the way to a label, the label's own first.
    fn path(&self, tree: usize, label: u32) -> impl Iterator<Item = (&Node, usize)> {
        let first = self.places[tree].get(label as usize).copied().flatten();
        let steps = std::iter::successors(first, move |&(node, _)| self.above[tree][node as usize]);
        steps.map(move |(node, class)| (&self.parts.trees[tree].nodes[node as usize], class as usize))
    }

    /// The weights that speak for a label: their sum along the path, averaged over trees. Features ascend.
    pub fn label_weights(&self, label: u32) -> Vec<(u32, f64)> {
        let mut all: Vec<(u32, f64)> = Vec::new();
        let share = 1.0 / self.parts.trees.len() as f64;
        for tree in 0..self.parts.trees.len() {
            for (node, class) in self.path(tree, label) {
                for (at, &feature) in node.features.iter().enumerate() {
                    if let Some(weight) = node.weights.get(at, class as u32) {
                        all.push((feature, share * f64::from(weight)));
                    }
                }
            }
        }
        all.sort_by_key(|(feature, _)| *feature);
        all.dedup_by(|later, kept| {
            let same = later.0 == kept.0;
            if same {
                kept.1 += later.1;
            }
            same
        });
        all
    }

    /// What the words of a document add along the path to a label, averaged over trees; `None` for a label without a place.
    /// Classes that every document has add nothing.
    pub fn explain(&self, document: Query<'_>, label: u32) -> Option<Explanation> {
        self.places.iter().any(|place| place.get(label as usize).copied().flatten().is_some()).then_some(())?;
        let share = 1.0 / self.parts.trees.len() as f64;
        let mut vector = Vec::new();
        self.parts.weighter.weigh(document, &mut vector);
        let mut features: Vec<(u32, f64)> = document.features.iter().map(|&f| (f, 0.0)).collect();
        let mut bias = 0.0;
        for tree in 0..self.parts.trees.len() {
            for (node, class) in self.path(tree, label) {
                bias += Some(f64::from(node.bias[class])).filter(|b| b.is_finite()).map_or(0.0, |b| share * b);
                for ((feature, sum), &x) in features.iter_mut().zip(&vector) {
                    if let Ok(at) = node.features.binary_search(feature)
                        && let Some(weight) = node.weights.get(at, class as u32)
                    {
                        *sum += share * x * f64::from(weight);
                    }
                }
            }
        }
        features.retain(|(_, adds)| *adds != 0.0);
        Some(Explanation { bias, features })
    }
}

impl LabelTrees {
    /// The best `most` places of several mixtures of the trees, which are walked once for all of them.
    pub(crate) fn rank_mixtures(
        &self,
        document: Query<'_>,
        mixtures: &[Vec<usize>],
        most: usize,
        scratch: &mut Scratch,
        mut each: impl FnMut(usize, &[Scored]),
    ) {
        self.walk(document, &mut scratch.tree);
        let mut ranked = Vec::new();
        for (number, trees) in mixtures.iter().enumerate() {
            self.mixed(trees.iter().copied(), &mut scratch.tree, &mut ranked);
            if ranked.len() > most {
                ranked.select_nth_unstable_by(most, Scored::better_first);
                ranked.truncate(most);
            }
            ranked.sort_unstable_by(Scored::better_first);
            each(number, &ranked);
        }
        self.forget(&mut scratch.tree);
    }

    /// The log probabilities of all labels that the beam of any tree reaches.
    fn walk(&self, document: Query<'_>, memory: &mut TreeMemory) {
        let TreeParts { labels, weighter, link, beam: width, trees } = &self.parts;
        let TreeMemory { vector, sums, beam, next, logs, is_reached, reached } = memory;
        weighter.weigh(document, vector);
        logs.resize(trees.len() * labels, f64::NEG_INFINITY);
        is_reached.resize(*labels, false);
        for (number, tree) in trees.iter().enumerate() {
            let logs = &mut logs[number * labels..][..*labels];
            beam.clear();
            beam.push((0, 0.0));
            while !beam.is_empty() {
                next.clear();
                for &(at, log) in &*beam {
                    let node = &tree.nodes[at as usize];
                    node.values(document.features, vector, sums);
                    let (below, ends) = sums.split_at(node.kids.len());
                    next.extend(node.kids.iter().zip(below).map(|(&kid, &v)| (kid, log + link.log(v))));
                    for (&label, &v) in node.labels.iter().zip(ends) {
                        logs[label as usize] = log + link.log(v);
                        if !std::mem::replace(&mut is_reached[label as usize], true) {
                            reached.push(label);
                        }
                    }
                }
                if next.len() > *width {
                    next.select_nth_unstable_by(*width, |a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    next.truncate(*width);
                }
                // In the order of nodes, so that sums have one order.
                next.sort_unstable_by_key(|(node, _)| *node);
                std::mem::swap(beam, next);
            }
        }
    }

    /// Labels that some of the trees reach with the logarithm of their mean probability over these trees, in no order.
    fn mixed(
        &self,
        trees: impl ExactSizeIterator<Item = usize> + Clone,
        memory: &mut TreeMemory,
        ranked: &mut Vec<Scored>,
    ) {
        let labels = self.parts.labels;
        let share = (trees.len() as f64).ln();
        ranked.clear();
        for &label in &memory.reached {
            let logs = trees.clone().map(|tree| memory.logs[tree * labels + label as usize]);
            let most = logs.clone().fold(f64::NEG_INFINITY, f64::max);
            if most > f64::NEG_INFINITY {
                let sum: f64 = logs.map(|log| if log == most { 1.0 } else { (log - most).exp() }).sum();
                ranked.push(Scored { label, score: most + sum.ln() - share });
            }
        }
    }

    /// Leaves the memory as it was before a document.
    fn forget(&self, memory: &mut TreeMemory) {
        for label in memory.reached.drain(..) {
            memory.is_reached[label as usize] = false;
            for tree in 0..self.parts.trees.len() {
                memory.logs[tree * self.parts.labels + label as usize] = f64::NEG_INFINITY;
            }
        }
    }
}

impl Node {
    /// The values of the classes for a vector.
    fn values(&self, features: &[u32], vector: &[f64], sums: &mut Vec<f64>) {
        sums.clear();
        sums.extend(self.bias.iter().map(|&b| f64::from(b)));
        let mut from = 0;
        for (&feature, &x) in features.iter().zip(vector) {
            from += self.features[from..].partition_point(|&f| f < feature);
            if self.features.get(from) == Some(&feature) {
                for (class, weight) in self.weights.row(from) {
                    sums[class as usize] += x * f64::from(weight);
                }
            }
        }
    }
}

impl Classifier for LabelTrees {
    fn labels(&self) -> usize {
        self.parts.labels
    }

    fn rank(&self, document: Query<'_>, scratch: &mut Scratch, ranked: &mut Vec<Scored>) {
        self.walk(document, &mut scratch.tree);
        self.mixed(0..self.parts.trees.len(), &mut scratch.tree, ranked);
        self.forget(&mut scratch.tree);
        ranked.sort_unstable_by(Scored::better_first);
    }
}
