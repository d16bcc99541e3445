"""Measures on arrays: ranked, decided, or both.

``y_true`` is labels as a vector, an indicator matrix, or a list of labels for each document (with ``classes``); scores are
documents × labels. Ties are decided by the order of labels, as everywhere in tamis.

>>> import tamis
>>> tamis.measures.evaluate([[1, 0, 1], [0, 1, 0]], [[0.9, 0.8, 0.1], [0.2, 0.7, 0.1]], measures=["RPrec", "MAP"])
{'RPrec': 0.75, 'MAP': 0.9166666666666666}
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import _core, _inputs

RANKED = ("RPrec", "MAP", "P@1", "P@5", "OneError")
DECIDED = ("Accuracy", "Precision@micro", "Recall@micro", "F1@micro", "F1@macro", "F1@samples")


def names() -> list[str]:
    """A name of every measure; numbers in them can be changed, such as 10 in ``nDCG@10``."""
    columns, rows = _core.registry("measures")
    return [row[columns.index("example")] for row in rows]


def _sets(y: Any, classes: Any, columns: int | None) -> _inputs.Sets:
    y = _inputs.known_form(y)[0]
    if classes is None:
        labels = _inputs.labels(y, lists=True)
        if labels.kind == "lists":
            raise ValueError("a list of labels for each document needs classes: the label of each column of the scores")
        if columns is not None and labels.sets[2] != columns:
            raise ValueError(
                f"{labels.sets[2]} labels in y, and scores of {columns}; say with classes which columns the scores have"
            )
        return labels.sets
    place = {label: at for at, label in enumerate(np.asarray(classes).tolist())}
    _refuse_strangers(y, place)
    if sp.issparse(y) or (not _inputs.is_lists(y) and np.ndim(y) == 2):
        found = _inputs.indicator(y).sets
        if found[2] != len(place):
            raise ValueError(f"{len(place)} classes for a matrix of {found[2]} labels")
        return found
    rows = [[row] if isinstance(row, str) or not hasattr(row, "__iter__") else list(row) for row in
            (y.tolist() if hasattr(y, "tolist") else y)]
    # Labels that are no class can never be found: they are numbered after the classes and count as missed.
    codes = [sorted({place.setdefault(label, len(place)) for label in row}) for row in rows]
    offsets = np.cumsum([0] + [len(row) for row in codes]).astype(np.int64)
    return offsets, np.array([code for row in codes for code in row], dtype=np.int32), len(place)


def _refuse_strangers(y: Any, place: dict[Any, int]) -> None:
    """Refuses labels of another type than the classes: "1" is not 1, and nothing would ever be right."""
    if sp.issparse(y) or np.ndim(y if not _inputs.is_lists(y) else [0]) == 2:
        return
    items = _inputs.values(y)
    found = [label for row in items for label in (row if isinstance(row, (list, tuple, set, frozenset, np.ndarray)) else [row])]
    text = {isinstance(label, str) for label in place}
    other = next((label for label in found if len(text) == 1 and isinstance(label, str) not in text), None)
    if other is not None:
        known = next(iter(place))
        raise ValueError(
            f"{other!r} is a label of type {type(other).__name__}, and the classes are of type {type(known).__name__}, such as "
            f"{known!r}: labels of both must be of one type"
        )


def _refuse_scores(y_pred: Any) -> None:
    """Refuses probabilities where decisions are expected: each of them would count as a label that is given."""
    values = y_pred.data if sp.issparse(y_pred) else y_pred
    if _inputs.is_lists(values):
        return
    values = np.asarray(values)
    if values.dtype.kind == "f" and values.size and not (values == np.floor(values)).all():
        bad = float(values.ravel()[np.flatnonzero((values != np.floor(values)).ravel())[0]])
        raise ValueError(f"y_pred holds {bad}, which is a score and no decision: give scores as y_score, or y_pred as labels")


def _arguments(y_true: Any, y_score: Any, y_pred: Any, classes: Any) -> tuple:
    scores = None if y_score is None else np.ascontiguousarray(np.asarray(y_score, dtype=np.float64))
    if scores is not None and scores.ndim == 1:
        scores = np.column_stack([-scores, scores])
    if hasattr(y_true, "columns") and hasattr(y_pred, "columns"):
        if sorted(map(str, y_true.columns)) != sorted(map(str, y_pred.columns)):
            raise ValueError("y_true and y_pred have columns of other names")
        y_pred = y_pred[list(y_true.columns)]
    if hasattr(y_true, "columns") and classes is None and y_pred is not None and not hasattr(y_pred, "columns"):
        y_true = np.asarray(y_true)
    y_true = _inputs.known_form(y_true)[0] if y_true is not None else y_true
    truth = _sets(y_true, classes, None if scores is None else scores.shape[1])
    decided = None
    if y_pred is not None:
        y_pred = _inputs.known_form(y_pred)[0]
        _refuse_scores(y_pred)
        known = classes
        if known is None and not _inputs.is_lists(y_true) and np.ndim(y_true) == 1:
            known = np.unique(np.asarray(y_true))
        decided = _sets(y_pred, known, None)
        if known is None and decided[2] != truth[2]:
            raise ValueError(f"{truth[2]} labels in y_true, and {decided[2]} in y_pred")
        if len(decided[0]) != len(truth[0]):
            raise ValueError(
                f"Found input variables with inconsistent numbers of samples: [{len(truth[0]) - 1}, {len(decided[0]) - 1}]"
            )
    if scores is not None and len(scores) != len(truth[0]) - 1:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{len(truth[0]) - 1}, {len(scores)}]"
        )
    return truth, scores, decided


def evaluate(
    y_true: Any,
    y_score: Any = None,
    y_pred: Any = None,
    *,
    measures: Sequence[str] | None = None,
    classes: Any = None,
) -> dict[str, float | None]:
    """Measures by name; None for one that does not apply. All usual ones when `measures` is None."""
    if measures is None:
        measures = (RANKED if y_score is not None else ()) + (DECIDED if y_pred is not None else ())
    truth, scores, decided = _arguments(y_true, y_score, y_pred, classes)
    found = json.loads(_core.evaluate(list(measures), truth, scores, decided, 0, 1))
    return {value["measure"]: value["value"] for value in found["values"]}


def intervals(
    y_true: Any,
    y_score: Any = None,
    y_pred: Any = None,
    *,
    measures: Sequence[str] | None = None,
    classes: Any = None,
    replicates: int = 1000,
    random_state: int = 1,
) -> dict[str, tuple[float, float, float]]:
    """Measures with a 95 % bootstrap interval over documents: value, low, high. Those that do not apply are left out."""
    if measures is None:
        measures = (RANKED if y_score is not None else ()) + (DECIDED if y_pred is not None else ())
    truth, scores, decided = _arguments(y_true, y_score, y_pred, classes)
    found = json.loads(_core.evaluate(list(measures), truth, scores, decided, replicates, random_state))
    applies = {value["measure"] for value in found["values"] if value["value"] is not None}
    return {
        part["measure"]: (part["value"], part["low"], part["high"])
        for part in found["intervals"]
        if part["measure"] in applies
    }


def per_document(
    measure: str, y_true: Any, y_score: Any = None, y_pred: Any = None, *, classes: Any = None
) -> np.ndarray:
    """A measure that is a mean over documents, for each of them; nan for documents that take no part."""
    return _core.per_document(measure, *_arguments(y_true, y_score, y_pred, classes))


def rprec(y_true: Any, y_score: Any, **options: Any) -> float | None:
    """R-precision: the share of true labels among the first R, R being their number."""
    return _one("RPrec", y_true, y_score, **options)


def mean_average_precision(y_true: Any, y_score: Any, **options: Any) -> float | None:
    """Mean over documents of average precision (MAP)."""
    return _one("MAP", y_true, y_score, **options)


def precision_at(k: int, y_true: Any, y_score: Any, **options: Any) -> float | None:
    """Precision in the first k places."""
    return _one(f"P@{k}", y_true, y_score, **options)


def recall_at(k: int, y_true: Any, y_score: Any, **options: Any) -> float | None:
    """Share of the true labels in the first k places."""
    return _one(f"R@{k}", y_true, y_score, **options)


def ndcg(y_true: Any, y_score: Any, k: int | None = None, **options: Any) -> float | None:
    """Normalised discounted cumulative gain, of the first k places or of all."""
    return _one("nDCG" if k is None else f"nDCG@{k}", y_true, y_score, **options)


def reciprocal_rank(y_true: Any, y_score: Any, **options: Any) -> float | None:
    """Mean of one over the place of the first true label (MRR)."""
    return _one("MRR", y_true, y_score, **options)


def f_score(y_true: Any, y_pred: Any, beta: float = 1, average: str = "micro", **options: Any) -> float | None:
    """F of decided labels: micro, macro or samples."""
    return next(iter(evaluate(y_true, y_pred=y_pred, measures=[f"F{beta:g}@{average}"], **options).values()))


def _one(measure: str, y_true: Any, y_score: Any, **options: Any) -> float | None:
    return next(iter(evaluate(y_true, y_score, measures=[measure], **options).values()))
