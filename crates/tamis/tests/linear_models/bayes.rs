//! Bayes.

use proptest::prelude::*;
use tamis::classify::{BayesOptions, Linear, Query, Scratch};

use super::{close, documents, golden, prefix, problem, rank, scores};

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

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Sizes in one pass are the separate fits, bit by bit; so are unknown features ignored.
    #[test]
    fn a_bayes_sweep_is_separate_fits(rows in documents(12), ovr: bool, prior: bool) {
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let name = match (ovr, prior) {
            (false, false) => "bayes",
            (true, false) => "bayes(multi=ovr)",
            (false, true) => "bayes(prior=2.5)",
            (true, true) => "bayes(multi=ovr,prior=2.5)",
        };
        let options: BayesOptions = name.parse().unwrap();
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

    /// Bayes by the formulas of method 7, term by term.
    #[test]
    fn bayes_follows_the_formula(rows in documents(12), m in prop::option::of(0.1f64..300.0)) {
        let problem = problem(&rows);
        let trained: Vec<usize> = (0..3).filter(|&l| rows.iter().any(|(_, is)| is[l])).collect();
        prop_assume!(!trained.is_empty());
        let model = BayesOptions { prior: m, ..BayesOptions::default() }.fit(&problem).unwrap();
        let tokens: u32 = problem.lengths.iter().sum();
        // Occurrences more of each feature: one, or its share of m.
        let more: Vec<f64> = (0..6)
            .map(|f| m.map_or(1.0, |m| m * f64::from(rows.iter().map(|(c, _)| c[f]).sum::<u32>()) / f64::from(tokens.max(1))))
            .collect();
        let all: usize = rows.iter().map(|(_, is)| is.iter().filter(|i| **i).count()).sum();
        for (counts, _) in &rows {
            let logs: Vec<f64> = trained.iter().map(|&l| {
                let of: Vec<&Vec<u32>> = rows.iter().filter(|(_, is)| is[l]).map(|(c, _)| c).collect();
                let total: u32 = of.iter().flat_map(|c| c.iter()).sum();
                let prior = (1.0 + of.len() as f64) / (all as f64 + trained.len() as f64);
                prior.ln() + counts.iter().enumerate().map(|(f, &tf)| {
                    let n = of.iter().map(|c| c[f]).sum::<u32>();
                    if tf == 0 { return 0.0; }
                    f64::from(tf) * ((more[f] + f64::from(n)) / (more.iter().sum::<f64>() + f64::from(total))).ln()
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
}

#[test]
fn sizes_must_ascend() {
    let error = BayesOptions::default().sweep(&golden(), &[5, 3]).unwrap_err();
    assert!(error.to_string().contains("must ascend"), "{error}");
}

#[test]
fn bayes_names_round_trip() {
    for name in ["bayes", "bayes(multi=ovr)", "bayes(prior=100)", "bayes(multi=ovr,prior=0.5)"] {
        assert_eq!(name.parse::<BayesOptions>().unwrap().to_string(), name);
    }
    assert_eq!("bayes(multi=joint)".parse::<BayesOptions>().unwrap().to_string(), "bayes");
    for wrong in ["bayes(prior=0)", "bayes(prior=-1)", "bayes(prior=inf)", "bayes(prior=x)"] {
        assert!(wrong.parse::<BayesOptions>().is_err(), "{wrong}");
    }
    assert!("bayes(multi=ovo)".parse::<BayesOptions>().unwrap_err().to_string().contains("ovr"));
}
