"""A linear SVM and two kinds of neighbours, for one label or many."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from . import _core, _inputs, _warnings
from ._classifier import CountClassifier, is_counts
from ._parameters import POSITIVE, RUNNING, SEED


class LinearSVM(CountClassifier):
    """Linear support vector machine, one problem for each label, solved to a stated gap.

    Counts become tf-idf vectors inside (or as ``vectors`` says); what is no count, such as tf-idf or scaled numbers, is taken as it
    is.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors.
    loss : {"hinge", "squared"}, default="squared"
        What an error costs.
    multi : {"ovr", "ovo"}, default="ovr"
        One label against the rest, or pairs of labels.
    vectors : {"auto", "as-is", "tfidf", "binary", "tf", "okapi"}, default="auto"
        How rows become vectors: ``as-is`` takes any numbers, also negative ones, the others are for counts, alone or times a
        selector score, as in ``tfidf*rf``. ``auto`` is ``tfidf`` for counts (0, 1, 2 …) and ``as-is`` for anything else;
        ``vectors_`` says which it was.
    class_weight : {None, "balanced"} or dict, default=None
        What documents of a label cost: all alike, so that both sides of a problem weigh the same, or a number for each label (1 for
        those not named).
    gap : float, default=None
        Duality gap at which a label is solved, as a share; 1e-4 for hinge and 1e-6 for squared when None.
    iterations : int, default=5000
        Passes after which a label is given up.
    threshold : str, default=None
        How labels are decided where documents have several: ``rcut(n)`` or ``fixed(x)``; scores above 0 when None.
        :class:`ThresholdTuner` tunes one for each label.
    random_state : int, RandomState or Generator, default=0
        Seed of the order in which documents are met.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.
    coef_ : ndarray of shape (n_classes, n_features), or (1, n_features) for two classes
        Weights of the columns, on the vectors that counts become. Not for ``multi="ovo"``.
    intercept_ : ndarray of shape (n_classes,), or (1,)
        Biases.
    n_iter_ : int
        Passes of the label that took most.
    vectors_ : str
        How rows became vectors.
    n_features_in_, feature_names_in_ :
        Number of columns, and their names where X was a DataFrame.

    See Also
    --------
    sklearn.svm.LinearSVC : The same problem on vectors that are weighted before; docs/drop-in.md has them side by side.
    ThresholdTuner : Tunes a threshold for each label.

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

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "loss": [StrOptions({"hinge", "squared"})],
        "multi": [StrOptions({"ovr", "ovo"})],
        "vectors": [str],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "gap": [Interval(Real, 0, None, closed="neither"), None],
        "iterations": [POSITIVE],
        "threshold": [str, None],
        "random_state": SEED,
        **RUNNING,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "squared",
        multi: str = "ovr",
        vectors: str = "auto",
        class_weight: str | dict | None = None,
        gap: float | None = None,
        iterations: int = 5000,
        threshold: str | None = None,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: bool = False,
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
        gap = "" if self.gap is None else f",gap={float(self.gap)!r}"
        vectors = "tfidf" if self.vectors_ == "as-is" else self.vectors_
        return (
            f"svm(c={float(self.C)!r},loss={self.loss},multi={self.multi},vectors={vectors},classes={self._class_weights()},"
            f"iterations={self.iterations},seed={_inputs.seed(self.random_state)}{gap})"
        )

    def _policy(self) -> str | None:
        return "fixed(0)" if self.threshold is None and self.multi == "ovr" else self.threshold

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearSVM:
        """Fit to X (documents × columns) and labels y: a vector, or an indicator matrix; `sample_weight` says how often each document
        counts."""
        X, labels = self._checked(X, y)
        self._adopt(labels)
        self.vectors_ = self.vectors
        if self.vectors == "auto":
            self.vectors_ = "tfidf" if self.multi == "ovo" or is_counts(X) else "as-is"
        for name in ("_model", "_planes", "_thresholds"):
            self.__dict__.pop(name, None)
        if self.vectors_ == "as-is":
            self._fit_vectors(X, labels, sample_weight)
        else:
            check_non_negative(X, f"{type(self).__name__}.fit(vectors={self.vectors_!r})")
            self._fit_counts(X, labels, sample_weight=sample_weight)
            self.n_iter_ = max(self._model.passes, default=0)
        return self

    def _fit_vectors(self, X: Any, labels: _inputs.Labels, sample_weight: Any) -> None:
        """Planes through vectors as they are."""
        if self.multi == "ovo":
            raise ValueError(
                "multi='ovo' is for counts: numbers as they are are told apart one label against the rest. "
                "sklearn.multiclass.OneVsOneClassifier(LinearSVM()) does pairs."
            )
        rows = sp.csr_matrix(X, dtype=np.float32, copy=True)
        rows.sum_duplicates()
        sets, weights = labels.sets, None
        if sample_weight is not None:
            weights = self._weights_of(X, labels, sample_weight)
            if (weights < 0).any():
                raise ValueError("Negative values in data passed to `sample_weight`: a document counts 0 times or more")
            # Documents that do not count are none.
            kept = np.flatnonzero(weights > 0)
            members = sp.csr_matrix((np.ones(len(sets[1])), sets[1], sets[0]), shape=(labels.documents, sets[2]))[kept]
            sets = (members.indptr.astype(np.int64), members.indices.astype(np.int32), sets[2])
            rows, weights = rows[kept], np.ascontiguousarray(weights[kept])
        found, coefficients, bias, passes, given_up = _core.fit_vectors(
            rows.indptr.astype(np.int64),
            rows.indices.astype(np.int32),
            rows.data,
            rows.shape[1],
            weights,
            sets,
            self._spec(),
            _inputs.how(self),
        )
        planes = len(self.classes_)
        self._planes = np.zeros((planes, rows.shape[1])), np.full(planes, self._absent_score)
        self._planes[0][found], self._planes[1][found] = coefficients, bias
        if planes == 2 and not labels.multilabel:
            # The plane of the second class is that of the first, turned round.
            self._planes = self._planes[0][1:], self._planes[1][1:]
        self.n_iter_ = max(passes, default=0)
        if self.threshold is not None and labels.multilabel:
            # What the policy is without tuning: nothing is learned from scores.
            no_scores = np.zeros((labels.documents, planes))
            self._thresholds = _core.Thresholds.tune(
                self.threshold, no_scores, np.zeros(labels.documents, np.int64), labels.sets, None, (False, 1)
            )[0]
        if given_up:
            _warnings.show(
                f"{given_up} of {len(passes)} problems were given up after {self.iterations} passes: more iterations, a larger "
                "gap, a smaller C, or columns of a smaller scale (StandardScaler, MaxAbsScaler) help",
                True,
            )

    def predict(self, X: Any) -> np.ndarray:
        """The label of each document, or for several labels an indicator matrix."""
        check_is_fitted(self, "vectors_")
        if self.vectors_ != "as-is":
            return self._predict(X)
        scores = self.decision_function(X)
        if self._multilabel:
            if hasattr(self, "_thresholds"):
                indptr, indices = self._thresholds.decide(np.ascontiguousarray(scores), None)
                return _inputs.to_indicator(indptr, indices, len(self.classes_))
            return (scores >= 0).astype(int)
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def decision_function(self, X: Any) -> np.ndarray:
        """Scores, documents × labels; for two classes one number, positive for the second."""
        check_is_fitted(self, "vectors_")
        if self.vectors_ != "as-is":
            return self._decision_function(X)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        scores = X @ self._planes[0].T + self._planes[1]
        return scores[:, 0] if not self._multilabel and scores.shape[1] == 1 else scores

    @property
    def coef_(self) -> np.ndarray:
        return self._weights()[0]

    @property
    def intercept_(self) -> np.ndarray:
        return self._weights()[1]

    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        check_is_fitted(self, "vectors_")
        if self.vectors_ == "as-is":
            return self._planes
        weights, bias = self._linear("coef_")
        if self._multilabel or len(bias) != 2:
            return weights, bias
        # decision_function is half the difference of the two.
        return (weights[1:] - weights[:1]) / 2, (bias[1:] - bias[:1]) / 2

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        counts_only = self.vectors not in ("auto", "as-is") or self.multi == "ovo"
        tags.input_tags.positive_only = counts_only
        tags.input_tags.categorical = counts_only
        tags.classifier_tags.poor_score = self.vectors != "as-is"
        return tags


class OkapiKNN(CountClassifier):
    """The nearest training documents by Okapi similarity; labels score the sum of similarities.

    Parameters
    ----------
    k : int, default=100
        How many neighbours have a say.
    threshold : str, default=None
        How labels are decided where documents have several; as many as training documents have on average when None.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.
    n_features_in_, feature_names_in_ :
        Number of columns, and their names where X was a DataFrame.

    See Also
    --------
    WeightedKNN : Neighbours by cosine, with shares that are probabilities.
    sklearn.calibration.CalibratedClassifierCV : Probabilities of any classifier, also this one.

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

    _parameter_constraints = {"k": [POSITIVE], "threshold": [str, None], **RUNNING}

    def __init__(
        self, k: int = 100, *, threshold: str | None = None, n_jobs: int | None = None, verbose: bool = False
    ):
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

    def score(self, X: Any, y: Any, sample_weight: Any = None, lengths: Any = None) -> float:
        """Share of documents whose label, or set of labels, is right."""
        return accuracy_score(y, self.predict(X, lengths), sample_weight=sample_weight)


class WeightedKNN(CountClassifier):
    """The nearest training documents by cosine; labels score their share of the similarity, from 0 to 1.

    Parameters
    ----------
    k : int, default=20
        How many neighbours have a say.
    threshold : str, default=None
        How labels are decided where documents have several; as many as training documents have on average when None.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.
    n_features_in_, feature_names_in_ :
        Number of columns, and their names where X was a DataFrame.

    See Also
    --------
    OkapiKNN : Neighbours by Okapi similarity.

    Examples
    --------
    >>> from tamis import WeightedKNN
    >>> WeightedKNN(k=1).fit([[2, 0], [0, 1]], ["a", "b"]).predict_proba([[3, 0]]).tolist()
    [[1.0, 0.0]]
    """

    _parameter_constraints = {"k": [POSITIVE], "threshold": [str, None], **RUNNING}

    def __init__(
        self, k: int = 20, *, threshold: str | None = None, n_jobs: int | None = None, verbose: bool = False
    ):
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
