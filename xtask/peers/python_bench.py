"""The Python package beside scikit-learn, and beside the Rust call that it makes. Prints lines of both sides.

    cargo xtask bench python
"""

import json
import tracemalloc

import numpy as np
import tamis
from common import advisories, best, best_of_both, newsgroups
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2, mutual_info_classif
from sklearn.preprocessing import MultiLabelBinarizer
from tamis import _core, _inputs


def say(side, what, value, unit, note=""):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": unit, "note": note}), flush=True)


def counting(name, texts):
    for words, options, pattern in [("", {}, {}), (", one tokenisation", {"words": "letters"}, {"token_pattern": "[A-Za-z]{2,}"})]:
        what = f"{name}: texts to counts{words}"
        ours, peer = best_of_both(
            lambda: tamis.TextCounter(**options, n_jobs=-1).fit_transform(texts),
            lambda: CountVectorizer(**pattern).fit_transform(texts),
        )
        for side, estimator, (seconds, X) in [("ours", "TextCounter", ours), ("peer", "CountVectorizer", peer)]:
            say(side, what, seconds, "s", f"{estimator}: {X.shape[1]} terms, {X.nnz} entries")


def selection(name, texts, y, single):
    X = CountVectorizer().fit_transform(texts)
    what = f"{name}: select 2,000 of {X.shape[1]} by χ²"
    seconds, _ = best(5, lambda: tamis.Selector("chi2max", 2000, cut=None, n_jobs=-1).fit(X, y))
    say("ours", what, seconds, "s", f"{y.shape[1] if y.ndim == 2 else len(np.unique(y))} labels")
    seconds, _ = best(2, lambda: SelectKBest(chi2, k=2000).fit(X, y))
    say("peer", what, seconds, "s", "SelectKBest(chi2)")
    what = f"{name}: select 2,000 by information gain"
    seconds, _ = best(5, lambda: tamis.Selector("ig", 2000, cut=None, n_jobs=-1).fit(X, single))
    say("ours", what, seconds, "s")
    columns = np.random.default_rng(0).choice(X.shape[1], 100, replace=False)
    part = (X[:, columns] > 0).tocsc()
    seconds, _ = best(1, lambda: mutual_info_classif(part, single, discrete_features=True))
    say("peer", what, seconds * X.shape[1] / 100, "s", "mutual_info_classif, extrapolated from 100 columns")
    overhead(name, X, y)


def overhead(name, X, y):
    """The estimator, against the one call of the core that it makes: both in this process, the same arrays."""
    arrays, sets, how = _inputs.matrix(X, ordered=False), _inputs.labels(y).sets, (False, 0)

    def core():
        # A matrix of zeros and ones is read by the core as well.
        labels = sets if y.ndim == 1 else (*_core.indicator_sets(y), y.shape[1])
        return _core.rank_matrix(arrays, labels, "chi2max", None, None, (None, None), how)

    rust, _ = best(15, core)
    seconds, _ = best(15, lambda: tamis.Selector("chi2max", 2000, cut=None, n_jobs=-1).fit(X, y))
    say("ours", f"{name}: Selector over its Rust call", 100 * (seconds / rust - 1), "%", f"{rust:.4f} s in Rust")
    tracemalloc.start()
    tamis.Selector("chi2max", 2000, cut=None, n_jobs=-1).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    say("ours", f"{name}: arrays made by Selector.fit", peak / 1e6, "MB", f"{X.nnz} entries, {X.data.nbytes / 1e6:.1f} MB of data")


def overhead_of_counting(name, texts):
    options, how = _inputs.text_parameters(tamis.TextCounter()), (False, 0)
    rust, _ = best(7, lambda: _core.count_texts(texts, options, None, _inputs.MEMORY, how))
    seconds, _ = best(7, lambda: tamis.TextCounter(n_jobs=-1).fit_transform(texts))
    say("ours", f"{name}: TextCounter over its Rust call", 100 * (seconds / rust - 1), "%", f"{rust:.4f} s in Rust")


documents = advisories()
texts = [d["text"] for d in documents]
labels = MultiLabelBinarizer().fit_transform([d["labels"] for d in documents]).astype(np.int64)
counting("advisories", texts)
overhead_of_counting("advisories", texts)
selection("advisories", texts, labels, np.array([sorted(d["labels"])[0] if d["labels"] else "" for d in documents]))
texts, groups = newsgroups()
counting("20news", texts)
selection("20news", texts, np.array(groups), np.array(groups))
