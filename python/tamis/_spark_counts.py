"""Counting on a Spark cluster: terms and labels on the executors, sums as DataFrames."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

# First: it says what to install.
from ._spark_columns import LABELS, TEXT, label_sets, labelled_columns, text_arrays  # isort: skip
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import _core, _inputs
from .functions import Counts

#: Text that a task gathers before it is counted and added to what was counted before.
CHUNK_BYTES = 64 << 20

#: Rows of counts that a task hands to Spark at a time.
ROWS = 1 << 16

COUNTED = "term string, label string, documents long, occurrences long"


def chunks(batches: Iterator) -> Iterator[Any]:
    """Batches as tables of so much text that the core is worth calling."""
    waiting, size = [], 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            size += batch.nbytes
        if size > CHUNK_BYTES:
            yield pa.Table.from_batches(waiting)
            waiting, size = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)


def documents(table: Any, labelled: bool = True) -> tuple[tuple, tuple, list[str]]:
    """The texts and labels of a table as the core takes them: a column of text, sets of labels, and their names."""
    column = lambda name: pa.concat_arrays(table.column(name).chunks)  # noqa: E731
    sets, names = label_sets(column(LABELS) if labelled else None, table.num_rows, "labels")
    return text_arrays(column(TEXT)), sets, names


def _count_task(labelled: bool, options: str, memory: int) -> Callable:
    """What a task does: its documents become rows of counts, a term and label at a time."""

    def task(batches: Iterator) -> Iterator:
        total = None
        for table in chunks(batches):
            texts, sets, names = documents(table, labelled)
            part = _core.Counts.of_column(*texts, sets, names, options, memory, (False, 1))
            total = part if total is None else total.merge(part)
        if total is not None:
            yield from counted_rows(total.parts())

    return task


def counted_rows(parts: dict[str, Any]) -> Iterator:
    """Counts as rows: without term and label the documents and tokens of all; without term those of a label, without label
    those of a term."""
    terms, labels = pa.array(parts["terms"], pa.string()), pa.array(parts["labels"], pa.string())
    none = lambda n: pa.nulls(n, pa.string())  # noqa: E731

    def batch(term: Any, label: Any, documents: Any, occurrences: Any) -> Any:
        columns = [term, label, pa.array(documents, pa.int64()), pa.array(occurrences, pa.int64())]
        return pa.RecordBatch.from_arrays(columns, names=["term", "label", "documents", "occurrences"])

    yield batch(none(1), none(1), [parts["documents"]], [parts["tokens"]])
    yield batch(none(len(labels)), labels, parts["label_documents"], np.zeros(len(labels), np.int64))
    for start in range(0, len(terms), ROWS):
        some = slice(start, start + ROWS)
        yield batch(terms[some], none(len(terms[some])), parts["df"][some], parts["occurrences"][some])
    of_term = np.repeat(np.arange(len(terms)), np.diff(parts["offsets"]))
    for start in range(0, len(of_term), ROWS):
        some = slice(start, start + ROWS)
        yield batch(
            terms.take(pa.array(of_term[some])),
            labels.take(pa.array(parts["meeting_labels"][some])),
            parts["meeting_documents"][some],
            parts["meeting_occurrences"][some],
        )


def count(
    df: DataFrame,
    text: str | Column = "text",
    labels: str | Column | None = "labels",
    *,
    min_df: int = 1,
    memory: int = 512 << 20,
    on_null: str = "error",
    **options: Any,
) -> Counts:
    """Count terms by label on the executors: the counts that one machine gives for the same documents.

    Parameters
    ----------
    df : DataFrame
        Documents; anything Spark reads.
    text : str or Column, default="text"
        Column of the text, a field of a nested one such as ``mail.body``, or an expression.
    labels : str, Column or None, default="labels"
        Column of the labels: an array of strings, or a string where documents have one; None for no labels.
    min_df : int, default=1
        Terms in fewer documents are left out. Their document frequencies are added up first, and rows of the others only
        are shuffled.
    memory : int
        About how many bytes a task may take to count.
    on_null : {"error", "skip", "empty"}, default="error"
        Of a null text, the job fails; or the row is left out; or it is an empty text.
    **options
        Text options as of :class:`tamis.TextCounter`.
    """
    chosen = labelled_columns(df, text, labels, on_null)
    parameters = _inputs.text_options(options)
    # Options that are wrong are refused here, not by a hundred tasks.
    _core.Counts.of_texts([], _inputs.no_labels(0).sets, [], parameters, memory, (False, 1))
    counted = chosen.mapInArrow(_count_task(labels is not None, parameters, memory), COUNTED)
    if min_df > 1:
        counted = counted.persist()
    try:
        table = summed(frequent(counted, min_df) if min_df > 1 else counted).toArrow()
    finally:
        if min_df > 1:
            counted.unpersist()
    return Counts(assemble(table, parameters))


def frequent(counted: DataFrame, min_df: int) -> DataFrame:
    """Without rows of rare terms, which are found by their own small aggregation."""
    of_terms = counted.where(F.col("term").isNotNull() & F.col("label").isNull())
    kept = of_terms.groupBy("term").agg(F.sum("documents").alias("df")).where(F.col("df") >= min_df).select("term")
    frequent = counted.join(F.broadcast(kept), "term", "left_semi")
    return counted.where(F.col("term").isNull()).select(*counted.columns).union(frequent.select(*counted.columns))


def summed(counted: DataFrame, *by: str) -> DataFrame:
    """Rows of counts with the same term and label (and what else they are kept apart by) as one."""
    return counted.groupBy(*by, "term", "label").agg(
        F.sum("documents").alias("documents"), F.sum("occurrences").alias("occurrences")
    )


def assemble(table: Any, parameters: str) -> _core.Counts:
    """Rows of counts, in any order, as counts."""
    term, label = table.column("term").combine_chunks(), table.column("label").combine_chunks()
    documents, occurrences = (table.column(name).to_numpy() for name in ("documents", "occurrences"))
    has_term, has_label = (pc.is_valid(x).to_numpy(zero_copy_only=False) for x in (term, label))
    of_all = np.flatnonzero(~has_term & ~has_label)
    if len(of_all) == 0:
        raise ValueError("the DataFrame has no documents to count")
    in_order = lambda names, rows: rows[pc.sort_indices(names.take(pa.array(rows))).to_numpy()]  # noqa: E731
    of_terms = in_order(term, np.flatnonzero(has_term & ~has_label))
    of_labels = in_order(label, np.flatnonzero(~has_term & has_label))
    terms, labels = term.take(pa.array(of_terms)), label.take(pa.array(of_labels))
    both = np.flatnonzero(has_term & has_label)
    place = lambda names, rows, known: pc.index_in(names.take(pa.array(rows)), value_set=known).to_numpy()  # noqa: E731
    of_term, of_label = place(term, both, terms), place(label, both, labels)
    order = np.lexsort((of_label, of_term))
    offsets = np.concatenate([[0], np.cumsum(np.bincount(of_term, minlength=len(terms)))]).astype(np.int64)
    wide = lambda numbers: np.ascontiguousarray(numbers, dtype=np.int64)  # noqa: E731
    return _core.Counts.from_parts(
        terms.to_pylist(),
        labels.to_pylist(),
        int(documents[of_all].sum()),
        int(occurrences[of_all].sum()),
        documents[of_labels].tolist(),
        wide(documents[of_terms]),
        wide(occurrences[of_terms]),
        (offsets, wide(of_label[order]), wide(documents[both][order]), wide(occurrences[both][order])),
        parameters,
    )
