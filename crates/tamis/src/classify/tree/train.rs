//! Documents → trees: every node learns from the documents that reach it.

use std::cmp::Reverse;

use rayon::prelude::*;

use super::super::Problem;
use super::super::rows::Rows;
use super::cluster::{centroids, halved};
use super::options::{Layout, TreeBase, TreeOptions};
use super::shape::Shape;
use super::{LabelTrees, Link, Node, Tree};
use crate::counts::Csr;
use crate::{Error, Progress, Result, Stoppable};

impl TreeOptions {
    /// Fits all features of a problem.
    pub fn fit(&self, problem: &Problem, progress: &dyn Progress) -> Result<LabelTrees> {
        self.fit_size(problem, problem.features(), progress)
    }

    /// Fits the first `size` features of a problem.
    pub fn fit_size(&self, problem: &Problem, size: usize, progress: &dyn Progress) -> Result<LabelTrees> {
        self.validate()?;
        let problem = problem.counted()?;
        let size = size.min(problem.features());
        let weighter = self.base.vectors().fit(&problem)?.prefix(size);
        let rows = Rows::shuffled(&problem, &weighter, size, self.base.seed());
        let order: Vec<usize> = rows.documents.iter().map(|&d| d as usize).collect();
        let assignments = problem.assignments.select_rows(&order);
        let members = assignments.transpose();
        let labels: Vec<u32> =
            (0..problem.labels() as u32).filter(|&l| !members.row_indices(l as usize).is_empty()).collect();
        if labels.is_empty() {
            return Err(Error::data("no training document has a label, so there is nothing to learn"));
        }
        let told = self.base.classes().of_labels(&problem)?;
        let mut shapes = Vec::new();
        for layout in &self.by {
            match layout {
                Layout::Flat => shapes.push(Shape::flat(&labels)),
                Layout::Taxonomy => {
                    shapes.push(Shape::taxonomy(&labels, Shape::given(self, problem.labels())?));
                }
                Layout::Means => {
                    let means = centroids(&rows, &members);
                    shapes.extend((0..self.trees as u64).map(|tree| {
                        halved(&means, &labels, self.leaf, self.seed.wrapping_mul(0x9e37_79b9).wrapping_add(tree))
                    }));
                }
            }
        }
        let nodes: usize = shapes.iter().map(Shape::len).sum();
        progress.start("label trees", Some(nodes as u64));
        let corpus =
            Corpus { rows: &rows, assignments: &assignments, told: &told, options: self.node(), prune: self.prune };
        let trees = shapes.into_iter().map(|shape| corpus.grow(shape, progress)).collect::<Result<Vec<_>>>()?;
        progress.finish();
        LabelTrees::from_parts(super::TreeParts {
            labels: problem.labels(),
            weighter,
            link: Link::of(&self.base),
            beam: self.beam,
            trees,
        })
    }
}

/// What all trees learn from.
struct Corpus<'a> {
    rows: &'a Rows,
    /// Rows × labels.
    assignments: &'a Csr<()>,
    told: &'a [f64],
    options: TreeBase,
    prune: f64,
}

/// The documents that reach a node: rows, and which of its classes each has.
#[derive(Default)]
struct Reached {
    rows: Vec<u32>,
    classes: Vec<(u32, u32)>,
}

impl Corpus<'_> {
    fn grow(&self, shape: Shape, progress: &dyn Progress) -> Result<Tree> {
        let reached = self.reached(&shape);
        // Large ones first, so that no thread is left with one at the end.
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let work = |node: usize| reached[node].rows.len() * (shape.kids[node].len() + shape.labels[node].len());
        order.sort_by_key(|&node| (Reverse(work(node)), node));
        let solve = |&node: &usize| {
            if progress.cancelled() {
                return Err(Error::Interrupted);
            }
            let solved = self.node(&shape, node, &reached[node], progress)?;
            progress.add(1);
            Ok((node, solved))
        };
        let mut solved: Vec<(usize, Node)> = order.par_iter().with_max_len(1).map(solve).collect::<Result<Vec<_>>>()?;
        solved.sort_unstable_by_key(|(node, _)| *node);
        Ok(Tree { nodes: solved.into_iter().map(|(_, node)| node).collect() })
    }

    /// Which documents reach which node: those with a label at it or below.
    fn reached(&self, shape: &Shape) -> Vec<Reached> {
        let parents = shape.parents();
        let mut place: Vec<Vec<(u32, u32)>> = vec![Vec::new(); self.assignments.columns()];
        let mut class_in_parent = vec![0u32; shape.len()];
        for (node, (kids, labels)) in shape.kids.iter().zip(&shape.labels).enumerate() {
            kids.iter().enumerate().for_each(|(class, &kid)| class_in_parent[kid as usize] = class as u32);
            for (at, &label) in labels.iter().enumerate() {
                place[label as usize].push((node as u32, (kids.len() + at) as u32));
            }
        }
        let mut reached: Vec<Reached> = (0..shape.len()).map(|_| Reached::default()).collect();
        let mut here: Vec<(u32, u32)> = Vec::new();
        for row in 0..self.rows.len() as u32 {
            here.clear();
            for &label in self.assignments.row_indices(row as usize) {
                for &(node, class) in &place[label as usize] {
                    here.push((node, class));
                    let mut at = node;
                    while let Some(parent) = parents[at as usize] {
                        here.push((parent, class_in_parent[at as usize]));
                        at = parent;
                    }
                }
            }
            here.sort_unstable();
            here.dedup();
            for &(node, class) in &here {
                let Reached { rows, classes } = &mut reached[node as usize];
                if rows.last() != Some(&row) {
                    rows.push(row);
                }
                classes.push((class, rows.len() as u32 - 1));
            }
        }
        reached
    }

    /// Learns the classes of a node. One that all documents have is certain.
    fn node(&self, shape: &Shape, node: usize, reached: &Reached, progress: &dyn Progress) -> Result<Node> {
        let (kids, labels) = (shape.kids[node].clone(), shape.labels[node].clone());
        let classes = kids.len() + labels.len();
        let mut by_class: Vec<Vec<u32>> = vec![Vec::new(); classes];
        reached.classes.iter().for_each(|&(class, at)| by_class[class as usize].push(at));
        let open: Vec<u32> =
            (0..classes as u32).filter(|&class| by_class[class as usize].len() < reached.rows.len()).collect();
        let mut bias = vec![f32::INFINITY; classes];
        if open.is_empty() {
            return Ok(Node { kids, labels, bias, features: Vec::new(), weights: Csr::new(classes) });
        }
        let (rows, features) = self.local(&reached.rows);
        let mut members = Csr::new(rows.len());
        by_class.iter().for_each(|own| members.push_row(own.iter().map(|&at| (at, ()))));
        let told: Vec<f64> =
            (0..classes).map(|c| c.checked_sub(kids.len()).map_or(1.0, |at| self.told[labels[at] as usize])).collect();
        let alone = reached.classes.len() == reached.rows.len();
        let mirrored = open.len() == 2 && classes == 2 && alone;
        let progress = Stoppable(progress);
        let planes = match &self.options {
            TreeBase::Svm(svm) => svm.planes(&rows, members, open, told, mirrored, &progress)?,
            TreeBase::Logistic(logistic) => logistic.planes(&rows, members, &open, told, mirrored, &progress)?,
        };
        let mut by_plane: Csr<f32> = Csr::new(features.len());
        let mut solved = planes.into_iter().peekable();
        for (class, bias) in bias.iter_mut().enumerate() {
            let plane = solved.next_if(|plane| plane.class as usize == class);
            *bias = plane.as_ref().map_or(f32::INFINITY, |plane| plane.bias as f32);
            let mut entries: Vec<(u32, f32)> = plane.map(|plane| plane.weights).unwrap_or_default();
            entries.retain(|(_, weight)| *weight != 0.0 && f64::from(weight.abs()) >= self.prune);
            entries.sort_unstable_by_key(|(feature, _)| *feature);
            by_plane.push_row(entries);
        }
        let by_feature = by_plane.transpose();
        let kept: Vec<usize> = (0..features.len()).filter(|&f| !by_feature.range(f).is_empty()).collect();
        // Local numbers ascend with those of the whole problem.
        Ok(Node {
            kids,
            labels,
            bias,
            features: kept.iter().map(|&f| features[f]).collect(),
            weights: by_feature.select_rows(&kept),
        })
    }

    /// Some rows over the features they have, numbered from 0; and what these are.
    fn local(&self, reached: &[u32]) -> (Rows, Vec<u32>) {
        let rows = self.rows;
        let mut number = vec![u32::MAX; rows.features()];
        let mut entries = 0;
        for &row in reached {
            let own = rows.matrix.row_indices(row as usize);
            entries += own.len();
            own.iter().for_each(|&f| number[f as usize] = 0);
        }
        let features: Vec<u32> = (0..number.len() as u32).filter(|&f| number[f as usize] == 0).collect();
        features.iter().zip(0..).for_each(|(&f, at)| number[f as usize] = at);
        let (mut offsets, mut indices) = (Vec::with_capacity(reached.len() + 1), Vec::with_capacity(entries));
        let mut values = Vec::with_capacity(entries);
        offsets.push(0);
        for &row in reached {
            indices.extend(rows.matrix.row_indices(row as usize).iter().map(|&f| number[f as usize]));
            values.extend_from_slice(rows.matrix.row_values(row as usize));
            offsets.push(indices.len());
        }
        let local = Rows {
            matrix: Csr::from_parts(features.len(), offsets, indices, values),
            squares: reached.iter().map(|&row| rows.squares[row as usize]).collect(),
            documents: (0..reached.len() as u32).collect(),
            weights: reached.iter().map(|&row| rows.weights[row as usize]).collect(),
        };
        (local, features)
    }
}
