//! One classifier over many selections of terms: every ranked list of every test document, each piece of work shared.
//!
//! The one place that knows how each classifier walks nested sizes: choosing, learning λ and studies all sweep here.

use rayon::prelude::*;

use super::{
    BayesOptions, Classifier, ClassifierSpec, KnnOptions, KnnSweep, Nested, Problem, Scored, Scratch, SvmOptions,
    SweepPlace,
};
use crate::counts::Counts;
use crate::{Error, Progress, Result, Stoppable};

/// Terms best first, and how many of them, ascending: nested selections.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Prefixes {
    pub(crate) terms: Vec<u32>,
    pub(crate) sizes: Vec<usize>,
}

/// Training and test documents.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    pub(crate) counts: &'a Counts,
    pub(crate) train: &'a [usize],
    pub(crate) test: &'a [usize],
}

/// The mean of a document's measure over the test documents, for each size. Documents for which the measure says `None`
/// take no part; a mean over no document is 0.
pub(crate) fn means(
    classifier: &ClassifierSpec,
    task: Task<'_>,
    prefixes: &Prefixes,
    measure: &(dyn Fn(&[Scored], &[u32]) -> Option<f64> + Sync),
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let mut sums = Means::new(prefixes.sizes.len());
    let values = Values { task, measure };
    sweep(classifier, task, std::slice::from_ref(prefixes), &values, &Stoppable(progress), |part| sums.add(part))?;
    Ok(sums.finish())
}

/// The same for one size of terms and several `C` of an SVM, ascending: the documents are weighed once, and each fit starts from the
/// one before.
pub(crate) fn means_by_cost(
    options: &SvmOptions,
    costs: &[f64],
    task: Task<'_>,
    selection: &Prefixes,
    measure: &(dyn Fn(&[Scored], &[u32]) -> Option<f64> + Sync),
    progress: &dyn Progress,
) -> Result<Vec<f64>> {
    let size = selection.sizes.last().copied().unwrap_or(selection.terms.len());
    let mut sums = Means::new(costs.len());
    let values = Values { task, measure };
    let walk = Walk { task, number: 0, selection, gather: &values, progress: &Stoppable(progress) };
    walk.run(&mut |part| sums.add(part), |train, each| {
        options.path(train, size, costs, &Stoppable(progress), |_, fit| each(&fit.model))
    })?;
    Ok(sums.finish())
}

/// Sums and numbers of values, place by place.
struct Means(Vec<(f64, u32)>);

impl Means {
    fn new(places: usize) -> Self {
        Self(vec![(0.0, 0); places])
    }

    fn add(&mut self, part: Vec<(usize, f64)>) {
        for (place, value) in part {
            self.0[place].0 += value;
            self.0[place].1 += 1;
        }
    }

    fn finish(self) -> Vec<f64> {
        self.0.into_iter().map(|(sum, n)| if n == 0 { 0.0 } else { sum / f64::from(n) }).collect()
    }
}

/// Gathers the measure of each list with its size.
struct Values<'a> {
    task: Task<'a>,
    measure: &'a (dyn Fn(&[Scored], &[u32]) -> Option<f64> + Sync),
}

impl Gather for Values<'_> {
    type Part = Vec<(usize, f64)>;

    fn part(&self) -> Self::Part {
        Vec::new()
    }

    fn part_bytes(&self) -> usize {
        TOGETHER * 256
    }

    fn visit(&self, part: &mut Self::Part, place: SweepPlace, ranked: &[Scored]) {
        let truth = self.task.counts.assignments.row_indices(self.task.test[place.document]);
        part.extend((self.measure)(ranked, truth).map(|value| (place.size, value)));
    }
}

/// Gathers ranked lists. A part is made for each run of test documents and merged in document order.
pub(crate) trait Gather: Sync {
    type Part: Send;
    /// A part with nothing in it.
    fn part(&self) -> Self::Part;
    /// About how many bytes a part takes.
    fn part_bytes(&self) -> usize;
    /// Adds a ranked list; `place.document` counts the test documents, `place.ranking` the selections.
    fn visit(&self, part: &mut Self::Part, place: SweepPlace, ranked: &[Scored]);
}

/// Test documents that one thread handles at a time.
const TOGETHER: usize = 32;

/// Parts that may wait to be merged, in bytes.
const WAITING: usize = 64 << 20;

/// Hands every ranked list of every selection and size to `gather` and its parts to `merge`, in document order.
///
/// `progress` counts classifications.
pub(crate) fn sweep<G: Gather>(
    classifier: &ClassifierSpec,
    task: Task<'_>,
    selections: &[Prefixes],
    gather: &G,
    progress: &dyn Progress,
    mut merge: impl FnMut(G::Part),
) -> Result<()> {
    match classifier {
        ClassifierSpec::Knn(options) => neighbours(options, task, selections, gather, progress, &mut merge),
        ClassifierSpec::Bayes(options) => {
            for (number, selection) in selections.iter().enumerate() {
                bayes(options, task, number, selection, gather, progress, &mut merge)?;
            }
            Ok(())
        }
        ClassifierSpec::Svm(options) => {
            for (number, selection) in selections.iter().enumerate() {
                let walk = Walk { task, number, selection, gather, progress };
                walk.run(&mut merge, |train, each| {
                    options.sweep(train, &selection.sizes, &Stoppable(progress), |_, fit| each(&fit.model))
                })?;
            }
            Ok(())
        }
        ClassifierSpec::Tree(options) => {
            for (number, selection) in selections.iter().enumerate() {
                let walk = Walk { task, number, selection, gather, progress };
                walk.run(&mut merge, |train, each| {
                    let mut sizes = selection.sizes.iter();
                    sizes.try_for_each(|&size| each(&options.fit_size(train, size, &Stoppable(progress))?))
                })?;
            }
            Ok(())
        }
        ClassifierSpec::Logistic(options) => {
            for (number, selection) in selections.iter().enumerate() {
                let walk = Walk { task, number, selection, gather, progress };
                walk.run(&mut merge, |train, each| {
                    options.sweep(train, &selection.sizes, &Stoppable(progress), |_, fit| each(&fit.model))
                })?;
            }
            Ok(())
        }
    }
}

/// Documents that are classified before parts are merged: enough to keep every thread busy, few enough to fit.
fn block<G: Gather>(gather: &G) -> usize {
    let busy = 8 * rayon::current_num_threads();
    (WAITING / gather.part_bytes().max(1)).max(busy) * TOGETHER
}

fn neighbours<G: Gather>(
    options: &KnnOptions,
    task: Task<'_>,
    selections: &[Prefixes],
    gather: &G,
    progress: &dyn Progress,
    merge: &mut dyn FnMut(G::Part),
) -> Result<()> {
    // Features are all terms, so that every selection is a ranking of them.
    let terms: Vec<u32> = (0..task.counts.vocabulary.len() as u32).collect();
    let train = Problem::new(task.counts, task.train, &terms);
    let rankings: Vec<Nested> =
        selections.iter().map(|s| Nested { features: s.terms.clone(), sizes: s.sizes.clone() }).collect();
    let sweep = KnnSweep::over(&train, &rankings, options)?;
    let block = block(gather);
    for (number, rows) in task.test.chunks(block).enumerate() {
        let test = Problem::new(task.counts, rows, &terms);
        let parts = sweep.fold(
            &test,
            progress,
            |_| gather.part(),
            |part, place, ranked| {
                gather.visit(part, SweepPlace { document: number * block + place.document, ..place }, ranked);
            },
        )?;
        parts.into_iter().for_each(&mut *merge);
    }
    Ok(())
}

fn bayes<G: Gather>(
    options: &BayesOptions,
    task: Task<'_>,
    ranking: usize,
    selection: &Prefixes,
    gather: &G,
    progress: &dyn Progress,
    merge: &mut dyn FnMut(G::Part),
) -> Result<()> {
    let train = Problem::new(task.counts, task.train, &selection.terms);
    let sweep = options.sweep(&train, &selection.sizes)?;
    let classify = |part: &mut G::Part, first: usize, test: &Problem, row: usize, memory: &mut Memory| {
        let Memory { scratch, ranked } = memory;
        sweep.rank(test.query(row), scratch, ranked, |size, ranked| {
            gather.visit(part, SweepPlace { document: first + row, ranking, size }, ranked);
        });
        selection.sizes.len()
    };
    in_blocks(task, &selection.terms, gather, progress, &classify, merge)
}

/// A selection whose sizes are walked by fitting a linear model for each.
struct Walk<'a, G> {
    task: Task<'a>,
    number: usize,
    selection: &'a Prefixes,
    gather: &'a G,
    progress: &'a dyn Progress,
}

/// Takes the model of the next size.
type Each<'a> = dyn FnMut(&dyn Classifier) -> Result<()> + 'a;

impl<G: Gather> Walk<'_, G> {
    /// `fit` fits the training documents for each size (or whatever else is tried) in turn and hands over the models.
    fn run(
        &self,
        merge: &mut dyn FnMut(G::Part),
        fit: impl FnOnce(&Problem, &mut Each<'_>) -> Result<()>,
    ) -> Result<()> {
        let Self { task, number: ranking, selection, gather, progress } = *self;
        let train = Problem::new(task.counts, task.train, &selection.terms);
        let mut size = 0;
        fit(&train, &mut |model| {
            let classify = |part: &mut G::Part, first: usize, test: &Problem, row: usize, memory: &mut Memory| {
                model.rank(test.query(row), &mut memory.scratch, &mut memory.ranked);
                gather.visit(part, SweepPlace { document: first + row, ranking, size }, &memory.ranked);
                1
            };
            in_blocks(task, &selection.terms, gather, progress, &classify, merge)?;
            size += 1;
            Ok(())
        })
    }
}

/// What a thread reuses from document to document.
#[derive(Default)]
struct Memory {
    scratch: Scratch,
    ranked: Vec<Scored>,
}

/// Classifies a row of a block (the block's first document, the block, the row); says how many lists that gave.
type Classify<'a, P> = dyn Fn(&mut P, usize, &Problem, usize, &mut Memory) -> usize + Sync + 'a;

fn in_blocks<G: Gather>(
    task: Task<'_>,
    terms: &[u32],
    gather: &G,
    progress: &dyn Progress,
    classify: &Classify<'_, G::Part>,
    merge: &mut dyn FnMut(G::Part),
) -> Result<()> {
    let block = block(gather);
    for (number, rows) in task.test.chunks(block).enumerate() {
        let test = Problem::new(task.counts, rows, terms);
        let runs: Vec<usize> = (0..rows.len()).step_by(TOGETHER).collect();
        let parts: Vec<G::Part> = runs
            .into_par_iter()
            .map_init(Memory::default, |memory, first| {
                if progress.cancelled() {
                    return Err(Error::Interrupted);
                }
                let mut part = gather.part();
                let mut lists = 0;
                for row in first..(first + TOGETHER).min(rows.len()) {
                    lists += classify(&mut part, number * block, &test, row, memory);
                }
                progress.add(lists as u64);
                Ok(part)
            })
            .collect::<Result<_>>()?;
        parts.into_iter().for_each(&mut *merge);
    }
    Ok(())
}
