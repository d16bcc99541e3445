"""Logistic regression on counts, for one label or many."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

from ._classifier import CountClassifier
from ._parameters import POSITIVE, RUNNING


class LinearLogistic(CountClassifier):
    """Logistic regression with an L2 penalty on counts, solved to a stated gap: probabilities without a calibration.

    Documents become tf-idf vectors inside (or as ``vectors`` says): pass counts, not weights. The intercept is penalised like any other
    weight, as in ``sklearn.linear_model.LogisticRegression(solver="liblinear")``.

    Parameters
    ----------
    C : float, default=1.0
        Cost of errors.
    form : {None, "ovr", "multinomial"}, default=None
        Each label against the rest, or all labels together; told from the labels when None: together where every document has one of
        more than two.
    vectors : str, default="tfidf"
        How counts become vectors: ``tfidf``, ``binary``, ``tf``, ``okapi``, also times a score of terms, as in ``binary*lpr`` or
        ``tfidf*rf(per=label)``.
    class_weight : {None, "balanced"} or dict, default=None
        What documents of a label cost: all alike, so that labels weigh the same, or a number for each label (1 for those not named).
    gap : float, default=1e-6
        Duality gap at which a problem is solved, as a share of its value.
    iterations : int, default=100
        Steps of Newton's method after which a problem is given up.
    threshold : str, default=None
        How labels are decided where documents have several; those with a probability of at least ½ when None.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels, or the columns of the indicator matrix.
    n_iter_ : int
        Steps of the problem that took most.

    See Also
    --------
    sklearn.linear_model.LogisticRegression : docs/drop-in.md has both side by side.
    LinearSVM : Another loss; also on numbers that are no counts.

    Examples
    --------
    >>> from tamis import LinearLogistic
    >>> model = LinearLogistic(C=10, vectors="tf").fit([[2, 0], [0, 1]], ["a", "b"])
    >>> model.predict([[3, 1]]).tolist()
    ['a']
    >>> model.predict_proba([[3, 1]]).round(2).tolist()
    [[0.94, 0.06]]
    """

    _absent_score = -np.inf

    _parameter_constraints = {
        "C": [Interval(Real, 0, None, closed="neither")],
        "form": [str, None],
        "vectors": [str],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "gap": [Interval(Real, 0, None, closed="neither")],
        "iterations": [POSITIVE],
        "threshold": [str, None],
        **RUNNING,
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        form: str | None = None,
        vectors: str = "tfidf",
        class_weight: str | dict | None = None,
        gap: float = 1e-6,
        iterations: int = 100,
        threshold: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.C = C
        self.form = form
        self.vectors = vectors
        self.class_weight = class_weight
        self.gap = gap
        self.iterations = iterations
        self.threshold = threshold
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _spec(self) -> str:
        form = "" if self.form is None else f",form={self.form}"
        return (
            f"logistic(c={float(self.C)!r},vectors={self.vectors},classes={self._class_weights()},gap={float(self.gap)!r},"
            f"iterations={self.iterations}{form})"
        )

    def _policy(self) -> str | None:
        return f"fixed({float(np.log(0.5))!r})" if self.threshold is None else self.threshold

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> LinearLogistic:
        """Fit to counts X (documents × terms) and labels y; `sample_weight` says how often each document counts."""
        self._fit(X, y, sample_weight=sample_weight)
        self.n_iter_ = max(self._model.passes, default=0)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Log probabilities, documents × labels; for two classes the log odds of the second."""
        scores = self._scores(X)
        return scores if self._multilabel or scores.shape[1] > 2 else scores[:, 1] - scores[:, 0]

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of probabilities, documents × labels."""
        return np.log(self.predict_proba(X))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities, documents × labels; of one label for each document they add up to 1."""
        p = np.exp(self._scores(X))
        if self.form == "ovr" and not self._multilabel:
            total = p.sum(axis=1, keepdims=True)
            p = np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)
        return p
