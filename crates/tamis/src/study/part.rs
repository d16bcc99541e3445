//! One unit of a study: what a cluster runs as a task.

use super::plan::{Plan, Work};
use super::rows::Row;
use super::run::Study;
use super::select::Selecting;
use crate::counts::Counts;
use crate::{Error, Progress, Result};

/// Runs one unit of a study on a corpus, by its number below [`Extent::units`](super::Extent::units). The rows of all
/// units, in order, are those of [`run`](super::run).
pub fn run_unit(plan: &Plan, counts: &Counts, seed: u64, unit: usize, progress: &dyn Progress) -> Result<Vec<Row>> {
    let Work::Grid(grid) = &plan.work else {
        return Err(Error::data(format!("study {} is a simulation, which is one piece of work", plan.name)));
    };
    let study = Study::new(grid, counts, seed)?;
    let Some(work) = study.units.get(unit) else {
        return Err(Error::invalid("unit", unit, format!("the study has {} units", study.units.len())));
    };
    let train = &study.splits[work.split].train;
    let mut selecting = Selecting::new(grid, counts, train, &study.methods, seed)?;
    study.run_unit(work, &mut selecting, &mut Vec::new(), progress)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Silent;
    use crate::corpus::synth::{Shape, SynthOptions, batches};
    use crate::counts::{CountOptions, count};
    use crate::study::{extent, run};

    const PLAN: &str = r#"
        name = "parts"
        title = "Parts"
        [splits]
        how = "random(0.3,2)"
        [selectors]
        list = ["chi2max@1", "ig"]
        [sizes]
        at = [20, 50]
        [classifiers]
        list = ["bayes", "knn(5)"]
        [measures]
        list = ["RPrec", "P@1"]
    "#;

    #[test]
    fn the_units_are_the_study() {
        let options = SynthOptions { documents: 150, ..SynthOptions::of(Shape::Topics) };
        let (counts, _) = count(batches(&options).unwrap(), &CountOptions::default(), &Silent).unwrap();
        let plan = Plan::parse(PLAN, "parts.toml").unwrap();
        let mut whole: Vec<Row> = Vec::new();
        run(&plan, Some(&counts), 7, &mut whole, &Silent).unwrap();
        let units = extent(&plan, Some(&counts), 7).unwrap().units;
        let parts: Vec<Row> =
            (0..units).rev().map(|u| run_unit(&plan, &counts, 7, u, &Silent).unwrap()).rev().flatten().collect();
        assert!(units > 4);
        assert_eq!(parts, whole);
        assert!(run_unit(&plan, &counts, 7, units, &Silent).is_err());
    }
}
