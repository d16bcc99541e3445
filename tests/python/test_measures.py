"""What `tamis evaluate` and `tamis compare` report, recomputed from what `tamis classify` prints by scikit-learn,
trec_eval and scipy."""

import json

import numpy as np
import pytest
import pytrec_eval
import scipy.stats
import sklearn.metrics as sk

from corpora import Corpus

RANKED = ["RPrec", "MAP", "P@1", "P@5", "R@5", "nDCG", "nDCG@10", "MRR", "OneError", "Coverage", "RankingLoss"]
AVERAGES = ["micro", "macro", "samples"]
DECIDED = ["SubsetAccuracy", "HammingLoss"] + [
    f"{name}@{average}" for name in ("Precision", "Recall", "F1", "F0.5", "F2", "Jaccard") for average in AVERAGES
]


@pytest.fixture(scope="module", params=["single-label", "multi-label"])
def corpus(request, tmp_path_factory):
    single = request.param == "single-label"
    return Corpus(tmp_path_factory.mktemp("corpus"), 31 if single else 32, train=200, test=400, labels=12, single_label=single)


class Judged:
    """A model's lists, decisions and reported values for the test documents."""

    def __init__(self, tamis, corpus, folder, classifier, threshold):
        self.model = tamis.fit(corpus.train_path, folder / f"{classifier}.model", classifier, "--threshold", threshold)
        self.lines = tamis.lines("classify", self.model, corpus.test_path, "--scores")
        self.scores = corpus.scores(self.lines, absent=-np.inf)
        self.decided = corpus.decided(self.lines)
        lists = tamis.lines("classify", self.model, corpus.test_path, "--top", "100")
        self.lists = [[corpus.labels.index(name) for name in line["labels"]] for line in lists]
        self.truth = corpus.members[corpus.test]
        self.judged = self.truth.any(1)

    def values(self, tamis, corpus, measures, *more):
        return tamis.json("evaluate", self.model, corpus.test_path, "--measures", ",".join(measures), *more)

    def trec(self):
        """trec_eval on documents with a true label; places become scores, so that there are no ties."""
        qrels = {str(i): {str(c): 1 for c in np.flatnonzero(self.truth[i])} for i in np.flatnonzero(self.judged)}
        run = {str(i): {str(c): 1000.0 - place for place, c in enumerate(self.lists[i])} for i in map(int, qrels)}
        names = {"map", "Rprec", "P.1,5", "recall.5", "ndcg", "ndcg_cut.10", "recip_rank"}
        found = pytrec_eval.RelevanceEvaluator(qrels, names).evaluate(run)
        # A query without any retrieved document has no line in trec_eval; all its measures are 0.
        keys = ["map", "Rprec", "P_1", "P_5", "recall_5", "ndcg", "ndcg_cut_10", "recip_rank"]
        return {key: np.array([found.get(query, {}).get(key, 0.0) for query in qrels]) for key in keys}


def folder_of(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def svm(tamis, corpus, tmp_path_factory):
    return Judged(tamis, corpus, folder_of(tmp_path_factory), "svm", "fixed(0)")


@pytest.fixture(scope="module")
def neighbours(tamis, corpus, tmp_path_factory):
    return Judged(tamis, corpus, folder_of(tmp_path_factory), "knn(3)", "rcut(2)")


TREC = {"RPrec": "Rprec", "MAP": "map", "P@1": "P_1", "P@5": "P_5", "R@5": "recall_5", "nDCG": "ndcg",
        "nDCG@10": "ndcg_cut_10", "MRR": "recip_rank"}  # fmt: skip


@pytest.mark.parametrize("which", ["svm", "neighbours"])
def test_ranked_measures_are_trec_evals(tamis, corpus, which, request):
    judged = request.getfixturevalue(which)
    values, trec = judged.values(tamis, corpus, list(TREC)), judged.trec()
    # Lists of neighbours end early; those of an SVM have every label.
    shortest = min(map(len, judged.lists))
    assert shortest < len(corpus.labels) if which == "neighbours" else shortest == len(corpus.labels)
    for ours, theirs in TREC.items():
        assert values[ours] == pytest.approx(trec[theirs].mean(), abs=1e-9), ours
    assert values["documents"] == len(corpus.test)


def test_ranked_measures_are_scikit_learns(tamis, corpus, svm):
    values = svm.values(tamis, corpus, RANKED)
    y, s = svm.truth[svm.judged], svm.scores[svm.judged]
    assert values["RankingLoss"] == pytest.approx(sk.label_ranking_loss(y, s), abs=1e-9)
    # Theirs counts the place of the last true label from 1.
    assert values["Coverage"] == pytest.approx(sk.coverage_error(y, s) - 1, abs=1e-9)
    assert values["MAP"] == pytest.approx(sk.label_ranking_average_precision_score(y, s), abs=1e-9)
    assert values["nDCG@10"] == pytest.approx(sk.ndcg_score(y, s, k=10), abs=1e-9)
    assert values["OneError"] == pytest.approx(1 - y[np.arange(len(y)), s.argmax(1)].mean(), abs=1e-9)
    if svm.truth.sum(1).max() == 1:
        top = sk.top_k_accuracy_score(y.argmax(1), s, k=1, labels=range(y.shape[1]))
        assert values["P@1"] == pytest.approx(top, abs=1e-9)
        assert values["RPrec"] == values["P@1"]


@pytest.mark.parametrize("which", ["svm", "neighbours"])
def test_set_based_measures_are_scikit_learns(tamis, corpus, which, request):
    judged = request.getfixturevalue(which)
    values = judged.values(tamis, corpus, DECIDED)
    y, d = judged.truth, judged.decided
    expected = {"SubsetAccuracy": sk.accuracy_score(y, d), "HammingLoss": sk.hamming_loss(y, d)}
    for average in AVERAGES:
        how = {"average": average, "zero_division": 0}
        expected |= {
            f"Precision@{average}": sk.precision_score(y, d, **how),
            f"Recall@{average}": sk.recall_score(y, d, **how),
            f"F1@{average}": sk.f1_score(y, d, **how),
            f"F0.5@{average}": sk.fbeta_score(y, d, beta=0.5, **how),
            f"F2@{average}": sk.fbeta_score(y, d, beta=2, **how),
            f"Jaccard@{average}": sk.jaccard_score(y, d, **how),
        }
    assert set(expected) == set(DECIDED)
    for name, value in expected.items():
        assert values[name] == pytest.approx(value, abs=1e-9), name
    assert 0.1 < values["F1@micro"] < 0.999


def test_per_label_table(tamis, corpus, svm):
    rows = {row["label"]: row for row in svm.values(tamis, corpus, ["F1@macro"], "--per-label")["labels"]}
    precision, recall, f1, support = sk.precision_recall_fscore_support(svm.truth, svm.decided, zero_division=0)
    for c, label in enumerate(corpus.labels):
        row = rows[label]
        assert (row["support"], row["decided"]) == (support[c], svm.decided[:, c].sum())
        assert (row["precision"], row["recall"], row["f1"]) == pytest.approx((precision[c], recall[c], f1[c]), abs=1e-12)


def test_accuracy_is_for_single_labels(tamis, corpus, tmp_path):
    judged = Judged(tamis, corpus, tmp_path, "bayes", "rcut(1)")
    value = judged.values(tamis, corpus, ["Accuracy"])["Accuracy"]
    if judged.truth.sum(1).max() == 1:
        assert value == pytest.approx(sk.accuracy_score(judged.truth.argmax(1), judged.scores.argmax(1)), abs=1e-12)
    else:
        assert value is None


def test_labels_unseen_in_training_are_missed(tamis, corpus, svm, tmp_path):
    """As if the truth had more columns, of which none is ever decided; macro averages leave them out."""
    rng = np.random.default_rng(5)
    extra = rng.random((len(corpus.test), 3)) < 0.2
    path = tmp_path / "more.jsonl"
    names = [f"{prefix}-new" for prefix in ("z", "a", "m")]
    with open(corpus.test_path, encoding="utf-8") as lines, open(path, "w", encoding="utf-8") as out:
        for line, more in zip(lines, extra):
            document = json.loads(line)
            document["labels"] += [name for name, has in zip(names, more) if has]
            out.write(json.dumps(document) + "\n")
    measures = ["Recall@micro", "Precision@micro", "F1@micro", "F1@samples", "F1@macro", "MAP", "RPrec"]
    values = tamis.json("evaluate", svm.model, path, "--measures", ",".join(measures))
    y = np.hstack([svm.truth, extra])
    d = np.hstack([svm.decided, np.zeros_like(extra)])
    assert values["unseen_labels"] == {name: int(n) for name, n in zip(names, extra.sum(0))}
    for name, score in [("Recall", sk.recall_score), ("Precision", sk.precision_score), ("F1", sk.f1_score)]:
        assert values[f"{name}@micro"] == pytest.approx(score(y, d, average="micro", zero_division=0), abs=1e-9)
    assert values["F1@samples"] == pytest.approx(sk.f1_score(y, d, average="samples", zero_division=0), abs=1e-9)
    assert values["F1@macro"] == pytest.approx(sk.f1_score(svm.truth, svm.decided, average="macro"), abs=1e-9)
    qrels = {str(i): {str(c): 1 for c in np.flatnonzero(row)} for i, row in enumerate(y) if row.any()}
    run = {str(i): {str(c): 1000.0 - place for place, c in enumerate(svm.lists[i])} for i in map(int, qrels)}
    found = pytrec_eval.RelevanceEvaluator(qrels, {"map", "Rprec"}).evaluate(run)
    for ours, theirs in [("MAP", "map"), ("RPrec", "Rprec")]:
        assert values[ours] == pytest.approx(np.mean([f[theirs] for f in found.values()]), abs=1e-9)


def test_intervals_hold_the_value_and_narrow_with_more_documents(tamis, corpus, svm):
    values = svm.values(tamis, corpus, ["MAP", "F1@micro", "F1@macro"], "--intervals")
    for name in ["MAP", "F1@micro", "F1@macro"]:
        low, high = values["intervals"][name]
        assert low <= values[name] <= high
        assert 0 < high - low < 0.3
    # The mean of 400 values has the standard error that statistics says.
    per_document = svm.trec()["map"]
    error = per_document.std(ddof=1) / np.sqrt(len(per_document))
    low, high = values["intervals"]["MAP"]
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)


def test_compare_is_scipys(tamis, corpus, svm, neighbours):
    found = tamis.json("compare", svm.model, neighbours.model, corpus.test_path, "--measures", "MAP")["comparisons"][0]
    a, b = svm.trec()["map"], neighbours.trec()["map"]
    assert found["a"] == pytest.approx(a.mean(), abs=1e-9)
    assert found["b"] == pytest.approx(b.mean(), abs=1e-9)
    assert found["difference"] == pytest.approx(a.mean() - b.mean(), abs=1e-9)
    # What differs by rounding only is a tie.
    difference = np.where(np.abs(a - b) < 1e-9, 0, a - b)
    wins, losses = int((difference > 0).sum()), int((difference < 0).sum())
    assert (found["wins_a"], found["wins_b"]) == (wins, losses)
    assert found["p_sign"] == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue, rel=1e-9)
    wilcoxon = scipy.stats.wilcoxon(difference[difference != 0], method="approx", correction=False).pvalue
    assert found["p_wilcoxon"] == pytest.approx(wilcoxon, rel=0.02)


@pytest.mark.parametrize("classifier", ["svm", "bayes"])
def test_probabilities(tamis, corpus, tmp_path, classifier):
    """Brier, LogLoss and ECE from the probabilities that `classify` prints, which every model with folds has."""
    model = tmp_path / "a.model"
    tamis("fit", corpus.train_path, "-o", model, "--by", "df@0", "--features", "all", "--classifier", classifier)
    lines = tamis.lines("classify", model, corpus.test_path, "--scores")
    truth = corpus.members[corpus.test]
    p = np.zeros(truth.shape)
    first = np.zeros(len(lines), dtype=int)
    for i, line in enumerate(lines):
        for entry in line["ranked"]:
            p[i, corpus.labels.index(entry["label"])] = entry["probability"]
        first[i] = corpus.labels.index(line["ranked"][0]["label"])
    found = tamis.json("evaluate", model, corpus.test_path, "--measures", "Brier,LogLoss,ECE")
    assert found["Brier"] == pytest.approx(sk.brier_score_loss(truth.ravel(), p.ravel()), abs=1e-9)
    assert found["LogLoss"] == pytest.approx(sk.log_loss(truth.ravel(), p.ravel()), abs=1e-9)
    sure, right = p[np.arange(len(p)), first], truth[np.arange(len(p)), first]
    bins = np.minimum((sure * 15).astype(int), 14)
    ece = sum(abs(right[bins == b].sum() - sure[bins == b].sum()) for b in range(15)) / len(p)
    assert found["ECE"] == pytest.approx(ece, abs=1e-9)
