"""What the executors do while a model is trained on a Spark cluster.

The documents of a training lie in parts, one in each partition of a DataFrame of bytes: a row for each piece of packed
documents, one for the plan, one for what the part keeps from round to round (dual variables), and one for what it answers to
the driver. A round makes the next such DataFrame of the one before. What is lost with an executor is made again from the documents and the
messages of all rounds so far, and the same input gives the same bytes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from . import _core
from ._spark_columns import LABELS, TEXT, label_sets
from ._spark_counts import chunks, counted_rows, documents

#: A part as rows.
PART = "part int, kind int, place int, bytes binary"

#: What a row of a part is.
PIECE, PLAN, KEPT, ANSWER = range(4)

#: Rows of counts of each fold; those without a fold say how many documents have no label, and several.
FOLDED = "fold int, term string, label string, documents long, occurrences long"

#: One task has one core.
HOW = (False, 1)


def row(part: int, kind: int, place: int, content: bytes) -> Any:
    columns = [pa.array([number], pa.int32()) for number in (part, kind, place)]
    names = ["part", "kind", "place", "bytes"]
    return pa.RecordBatch.from_arrays([*columns, pa.array([content], pa.binary())], names=names)


def names_task(batches: Iterator) -> Iterator:
    """The names of the labels of a partition, each once."""
    found: set[str] = set()
    for batch in batches:
        found.update(label_sets(batch.column(LABELS), batch.num_rows, "labels")[1])
    yield pa.RecordBatch.from_arrays([pa.array(sorted(found), pa.string())], names=["label"])


def tally_task(taxonomy: str) -> Callable:
    """How the labels of a partition lie in a taxonomy."""

    def task(batches: Iterator) -> Iterator:
        told = []
        for table in chunks(batches):
            _, sets, names = documents(table)
            told.append(_core.tally_labels(sets, names, taxonomy))
        yield pa.RecordBatch.from_arrays([pa.array(told, pa.string())], names=["tally"])

    return task


def form_task(taxonomy: str, one: bool) -> Callable:
    """Documents with their most specific labels alone, or with all ancestors."""

    def task(batches: Iterator) -> Iterator:
        for table in chunks(batches):
            _, sets, names = documents(table)
            offsets, nodes, known = _core.formed_labels(sets, names, taxonomy, one)
            values = pa.array(known, pa.string()).take(pa.array(nodes))
            labels = pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)
            text = pa.concat_arrays(table.column(TEXT).chunks)
            yield pa.RecordBatch.from_arrays([text, labels], names=[TEXT, LABELS])

    return task


def count_task(text: str, folds: int, memory: int) -> Callable:
    """Counts documents, those of each fold by themselves."""

    def task(batches: Iterator) -> Iterator:
        total: list = []
        unlabelled = several = 0
        for table in chunks(batches):
            texts, sets, names = documents(table)
            counted, none, more = _core.count_folds(texts, sets, names, text, folds, memory, HOW)
            total = [a.merge(b) for a, b in zip(total, counted)] if total else counted
            unlabelled, several = unlabelled + none, several + more
        for fold, counts in enumerate(total):
            for batch in counted_rows(counts.parts()):
                yield batch.add_column(0, "fold", pa.array(np.full(batch.num_rows, fold, np.int32)))
        if total:
            none = pa.nulls(1, pa.string())
            numbers = [pa.array([n], pa.int64()) for n in (unlabelled, several)]
            names = ["fold", "term", "label", "documents", "occurrences"]
            yield pa.RecordBatch.from_arrays([pa.array([-1], pa.int32()), none, none, *numbers], names=names)

    return task


def pack_task(packer: bytes, keys: list[int], memory: int) -> Callable:
    """Packs documents; the key of each is that of its part."""

    def task(batches: Iterator) -> Iterator:
        for table in chunks(batches):
            texts, sets, names = documents(table)
            parts, offsets, data = _core.pack_column(packer, texts, sets, names, len(keys), memory, HOW)
            column = pa.LargeBinaryArray.from_buffers(
                pa.large_binary(), len(parts), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
            )
            numbers = [pa.array(np.array(keys, np.int32)[parts]), pa.array(parts, pa.int32())]
            yield pa.RecordBatch.from_arrays([*numbers, column.cast(pa.binary())], names=["key", "part", "document"])

    return task


def gather_task(plan: bytes) -> Callable:
    """Makes parts of packed documents. What a part answers first is how many documents it has, and the smallest of their fingerprints."""

    def task(batches: Iterator) -> Iterator:
        waiting: dict[int, list] = {}
        for batch in batches:
            parts = batch.column("part").to_numpy()
            for part in np.unique(parts):
                own = batch.column("document").filter(pa.array(parts == part)).cast(pa.large_binary())
                waiting.setdefault(int(part), []).append(own)
        for part, columns in sorted(waiting.items()):
            arrays = []
            for column in columns:
                _, offsets, data = column.buffers()
                offsets = np.frombuffer(offsets, np.int64)[column.offset : column.offset + len(column) + 1]
                arrays.append((offsets, np.frombuffer(data, np.uint8)))
            pieces, count, smallest = _core.gather(arrays)
            yield row(part, PLAN, 0, plan)
            for place, piece in enumerate(pieces):
                yield row(part, PIECE, place, piece)
            yield row(part, ANSWER, 0, json.dumps({"documents": count, "smallest": smallest}).encode())

    return task


def _parts(batches: Iterator) -> Iterator[tuple[int, list, dict[int, list[bytes]]]]:
    """The parts of a partition: number, rows that stay as they are, and contents of all rows by kind, in their order."""
    held: dict[int, tuple[list, list]] = {}
    for batch in batches:
        numbers = [batch.column(name).to_numpy() for name in ("part", "kind", "place")]
        for part in np.unique(numbers[0]):
            mine = np.flatnonzero(numbers[0] == part)
            stays, contents = held.setdefault(int(part), ([], []))
            stay = mine[numbers[1][mine] <= PLAN]
            if len(stay):
                stays.append(batch.take(pa.array(stay)))
            for at in mine:
                contents.append((int(numbers[1][at]), int(numbers[2][at]), batch.column("bytes")[int(at)].as_py()))
    for part, (stays, contents) in sorted(held.items()):
        kinds: dict[int, list[bytes]] = {}
        for kind, _, content in sorted(contents, key=lambda entry: entry[:2]):
            kinds.setdefault(kind, []).append(content)
        yield part, stays, kinds


def round_task(messages: list[bytes]) -> Callable:
    """Rounds on the parts of a partition: what is answered is the answer to the last message."""

    def task(batches: Iterator) -> Iterator:
        for part, stays, contents in _parts(batches):
            kept = contents.get(KEPT, [b""])[0]
            answer = b""
            for message in messages:
                kept, answer = _core.part_step(contents[PLAN][0], contents[PIECE], kept, message, HOW)
            yield from stays
            yield row(part, KEPT, 0, kept)
            yield row(part, ANSWER, 0, answer)

    return task


def score_task(scorers: bytes, features: int, labels: int) -> Callable:
    """Scores the held-out documents of the parts of a partition."""

    def task(batches: Iterator) -> Iterator:
        for part, _, contents in _parts(batches):
            yield row(part, ANSWER, 0, _core.part_scores(scorers, contents[PIECE], features, labels, HOW))

    return task


def answers(parts: DataFrame) -> list[tuple[int, bytes]]:
    """What the parts answer, in their order; this is what makes Spark do the work."""
    table = parts.where(F.col("kind") == ANSWER).select("part", "bytes").toArrow()
    return sorted(zip(table.column("part").to_pylist(), table.column("bytes").to_pylist()))


class Parts:
    """The parts of a training as they are after a round.

    Their lineage is cut after every round: Spark's planner takes 1.6 times as long for each cached DataFrame that is made of the one before, which
    was half a second in the fifth round and minutes in the twenty-fifth. A cut DataFrame is lost with the executor that holds it; then the
    rounds so far are gone through again, from the documents and the messages.
    """

    #: What Spark says of a cut DataFrame of which some is lost.
    LOST = ("CHECKPOINT_RDD_BLOCK_ID_NOT_FOUND", "Checkpoint block")

    #: How often in a row parts may be lost.
    ATTEMPTS = 5

    def __init__(self, gathered: DataFrame):
        self.gathered = gathered
        self.messages: list[bytes] = []
        self.state: DataFrame | None = None

    def _made(self) -> DataFrame:
        """From the documents, with all rounds so far."""
        parts = self.gathered.mapInArrow(round_task(self.messages), PART) if self.messages else self.gathered
        return parts.localCheckpoint()

    def _tried(self, work: Callable[[DataFrame], Any]) -> Any:
        for attempt in range(self.ATTEMPTS):
            try:
                if self.state is None:
                    self.state = self._made()
                return work(self.state)
            except Exception as error:
                if attempt + 1 == self.ATTEMPTS or not any(sign in str(error) for sign in self.LOST):
                    raise
                self.state = None

    def round(self, message: bytes) -> list[bytes]:
        """What the parts answer to a message, in their order."""
        self._tried(lambda state: self._next(state, message))
        return self.answers()

    def _next(self, state: DataFrame, message: bytes) -> None:
        self.state = state.mapInArrow(round_task([message]), PART).localCheckpoint()
        self.messages.append(message)

    def answers(self, task: Callable | None = None) -> list[bytes]:
        """What the parts answered, or what a task makes of them, in their order."""
        asked = lambda state: state if task is None else state.mapInArrow(task, PART)  # noqa: E731
        return [answer for _, answer in self._tried(lambda state: answers(asked(state)))]


def keys_of(spark: SparkSession, parts: int) -> list[int]:
    """For each part a number that Spark's hash puts into a partition of its own, so that no executor has two parts while another
    has none. Which ones they are does not show in any result."""
    numbers = spark.range(64 * parts).select(F.col("id").cast("int").alias("key"))
    placed = numbers.groupBy(F.expr(f"pmod(hash(key), {parts})").alias("place")).agg(F.min("key").alias("key")).toArrow()
    found = dict(zip(placed.column("place").to_pylist(), placed.column("key").to_pylist()))
    return [found.get(place, place) for place in range(parts)]


def default_parts(spark: SparkSession) -> int:
    """As many as Spark has cores for."""
    return max(spark.range(1 << 12).select(F.spark_partition_id().alias("p")).distinct().count(), 1)


def check_executors(spark: SparkSession, version: str, package: str = "tamis") -> None:
    """Refuses to begin where an executor lacks tamis, and names it."""

    def probe(batches):  # no names of this module: it must run where there is no tamis
        import importlib
        import platform
        import sys

        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                try:
                    there = importlib.import_module(f"{package}._core").__version__
                except ImportError as error:
                    there = f"missing: {error}"
                names = ["host", "python", "tamis"]
                yield pa.RecordBatch.from_arrays([pa.array([x]) for x in (platform.node(), sys.executable, there)], names=names)

    found = spark.range(256).mapInArrow(probe, "host string, python string, tamis string").distinct().toArrow().to_pylist()
    for executor in sorted(found, key=str):
        if executor["tamis"].startswith("missing"):
            raise RuntimeError(
                f"{package} is not installed on the executor {executor['host']} ({executor['python']}; {executor['tamis']}): install it "
                "there, or ship an environment with spark.archives"
            )
        if executor["tamis"] != version:
            raise RuntimeError(
                f"the executor {executor['host']} ({executor['python']}) has tamis {executor['tamis']}, and the driver {version}: "
                "install the same"
            )
