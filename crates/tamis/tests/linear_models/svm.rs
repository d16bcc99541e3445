//! The SVM.

use proptest::prelude::*;
use tamis::classify::svm::{ClassWeights, Loss, Multi};
use tamis::classify::{Linear, Outputs, Problem, SvmFit, SvmOptions, Weighting};
use tamis::{Error, Progress, Silent};

use super::{close, documents, golden, larger, prefix, problem, rank, svm_of};

#[test]
fn svm_is_that_of_liblinear() {
    let problem = golden();
    // Loss, C, and for each label: objective, bias, weights of features 0 and 7.
    let golden: [(&str, [[f64; 4]; 4]); 4] = [
        (
            "svm(vectors=tf,gap=1e-10,loss=hinge,c=0.05)",
            [
                [1.217_648_5, -0.348_91, 0.150_65, -0.214_97],
                [1.668_133_3, -0.286_21, -0.275_69, -0.279_27],
                [2.133_905_6, -0.064_11, -0.116_56, 0.025_9],
                [1.008_689_5, -0.511_23, -0.197_91, -0.088_53],
            ],
        ),
        (
            "svm(vectors=tf,gap=1e-10,loss=hinge)",
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
        let fit = svm_of(name).fit(&problem, &Silent).unwrap();
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
    let weighter = options.vectors.fit(problem).unwrap();
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

fn svm_options() -> impl Strategy<Value = SvmOptions> {
    (prop::sample::select(vec![0.1, 1.0, 5.0]), any::<bool>(), 0usize..4, any::<bool>(), any::<u64>()).prop_map(
        |(c, squared, weighting, balanced, seed)| SvmOptions {
            c,
            loss: if squared { Loss::Squared } else { Loss::Hinge },
            vectors: Weighting::ALL[weighting].into(),
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
            prop_assert!(solution.gap >= -1e-6 * solution.primal && solution.gap <= options.gap() * solution.primal);
            let found = primal(&options, &problem, &fit.model, solution.label);
            prop_assert!((found - solution.primal).abs() <= 1e-5 * found.max(1e-3), "{found} {solution:?}");
            let dual = slow_dual(&options, &problem, solution.label);
            prop_assert!(dual <= found * (1.0 + 1e-5) + 1e-9, "dual {dual} above primal {found}");
            // The slow solver may not be at its optimum; ours is at least as good as the gap says.
            prop_assert!(found - dual <= options.gap() * found + 1e-4 * found, "{dual} {found}");
        }
    }

    /// A pair of one-vs-one is the two-label problem on its documents.
    #[test]
    fn one_vs_one_is_a_problem_for_each_pair(rows in documents(20), squared: bool) {
        let options = SvmOptions {
            multi: Multi::Ovo,
            loss: if squared { Loss::Squared } else { Loss::Hinge },
            vectors: Weighting::Tf.into(),
            gap: Some(1e-9),
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
            let expected = binary.fit(&super::problem(&two), &Silent).unwrap().solutions[0].primal;
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
}

fn objective(fit: &SvmFit) -> f64 {
    fit.solutions.iter().map(|s| s.primal).sum()
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let problem = larger();
    for text in ["svm", "svm(loss=hinge,c=3)", "svm(multi=ovo,gap=0.01)"] {
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| svm_of(text).fit(&problem, &Silent).unwrap())
        };
        let (one, three) = (fit(1), fit(3));
        assert_eq!(one.model, three.model, "{text}");
        assert_eq!(one.solutions, three.solutions);
        assert_eq!(one.duals, three.duals);
        assert!(one.solutions.iter().all(|s| s.converged));
        let other_seed = SvmOptions { seed: 1, ..svm_of(text) }.fit(&problem, &Silent).unwrap();
        assert_ne!(one.model, other_seed.model, "the seed does something");
        let ratio = objective(&one) / objective(&other_seed);
        assert!((ratio - 1.0).abs() < svm_of(text).gap(), "{text}: {ratio}");
    }
}

#[test]
fn warm_starts_save_passes_and_change_nothing_else() {
    let problem = larger();
    for text in ["svm", "svm(loss=hinge)"] {
        let options = svm_of(text);
        let passes = |fit: &SvmFit| fit.solutions.iter().map(|s| s.iterations).sum::<usize>();
        // Over C.
        let first = options.fit(&problem, &Silent).unwrap();
        let same = options.fit_size(&problem, 300, Some(&first.duals), &Silent).unwrap();
        assert_eq!(passes(&same), 0, "the solution is found again at once");
        let more = SvmOptions { c: 1.5, ..options.clone() };
        let (cold, warm) =
            (more.fit(&problem, &Silent).unwrap(), more.fit_size(&problem, 300, Some(&first.duals), &Silent).unwrap());
        assert!(passes(&warm) < passes(&cold), "{text}: {} against {}", passes(&warm), passes(&cold));
        assert!((objective(&warm) / objective(&cold) - 1.0).abs() < options.gap());
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
            assert!((objective_of_size / objective(&cold) - 1.0).abs() < options.gap(), "{text} at {size}");
            cold_passes += passes(&cold);
            warm_passes += passes_of_size;
        }
        assert!(warm_passes < cold_passes, "{text}: {warm_passes} against {cold_passes}");
    }
}

#[test]
fn a_warm_start_scales_with_the_cost() {
    // With so small a cost every document is inside the margin and has the largest dual variable, C; so for twice the cost
    // the scaled variables are the solution already.
    let problem = golden();
    let first = svm_of("svm(c=1e-4,loss=hinge)").fit(&problem, &Silent).unwrap();
    let twice = svm_of("svm(c=2e-4,loss=hinge)").fit_size(&problem, 15, Some(&first.duals), &Silent).unwrap();
    assert!(first.solutions.iter().all(|s| s.supports == problem.documents()));
    assert!(twice.solutions.iter().all(|s| s.iterations == 0 && s.converged), "{:?}", twice.solutions);
}

#[test]
fn a_warm_start_of_other_documents_is_refused() {
    let fit = svm_of("svm").fit(&golden(), &Silent).unwrap();
    let error = svm_of("svm").fit_size(&larger(), 300, Some(&fit.duals), &Silent).unwrap_err();
    assert!(error.to_string().contains("same documents"), "{error}");
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
        assert!(matches!(svm_of(text).fit(&golden(), &Stopped), Err(Error::Interrupted)));
    }
}
