"""What comes in, as the Rust core reads it: texts, matrices of counts, labels."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from numbers import Integral
from typing import Any

import joblib
import numpy as np
import scipy.sparse as sp

from . import _core
from ._labels import (
    Labels,
    Sets,
    indicator,
    is_lists,
    is_missing,
    known_form,
    labels,
    no_labels,
    refuse_lists,
    to_indicator,
    two_classes,
    values,
)

__all__ = [
    "Labels",
    "Sets",
    "columns",
    "how",
    "indicator",
    "is_lists",
    "is_table",
    "known_form",
    "labels",
    "listed",
    "matrix",
    "no_labels",
    "rank_columns",
    "recognised",
    "refuse_lists",
    "rows",
    "strings",
    "text_options",
    "text_parameters",
    "texts",
    "to_indicator",
    "two_classes",
    "values",
    "seed",
    "whole",
]

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
    """`verbose` and `n_jobs` as the core takes them: whether to report, and threads.

    As everywhere in scikit-learn: None is one thread, unless ``joblib.parallel_config`` says otherwise, and −1 one for each core.
    Inside a worker of joblib it is one, so that a search over a grid does not have more threads than there are cores."""
    if estimator is not None:
        verbose, n_jobs = getattr(estimator, "verbose", False), getattr(estimator, "n_jobs", None)
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs should be a whole number other than 0, or None. Got {n_jobs!r}.")
    threads = joblib.effective_n_jobs(n_jobs)
    # joblib tells workers in other processes by these how many threads each may have.
    limit = os.environ.get("OMP_NUM_THREADS", "")
    return bool(verbose), min(threads, max(int(limit), 1)) if limit.isdigit() else threads


def seed(random_state: Any) -> int:
    """A seed for the core: a whole number, None for 0, or what a ``RandomState`` or ``Generator`` draws next."""
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(np.iinfo(np.int32).max))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(np.iinfo(np.int32).max))
    return 0 if random_state is None else whole("random_state", random_state)


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
        return texts(values(raw["text"]))
    found = [[None if is_missing(value) else _text(value, "utf-8", "strict") for value in values(raw[name])] for name in wanted]
    rows = {len(column) for column in found}
    if len(rows) > 1:
        raise ValueError(f"columns are of different lengths: {sorted(rows)}")
    return wanted, found, rows.pop()


def rows(documents: Texts) -> int:
    """How many documents there are."""
    return documents[2] if isinstance(documents, tuple) else len(documents)


def recognised(documents: Texts, text: str) -> str:
    """Text options with stop words and stemmer of the language of these documents, where it is to be recognised."""
    return _core.with_language(documents, text) if json.loads(text).get("language") == "auto" else text


def listed(raw: Any) -> list:
    """Raw documents as a list, whatever it holds."""
    if isinstance(raw, (str, bytes)):
        raise ValueError("Iterable over raw text documents expected, string object received.")
    # A list is read as it is: a copy would touch every string once more, and they lie all over the memory.
    documents = raw if type(raw) is list else values(raw)
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
    if is_missing(document):
        name = "np.nan" if isinstance(document, float) else str(document)
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


def rank_columns(X: Any, labels: Labels, by: str, cut: Any, size: int | None, budget: tuple, how: tuple) -> tuple:
    """Columns of a matrix, best first, with their scores, what a search says, and the arrays that were read."""
    arrays = matrix(X, ordered=False)
    ranked = _core.rank_matrix(arrays, labels.sets, by, cut, size, budget, how)
    if ranked is None:  # an entry is stored in parts: they are added up first
        arrays = matrix(X)
        ranked = _core.rank_matrix(arrays, labels.sets, by, cut, size, budget, how)
    return (*ranked, arrays)


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
            "html": given["html"],
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
    "html": None,
}


def text_options(given: dict[str, Any]) -> str:
    """Text options given as keyword arguments of a function."""
    unknown = sorted(set(given) - set(TEXT_DEFAULTS))
    if unknown:
        raise TypeError(f"unexpected text option {unknown[0]!r}; known: {', '.join(TEXT_DEFAULTS)}")
    return text_parameters({**TEXT_DEFAULTS, **given})
