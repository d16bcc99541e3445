"""The same counting, training and classifying on a Spark cluster.

Only the DataFrame API that Spark Connect has is used: ``mapInArrow`` runs the Rust core on the executors (tamis must be
installed there), DataFrame aggregations add up. Documents never come to the driver; counts, weights, scores, labels and rows of
studies do.

::

    model = tamis.spark.fit(spark.table("mail"), text="body", labels="topics", by="chi2max@1", features=20_000, classifier="svm")
    counts = tamis.spark.count(spark.read.parquet("mail"), text="body", labels="topics", min_df=3)
    counts.rank("chi2max", top=20)
    tamis.spark.classify(spark.table("new_mail"), "mail.model", text="body").write.saveAsTable("labelled")
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

import pandas as pd

# First: it says what to install.
from ._spark_counts import count  # isort: skip
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession

from . import _core
from ._spark_fit import fit
from ._spark_ml import Categorizer, CategorizerModel, Judge
from ._spark_model import classify, evaluate, udf
from .functions import Counts, _reading, study_frame

__all__ = [
    "Categorizer",
    "CategorizerModel",
    "Judge",
    "classify",
    "count",
    "evaluate",
    "fit",
    "rank",
    "study",
    "udf",
]

def rank(
    documents: DataFrame | Counts,
    by: str = "chi2max",
    *,
    text: str | Column = "text",
    labels: str | Column | None = "labels",
    top: int | None = None,
    cut: int | None = None,
    per_label: bool = False,
    min_df: int = 1,
    **options: Any,
) -> pd.DataFrame:
    """Rank the terms of documents, or of their counts: see :func:`tamis.rank`."""
    counts = documents
    if not isinstance(counts, Counts):
        counts = count(documents, text, labels, min_df=min_df, **options)
    return counts.rank(by, top=top, cut=cut, per_label=per_label)


#: The study of this process: tasks of one worker share the corpus they read.
_STUDIES: dict[tuple, _core.Study] = {}


def _study(key: tuple) -> _core.Study:
    if key not in _STUDIES:
        plan, change, paths, reading, seed = key
        _STUDIES.clear()
        _STUDIES[key] = _core.Study.on_corpus(plan, list(change), list(paths), reading, None, seed, (False, 1))
    return _STUDIES[key]


def study(
    spark: SparkSession,
    plan: str | os.PathLike,
    corpus: str | os.PathLike | list[str],
    *,
    change: Iterable[str] = (),
    random_state: int | None = None,
    **reading: Any,
) -> pd.DataFrame:
    """Run a study on the executors, a task for each split and selector: the rows of :func:`tamis.study`.

    The corpus is a path that every executor can read (or a built-in corpus such as ``synth:topics:2000``); each worker
    process reads it once. The driver reads the plan only.
    """
    if os.path.isfile(plan):
        with open(plan, encoding="utf-8") as stream:
            plan = stream.read()
    paths = [os.fspath(path) for path in (corpus if isinstance(corpus, list) else [corpus])]
    key = (str(plan), tuple(change), tuple(paths), _reading(reading), random_state)

    def units(batches: Iterator) -> Iterator:
        for batch in batches:
            if batch.num_rows:
                yield pa.RecordBatch.from_arrays([pa.array([_study(key).units], pa.int64())], names=["units"])

    def task(batches: Iterator) -> Iterator:
        for batch in batches:
            numbers = batch.column(0).to_pylist()
            rows = [_study(key).run_unit(unit, (False, 1)) for unit in numbers]
            yield pa.RecordBatch.from_arrays(
                [pa.array(numbers, pa.int64()), pa.array(rows, pa.string())], names=["unit", "rows"]
            )

    n = spark.range(1).mapInArrow(units, "units long").toArrow().column(0)[0].as_py()
    done = spark.range(n).repartition(n, "id").mapInArrow(task, "unit long, rows string").toArrow()
    lines = [rows for _, rows in sorted(zip(done.column("unit").to_pylist(), done.column("rows").to_pylist()))]
    return study_frame(line for rows in lines for line in rows.splitlines())
