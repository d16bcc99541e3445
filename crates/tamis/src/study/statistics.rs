//! Curves → what beats what, and how sure that is.

use serde::Serialize;

use super::arena::{Arena, Curve, Over};
use super::plan::TestPlan;
use crate::Result;
use crate::features::Size;
use crate::measure::correlation::{Reversals, reversals};
use crate::measure::curve::{Peak, Robustness, Scale};
use crate::measure::significance::{
    PairedBootstrap, Randomisation, SignTest, Wilcoxon, holm, paired_bootstrap, randomisation, sign_test_of, wilcoxon,
};

/// What there is to say about a method by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary {
    /// The selector.
    pub selector: String,
    /// Its peak.
    pub peak: Peak,
    /// The size asked for at the peak.
    pub at: Size,
    /// Mean height over the logarithm of the number of features.
    pub area: f64,
    /// How wide its top is.
    pub robustness: Robustness,
    /// Sizes at which it beats the reference (all features) on every split.
    pub always_better: usize,
    /// All sizes but that of the reference.
    pub compared: usize,
}

/// The summaries of all methods of an arena, best peak first.
pub fn summaries(arena: &Arena) -> Vec<Summary> {
    let summary = |curve: &Curve| {
        let by_features = curve.by_features()?;
        let wins = wins_over_reference(arena, curve);
        Some(Summary {
            selector: curve.selector.clone(),
            peak: by_features.peak(),
            at: curve.sizes[curve.peak()],
            area: by_features.area(Scale::Log),
            robustness: by_features.robustness(),
            always_better: wins.iter().flatten().filter(|test| test.losses + test.ties == 0 && test.wins > 0).count(),
            compared: wins.iter().flatten().count(),
        })
    };
    arena.ranking().into_iter().filter_map(|i| summary(&arena.curves[i])).collect()
}

/// For each size the sign test against the reference; `None` at the reference itself or without one.
pub fn wins_over_reference(arena: &Arena, curve: &Curve) -> Vec<Option<SignTest>> {
    let reference = arena.reference(curve);
    let all = curve.sizes.iter().position(|s| *s == Size::All).map(|at| curve.features[at]);
    let test = |at: usize| {
        let reference = reference?;
        // Sizes that take all there are, asked for or not, are the reference.
        if arena.baseline.is_none() && curve.features[at] >= all? {
            return None;
        }
        sign_test_of(&curve.values[at], reference).ok()
    };
    (0..curve.sizes.len()).map(test).collect()
}

/// Two methods compared by their bests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Pair {
    /// The method with the better mean.
    pub better: String,
    /// The other one.
    pub worse: String,
    /// Wins and losses of the better one.
    pub sign: SignTest,
    /// Wilcoxon's test.
    pub wilcoxon: Wilcoxon,
    /// Mean difference with its interval.
    pub bootstrap: PairedBootstrap,
    /// Randomisation test.
    pub randomisation: Randomisation,
    /// Two-sided p of the randomisation test after Holm's correction for all pairs compared.
    pub holm: f64,
}

/// Every pair among the best methods of an arena and its baseline. Fewer than two values allow no test: no pairs.
pub fn pairs(arena: &Arena, plan: &TestPlan) -> Result<Vec<Pair>> {
    let mut chosen: Vec<&Curve> = arena.best(plan.methods).into_iter().map(|i| &arena.curves[i]).collect();
    chosen.extend(&arena.baseline);
    let resampling = plan.resampling();
    let mut pairs = Vec::new();
    for (i, a) in chosen.iter().enumerate() {
        for b in &chosen[i + 1..] {
            let (x, y) = (a.bests(arena.over), b.bests(arena.over));
            if x.len() != y.len() || x.len() < 2 {
                continue;
            }
            let swap = y.iter().sum::<f64>() > x.iter().sum::<f64>();
            let (a, b, x, y) = if swap { (b, a, &y, &x) } else { (a, b, &x, &y) };
            pairs.push(Pair {
                better: a.selector.clone(),
                worse: b.selector.clone(),
                sign: sign_test_of(x, y)?,
                wilcoxon: wilcoxon(x, y)?,
                bootstrap: paired_bootstrap(x, y, &resampling)?,
                randomisation: randomisation(x, y, &resampling)?,
                holm: 1.0,
            });
        }
    }
    let p: Vec<f64> = pairs.iter().map(|pair| pair.randomisation.p_two_sided).collect();
    for (pair, p) in pairs.iter_mut().zip(holm(&p)) {
        pair.holm = p;
    }
    Ok(pairs)
}

/// For two methods, size by size, on how many splits (or documents) the first is better. A method with one size (a
/// baseline) is held against every size of the other.
pub fn wins_by_size(a: &Curve, b: &Curve) -> Vec<(Size, SignTest)> {
    let at = |curve: &'_ Curve, size: Size| {
        let found = curve.sizes.iter().position(|s| *s == size);
        found.or((curve.sizes.len() == 1).then_some(0))
    };
    let sizes = if a.sizes.len() >= b.sizes.len() { &a.sizes } else { &b.sizes };
    let test = |&size: &Size| {
        let (i, j) = (at(a, size)?, at(b, size)?);
        Some((size, sign_test_of(&a.values[i], &b.values[j]).ok()?))
    };
    sizes.iter().filter_map(test).collect()
}

/// For each size on how many splits each of the given methods is the best; ties count for all of them. By size, then
/// method.
pub fn best_by_size(curves: &[&Curve]) -> Vec<(Size, Vec<usize>)> {
    let Some(first) = curves.iter().find(|c| c.sizes.len() > 1).or(curves.first()) else { return Vec::new() };
    let mut table = Vec::new();
    for &size in &first.sizes {
        let value = |curve: &Curve, split: usize| {
            let at = curve.sizes.iter().position(|s| *s == size).or((curve.sizes.len() == 1).then_some(0))?;
            curve.values[at].get(split).copied()
        };
        let splits = first.values[0].len();
        let mut wins = vec![0; curves.len()];
        for split in 0..splits {
            let values: Vec<Option<f64>> = curves.iter().map(|c| value(c, split)).collect();
            let best = values.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
            for (wins, value) in wins.iter_mut().zip(values) {
                *wins += usize::from(value == Some(best));
            }
        }
        table.push((size, wins));
    }
    table
}

/// Methods at one cut against the same methods at another: for each, the size and how often the second cut is better.
pub fn wins_of_cut(arena: &Arena, low: u32, high: u32) -> Vec<(String, Vec<(Size, SignTest)>)> {
    let mut found = Vec::new();
    for a in &arena.curves {
        let (cut, name) = a.without_cut();
        if cut != Some(low) {
            continue;
        }
        let other = arena.curves.iter().find(|b| b.without_cut() == (Some(high), name.clone()));
        if let Some(b) = other {
            found.push((name, wins_by_size(b, a)));
        }
    }
    found
}

/// How often two arenas (two measures of the same lists) disagree about which of two methods is better: over all pairs
/// of methods, sizes and splits.
pub fn measure_reversals(x: &Arena, y: &Arena) -> Option<Reversals> {
    if x.over != Over::Splits || y.over != Over::Splits {
        return None;
    }
    let (mut dx, mut dy) = (Vec::new(), Vec::new());
    for (i, a) in x.curves.iter().enumerate() {
        for b in &x.curves[i + 1..] {
            let find = |name: &str| y.curves.iter().find(|c| c.selector == name);
            let (Some(c), Some(d)) = (find(&a.selector), find(&b.selector)) else { continue };
            if [b, c, d].iter().any(|other| other.sizes != a.sizes) {
                continue;
            }
            for at in 0..a.sizes.len() {
                dx.extend(a.values[at].iter().zip(&b.values[at]).map(|(a, b)| a - b));
                dy.extend(c.values[at].iter().zip(&d.values[at]).map(|(c, d)| c - d));
            }
        }
    }
    (!dx.is_empty() && dx.len() == dy.len()).then(|| reversals(&dx, &dy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(selector: &str, sizes: &[Size], values: Vec<Vec<f64>>) -> Curve {
        let features = sizes.iter().map(|s| s.of(700) as f64).collect();
        Curve { selector: selector.into(), sizes: sizes.to_vec(), features, values }
    }

    fn arena() -> Arena {
        let sizes = [Size::Top(10), Size::Top(100), Size::All];
        Arena {
            classifier: "knn".into(),
            threshold: "none".into(),
            measure: "RPrec".parse().unwrap(),
            over: Over::Splits,
            curves: vec![
                curve("ig@1", &sizes, vec![vec![0.2, 0.3, 0.1], vec![0.5, 0.6, 0.5], vec![0.4, 0.4, 0.6]]),
                curve("ig@5", &sizes, vec![vec![0.3, 0.2, 0.2], vec![0.7, 0.7, 0.7], vec![0.4, 0.4, 0.6]]),
            ],
            baseline: None,
        }
    }

    #[test]
    fn peaks_and_references() {
        let arena = arena();
        assert_eq!(arena.ranking(), [1, 0]);
        let summaries = summaries(&arena);
        assert_eq!(
            (summaries[0].selector.as_str(), summaries[0].at, summaries[0].peak.size),
            ("ig@5", Size::Top(100), 100)
        );
        assert_eq!((summaries[0].always_better, summaries[0].compared), (1, 2));
        assert_eq!(summaries[1].always_better, 0);
        let wins = wins_over_reference(&arena, &arena.curves[0]);
        assert_eq!(wins[1].map(|t| (t.wins, t.losses)), Some((2, 1)));
        assert_eq!(wins[2], None, "all features are not held against themselves");
    }

    #[test]
    fn pairs_are_of_bests() {
        let pairs = pairs(&arena(), &TestPlan::default()).unwrap();
        assert_eq!(pairs.len(), 1);
        // Bests: ig@5 0.7 0.7 0.7, ig@1 0.5 0.6 0.6.
        assert_eq!((pairs[0].better.as_str(), pairs[0].sign.wins), ("ig@5", 3));
        assert!((pairs[0].sign.p_one_sided - 0.125).abs() < 1e-12);
        assert!((pairs[0].bootstrap.difference - 0.4 / 3.0).abs() < 1e-12);
        assert_eq!(pairs[0].randomisation.p_two_sided, 0.25);
        assert!((pairs[0].holm - 0.25).abs() < 1e-12, "one pair needs no correction");
    }

    #[test]
    fn baselines_are_held_against_every_size() {
        let mut arena = arena();
        let baseline = curve("df@1", &[Size::All], vec![vec![0.45, 0.45, 0.45]]);
        let wins = wins_by_size(&arena.curves[0], &baseline);
        assert_eq!(wins.iter().map(|(_, t)| t.wins).collect::<Vec<_>>(), [0, 3, 1]);
        arena.baseline = Some(baseline.clone());
        assert_eq!(wins_over_reference(&arena, &arena.curves[0]).iter().flatten().count(), 3);
        let best = best_by_size(&[&arena.curves[0], &arena.curves[1], &baseline]);
        assert_eq!(best[0].1, [0, 0, 3]);
        assert_eq!(best[1].1, [0, 3, 0]);
        assert_eq!(best[2].1, [1, 1, 2], "ties count for both");
    }

    #[test]
    fn cuts_are_paired_by_name() {
        let wins = wins_of_cut(&arena(), 1, 5);
        assert_eq!(wins.len(), 1);
        assert_eq!(wins[0].0, "ig");
        assert_eq!(wins[0].1.iter().map(|(_, t)| t.wins).collect::<Vec<_>>(), [2, 3, 0]);
    }

    #[test]
    fn reversals_between_measures() {
        let x = arena();
        let mut y = arena();
        // In the other measure the first curve wins on the first split at the first size, where it lost.
        y.curves[0].values[0][0] = 0.9;
        let found = measure_reversals(&x, &y).unwrap();
        assert_eq!((found.reversed, found.trials), (1, 9));
    }
}
