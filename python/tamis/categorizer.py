"""Raw strings in, labels out: a whole model in one estimator, and in one file."""

from __future__ import annotations

import json
import os
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from . import _core, _inputs
from .hierarchy import named_by, taxonomy_nodes


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
    calibrate : {"platt", "isotonic"}, default=None
        How probabilities are learned, for ``predict_proba``; ``"platt"`` when None, where folds are made.
    folds : int, default=None
        Folds that tune thresholds and measure quality; 5, or 3 along a taxonomy, when None; 0 for none.
    taxonomy : dict, list of pairs, path, or "names", default=None
        As for :class:`ProgressiveFilter`. Each node gets a classifier, unless ``threshold`` names a flat one.
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
        How many paths a document is given; as the training documents suggest when None.
    quantise : bool, default=False
        Store linear weights in 8 bits; ``unchanged_`` says how many first labels stay the same.
    seconds : float, default=None
        Bound of subset searches.
    random_state : int, default=1
        Seed.
    terms, words, lowercase, min_length, max_length, digits, stop_words, stem, language, ngrams, char_ngrams :
        How text becomes terms, as for :class:`TextCounter`.
    n_jobs, verbose :
        Threads (all cores when None) and progress on standard error.

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

    def __init__(
        self,
        *,
        by=None,
        features="auto",
        classifier=None,
        effort="usual",
        prefer="best",
        loss=None,
        unlabelled="negative",
        threshold=None,
        calibrate=None,
        folds=None,
        taxonomy=None,
        negatives="parent-minus-node",
        per_node=None,
        utility="f1",
        step=None,
        least_utility=None,
        imbalance=None,
        answers=None,
        quantise=False,
        seconds=None,
        random_state=1,
        terms=None,
        words=None,
        lowercase=True,
        min_length=None,
        max_length=None,
        digits="keep",
        stop_words=None,
        stem=None,
        language=None,
        ngrams=None,
        char_ngrams=None,
        n_jobs=None,
        verbose=False,
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
        self.quantise = quantise
        self.seconds = seconds
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
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, raw_documents: Any, y: Any) -> TextCategorizer:
        """Fit; y is a label for each document, a list of labels for each, or an indicator matrix."""
        text = _inputs.text_parameters(self)
        documents = _inputs.texts(raw_documents, fields=_core.text_fields(text))
        labels = _inputs.labels(y, lists=True)
        _inputs.two_classes(labels, type(self).__name__)
        if isinstance(self.features, Integral) and self.features < 1:
            raise ValueError(f"features = {self.features}: a model needs at least one feature")
        if not isinstance(self.features, Integral) and self.features not in ("auto", "all"):
            raise ValueError(f"features should be a number, 'all' or 'auto'. Got {self.features!r}.")
        fitting = {
            "by": self.by,
            "features": {"auto": None, "all": "all"}.get(self.features) if isinstance(self.features, str) else int(self.features),
            "classifier": self.classifier,
            "effort": self.effort,
            "prefer": self.prefer,
            "loss": self.loss,
            "unlabelled": self.unlabelled,
            "threshold": self.threshold,
            "calibrate": self.calibrate,
            "folds": None if self.folds is None else _inputs.whole("folds", self.folds),
            "budget": {"seconds": self.seconds},
            "quantise": bool(self.quantise),
            "taxonomy": None if self.taxonomy is None else taxonomy_nodes(self.taxonomy),
            "hierarchy": {
                "negatives": self.negatives,
                "per_node": None if self.per_node is None else _inputs.whole("per_node", self.per_node, 1),
                "utility": self.utility,
                "step": self.step,
                "least_utility": self.least_utility,
                "imbalance": self.imbalance,
                "answers": self.answers,
            },
            "seed": 0 if self.random_state is None else _inputs.whole("random_state", self.random_state),
        }
        model, report = _core.Model.fit_texts(
            documents, labels.sets, labels.names, text, json.dumps(fitting), _inputs.how(self)
        )
        report = json.loads(report)
        self.trials_ = pd.DataFrame(report["trials"]).rename(columns={"size": "features", "mean": "RPrec"})
        self.frontier_ = pd.DataFrame(report["frontier"]).rename(columns={"size": "features", "mean": "RPrec"})
        self.unchanged_ = report["unchanged"]
        self.threshold_report_ = report["thresholds"]
        counts = np.bincount(labels.sets[1], minlength=len(labels.classes))
        known = dict(zip(labels.names, labels.classes.tolist()))
        self._adopt(model, labels.kind, known, named_by(self.taxonomy))
        self._majority = labels.classes[counts.argmax()]
        return self

    def _adopt(self, model: Any, kind: str, known: dict[str, Any], nodes: dict[str, Any]) -> None:
        self._model, self._kind = model, kind
        about = json.loads(model.about)
        names = model.labels
        #: Labels in the order of the model's numbers, as the user wrote them.
        self._labels = np.array([known.get(name, nodes.get(name, name)) for name in names])
        if kind == "multilabel-indicator" and not about["progressive"]:
            self.classes_ = np.array(list(known.values()))
        elif kind in ("binary", "multiclass"):
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

    def predict(self, raw_documents: Any) -> Any:
        """Labels, in the form y had: a vector, a list of labels for each document, or an indicator matrix."""
        _, indptr, indices, _ = self._label(raw_documents, None)
        if self._kind == "multilabel-indicator":
            wide = _inputs.to_indicator(indptr, indices, len(self._labels))
            known = np.where(self._column[None, :] >= 0, wide[:, np.maximum(self._column, 0)], 0)
            return known
        names = self._labels[indices]
        if self._kind in ("lists", "none"):
            return [part.tolist() for part in np.split(names, indptr[1:-1])] if len(indptr) > 1 else []
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
        """Scores, documents × classes; minus infinity for labels that were not ranked. Two classes: the difference."""
        scores = self._label(raw_documents, -np.inf)[0]
        scores = np.where(self._column[None, :] >= 0, scores[:, np.maximum(self._column, 0)], -np.inf)
        if self._kind == "binary":
            low, high = scores[:, 0], scores[:, 1]
            return np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0) / 2
        return scores

    def _calibration(self) -> bool:
        return self.calibrate is not None or getattr(self, "_calibrated", False)

    @available_if(_calibration)
    def predict_proba(self, raw_documents: Any) -> np.ndarray:
        """Probabilities, documents × classes, where folds were made; rows add up to 1 where each document has one label."""
        scores = self._label(raw_documents, -np.inf)[0]
        p = self._model.probabilities(scores)
        p = np.where(self._column[None, :] >= 0, p[:, np.maximum(self._column, 0)], 0.0)
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
    ) -> list[dict[str, Any]]:
        """Why a document has its labels, or the best one when it has none.

        A document is a string; where the terms read fields, a dictionary of them or a row of a DataFrame. With ``spans``, each
        dictionary also says where in the text, or in the texts of the fields, the words are.

        For each label a dictionary: ``label``, ``score``, ``threshold``, ``decided``, ``bias``, the ``words`` that add most to
        the score (``word``, ``count``, ``adds``), and for a model of neighbours also ``neighbours``: the ids of training
        documents (their rows, for models fitted here) with what they add. These are the ``reasons`` of :meth:`answer`.
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
        return self.answer(documents, why=top, label=name, spans=spans)[0]["reasons"]

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
        found = self._model.evaluate(
            self._texts(raw_documents),
            labels.sets,
            names,
            [str(measure) for measure in measures],
            None if taxonomy is None else json.dumps(taxonomy_nodes(taxonomy)),
            per_label,
            (0 if self.random_state is None else self.random_state) if intervals else None,
            _inputs.how(self),
        )
        return json.loads(found)

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

        A file knows labels by their names alone: numbers come back as strings, and labels of documents that may have
        several as lists. Pickle an estimator to keep the form of y.
        """
        model = _core.Model.load(os.fspath(path))
        about = json.loads(model.about)
        summary, text = about["summary"], about["text"]
        estimator = cls(
            by=None if about["progressive"] else summary["selector"],
            features="auto" if about["progressive"] else len(model.features),
            classifier=summary["classifier"],
            threshold=None if about["progressive"] else about["deciding"],
            calibrate=about["calibration"],
            folds=summary["folds"],
            random_state=summary["seed"],
            terms=text["terms"],
            stop_words=text["stop_words"].get("@list"),
        )
        estimator.trials_, estimator.frontier_ = pd.DataFrame(), pd.DataFrame()
        estimator.threshold_report_ = estimator.unchanged_ = None
        names = model.labels
        one = about["deciding"] == "rcut(1)" and summary["single_label"]
        kind = ("binary" if len(names) == 2 else "multiclass") if one else "lists"
        estimator._adopt(model, kind, {name: name for name in names}, {})
        estimator._majority = names[int(np.argmax(summary["label_documents"]))]
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
