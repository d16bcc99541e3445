//! Classifiers that compete along a taxonomy, alone and mixed.

use std::ops::Range;
use std::sync::Arc;

use super::choice::Choice;
use super::costs::roughly;
use crate::classify::svm::Multi;
use crate::classify::tree::{LabelTrees, Layout, Tree, TreeBase, TreeParts};
use crate::classify::{ClassifierSpec, Fitted, Problem, SvmOptions, TreeOptions};
use crate::{Error, Progress, Result};

/// With more labels than this, trees that halve the labels take part.
const MANY_LABELS: usize = 500;

/// Classifiers whose probabilities may be mixed.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Members {
    /// Labels side by side, by what cannot be mixed with trees.
    pub(super) alone: Option<ClassifierSpec>,
    /// Labels side by side.
    pub(super) flat: Option<SvmOptions>,
    /// Along the taxonomy, and trees that halve the labels.
    pub(super) trees: Option<TreeOptions>,
    /// Whether all of them together were asked for, so that nothing competes.
    together: bool,
}

/// Some of the members.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    alone: bool,
    flat: bool,
    /// Which of the layouts of the trees.
    layouts: Range<usize>,
}

impl Candidate {
    /// Whether it is made of trees, alone or with labels side by side.
    pub(super) fn is_of_trees(&self) -> bool {
        !self.layouts.is_empty()
    }
}

/// Fitted members.
pub(super) struct FittedMembers {
    alone: Option<Fitted>,
    flat: Option<Fitted>,
    trees: Option<LabelTrees>,
    /// Trees of each layout.
    sizes: Vec<usize>,
    prune: f64,
    beam: usize,
}

/// An svm that can be a member of trees: labels share its vectors.
fn shared(classifier: &ClassifierSpec) -> Option<&SvmOptions> {
    match classifier {
        ClassifierSpec::Svm(svm) if is_shared(svm) => Some(svm),
        _ => None,
    }
}

fn is_shared(svm: &SvmOptions) -> bool {
    !svm.vectors.per_label && svm.multi == Multi::Ovr
}

impl Members {
    /// Who takes part: what was chosen (or asked for) with labels side by side, and trees that have its terms and weighting.
    pub(super) fn of(choice: &Choice, asked: bool, labels: usize, parents: &Arc<Vec<Option<u32>>>) -> Self {
        let trees = |base: &SvmOptions| {
            let mut by = vec![Layout::Taxonomy];
            if labels > MANY_LABELS {
                by.push(Layout::Means);
            }
            TreeOptions { base: base.clone().into(), by, parents: Some(Arc::clone(parents)), ..TreeOptions::default() }
        };
        match &choice.classifier {
            ClassifierSpec::Tree(tree) if asked => {
                let tree = TreeOptions { parents: Some(Arc::clone(parents)), ..tree.clone() };
                // A mixture is made of the same members whether it won or was named, so that both are the same model.
                let (flat, by) = match (&tree.base, tree.by.split_first()) {
                    (TreeBase::Svm(svm), Some((Layout::Flat, rest))) if is_shared(svm) && !rest.is_empty() => {
                        (Some(svm.clone()), rest.to_vec())
                    }
                    _ => (None, tree.by.clone()),
                };
                Self { alone: None, flat, trees: Some(TreeOptions { by, ..tree }), together: true }
            }
            other if asked && shared(other).is_none() => {
                Self { alone: Some(other.clone()), flat: None, trees: None, together: true }
            }
            other => {
                let svm = match other {
                    ClassifierSpec::Tree(TreeOptions { base: TreeBase::Svm(svm), .. }) => svm.clone(),
                    other => shared(other).cloned().unwrap_or_else(|| best_svm(choice)),
                };
                let mixes = matches!(other, ClassifierSpec::Svm(_) | ClassifierSpec::Tree(_));
                let alone = Some(other.clone()).filter(|_| !mixes);
                Self { alone, trees: Some(trees(&svm)), flat: Some(svm), together: false }
            }
        }
    }

    /// What is compared, simple ones first.
    pub(super) fn candidates(&self) -> Vec<Candidate> {
        let layouts = self.trees.as_ref().map_or(0, |trees| trees.by.len());
        let none = Candidate { alone: false, flat: false, layouts: 0..0 };
        if self.together {
            return vec![Candidate { alone: self.alone.is_some(), flat: self.flat.is_some(), layouts: 0..layouts }];
        }
        let mut all = Vec::new();
        all.extend(self.alone.as_ref().map(|_| Candidate { alone: true, ..none.clone() }));
        all.extend(self.flat.as_ref().map(|_| Candidate { flat: true, ..none.clone() }));
        all.extend((0..layouts).map(|at| Candidate { layouts: at..at + 1, ..none.clone() }));
        if self.flat.is_some() {
            all.extend((1..=layouts).map(|end| Candidate { flat: true, layouts: 0..end, ..none.clone() }));
        }
        all
    }

    /// The place among the candidates of labels side by side, as the search took them.
    pub(super) fn side_by_side(&self, choice: &Choice) -> Option<usize> {
        let same = |spec: &ClassifierSpec| match (spec, &choice.classifier) {
            // The parents are no part of it.
            (ClassifierSpec::Tree(one), ClassifierSpec::Tree(other)) => one.to_string() == other.to_string(),
            (one, other) => one == other,
        };
        self.candidates().iter().position(|candidate| same(&self.spec(candidate)))
    }

    /// The members that a candidate needs.
    pub(super) fn only(&self, candidate: &Candidate) -> Self {
        let layouts = &candidate.layouts;
        Self {
            alone: self.alone.clone().filter(|_| candidate.alone),
            flat: self.flat.clone().filter(|_| candidate.flat),
            trees: self
                .trees
                .clone()
                .filter(|_| !layouts.is_empty())
                .map(|trees| TreeOptions { by: trees.by[layouts.clone()].to_vec(), ..trees }),
            together: self.together,
        }
    }

    /// The candidate as a classifier of its own.
    pub(super) fn spec(&self, candidate: &Candidate) -> ClassifierSpec {
        match self.only(candidate) {
            Self { alone: Some(alone), .. } => alone,
            Self { flat: Some(base), trees: Some(trees), .. } => {
                let by = std::iter::once(Layout::Flat).chain(trees.by.iter().copied()).collect();
                ClassifierSpec::Tree(TreeOptions { base: base.into(), by, ..trees })
            }
            Self { trees: Some(trees), .. } => ClassifierSpec::Tree(trees),
            Self { flat: Some(flat), .. } => ClassifierSpec::Svm(flat),
            Self { .. } => unreachable!("a candidate has a member"),
        }
    }

    /// How the candidate is called.
    pub(super) fn name(&self, candidate: &Candidate) -> String {
        let spec = self.spec(candidate).to_string();
        if candidate.layouts.is_empty() { format!("{spec} (flat)") } else { spec }
    }

    /// Fits all members. While candidates compete, SVMs are solved to a larger gap.
    pub(super) fn fit(&self, problem: &Problem, competing: bool, progress: &dyn Progress) -> Result<FittedMembers> {
        let fit = |spec: ClassifierSpec| {
            let spec = if competing { roughly(&spec) } else { spec };
            spec.fit(problem, progress)
        };
        let trees = self.trees.as_ref();
        Ok(FittedMembers {
            alone: self.alone.clone().map(fit).transpose()?,
            flat: self.flat.clone().map(|svm| fit(ClassifierSpec::Svm(svm))).transpose()?,
            trees: trees.map(|trees| trees.fit(problem, progress)).transpose()?,
            sizes: trees.map_or(Vec::new(), |trees| trees.by.iter().map(|layout| trees.trees_of(*layout)).collect()),
            prune: trees.map_or(0.0, |trees| trees.prune),
            beam: trees.map_or(1, |trees| trees.beam),
        })
    }
}

/// Of the SVMs that were tried on the terms that were chosen, the one that did best on most documents.
fn best_svm(choice: &Choice) -> SvmOptions {
    let of_last = choice.trials.last().map(|trial| trial.terms.clone());
    let mut best: Option<(usize, f64, &SvmOptions)> = None;
    for trial in choice.trials.iter().filter(|trial| Some(&trial.terms) == of_last.as_ref()) {
        if let Some(svm) = shared(&trial.classifier) {
            let this = (trial.documents, trial.mean, svm);
            if best.is_none_or(|best| this.0 > best.0 || (this.0 == best.0 && this.1 > best.1)) {
                best = Some(this);
            }
        }
    }
    best.map_or_else(SvmOptions::default, |(_, _, svm)| svm.clone())
}

/// All fitted trees together, and which of them each candidate mixes.
pub(super) struct Mixtures {
    pub(super) trees: LabelTrees,
    /// Numbers of candidates.
    pub(super) candidates: Vec<usize>,
    /// Numbers of trees for each of them.
    pub(super) members: Vec<Vec<usize>>,
}

impl FittedMembers {
    /// The candidates that are trees, as mixtures of what was fitted: every tree needs to be walked once only.
    pub(super) fn mixtures(&self, candidates: &[Candidate]) -> Result<Option<Mixtures>> {
        let widest = candidates.iter().filter(|c| !c.layouts.is_empty()).max_by_key(|c| (c.layouts.len(), c.flat));
        let Some(widest) = widest else { return Ok(None) };
        let Fitted::Trees(trees) = self.of(widest)? else { return Ok(None) };
        let first = usize::from(widest.flat);
        let before = |layout: usize| first + self.sizes[..layout.min(self.sizes.len())].iter().sum::<usize>();
        let (mut numbers, mut members) = (Vec::new(), Vec::new());
        for (number, candidate) in candidates.iter().enumerate().filter(|(_, c)| !c.layouts.is_empty()) {
            let flat = candidate.flat.then_some(0);
            numbers.push(number);
            members
                .push(flat.into_iter().chain(before(candidate.layouts.start)..before(candidate.layouts.end)).collect());
        }
        Ok(Some(Mixtures { trees, candidates: numbers, members }))
    }

    /// The classifier of a candidate.
    pub(super) fn of(&self, candidate: &Candidate) -> Result<Fitted> {
        let missing = || Error::data("a member of the candidate was not fitted");
        if candidate.layouts.is_empty() {
            let own = if candidate.alone { &self.alone } else { &self.flat };
            return own.clone().ok_or_else(missing);
        }
        let trees = self.trees.as_ref().ok_or_else(missing)?.parts();
        let before = |layout: usize| self.sizes[..layout.min(self.sizes.len())].iter().sum::<usize>();
        // Where only the candidate's own layouts were fitted, they are the first.
        let from = if self.sizes.len() == candidate.layouts.len() { 0 } else { candidate.layouts.start };
        let taken = before(from)..before(from + candidate.layouts.len());
        let mut all: Vec<Tree> = Vec::new();
        if candidate.flat {
            let Some(Fitted::Linear(linear)) = &self.flat else { return Err(missing()) };
            all.push(Tree::of_linear(linear, self.prune));
        }
        all.extend(trees.trees[taken].iter().cloned());
        let parts = TreeParts {
            labels: trees.labels,
            weighter: trees.weighter.clone(),
            link: trees.link,
            beam: self.beam,
            trees: all,
        };
        LabelTrees::from_parts(parts).map(Fitted::Trees)
    }
}
