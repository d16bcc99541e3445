//! Trees whose nodes are learned elsewhere: which question a class of a node is, and the tree that the answers make.

use rustc_hash::FxHashMap;

use super::super::parts::{Plan, Question, Rounds};
use super::cluster::halved;
use super::options::{Layout, TreeBase, TreeOptions};
use super::shape::Shape;
use super::{LabelTrees, Link, Node, Tree, TreeParts};
use crate::classify::{ClassWeights, Weighter};
use crate::counts::{Contingency, Csr};
use crate::{Error, Result};

/// What is known of a class of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    /// Every document that comes here has it.
    Certain,
    /// The answer to a question.
    Asked(usize),
    /// The opposite of the answer to a question.
    Opposite(usize),
}

/// The trees of a model before they are learned.
#[derive(Debug, Clone)]
pub(crate) struct Outline {
    shapes: Vec<Shape>,
    /// Trees × nodes × classes.
    classes: Vec<Vec<Vec<Class>>>,
}

/// The groups of labels of a plan, each once.
#[derive(Debug, Default)]
pub(crate) struct Groups {
    pub(crate) all: Vec<Vec<u32>>,
    numbers: FxHashMap<Vec<u32>, u32>,
}

impl Groups {
    fn number(&mut self, labels: Vec<u32>) -> u32 {
        *self.numbers.entry(labels).or_insert_with_key(|labels| {
            self.all.push(labels.clone());
            self.all.len() as u32 - 1
        })
    }
}

/// The documents of a model that is made of counts.
pub(crate) struct Counted<'a> {
    pub(crate) table: &'a Contingency,
    /// The terms of the features.
    pub(crate) terms: &'a [u32],
    pub(crate) weighter: &'a Weighter,
    /// Whether every document has one label.
    pub(crate) exclusive: bool,
}

impl TreeOptions {
    /// Lays trees out and asks about their nodes, for the model with this number.
    pub(crate) fn outline(
        &self,
        model: u32,
        counted: &Counted<'_>,
        groups: &mut Groups,
        questions: &mut Vec<Question>,
    ) -> Result<Outline> {
        self.validate()?;
        let Counted { table, exclusive, .. } = *counted;
        let documents = table.label_documents();
        let labels: Vec<u32> = (0..documents.len() as u32).filter(|&l| documents[l as usize] > 0).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let classes = self.base.classes();
        if *classes == ClassWeights::Balanced && !exclusive {
            let reason =
                "how many documents of several labels a node has is not counted in parts: leave classes=balanced out";
            return Err(Error::invalid("classifier", self, reason));
        }
        let told = classes.of_names(table.labels())?;
        let c = match &self.base {
            TreeBase::Svm(options) => options.c,
            TreeBase::Logistic(options) => options.c,
        };
        let mut shapes = Vec::new();
        for layout in &self.by {
            match layout {
                Layout::Flat => shapes.push(Shape::flat(&labels)),
                Layout::Taxonomy => shapes.push(Shape::taxonomy(&labels, Shape::given(self, documents.len())?)),
                Layout::Means => {
                    let means = counted.means();
                    let seed = self.seed.wrapping_mul(0x9e37_79b9);
                    let tree = |tree: u64| halved(&means, &labels, self.leaf, seed.wrapping_add(tree));
                    shapes.extend((0..self.trees as u64).map(tree));
                }
            }
        }
        let sum = |labels: &[u32]| labels.iter().map(|&l| f64::from(documents[l as usize])).sum::<f64>();
        let mut of_trees = Vec::new();
        for shape in &shapes {
            let below = below(shape);
            let mut of_nodes = Vec::new();
            for node in 0..shape.len() {
                let own = shape.kids[node].iter().map(|&kid| below[kid as usize].clone());
                let own: Vec<Vec<u32>> = own.chain(shape.labels[node].iter().map(|&label| vec![label])).collect();
                // What every document that comes here has, the counts of labels tell where it is the only class.
                if own.len() == 1 {
                    of_nodes.push(vec![Class::Certain]);
                    continue;
                }
                let all = sum(&below[node]);
                let within = (!(exclusive && node == 0)).then(|| groups.number(below[node].clone()));
                let mirrored = exclusive && own.len() == 2;
                let first = questions.len();
                let asked = if mirrored { 1 } else { own.len() };
                let cost_of = |labels: &[u32]| if let [label] = labels { told[*label as usize] } else { 1.0 };
                for class in &own[..asked] {
                    let mine = sum(class);
                    let others = if mirrored { cost_of(&own[1]) } else { 1.0 };
                    let sides = classes.sides([all - mine, mine], [others, cost_of(class)]);
                    let of = match class.as_slice() {
                        [label] => *label,
                        labels => documents.len() as u32 + groups.number(labels.to_vec()),
                    };
                    questions.push(Question { model, of, within, costs: sides.map(|share| c * share) });
                }
                let mut classes: Vec<Class> = (first..first + asked).map(Class::Asked).collect();
                if mirrored {
                    classes.push(Class::Opposite(first));
                }
                of_nodes.push(classes);
            }
            of_trees.push(of_nodes);
        }
        Ok(Outline { shapes, classes: of_trees })
    }

    /// The trees of an outline, as far as its questions are answered; `places` are the features of all models that this one has, in its
    /// own order.
    pub(crate) fn grown(
        &self,
        outline: &Outline,
        rounds: &Rounds,
        places: &[u32],
        weighter: Weighter,
    ) -> Result<LabelTrees> {
        let plan: &Plan = rounds.plan();
        let mut feature_at: Vec<Option<u32>> = vec![None; plan.features];
        places.iter().zip(0..).for_each(|(&place, feature)| feature_at[place as usize] = Some(feature));
        let node = |shape: &Shape, node: usize, classes: &[Class]| {
            let mut bias = Vec::with_capacity(classes.len());
            let mut entries: Vec<(u32, u32, f32)> = Vec::new();
            for (class, known) in classes.iter().zip(0..).map(|(known, class)| (class, *known)) {
                let (question, sign) = match known {
                    Class::Certain => {
                        bias.push(f32::INFINITY);
                        continue;
                    }
                    Class::Asked(question) => (question, 1.0),
                    Class::Opposite(question) => (question, -1.0),
                };
                let (features, weights, own) = rounds.weights(question);
                bias.push(sign * own as f32);
                for (&place, &weight) in features.iter().zip(weights) {
                    if let Some(feature) = feature_at[place as usize]
                        && weight != 0.0
                        && f64::from(weight.abs()) >= self.prune
                    {
                        entries.push((feature, class, sign * weight));
                    }
                }
            }
            entries.sort_unstable_by_key(|(feature, class, _)| (*feature, *class));
            let mut features: Vec<u32> = Vec::new();
            let mut weights = Csr::new(classes.len());
            for own in entries.chunk_by(|a, b| a.0 == b.0) {
                features.push(own[0].0);
                weights.push_row(own.iter().map(|&(_, class, weight)| (class, weight)));
            }
            Node { kids: shape.kids[node].clone(), labels: shape.labels[node].clone(), bias, features, weights }
        };
        let tree = |(shape, classes): (&Shape, &Vec<Vec<Class>>)| Tree {
            nodes: classes.iter().enumerate().map(|(at, classes)| node(shape, at, classes)).collect(),
        };
        LabelTrees::from_parts(TreeParts {
            labels: plan.labels,
            weighter,
            link: Link::of(&self.base),
            beam: self.beam,
            trees: outline.shapes.iter().zip(&outline.classes).map(tree).collect(),
        })
    }
}

impl Counted<'_> {
    /// What stands for the mean vectors of labels where documents are not at hand: how many documents of the label have each term, weighed
    /// as the term is, and scaled to length 1.
    fn means(&self) -> Csr<f32> {
        let mut by_feature: Csr<f32> = Csr::new(self.table.labels().len());
        for (&term, &factor) in self.terms.iter().zip(self.weighter.factors()) {
            let row = self.table.meetings().row(term as usize);
            by_feature.push_row(row.map(|(label, meeting)| (label, (f64::from(meeting.documents) * factor) as f32)));
        }
        let by_label = by_feature.transpose();
        let mut means = Csr::new(by_label.columns());
        for label in 0..by_label.rows() {
            let length = by_label.row_values(label).iter().map(|x| x * x).sum::<f32>().sqrt();
            let scale = if length > 0.0 { length.recip() } else { 0.0 };
            means.push_row(by_label.row(label).map(|(feature, x)| (feature, x * scale)).filter(|(_, x)| *x != 0.0));
        }
        means
    }
}

/// The labels at each node or below it, ascending.
fn below(shape: &Shape) -> Vec<Vec<u32>> {
    let mut below = shape.labels.clone();
    // Nodes come before those below them.
    for node in (0..shape.len()).rev() {
        let mut all = std::mem::take(&mut below[node]);
        shape.kids[node].iter().for_each(|&kid| all.extend_from_slice(&below[kid as usize]));
        all.sort_unstable();
        below[node] = all;
    }
    below
}
