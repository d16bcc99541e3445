"""Writes crates/tamis/tests/data/measure_goldens.json: what scikit-learn, trec_eval and scipy say about random data.

    python tests/python/make_measure_goldens.py

Needs numpy, scipy, scikit-learn, pytrec-eval-terrier. The Rust test `measure_goldens` reads the file and compares.
Where definitions differ the script says so and converts.
"""

import json
import pathlib
import warnings

import numpy as np
import pytrec_eval
import scipy
import scipy.optimize
import scipy.stats
import sklearn
import sklearn.metrics as sk
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression

warnings.filterwarnings("ignore")
rng = np.random.default_rng(20261115)
OUT = pathlib.Path(__file__).parents[2] / "crates" / "tamis" / "tests" / "data" / "measure_goldens.json"


def rows(matrix):
    return [np.flatnonzero(row).tolist() for row in matrix]


def ranked_case(documents, labels, keep):
    """Scores without ties; lists of all labels, or only the first `keep`. Documents may have no true label."""
    truth = (rng.random((documents, labels)) < rng.uniform(0.05, 0.4)).astype(np.int64)
    truth[0] = 0
    truth[1] = 1
    quality = rng.uniform(0, 2)
    scores = np.stack([rng.permutation(labels) for _ in range(documents)]) + quality * labels / 3 * truth
    scores += rng.random((documents, labels)) * 0.5
    order = np.argsort(-scores, axis=1)[:, :keep]
    judged = truth.sum(axis=1) > 0

    qrels = {str(i): {str(l): 1 for l in np.flatnonzero(truth[i])} for i in np.flatnonzero(judged)}
    run = {str(i): {str(l): float(scores[i, l]) for l in order[i]} for i in np.flatnonzero(judged)}
    names = {
        "RPrec": ("Rprec", "Rprec"), "MAP": ("map", "map"), "P@1": ("P.1", "P_1"), "P@5": ("P.5", "P_5"),
        "R@5": ("recall.5", "recall_5"), "nDCG": ("ndcg", "ndcg"), "nDCG@3": ("ndcg_cut.3", "ndcg_cut_3"),
        "nDCG@10": ("ndcg_cut.10", "ndcg_cut_10"), "MRR": ("recip_rank", "recip_rank"),
    }  # fmt: skip
    result = pytrec_eval.RelevanceEvaluator(qrels, {ask for ask, _ in names.values()}).evaluate(run)
    per_document = {
        ours: [result[str(i)][theirs] if judged[i] else None for i in range(documents)]
        for ours, (_, theirs) in names.items()
    }
    means = {ours: float(np.mean([v for v in values if v is not None])) for ours, values in per_document.items()}
    if keep == labels:
        y, s = truth[judged], scores[judged]
        # scikit-learn counts the place of the last true label from 1, Schapire & Singer from 0.
        means["Coverage"] = sk.coverage_error(y, s) - 1
        means["RankingLoss"] = sk.label_ranking_loss(y, s)
        means["AP"] = sk.label_ranking_average_precision_score(y, s)
        means["OneError"] = float(np.mean([y[i, s[i].argmax()] == 0 for i in range(len(y))]))
    return {
        "labels": labels,
        "truth": rows(truth),
        "ranked": [[[int(l), float(scores[i, l])] for l in order[i]] for i in range(documents)],
        "per_document": per_document,
        "means": means,
    }


def decided_case(documents, labels, untrained):
    truth = (rng.random((documents, labels)) < 0.15).astype(np.int64)
    decided = np.where(rng.random((documents, labels)) < 0.7, truth, rng.random((documents, labels)) < 0.15).astype(np.int64)
    truth[:, 2] = 0
    decided[:, 2] = 0  # 0/0 for a label
    truth[0] = decided[0] = 0  # and for a document
    trained = [l for l in range(labels) if l not in untrained]
    values = {
        "SubsetAccuracy": sk.accuracy_score(truth, decided),
        "HammingLoss": sk.hamming_loss(truth, decided),
    }
    for average in ("micro", "macro", "samples"):
        only = trained if average == "macro" else None
        at = dict(average=average, zero_division=0, labels=only)
        values[f"Precision@{average}"] = sk.precision_score(truth, decided, **at)
        values[f"Recall@{average}"] = sk.recall_score(truth, decided, **at)
        values[f"Jaccard@{average}"] = sk.jaccard_score(truth, decided, **at)
        for beta in (0.5, 1, 2):
            values[f"F{beta}@{average}"] = sk.fbeta_score(truth, decided, beta=beta, **at)
    p, r, f, n = sk.precision_recall_fscore_support(truth, decided, zero_division=0)
    return {
        "labels": labels,
        "untrained": untrained,
        "truth": rows(truth),
        "decided": rows(decided),
        "values": {k: float(v) for k, v in values.items()},
        "per_label": [[float(a), float(b), float(c), int(d)] for a, b, c, d in zip(p, r, f, n)],
    }


def single_case(documents, labels):
    truth = rng.integers(0, labels, documents)
    decided = np.where(rng.random(documents) < 0.6, truth, rng.integers(0, labels, documents))
    return {
        "labels": labels,
        "truth": truth.tolist(),
        "decided": decided.tolist(),
        "accuracy": sk.accuracy_score(truth, decided),
        "confusion": sk.confusion_matrix(truth, decided, labels=range(labels)).tolist(),
    }


def wilcoxon_case(n, ties):
    a, b = rng.normal(0.3, 1, n), rng.normal(0, 1, n)
    if ties:
        a, b = np.round(a, 1), np.round(b, 1)
    d = a - b
    d = d[d != 0]
    exact = len(d) <= 50 and len(np.unique(np.abs(d))) == len(d)
    ask = dict(zero_method="wilcox", correction=not exact, method="exact" if exact else "approx")
    plus = scipy.stats.rankdata(np.abs(d))[d > 0].sum()
    return {
        "a": a.tolist(), "b": b.tolist(), "exact": bool(exact), "plus": float(plus),
        "greater": float(scipy.stats.wilcoxon(a, b, alternative="greater", **ask).pvalue),
        "two_sided": float(scipy.stats.wilcoxon(a, b, alternative="two-sided", **ask).pvalue),
    }  # fmt: skip


def randomisation_case(n):
    a, b = rng.normal(0.4, 1, n), rng.normal(0, 1, n)
    statistic = lambda x, y, axis: np.mean(x - y, axis=axis)
    p = {
        alternative: float(
            scipy.stats.permutation_test(
                (a, b), statistic, permutation_type="samples", n_resamples=np.inf, alternative=alternative, vectorized=True
            ).pvalue
        )
        for alternative in ("greater", "two-sided")
    }
    return {"a": a.tolist(), "b": b.tolist(), "greater": p["greater"], "two_sided": p["two-sided"]}


def bootstrap_case(n):
    a, b = rng.beta(2, 1, n), rng.beta(2, 1.2, n)
    result = scipy.stats.bootstrap(
        (a - b,), np.mean, n_resamples=100_000, method="percentile", confidence_level=0.95, rng=rng, batch=1000
    )
    return {
        "a": a.tolist(), "b": b.tolist(), "low": float(result.confidence_interval.low),
        "high": float(result.confidence_interval.high), "standard_error": float(result.standard_error),
    }  # fmt: skip


def sign_case(wins, losses):
    test = lambda alternative: float(scipy.stats.binomtest(wins, wins + losses, 0.5, alternative=alternative).pvalue)
    return [wins, losses, test("greater"), test("two-sided")]


def calibration_case(n, ties):
    truth = (rng.random(n) < 0.25).astype(int)
    # Scores that f32 holds exactly: tamis keeps held-out scores as f32.
    scores = (rng.normal(0, 1, n) + 1.5 * truth).astype(np.float32).astype(np.float64)
    if ties:
        scores = np.round(scores * 8) / 8
    asked = np.linspace(scores.min() - 1, scores.max() + 1, 41)
    sigmoid = _SigmoidCalibration().fit(scores, truth)
    high, low = (truth.sum() + 1) / (truth.sum() + 2), 1 / ((1 - truth).sum() + 2)
    target = np.where(truth == 1, high, low)

    def loss(ab):
        z = ab[0] * scores + ab[1]
        return np.sum(target * z + np.logaddexp(0, -z))

    def slope(ab):
        z = ab[0] * scores + ab[1]
        d = target - 1 / (1 + np.exp(z))
        return np.array([np.sum(d * scores), np.sum(d)])

    a, b = scipy.optimize.minimize(loss, [-1.0, 0.0], jac=slope, method="BFGS", options={"gtol": 1e-9}).x
    isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, truth)
    precision, recall, thresholds = sk.precision_recall_curve(truth, scores)
    f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-300)
    return {
        "scores": scores.tolist(), "truth": truth.tolist(), "asked": asked.tolist(),
        "platt_sklearn": sigmoid.predict(asked).tolist(),
        "platt_scipy": (1 / (1 + np.exp(a * asked + b))).tolist(),
        "isotonic": isotonic.predict(asked).tolist(),
        "best_f1": float(f1.max()),
    }  # fmt: skip


def pearson_case(n):
    x, y = rng.normal(size=n), rng.normal(size=n)
    y += 0.7 * x
    return {"x": x.tolist(), "y": y.tolist(), "r_squared": float(scipy.stats.pearsonr(x, y).statistic ** 2)}


goldens = {
    "made_with": {
        "numpy": np.__version__, "scipy": scipy.__version__, "scikit-learn": sklearn.__version__,
        "pytrec-eval-terrier": "0.5", "script": "tests/python/make_measure_goldens.py",
    },
    "ranked": [ranked_case(40, 12, 12), ranked_case(30, 25, 25), ranked_case(40, 20, 4)],
    "decided": [decided_case(60, 9, []), decided_case(80, 15, [1, 7])],
    "single": [single_case(200, 6)],
    "sign": [sign_case(*c) for c in [(15, 5), (5, 15), (10, 10), (0, 7), (60, 40), (300, 240), (5200, 4900), (1, 0)]],
    "wilcoxon": [
        wilcoxon_case(8, False), wilcoxon_case(20, False), wilcoxon_case(50, False), wilcoxon_case(51, False),
        wilcoxon_case(20, True), wilcoxon_case(300, True),
    ],
    "randomisation": [randomisation_case(7), randomisation_case(12)],
    "bootstrap": [bootstrap_case(80)],
    "calibration": [calibration_case(300, False), calibration_case(400, True)],
    "pearson": [pearson_case(50)],
}  # fmt: skip
OUT.parent.mkdir(parents=True, exist_ok=True)
OUT.write_text(json.dumps(goldens, separators=(",", ":")) + "\n")
print(f"{OUT.name}: {OUT.stat().st_size} bytes")
