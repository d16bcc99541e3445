"""What the classifiers on counts share."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from . import _core, _inputs


def is_counts(X: Any) -> bool:
    """Whether a matrix holds nothing but 0, 1, 2 …"""
    data = X.data if sp.issparse(X) else X
    if data.dtype.kind in "bu" or not data.size:
        return True
    return bool(data.min() >= 0) and (data.dtype.kind == "i" or bool((data == np.floor(data)).all()))


class CountClassifier(ClassifierMixin, BaseEstimator):
    """What the classifiers share: counts and labels go to the core, ranked or decided labels come back."""

    #: The score of a label that the classifier does not rank.
    _absent_score = 0.0

    def _spec(self) -> str:
        raise NotImplementedError

    def _policy(self) -> str | None:
        """How labels are decided where documents have several."""
        return self.threshold

    def fit(self, X: Any, y: Any) -> CountClassifier:
        """Fit to counts X (documents × terms) and labels y: a vector, or an indicator matrix."""
        return self._fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        """The label of each document, or for several labels an indicator matrix."""
        return self._predict(X)

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Any, _inputs.Labels]:
        """X and the labels as they are fitted; the classes are kept."""
        self._validate_params()
        _inputs.refuse_lists(y)
        y, names = _inputs.known_form(y) if y is not None else (y, None)
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, **options)
        labels = _inputs.labels(y, names=names)
        return X, labels

    def _adopt(self, labels: _inputs.Labels) -> None:
        _inputs.two_classes(labels, type(self).__name__)
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        counts = np.bincount(labels.sets[1], minlength=len(self.classes_))
        self._majority = int(counts.argmax())
        self._prior = counts / max(counts.sum(), 1)

    def _fit(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> CountClassifier:
        X, labels = self._checked(X, y)
        check_non_negative(X, f"{type(self).__name__}.fit")
        self._adopt(labels)
        self._fit_counts(X, labels, lengths, sample_weight)
        return self

    def _fit_counts(self, X: Any, labels: _inputs.Labels, lengths: Any = None, sample_weight: Any = None) -> None:
        threshold = self._policy() if labels.multilabel else "rcut(1)"
        weights = None if sample_weight is None else self._weights_of(X, labels, sample_weight)
        self._model = _core.Model.fit_matrix(
            _inputs.matrix(X), _lengths(lengths), labels.sets, self._spec(), threshold, _inputs.how(self), weights
        )

    def _weights_of(self, X: Any, labels: _inputs.Labels, sample_weight: Any) -> np.ndarray:
        """How often each document counts; refused where those that count leave nothing to tell apart."""
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if not labels.multilabel and len(np.unique(labels.sets[1][weights > 0])) < 2 and (weights >= 0).all():
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes, and the documents whose sample_weight is above 0 have "
                "fewer"
            )
        return weights

    def _class_weights(self) -> str:
        """What documents of a label cost, for the core, which knows labels by their numbers."""
        if self.class_weight is None:
            return "equal"
        if not isinstance(self.class_weight, dict):
            return str(self.class_weight)
        number = {label: at for at, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in self.class_weight if label not in number]
        if unknown:
            raise ValueError(f"class_weight names the label {unknown[0]!r}, which no document has")
        return ";".join(f"{number[label]}:{float(weight)!r}" for label, weight in self.class_weight.items()) or "equal"

    def _label(self, X: Any, scores: bool, lengths: Any = None) -> tuple:
        check_is_fitted(self, "_model")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        check_non_negative(X, type(self).__name__)
        absent = self._absent_score if scores else None
        return self._model.matrix(_inputs.matrix(X), _lengths(lengths), absent, _inputs.how(self))

    def _predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        _, indptr, indices, _ = self._label(X, False, lengths)
        if self._multilabel:
            return _inputs.to_indicator(indptr, indices, len(self.classes_))
        # A document without any known word may have no neighbours: the most frequent class is all that is left.
        codes = np.full(len(indptr) - 1, self._majority)
        codes[np.diff(indptr) > 0] = indices
        return self.classes_[codes]

    def _scores(self, X: Any, lengths: Any = None) -> np.ndarray:
        return self._label(X, True, lengths)[0]

    def _decision_function(self, X: Any, lengths: Any = None) -> np.ndarray:
        scores = self._scores(X, lengths)
        return scores if self._multilabel or scores.shape[1] > 2 else (scores[:, 1] - scores[:, 0]) / 2

    def _linear(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Weights (classes × columns) and biases of a linear model of counts."""
        check_is_fitted(self, "_model")
        found = self._model.coefficients()
        if found is None:
            raise AttributeError(f"{name}: pairs of labels have votes, and no weights of their own")
        labels, weights, bias = found
        shape = (len(self.classes_), self.n_features_in_)
        wide, biases = np.zeros(shape), np.full(shape[0], self._absent_score)
        wide[np.asarray(labels)[:, None], np.arange(weights.shape[1])] = weights
        biases[labels] = bias
        return wide, biases

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        # Counts are whole numbers. This is scikit-learn's tag for input coded as whole numbers.
        tags.input_tags.categorical = True
        tags.classifier_tags.multi_label = True
        # They are for words: a column that every document has tells nothing (its idf is 0), and the checks have no others.
        tags.classifier_tags.poor_score = True
        return tags


def _lengths(lengths: Any) -> np.ndarray | None:
    return None if lengths is None else np.ascontiguousarray(np.asarray(lengths).ravel(), dtype=np.int64)
