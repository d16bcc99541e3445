"""scikit-learn's own checks of estimators, with the exceptions that there must be and their reasons."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils.estimator_checks import parametrize_with_checks

tamis = pytest.importorskip("tamis")

ESTIMATORS = [
    tamis.Selector(k=2),
    tamis.Selector(by="ig", k=1, cut=None),
    tamis.OscillatingSearch(k=2),
    tamis.LinearSVM(),
    tamis.LinearSVM(multi="ovo", loss="squared"),
    tamis.MultinomialBayes(),
    tamis.OkapiKNN(k=5),
    tamis.WeightedKNN(k=5),
    tamis.ThresholdTuner(LogisticRegression(), cv=2),
    tamis.ThresholdTuner(MultinomialNB(), "rcut", cv=2),
    tamis.ProgressiveFilter(LogisticRegression(), cv=2),
    tamis.ProgressiveFilter(cv=2),
    tamis.TextCounter(),
    tamis.TextCategorizer(),
]

COUNTS = "the check passes fractions, and counts are whole numbers"


def expected_failures(estimator):
    return {}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)
