"""Selector scores of `tamis rank` against scikit-learn, scipy and numpy.

TAMIS_BIN names the program. Corpora are made here: JSONL with ready tokens, so no tokeniser comes between.
"""

import csv
import json
import math
import os
import subprocess

import numpy as np
import pytest
from scipy.stats import chi2_contingency, entropy, norm, rankdata
from scipy.stats.contingency import odds_ratio
from sklearn.feature_selection import chi2, mutual_info_classif
from sklearn.metrics import f1_score, matthews_corrcoef

TAMIS = os.environ.get("TAMIS_BIN")
pytestmark = pytest.mark.skipif(not TAMIS, reason="TAMIS_BIN is not set")


class Corpus:
    """A random corpus: counts (documents x terms), memberships (documents x labels) and its file."""

    def __init__(self, folder, seed, documents=240, terms=60, labels=5, single_label=True):
        rng = np.random.default_rng(seed)
        # Uneven words and labels, words tied to labels, so that scores spread.
        base = rng.dirichlet(np.full(terms, 0.3), size=labels)
        prior = rng.dirichlet(np.full(labels, 2.0))
        self.counts = np.zeros((documents, terms), dtype=int)
        self.members = np.zeros((documents, labels), dtype=bool)
        for d in range(documents):
            of = rng.choice(labels, p=prior)
            self.members[d, of] = True
            if not single_label:
                self.members[d] |= rng.random(labels) < 0.2
                if rng.random() < 0.1:
                    self.members[d] = False
            mixture = 0.7 * base[of] + 0.3 / terms
            self.counts[d] = rng.multinomial(rng.integers(3, 40), mixture / mixture.sum())
        # The first word meets only the documents of two labels, so that others have empty cells with it.
        self.counts[:, 0] *= self.members[:, 0] | self.members[:, 1]
        assert self.members.sum(0).min() > 0
        self.terms = [f"wx{t:03}q" for t in range(terms)]
        self.present = self.counts > 0
        self.n = documents
        self.path = folder / f"corpus-{seed}.jsonl"
        with open(self.path, "w") as out:
            for d in range(documents):
                tokens = [w for t, w in enumerate(self.terms) for _ in range(self.counts[d, t])]
                names = [f"label{c}" for c in np.flatnonzero(self.members[d])]
                out.write(json.dumps({"id": f"d{d}", "tokens": tokens, "labels": names}) + "\n")

    def rank(self, expression):
        """Rows of `tamis rank`, best first."""
        command = [TAMIS, "rank", str(self.path), "--by", expression, "--top", "1000000", "--format", "tsv"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        rows = list(csv.DictReader(done.stdout.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE))
        assert [int(row["rank"]) for row in rows] == list(range(1, len(rows) + 1))
        return rows

    def scores(self, expression):
        """Scores by term number, nan for terms that are not ranked."""
        scores = np.full(len(self.terms), np.nan)
        for row in self.rank(expression):
            scores[self.terms.index(row["term"])] = float(row["score"])
        return scores

    def cells(self):
        """a, b, c, d as arrays, terms x labels."""
        x, y = self.present.astype(float), self.members.astype(float)
        a = x.T @ y
        df, n_c = x.sum(0)[:, None], y.sum(0)[None, :]
        return a, df - a, n_c - a, self.n - df - n_c + a

    def tables(self):
        """Every (term, label, [[a, b], [c, d]]) without an empty margin."""
        a, b, c, d = self.cells()
        for t in range(a.shape[0]):
            for l in range(a.shape[1]):
                table = np.array([[a[t, l], b[t, l]], [c[t, l], d[t, l]]])
                if table.sum(0).min() > 0 and table.sum(1).min() > 0:
                    yield t, l, table


@pytest.fixture(scope="module", params=["single-label", "multi-label"])
def corpus(request, tmp_path_factory):
    single = request.param == "single-label"
    return Corpus(tmp_path_factory.mktemp("corpus"), 11 if single else 12, single_label=single)


def agree(got, expected, absolute=1e-12):
    ranked = ~np.isnan(got)
    assert ranked.sum() >= 50
    np.testing.assert_allclose(got[ranked], np.asarray(expected)[ranked], rtol=1e-9, atol=absolute)


def pooled(corpus, score, pool):
    """A terms x labels matrix, pooled as method 2 has it."""
    if pool == "max":
        return score.max(1)
    if pool == "sum":
        return score.sum(1)
    return score @ (corpus.members.sum(0) / corpus.n)


@pytest.mark.parametrize("pool", ["max", "avg", "sum"])
def test_chi2_is_scipys(corpus, pool):
    score = np.zeros((len(corpus.terms), corpus.members.shape[1]))
    for t, l, table in corpus.tables():
        score[t, l] = chi2_contingency(table, correction=False).statistic
    agree(corpus.scores(f"chi2{pool}"), pooled(corpus, score, pool), 1e-9)


@pytest.mark.parametrize("pool", ["max", "avg", "sum"])
def test_chi2_is_scikit_learns_on_presence_and_absence(corpus, pool):
    """scikit-learn adds up only the fields where the term is present; those where it is absent are the rest."""
    both = [
        np.column_stack([
            chi2(matrix.astype(float), corpus.members[:, l])[0] for l in range(corpus.members.shape[1])
        ])
        for matrix in (corpus.present, ~corpus.present)
    ]
    agree(corpus.scores(f"chi2{pool}"), pooled(corpus, np.nan_to_num(both[0]) + np.nan_to_num(both[1]), pool), 1e-9)


def test_scikit_learns_own_chi2_follows(corpus):
    """Its statistic on presence over single labels is ours, each label times (1 - P(c)) (1 - df/n), added up."""
    if (corpus.members.sum(1) != 1).any():
        pytest.skip("scikit-learn's has one class for each document")
    theirs = chi2(corpus.present.astype(float), corpus.members.argmax(1))[0]
    without = 1 - corpus.present.mean(0)
    agree(without * (corpus.scores("chi2sum") - corpus.scores("chi2avg")), theirs, 1e-9)


def test_ig_is_scikit_learns_mutual_information(corpus):
    if (corpus.members.sum(1) != 1).any():
        pytest.skip("mutual_info_classif has one class for each document")
    expected = mutual_info_classif(corpus.present, corpus.members.argmax(1), discrete_features=True)
    agree(corpus.scores("ig"), expected)


def test_g2_is_scipys_log_likelihood(corpus):
    score = np.zeros((len(corpus.terms), corpus.members.shape[1]))
    for t, l, table in corpus.tables():
        score[t, l] = chi2_contingency(table, correction=False, lambda_="log-likelihood").statistic
    agree(corpus.scores("g2"), score.max(1), 1e-9)


@pytest.mark.parametrize("pool", ["", "avg", "sum"])
def test_bns_is_scipys_quantiles(corpus, pool):
    a, b, c, d = corpus.cells()
    quantile = lambda rate: norm.ppf(np.clip(rate, 0.0005, 0.9995))
    score = np.abs(quantile(a / (a + c)) - quantile(b / (b + d)))
    agree(corpus.scores(f"bns{pool}"), pooled(corpus, score, pool or "max"))


def half(count):
    return np.where(count == 0, 0.5, count)


@pytest.mark.parametrize("pool", ["max", "avg", "sum"])
def test_mi_wllr_wfo_and_or(corpus, pool):
    a, b, c, d = corpus.cells()
    n_c = a + c
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(half(a) / n_c / (half(b) / (corpus.n - n_c)))
        rate = a / n_c
        positive = np.where(ratio > 1e-12, ratio, 0)
        expected = {
            "mi": -np.log(1 + half(b) / half(a)) - np.log(n_c / corpus.n),
            "wllr": rate * ratio,
            "or": np.log(half(a) * half(d) / (half(b) * half(c))),
            "wfo(0)": np.where((a > 0) & (ratio > 1e-12), ratio, 0),
            "wfo(0.3)": np.where(a > 0, rate**0.3 * positive**0.7, 0),
            "wfo(1)": np.where((a > 0) & (ratio > 1e-12), rate, 0),
        }
    for name, score in expected.items():
        formula, _, parameter = name.partition("(")
        suffix = "" if pool == "max" and formula != "mi" else pool
        agree(corpus.scores(formula + suffix + (f"({parameter}" if parameter else "")), pooled(corpus, score, pool))


def test_single_cells_have_names_in_other_libraries(corpus):
    """F1, correlation, divergence and odds of each term's best label, as scikit-learn and scipy compute them."""
    names = {"f1": 0, "ngl": 0, "kl": 0, "or": 0}
    for name in names:
        for row in corpus.rank(name):
            x = corpus.present[:, corpus.terms.index(row["term"])]
            y = corpus.members[:, int(row["label"].removeprefix("label"))]
            a, b, c, d = (float(row[k]) for k in "abcd")
            assert (a, b, c, d) == ((x & y).sum(), (x & ~y).sum(), (~x & y).sum(), (~x & ~y).sum())
            assert int(row["df"]) == x.sum()
            if min(a, b, c, d) == 0:
                continue
            expected = {
                "f1": lambda: f1_score(y, x),
                "ngl": lambda: matthews_corrcoef(y, x) * math.sqrt(corpus.n),
                "kl": lambda: entropy([a / (a + c), c / (a + c)], [b / (b + d), d / (b + d)]),
                "or": lambda: math.log(odds_ratio([[int(a), int(b)], [int(c), int(d)]], kind="sample").statistic),
            }[name]()
            assert float(row["score"]) == pytest.approx(expected, rel=1e-9, abs=1e-12)
            names[name] += 1
    assert min(names.values()) > 10


def test_ib_over_all_pairs(corpus):
    for cut in (0, 9):
        kept = corpus.present.sum(0) > cut
        occurrences = corpus.counts.T @ corpus.members.astype(int)
        p = (1 + occurrences) / (kept.sum() + occurrences[kept].sum(0))
        prior = corpus.members.sum(0) / corpus.members.sum()
        expected = np.zeros(len(corpus.terms))
        for j in range(len(prior)):
            for k in range(j):
                inner = np.sqrt(p[:, j] * p[:, k]) + np.sqrt((1 - p[:, j]) * (1 - p[:, k]))
                expected += prior[j] * prior[k] * -np.log(inner)
        scores = corpus.scores(f"ib@{cut}")
        assert (np.isnan(scores) == ~kept).all()
        np.testing.assert_allclose(scores[kept], expected[kept], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize("name, combined", [("hr", np.min), ("lr", np.max), ("ar", np.mean)])
def test_combinations_of_ranks_are_scipys_ranks(corpus, name, combined):
    inputs = [corpus.scores(expression) for expression in ("chi2max", "ig", "df")]
    ranked = ~np.isnan(inputs[0])
    ranks = np.array([rankdata(-scores[ranked], method="average") for scores in inputs])
    points = ranked.sum() + 1 - combined(ranks, axis=0)
    got = corpus.scores(f"{name}(chi2max,ig,df)")
    np.testing.assert_allclose(got[ranked], points, rtol=1e-12)


def test_order_and_cut(corpus):
    rows = corpus.rank("chi2avg@20")
    assert all(int(row["df"]) > 20 for row in rows)
    assert len(rows) == (corpus.present.sum(0) > 20).sum()
    keys = [(-float(row["score"]), -int(row["df"]), row["term"]) for row in rows]
    assert keys == sorted(keys)


@pytest.mark.parametrize("expression, word", [("chi2mx", "chi2max"), ("wfo(1.5)", "between 0"), ("lr(ig)", "two")])
def test_bad_expressions_explain_themselves(corpus, expression, word):
    done = subprocess.run([TAMIS, "rank", str(corpus.path), "--by", expression], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert word in done.stderr


def test_single_class_corpus_explains_itself(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text('{"id":"1","tokens":["alpha","beta"],"labels":["X"]}\n{"id":"2","tokens":["beta"],"labels":["X"]}\n')
    done = subprocess.run([TAMIS, "rank", str(path), "--by", "chi2max"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "nothing to tell apart" in done.stderr
