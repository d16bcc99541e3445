"""LinearLogistic against scikit-learn's LogisticRegression."""

import numpy as np
import pytest
import tamis
from sklearn.linear_model import LogisticRegression


def documents(labels: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = rng.integers(labels, size=120)
    rates = rng.gamma(0.5, size=(labels, 30))
    return rng.poisson(rates[y]), y


def with_ones(X: np.ndarray) -> np.ndarray:
    """The intercept is the weight of a constant column, penalised like others."""
    return np.hstack([X, np.ones((len(X), 1))])


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("how", ["plain", "balanced", "weights", "told"])
def test_probabilities_are_those_of_scikit_learn(labels, C, how):
    X, y = documents(labels)
    weights = np.random.default_rng(1).integers(4, size=len(y)) * 0.5 if how == "weights" else None
    classes = {"balanced": "balanced", "told": {0: 3.0, 1: 0.5}}.get(how)
    reference = LogisticRegression(
        C=C, class_weight=classes, tol=1e-12, max_iter=100_000, fit_intercept=False, solver="newton-cg"
    ).fit(with_ones(X), y, sample_weight=weights)
    ours = tamis.LinearLogistic(C=C, vectors="tf", gap=1e-14, class_weight=classes).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(ours.predict_proba(X), reference.predict_proba(with_ones(X)), atol=3e-6)
    assert (ours.predict(X) == reference.predict(with_ones(X))).mean() > 0.99


@pytest.mark.parametrize("multi", [False, True])
def test_one_label_against_the_rest(multi):
    X, y = documents(4)
    target = np.eye(4, dtype=int)[y] if multi else y
    ours = tamis.LinearLogistic(form="ovr", vectors="tf", gap=1e-14).fit(X, target)
    for label in range(4):
        reference = LogisticRegression(tol=1e-12, max_iter=100_000, fit_intercept=False, solver="newton-cg")
        odds = reference.fit(with_ones(X), y == label).decision_function(with_ones(X))
        np.testing.assert_allclose(np.exp(ours._scores(X)[:, label]), 1 / (1 + np.exp(-odds)), atol=3e-6)


def test_coefficients_come_out_of_the_model():
    """Scores of documents with one word are bias and weight: the coefficients themselves."""
    X, y = documents(3)
    reference = LogisticRegression(tol=1e-12, max_iter=100_000, fit_intercept=False, solver="newton-cg")
    reference.fit(with_ones(X), y)
    ours = tamis.LinearLogistic(vectors="tf", gap=1e-14).fit(X, y)
    words = ours.predict_log_proba(np.eye(30, dtype=int))
    nothing = ours.predict_log_proba(np.zeros((1, 30), dtype=int))
    weights = (words - nothing) - (words - nothing).mean(axis=1, keepdims=True)
    np.testing.assert_allclose(weights.T, reference.coef_[:, :30], atol=3e-6)


@pytest.mark.parametrize("vectors", ["tfidf", "tf"])
def test_a_weight_is_so_many_documents(vectors):
    X, y = documents(3)
    times = np.random.default_rng(2).integers(4, size=len(y))
    weighed = tamis.LinearLogistic(vectors=vectors, gap=1e-14).fit(X, y, sample_weight=times)
    repeated = tamis.LinearLogistic(vectors=vectors, gap=1e-14).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    np.testing.assert_allclose(weighed.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_weights_that_leave_one_label_are_an_error():
    X, y = documents(2)
    with pytest.raises(ValueError, match="at least 2 classes"):
        tamis.LinearLogistic().fit(X, y, sample_weight=(y == 0).astype(float))


def test_what_cannot_be_is_said():
    X, y = documents(2)
    with pytest.raises(ValueError, match="which no document has"):
        tamis.LinearLogistic(class_weight={7: 2.0}).fit(X, y)
    with pytest.raises(tamis.UnknownNameError, match="multinomial"):
        tamis.LinearLogistic(form="multi").fit(X, y)
    with pytest.raises(tamis.InvalidOptionError, match="0 or more"):
        tamis.LinearLogistic().fit(X, y, sample_weight=-np.ones(len(y)))
