"""Four classifiers on counts, for one label or many."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, check_non_negative, validate_data

from . import _core, _inputs


class _CountClassifier(ClassifierMixin, BaseEstimator):
    """What the classifiers share: counts and labels go to the core, ranked or decided labels come back."""

    #: The score of a label that the classifier does not rank.
    _absent_score = 0.0

    def _spec(self) -> str:
        raise NotImplementedError

    def _policy(self) -> str | None:
        """How labels are decided where documents have several."""
        return self.threshold

    def fit(self, X: Any, y: Any) -> _CountClassifier:
        """Fit to counts X (documents × terms) and labels y: a vector, or an indicator matrix."""
        return self._fit(X, y)

    def predict(self, X: Any) -> np.ndarray:
        """The label of each document, or for several labels an indicator matrix."""
        return self._predict(X)

    def _fit(self, X: Any, y: Any, lengths: Any = None, sample_weight: Any = None) -> _CountClassifier:
        _inputs.refuse_lists(y)
        names = list(y.columns) if hasattr(y, "columns") else None
        X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True)
        check_non_negative(X, f"{type(self).__name__}.fit")
        labels = _inputs.labels(y, names=names)
        _inputs.two_classes(labels, type(self).__name__)
        self.classes_ = labels.classes
        self._multilabel = labels.multilabel
        threshold = self._policy() if labels.multilabel else "rcut(1)"
        weights = None if sample_weight is None else _check_sample_weight(sample_weight, X, dtype=np.float64)
        self._model = _core.Model.fit_matrix(
            _inputs.matrix(X), _lengths(lengths), labels.sets, self._spec(), threshold, _inputs.how(self), weights
        )
        counts = np.bincount(labels.sets[1], minlength=len(self.classes_))
        self._majority = int(counts.argmax())
        self._prior = counts / max(counts.sum(), 1)
        return self

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


class LinearSVM(_CountClassifier):
    """Linear support vector machine on counts, one problem for each label, solved to a stated gap.

    Documents become tf-idf vectors inside (or as ``vectors`` says): pass counts, not weights.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared"}, default="squared"
        What an error costs.
    multi : {"ovr", "ovo"}, default="ovr"
        One label against the rest, or pairs of labels.
    vectors : {"tfidf", "binary", "tf", "okapi"}, default="tfidf"
        How counts become vectors.
    class_weight : {None, "balanced"}, default=None
        Whether both sides of a problem weigh the same.
    gap : float, default=None
        Duality gap at which a label is solved, as a share; 1e-4 for hinge and 1e-6 for squared when None.
    iterations : int, default=5000
        Passes after which a label is given up.
    threshold : str, default=None
        How labels are decided where documents have several: ``rcut(n)`` or ``fixed(x)``; scores above 0 when None.
        :class:`ThresholdTuner` tunes one for each label.
    random_state : int, default=0
        Seed of the order in which documents are met.
    n_jobs, verbose :
        Threads (all cores when None) and progress on standard error.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.

    Examples
    --------
    >>> from tamis import LinearSVM, TextCounter
    >>> from sklearn.pipeline import make_pipeline
    >>> texts = ["ship port", "ship crew", "oil price", "price barrel"] * 3
    >>> model = make_pipeline(TextCounter(), LinearSVM()).fit(texts, ["sea", "sea", "oil", "oil"] * 3)
    >>> model.predict(["a ship in port", "the price"]).tolist()
    ['sea', 'oil']
    """

    # Without a positive document the solution is w = 0 and b = −1.
    _absent_score = -1.0

    def __init__(
        self,
        C=1.0,
        *,
        loss="squared",
        multi="ovr",
        vectors="tfidf",
        class_weight=None,
        gap=None,
        iterations=5000,
        threshold=None,
        random_state=0,
        n_jobs=None,
        verbose=False,
    ):
        self.C = C
        self.loss = loss
        self.multi = multi
        self.vectors = vectors
        self.class_weight = class_weight
        self.gap = gap
        self.iterations = iterations
        self.threshold = threshold
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _spec(self) -> str:
        classes = "equal" if self.class_weight is None else self.class_weight
        gap = "" if self.gap is None else f",gap={float(self.gap)!r}"
        seed = 0 if self.random_state is None else self.random_state
        return (
            f"svm(c={float(self.C)!r},loss={self.loss},multi={self.multi},vectors={self.vectors},classes={classes},"
            f"iterations={self.iterations},seed={seed}{gap})"
        )

    def _policy(self) -> str | None:
        return "fixed(0)" if self.threshold is None and self.multi == "ovr" else self.threshold

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, documents × labels; for two classes one number, positive for the second."""
        return self._decision_function(X)


class MultinomialBayes(_CountClassifier):
    """Multinomial naive Bayes with add-one smoothing, of words and of the shares of classes (MultinomialNB of scikit-learn
    smooths words alone).

    Parameters
    ----------
    multi : {"auto", "joint", "ovr"}, default="auto"
        All labels compete, or each is decided by itself; auto takes the second where documents have several labels.
    threshold : str, default=None
        How labels are decided where documents have several; those with a probability of at least ½ when None.
    n_jobs, verbose :
        Threads (all cores when None) and progress on standard error.

    Examples
    --------
    >>> from tamis import MultinomialBayes
    >>> MultinomialBayes().fit([[2, 0], [0, 1]], ["a", "b"]).predict([[3, 1]]).tolist()
    ['a']
    """

    _absent_score = -np.inf

    def __init__(self, *, multi="auto", threshold=None, n_jobs=None, verbose=False):
        self.multi = multi
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _spec(self) -> str:
        multi = self.multi
        if multi == "auto":
            multi = "ovr" if self._multilabel else "joint"
        return f"bayes(multi={multi})"

    def _policy(self) -> str | None:
        if self.threshold is None and self.multi in ("auto", "ovr"):
            return f"fixed({float(np.log(0.5))!r})"
        return self.threshold

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of probabilities, documents × labels."""
        return self._scores(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, documents × labels; of one label for each document they add up to 1."""
        p = np.exp(self._scores(X))
        if self.multi == "ovr" and not self._multilabel:
            total = p.sum(axis=1, keepdims=True)
            p = np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)
        return p


class OkapiKNN(_CountClassifier):
    """The nearest training documents by Okapi similarity; labels score the sum of similarities.

    Parameters
    ----------
    k : int, default=100
        How many neighbours have a say.
    threshold : str, default=None
        How labels are decided where documents have several; as many as training documents have on average when None.
    n_jobs, verbose :
        Threads (all cores when None) and progress on standard error.

    Notes
    -----
    The similarity looks at the length of documents. After a selection the matrix holds a part of the words only: pass
    ``lengths`` (such as ``TextCounter.lengths_``) to ``fit``, ``predict`` and ``decision_function``, by metadata routing
    inside a pipeline.

    Examples
    --------
    >>> from tamis import OkapiKNN
    >>> X = [[2, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 2], [0, 1, 1], [0, 0, 0]]
    >>> OkapiKNN(k=1).fit(X, ["a", "a", "b", "b", "b", "b"]).predict([[1, 0, 0], [0, 0, 3]]).tolist()
    ['a', 'b']
    """

    def __init__(self, k=100, *, threshold=None, n_jobs=None, verbose=False):
        self.k = k
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _spec(self) -> str:
        return f"knn({self.k})"

    def fit(self, X: Any, y: Any, lengths: Any = None) -> OkapiKNN:
        """Fit to counts X and labels y; `lengths` are tokens of the documents where X does not hold all."""
        return self._fit(X, y, lengths)

    def predict(self, X: Any, lengths: Any = None) -> np.ndarray:
        """The label of each document, or for several labels an indicator matrix."""
        return self._predict(X, lengths)

    def decision_function(self, X: Any, lengths: Any = None) -> np.ndarray:
        """Sums of similarities, documents × labels; for two classes their difference."""
        return self._decision_function(X, lengths)


class WeightedKNN(_CountClassifier):
    """The nearest training documents by cosine; labels score their share of the similarity, from 0 to 1.

    Parameters
    ----------
    k : int, default=20
        How many neighbours have a say.
    threshold : str, default=None
        How labels are decided where documents have several; as many as training documents have on average when None.
    n_jobs, verbose :
        Threads (all cores when None) and progress on standard error.

    Examples
    --------
    >>> from tamis import WeightedKNN
    >>> WeightedKNN(k=1).fit([[2, 0], [0, 1]], ["a", "b"]).predict_proba([[3, 0]]).tolist()
    [[1.0, 0.0]]
    """

    def __init__(self, k=20, *, threshold=None, n_jobs=None, verbose=False):
        self.k = k
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _spec(self) -> str:
        return f"wknn({self.k})"

    def predict_proba(self, X: Any) -> np.ndarray:
        """Shares of the neighbours' similarity; the shares of the training documents where there are no neighbours."""
        shares = self._scores(X)
        if self._multilabel:
            return shares
        shares[~shares.any(axis=1)] = self._prior
        return shares
