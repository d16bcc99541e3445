"""Training on a Spark cluster, to the gap that one machine stops at."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from . import _core, _inputs, _spark_rounds as rounds
from ._spark_columns import LABELS, TEXT, labelled_columns, text_arrays
from ._spark_counts import assemble, documents, frequent, summed
from .categorizer import TextCategorizer

#: Parameters of TextCategorizer that stand for thresholds along the pipelines of a taxonomy.
PIPELINES = ("negatives", "per_node", "utility", "step", "least_utility", "imbalance", "answers")

#: Text that a search may read, in bytes.
SAMPLE_BYTES = 256 << 20


class Diary:
    """Seconds by phase and rounds as they were; told where somebody wants to hear it."""

    def __init__(self, verbose: bool):
        self.verbose = verbose
        self.seconds: dict[str, float] = {}
        self.rounds: list[dict[str, Any]] = []
        self.since = time.perf_counter()

    def tell(self, text: str) -> None:
        if self.verbose:
            print(f"tamis.spark: {text}", file=sys.stderr, flush=True)

    def phase(self, name: str, text: str = "") -> None:
        """Says that a phase is over."""
        now = time.perf_counter()
        self.seconds[name] = self.seconds.get(name, 0.0) + now - self.since
        self.tell(f"{name}: {now - self.since:.1f} s{'; ' + text if text else ''}")
        self.since = now

    def round(self, report: dict[str, Any]) -> None:
        now = time.perf_counter()
        report = {**report, "seconds": now - self.since}
        self.rounds.append(report)
        self.seconds["rounds"] = self.seconds.get("rounds", 0.0) + report["seconds"]
        self.since = now
        self.tell(
            f"round {report['round']}: gap {report['gap']:.2e}, {report['open']} of {report['problems']} problems open, "
            f"{report['sent'] / 1e6:.1f} MB to each part, {report['received'] / 1e6:.1f} MB back, {report['seconds']:.1f} s"
        )


def _sampled(share: float) -> Any:
    """Keeps a share of the documents, chosen by their fingerprints."""

    def task(batches: Iterator) -> Iterator:
        for batch in batches:
            draws = _core.draw_column(text_arrays(batch.column(TEXT)))
            yield batch.filter(pa.array(draws < share))

    return task


def _choose_task(text: str, fitting: str) -> Any:
    """Searches on all documents of a partition, in an order that depends on nothing but them."""

    def task(batches: Iterator) -> Iterator:
        tables = [pa.Table.from_batches([batch]) for batch in batches if batch.num_rows]
        if not tables:
            return
        table = pa.concat_tables(tables).combine_chunks()
        labels = table.column(LABELS)
        if pa.types.is_list(labels.type) or pa.types.is_large_list(labels.type):
            labels = pc.binary_join(labels, "\0")
        keys = pa.table({"text": table.column(TEXT), "labels": labels})
        order = pc.sort_indices(keys, [("text", "ascending"), ("labels", "ascending")])
        texts, sets, names = documents(table.take(order))
        chosen = _core.choose_column(texts, sets, names, text, fitting, (False, 1))
        yield pa.RecordBatch.from_arrays([pa.array([chosen], pa.string())], names=["chosen"])

    return task


def _search(chosen: DataFrame, text: str, fitting: str, sample: int, diary: Diary) -> dict[str, Any]:
    """What a search on a sample takes, made by one executor."""
    size = chosen.agg(F.count("*").alias("n"), F.sum(F.octet_length(TEXT)).alias("bytes")).toArrow().to_pylist()[0]
    share = min(1.0, sample / max(size["n"], 1), SAMPLE_BYTES / max(size["bytes"] or 0, 1))
    few = chosen.mapInArrow(_sampled(share), chosen.schema) if share < 1 else chosen
    found = few.repartition(1).mapInArrow(_choose_task(text, fitting), "chosen string").toArrow().column(0).to_pylist()
    if not found:
        raise ValueError("the DataFrame has no documents to learn from")
    pinned = json.loads(found[0])
    options = pinned["options"]
    if share < 1:
        pinned["reasons"].append(
            f"This was chosen on a sample of {100 * share:.3g} % of the {size['n']} documents, and trained on all."
        )
    diary.phase("search", f"{options['classifier']} on {options['features']} terms by {options['by']}")
    return pinned


def _open(estimator: TextCategorizer) -> list[str]:
    """What is not said, and so is searched."""
    unsaid = {"by": estimator.by is None, "features": estimator.features == "auto", "classifier": estimator.classifier is None}
    return [name for name, is_open in unsaid.items() if is_open]


def _nodes(chosen: DataFrame, given: Any) -> Any:
    """The taxonomy of all labels, as nodes."""
    names = chosen.mapInArrow(rounds.names_task, "label string").distinct().toArrow().column(0).to_pylist()
    return json.loads(_core.taxonomy_of(json.dumps(given), sorted(names)))


def _along(chosen: DataFrame, nodes: Any) -> tuple[DataFrame, str]:
    """The documents with the labels that a training along a taxonomy takes: the most specific ones where a document has one, else all with
    their ancestors. And how their labels lie there."""
    taxonomy = json.dumps(nodes)
    tallies = chosen.mapInArrow(rounds.tally_task(taxonomy), "tally string").toArrow().column(0).to_pylist()
    tally, one = _core.merged_tallies(taxonomy, tallies)
    return chosen.mapInArrow(rounds.form_task(taxonomy, one), f"{TEXT} string, {LABELS} array<string>"), tally


def _counts(chosen: DataFrame, text: str, folds: int, min_df: int, memory: int) -> tuple[list, int, int]:
    """Counts of each fold, and how many documents have no label, and several."""
    counted = chosen.mapInArrow(rounds.count_task(text, folds, memory), rounds.FOLDED)
    if min_df > 1:
        counted = counted.persist()
    try:
        table = summed(frequent(counted, min_df) if min_df > 1 else counted, "fold").toArrow()
    finally:
        if min_df > 1:
            counted.unpersist()
    of_fold = lambda fold: table.filter(pc.equal(table.column("fold"), fold)).drop_columns(["fold"])  # noqa: E731
    labels = of_fold(-1)
    if labels.num_rows == 0:
        raise ValueError("the DataFrame has no documents to learn from")
    plain = json.dumps({})
    nothing = _core.Counts.of_texts([], _inputs.no_labels(0).sets, [], plain, 1 << 20, (False, 1))
    by_fold = (of_fold(fold) for fold in range(max(folds, 1)))
    tables = [assemble(rows, plain) if rows.num_rows else nothing for rows in by_fold]
    return tables, labels.column("documents")[0].as_py(), labels.column("occurrences")[0].as_py()


def fit(
    df: DataFrame,
    text: str | Column = "text",
    labels: str | Column = "labels",
    *,
    parts: int | None = None,
    rounds_at_most: int = 300,
    min_df: int = 1,
    sample: int = 60_000,
    held_out_scores: int = 1 << 28,
    memory: int = 512 << 20,
    on_null: str = "error",
    verbose: bool = False,
    **options: Any,
) -> TextCategorizer:
    """Train on the executors: the model that ``tamis fit`` makes of the same documents, to the same duality gap.

    Terms and labels are counted where the documents are, and selected on the driver. Every executor keeps its documents as packed rows
    of the selected terms and improves its own dual variables (CoCoA+); the driver adds up the weights, for all labels and for the
    models of all folds in the same rounds, until the gap of every label is as small as one machine asks for. Documents never come to the
    driver; counts, weights and scores of held-out documents do.

    Which part and which fold a document is in depends on its text alone. The same documents in as many parts give the same
    bytes, however they are partitioned and whichever executor did what; another number of parts gives another solution within the gap.

    Parameters
    ----------
    df : DataFrame
        Documents. It is read twice (counting, packing), and twice more for a search: cache what is dear to compute.
    text, labels : str or Column
        Columns of the text, and of the labels: an array of strings, or a string where documents have one.
    parts : int, default=None
        Into how many parts the documents are put; as many as Spark has cores for when None. More parts need more rounds.
    rounds_at_most : int, default=300
        Labels whose gap is not reached by then are left as they are, with a warning.
    min_df : int, default=1
        Terms in fewer documents are left out before they come to the driver.
    sample : int, default=60,000
        Documents on which what is not said (``by``, ``features``, ``classifier``) is searched, by one executor; 256 MB of text at most.
    held_out_scores : int
        About how many scores of held-out documents come to the driver, 4 bytes each, to tune thresholds and probabilities; beyond,
        a share of the documents is scored.
    memory : int
        About how many bytes a task may take to count.
    on_null : {"error", "skip", "empty"}, default="error"
        Of a null text, the job fails; or the row is left out; or it is an empty text.
    verbose : bool, default=False
        Says on stderr how long each phase and round took, and the gap.
    **options
        As of :class:`tamis.TextCategorizer`: ``by``, ``features``, ``classifier`` (``svm``, ``logistic``, ``bayes``, ``tree(svm)`` or ``tree(logistic)``),
        ``threshold``, ``calibrate``, ``folds``, ``terms``, ``taxonomy`` and ``goal``, … ; neighbours, pairs of labels and thresholds along
        pipelines are for one machine.

    Returns
    -------
    TextCategorizer
        With ``rounds_``, a DataFrame of the rounds, and ``seconds_``, a dictionary of the phases.
    """
    estimator = TextCategorizer(**options)
    estimator._validate_params()
    given = estimator.get_params(deep=False)
    usual = TextCategorizer().get_params(deep=False)
    for name in PIPELINES:
        if given[name] != usual[name]:
            raise ValueError(f"{name}= is for thresholds along pipelines, which are set on one machine: tamis.TextCategorizer")
    if estimator.goal == "cost" and (open_choices := _open(estimator)):
        raise ValueError(f"goal='cost' compares on one machine: name {', '.join(open_choices)} here, or use tamis.TextCategorizer")
    for name, value in (("rounds_at_most", rounds_at_most), ("min_df", min_df), ("sample", sample)):
        _inputs.whole(name, value, 1)
    if parts is not None:
        _inputs.whole("parts", parts, 1)
    choices = _inputs.text_parameters(estimator)
    if _core.text_fields(choices) is not None:
        raise ValueError("terms= reads fields by their names; on Spark there is one column of text: join them with F.concat_ws")
    chosen = labelled_columns(df, text, labels, on_null)
    if estimator.unlabelled == "ignore":
        has = F.col(LABELS).isNotNull()
        chosen = chosen.where(has if dict(chosen.dtypes)[LABELS] == "string" else has & (F.size(LABELS) > 0))
    diary = Diary(verbose)
    spark = df.sparkSession
    rounds.check_executors(spark, _core.__version__)
    fitting, pinned = estimator._fitting(), None
    if fitting["taxonomy"] is not None:
        fitting["taxonomy"] = _nodes(chosen, fitting["taxonomy"])
    if _open(estimator):
        pinned = _search(chosen, choices, json.dumps(fitting), sample, diary)
        fitting, resolved = pinned["options"], json.dumps(pinned["text"])
    else:
        resolved = _core.resolved_text(choices)
    tally = None
    if fitting["taxonomy"] is not None and fitting["threshold"] is None:
        chosen, tally = _along(chosen, fitting["taxonomy"])
        diary.phase("labels")
    n_parts = rounds.default_parts(spark) if parts is None else int(parts)
    folds = _core.PartedFit.FOLDS if estimator.folds is None else int(estimator.folds)
    if folds == 1:
        raise ValueError("folds=1: cross-validation needs two folds or more; 0 leaves it out")
    tables, unlabelled, several = _counts(chosen, resolved, folds, int(min_df), memory)
    diary.phase("counting")
    parted = _core.PartedFit(
        json.dumps(fitting), resolved, tables, unlabelled, several, tally, n_parts, int(rounds_at_most), _inputs.how(estimator)
    )
    del tables
    if pinned is not None:
        parted.chosen(pinned["reasons"], json.dumps(pinned["trials"]), json.dumps(pinned["frontier"]))
    about = json.loads(parted.report)
    diary.phase("selection", "{documents} documents, {labels} labels, {features} terms, {folds} folds, {problems} problems".format(**about))
    model, report = _train(chosen, parted, about, n_parts, int(held_out_scores), memory, diary)
    fitted = TextCategorizer._of(model)
    report = json.loads(report)
    fitted.trials_ = pd.DataFrame(report["trials"]).rename(columns={"size": "features", "mean": "RPrec"})
    fitted.frontier_ = pd.DataFrame(report["frontier"]).rename(columns={"size": "features", "mean": "RPrec"})
    fitted.threshold_report_ = report["thresholds"]
    fitted.rounds_, fitted.seconds_ = pd.DataFrame(diary.rounds), diary.seconds
    return fitted


def _train(
    chosen: DataFrame, parted: Any, about: dict, n_parts: int, most: int, memory: int, diary: Diary
) -> tuple[Any, str]:
    """Packs documents, goes through the rounds, and scores what is held out."""
    keys = rounds.keys_of(chosen.sparkSession, n_parts)
    packed = chosen.mapInArrow(rounds.pack_task(parted.packer, keys, memory), "key int, part int, document binary")
    plan = parted.plan
    parts = rounds.Parts(packed.repartition(n_parts, "key").mapInArrow(rounds.gather_task(plan or b""), rounds.PART))
    made = [json.loads(answer) for answer in parts.answers()]
    if plan is not None:
        parted.on_parts(len(made))
    sizes = [part["documents"] for part in made]
    diary.phase("packing", f"{len(made)} of {n_parts} parts have documents, {min(sizes)} to {max(sizes)} each")
    while (message := parted.message()) is not None:
        diary.round(json.loads(parted.add(parts.round(bytes(message)))))
    scorers = parted.scorers(most)
    if scorers is not None:
        for scores in parts.answers(rounds.score_task(bytes(scorers), about["united"], about["labels"])):
            parted.add_scores(scores)
        diary.phase("scoring")
    smallest = sorted({print_ for part in made for print_ in part["smallest"]})
    model, report = parted.finish(smallest, (False, 0))
    diary.phase("deciding")
    return model, report
