//! Logistic regression: against scikit-learn's frozen numbers, against plain gradient descent, and at the edges.

use proptest::prelude::*;
use tamis::classify::logistic::Form;
use tamis::classify::{Classifier, LogisticOptions, Outputs, Problem, Weighter};
use tamis::{Error, Progress, Silent};

use super::{close, documents, golden, larger, prefix, problem, rank, scores};

pub(super) fn logistic_of(text: &str) -> LogisticOptions {
    text.parse().unwrap()
}

/// From scikit-learn 1.9.1 on the data of [`golden`], with a column of ones for the bias:
/// ```python
/// one = np.hstack([X, np.ones((60, 1))])
/// how = dict(tol=1e-12, max_iter=10**5, fit_intercept=False, solver="newton-cg")
/// for c in (0.05, 1.0):
///     for l in range(4):
///         w = LogisticRegression(C=c, **how).fit(one, Y[:, l]).coef_[0]
///         p = w @ w / 2 + c * np.logaddexp(0, -(2 * Y[:, l] - 1) * (one @ w)).sum()
///         print(p, w[15], w[0], w[7])
/// D, L = np.nonzero(Y)          # a document with several labels is a row for each of them
/// for c, classes in ((0.05, None), (1.0, None), (1.0, "balanced")):
///     print(LogisticRegression(C=c, class_weight=classes, **how).fit(one[D], L).coef_[:, [15, 0, 7]])
/// ```
#[test]
fn logistic_is_that_of_scikit_learn() {
    let problem = golden();
    let each: [(&str, [[f64; 4]; 4]); 2] = [
        (
            "logistic(vectors=tf,gap=1e-15,form=ovr,c=0.05)",
            [
                [1.406_777_3, -0.230_933_9, 0.107_964_6, -0.309_580_7],
                [1.681_581_1, -0.170_177_9, -0.200_075_1, -0.230_647_2],
                [1.871_877_9, -0.025_970_3, -0.045_697, 0.013_144_4],
                [1.377_194_7, -0.351_816, -0.212_792_3, -0.185_998_1],
            ],
        ),
        (
            "logistic(vectors=tf,gap=1e-15,form=ovr)",
            [
                [16.093_574_8, -0.822_233_7, 0.885_348_8, -1.122_698_2],
                [24.138_133_9, -0.587_760_6, -0.625_359_7, -0.677_426_8],
                [28.651_955_3, 0.092_511_9, -0.078_572_4, -0.041_964_9],
                [15.476_661_6, -1.768_797_5, -0.597_218_3, -0.244_200_8],
            ],
        ),
    ];
    for (name, labels) in each {
        let fit = logistic_of(name).fit(&problem, &Silent).unwrap();
        for (label, expected) in labels.into_iter().enumerate() {
            let solution = fit.solutions[label];
            let label = label as u32;
            assert!(solution.converged && solution.label == Some(label), "{name}: {solution:?}");
            let found =
                [solution.primal, fit.model.bias(label), fit.model.weight(label, 0), fit.model.weight(label, 7)];
            close(&found, &expected, 3e-7);
        }
    }
    let together: [(&str, [[f64; 3]; 4]); 3] = [
        (
            "logistic(vectors=tf,gap=1e-15,form=multinomial,c=0.05)",
            [
                [-0.031_527_6, 0.169_387_1, -0.146_884_5],
                [0.025_099_8, -0.086_638_3, -0.011_499_4],
                [0.156_332_1, 0.027_551_4, 0.179_004_2],
                [-0.149_904_2, -0.110_300_3, -0.020_620_3],
            ],
        ),
        (
            "logistic(vectors=tf,gap=1e-15,form=multinomial)",
            [
                [0.051_246_1, 0.689_070_2, -0.618_218_1],
                [0.170_017_1, -0.316_426_4, 0.067_455_5],
                [0.748_653_4, -0.039_411, 0.273_579_3],
                [-0.969_916_6, -0.333_232_9, 0.277_183_4],
            ],
        ),
        (
            "logistic(vectors=tf,gap=1e-15,form=multinomial,classes=balanced)",
            [
                [0.282_254, 0.767_100_3, -0.716_423_9],
                [0.264_485_7, -0.334_677_5, 0.046_295],
                [0.483_085_2, -0.072_531_6, 0.267_437_2],
                [-1.029_824_9, -0.359_891_2, 0.402_691_7],
            ],
        ),
    ];
    for (name, labels) in together {
        let fit = logistic_of(name).fit(&problem, &Silent).unwrap();
        assert_eq!(fit.solutions.len(), 1);
        assert!(fit.solutions[0].converged, "{name}: {:?}", fit.solutions);
        for (label, expected) in labels.into_iter().enumerate() {
            let label = label as u32;
            close(&[fit.model.bias(label), fit.model.weight(label, 0), fit.model.weight(label, 7)], &expected, 3e-7);
        }
    }
}

/// The vectors of a problem, with the constant feature last.
fn dense(options: &LogisticOptions, problem: &Problem) -> Vec<Vec<f64>> {
    let weighter: Weighter = options.vectors.fit(problem).unwrap();
    let mut buffer = Vec::new();
    let row = |d: usize| {
        let query = problem.query(d);
        weighter.weigh(query, &mut buffer);
        let mut row = vec![0.0; problem.features() + 1];
        query.features.iter().zip(&buffer).for_each(|(&f, &w)| row[f as usize] = w);
        row[problem.features()] = 1.0;
        row
    };
    (0..problem.documents()).map(row).collect()
}

/// `P(W)` for weights label by label, and its gradient.
fn objective(rows: &[Vec<f64>], is: &[Vec<bool>], options: &LogisticOptions, w: &[Vec<f64>]) -> (f64, Vec<Vec<f64>>) {
    let mut value = 0.5 * w.iter().flatten().map(|w| w * w).sum::<f64>();
    let mut gradient = w.to_vec();
    for (row, is) in rows.iter().zip(is) {
        let z: Vec<f64> = w.iter().map(|w| w.iter().zip(row).map(|(w, x)| w * x).sum()).collect();
        let log_sum = z.iter().map(|z| z.exp()).sum::<f64>().ln();
        let mass = is.iter().filter(|is| **is).count() as f64;
        for label in 0..w.len() {
            let slope = if options.form == Some(Form::Multinomial) {
                value += options.c * if is[label] { log_sum - z[label] } else { 0.0 };
                mass * (z[label] - log_sum).exp() - f64::from(u8::from(is[label]))
            } else {
                let y = if is[label] { 1.0 } else { -1.0 };
                value += options.c * (-y * z[label]).exp().ln_1p();
                -y / (1.0 + (y * z[label]).exp())
            };
            gradient[label].iter_mut().zip(row).for_each(|(g, x)| *g += options.c * slope * x);
        }
    }
    (value, gradient)
}

/// Plain gradient descent, with a step that grows while it helps.
fn slow(rows: &[Vec<f64>], is: &[Vec<bool>], options: &LogisticOptions) -> f64 {
    let mut w = vec![vec![0.0; rows[0].len()]; is[0].len()];
    let (mut value, mut gradient) = objective(rows, is, options, &w);
    let mut step = 0.1;
    for _ in 0..20_000 {
        let next: Vec<Vec<f64>> =
            w.iter().zip(&gradient).map(|(w, g)| w.iter().zip(g).map(|(w, g)| w - step * g).collect()).collect();
        let (at, slope) = objective(rows, is, options, &next);
        if at < value {
            (w, value, gradient) = (next, at, slope);
            step *= 1.2;
        } else {
            step *= 0.5;
        }
        if step < 1e-14 || gradient.iter().flatten().map(|g| g * g).sum::<f64>() < 1e-16 {
            break;
        }
    }
    value
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// What is reported is true, and no slow solver finds a smaller value than the gap allows.
    #[test]
    fn logistic_solves_to_the_gap_it_reports(
        rows in documents(20),
        c in prop::sample::select(vec![0.1, 1.0, 5.0]),
        multinomial: bool,
        weighting in prop::sample::select(vec!["tfidf", "binary", "tf"]),
    ) {
        let form = if multinomial { Form::Multinomial } else { Form::Ovr };
        let options = LogisticOptions {
            c, form: Some(form), vectors: weighting.parse().unwrap(), ..LogisticOptions::default()
        };
        let problem = problem(&rows);
        // Labels without a document take no part.
        prop_assume!((0..3).all(|l| rows.iter().any(|(_, is)| is[l])));
        let fit = options.fit(&problem, &Silent).unwrap();
        let reported: f64 = fit.solutions.iter().map(|s| s.primal).sum();
        prop_assert!(fit.solutions.iter().all(|s| s.converged && s.gap <= options.gap * s.primal), "{:?}", fit.solutions);
        let vectors = dense(&options, &problem);
        let is: Vec<Vec<bool>> = rows.iter().map(|(_, is)| is.clone()).collect();
        let model = &fit.model;
        let weights: Vec<Vec<f64>> = (0..3u32)
            .map(|l| (0..6).map(|f| model.weight(l, f)).chain([model.bias(l)]).collect())
            .collect();
        let (found, _) = objective(&vectors, &is, &options, &weights);
        prop_assert!((found - reported).abs() <= 1e-5 * found, "{found} {reported}");
        let best = slow(&vectors, &is, &options);
        prop_assert!(found <= best * (1.0 + 2e-6) , "{found} against {best}");
        prop_assert!(best <= found * (1.0 + 1e-4), "{found} against {best}");
        // Scores are log probabilities.
        let p: Vec<f64> = scores(model, problem.query(0)).into_iter().map(f64::exp).collect();
        prop_assert!(p.iter().all(|p| (0.0..=1.0).contains(p)));
        if multinomial {
            prop_assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        }
    }
}

#[test]
fn the_form_is_told_from_the_documents() {
    let form = |rows: &[(Vec<u32>, Vec<bool>)]| {
        let fit = logistic_of("logistic").fit(&problem(rows), &Silent).unwrap();
        (fit.model.parts().outputs.clone(), fit.solutions.len())
    };
    let of = |labels: [bool; 3]| (vec![1, u32::from(labels[0]), u32::from(labels[1])], labels.to_vec());
    let [a, b, c] = [of([true, false, false]), of([false, true, false]), of([false, false, true])];
    assert_eq!(form(&[a.clone(), b.clone(), c.clone()]), (Outputs::Posteriors(vec![0, 1, 2]), 1));
    assert_eq!(form(&[a.clone(), b.clone()]), (Outputs::Odds(vec![0, 1]), 2));
    assert_eq!(form(&[a.clone(), b.clone(), c.clone(), of([true, true, false])]).0, Outputs::Odds(vec![0, 1, 2]));
    assert_eq!(form(&[a, b, c, of([false, false, false])]).0, Outputs::Odds(vec![0, 1, 2]));
}

/// One problem for two labels is what two problems, or both labels together, come to.
#[test]
fn two_labels_that_exclude_each_other_are_one_problem() {
    let data: Vec<(Vec<u32>, Vec<bool>)> = (0..golden().documents())
        .map(|d| {
            let golden = golden();
            let counts = (0..15).map(|f| golden.matrix.get(d, f).unwrap_or(0)).collect();
            let is = golden.assignments.get(d, 2).is_some();
            (counts, vec![is, !is])
        })
        .collect();
    let both = problem(&data);
    // A third label that no document lacks or has alone makes them two problems: here one document has both.
    let alone: Vec<Problem> = [0, 1]
        .map(|l| problem(&data.iter().map(|(counts, is)| (counts.clone(), vec![is[l]])).collect::<Vec<_>>()))
        .to_vec();
    for classes in ["equal", "balanced"] {
        let options = logistic_of(&format!("logistic(vectors=tf,gap=1e-14,classes={classes},form=ovr)"));
        let once = options.fit(&both, &Silent).unwrap();
        for (label, alone) in alone.iter().enumerate() {
            let fit = options.fit(alone, &Silent).unwrap();
            let of = |m: &tamis::classify::Linear, l: u32| -> Vec<f64> {
                (0..15).map(|f| m.weight(l, f)).chain([m.bias(l)]).collect()
            };
            close(&of(&once.model, label as u32), &of(&fit.model, 0), 1e-6);
        }
        let p: f64 = scores(&once.model, both.query(3)).into_iter().map(f64::exp).sum();
        assert!((p - 1.0).abs() < 1e-12);
    }
    // All together: the general solver with a third label that no document has cannot be asked for, so the objective is looked at.
    let options = logistic_of("logistic(vectors=tf,gap=1e-14,form=multinomial)");
    let fit = options.fit(&both, &Silent).unwrap();
    let weights: Vec<Vec<f64>> =
        (0..2u32).map(|l| (0..15).map(|f| fit.model.weight(l, f)).chain([fit.model.bias(l)]).collect()).collect();
    let is: Vec<Vec<bool>> = data.iter().map(|(_, is)| is.clone()).collect();
    let (_, gradient) = objective(&dense(&options, &both), &is, &options, &weights);
    assert!(gradient.iter().flatten().all(|g| g.abs() < 1e-5), "{gradient:?}");
}

#[test]
fn logistic_does_not_depend_on_threads() {
    let problem = larger();
    for text in ["logistic(form=ovr)", "logistic(form=multinomial,c=10)"] {
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| logistic_of(text).fit(&problem, &Silent).unwrap())
        };
        let (one, three) = (fit(1), fit(3));
        assert_eq!(one.model, three.model, "{text}");
        assert_eq!(one.solutions, three.solutions);
        assert!(one.solutions.iter().all(|s| s.converged), "{:?}", one.solutions);
    }
}

#[test]
fn logistic_starts_warm() {
    let problem = larger();
    for text in ["logistic(form=ovr)", "logistic(form=multinomial)"] {
        let options = logistic_of(text);
        let first = options.fit(&problem, &Silent).unwrap();
        let same = options.fit_size(&problem, 300, Some(&first.model), &Silent).unwrap();
        assert!(same.solutions.iter().all(|s| s.iterations <= 1), "{:?}", same.solutions);
        let total = |fit: &tamis::classify::LogisticFit| fit.solutions.iter().map(|s| s.primal).sum::<f64>();
        let mut swept = Vec::new();
        let sizes = [100, 200, 300];
        options
            .sweep(&problem, &sizes, &Silent, |size, fit| {
                swept.push((size, total(fit)));
                Ok(())
            })
            .unwrap();
        for (size, found) in swept {
            let cold = total(&options.fit(&prefix(&problem, size), &Silent).unwrap());
            assert!((found / cold - 1.0).abs() < 2.0 * options.gap, "{text} at {size}: {found} {cold}");
        }
    }
}

#[test]
fn logistic_at_the_edges() {
    // One label on every document, none on some label, a document without features, no feature at all.
    let cases = [
        problem(&[(vec![1, 2], vec![true]), (vec![0, 1], vec![true])]),
        problem(&[(vec![1, 2], vec![true, false]), (vec![0, 0], vec![true, false]), (vec![0, 3], vec![false, false])]),
        problem(&[(vec![], vec![true, false]), (vec![], vec![false, true]), (vec![], vec![false, true])]),
        problem(&[(vec![1, 1], vec![true, true]), (vec![1, 1], vec![false, true])]),
    ];
    for case in &cases {
        for form in ["", ",form=ovr", ",form=multinomial"] {
            for c in ["1e-12", "1", "1e6"] {
                let fit = logistic_of(&format!("logistic(c={c}{form})")).fit(case, &Silent).unwrap();
                for model in [fit.model.clone(), fit.model.quantised().unwrap()] {
                    assert!(rank(&model, case.query(0)).iter().all(|s| s.score.is_finite()));
                    assert_eq!(model.labels(), case.labels());
                }
                assert!(fit.solutions.iter().all(|s| s.gap.is_finite() && s.primal.is_finite()));
            }
        }
    }
    let none = problem(&[(vec![1, 0], vec![false]), (vec![0, 1], vec![false])]);
    assert!(matches!(logistic_of("logistic").fit(&none, &Silent), Err(Error::Data { .. })));
    struct Stopped;
    impl Progress for Stopped {
        fn cancelled(&self) -> bool {
            true
        }
    }
    assert!(matches!(logistic_of("logistic").fit(&golden(), &Stopped), Err(Error::Interrupted)));
}
