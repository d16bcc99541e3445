//! Labels whose vectors are their own, and NBSVM's interpolation.

use tamis::Silent;
use tamis::classify::{Linear, Problem, SvmFit};
use tamis::counts::Contingency;
use tamis::features::Formula;

use super::logistic::logistic_of;
use super::{close, golden, larger, rank, scores, svm_of};

/// `x·factor` for a label, with the constant feature last.
fn vectors(problem: &Problem, weighting: &str, formula: Formula, label: u32) -> (Vec<Vec<f64>>, Vec<f64>) {
    let table = Contingency::of_matrix(&problem.matrix, &problem.assignments).unwrap();
    let features = problem.features();
    let mut factors: Vec<f64> = (0..features as u32).map(|t| formula.of_cell(table.cell(t, label)).unwrap()).collect();
    factors.push(1.0);
    let weighter = weighting.parse::<tamis::classify::Vectors>().unwrap().fit(problem).unwrap();
    let mut buffer = Vec::new();
    let rows = (0..problem.documents())
        .map(|d| {
            let query = problem.query(d);
            weighter.weigh(query, &mut buffer);
            let mut row = vec![0.0; features + 1];
            query.features.iter().zip(&buffer).for_each(|(&f, &w)| row[f as usize] = w * factors[f as usize]);
            row[features] = 1.0;
            row
        })
        .collect();
    (rows, factors)
}

fn weights(model: &Linear, label: u32) -> Vec<f64> {
    (0..model.features() as u32).map(|f| model.weight(label, f)).chain([model.bias(label)]).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// At the solution the gradient of each label's objective is 0, in the label's own vectors; scores are those of the folded weights.
#[test]
fn every_label_is_solved_in_its_own_vectors() {
    let problem = golden();
    for (weighting, name, formula) in
        [("tf", "lpr", Formula::Lpr), ("tfidf", "rf", Formula::Rf), ("binary", "chi2max", Formula::Chi2)]
    {
        let svm = svm_of(&format!("svm(vectors={weighting}*{name}(per=label),gap=1e-12,c=0.5)"))
            .fit(&problem, &Silent)
            .unwrap();
        let logistic =
            logistic_of(&format!("logistic(vectors={weighting}*{name}(per=label),gap=1e-14,c=0.5,form=ovr)"))
                .fit(&problem, &Silent)
                .unwrap();
        for label in 0..4 {
            let (rows, factors) = vectors(&problem, weighting, formula, label);
            for (model, is_svm) in [(&svm.model, true), (&logistic.model, false)] {
                let folded = weights(model, label);
                let own: Vec<f64> =
                    folded.iter().zip(&factors).map(|(w, f)| if *f == 0.0 { 0.0 } else { w / f }).collect();
                let (mut gradient, mut value) = (own.clone(), 0.5 * dot(&own, &own));
                for (d, row) in rows.iter().enumerate() {
                    let y = if problem.assignments.get(d, label).is_some() { 1.0 } else { -1.0 };
                    let z = dot(&own, row);
                    let slope = if is_svm {
                        let e = (1.0 - y * z).max(0.0);
                        value += 0.5 * e * e;
                        -e * y
                    } else {
                        value += 0.5 * (-y * z).exp().ln_1p();
                        -0.5 * y / (1.0 + (y * z).exp())
                    };
                    gradient.iter_mut().zip(row).for_each(|(g, x)| *g += slope * x);
                    let score = scores(model, problem.query(d))[label as usize];
                    let expected = if is_svm { z } else { -(-z).exp().ln_1p() };
                    assert!((score - expected).abs() < 1e-4 * (1.0 + z.abs()), "{score} {expected}");
                }
                let solved = if is_svm {
                    svm.solutions[label as usize].primal
                } else {
                    logistic.solutions[label as usize].primal
                };
                assert!((value / solved - 1.0).abs() < 1e-5, "{name} {label}: {value} {solved}");
                let scale = rows.iter().flatten().fold(1.0f64, |m, x| m.max(x.abs()));
                assert!(gradient.iter().all(|g| g.abs() < 2e-4 * scale), "{name} {label} {is_svm}: {gradient:?}");
            }
        }
    }
}

#[test]
fn multinomial_may_have_own_vectors_too() {
    let problem = golden();
    let fit =
        logistic_of("logistic(vectors=tf*lpr(per=label),form=multinomial,gap=1e-13)").fit(&problem, &Silent).unwrap();
    assert!(fit.solutions[0].converged);
    let p: f64 = scores(&fit.model, problem.query(0)).into_iter().map(f64::exp).sum();
    assert!((p - 1.0).abs() < 1e-9);
    let warm = logistic_of("logistic(vectors=tf*lpr(per=label),form=multinomial)");
    assert!(warm.fit_size(&problem, 15, Some(&fit.model), &Silent).unwrap().solutions[0].iterations <= 1);
}

/// For two labels the pooled ratio is the label's own but for its sign, which the weights make up for.
#[test]
fn two_labels_have_the_same_answers_pooled_or_each_by_itself() {
    let rows: Vec<(Vec<u32>, Vec<bool>)> =
        super::golden_rows().into_iter().map(|(c, is)| (c, vec![is[2], !is[2]])).collect();
    let problem = super::problem(&rows);
    let fit = |text: &str| svm_of(text).fit(&problem, &Silent).unwrap().model;
    let (pooled, own) = (fit("svm(vectors=binary*lpr,gap=1e-10)"), fit("svm(vectors=binary*lpr(per=label),gap=1e-10)"));
    for d in 0..problem.documents() {
        close(&scores(&pooled, problem.query(d)), &scores(&own, problem.query(d)), 1e-4);
    }
}

#[test]
fn beta_lies_between_the_scores_of_terms_and_the_weights() {
    let problem = golden();
    let of =
        |beta: &str| svm_of(&format!("svm(vectors=binary*lpr(per=label){beta})")).fit(&problem, &Silent).unwrap().model;
    let (learned, between) = (of(""), of(",beta=0.25"));
    for label in 0..4 {
        let (_, factors) = vectors(&problem, "binary", Formula::Lpr, label);
        let (before, after) = (weights(&learned, label), weights(&between, label));
        let own = before[..15].iter().zip(&factors).map(|(w, f)| if *f == 0.0 { 0.0 } else { (w / f).abs() });
        let mean = own.sum::<f64>() / 15.0;
        let expected: Vec<f64> =
            before[..15].iter().zip(&factors).map(|(w, f)| 0.75 * mean * f + 0.25 * w).chain([before[15]]).collect();
        close(&after, &expected, 1e-5);
    }
}

#[test]
fn own_vectors_do_not_depend_on_threads_and_start_warm() {
    let problem = larger();
    for text in ["svm(vectors=tfidf*rf(per=label))", "svm(vectors=binary*lpr(per=label),loss=hinge,c=0.1)"] {
        let fit = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| svm_of(text).fit(&problem, &Silent).unwrap())
        };
        let (one, three) = (fit(1), fit(3));
        assert_eq!(one.model, three.model, "{text}");
        assert!(one.solutions.iter().all(|s| s.converged), "{text}");
        let again = svm_of(text).fit_size(&problem, 300, Some(&one.duals), &Silent).unwrap();
        assert!(again.solutions.iter().all(|s| s.converged && s.iterations <= 60), "{:?}", again.solutions);
        assert!(!rank(&again.model, problem.query(0)).is_empty());
    }
}

#[test]
fn a_path_of_costs_reaches_what_cold_fits_reach_with_fewer_passes() {
    let problem = larger();
    let costs = [0.1, 0.3, 1.0, 3.0];
    for text in ["svm", "svm(loss=hinge)", "svm(vectors=tfidf*rf(per=label))"] {
        let options = svm_of(text);
        let passes = |fit: &SvmFit| fit.solutions.iter().map(|s| s.iterations).sum::<usize>();
        let primal = |fit: &SvmFit| fit.solutions.iter().map(|s| s.primal).sum::<f64>();
        let (mut warm_passes, mut cold_passes, mut met) = (0, 0, Vec::new());
        let path = options.path(&problem, 300, &costs, &Silent, |c, fit| {
            met.push(c);
            let cold = tamis::classify::SvmOptions { c, ..options.clone() }.fit(&problem, &Silent)?;
            assert!(fit.solutions.iter().all(|s| s.converged && s.gap <= options.gap() * s.primal));
            assert!((primal(fit) / primal(&cold) - 1.0).abs() < options.gap(), "{text} at {c}");
            warm_passes += passes(fit);
            cold_passes += passes(&cold);
            Ok(())
        });
        path.unwrap();
        assert_eq!(met, costs);
        assert!(warm_passes < cold_passes, "{text}: {warm_passes} against {cold_passes}");
        println!("{text}: {warm_passes} passes against {cold_passes}");
    }
    let error = svm_of("svm").path(&problem, 300, &[1.0, 0.5], &Silent, |_, _| Ok(())).unwrap_err();
    assert!(error.to_string().contains("ascend"));
}
