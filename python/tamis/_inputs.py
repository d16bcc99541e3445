"""What comes in, as the Rust core reads it: texts, matrices of counts, labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from . import _core

#: Data types that are read in place; others are converted.
READ_IN_PLACE = ("float64", "float32", "int64", "int32", "uint8")

#: About how many bytes counting may take, as on the command line.
MEMORY = 4 << 30


def whole(name: str, value: Any, low: int = 0) -> int:
    """A parameter that must be a whole number of at least `low`; refused with its name."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        raise ValueError(f"{name} should be a whole number, {low} or more. Got {value!r}.")
    return int(value)


def how(estimator: Any = None, *, verbose: Any = False, n_jobs: int | None = None) -> tuple[bool, int]:
    """`verbose` and `n_jobs` as the core takes them: whether to report, and threads (0 for all cores)."""
    if estimator is not None:
        verbose, n_jobs = getattr(estimator, "verbose", False), getattr(estimator, "n_jobs", None)
    if n_jobs is not None and not isinstance(n_jobs, Integral):
        raise ValueError(f"n_jobs should be a whole number or None. Got {n_jobs!r}.")
    return bool(verbose), int(n_jobs) if n_jobs is not None and n_jobs > 0 else 0


#: Documents as the core takes them: strings, or the names of fields, their columns, and how many rows they have.
Texts = list[str] | tuple[list[str], list[list[str | None]], int]


def is_table(raw: Any) -> bool:
    """Whether documents come as columns with names: a DataFrame, an Arrow table, or a dictionary of columns."""
    return hasattr(raw, "columns") or hasattr(raw, "column_names") or isinstance(raw, Mapping)


def columns(raw: Any, fields: list[str] | None) -> Texts:
    """The columns of a table that the fields name; the column ``text`` where there are no fields."""
    wanted = ["text"] if fields is None else fields
    if not is_table(raw):
        listed(raw)
        raise ValueError(f"the terms read the fields {', '.join(wanted)}: give a DataFrame with these columns")
    there = list(raw) if isinstance(raw, Mapping) else raw.column_names if hasattr(raw, "column_names") else list(raw.columns)
    for name in wanted:
        if name not in there:
            listing = ", ".join(map(str, there)) or "none"
            raise ValueError(f"there is no column {name!r}, which the terms read; there are: {listing}")
    if fields is None:
        return texts(_values(raw["text"]))
    found = [[None if _is_missing(value) else _text(value, "utf-8", "strict") for value in _values(raw[name])] for name in wanted]
    rows = {len(column) for column in found}
    if len(rows) > 1:
        raise ValueError(f"columns are of different lengths: {sorted(rows)}")
    return wanted, found, rows.pop()


def _values(column: Any) -> list:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            return getattr(column, method)()
    return list(column)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and value != value) or type(value).__name__ == "NAType"


def rows(documents: Texts) -> int:
    """How many documents there are."""
    return documents[2] if isinstance(documents, tuple) else len(documents)


def recognised(documents: Texts, text: str) -> str:
    """Text options with the language of these documents, where it is to be recognised."""
    if json.loads(text).get("language") != "auto":
        return text
    return json.dumps({**json.loads(text), "language": _core.with_language(documents, text)})


def listed(raw: Any) -> list:
    """Raw documents as a list, whatever it holds."""
    if isinstance(raw, (str, bytes)):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    # A list is read as it is: a copy would touch every string once more, and they lie all over the memory.
    documents = raw if type(raw) is list else raw.tolist() if hasattr(raw, "tolist") else list(raw)
    if not isinstance(documents, list):
        raise ValueError("Iterable over raw text documents expected, a single value received.")
    return documents


def strings(documents: list, encoding: str = "utf-8", decode_error: str = "strict") -> list[str]:
    """Documents as strings, refused as CountVectorizer refuses them."""
    return [_text(document, encoding, decode_error) for document in documents]


def texts(raw: Any, encoding: str = "utf-8", decode_error: str = "strict", *, fields: list[str] | None = None) -> Texts:
    """Raw documents as a list of strings, or as columns where there are fields."""
    if fields is not None or is_table(raw):
        return columns(raw, fields)
    documents = listed(raw)
    return documents if set(map(type, documents)) <= {str} else strings(documents, encoding, decode_error)


def _text(document: Any, encoding: str, decode_error: str) -> str:
    if isinstance(document, bytes):
        return document.decode(encoding, decode_error)
    if isinstance(document, str):
        return str(document)
    if document is None or document is np.nan or (isinstance(document, float) and np.isnan(document)):
        name = "None" if document is None else "np.nan"
        raise ValueError(f"{name} is an invalid document, expected byte or unicode string.")
    kind = type(document).__name__
    raise ValueError(f"{document!r} is an invalid document, expected byte or unicode string, not {kind}.")


def matrix(X: Any, *, ordered: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """A matrix as the arrays of its compressed rows. They are the matrix's own where their types allow it.

    Where order does not matter, rows may be as scikit-learn's CountVectorizer leaves them, unsorted."""
    if not sp.issparse(X):
        X = sp.csr_matrix(X)
    elif X.format != "csr":
        X = X.tocsr()
    if ordered and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    indices, indptr, data = X.indices, X.indptr, X.data
    if indices.dtype.name not in ("int32", "int64"):
        indices = indices.astype(np.int64)
    if indptr.dtype != indices.dtype:
        indptr = indptr.astype(indices.dtype)
    if data.dtype == bool:
        data = data.view(np.uint8)
    elif data.dtype.name not in READ_IN_PLACE:
        data = data.astype(np.int64 if data.dtype.kind in "iu" else np.float64)
    contiguous = np.ascontiguousarray
    return contiguous(indptr), contiguous(indices), contiguous(data), X.shape[1]


Sets = tuple[np.ndarray, np.ndarray, int]


def rank_columns(X: Any, labels: Labels, by: str, cut: Any, size: int | None, budget: tuple, how: tuple) -> tuple:
    """Columns of a matrix, best first, with their scores, what a search says, and the arrays that were read."""
    arrays = matrix(X, ordered=False)
    ranked = _core.rank_matrix(arrays, labels.sets, by, cut, size, budget, how)
    if ranked is None:  # an entry is stored in parts: they are added up first
        arrays = matrix(X)
        ranked = _core.rank_matrix(arrays, labels.sets, by, cut, size, budget, how)
    return (*ranked, arrays)


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


def no_labels(documents: int) -> Labels:
    return Labels("none", np.empty(0, dtype=object), (np.zeros(documents + 1, np.int64), np.empty(0, np.int32), 0))


def labels(y: Any, *, lists: bool = False, names: list | None = None) -> Labels:
    """Labels as a vector, an indicator matrix, or, where `lists` allows it, a list of labels for each document.

    `names` are those of the columns, where y was a DataFrame before somebody made an array of it."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    if lists and not sp.issparse(y) and not hasattr(y, "ndim"):
        y = list(y)
    if lists and is_lists(y):
        return _of_lists(y)
    if getattr(y, "ndim", 1) == 2 and hasattr(y, "columns"):
        names, y = list(y.columns), np.asarray(y)
    if getattr(y, "ndim", 1) == 1 or y.shape[1] == 1:
        names = None  # one column is a vector, as for scikit-learn
    found = _plain(y) if names is None else None
    if found is not None:
        return found
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
    if is_lists(y):
        raise ValueError(
            "You appear to be using a legacy multi-label data representation. Sequence of sequences are no longer supported; "
            "use a binary array or sparse matrix instead - the MultiLabelBinarizer transformer can convert to this format."
        )


def is_lists(y: Any) -> bool:
    """Whether y has a list of labels for each document. A list of rows of zeros and ones is an indicator matrix."""
    if sp.issparse(y) or hasattr(y, "columns") or (isinstance(y, np.ndarray) and (y.ndim != 1 or y.dtype != object)):
        return False
    items = y.tolist() if hasattr(y, "tolist") else y
    if not isinstance(items, (list, tuple)):
        return False
    rows = [item for item in items if isinstance(item, (list, tuple, set, frozenset))]
    lengths = {len(row) for row in rows}
    named = any(isinstance(label, str) for row in rows for label in row)
    return bool(rows) and (named or len(lengths) > 1 or lengths == {0} or len(rows) < len(items))


def _of_lists(y: Any) -> Labels:
    items = y.tolist() if hasattr(y, "tolist") else y
    rows: list[list[str]] = []
    for item in items:
        names = [item] if isinstance(item, str) else item
        if names is None or isinstance(names, (int, float)) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"labels of a document are a list of strings, found {item!r}")
        rows.append(sorted(set(names)))
    classes = sorted({name for row in rows for name in row})
    place = {name: at for at, name in enumerate(classes)}
    offsets = np.cumsum([0] + [len(row) for row in rows]).astype(np.int64)
    codes = np.array([place[name] for row in rows for name in row], dtype=np.int32)
    return Labels("lists", np.array(classes, dtype=object), (offsets, codes, len(classes)))


def to_indicator(indptr: np.ndarray, indices: np.ndarray, columns: int) -> np.ndarray:
    """Sets of labels as a matrix of zeros and ones."""
    out = np.zeros((len(indptr) - 1, columns), dtype=int)
    out[np.repeat(np.arange(len(indptr) - 1), np.diff(indptr)), indices] = 1
    return out


def text_parameters(source: Any) -> str:
    """How text becomes terms, from the parameters of an estimator or a dictionary, for the core."""
    given = source if isinstance(source, dict) else source.get_params(deep=False)
    stop_words = given["stop_words"]
    if stop_words is not None and not isinstance(stop_words, str):
        stop_words = [str(word) for word in stop_words]
    char_ngrams = given["char_ngrams"]
    if char_ngrams is not None:
        char_ngrams = [whole("char_ngrams", n, 1) for n in char_ngrams]
    lengths = {name: given[name] for name in ("min_length", "max_length")}
    return json.dumps(
        {
            "terms": given["terms"],
            "words": given["words"],
            "lowercase": bool(given["lowercase"]),
            **{name: None if length is None else whole(name, length) for name, length in lengths.items()},
            "digits": given["digits"],
            "stop_words": stop_words,
            "stem": given["stem"],
            "language": given["language"],
            "ngrams": None if given["ngrams"] is None else whole("ngrams", given["ngrams"], 1),
            "char_ngrams": char_ngrams,
        }
    )


#: Text to terms where nothing else is said.
TEXT_DEFAULTS = {
    "terms": None,
    "words": None,
    "lowercase": True,
    "min_length": None,
    "max_length": None,
    "digits": "keep",
    "stop_words": None,
    "stem": None,
    "language": None,
    "ngrams": 1,
    "char_ngrams": None,
}


def text_options(given: dict[str, Any]) -> str:
    """Text options given as keyword arguments of a function."""
    unknown = sorted(set(given) - set(TEXT_DEFAULTS))
    if unknown:
        raise TypeError(f"unexpected text option {unknown[0]!r}; known: {', '.join(TEXT_DEFAULTS)}")
    return text_parameters({**TEXT_DEFAULTS, **given})
