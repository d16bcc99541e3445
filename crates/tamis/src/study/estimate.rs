//! How long a study will take: a little of it is run and measured.

use std::time::Instant;

use super::judge::{Decider, Judge};
use super::plan::{Decision, Grid, Method, Plan, Work};
use super::run::{Extent, Material, Study, extent};
use super::select::Selecting;
use super::units::UnitKind;
use crate::classify::ClassifierSpec;
use crate::classify::sweep::{Gather, Prefixes, Task, sweep};
use crate::counts::Counts;
use crate::counts::Split;
use crate::threshold::{Threshold, Thresholds};
use crate::{Progress, Result, Stoppable};

/// How long a study will take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Estimate {
    /// Its size.
    pub extent: Extent,
    /// Seconds on this machine now, without searches; `None` where nothing is tried.
    pub seconds: Option<f64>,
    /// Whether searches come on top, of which nobody knows beforehand how long they go on.
    pub searches: bool,
}

/// Methods that are ranked to see how long that takes. Neighbours are tried with all methods that share a pass, other
/// classifiers with one.
const METHODS: usize = 8;

/// Test documents that are classified: few, then more, so that fitting and classifying are told apart.
const DOCUMENTS: [usize; 2] = [64, 320];

/// Measures a little of a study and reckons the rest.
pub fn estimate<'a>(
    plan: &Plan,
    material: impl Into<Material<'a>>,
    seed: u64,
    progress: &dyn Progress,
) -> Result<Estimate> {
    let material = material.into();
    let size = extent(plan, material, seed)?;
    let (Work::Grid(grid), Some(counts)) = (&plan.work, material.counts) else {
        return Ok(Estimate { extent: size, seconds: None, searches: false });
    };
    let searches = grid.selectors.iter().any(|s| s.as_search().is_some());
    let study = Study::new(grid, counts, seed)?;
    let Some(split) = study.splits.first() else {
        return Ok(Estimate { extent: size, seconds: None, searches });
    };
    progress.start("trying", None);
    // A search or a λ to learn is tried by the selector it starts from.
    let stand_in = |method: &Method| -> Result<Method> {
        let selector = match method.selector.as_search() {
            Some(search) => search.start().clone().under_cut(method.selector.cut()),
            None if method.selector.has_auto() => method.selector.with_lambda(0.5)?,
            None => method.selector.clone(),
        };
        Ok(Method { selector, sizes: method.sizes.clone() })
    };
    let step = study.methods.len().div_ceil(METHODS);
    let tried: Vec<Method> = study.methods.iter().step_by(step).map(stand_in).collect::<Result<_>>()?;
    let start = Instant::now();
    let mut selecting = Selecting::new(grid, counts, &split.train, &tried, seed)?;
    let ranking = start.elapsed().as_secs_f64() / tried.len() as f64;
    let methods = study.methods.len() as f64;
    let autos = study.methods.iter().filter(|m| m.selector.has_auto()).count() as f64;
    let mut seconds = ranking * methods;
    for (number, classifier) in grid.classifiers.iter().enumerate() {
        let together = study.units.iter().find_map(|unit| match &unit.kind {
            UnitKind::Methods { classifier, methods } if *classifier == number => Some(methods.clone()),
            _ => None,
        });
        let (fit, list) = match together.filter(|methods| methods.len() > 1) {
            Some(methods) => {
                let tried: Vec<Method> = study.methods[methods].iter().map(stand_in).collect::<Result<_>>()?;
                let mut selecting = Selecting::new(grid, counts, &split.train, &tried, seed)?;
                try_classifier(grid, counts, split, classifier, tried.len(), &mut selecting, progress)?
            }
            None => try_classifier(grid, counts, split, classifier, 1, &mut selecting, progress)?,
        };
        let sizes: f64 = study.methods.iter().map(|m| m.sizes.len() as f64).sum();
        seconds += fit * methods + list * sizes * split.test.len() as f64;
        if grid.needs_tuning() {
            seconds += (fit + ranking) * methods * grid.folds as f64 + list * sizes * split.train.len() as f64;
        }
        let trials = (grid.lambda.folds * grid.lambda.grid.len()) as f64;
        seconds += autos * trials * (fit + ranking);
        seconds += autos * grid.lambda.grid.len() as f64 * list * grid.sizes.len() as f64 * split.train.len() as f64;
    }
    progress.finish();
    Ok(Estimate { extent: size, seconds: Some(seconds * study.splits.len() as f64), searches })
}

/// Seconds to fit a method at all its sizes, and to make and judge one ranked list.
fn try_classifier(
    grid: &Grid,
    counts: &Counts,
    split: &Split,
    classifier: &ClassifierSpec,
    together: usize,
    selecting: &mut Selecting<'_>,
    progress: &dyn Progress,
) -> Result<(f64, f64)> {
    let mut selections: Vec<Prefixes> = Vec::new();
    for method in 0..together {
        let chosen = selecting.choose(method, classifier, progress, &mut |_| {})?;
        selections.extend(chosen.into_iter().map(|c| c.selection));
    }
    let places: usize = selections.iter().map(|s| s.sizes.len()).sum();
    let stand_in = |d: &Decision| match d {
        Decision::BestRcut => Ok(Decider::Best),
        Decision::Policy(p) if p.needs_held_out() => Ok(Decider::By(Thresholds::untuned(Threshold::rcut(1))?)),
        Decision::Policy(p) => Ok(Decider::By(Thresholds::untuned(*p)?)),
    };
    let deciders: Vec<Decider> = grid.thresholds.iter().map(stand_in).collect::<Result<_>>()?;
    let mut seconds = Vec::new();
    for documents in DOCUMENTS {
        let test = &split.test[..documents.min(split.test.len())];
        let trained = vec![true; counts.labels.len()];
        let judge = Judge::new(grid, counts, test, trained, &selections, vec![deciders.clone(); places])?;
        let mut judged = judge.part();
        let task = Task { counts, train: &split.train, test };
        let start = Instant::now();
        sweep(classifier, task, &selections, &judge, &Stoppable(progress), |part| Judge::merge(&mut judged, part))?;
        seconds.push((test.len() as f64, start.elapsed().as_secs_f64()));
    }
    let [(few, short), (more, long)] = seconds[..] else { return Ok((0.0, 0.0)) };
    let list = if more > few {
        ((long - short) / (more - few)).max(0.0) / places as f64
    } else {
        short / (few * places as f64)
    };
    let fit = (short - list * few * places as f64).max(0.0) / together as f64;
    Ok((fit, list))
}
