"""Labels as people have them: vectors, lists, indicators, of numpy, pandas, polars or Arrow."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from . import _core

Sets = tuple[np.ndarray, np.ndarray, int]

#: What holds the labels of one document.
ROWS = (list, tuple, set, frozenset, np.ndarray)


def values(column: Any) -> list:
    """A column of anyone's as a list of Python's own values."""
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def is_missing(value: Any) -> bool:
    """Whether a value stands for none: None, NaN, or the missing value of pandas."""
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")


@dataclass
class Labels:
    """Labels of documents: which classes there are, and which each document has."""

    #: "binary", "multiclass", "multilabel-indicator", "lists" or "none".
    kind: str
    classes: np.ndarray
    sets: Sets

    @property
    def multilabel(self) -> bool:
        return self.kind in ("multilabel-indicator", "lists", "none")

    @property
    def names(self) -> list[str]:
        return [str(name) for name in self.classes.tolist()]

    @property
    def documents(self) -> int:
        return len(self.sets[0]) - 1


def no_labels(documents: int) -> Labels:
    return Labels("none", np.empty(0, dtype=object), (np.zeros(documents + 1, np.int64), np.empty(0, np.int32), 0))


def labels(y: Any, *, lists: bool = False, names: list | None = None) -> Labels:
    """Labels as a vector, an indicator matrix, or, where `lists` allows it, a list of labels for each document.

    `names` are those of the columns, where y was a DataFrame before somebody made an array of it."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y, columns = known_form(y)
    names = columns if names is None else names
    if lists and is_lists(y):
        return _of_lists(y)
    if getattr(y, "ndim", 1) == 1 or y.shape[1] == 1:
        names = None  # one column is a vector, as for scikit-learn
    found = _plain(y) if names is None else None
    if found is not None:
        return found
    _refuse_missing(y)
    kind = type_of_target(y, input_name="y", raise_unknown=True)
    check_classification_targets(y)
    if kind == "multilabel-indicator" or (sp.issparse(y) and y.ndim == 2):
        return indicator(y, names)
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Unknown label type: {kind}. Labels are a vector with one label for each document, or an indicator matrix "
            "of zeros and ones with a column for each label."
        )
    classes, codes = np.unique(column_or_1d(y, warn=True), return_inverse=True)
    offsets = np.arange(len(codes) + 1, dtype=np.int64)
    return Labels(kind, classes, (offsets, codes.astype(np.int32), len(classes)))


def known_form(y: Any) -> tuple[Any, list | None]:
    """Labels in a form that numpy and scikit-learn know, and the names of their columns where these have some.

    Columns of Arrow and polars, and of types that only pandas has, become numpy's; a column of lists becomes an array of
    objects, which is no matrix whatever its lengths."""
    if sp.issparse(y) or isinstance(y, np.ndarray):
        return y, None
    if hasattr(y, "columns") or hasattr(y, "column_names"):
        arrow = hasattr(y, "column_names")
        names = list(y.column_names if arrow else y.columns)
        if not arrow and hasattr(y, "dtypes") and hasattr(y, "iloc"):
            return np.asarray(y), names
        return np.column_stack([np.asarray(_vector(values(y[name]))) for name in names]), names
    if hasattr(y, "to_pylist") or hasattr(y, "to_list"):  # Arrow, polars, pandas
        dtype = getattr(y, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype != object:
            return np.asarray(y), None
        return _vector(values(y)), None
    if hasattr(y, "ndim"):
        return y, None
    return np.asarray(y) if hasattr(y, "__array__") else list(y), None


def _vector(items: list) -> np.ndarray:
    """A column of values as one dimension, whatever is in them."""
    kinds = set(map(type, items))
    if kinds == {int} or kinds == {bool} or kinds == {float}:
        return np.array(items)
    out = np.empty(len(items), dtype=object)
    for at, item in enumerate(items):
        out[at] = item
    return out


def _refuse_missing(y: Any) -> None:
    """Says where labels are missing: scikit-learn calls such a vector unknown, or continuous."""
    if sp.issparse(y) or (isinstance(y, np.ndarray) and y.dtype.kind not in "Of"):
        return
    items = y if isinstance(y, (list, tuple)) else np.asarray(y).ravel().tolist()
    missing = [at for at, item in enumerate(items) if is_missing(item)]
    if missing:
        raise ValueError(
            f"y contains NaN: {len(missing)} of {len(items)} labels are missing, the first in row {missing[0]} "
            f"({items[missing[0]]!r}). Leave those documents out, or give a list of labels for each document, which may be empty."
        )


def _plain(y: Any) -> Labels | None:
    """The usual kinds of labels, read once: zeros and ones, whole numbers, strings. None where scikit-learn must look."""
    if not isinstance(y, np.ndarray) or len(y) == 0:
        return None
    if y.ndim == 2 and y.shape[1] > 1:
        found = _core.indicator_sets(y.view(np.uint8) if y.dtype == bool else y)
        if found is None:
            return None
        return Labels("multilabel-indicator", np.arange(y.shape[1]), (*found, y.shape[1]))
    if y.ndim != 1 or y.dtype.kind not in "UOiub":
        return None
    if y.dtype.kind == "U" and y.itemsize:
        first, seen = _core.row_codes(np.ascontiguousarray(y).view(np.uint8).reshape(len(y), y.itemsize))
        classes, place = np.unique(y[first], return_inverse=True)
        codes = place.astype(np.int32)[seen]
    else:
        items = y.tolist()
        if y.dtype.kind == "O" and set(map(type, items)) != {str}:
            return None
        found = sorted(set(items))
        number = {name: at for at, name in enumerate(found)}
        classes = np.array(found, dtype=y.dtype)
        codes = np.fromiter(map(number.__getitem__, items), np.int32, len(items))
    offsets = np.arange(len(codes) + 1, dtype=np.int64)
    kind = "binary" if len(classes) <= 2 else "multiclass"
    return Labels(kind, classes, (offsets, codes, len(classes)))


def indicator(y: Any, names: list | None = None) -> Labels:
    rows = sp.csr_matrix(y)
    rows.eliminate_zeros()
    rows.sort_indices()
    classes = np.arange(rows.shape[1]) if names is None else np.asarray(names)
    sets = (rows.indptr.astype(np.int64), rows.indices.astype(np.int32), rows.shape[1])
    return Labels("multilabel-indicator", classes, sets)


def two_classes(found: Labels, name: str) -> None:
    """Refuses labels that leave nothing to tell apart, with scikit-learn's words."""
    if not found.multilabel and len(found.classes) < 2:
        only = f"only one class: {found.classes[0]!r}" if len(found.classes) else "no sample"
        raise ValueError(f"{name} needs samples of at least 2 classes in the data, but the data contains {only}")


def refuse_lists(y: Any) -> None:
    """Lists of labels, refused with scikit-learn's words; a list of rows of zeros and ones is an indicator matrix."""
    if y is not None and is_lists(known_form(y)[0]):
        raise ValueError(
            "You appear to be using a legacy multi-label data representation. Sequence of sequences are no longer supported; "
            "use a binary array or sparse matrix instead - the MultiLabelBinarizer transformer can convert to this format."
        )


def is_lists(y: Any) -> bool:
    """Whether y has a list of labels for each document. A plain list of rows of zeros and ones is an indicator matrix; a column
    (of pandas, polars, Arrow, or an array of objects) has one dimension, so what is in it are lists."""
    if isinstance(y, np.ndarray):
        return y.ndim == 1 and y.dtype == object and any(isinstance(item, ROWS) for item in y)
    if not isinstance(y, (list, tuple)):
        return False
    rows = [item for item in y if isinstance(item, ROWS)]
    if not rows:
        return False
    if len(rows) < len(y) or any(isinstance(row, (set, frozenset)) for row in rows):
        return True
    if any(isinstance(row, np.ndarray) and row.ndim > 1 for row in rows):
        return False
    labels = {label for row in rows for label in (row.tolist() if isinstance(row, np.ndarray) else row) if _is_scalar(label)}
    # Fractions in rows are scores, not labels: scikit-learn says what it thinks of them.
    if any(isinstance(label, float) and not label.is_integer() for label in labels):
        return False
    return len({len(row) for row in rows}) > 1 or not labels or not labels <= {0, 1}


def _is_scalar(label: Any) -> bool:
    return isinstance(label, (str, int, float, np.generic))


def _of_lists(y: Any) -> Labels:
    rows: list[list] = []
    for at, item in enumerate(y):
        if is_missing(item):
            raise ValueError(f"y contains NaN: the labels of row {at} are {item!r}; an empty list says that a document has none")
        if isinstance(item, np.ndarray):
            item = item.tolist()
        row = [item] if isinstance(item, (str, int)) else item
        if not isinstance(row, ROWS) or not all(isinstance(name, (str, Integral)) and not isinstance(name, bool) for name in row):
            raise ValueError(f"labels of a document are a list of strings or of whole numbers, found {item!r} in row {at}")
        rows.append(row)
    kinds = {isinstance(name, str) for row in rows for name in row}
    if len(kinds) > 1:
        raise ValueError("labels of documents are strings or whole numbers, not a list of strings here and of numbers there")
    found = sorted({name if isinstance(name, str) else int(name) for row in rows for name in row})
    place = {name: at for at, name in enumerate(found)}
    codes = [sorted({place[name] for name in row}) for row in rows]
    offsets = np.cumsum([0] + [len(row) for row in codes]).astype(np.int64)
    flat = np.array([code for row in codes for code in row], dtype=np.int32)
    classes = np.array(found, dtype=np.int64 if kinds == {False} else object)
    return Labels("lists", classes, (offsets, flat, len(found)))


def to_indicator(indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Sets of labels as a matrix of zeros and ones."""
    out = np.zeros((len(indptr) - 1, columns), dtype=int)
    out[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = 1
    return out
