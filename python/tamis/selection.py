"""The words that matter: any selector of the literature, and subset search."""

from __future__ import annotations

import json
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import chi2
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, check_non_negative, validate_data

from . import _inputs
from ._parameters import COUNT, POSITIVE, RUNNING


class _ColumnSelector(SelectorMixin, BaseEstimator):
    """What both selectors share: columns of a matrix of counts are ranked, some are kept."""

    def _rank(self, X: Any, y: Any, by: str, size: int | None, budget: tuple) -> str | None:
        self._validate_params()
        if y is None and self._needs_labels():
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y is None."
            )
        if y is None:
            X = validate_data(self, X, accept_sparse="csr")
            labels = _inputs.no_labels(X.shape[0])
        else:
            _inputs.refuse_lists(y)
            y, names = _inputs.known_form(y)
            X, y = validate_data(self, X, y, accept_sparse="csr", multi_output=True, ensure_min_samples=2)
            labels = _inputs.labels(y, names=names)
        cut = self.cut
        try:
            columns, scores, found, _ = _inputs.rank_columns(X, labels, by, cut, size, budget, _inputs.how(self))
        except ValueError:
            # The core refuses numbers below 0 as well; then scikit-learn says it in its own words.
            check_non_negative(X, f"{type(self).__name__}.fit")
            raise
        n = X.shape[1]
        # Columns that were cut have no score; minus infinity ranks below every other.
        self.scores_ = np.full(n, -np.inf)
        self.scores_[columns] = scores
        self.ranking_ = np.full(n, len(columns) + 1, dtype=int)
        self.ranking_[columns] = np.arange(1, len(columns) + 1)
        self._order = columns
        #: χ² of one label has one degree of freedom; the best of several labels is corrected for their number (Bonferroni).
        self.pvalues_ = None
        if by.partition("@")[0].strip() == "chi2max":
            problems = 1 if len(labels.classes) <= 2 and not labels.multilabel else len(labels.classes)
            self.pvalues_ = np.where(np.isfinite(self.scores_), np.minimum(problems * chi2.sf(self.scores_, 1), 1.0), 1.0)
        return found

    def transform(self, X: Any) -> Any:
        """The columns that were selected; of a sparse matrix, where frames are asked for, as a frame of sparse columns."""
        if not sp.issparse(X) or _get_output_config("transform", self)["dense"] != "pandas":
            return super().transform(X)
        support = self.get_support(indices=True)
        X = validate_data(self, X, dtype=None, accept_sparse="csr", reset=False)
        return pd.DataFrame.sparse.from_spmatrix(X[:, support])

    def _get_support_mask(self) -> np.ndarray:
        check_is_fitted(self, "support_")
        return self.support_

    def _needs_labels(self) -> bool:
        return True

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = True
        tags.target_tags.required = self._needs_labels()
        return tags


class Selector(_ColumnSelector):
    """Select columns by any selector of tamis, for one label or many, sparse or dense.

    Parameters
    ----------
    by : str, default="lr(chi2max,chi2avg)"
        Selector expression: ``chi2max``, ``ig``, ``bns``, ``wfo(0.3)``, ``wr(0.7*chi2max,0.3*ig)`` …;
        ``tamis.registry("selectors")`` lists the scores with their formulas.
    k : int or "all", default=2000
        How many columns; fewer when fewer are ranked.
    cut : int, default=1
        Columns that are positive in at most so many documents are left out before scores are computed; None cuts those
        in no document. A cut inside the expression wins.
    n_jobs : int, default=None
        Threads: one when None, all cores when −1. The result does not depend on it.
    verbose : bool, default=False
        Show progress: a bar where tqdm is installed, else lines on standard error.

    Attributes
    ----------
    scores_ : ndarray of shape (n_features,)
        The score of each column, larger is better; minus infinity for those that were cut. Combinations of ranks give
        points: the number of candidates plus one minus the rank.
    ranking_ : ndarray of shape (n_features,)
        The rank of each column, 1 for the best; those that were cut share the rank after the last.
    pvalues_ : ndarray of shape (n_features,) or None
        For ``chi2max``: how likely so large a χ² is of a word that tells nothing of any label, corrected for the number of labels.
        None for other selectors.

    Notes
    -----
    Most selectors look at whether a value is above 0, so tf-idf weights select as counts do. ``ib`` looks at counts and
    wants whole numbers.

    See Also
    --------
    sklearn.feature_selection.SelectKBest : docs/drop-in.md has both side by side.
    OscillatingSearch : Columns that are best together.
    tamis.rank : The ranking as a table.

    Examples
    --------
    >>> from tamis import Selector, TextCounter
    >>> texts = ["ship oil port", "ship crew", "oil price", "price barrel oil"]
    >>> counter = TextCounter()
    >>> X = counter.fit_transform(texts)
    >>> selector = Selector(by="lr(chi2max,ig)", k=2).fit(X, ["shipping", "shipping", "crude", "crude"])
    >>> selector.get_feature_names_out(counter.get_feature_names_out()).tolist()
    ['price', 'ship']
    """

    _parameter_constraints = {
        "by": [str],
        "k": [COUNT, StrOptions({"all"})],
        "cut": [COUNT, None],
        **RUNNING,
    }

    def __init__(
        self,
        by: str = "lr(chi2max,chi2avg)",
        k: int | str = 2000,
        *,
        cut: int | None = 1,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.by = by
        self.k = k
        self.cut = cut
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> Selector:
        """Rank the columns of X; y is labels or an indicator matrix."""
        size = None if isinstance(self.k, str) else self.k
        self._rank(X, y, self.by, size, (None, None))
        self.support_ = np.zeros(len(self.scores_), dtype=bool)
        self.support_[self._order[:size]] = True
        return self

    def _needs_labels(self) -> bool:
        return str(self.by).partition("@")[0].strip() != "df"


class OscillatingSearch(_ColumnSelector):
    """Select the columns that are best together, by oscillating search over the Bhattacharyya distance of classes.

    Parameters
    ----------
    k : int, default=100
        How many columns.
    start : str, default="ib"
        Selector whose first columns the search starts from.
    depth : int, default=1
        How many columns a swing exchanges at most.
    cut : int, default=1
        Columns in at most so many documents are left out; None cuts those in no document.
    seconds, swings : float and int, default=None
        Stop early and take the best subset so far.
    n_jobs, verbose :
        As for :class:`Selector`.

    Attributes
    ----------
    scores_, ranking_ :
        Scores of the selected columns by the start selector, and their order.
    value_ : float
        The criterion's value of the subset.
    history_ : list of float
        The value at the start and after each improvement.
    n_swings_ : int
        Swings made.

    See Also
    --------
    Selector : Columns that are best one by one, in less time.

    Examples
    --------
    >>> from tamis import OscillatingSearch, TextCounter
    >>> X = TextCounter().fit_transform(["the wheat grain", "the wheat rain", "the gold mine", "the gold ore"])
    >>> OscillatingSearch(k=2, cut=None).fit(X, ["crops", "crops", "metal", "metal"]).get_support(indices=True).tolist()
    [0, 6]
    """

    _parameter_constraints = {
        "k": [POSITIVE],
        "start": [str],
        "depth": [POSITIVE],
        "cut": [COUNT, None],
        "seconds": [Interval(Real, 0, None, closed="left"), None],
        "swings": [COUNT, None],
        **RUNNING,
    }

    def __init__(
        self,
        k: int = 100,
        *,
        start: str = "ib",
        depth: int = 1,
        cut: int | None = 1,
        seconds: float | None = None,
        swings: int | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.k = k
        self.start = start
        self.depth = depth
        self.cut = cut
        self.seconds = seconds
        self.swings = swings
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> OscillatingSearch:
        """Search on X; y is labels or an indicator matrix."""
        by = f"os({self.start},{self.depth})"
        found = json.loads(self._rank(X, y, by, self.k, (self.seconds, self.swings)) or "{}")
        self.support_ = self.scores_ > -np.inf
        self.value_, self.history_, self.n_swings_ = found["value"], found["history"], found["steps"]
        return self

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        # Its criterion looks at occurrences. This is scikit-learn's tag for input coded as whole numbers.
        tags.input_tags.categorical = True
        return tags
