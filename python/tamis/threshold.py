"""Thresholds for anyone's classifier."""

from __future__ import annotations

import json
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import check_cv
from sklearn.utils import Tags, _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core, _inputs
from ._parameters import RUNNING, SEED


def scores_of(estimator: Any, X: Any, method: str = "auto", multilabel: bool = False) -> np.ndarray:
    """Scores of a fitted classifier, documents × labels; where each document has one of two classes, one column."""
    names = ("decision_function", "predict_proba") if method == "auto" else (method,)
    for name in names:
        if hasattr(estimator, name):
            scores = getattr(estimator, name)(X)
            break
    else:
        raise ValueError(f"{type(estimator).__name__} has neither of {', '.join(names)}: nothing to set thresholds on")
    if isinstance(scores, list):
        # Forests give a pair of columns for each label.
        scores = np.column_stack([part[:, 1] if part.shape[1] > 1 else np.zeros(len(part)) for part in scores])
    scores = np.asarray(scores, dtype=np.float64)
    if scores.ndim == 1:
        return scores[:, None]
    # Probabilities of two classes are one number, said twice.
    return scores[:, 1:] if not multilabel and scores.shape[1] == 2 else scores


def _estimator_has(name: str):
    def check(self) -> bool:
        return hasattr(getattr(self, "estimator_", self.estimator), name)

    return check


class ThresholdTuner(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Tune a threshold for each label of any classifier, on documents that it was not trained on.

    The classifier is fitted fold by fold, its scores of held-out documents tune the thresholds, and it is fitted again to
    all documents.

    Parameters
    ----------
    estimator : classifier
        With a ``decision_function`` or ``predict_proba``.
    policy : str, default="scut(goal=micro+macro,rare=5)"
        ``scut`` (one threshold for each label that maximises F), ``precision(0.95)`` (the lowest one that keeps it), ``rcut`` (the best number of labels), ``pcut`` (as
        many documents as the label has in training), with their options; ``tamis.registry("thresholds")`` explains them.
    cv : int or splitter, default=5
        Folds. A number takes folds in which every label is spread as evenly as possible, also where documents have
        several.
    method : {"auto", "decision_function", "predict_proba"}, default="auto"
        Where scores come from.
    random_state : int, RandomState or Generator, default=1
        Seed of the folds.
    n_jobs, verbose :
        Threads of the tuning (one when None, all cores when −1) and progress.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all documents.
    thresholds_ : ndarray or None
        One for each label; infinite for labels that are never assigned. None for ``rcut``.
    n_labels_ : int or None
        The number of labels of ``rcut``.
    curves_, report_ : list of dict, dict
        F against threshold for each label, and how the tuning went.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : For two classes; docs/drop-in.md has both side by side.
    ProgressiveFilter : Thresholds along the pipelines of a taxonomy.

    Notes
    -----
    Where each document has one of several classes, the class is predicted that is furthest above its threshold.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from tamis import ThresholdTuner, LinearSVM
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> tuner = ThresholdTuner(LinearSVM(), "scut").fit(X, Y)
    >>> tuner.predict(X).shape
    (100, 5)
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"])],
        "policy": [str],
        "cv": [Interval(Integral, 2, None, closed="left"), HasMethods(["split"]), "array-like"],
        "method": [StrOptions({"auto", "decision_function", "predict_proba"})],
        "random_state": SEED,
        **RUNNING,
    }

    def __init__(
        self,
        estimator: Any,
        policy: str = "scut(goal=micro+macro,rare=5)",
        *,
        cv: Any = 5,
        method: str = "auto",
        random_state: Any = 1,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.policy = policy
        self.cv = cv
        self.method = method
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any, **params: Any) -> ThresholdTuner:
        """Fit the classifier and tune its thresholds. Further arguments go to its ``fit``, by metadata routing."""
        self._validate_params()
        routed = process_routing(self, "fit", **params).estimator.fit if params else {}
        _inputs.refuse_lists(y)
        if y is not None and not hasattr(y, "iloc"):  # frames and columns of pandas stay, for the classifier's own names
            y = _inputs.known_form(y)[0]
        X, y = indexable(X, y)
        labels = _inputs.labels(y)
        _inputs.two_classes(labels, type(self).__name__)
        folds = self._folds(X, y, labels)
        held_out, used = None, np.zeros(len(folds), dtype=bool)
        for fold in range(folds.max() + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            model = clone(self.estimator).fit(
                _safe_indexing(X, train), _safe_indexing(y, train), **_rows(routed, train, len(folds))
            )
            part = self._aligned(scores_of(model, _safe_indexing(X, test), self.method, labels.multilabel), model, labels)
            held_out = np.full((len(folds), part.shape[1]), -np.inf) if held_out is None else held_out
            held_out[test], used[test] = part, True
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        self._binary = not labels.multilabel and len(labels.classes) == 2
        sets = labels.sets
        if self._binary:
            # One label, the second class: documents have it or not.
            codes = labels.sets[1]
            offsets = np.concatenate([[0], np.cumsum(codes)]).astype(np.int64)
            sets = (offsets, np.zeros(int(codes.sum()), dtype=np.int32), 1)
        self._absent = getattr(self.estimator, "_absent_score", None) if not self._binary else None
        self._thresholds, about = _core.Thresholds.tune(
            self.policy, held_out, folds, sets, self._absent, _inputs.how(self)
        )
        about = json.loads(about)
        self.curves_, self.report_ = about["curves"], about["report"]
        values = self._thresholds.values
        self.thresholds_ = None if values is None else np.array(values)
        self.n_labels_ = self._thresholds.n
        self.estimator_ = clone(self.estimator).fit(X, y, **routed)
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        return self

    def _folds(self, X: Any, y: Any, labels: _inputs.Labels) -> np.ndarray:
        if isinstance(self.cv, (int, np.integer)):
            return _core.stratified_folds(labels.sets, int(self.cv), _inputs.seed(self.random_state))
        folds = np.full(len(labels.sets[0]) - 1, -1, dtype=np.int64)
        cv = check_cv(self.cv, y if not labels.multilabel else None, classifier=not labels.multilabel)
        for fold, (_, test) in enumerate(cv.split(X, None if labels.multilabel else y)):
            folds[test] = fold
        if (folds < 0).any():
            raise ValueError("cv must hold out every document once")
        return folds

    def _aligned(self, scores: np.ndarray, model: Any, labels: _inputs.Labels) -> np.ndarray:
        """Scores in the columns of all classes: a fold may lack some."""
        classes = getattr(model, "classes_", labels.classes)
        if labels.multilabel or len(labels.classes) == 2 or len(classes) == len(labels.classes):
            return scores
        if scores.shape[1] == 1:
            scores = np.column_stack([-scores, scores])
        out = np.full((len(scores), len(labels.classes)), -np.inf)
        out[:, np.searchsorted(labels.classes, classes)] = scores
        return out

    def predict(self, X: Any) -> np.ndarray:
        """The labels that reach their thresholds."""
        check_is_fitted(self, "estimator_")
        scores = np.ascontiguousarray(scores_of(self.estimator_, X, self.method, self._multilabel))
        if self._multilabel:
            indptr, indices = self._thresholds.decide(scores, self._absent)
            return _inputs.to_indicator(indptr, indices, len(self.classes_))
        if self.thresholds_ is None:
            # One label for each document is what the classifier gives anyway.
            return self.estimator_.predict(X)
        over = self._over(scores)
        return self.classes_[(over[:, 0] > 0).astype(int) if self._binary else over.argmax(axis=1)]

    def _over(self, scores: np.ndarray) -> np.ndarray:
        """How far scores are above thresholds."""
        if self._multilabel or self._binary:
            return scores - self.thresholds_
        # A class that no threshold reaches can still be the best there is.
        finite = self.thresholds_[np.isfinite(self.thresholds_)]
        return scores - np.where(np.isfinite(self.thresholds_), self.thresholds_, finite.max() if len(finite) else 0.0)

    def decision_function(self, X: Any) -> np.ndarray:
        """How far scores are above the thresholds (the scores themselves for ``rcut``), documents × labels."""
        check_is_fitted(self, "estimator_")
        scores = scores_of(self.estimator_, X, self.method, self._multilabel)
        if self.thresholds_ is not None:
            scores = self._over(scores)
        elif self._binary and not hasattr(self.estimator_, "decision_function"):
            scores = scores - 0.5
        return scores[:, 0] if self._binary else scores

    @available_if(_estimator_has("predict_proba"))
    def predict_proba(self, X: Any) -> np.ndarray:
        """The classifier's own."""
        check_is_fitted(self, "estimator_")
        return self.estimator_.predict_proba(X)

    @property
    def n_features_in_(self) -> int:
        return self.estimator_.n_features_in_

    def get_metadata_routing(self) -> MetadataRouter:
        """How arguments of ``fit`` reach the classifier."""
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=type(self).__name__).add(estimator=self.estimator, method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_label = inner.classifier_tags.multi_label
        # Tuned for F, class by class: accuracy may suffer.
        tags.classifier_tags.poor_score = True
        return tags


def _rows(params: dict[str, Any], rows: np.ndarray, n: int) -> dict[str, Any]:
    """The part of arguments that are by document."""
    by_document = lambda value: sp.issparse(value) or (hasattr(value, "__len__") and len(value) == n)  # noqa: E731
    return {key: _safe_indexing(value, rows) if by_document(value) else value for key, value in params.items()}
