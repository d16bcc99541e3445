"""Columns of Spark as the core takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import _inputs

try:
    import pyarrow as pa
    import pyarrow.compute as pc
    from pyspark.sql import Column, DataFrame
    from pyspark.sql import functions as F
    from pyspark.sql.types import ArrayType, StringType
except ImportError as error:
    raise ImportError("tamis.spark needs pyspark and pyarrow: pip install 'tamis[spark]'") from error

#: Names that columns have on their way through the core, whatever they are called outside.
TEXT, LABELS = "__tamis_text", "__tamis_labels"


def with_column(
    df: DataFrame, name: str, column: str | Column, what: str, expected: str, fits: Callable[[Any], bool]
) -> DataFrame:
    """The DataFrame with a column more: one of its own, a field of one (``mail.body``), or an expression; refused where it is not
    there or of the wrong type."""
    if isinstance(column, str):
        there = df.columns
        if column not in there and "." not in column:
            raise ValueError(f"there is no column {column!r} for the {what}; the DataFrame has {', '.join(there)}")
        # A dot is part of a name, or leads into a nested column.
        wanted = F.col(f"`{column}`") if column in there else F.col(column)
    else:
        wanted = column
    try:
        wide = df.withColumn(name, wanted)
        kind = wide.schema[name].dataType
    except Exception as error:
        raise ValueError(f"column {column} for the {what}: {str(error).splitlines()[0]}") from error
    if not fits(kind):
        raise TypeError(f"column {str(column)!r} ({what}) is of type {kind.simpleString()}; expected {expected}")
    return wide


def is_text(kind: Any) -> bool:
    return isinstance(kind, StringType)


def is_labels(kind: Any) -> bool:
    return isinstance(kind, StringType) or (isinstance(kind, ArrayType) and isinstance(kind.elementType, StringType))


def null_rule(on_null: str, known: tuple[str, ...]) -> str:
    """What becomes of null texts, refused where nobody knows it."""
    if on_null not in known:
        raise ValueError(f"on_null should be one of {', '.join(map(repr, known))}. Got {on_null!r}.")
    return on_null


def labelled_columns(df: DataFrame, text: str | Column, labels: str | Column | None, on_null: str) -> DataFrame:
    """The columns of text and labels alone, under their names on the way, with what becomes of null texts."""
    null_rule(on_null, ("error", "skip", "empty"))
    chosen = with_column(df, TEXT, text, "text", "string", is_text)
    if labels is not None:
        chosen = with_column(chosen, LABELS, labels, "labels", "array<string> or string", is_labels)
    chosen = chosen.select(TEXT, *([] if labels is None else [LABELS]))
    if on_null == "skip":
        return chosen.where(F.col(TEXT).isNotNull())
    return chosen.fillna("", [TEXT]) if on_null == "empty" else chosen


def text_arrays(column: Any) -> tuple[np.ndarray, np.ndarray]:
    """A column of text as the arrays that Arrow keeps it in."""
    if column.null_count:
        raise ValueError(
            f"the text is null in {column.null_count} rows: on_null says what becomes of them, or fill or filter them first"
        )
    column = column.cast(pa.large_string())
    _, offsets, data = column.buffers()
    if len(column) == 0:
        return np.zeros(1, np.int64), np.empty(0, np.uint8)
    offsets = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
    return offsets, np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8)


def label_sets(column: Any | None, rows: int, name: str | None) -> tuple[_inputs.Sets, list[str]]:
    """A column of labels, one or a list in each row, as sets of numbers, and the names of the numbers."""
    if column is None:
        return _inputs.no_labels(rows).sets, []
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        lengths = pc.fill_null(pc.list_value_length(column), 0).to_numpy(zero_copy_only=False)
        values = pc.list_flatten(column)
        if values.null_count:
            raise ValueError(f"column {name!r} has a list with a null in it")
    else:
        lengths = pc.is_valid(column).to_numpy(zero_copy_only=False).astype(np.int64)
        values = column.drop_null()
    encoded = values.dictionary_encode()
    names = encoded.dictionary.to_pylist()
    # Each label once in a row, in ascending numbers.
    keys = np.repeat(np.arange(rows), lengths) * max(len(names), 1) + encoded.indices.to_numpy(zero_copy_only=False)
    keys = np.unique(keys)
    per_row = np.bincount(keys // max(len(names), 1), minlength=rows) if len(keys) else np.zeros(rows, int)
    offsets = np.concatenate([[0], np.cumsum(per_row)]).astype(np.int64)
    return (offsets, (keys % max(len(names), 1)).astype(np.int32), len(names)), names
