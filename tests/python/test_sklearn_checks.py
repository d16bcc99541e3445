"""scikit-learn's own checks of estimators, with the exceptions that there must be and their reasons."""

import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import MultinomialNB
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

tamis = pytest.importorskip("tamis")

ESTIMATORS = [
    tamis.Selector(k=2),
    tamis.Selector(by="ig", k=1, cut=None),
    tamis.OscillatingSearch(k=2),
    tamis.LinearSVM(),
    tamis.LinearSVM(multi="ovo", loss="squared"),
    tamis.LinearLogistic(),
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

FRACTIONS = "the check trains on fractions, whatever the tags say"
NEGATIVE = "the check trains on negative numbers, whatever the tags say"


def expected_failures(estimator):
    """The exceptions, each with its reason."""
    expected = {}
    if sklearn.__version__.startswith("1.6.") and get_tags(estimator).input_tags.categorical:
        # Its own mistake, mended in 1.7.
        expected["check_positive_only_tag_during_fit"] = "the check subtracts a fraction from whole numbers in place"
    counts_only = isinstance(estimator, tamis.LinearLogistic) or getattr(estimator, "multi", None) == "ovo"
    if counts_only:
        expected["check_class_weight_classifiers"] = NEGATIVE
    if isinstance(estimator, tamis.LinearLogistic):
        expected["check_decision_proba_consistency"] = NEGATIVE
    if isinstance(estimator, (tamis.LinearSVM, tamis.LinearLogistic)):
        # test_drop_in.py looks at the same to the gap that is asked for, on counts and on other numbers.
        reason = FRACTIONS if counts_only else "solved to a stated gap, which other documents reach otherwise: not equal to 1e-9"
        expected["check_sample_weight_equivalence_on_dense_data"] = reason
        expected["check_sample_weight_equivalence_on_sparse_data"] = reason
    if isinstance(estimator, tamis.WeightedKNN):
        reason = "a share of neighbours may be 0 or 1, and the check wants numbers between"
        expected["check_classifiers_multilabel_output_format_predict_proba"] = reason
    if isinstance(estimator, tamis.ThresholdTuner) and estimator.policy == "rcut":
        expected["check_decision_proba_consistency"] = NEGATIVE
    elif isinstance(estimator, tamis.ThresholdTuner):
        reason = "predict follows the tuned thresholds, predict_proba is the classifier's own"
        expected["check_classifiers_train"] = reason
    return expected


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)
