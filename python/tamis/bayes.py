"""Multinomial Bayes."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from . import _inputs
from ._classifier import CountClassifier, is_counts
from ._parameters import RUNNING


class MultinomialBayes(CountClassifier):
    """Multinomial naive Bayes with add-one smoothing, of words and of the shares of classes (MultinomialNB of scikit-learn
    smooths words alone).

    Parameters
    ----------
    multi : {"auto", "joint", "ovr"}, default="auto"
        All labels compete, or each is decided by itself; auto takes the second where documents have several labels.
    alpha : float, default=1.0
        What is added to the occurrences of a word in a class.
    threshold : str, default=None
        How labels are decided where documents have several; those with a probability of at least ½ when None.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.
    feature_log_prob_ : ndarray of shape (n_classes, n_features)
        ``log P(word | class)``. Not where each label is decided by itself.
    class_log_prior_ : ndarray of shape (n_classes,)
        ``log P(class)``.
    feature_count_, class_count_ : ndarray
        Occurrences and documents, after ``partial_fit``.

    Notes
    -----
    Weights such as tf-idf are taken as parts of occurrences, as ``MultinomialNB`` takes them. They, another `alpha`, and
    ``partial_fit`` are computed by numpy; counts with ``alpha=1`` by the core, to the last digit as ``tamis`` does.

    See Also
    --------
    sklearn.naive_bayes.MultinomialNB : The same without smoothed shares of classes.

    Examples
    --------
    >>> from tamis import MultinomialBayes
    >>> MultinomialBayes().fit([[2, 0], [0, 1]], ["a", "b"]).predict([[3, 1]]).tolist()
    ['a']
    >>> model = MultinomialBayes().partial_fit([[2, 0]], ["a"], classes=["a", "b"])
    >>> model.partial_fit([[0, 1]], ["b"]).predict([[3, 1]]).tolist()
    ['a']
    """

    _absent_score = -np.inf

    _parameter_constraints = {
        "multi": [StrOptions({"auto", "joint", "ovr"})],
        "alpha": [Interval(Real, 0, None, closed="neither")],
        "threshold": [str, None],
        **RUNNING,
    }

    def __init__(
        self,
        *,
        multi: str = "auto",
        alpha: float = 1.0,
        threshold: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.multi = multi
        self.alpha = alpha
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _multi(self) -> str:
        return ("ovr" if self._multilabel else "joint") if self.multi == "auto" else self.multi

    def _spec(self) -> str:
        return f"bayes(multi={self._multi()})"

    def _policy(self) -> str | None:
        if self.threshold is None and self.multi in ("auto", "ovr"):
            return f"fixed({float(np.log(0.5))!r})"
        return self.threshold

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultinomialBayes:
        """Fit to counts, or weights of 0 and more, and labels y: a vector, or an indicator matrix; `sample_weight` says how often each
        document counts."""
        X, labels = self._checked(X, y)
        check_non_negative(X, "MultinomialBayes.fit")
        self._adopt(labels)
        for name in ("_model", "_all_count", "feature_count_", "class_count_"):
            self.__dict__.pop(name, None)
        if self.alpha == 1 and is_counts(X):
            self._fit_counts(X, labels, sample_weight=sample_weight)
        else:
            self._add(X, _inputs.to_indicator(*labels.sets[:2], len(self.classes_)), sample_weight)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> MultinomialBayes:
        """Fit to more documents: the result is that of all documents at once, since counts add up.

        `classes` names all classes in the first call, where y is a vector; an indicator matrix has its columns."""
        first = not hasattr(self, "class_count_")
        X, labels = self._checked(X, y, reset=first)
        check_non_negative(X, "MultinomialBayes.partial_fit")
        if first:
            self.__dict__.pop("_model", None)
            if classes is None and not labels.multilabel:
                raise ValueError("classes must be passed on the first call to partial_fit.")
            self._multilabel = labels.multilabel
            self.classes_ = labels.classes if labels.multilabel else np.unique(classes)
        place = {label: at for at, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in labels.classes.tolist() if label not in place]
        if unknown or labels.multilabel != self._multilabel:
            what = f"{unknown[0]!r} is none of them" if unknown else "y has another form than before"
            raise ValueError(f"the classes of the first call are {self.classes_.tolist()}, and {what}")
        codes = np.array([place[label] for label in labels.classes.tolist()], dtype=np.int32)
        Y = _inputs.to_indicator(labels.sets[0], codes[labels.sets[1]], len(self.classes_))
        self._add(X, Y, sample_weight)
        self._majority = int(self.class_count_.argmax())
        return self

    def _add(self, X: Any, Y: np.ndarray, sample_weight: Any) -> None:
        """Adds documents to what is counted."""
        often = np.ones(len(Y))
        if sample_weight is not None:
            often = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        Y = Y * often[:, None]
        occurrences = np.asarray((sp.csr_matrix(Y).T @ X).todense() if sp.issparse(X) else Y.T @ X)
        everything = np.asarray(often @ X, dtype=float).ravel()
        if not hasattr(self, "feature_count_"):
            self.feature_count_, self.class_count_ = np.zeros(occurrences.shape), np.zeros(len(Y.T))
            self._all_count, self._documents = np.zeros(len(everything)), 0.0
        self.feature_count_ = self.feature_count_ + occurrences
        self.class_count_ = self.class_count_ + Y.sum(axis=0)
        self._all_count = self._all_count + everything
        self._documents += often.sum()

    def _log_prob(self, occurrences: np.ndarray) -> np.ndarray:
        smoothed = occurrences + self.alpha
        return np.log(smoothed) - np.log(smoothed.sum(axis=1, keepdims=True))

    def _scores(self, X: Any, lengths: Any = None) -> np.ndarray:
        if hasattr(self, "_model"):
            return super()._scores(X)
        check_is_fitted(self, "class_count_")
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        check_non_negative(X, "MultinomialBayes")
        if self._multi() == "joint":
            joint = X @ self.feature_log_prob_.T + self.class_log_prior_
            return joint - logsumexp(joint, axis=1, keepdims=True)
        odds = self._log_prob(self.feature_count_) - self._log_prob(self._all_count - self.feature_count_)
        n, n_c = self._documents, self.class_count_
        found = -np.logaddexp(0, -(X @ odds.T + np.log1p(n_c) - np.log1p(n - n_c)))
        found[:, n_c == 0] = self._absent_score
        return found

    def predict(self, X: Any) -> np.ndarray:
        """The label of each document, or for several labels an indicator matrix."""
        if hasattr(self, "_model"):
            return self._predict(X)
        scores = self._scores(X)
        if not self._multilabel:
            return self.classes_[scores.argmax(axis=1)]
        policy = self._policy()
        if policy is None or not policy.startswith("fixed("):
            raise ValueError("threshold= other than fixed(x) is for counts with alpha=1; take a ThresholdTuner")
        return (scores >= float(policy[len("fixed(") : -1])).astype(int)

    @property
    def feature_log_prob_(self) -> np.ndarray:
        return self._parts("feature_log_prob_")[0]

    @property
    def class_log_prior_(self) -> np.ndarray:
        return self._parts("class_log_prior_")[1]

    def _parts(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self)
        if self._multi() == "ovr":
            raise AttributeError(f"{name}: each label is decided by itself, against all documents without it")
        if hasattr(self, "_model"):
            return self._linear(name)
        smoothed = np.log1p(self.class_count_)
        return self._log_prob(self.feature_count_), smoothed - np.log((1 + self.class_count_).sum())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model") or hasattr(self, "class_count_")

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of probabilities, documents × labels."""
        return self._scores(X)

    def predict_joint_log_proba(self, X: Any) -> np.ndarray:
        """``log P(x, class)`` up to what all classes share, as of ``MultinomialNB``."""
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        return X @ self.feature_log_prob_.T + self.class_log_prior_

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, documents × labels; of one label for each document they add up to 1."""
        p = np.exp(self._scores(X))
        if self.multi == "ovr" and not self._multilabel:
            total = p.sum(axis=1, keepdims=True)
            p = np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)
        return p

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Weights of any kind will do.
        tags.input_tags.categorical = False
        return tags
