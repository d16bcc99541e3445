"""Models on a Spark cluster: documents are labelled and judged where they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, MapType, StringType, StructField, StructType

from . import _core
from . import measures as _measures
from ._spark_columns import LABELS, TEXT, is_labels, is_text, null_rule, text_arrays, with_column
from .categorizer import TextCategorizer

#: Models of this process by their file: tasks of one worker share them.
_MODELS: dict[int, TextCategorizer] = {}

Model = TextCategorizer | str | os.PathLike | bytes


def _model(file: bytes) -> TextCategorizer:
    key = hash(file)
    if key not in _MODELS:
        _MODELS.clear()
        _MODELS[key] = TextCategorizer._of(_core.Model.from_bytes(file))
        _MODELS[key].n_jobs = 1
    return _MODELS[key]


def _file(model: Model) -> bytes:
    """The bytes of a model file. A damaged one is refused here, not by a hundred tasks."""
    if isinstance(model, TextCategorizer):
        return bytes(model._model.to_bytes())
    if not isinstance(model, bytes):
        with open(model, "rb") as stream:
            model = stream.read()
    _core.Model.from_bytes(model)
    return model


def _maps(values: np.ndarray, names: Any, null: Any) -> Any:
    """A map from label to number for each row, of the numbers that are finite."""
    there = np.isfinite(values) & ~null.to_numpy(zero_copy_only=False)[:, None]
    ends = np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(np.int32)
    return pa.MapArray.from_arrays(pa.array(ends), names.take(pa.array(np.nonzero(there)[1])), pa.array(values[there]))


def _labelled(file: bytes, column: Any, empty: bool, scores: bool, probabilities: bool) -> list:
    """Columns for a column of texts: decided labels, and where asked for maps of scores and of probabilities."""
    model = _model(file)
    names = pa.array(model._model.labels, pa.string())
    null = pc.is_null(column) if not empty else pc.and_(pc.is_null(column), False)
    offsets, data = text_arrays(pc.fill_null(column, ""))
    found, indptr, indices, _ = model._model.column(offsets, data, -np.inf if scores or probabilities else None, (False, 1))
    mask = null if pc.any(null).as_py() else None
    out = [pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), names.take(pa.array(indices)), mask=mask)]
    if scores:
        out.append(_maps(found, names, null))
    if probabilities:
        out.append(_maps(model._probabilities(found), names, null))
    return out


def classify(
    df: DataFrame,
    model: Model,
    text: str | Column = "text",
    *,
    output: str = "labels",
    scores: str | None = None,
    probabilities: str | None = None,
    on_null: str = "null",
) -> DataFrame:
    """Label documents on the executors: the DataFrame with a column of labels more.

    Parameters
    ----------
    df : DataFrame
        Documents; other columns stay.
    model : TextCategorizer, path or bytes
        A fitted categorizer, or a model file, also of ``tamis fit``. It travels to the executors once.
    text : str or Column, default="text"
        Column of the text, a field of a nested one such as ``mail.body``, or an expression.
    output : str, default="labels"
        Name of the new column, an array of strings.
    scores : str, default=None
        Name of a further column, a map of all ranked labels to their scores.
    probabilities : str, default=None
        Name of a further column, a map of labels to their probabilities, of a model that has some.
    on_null : {"null", "empty", "error"}, default="null"
        Of a null text, labels are null (and maps empty); or it is an empty text; or the job fails.
    """
    null_rule(on_null, ("null", "empty", "error"))
    wide = with_column(df, TEXT, text, "text", "string", is_text)
    kinds = {output: ArrayType(StringType(), False), scores: MapType(StringType(), DoubleType(), False)}
    kinds[probabilities] = kinds[scores] if scores is not None else MapType(StringType(), DoubleType(), False)
    new = [name for name in (output, scores, probabilities) if name is not None]
    for name in new:
        if name in df.columns or new.count(name) > 1:
            raise ValueError(f"the DataFrame has a column {name!r} already; choose another name for the output")
    file = _file(model)
    if probabilities is not None and not _model(file)._has_probabilities():
        raise ValueError("the model has no probabilities: fit it with calibrate=, or with bayes or wknn")
    schema = StructType([*df.schema.fields, *(StructField(name, kinds[name]) for name in new)])
    wants = scores is not None, probabilities is not None

    def task(batches: Iterator) -> Iterator:
        for batch in batches:
            column = batch.column(TEXT)
            if on_null == "error":
                text_arrays(column)
            columns = _labelled(file, column, on_null == "empty", *wants)
            kept = batch.drop_columns([TEXT])
            yield pa.RecordBatch.from_arrays([*kept.columns, *columns], names=[*kept.schema.names, *new])

    return wide.mapInArrow(task, schema)


def udf(model: Model) -> Callable[[Any], Column]:
    """A function of columns that gives labels, an array of strings; null for null texts.

    ``df.select("id", tamis.spark.udf("mail.model")("body"))``; register it as ``spark.udf.register("label", udf)`` for SQL."""
    file = _file(model)

    def label(texts):  # no annotations: Spark reads them, and they are strings here
        return _labelled(file, pa.array(texts, pa.string(), from_pandas=True), False, False, False)[0].to_pandas()

    from pyspark.sql.functions import PandasUDFType, pandas_udf

    return pandas_udf(label, ArrayType(StringType()), PandasUDFType.SCALAR)


def evaluate(
    df: DataFrame,
    model: Model,
    text: str | Column = "text",
    labels: str | Column = "labels",
    *,
    measures: Sequence[str] = _measures.DECIDED,
    on_null: str = "error",
) -> dict[str, float | None]:
    """Judge a model on labelled documents: measures of decided labels by name.

    Documents stay where they are; how often each pair of true and decided labels occurs comes to the driver.

    Parameters
    ----------
    text, labels : str or Column
        Columns of the text and of the true labels, an array of strings or a string.
    measures : list of str
        Measures of decided labels, such as ``F1@macro``.
    on_null : {"error", "skip", "empty"}, default="error"
        What becomes of rows whose text is null.
    """
    null_rule(on_null, ("error", "skip", "empty"))
    wide = with_column(df, LABELS, labels, "labels", "array<string> or string", is_labels)
    if isinstance(wide.schema[LABELS].dataType, StringType):
        wide = wide.withColumn(LABELS, F.when(F.col(LABELS).isNull(), F.array()).otherwise(F.array(LABELS)))
    decided = "__tamis_decided"
    wide = with_column(wide, TEXT + "_of", text, "text", "string", is_text).select(LABELS, TEXT + "_of")
    if on_null == "skip":
        wide = wide.where(F.col(TEXT + "_of").isNotNull())
    found = classify(wide, model, TEXT + "_of", output=decided, on_null="error" if on_null == "error" else "empty")
    return judged(found, LABELS, decided, _model(_file(model))._model.labels, measures)


def judged(df: DataFrame, truth: str, decided: str, known: Sequence[str], measures: Sequence[str]) -> dict[str, float | None]:
    """Measures of decided labels against true ones, both arrays of strings; `known` labels count even where no row has them."""
    ordered = df.select(*(F.array_sort(F.coalesce(F.col(f"`{c}`"), F.array())).alias(n) for c, n in ((truth, "truth"), (decided, "decided"))))
    table = ordered.groupBy("truth", "decided").count().toArrow()
    times = table.column("count").to_numpy()
    labels, given = (
        [row for row, n in zip(table.column(name).to_pylist(), times) for _ in range(n)] for name in ("truth", "decided")
    )
    classes = sorted({label for rows in (labels, given) for row in rows for label in row} | set(known))
    return _measures.evaluate(labels, y_pred=given, classes=classes, measures=list(measures))
