"""Thresholds for micro- and macro-averaged F1 together, against LibMultiLabel's own code."""

import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import PredefinedSplit

from tamis import ThresholdTuner


def _linear():
    """LibMultiLabel's module of linear methods without its solver, which this test does not need and which is large."""
    spec = importlib.util.find_spec("libmultilabel")
    if spec is None:
        pytest.skip("libmultilabel is not installed")
    solver = types.ModuleType("liblinear.liblinearutil")
    for name in ("train", "problem", "parameter", "solver_names"):
        setattr(solver, name, None)
    stubs = {"liblinear": types.ModuleType("liblinear"), "liblinear.liblinearutil": solver}
    path = Path(next(iter(spec.submodule_search_locations))) / "linear" / "linear.py"
    spec = importlib.util.spec_from_file_location("libmultilabel_linear", path)
    module = importlib.util.module_from_spec(spec)
    before = {name: sys.modules.get(name) for name in stubs}
    sys.modules.update(stubs)
    try:
        spec.loader.exec_module(module)
    finally:
        for name, old in before.items():
            sys.modules.pop(name) if old is None else sys.modules.__setitem__(name, old)
    return module


class Given(ClassifierMixin, BaseEstimator):
    """Scores that were there before."""

    def fit(self, X, y):
        self.classes_ = np.arange(y.shape[1])
        return self

    def decision_function(self, X):
        return X


@pytest.mark.parametrize("seed", range(8))
def test_micro_macro(seed, monkeypatch):
    linear = _linear()
    rng = np.random.default_rng(seed)
    documents, labels = 3 * int(rng.integers(40, 90)), 7
    # Frequent and rare labels, each in at least two folds: a label of one fold has no trained classifier there.
    Y = rng.random((documents, labels)) < np.geomspace(0.5, 0.02, labels)
    third = documents // 3
    Y[0], Y[third] = True, True
    scores = (1.5 * Y + rng.normal(size=Y.shape) - 1).astype(np.float32).astype(np.float64)
    folds = np.repeat(np.arange(3), third)
    tuner = ThresholdTuner(Given(), "scut(goal=micro+macro)", cv=PredefinedSplit(folds)).fit(scores, Y.astype(int))

    # Their training function, asked label by label, gives the column of the scores of that label.
    turn = iter(np.argsort(Y.sum(axis=0), kind="stable")[::-1])
    monkeypatch.setattr(np.random, "permutation", np.arange)
    stats = {"tp": 0, "fp": 0, "fn": 0, "labels": 0}
    for label in turn:
        column = np.asmatrix(np.eye(labels)[:, [label]])
        monkeypatch.setattr(linear, "_do_train", lambda y, x, options, column=column: column)
        y = 2 * Y[:, label].astype(int) - 1
        _, threshold, stats = linear._micromacro_one_label(y, sp.csr_matrix(scores), "", stats)
        assert tuner.thresholds_[label] == pytest.approx(-threshold, abs=1e-6), label
