//! Candidates that differ in C alone are one path: their documents are weighed once, and each fit starts from the one before.

use super::heat::Candidate;
use crate::classify::sweep::{Prefixes, Task, means, means_by_cost};
use crate::classify::{ClassifierSpec, Scored, SvmOptions};
use crate::measure::ranking::r_precision;
use crate::{Progress, Result};

/// Candidates that differ in nothing but C, by C ascending: where they compete at one size, each starts from the one before.
pub(super) fn paths(candidates: &[Candidate], sizes: usize) -> Vec<Vec<usize>> {
    let but_for_c = |candidate: &Candidate| match &candidate.classifier {
        ClassifierSpec::Svm(svm) if sizes == 1 => Some((candidate.view, SvmOptions { c: 1.0, ..svm.clone() })),
        _ => None,
    };
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, candidate) in candidates.iter().enumerate() {
        let key = but_for_c(candidate);
        let same = |group: &&mut Vec<usize>| key.is_some() && but_for_c(&candidates[group[0]]) == key;
        match groups.iter_mut().find(same) {
            Some(group) => group.push(at),
            None => groups.push(vec![at]),
        }
    }
    let cost = |at: usize| match &candidates[at].classifier {
        ClassifierSpec::Svm(svm) => svm.c,
        _ => 0.0,
    };
    groups.iter_mut().for_each(|group| group.sort_by(|&a, &b| cost(a).total_cmp(&cost(b))));
    groups
}

/// Who is best shows long before anything is solved to the last digit: a trial takes half the time with this gap.
const ROUGH: f64 = 1e-3;

/// The classifier as it is tried: an SVM of whose gap nothing is said is solved less closely.
pub(super) fn roughly(classifier: &ClassifierSpec) -> ClassifierSpec {
    match classifier {
        ClassifierSpec::Svm(svm) if svm.gap.is_none() => {
            ClassifierSpec::Svm(SvmOptions { gap: Some(ROUGH.max(svm.gap())), ..svm.clone() })
        }
        other => other.clone(),
    }
}

/// What each candidate of a group reaches at each size.
pub(super) fn found(
    candidates: &[Candidate],
    group: &[usize],
    task: Task<'_>,
    prefixes: &Prefixes,
    progress: &dyn Progress,
) -> Result<Vec<Vec<f64>>> {
    let measure = |ranked: &[Scored], truth: &[u32]| r_precision(ranked, truth);
    let of = |at: usize| roughly(&candidates[at].classifier);
    if group.len() > 1 {
        let svm = |&at: &usize| if let ClassifierSpec::Svm(svm) = of(at) { Some(svm) } else { None };
        let svms: Vec<SvmOptions> = group.iter().filter_map(svm).collect();
        let costs: Vec<f64> = svms.iter().map(|svm| svm.c).collect();
        let found = means_by_cost(&svms[0], &costs, task, prefixes, &measure, progress)?;
        return Ok(found.into_iter().map(|mean| vec![mean]).collect());
    }
    group.iter().map(|&at| means(&of(at), task, prefixes, &measure, progress)).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn candidates_that_differ_in_c_alone_are_one_path() {
        let names = ["svm(c=3)", "bayes", "svm(c=0.1)", "svm(c=0.3,loss=hinge)", "svm", "bayes"];
        let candidates: Vec<Candidate> =
            names.iter().map(|name| Candidate { view: 0, classifier: name.parse().unwrap() }).collect();
        assert_eq!(paths(&candidates, 1), [vec![2, 4, 0], vec![1], vec![3], vec![5]]);
        // Sizes are a path of their own.
        assert_eq!(paths(&candidates, 2).len(), names.len());
        let other_terms = [candidates[0].clone(), Candidate { view: 1, ..candidates[2].clone() }];
        assert_eq!(paths(&other_terms, 1).len(), 2);
    }
}
