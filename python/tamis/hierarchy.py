"""A taxonomy of classifiers, with thresholds along its pipelines."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _num_samples, check_is_fitted

from . import _core, _inputs
from ._parameters import COUNT, RUNNING, SEED
from .classifiers import LinearSVM
from .threshold import scores_of


def taxonomy_pairs(taxonomy: Any, names: list[str]) -> list[tuple[str, str | None]]:
    """A taxonomy as pairs of child and parent: from a file, a dictionary, pairs, or (empty) from the names of labels."""
    if taxonomy is None:
        return [(name, None) for name in names]
    if isinstance(taxonomy, str) and taxonomy == "names":
        return []
    if isinstance(taxonomy, (str, os.PathLike)):
        return _core.read_taxonomy(os.fspath(taxonomy))
    pairs = taxonomy.items() if isinstance(taxonomy, dict) else taxonomy
    return [(str(child), None if parent is None or parent == "" else str(parent)) for child, parent in pairs]


def taxonomy_nodes(taxonomy: Any) -> Any:
    """A taxonomy as the library's options have it: the word ``names``, or nodes with their parents."""
    pairs = taxonomy_pairs(taxonomy, [])
    return [{"id": child, "parent": parent} for child, parent in pairs] or "names"


def named_by(taxonomy: Any) -> dict[str, Any]:
    """The labels of a taxonomy that Python holds, as the user wrote them, by their names."""
    if taxonomy is None or isinstance(taxonomy, (str, os.PathLike)):
        return {}
    pairs = taxonomy.items() if isinstance(taxonomy, dict) else taxonomy
    return {str(label): label for pair in pairs for label in pair if label is not None and label != ""}


class ProgressiveFilter(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """Progressive filtering: a binary classifier for each node of a taxonomy, thresholds along each pipeline.

    A document is given a node when every classifier on the way from the root to the node accepts it. Each pipeline has
    thresholds of its own, tuned together on held-out documents.

    Parameters
    ----------
    estimator : classifier, default=None
        Classifier of every node, with a ``decision_function`` or ``predict_proba``; :class:`LinearSVM` when None.
    taxonomy : dict, list of pairs, path, or "names", default=None
        Child to parent (None for a root), a taxonomy file, or paths in the names of labels such as ``rec.sport.hockey``.
        Without one every label is a root.
    threshold : {"greedy-exact", "tsa", "rbf", "exact"}, default="tsa"
        How thresholds are found.
    utility : str, default="f1"
        What they maximise: ``f1``, ``f(0.5)``, ``precision``, ``recall``.
    negatives : {"parent-minus-node", "siblings", "all-minus-node"}, default="parent-minus-node"
        Which documents are negative at a node.
    per_node : int, default=1000
        Training documents of a node, half of them positive; 0 for all.
    imbalance : str, default=None
        Positives to negatives where it will be used, such as ``"2^-4"``.
    answers : {"all", "at-least-one", "one"}, default=None
        How many nodes a document is given; as the training documents suggest when None, and one where y is a vector.
    step : float, default=None
        Step of the grid of tsa and rbf.
    cv : int, default=3
        Folds.
    random_state : int, RandomState or Generator, default=1
        Seed of folds and training sets.
    n_jobs, verbose :
        Threads of the tuning (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The nodes of the taxonomy, in order: columns of what ``predict`` gives where y is an indicator matrix.
    estimators_ : dict
        Fitted classifiers by node.
    tuned_ : dict
        Thresholds by node, root first, and what is known about them; None for nodes that are never accepted.

    See Also
    --------
    TextCategorizer : The same from strings, with a model file.
    ThresholdTuner : Thresholds of labels without a taxonomy.

    Examples
    --------
    >>> from tamis import ProgressiveFilter, TextCounter
    >>> texts = ["ice puck", "grass goal", "oil price"] * 10
    >>> labels = ["sport/hockey", "sport/football", "trade"] * 10
    >>> X = TextCounter().fit_transform(texts)
    >>> ProgressiveFilter(taxonomy="names").fit(X, labels).predict(X[:3]).tolist()
    ['sport/hockey', 'sport/football', 'trade']
    """

    _parameter_constraints = {
        "estimator": [HasMethods(["fit", "decision_function"]), HasMethods(["fit", "predict_proba"]), None],
        "taxonomy": [Mapping, "array-like", str, os.PathLike, None],
        "threshold": [StrOptions({"greedy-exact", "tsa", "rbf", "exact"})],
        "utility": [str],
        "negatives": [str],
        "per_node": [COUNT, None],
        "imbalance": [str, None],
        "answers": [str, None],
        "step": [Real, None],
        "cv": [Interval(Integral, 2, None, closed="left")],
        "random_state": SEED,
        **RUNNING,
    }

    def __init__(
        self,
        estimator: Any = None,
        taxonomy: Any = None,
        *,
        threshold: str = "tsa",
        utility: str = "f1",
        negatives: str = "parent-minus-node",
        per_node: int | None = 1000,
        imbalance: str | None = None,
        answers: str | None = None,
        step: float | None = None,
        cv: int = 3,
        random_state: Any = 1,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.estimator = estimator
        self.taxonomy = taxonomy
        self.threshold = threshold
        self.utility = utility
        self.negatives = negatives
        self.per_node = per_node
        self.imbalance = imbalance
        self.answers = answers
        self.step = step
        self.cv = cv
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any) -> ProgressiveFilter:
        """Fit the nodes; y names nodes: a vector, or an indicator (a DataFrame whose columns name them)."""
        self._validate_params()
        _inputs.refuse_lists(y)
        y, names = _inputs.known_form(y) if y is not None else (y, None)
        X, y = indexable(X, y)
        labels = _inputs.labels(y, names=names)
        _inputs.two_classes(labels, type(self).__name__)
        self._multilabel = labels.multilabel
        nodes, sets = self._nodes(labels)
        seed = _inputs.seed(self.random_state)
        folds = _core.stratified_folds(sets, int(self.cv), seed)
        everything = np.arange(len(folds), dtype=np.int64)
        held_out = np.full((len(folds), len(nodes.names)), -np.inf)
        margins = False
        for fold in range(folds.max() + 1):
            train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
            models, states = self._train(nodes, X, train, seed)
            held_out[test], margins = _node_scores(models, states, _safe_indexing(X, test), len(test))
        self.estimators_, self._states = self._train(nodes, X, everything, seed)
        options = {
            "imbalance": self.imbalance,
            "utility": self.utility,
            "step": self.step,
            "answers": self.answers if labels.multilabel else "one",
            "negatives": self.negatives,
            "per_node": self.per_node or None,
        }
        self._filter = nodes.tune(
            held_out, margins, folds, self._states, self.threshold, json.dumps(options), _inputs.how(self)
        )
        tuned = json.loads(self._filter.tuned)
        self.tuned_ = dict(zip(nodes.names, tuned))
        self.parents_ = {
            name: None if parent < 0 else nodes.names[parent] for name, parent in zip(nodes.names, nodes.parents)
        }
        known = {**named_by(self.taxonomy), **dict(zip(labels.names, labels.classes.tolist()))}
        node_labels = np.array([known.get(name, name) for name in nodes.names])
        # Classes are in the order of scikit-learn, nodes in that of their names.
        self.classes_, self._class_of = np.unique(node_labels, return_inverse=True)
        self._node_of = np.argsort(self._class_of)
        first = next(iter(self.estimators_.values()), None)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def _nodes(self, labels: _inputs.Labels) -> tuple[Any, _inputs.Sets]:
        """The taxonomy with the documents of its nodes; labels in the order of their names."""
        names = labels.names
        order = sorted(range(len(names)), key=lambda at: names[at])
        place = np.empty(len(names), dtype=np.int32)
        place[order] = np.arange(len(names), dtype=np.int32)
        indptr, indices, n = labels.sets
        codes = place[indices]
        for row in range(len(indptr) - 1) if labels.multilabel else ():
            codes[indptr[row] : indptr[row + 1]].sort()
        sets = (indptr, codes, n)
        names = [names[at] for at in order]
        return _core.Nodes(taxonomy_pairs(self.taxonomy, names), sets, names), sets

    def _train(self, nodes: Any, X: Any, rows: np.ndarray, seed: int) -> tuple[dict[int, Any], list[int]]:
        estimator = LinearSVM() if self.estimator is None else self.estimator
        sets, states = nodes.training(rows.astype(np.int64), self.negatives, self.per_node, seed)
        models = {}
        for node, chosen, positive in sets:
            models[node] = clone(estimator).fit(_safe_indexing(X, chosen), positive.astype(int))
        return models, list(states)

    def _decide(self, X: Any) -> tuple:
        check_is_fitted(self, "_filter")
        return self._filter.decide(_node_scores(self.estimators_, self._states, X, _num_samples(X))[0])

    def predict(self, X: Any) -> np.ndarray:
        """The most specific accepted nodes: a label for each document, or an indicator matrix over ``classes_``."""
        indptr, indices, ranking = self._decide(X)
        if self._multilabel:
            return _inputs.to_indicator(indptr, indices, len(self.classes_))[:, self._node_of]
        # One answer was asked for: every document has one.
        codes = ranking.argmax(axis=1)
        codes[np.diff(indptr) > 0] = indices
        return self.classes_[self._class_of[codes]]

    def decision_function(self, X: Any) -> np.ndarray:
        """How likely a document comes as far as each node and no further, documents × nodes (``classes_``); nodes that it
        is given have 1 added, so that they come first."""
        indptr, indices, ranking = self._decide(X)
        ranking += _inputs.to_indicator(indptr, indices, ranking.shape[1])
        scores = ranking[:, self._node_of]
        return scores if self._multilabel or scores.shape[1] != 2 else scores[:, 1] - scores[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(LinearSVM() if self.estimator is None else self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.poor_score = inner.classifier_tags.poor_score
        tags.classifier_tags.multi_label = True
        return tags


def _node_scores(models: dict[int, Any], states: list[int], X: Any, documents: int) -> tuple[np.ndarray, bool]:
    """Scores of all nodes, and whether they are margins; infinite where a node has nothing to decide."""
    by_state = np.array([-np.inf, -np.inf, np.inf])
    scores = np.tile(by_state[np.asarray(states)], (documents, 1))
    margins = False
    for node, model in models.items():
        margins = hasattr(model, "decision_function")
        found = scores_of(model, X, "decision_function" if margins else "predict_proba")
        scores[:, node] = found[:, -1]
    return scores, margins
