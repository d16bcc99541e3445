//! The SVM on a real corpus, against liblinear. Needs the folder of corpora in `TAMIS_DATA`.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use tamis::Silent;
use tamis::classify::{Classifier, Linear, Problem, Scratch};
use tamis::counts::Csr;

use super::svm_of;

/// Labels, a blank, and `term:weight` pairs; terms count as occurring once.
fn rcv1(path: &Path) -> Problem {
    let text = std::fs::read_to_string(path).unwrap();
    let documents: Vec<(Vec<&str>, BTreeSet<u32>)> = text
        .lines()
        .map(|line| {
            let (labels, terms): (Vec<&str>, Vec<&str>) = line.split_whitespace().partition(|word| !word.contains(':'));
            let term = |word: &str| word.split(':').next().unwrap().parse().unwrap();
            (labels.iter().flat_map(|l| l.split(',')).collect(), terms.into_iter().map(term).collect())
        })
        .collect();
    let names: BTreeSet<&str> = documents.iter().flat_map(|(labels, _)| labels.iter().copied()).collect();
    let ids: BTreeMap<&str, u32> = names.into_iter().zip(0..).collect();
    let terms = documents.iter().flat_map(|(_, terms)| terms.iter()).max().unwrap() + 1;
    let mut matrix = Csr::new(terms as usize);
    let mut assignments = Csr::new(ids.len());
    for (labels, terms) in &documents {
        matrix.push_row(terms.iter().map(|&t| (t, 1)));
        let labels: BTreeSet<u32> = labels.iter().map(|l| ids[l]).collect();
        assignments.push_row(labels.into_iter().map(|l| (l, ())));
    }
    Problem::of(matrix, documents.iter().map(|(_, t)| t.len() as u32).collect(), assignments)
}

/// The given documents of a problem.
fn select(problem: &Problem, keep: impl Fn(usize) -> bool) -> Problem {
    let rows: Vec<usize> = (0..problem.documents()).filter(|&d| keep(d)).collect();
    Problem::of(
        problem.matrix.select_rows(&rows),
        rows.iter().map(|&r| problem.lengths[r]).collect(),
        problem.assignments.select_rows(&rows),
    )
}

/// The first label of each document, and how many labels have a positive value.
fn predict(model: &Linear, problem: &Problem) -> (Vec<u32>, usize) {
    let (mut scratch, mut ranked, mut positive) = (Scratch::default(), Vec::new(), 0);
    let first = (0..problem.documents()).map(|d| {
        model.rank(problem.query(d), &mut scratch, &mut ranked);
        positive += ranked.iter().filter(|s| s.score > 0.0).count();
        ranked[0].label
    });
    (first.collect(), positive)
}

fn same(a: &[u32], b: &[u32]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

/// Every fifth document is for testing. The numbers are: objectives summed over the 102 labels, test documents whose first
/// label is right, and positive values over all test documents and labels, from scikit-learn 1.9.1:
/// ```python
/// import numpy as np, scipy.sparse as sp
/// from sklearn.svm import LinearSVC
/// docs = [line.split() for line in open('rcv1/rcv1-15k.svm')]
/// names = [d[0].split(',') if ':' not in d[0] else [] for d in docs]
/// ids = {n: i for i, n in enumerate(sorted({n for d in names for n in d}))}
/// Y = np.zeros((len(docs), len(ids)), dtype=int)
/// for d, l in enumerate(names): Y[d, [ids[n] for n in l]] = 1
/// terms = [[int(t.split(':')[0]) for t in d if ':' in t] for d in docs]
/// rows = np.repeat(np.arange(len(docs)), [len(t) for t in terms]); cols = np.concatenate(terms)
/// X = sp.csr_matrix((np.ones(len(cols)), (rows, cols)))
/// test = np.arange(len(docs)) % 5 == 0
/// df = np.bincount(cols[~test[rows]], minlength=X.shape[1])[X.indices]
/// X.data = np.log((~test).sum() / np.maximum(1, df)) * (df > 0)
/// X = (sp.diags(1 / np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())) @ X).tocsr()
/// for loss in ('hinge', 'squared_hinge'):
///     total = 0; S = np.zeros((test.sum(), len(ids)))
///     for l in range(len(ids)):
///         y = 2 * Y[~test, l] - 1
///         s = LinearSVC(loss=loss, tol=1e-4, max_iter=10**5, dual=True).fit(X[~test], y)
///         w, b = s.coef_[0], s.intercept_[0]; S[:, l] = X[test] @ w + b
///         e = np.maximum(0, 1 - y * (X[~test] @ w + b))
///         total += (w @ w + b * b) / 2 + (e.sum() if loss == 'hinge' else (e * e).sum())
///     print(loss, total, Y[test][np.arange(len(S)), S.argmax(1)].sum(), (S > 0).sum())
/// ```
#[test]
fn svm_on_rcv1_is_that_of_liblinear() {
    let Some(data) = std::env::var_os("TAMIS_DATA") else {
        println!("skipped: TAMIS_DATA is not set");
        return;
    };
    let all = rcv1(&Path::new(&data).join("rcv1/rcv1-15k.svm"));
    assert_eq!((all.documents(), all.labels(), all.matrix.entries()), (14401, 102, 1_119_728));
    let (train, test) = (select(&all, |d| d % 5 != 0), select(&all, |d| d % 5 == 0));
    let numbers = [("hinge", 26_283.650, 2755, 6987), ("squared", 21_176.611, 2753, 7274)];
    for (loss, objective, right, positive) in numbers {
        let fit = svm_of(&format!("svm(loss={loss})")).fit(&train, &Silent).unwrap();
        assert!(fit.solutions.iter().all(|s| s.converged));
        let found: f64 = fit.solutions.iter().map(|s| s.primal).sum();
        assert!((found / objective - 1.0).abs() < 1e-4, "{loss}: {found} is not {objective}");
        let (first, positive_found) = predict(&fit.model, &test);
        let hits = (0..first.len()).filter(|&d| test.assignments.get(d, first[d]).is_some()).count();
        assert!(hits.abs_diff(right) <= 2, "{loss}: {hits} right, not {right}");
        assert!(positive_found.abs_diff(positive) <= 7, "{loss}: {positive_found} positive, not {positive}");
        let exact = svm_of(&format!("svm(loss={loss},gap=1e-8)")).fit(&train, &Silent).unwrap();
        let unchanged = same(&first, &predict(&exact.model, &test).0);
        println!("{loss}: {unchanged} of {} first labels are those of the exact solution", first.len());
        assert!(unchanged as f64 >= 0.999 * first.len() as f64, "{loss}: {unchanged}");
        let unchanged = same(&first, &predict(&fit.model.quantised().unwrap(), &test).0);
        println!("{loss}: {unchanged} first labels stay when weights have 8 bits");
        assert!(unchanged as f64 >= 0.99 * first.len() as f64, "{loss}: {unchanged}");
    }
}
