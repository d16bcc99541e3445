"""Raw strings in, labels out: a whole model in one estimator, and in one file."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core, _inputs, _warnings
from ._parameters import COUNT, POSITIVE, RUNNING, SEED, TEXT
from ._target import FLOORS, asked, given_target, rows_of, target_of
from .explanation import Explanation
from .hierarchy import named_by, taxonomy_nodes

#: The share of documents that a model was trained on above which `evaluate` warns; the command's.
TRAINED_ON = 0.05


class TextCategorizer(ClassifierMixin, BaseEstimator):
    """Text categorisation from raw strings: selection, classifier and thresholds, chosen by cross-validation.

    What ``tamis fit`` does, with the same result. What is None is chosen, and ``why_`` says why.

    Parameters
    ----------
    by : str, default=None
        Selector expression.
    features : int, "all" or "auto", default="auto"
        Number of features.
    classifier : str, default=None
        Such as ``svm``, ``bayes``, ``knn(100)``.
    effort : {"quick", "usual", "thorough"}, default="usual"
        How much work choosing may be. ``usual`` and ``thorough`` also try pairs of words, and characters where words
        are not parted by blanks, where nothing is said about terms.
    prefer : {"best", "small"}, default="best"
        Which number of features is taken: the one that did best, or the smallest that loses no more than ``loss``.
    loss : float, default=None
        R-precision that ``prefer="small"`` may lose; 0.005 when None.
    unlabelled : {"negative", "ignore"}, default="negative"
        What documents with an empty list of labels are: documents of none of the labels, or documents that nobody labelled, which are
        left out.
    threshold : str, default=None
        Such as ``rcut(1)``, ``scut``; with a taxonomy also ``tsa``, ``rbf``, ``exact``, ``greedy-exact``.
    calibrate : {"platt", "isotonic", "softmax"}, default=None
        How probabilities are learned, for ``predict_proba``; ``"platt"`` when None, where folds are made.
    folds : int, default=None
        Folds that tune thresholds and measure quality; 5, or 3 along a taxonomy, when None; 0 for none.
    taxonomy : dict, list of pairs, path, or "names", default=None
        As for :class:`ProgressiveFilter`. Classifiers along it and side by side are compared, and the better is taken.
    negatives : {"parent-minus-node", "siblings", "all-minus-node"}, default="parent-minus-node"
        Which documents are negative at a node.
    per_node : int, default=None
        Most training documents of a node, half of them positive; all when None.
    utility : str, default="f1"
        What thresholds along the taxonomy maximise: ``f1``, ``f(0.5)``, ``precision``, ``recall``.
    step : float, default=None
        Step of the grid of ``tsa`` and ``rbf``.
    least_utility : float, default=None
        A node whose thresholds reach less than this on held-out documents is never accepted; 0.1 when None.
    imbalance : str, default=None
        Positives to negatives where the model will be used, such as ``2^-4`` or ``prior(0.05)``.
    answers : {"all", "at-least-one", "one", "best"}, default=None
        How many paths a document is given by thresholds; as the training documents suggest when None.
    goal : {"exact", "hf1", "f1", "cost"}, default=None
        What answers along a taxonomy are to be good at; exact where documents have one label, else hierarchical F1, when None.
    costs : path, default=None
        The table of costs of the goal ``"cost"``: answer, truth and cost by line, separated by tabs.
    quantise : bool, default=False
        Store linear weights in 8 bits; ``unchanged_`` says how many first labels stay the same.
    seconds : float, default=None
        Bound of subset searches.
    min_df : int, default=1
        Terms of fewer documents are left out before they take memory.
    random_state : int, default=1
        Seed.
    terms, words, lowercase, min_length, max_length, digits, stop_words, stem, language, ngrams, char_ngrams, html :
        How text becomes terms, as for :class:`TextCounter`.
    n_jobs, verbose :
        Threads (one when None, all cores when −1) and progress.

    Attributes
    ----------
    classes_ : ndarray
        The labels.
    features_ : list of str
        The selected words, best first.
    why_ : list of str
        Reasons of what was chosen.
    quality_ : dict
        Measures from cross-validation on the training documents.
    trials_ : DataFrame
        What was compared.
    frontier_ : DataFrame
        What fewer features cost: number of features, what they reached, and its share of the best.
    curves_ : dict
        For each label F against threshold, where thresholds were tuned.

    n_iter_ : int or None
        Passes of the label that took most, of an SVM that was fitted here.

    See Also
    --------
    TextCounter, Selector, LinearSVM, ThresholdTuner : The parts of it, for pipelines.

    Examples
    --------
    >>> from tamis import TextCategorizer
    >>> texts = ["ship port sea", "ship crew sea", "oil price trade", "price of a barrel"] * 5
    >>> model = TextCategorizer(by="chi2max", features=5, classifier="bayes").fit(texts, ["sea", "sea", "oil", "oil"] * 5)
    >>> model.predict(["a ship at sea"]).tolist()
    ['sea']
    >>> model.explain("a ship at sea")[0]["label"]
    'sea'
    """

    _parameter_constraints = {
        "by": [str, None],
        "features": [POSITIVE, StrOptions({"auto", "all"})],
        "classifier": [str, None],
        "effort": [StrOptions({"quick", "usual", "thorough"})],
        "prefer": [StrOptions({"best", "small"})],
        "loss": [Interval(Real, 0, 1, closed="left"), None],
        "unlabelled": [StrOptions({"negative", "ignore"}), None],
        "threshold": [str, None],
        "calibrate": [StrOptions({"platt", "isotonic", "softmax"}), None],
        "folds": [COUNT, None],
        "taxonomy": [Mapping, "array-like", str, os.PathLike, None],
        "negatives": [str],
        "per_node": [POSITIVE, None],
        "utility": [str],
        "step": [Real, None],
        "least_utility": [Real, None],
        "imbalance": [str, None],
        "answers": [str, None],
        "goal": [str, None],
        "costs": [str, os.PathLike, None],
        "quantise": ["boolean"],
        "seconds": [Interval(Real, 0, None, closed="left"), None],
        "min_df": [POSITIVE],
        "random_state": SEED,
        **TEXT,
        **RUNNING,
    }

    def __init__(
        self,
        *,
        by: str | None = None,
        features: int | str = "auto",
        classifier: str | None = None,
        effort: str = "usual",
        prefer: str = "best",
        loss: float | None = None,
        unlabelled: str | None = "negative",
        threshold: str | None = None,
        calibrate: str | None = None,
        folds: int | None = None,
        taxonomy: Any = None,
        negatives: str = "parent-minus-node",
        per_node: int | None = None,
        utility: str = "f1",
        step: float | None = None,
        least_utility: float | None = None,
        imbalance: str | None = None,
        answers: str | None = None,
        goal: str | None = None,
        costs: str | os.PathLike[str] | None = None,
        quantise: bool = False,
        seconds: float | None = None,
        min_df: int = 1,
        random_state: Any = 1,
        terms: str | None = None,
        words: str | None = None,
        lowercase: bool = True,
        min_length: int | None = None,
        max_length: int | None = None,
        digits: str = "keep",
        stop_words: Any = None,
        stem: str | None = None,
        language: str | None = None,
        ngrams: int | None = None,
        char_ngrams: tuple[int, int] | None = None,
        html: str | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.by = by
        self.features = features
        self.classifier = classifier
        self.effort = effort
        self.prefer = prefer
        self.loss = loss
        self.unlabelled = unlabelled
        self.threshold = threshold
        self.calibrate = calibrate
        self.folds = folds
        self.taxonomy = taxonomy
        self.negatives = negatives
        self.per_node = per_node
        self.utility = utility
        self.step = step
        self.least_utility = least_utility
        self.imbalance = imbalance
        self.answers = answers
        self.goal = goal
        self.costs = costs
        self.quantise = quantise
        self.seconds = seconds
        self.min_df = min_df
        self.random_state = random_state
        self.terms = terms
        self.words = words
        self.lowercase = lowercase
        self.min_length = min_length
        self.max_length = max_length
        self.digits = digits
        self.stop_words = stop_words
        self.stem = stem
        self.language = language
        self.ngrams = ngrams
        self.char_ngrams = char_ngrams
        self.html = html
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, raw_documents: Any, y: Any, sample_weight: Any = None) -> TextCategorizer:
        """Fit; y is a label for each document, a list of labels for each, or an indicator matrix; `sample_weight` says how often each
        document counts."""
        self._validate_params()
        text = _inputs.text_parameters(self)
        documents = _inputs.texts(raw_documents, fields=_core.text_fields(text))
        labels = _inputs.labels(y, lists=True)
        _inputs.two_classes(labels, type(self).__name__)
        nodes = named_by(self.taxonomy)
        target = target_of(labels, nodes)
        weights = None if sample_weight is None else np.ascontiguousarray(sample_weight, dtype=np.float64).ravel()
        model, report = _core.Model.fit_texts(
            documents, labels.sets, labels.names, text, json.dumps(self._fitting()), target, _inputs.how(self), weights, int(self.min_df)
        )
        report = json.loads(report)
        self.trials_ = pd.DataFrame(report["trials"]).rename(columns={"size": "features", "mean": "RPrec"})
        self.frontier_ = pd.DataFrame(report["frontier"]).rename(columns={"size": "features", "mean": "RPrec"})
        self.unchanged_ = report["unchanged"]
        self.threshold_report_ = report["thresholds"]
        self._adopt(model, labels.kind, labels.classes, nodes)
        return self

    def _fitting(self) -> dict[str, Any]:
        """The library's options."""
        return {
            "by": self.by,
            "features": {"auto": None, "all": "all"}.get(self.features) if isinstance(self.features, str) else int(self.features),
            "classifier": self.classifier,
            "effort": self.effort,
            "prefer": self.prefer,
            "loss": self.loss,
            "unlabelled": self.unlabelled,
            "threshold": self.threshold,
            "calibrate": self.calibrate,
            "folds": self.folds,
            "budget": {"seconds": self.seconds},
            "quantise": bool(self.quantise),
            "taxonomy": None if self.taxonomy is None else taxonomy_nodes(self.taxonomy),
            "hierarchy": {
                "negatives": self.negatives,
                "per_node": self.per_node,
                "utility": self.utility,
                "step": self.step,
                "least_utility": self.least_utility,
                "imbalance": self.imbalance,
                "answers": self.answers,
                "goal": self.goal,
                "costs": None if self.costs is None else os.fspath(self.costs),
            },
            "seed": _inputs.seed(self.random_state),
        }

    def _adopt(self, model: Any, kind: str, classes: np.ndarray, nodes: dict[str, Any]) -> None:
        self._model, self._kind = model, kind
        about = json.loads(model.about)
        names = model.labels
        known = {str(label): label for label in classes.tolist()}
        #: Labels in the order of the model's numbers, as the user wrote them.
        self._labels = np.array([known.get(name, nodes.get(name, name)) for name in names])
        if self._labels.dtype.kind == classes.dtype.kind:
            self._labels = self._labels.astype(classes.dtype)
        if kind == "multilabel-indicator" and not about["progressive"]:
            self.classes_ = classes
        elif kind in ("binary", "multiclass") or self._labels.dtype.kind in "ifb":
            self.classes_ = np.unique(self._labels)
        else:
            self.classes_ = self._labels
        place = {label: at for at, label in enumerate(self._labels.tolist())}
        #: The model's number of each class; −1 for one that no document has.
        self._column = np.array([place.get(label, -1) for label in self.classes_.tolist()])
        self.features_ = model.features
        self.why_ = about["summary"]["choices"]
        self.quality_ = dict(about["summary"]["quality"])
        self.selector_ = about["summary"]["selector"]
        self.classifier_ = about["summary"]["classifier"]
        self.deciding_ = about["deciding"]
        self.curves_ = {names[curve["label"]]: curve for curve in about["curves"]}
        values = about["thresholds"].get("values")
        self.thresholds_ = None if values is None else dict(zip(names, values))
        self._calibrated = about["calibration"] is not None
        documents = np.array(about["summary"]["label_documents"])
        self._majority = self._labels[documents.argmax()]
        self._shares = documents / max(documents.sum(), 1)
        #: What a label scores that was not ranked: finite, so that whoever calibrates or stacks can go on.
        self._floor = 0.0 if about["progressive"] else FLOORS[str(self.classifier_).partition("(")[0]]
        self.n_iter_ = max(model.passes, default=None)

    def predict(self, raw_documents: Any) -> Any:
        """Labels, in the form y had: a vector, a list of labels for each document, or an indicator matrix."""
        _, indptr, indices, known = self._label(raw_documents, None)
        _warnings.unknown_words(known)
        if self._kind == "multilabel-indicator":
            wide = _inputs.to_indicator(indptr, indices, len(self._labels))
            known = np.where(self._column[None, :] >= 0, wide[:, np.maximum(self._column, 0)], 0)
            return known
        names = self._labels[indices]
        if self._kind in ("lists", "none"):
            return [sorted(part.tolist()) for part in np.split(names, indptr[1:-1])] if len(indptr) > 1 else []
        best = np.full(len(indptr) - 1, self._majority, dtype=self._labels.dtype)
        has = np.diff(indptr) > 0
        # Thresholds other than rcut(1) may give several: the highest score decides.
        if (np.diff(indptr) > 1).any():
            scores = self._label(raw_documents, -np.inf)[0]
            best[has] = self._labels[scores[has].argmax(axis=1)]
        else:
            best[has] = names
        return best

    def decision_function(self, raw_documents: Any) -> np.ndarray:
        """Scores, documents × classes; a finite floor for labels that were not ranked. Two classes: half the difference."""
        scores = self._label(raw_documents, self._floor)[0]
        scores = np.where(self._column[None, :] >= 0, scores[:, np.maximum(self._column, 0)], self._floor)
        return (scores[:, 1] - scores[:, 0]) / 2 if self._kind == "binary" else scores

    def _has_probabilities(self) -> bool:
        if getattr(self, "_calibrated", False):
            return True
        if self.taxonomy is not None:
            return False
        if hasattr(self, "classifier_"):
            return str(self.classifier_).partition("(")[0] in ("bayes", "logistic", "wknn")
        # Without folds there is nothing to learn them from, but some classifiers have their own.
        return self.folds != 0 or str(self.classifier).partition("(")[0] in ("bayes", "logistic", "wknn")

    @available_if(_has_probabilities)
    def predict_proba(self, raw_documents: Any) -> np.ndarray:
        """Probabilities, documents × classes, where folds were made or the classifier has some of its own
        (``bayes``, ``logistic``, ``wknn``); rows add up to 1 where each document has one label."""
        p = self._probabilities(self._label(raw_documents, -np.inf)[0])
        return np.where(self._column[None, :] >= 0, p[:, np.maximum(self._column, 0)], 0.0)

    def _probabilities(self, scores: np.ndarray) -> np.ndarray:
        """Probabilities for scores, label by label: learned, or what the classifier's scores say themselves."""
        p = self._model.probabilities(scores)
        if p is None:
            p = np.exp(scores) if str(self.classifier_).startswith(("bayes", "logistic")) else np.maximum(scores, 0.0)
            p[~p.any(axis=1)] = self._shares
        if self._kind in ("binary", "multiclass"):
            total = p.sum(axis=1, keepdims=True)
            p = np.divide(p, total, out=np.full_like(p, 1 / p.shape[1]), where=total > 0)
        return p

    def known(self, raw_documents: Any) -> np.ndarray:
        """Whether each document has a word that the model knows."""
        return self._label(raw_documents, None)[3]

    def _texts(self, raw_documents: Any) -> Any:
        return _inputs.texts(raw_documents, fields=self._model.fields)

    def explain(
        self, document: Any, label: Any = None, top: int = 10, spans: bool = False
    ) -> Explanation:
        """Why a document has its labels, or the best one when it has none.

        A document is a string; where the terms read fields, a dictionary of them or a row of a DataFrame. With ``spans``, each
        dictionary also says where in the text, or in the texts of the fields, the words are.

        For each label a dictionary: ``label``, ``score``, ``threshold``, ``decided``, ``bias``, the ``words`` that add most to
        the score (``word``, ``count``, ``adds``), and for a model of neighbours also ``neighbours``: the ids of training
        documents (their rows, for models fitted here) with what they add. These are the ``reasons`` of :meth:`answer`.

        Notebooks show the marked text with bars; ``explain(…).to_frame()`` is a table.
        """
        check_is_fitted(self, "_model")
        name = None if label is None else str(label)
        fields = self._model.fields
        if fields is None:
            documents: Any = [document]
        else:
            there = document if isinstance(document, dict) else dict(getattr(document, "items", dict)())
            if not any(field in there for field in fields):
                listing = ", ".join(map(str, there)) or "none"
                raise ValueError(f"the terms read the fields {', '.join(fields)}, and the document has: {listing}")
            documents = {field: [there.get(field)] for field in fields}
        reasons = lambda spans: self.answer(documents, why=top, label=name, spans=spans)[0]["reasons"]  # noqa: E731
        return Explanation(reasons(spans), document, lambda: reasons(True))

    def answer(
        self,
        raw_documents: Any,
        *,
        ids: Any = None,
        best: int | None = None,
        ranked: int = 0,
        why: int | None = None,
        label: Any = None,
        spans: bool = False,
    ) -> list[dict[str, Any]]:
        """Answers as ``tamis classify`` prints them and the server gives them, a dictionary for each document.

        Parameters
        ----------
        ids : list of str, default=None
            Names of the documents; they come back as ``id``.
        best : int, default=None
            Give so many of the best labels, whatever the thresholds say.
        ranked : int, default=0
            Add so many of the best labels with score, threshold, probability (where learned) and whether they are given.
        why : int, default=None
            Add ``reasons``: for each label the words, at most so many, that add most to its score.
        label : default=None
            Reasons for this label instead of those that are given.
        spans : bool, default=False
            Reasons also say where in the text the words are.
        """
        check_is_fitted(self, "_model")
        names = None if ids is None else [str(name) for name in ids]
        label = None if label is None else str(label)
        lines = self._model.answers(
            self._texts(raw_documents), names, best, ranked, why, label, spans, _inputs.how(self)
        )
        return [json.loads(line) for line in lines]

    def evaluate(
        self,
        raw_documents: Any,
        y: Any,
        measures: Any = (),
        *,
        taxonomy: Any = None,
        per_label: bool = False,
        intervals: bool = False,
    ) -> dict[str, Any]:
        """Judge the model on labelled documents: what ``tamis evaluate --format json`` prints.

        Parameters
        ----------
        y :
            A label for each document, a list of labels for each, or an indicator matrix with a column for each class.
        measures : list of str, default=()
            Such as ``F1@micro``; the usual ones when empty, with a taxonomy also hierarchical ones.
        taxonomy : dict, list of pairs, path, or "names", default=None
            For hierarchical measures of any model; that of the model when None.
        per_label : bool, default=False
            Add a table of labels.
        intervals : bool, default=False
            Add 95 % bootstrap intervals.
        """
        check_is_fitted(self, "_model")
        labels = _inputs.labels(y, lists=True)
        names = labels.names
        if labels.kind == "multilabel-indicator":
            if len(names) != len(self.classes_):
                raise ValueError(f"y has {len(names)} columns, and the model has {len(self.classes_)} classes")
            names = [str(name) for name in self.classes_.tolist()]
        raw = self._texts(raw_documents)
        found = self._model.evaluate(
            raw,
            labels.sets,
            names,
            [str(measure) for measure in measures],
            None if taxonomy is None else json.dumps(taxonomy_nodes(taxonomy)),
            per_label,
            (0 if self.random_state is None else self.random_state) if intervals else None,
            _inputs.how(self),
        )
        found = json.loads(found)
        if found["without_known_word"]:
            _warnings.show(f"{found['without_known_word']} documents have no word that the model knows")
        if (found.get("trained_on") or 0) > TRAINED_ON:
            _warnings.show(
                f"about {100 * found['trained_on']:.0f} % of these documents were trained on: new documents will be labelled less "
                "well than these"
            )
        return found

    def score(self, raw_documents: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of documents whose label, or set of labels, is right, in whatever form y has.

        scikit-learn's own tools want to know how to split lists of labels: give them a splitter, such as ``cv=KFold(5)``."""
        truth, found = _inputs.labels(y, lists=True), _inputs.labels(self.predict(raw_documents), lists=True)
        if truth.documents != found.documents:
            raise ValueError(f"Found input variables with inconsistent numbers of samples: {[found.documents, truth.documents]}")
        right = [set(a) == set(b) for a, b in zip(rows_of(truth), rows_of(found))]
        return float(np.average(right, weights=sample_weight))

    def top_words(self, label: Any, top: int = 10) -> list[tuple[str, float]]:
        """The words with the largest weights for a label, for and against; neighbours have none."""
        check_is_fitted(self, "_model")
        return self._model.top_words(str(label), top)

    def save(self, path: str | os.PathLike) -> None:
        """Write the model file that ``tamis classify`` and :meth:`load` read."""
        check_is_fitted(self, "_model")
        self._model.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> TextCategorizer:
        """Read a model file, of this class or of ``tamis fit``.

        Labels are of the type, in the order and in the form that they were fitted in; those of ``tamis fit``, and of files of
        version 0.1, are text: one for each document where the model gives one, else a list.
        """
        return cls._of(_core.Model.load(os.fspath(path)))

    @classmethod
    def _of(cls, model: Any) -> TextCategorizer:
        """The estimator of a model that was read."""
        about = json.loads(model.about)
        summary, text = about["summary"], about["text"]
        estimator = cls(
            classifier=summary["classifier"],
            calibrate=about["calibration"],
            # One fold stands for a validation part, which documents that Python holds do not have.
            folds=None if summary["folds"] == 1 else summary["folds"],
            random_state=summary["seed"],
            terms=text["terms"],
            stop_words=text["stop_words"].get("@list"),
            html=text.get("html"),
            **asked(about, len(model.features)),
        )
        estimator.trials_, estimator.frontier_ = pd.DataFrame(), pd.DataFrame()
        estimator.threshold_report_ = estimator.unchanged_ = None
        kind, classes, nodes = given_target(model.labels, about)
        estimator._adopt(model, kind, classes, nodes)
        return estimator

    def _label(self, raw_documents: Any, absent: float | None) -> tuple:
        check_is_fitted(self, "_model")
        return self._model.texts(self._texts(raw_documents), absent, _inputs.how(self))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.classifier_tags.multi_label = True
        tags.no_validation = True
        return tags
