//! Bayes and SVM against scikit-learn (frozen numbers), against slow obvious versions, and at the edges.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use tamis::counts::Csr;
use tamis::label::svm::{ClassWeights, Loss, Multi};
use tamis::label::{
    BayesOptions, Classifier, Linear, LinearParts, Outputs, Problem, Query, Scored, Scratch, SvmFit, SvmOptions,
    Weighter, Weighting, Weights,
};
use tamis::{Error, Progress, Silent};

/// 60 documents, 15 features, 4 labels (0 to 4 for a document), from a linear congruential generator.
///
/// The numbers of the golden tests come from scikit-learn 1.9.1 on the same data:
/// ```python
/// import numpy as np
/// from sklearn.svm import LinearSVC
/// from sklearn.naive_bayes import MultinomialNB
/// state = 7
/// def draw(n):
///     global state
///     state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
///     return (state >> 33) % n
/// X = np.zeros((60, 15)); Y = np.zeros((60, 4))
/// for d in range(60):
///     for l in range(4): Y[d, l] = draw(10) < (2, 3, 5, 1)[l]
///     for _ in range(4 + draw(8)):
///         topic = draw(4)
///         X[d, 3 * topic + draw(3) if Y[d, topic] else draw(15)] += 1
/// for loss in ('hinge', 'squared_hinge'):
///     for c in (0.05, 1.0):
///         for l in range(4):
///             m = LinearSVC(loss=loss, C=c, tol=1e-9, max_iter=10**6, dual=True).fit(X, Y[:, l])
///             w, b = m.coef_[0], m.intercept_[0]
///             e = np.maximum(0, 1 - (2 * Y[:, l] - 1) * (X @ w + b))
///             p = (w @ w + b * b) / 2 + c * (e.sum() if loss == 'hinge' else (e * e).sum())
///             print(loss, c, p, b, w[0], w[7])
/// D, L = np.nonzero(Y)          # a document with several labels is a row for each of them
/// prior = (1 + Y.sum(0)) / (4 + Y.sum())
/// print(MultinomialNB(alpha=1, class_prior=prior).fit(X[D], L).predict_log_proba(X[[0, 1, 59]]))
/// print(MultinomialNB(alpha=1, class_prior=prior).fit(X[D][:, :5], L).predict_log_proba(X[[0]][:, :5]))
/// for l in range(4):            # one-vs-rest
///     p = (1 + Y[:, l].sum()) / 62
///     print(MultinomialNB(alpha=1, class_prior=[1 - p, p]).fit(X, Y[:, l]).predict_log_proba(X[[0, 59]])[:, 1])
/// ```
fn golden() -> Problem {
    let mut state = 7u64;
    let mut draw = |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut rows = Vec::new();
    for _ in 0..60 {
        let labels: Vec<bool> = [2, 3, 5, 1].into_iter().map(|share| draw(10) < share).collect();
        let mut counts = vec![0u32; 15];
        for _ in 0..4 + draw(8) {
            let topic = draw(4);
            let feature = if labels[topic as usize] { 3 * topic + draw(3) } else { draw(15) };
            counts[feature as usize] += 1;
        }
        rows.push((counts, labels));
    }
    problem(&rows)
}

fn problem(rows: &[(Vec<u32>, Vec<bool>)]) -> Problem {
    let features = rows.first().map_or(0, |r| r.0.len());
    let labels = rows.first().map_or(0, |r| r.1.len());
    let mut matrix = Csr::new(features);
    let mut assignments = Csr::new(labels);
    for (counts, is) in rows {
        matrix.push_row(counts.iter().enumerate().filter(|(_, c)| **c > 0).map(|(f, c)| (f as u32, *c)));
        assignments.push_row(is.iter().enumerate().filter(|(_, is)| **is).map(|(l, _)| (l as u32, ())));
    }
    Problem { matrix, lengths: rows.iter().map(|r| r.0.iter().sum()).collect(), assignments }
}

/// The first features of a problem, as a problem of its own.
fn prefix(problem: &Problem, size: usize) -> Problem {
    let mut matrix = Csr::new(size);
    for row in 0..problem.documents() {
        matrix.push_row(problem.matrix.row(row).filter(|(f, _)| (*f as usize) < size));
    }
    Problem { matrix, ..problem.clone() }
}

fn rank(model: &impl Classifier, document: Query<'_>) -> Vec<Scored> {
    let mut ranked = vec![Scored { label: 77, score: 7.0 }];
    model.rank(document, &mut Scratch::default(), &mut ranked);
    ranked
}

/// Scores by label.
fn scores(model: &impl Classifier, document: Query<'_>) -> Vec<f64> {
    let mut scores = vec![f64::NAN; model.labels()];
    for s in rank(model, document) {
        scores[s.label as usize] = s.score;
    }
    scores
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], within: f64) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= within;
    assert!(
        found.len() == expected.len() && found.iter().zip(expected).all(near),
        "found {found:?}\nexpected {expected:?}"
    );
}

fn svm(text: &str) -> SvmOptions {
    text.parse().unwrap()
}

#[test]
fn bayes_is_that_of_scikit_learn() {
    let problem = golden();
    let model = BayesOptions::default().fit(&problem).unwrap();
    let expected = [
        (0, [-3.812_571_801_967_665_8, -0.538_867_865_540_305_9, -0.944_077_489_472_924_5, -5.209_933_683_600_768]),
        (1, [-5.902_667_869_182_736, -1.179_801_003_883_248_7, -0.535_193_083_147_618_2, -2.259_796_293_723_639]),
        (59, [-3.589_683_431_803_76, -1.999_109_659_008_070_1, -0.368_165_453_953_299_25, -1.931_473_898_455_916_3]),
    ];
    for (row, expected) in expected {
        close(&scores(&model, problem.query(row)), &expected, 1e-9);
    }
    let five = BayesOptions::default().fit(&prefix(&problem, 5)).unwrap();
    let expected =
        [-4.126_134_246_531_016, -0.496_197_328_050_530_3, -1.055_896_298_213_765_4, -3.607_009_819_950_329_5];
    close(&scores(&five, problem.query(0)), &expected, 1e-9);

    let ovr = "bayes(multi=ovr)".parse::<BayesOptions>().unwrap().fit(&problem).unwrap();
    let expected = [
        (0, [-3.621_545_478_913_557, -0.287_273_911_835_608_7, -0.798_797_103_705_261_7, -5.369_371_715_235_019]),
        (59, [-4.243_061_462_374_229, -2.864_597_692_352_031_5, -1.085_774_691_583_232_3, -2.823_586_184_201_655_4]),
    ];
    for (row, expected) in expected {
        close(&scores(&ovr, problem.query(row)), &expected, 1e-9);
    }
}

#[test]
fn svm_is_that_of_liblinear() {
    let problem = golden();
    // Loss, C, and for each label: objective, bias, weights of features 0 and 7.
    let golden: [(&str, [[f64; 4]; 4]); 4] = [
        (
            "svm(vectors=tf,gap=1e-10,c=0.05)",
            [
                [1.217_648_5, -0.348_91, 0.150_65, -0.214_97],
                [1.668_133_3, -0.286_21, -0.275_69, -0.279_27],
                [2.133_905_6, -0.064_11, -0.116_56, 0.025_9],
                [1.008_689_5, -0.511_23, -0.197_91, -0.088_53],
            ],
        ),
        (
            "svm(vectors=tf,gap=1e-10)",
            [
                [12.511_684_8, -0.697_12, 0.951_31, -0.866_76],
                [23.319_562_7, -0.704_67, -0.264_39, -0.466_95],
                [30.082_132_8, 0.387_59, 0.063_49, -0.164_04],
                [9.731_698_3, -2.196_06, -0.256_51, -0.000_19],
            ],
        ),
        (
            "svm(vectors=tf,gap=1e-10,loss=squared,c=0.05)",
            [
                [1.136_720_5, -0.252_1, 0.236_53, -0.246_83],
                [1.654_479_6, -0.201_89, -0.193_08, -0.203_47],
                [2.047_649_3, 0.012_72, -0.023_04, -0.013_6],
                [1.091_076_3, -0.474_15, -0.187_62, -0.075_67],
            ],
        ),
        (
            "svm(vectors=tf,gap=1e-10,loss=squared)",
            [
                [13.250_864_9, -0.795_48, 0.742_43, -1.312_78],
                [28.197_405_4, -0.447_21, -0.232_4, -0.264_8],
                [33.952_947_4, 0.148_5, -0.048_43, -0.052_62],
                [7.992_463_3, -1.878_04, -0.017_31, 0.012_25],
            ],
        ),
    ];
    for (name, labels) in golden {
        let fit = svm(name).fit(&problem, &Silent).unwrap();
        for (label, expected) in labels.into_iter().enumerate() {
            let solution = fit.solutions[label];
            assert!(solution.converged, "{name}: {solution:?}");
            let label = label as u32;
            let found =
                [solution.primal, fit.model.bias(label), fit.model.weight(label, 0), fit.model.weight(label, 7)];
            close(&found, &expected, 4e-5);
        }
    }
}

/// The primal objective, computed from the model and the problem alone.
fn primal(options: &SvmOptions, problem: &Problem, model: &Linear, label: u32) -> f64 {
    let n = problem.documents() as f64;
    let positives = (0..problem.documents()).filter(|&d| problem.assignments.get(d, label).is_some()).count() as f64;
    let weights: Vec<f64> = (0..problem.features() as u32).map(|f| model.weight(label, f)).collect();
    let mut value = 0.5 * (weights.iter().map(|w| w * w).sum::<f64>() + model.bias(label).powi(2));
    for d in 0..problem.documents() {
        let at = rank(model, problem.query(d)).into_iter().find(|s| s.label == label).unwrap().score;
        let is = problem.assignments.get(d, label).is_some();
        let e = (if is { 1.0 - at } else { 1.0 + at }).max(0.0);
        let side = if is { positives } else { n - positives };
        let cost = options.c * if options.classes == ClassWeights::Balanced { n / (2.0 * side) } else { 1.0 };
        value += cost * if options.loss == Loss::Hinge { e } else { e * e };
    }
    value
}

/// The best dual value that plain coordinate descent on a dense matrix finds: no shrinking, no working set, no blocks.
fn slow_dual(options: &SvmOptions, problem: &Problem, label: u32) -> f64 {
    let weighter = Weighter::fit(options.vectors, problem);
    let mut buffer = Vec::new();
    let rows: Vec<Vec<f64>> = (0..problem.documents())
        .map(|d| {
            let query = problem.query(d);
            weighter.weigh(query, &mut buffer);
            let mut row = vec![0.0; problem.features() + 1];
            query.features.iter().zip(&buffer).for_each(|(&f, &w)| row[f as usize] = w);
            row[problem.features()] = 1.0;
            row
        })
        .collect();
    let is: Vec<bool> = (0..rows.len()).map(|d| problem.assignments.get(d, label).is_some()).collect();
    let positives = is.iter().filter(|is| **is).count();
    let cost = |is: bool| {
        let side = if is { positives } else { rows.len() - positives };
        options.c * if options.classes == ClassWeights::Balanced { rows.len() as f64 / (2 * side) as f64 } else { 1.0 }
    };
    let mut alphas = vec![0.0f64; rows.len()];
    let mut w = vec![0.0; problem.features() + 1];
    for _ in 0..200_000 {
        let mut largest = 0.0f64;
        for d in 0..rows.len() {
            let y = if is[d] { 1.0 } else { -1.0 };
            let (bound, diagonal) = match options.loss {
                Loss::Hinge => (cost(is[d]), 0.0),
                Loss::Squared => (f64::INFINITY, 0.5 / cost(is[d])),
            };
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
            let gradient = y * dot(&w, &rows[d]) - 1.0 + diagonal * alphas[d];
            let next = (alphas[d] - gradient / (dot(&rows[d], &rows[d]) + diagonal)).max(0.0).min(bound);
            let step = (next - alphas[d]) * y;
            w.iter_mut().zip(&rows[d]).for_each(|(w, x)| *w += step * x);
            alphas[d] = next;
            largest = largest.max(step.abs());
        }
        if largest < 1e-9 {
            break;
        }
    }
    let squares: f64 = w.iter().map(|w| w * w).sum();
    let rest: f64 = alphas
        .iter()
        .zip(&is)
        .map(|(a, &is)| if options.loss == Loss::Hinge { *a } else { a - a * a / (4.0 * cost(is)) })
        .sum();
    rest - 0.5 * squares
}

fn documents(most: usize) -> impl Strategy<Value = Vec<(Vec<u32>, Vec<bool>)>> {
    let count = prop_oneof![3 => Just(0u32), 2 => Just(1), 1 => 2u32..5];
    prop::collection::vec((prop::collection::vec(count, 6), prop::collection::vec(any::<bool>(), 3)), 1..most)
}

fn svm_options() -> impl Strategy<Value = SvmOptions> {
    (prop::sample::select(vec![0.1, 1.0, 5.0]), any::<bool>(), 0usize..4, any::<bool>(), any::<u64>()).prop_map(
        |(c, squared, weighting, balanced, seed)| SvmOptions {
            c,
            loss: if squared { Loss::Squared } else { Loss::Hinge },
            vectors: Weighting::ALL[weighting],
            classes: if balanced { ClassWeights::Balanced } else { ClassWeights::Equal },
            seed,
            ..SvmOptions::default()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// What is reported is true, and no slow solver finds a dual value above the primal or far from it.
    #[test]
    fn svm_solves_to_the_gap_it_reports(rows in documents(25), options in svm_options()) {
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let fit = options.fit(&problem, &Silent).unwrap();
        for solution in &fit.solutions {
            prop_assert!(solution.converged, "{solution:?}");
            prop_assert!(solution.gap >= -1e-6 * solution.primal && solution.gap <= options.gap * solution.primal);
            let found = primal(&options, &problem, &fit.model, solution.label);
            prop_assert!((found - solution.primal).abs() <= 1e-5 * found.max(1e-3), "{found} {solution:?}");
            let dual = slow_dual(&options, &problem, solution.label);
            prop_assert!(dual <= found * (1.0 + 1e-5) + 1e-9, "dual {dual} above primal {found}");
            // The slow solver may not be at its optimum; ours is at least as good as the gap says.
            prop_assert!(found - dual <= options.gap * found + 1e-4 * found, "{dual} {found}");
        }
    }

    /// A pair of one-vs-one is the two-label problem on its documents.
    #[test]
    fn one_vs_one_is_a_problem_for_each_pair(rows in documents(20), squared: bool) {
        let options = SvmOptions {
            multi: Multi::Ovo,
            loss: if squared { Loss::Squared } else { Loss::Hinge },
            vectors: Weighting::Tf,
            gap: 1e-9,
            ..SvmOptions::default()
        };
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let fit = options.fit(&problem, &Silent).unwrap();
        let Outputs::Votes { labels, pairs } = &fit.model.parts().outputs else { panic!("not votes") };
        prop_assert_eq!(pairs.len(), fit.solutions.len());
        let binary = SvmOptions { multi: Multi::Ovr, ..options };
        for (solution, &(a, b)) in fit.solutions.iter().zip(pairs) {
            let (a, b) = (labels[a as usize], labels[b as usize]);
            prop_assert_eq!((solution.label, solution.against), (a, Some(b)));
            let two: Vec<_> = rows.iter().filter(|(_, is)| is[a as usize] != is[b as usize])
                .map(|(counts, is)| (counts.clone(), vec![is[a as usize]])).collect();
            if two.iter().all(|(_, is)| !is[0]) {
                continue;
            }
            let expected = binary.fit(&self::problem(&two), &Silent).unwrap().solutions[0].primal;
            prop_assert!((solution.primal - expected).abs() <= 1e-6 * expected.max(1e-3), "{solution:?} {expected}");
        }
        // Scores are votes, counted here from the planes, and less than half a vote more or less.
        let parts = fit.model.parts();
        for (d, (counts, _)) in rows.iter().enumerate() {
            let mut votes = vec![0.0; labels.len()];
            for (pair, &(a, b)) in pairs.iter().enumerate() {
                let weights = (0..6).map(|f| parts.weights.row(f).find(|(o, _)| *o == pair).map_or(0.0, |(_, w)| w));
                let value = parts.bias[pair] + weights.zip(counts).map(|(w, &x)| w * f64::from(x)).sum::<f64>();
                prop_assume!(value.abs() > 1e-9);
                votes[if value > 0.0 { a } else { b } as usize] += 1.0;
            }
            let ranked = rank(&fit.model, problem.query(d));
            prop_assert!(ranked.windows(2).all(|w| w[0].better_first(&w[1]).is_lt()));
            for s in ranked {
                prop_assert_eq!(s.score.round(), votes[labels.binary_search(&s.label).unwrap()]);
            }
        }
    }

    /// Sizes in one pass are the separate fits, bit by bit; so are unknown features ignored.
    #[test]
    fn a_bayes_sweep_is_separate_fits(rows in documents(12), ovr: bool) {
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let options: BayesOptions = if ovr { "bayes(multi=ovr)" } else { "bayes" }.parse().unwrap();
        let sizes = [0, 1, 3, 3, 6, 9];
        let sweep = options.sweep(&problem, &sizes).unwrap();
        let fits: Vec<Linear> =
            sizes.iter().map(|&s| options.fit(&prefix(&problem, s.min(6))).unwrap()).collect();
        let (mut scratch, mut ranked) = (Scratch::default(), Vec::new());
        for d in 0..problem.documents() {
            let mut seen = 0;
            sweep.rank(problem.query(d), &mut scratch, &mut ranked, |place, found| {
                assert_eq!(place, seen);
                seen += 1;
                assert_eq!(found, rank(&fits[place], problem.query(d)), "size {}", sizes[place]);
            });
            prop_assert_eq!(seen, sizes.len());
        }
    }

    /// Bayes by the formulas of SPEC 7, term by term.
    #[test]
    fn bayes_follows_the_formula(rows in documents(12)) {
        let problem = problem(&rows);
        let trained: Vec<usize> = (0..3).filter(|&l| rows.iter().any(|(_, is)| is[l])).collect();
        prop_assume!(!trained.is_empty());
        let model = BayesOptions::default().fit(&problem).unwrap();
        let all: usize = rows.iter().map(|(_, is)| is.iter().filter(|i| **i).count()).sum();
        for (counts, _) in &rows {
            let logs: Vec<f64> = trained.iter().map(|&l| {
                let of: Vec<&Vec<u32>> = rows.iter().filter(|(_, is)| is[l]).map(|(c, _)| c).collect();
                let total: u32 = of.iter().flat_map(|c| c.iter()).sum();
                let prior = (1.0 + of.len() as f64) / (all as f64 + trained.len() as f64);
                prior.ln() + counts.iter().enumerate().map(|(f, &tf)| {
                    let n = of.iter().map(|c| c[f]).sum::<u32>();
                    f64::from(tf) * ((1.0 + f64::from(n)) / (6.0 + f64::from(total))).ln()
                }).sum::<f64>()
            }).collect();
            let norm = logs.iter().map(|l| l.exp()).sum::<f64>().ln();
            let query: Vec<(u32, u32)> =
                counts.iter().enumerate().filter(|(_, c)| **c > 0).map(|(f, c)| (f as u32, *c)).collect();
            let (features, tfs): (Vec<u32>, Vec<u32>) = query.into_iter().unzip();
            let ranked = rank(&model, Query { features: &features, counts: &tfs, length: 1 });
            prop_assert_eq!(ranked.len(), trained.len());
            for s in ranked {
                let expected = logs[trained.iter().position(|&l| l == s.label as usize).unwrap()] - norm;
                prop_assert!((s.score - expected).abs() < 1e-9, "{} {expected}", s.score);
            }
        }
    }

    /// An explanation adds up to the score; quantised and pruned models stay within their bounds.
    #[test]
    fn parts_add_up(rows in documents(15), text in prop::sample::select(vec!["svm", "svm(vectors=okapi)", "svm(vectors=binary)"])) {
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let model = svm(text).fit(&problem, &Silent).unwrap().model;
        let (small, pruned) = (model.quantised().unwrap(), model.pruned(0.0).unwrap());
        prop_assert_eq!(&pruned, &model);
        let mut weights = Vec::new();
        for d in 0..problem.documents() {
            let query = problem.query(d);
            model.parts().weighter.weigh(query, &mut weights);
            for s in rank(&model, query) {
                let why = model.explain(query, s.label).unwrap();
                let sum = why.bias + why.features.iter().map(|(_, x)| x).sum::<f64>();
                prop_assert!((sum - s.score).abs() < 1e-9);
                let largest = (0..6).map(|f| model.weight(s.label, f).abs()).fold(0.0, f64::max);
                let bound = 0.5001 * largest / 127.0 * weights.iter().map(|w| w.abs()).sum::<f64>() + 1e-9;
                let quantised = rank(&small, query).into_iter().find(|q| q.label == s.label).unwrap().score;
                prop_assert!((quantised - s.score).abs() <= bound, "{quantised} {} {bound}", s.score);
            }
        }
    }
}

/// A larger problem, in which labels need working sets, checks and several rounds.
fn larger() -> Problem {
    let mut state = 1u64;
    let mut draw = move |n: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % n
    };
    let mut rows = Vec::new();
    for _ in 0..3000 {
        let topic = draw(40) * draw(40) / 40;
        let mut counts = vec![0u32; 300];
        for _ in 0..20 {
            let word = if draw(3) == 0 { topic * 6 + draw(10) } else { draw(300) * draw(300) / 300 };
            counts[word as usize] += 1;
        }
        rows.push((counts, (0..40).map(|l| l == topic || (l == topic / 2 && draw(3) == 0)).collect()));
    }
    problem(&rows)
}

fn objective(fit: &SvmFit) -> f64 {
    fit.solutions.iter().map(|s| s.primal).sum()
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let problem = larger();
    for text in ["svm", "svm(loss=squared,c=3)", "svm(multi=ovo,gap=0.01)"] {
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| svm(text).fit(&problem, &Silent).unwrap())
        };
        let (one, three) = (fit(1), fit(3));
        assert_eq!(one.model, three.model, "{text}");
        assert_eq!(one.solutions, three.solutions);
        assert_eq!(one.duals, three.duals);
        assert!(one.solutions.iter().all(|s| s.converged));
        let other_seed = SvmOptions { seed: 1, ..svm(text) }.fit(&problem, &Silent).unwrap();
        assert_ne!(one.model, other_seed.model, "the seed does something");
        let ratio = objective(&one) / objective(&other_seed);
        assert!((ratio - 1.0).abs() < svm(text).gap, "{text}: {ratio}");
    }
}

#[test]
fn warm_starts_save_passes_and_change_nothing_else() {
    let problem = larger();
    for text in ["svm", "svm(loss=squared)"] {
        let options = svm(text);
        let passes = |fit: &SvmFit| fit.solutions.iter().map(|s| s.iterations).sum::<usize>();
        // Over C.
        let first = options.fit(&problem, &Silent).unwrap();
        let same = options.fit_size(&problem, 300, Some(&first.duals), &Silent).unwrap();
        assert_eq!(passes(&same), 0, "the solution is found again at once");
        let more = SvmOptions { c: 1.5, ..options.clone() };
        let (cold, warm) =
            (more.fit(&problem, &Silent).unwrap(), more.fit_size(&problem, 300, Some(&first.duals), &Silent).unwrap());
        assert!(passes(&warm) < passes(&cold), "{text}: {} against {}", passes(&warm), passes(&cold));
        assert!((objective(&warm) / objective(&cold) - 1.0).abs() < options.gap);
        // Over sizes.
        let mut swept = Vec::new();
        options
            .sweep(&problem, &[100, 200, 260, 300], &Silent, |size, fit| {
                swept.push((size, objective(&fit), passes(&fit), fit.model.features()));
                Ok(())
            })
            .unwrap();
        let (mut cold_passes, mut warm_passes) = (0, 0);
        for (size, objective_of_size, passes_of_size, features) in swept {
            let cold = options.fit(&prefix(&problem, size), &Silent).unwrap();
            assert_eq!(features, size);
            assert!((objective_of_size / objective(&cold) - 1.0).abs() < options.gap, "{text} at {size}");
            cold_passes += passes(&cold);
            warm_passes += passes_of_size;
        }
        assert!(warm_passes < cold_passes, "{text}: {warm_passes} against {cold_passes}");
    }
}

#[test]
fn a_warm_start_of_other_documents_is_refused() {
    let fit = svm("svm").fit(&golden(), &Silent).unwrap();
    let error = svm("svm").fit_size(&larger(), 300, Some(&fit.duals), &Silent).unwrap_err();
    assert!(error.to_string().contains("same documents"), "{error}");
}

#[test]
fn nothing_to_learn_is_an_error_and_little_is_not() {
    let none = problem(&[(vec![1, 0], vec![false]), (vec![0, 1], vec![false])]);
    let empty = problem(&[]);
    for nothing in [&none, &empty] {
        assert!(matches!(svm("svm").fit(nothing, &Silent), Err(Error::Data { .. })));
        assert!(matches!(BayesOptions::default().fit(nothing), Err(Error::Data { .. })));
    }
    // One label on every document, none on some label, a document without features, no feature at all.
    let cases = [
        problem(&[(vec![1, 2], vec![true]), (vec![0, 1], vec![true])]),
        problem(&[(vec![1, 2], vec![true, false]), (vec![0, 0], vec![true, false]), (vec![0, 3], vec![false, false])]),
        problem(&[(vec![], vec![true, false]), (vec![], vec![false, true]), (vec![], vec![false, true])]),
        problem(&[(vec![1, 1], vec![true, false]), (vec![1, 1], vec![false, true])]),
    ];
    for (number, case) in cases.iter().enumerate() {
        for text in [
            "svm",
            "svm(loss=squared)",
            "svm(c=1e12,iterations=50)",
            "svm(c=1e12,loss=squared,iterations=50)",
            "svm(c=1e-12)",
            "svm(multi=ovo)",
            "svm(classes=balanced)",
            "svm(vectors=tf,c=1e12,iterations=50)",
        ] {
            let fit = svm(text).fit(case, &Silent).unwrap();
            let trained = (0..case.labels()).filter(|&l| case.assignments.indices().contains(&(l as u32))).count();
            let mut models = vec![fit.model.clone(), fit.model.quantised().unwrap(), fit.model.pruned(1.0).unwrap()];
            models.push(BayesOptions::default().fit(case).unwrap());
            models.push("bayes(multi=ovr)".parse::<BayesOptions>().unwrap().fit(case).unwrap());
            for model in models {
                for query in [case.query(0), Query { features: &[], counts: &[], length: 0 }] {
                    let ranked = rank(&model, query);
                    assert_eq!(ranked.len(), trained, "{text} on case {number}");
                    assert!(ranked.iter().all(|s| s.score.is_finite()), "{text} on case {number}: {ranked:?}");
                }
            }
            for s in &fit.solutions {
                assert!(s.gap.is_finite() && s.primal.is_finite(), "{text} on case {number}: {s:?}");
            }
        }
    }
    // Without any feature to go by, the larger label is ahead.
    let ranked =
        rank(&BayesOptions::default().fit(&cases[2]).unwrap(), Query { features: &[], counts: &[], length: 0 });
    assert_eq!(ranked[0].label, 1);
}

#[test]
fn sizes_must_ascend() {
    let error = BayesOptions::default().sweep(&golden(), &[5, 3]).unwrap_err();
    assert!(error.to_string().contains("must ascend"), "{error}");
}

#[test]
fn bayes_names_round_trip() {
    for name in ["bayes", "bayes(multi=ovr)"] {
        assert_eq!(name.parse::<BayesOptions>().unwrap().to_string(), name);
    }
    assert_eq!("bayes(multi=joint)".parse::<BayesOptions>().unwrap().to_string(), "bayes");
    assert!("bayes(multi=ovo)".parse::<BayesOptions>().unwrap_err().to_string().contains("ovr"));
}

#[test]
fn a_user_can_stop_the_fit() {
    struct Stopped;
    impl Progress for Stopped {
        fn cancelled(&self) -> bool {
            true
        }
    }
    for text in ["svm", "svm(multi=ovo)"] {
        assert!(matches!(svm(text).fit(&golden(), &Stopped), Err(Error::Interrupted)));
    }
}

#[test]
fn stored_parts_are_checked() {
    let model = svm("svm").fit(&golden(), &Silent).unwrap().model;
    let parts = model.parts().clone();
    assert_eq!(Linear::from_parts(parts.clone()).unwrap(), model);
    let refused = |change: &dyn Fn(&mut LinearParts)| {
        let mut parts = parts.clone();
        change(&mut parts);
        Linear::from_parts(parts).unwrap_err().to_string()
    };
    assert!(refused(&|p| p.bias[1] = f64::NAN).contains("finite"));
    assert!(refused(&|p| p.bias.truncate(1)).contains("instead of 4"));
    assert!(refused(&|p| p.labels = 3).contains("below 3"));
    assert!(refused(&|p| p.weights = Weights::single(Csr::new(4))).contains("not for 15 features"));
    assert!(refused(&|p| p.common = vec![0.0; 3]).contains("instead of 15"));
    assert!(refused(&|p| p.outputs = Outputs::Values(vec![0, 2, 1, 3])).contains("ascend"));
    assert!(
        refused(&|p| p.outputs = Outputs::Votes { labels: vec![0, 1], pairs: vec![(0, 5)] }).contains("out of range")
    );
}

#[test]
fn votes_decide_and_sums_break_ties() {
    // Three labels beat each other in a circle: one vote each, and the sums 2 − 1, 3 − 2, 1 − 3 decide.
    let weights = Weights::single(Csr::from_parts(3, vec![0], vec![], vec![]));
    let model = Linear::from_parts(LinearParts {
        labels: 4,
        weighter: Weighter::from_parts(Weighting::Tf, vec![], 0.0).unwrap(),
        outputs: Outputs::Votes { labels: vec![0, 2, 3], pairs: vec![(0, 1), (0, 2), (1, 2)] },
        weights,
        bias: vec![2.0, -1.0, 3.0],
        every: vec![],
        common: vec![],
    })
    .unwrap();
    let ranked = rank(&model, Query { features: &[], counts: &[], length: 0 });
    let squash = |s: f64| 1.0 + s / (3.0 * (1.0 + s.abs()));
    let expected = [(0, squash(1.0)), (2, squash(1.0)), (3, squash(-2.0))];
    assert_eq!(ranked, expected.map(|(label, score)| Scored { label, score }));
}
