//! The linear model.

use proptest::prelude::*;
use tamis::Silent;
use tamis::classify::{Linear, LinearParts, Outputs, Query, Scored, Weighter, Weighting, Weights};
use tamis::counts::Csr;

use super::{documents, golden, problem, rank, svm_of};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// An explanation adds up to the score; quantised and pruned models stay within their bounds.
    #[test]
    fn parts_add_up(rows in documents(15), text in prop::sample::select(vec!["svm", "svm(vectors=okapi)", "svm(vectors=binary)"])) {
        let problem = problem(&rows);
        prop_assume!(problem.assignments.entries() > 0);
        let model = svm_of(text).fit(&problem, &Silent).unwrap().model;
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

#[test]
fn stored_parts_are_checked() {
    let model = svm_of("svm").fit(&golden(), &Silent).unwrap().model;
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
        weighter: Weighter::from_parts(Weighting::Tf, vec![], 0.0, vec![]).unwrap(),
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
