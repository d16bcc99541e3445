"""Functions: count, rank, study, calibrate."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from . import _core, _inputs
from .hierarchy import taxonomy_pairs

#: Keyword arguments that say how a corpus on disk is read.
READING = (
    "from_format",
    "encoding",
    "on_error",
    "id_field",
    "text_field",
    "tokens_field",
    "labels_field",
    "split_field",
    "columns",
    "date_field",
    "weight_field",
    "dates",
    "delimiter",
    "label_separator",
    "max_record",
    "quotes",
    "label_prefix",
    "values",
    "qrels",
)


def registry(what: str) -> pd.DataFrame:
    """What can be named: ``formats``, ``selectors``, ``combinations``, ``searches``, ``classifiers``, ``thresholds``,
    ``methods``, ``measures``, ``stop_words``, ``stemmers``; the tables of ``tamis list``.

    >>> import tamis
    >>> tamis.registry("selectors").set_index("name").loc["ig", "what"]
    'information gain'
    """
    columns, rows = _core.registry(what)
    return pd.DataFrame(rows, columns=columns)


def synth(documents: int = 2000, *, shape: str = "topics", random_state: int = 1) -> pd.DataFrame:
    """The built-in corpus: ``text``, ``labels`` (a list for each document) and ``split`` (train or test).

    >>> import tamis
    >>> tamis.synth(3).columns.tolist()
    ['text', 'labels', 'split']
    """
    texts, labels, test = _core.synth(shape, documents, random_state)
    return pd.DataFrame({"text": texts, "labels": labels, "split": np.where(test, "test", "train")})


class Counts:
    """Documents by term and label: what selectors need of a corpus, however large it was.

    Made by :func:`count` and :func:`tamis.spark.count`; the same file as ``tamis count``.
    """

    def __init__(self, core: _core.Counts):
        self._core = core

    @property
    def n_documents(self) -> int:
        """Documents counted."""
        return self._core.documents

    @property
    def n_tokens(self) -> int:
        """Tokens of all documents."""
        return self._core.tokens

    @property
    def terms(self) -> list[str]:
        """Terms, in byte order."""
        return self._core.terms

    @property
    def labels(self) -> list[str]:
        """Labels, in byte order."""
        return self._core.labels

    def parts(self) -> dict[str, Any]:
        """The numbers: ``df``, ``occurrences``, ``label_documents``, and terms × labels as compressed rows."""
        return self._core.parts()

    def rank(
        self,
        by: str = "chi2max",
        *,
        top: int | None = None,
        cut: int | None = None,
        per_label: bool = False,
        seconds: float | None = None,
        swings: int | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> pd.DataFrame:
        """Terms best first: see :func:`rank`."""
        how = _inputs.how(verbose=verbose, n_jobs=n_jobs)
        if not per_label:
            return _frame(self._core.rank(by, cut, top, (seconds, swings), how))
        lists = [_frame(part) for part in self._core.rank_per_label(by, cut, top, how)]
        return pd.concat([part for part in lists if len(part)] or lists, ignore_index=True)

    def merge(self, other: Counts) -> Counts:
        """The counts of both: those of all documents, when the two had none in common."""
        return Counts(self._core.merge(other._core))

    def at_least(self, documents: int) -> Counts:
        """Without the terms in fewer documents."""
        return Counts(self._core.at_least(documents))

    def save(self, path: str | os.PathLike) -> None:
        """Write the file that ``tamis rank`` and ``tamis merge`` read."""
        self._core.save(os.fspath(path))

    @classmethod
    def load(cls, path: str | os.PathLike) -> Counts:
        """Read what :meth:`save` or ``tamis count`` wrote."""
        return cls(_core.Counts.load(os.fspath(path)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Counts) and self._core.equals(other._core)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Counts of {self.n_documents:,} documents: {len(self.terms):,} terms, {len(self.labels):,} labels>"


def _frame(columns: dict[str, Any]) -> pd.DataFrame:
    frame = pd.DataFrame(columns)
    frame.insert(0, "rank", np.arange(1, len(frame) + 1))
    return frame


def count(
    documents: Any,
    y: Any = None,
    *,
    min_df: int = 1,
    all_parts: bool = False,
    memory: int = _inputs.MEMORY,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> Counts:
    """Count terms by label.

    Parameters
    ----------
    documents : path or texts
        A corpus on disk (anything ``tamis count`` reads; several paths as a list of ``os.PathLike``), or raw strings.
    y : labels, default=None
        Labels of raw strings: a vector, a list of labels for each document, or an indicator matrix.
    min_df : int, default=1
        Terms in fewer documents are left out of the result.
    all_parts : bool, default=False
        Of a corpus that gives a split, count all documents and not only those to train on.
    memory : int
        About how many bytes counting may take; beyond it rare terms are pruned.
    **options
        Text options as of :class:`TextCounter` (``words``, ``stem`` …) and, for a corpus on disk, how it is read
        (``from_format``, ``encoding``, ``text_field``, ``labels_field`` …).

    Examples
    --------
    >>> import tamis
    >>> tamis.count(["oil price", "ship port"], [["crude"], ["ship"]])
    <Counts of 2 documents: 4 terms, 2 labels>
    """
    reading = {key: options.pop(key) for key in READING if key in options}
    text, how = _inputs.text_options(options), _inputs.how(verbose=verbose, n_jobs=n_jobs)
    paths = _paths(documents)
    if paths is not None:
        core = _core.Counts.of_corpus(paths, _reading(reading), text, all_parts, memory, how)
    else:
        raw = _inputs.texts(documents, fields=_core.text_fields(text))
        text = _inputs.recognised(raw, text)
        labels = _inputs.no_labels(_inputs.rows(raw)) if y is None else _inputs.labels(y, lists=True)
        core = _core.Counts.of_texts(raw, labels.sets, labels.names, text, memory, how)
    return Counts(core.at_least(min_df) if min_df > 1 else core)


def _paths(documents: Any) -> list[str] | None:
    """The paths of a corpus on disk; None for raw strings."""
    if isinstance(documents, (str, os.PathLike)):
        return [os.fspath(documents)]
    if isinstance(documents, (list, tuple)) and documents and all(isinstance(d, os.PathLike) for d in documents):
        return [os.fspath(path) for path in documents]
    return None


def _reading(given: dict[str, Any]) -> str:
    named = {("from" if key == "from_format" else key): value for key, value in given.items()}
    return json.dumps(named, default=os.fspath)


def rank(
    documents: Any,
    y: Any = None,
    by: str = "chi2max",
    *,
    top: int | None = None,
    cut: int | None = None,
    per_label: bool = False,
    feature_names: Sequence[str] | None = None,
    seconds: float | None = None,
    swings: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Rank terms by a selector: what ``tamis rank`` prints, as a DataFrame.

    Parameters
    ----------
    documents : path, texts, sparse matrix or Counts
        A corpus on disk, raw strings, documents × terms, or counts.
    y : labels, default=None
        Labels, where `documents` does not hold them.
    by : str, default="chi2max"
        Selector expression. A search such as ``os(ib)`` needs `top`.
    top : int, default=None
        How many terms; all when None.
    cut : int, default=None
        Terms in at most so many documents are cut; the same as ``@cut`` after the expression.
    per_label : bool, default=False
        One list for each label, one below the other.
    feature_names : sequence of str, default=None
        Names of the columns of a matrix.
    **options
        As of :func:`count`.

    Returns
    -------
    DataFrame
        ``rank``, ``term``, ``score``, ``df``, and where the score belongs to a label ``label`` and the documents that have
        both, the term only, the label only, neither (``a`` ``b`` ``c`` ``d``).

    Examples
    --------
    >>> import tamis
    >>> texts = ["ship oil port", "ship crew", "oil price", "price barrel oil"]
    >>> tamis.rank(texts, ["shipping", "shipping", "crude", "crude"], "chi2max", top=2)["term"].tolist()
    ['price', 'ship']
    """
    if sp.issparse(documents) or (isinstance(documents, np.ndarray) and documents.ndim == 2):
        if per_label:
            raise ValueError("per_label needs texts, a corpus or counts: the columns of a matrix have no names")
        return _rank_matrix(documents, y, by, top, cut, feature_names, (seconds, swings), n_jobs, verbose)
    if not isinstance(documents, Counts):
        path = _paths(documents)
        if path is not None and len(path) == 1 and _core.Counts.is_one(path[0]):
            documents = Counts.load(path[0])
        else:
            documents = count(documents, y, n_jobs=n_jobs, verbose=verbose, **options)
    return documents.rank(
        by, top=top, cut=cut, per_label=per_label, seconds=seconds, swings=swings, n_jobs=n_jobs, verbose=verbose
    )


def _rank_matrix(X, y, by, top, cut, names, budget, n_jobs, verbose) -> pd.DataFrame:
    labels = _inputs.no_labels(X.shape[0]) if y is None else _inputs.labels(y, lists=True)
    if len(labels.sets[0]) - 1 != X.shape[0]:
        raise ValueError(
            f"Found input variables with inconsistent numbers of samples: [{X.shape[0]}, {len(labels.sets[0]) - 1}]"
        )
    how = _inputs.how(verbose=verbose, n_jobs=n_jobs)
    columns, scores, _, arrays = _inputs.rank_columns(X, labels, by, cut, top, budget, how)
    df = np.bincount(arrays[1][arrays[2] > 0], minlength=X.shape[1])
    columns, scores = columns[:top], scores[:top]
    terms = columns if names is None else np.asarray(names, dtype=object)[columns]
    return _frame({"term": terms, "score": scores, "df": df[columns]})


def study(
    plan: str | os.PathLike,
    documents: Any = None,
    y: Any = None,
    *,
    taxonomy: Any = None,
    output: str | os.PathLike | None = None,
    change: Iterable[str] = (),
    random_state: int | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
    **reading: Any,
) -> pd.DataFrame:
    """Run a study: selectors × sizes × classifiers over splits of a corpus.

    Parameters
    ----------
    plan : str or path
        Name of a built-in study (:func:`studies`), a TOML file, or TOML itself.
    documents : path or texts, default=None
        A corpus on disk or ``synth:topics:2000``, or raw strings with labels `y`; the plan's own when None.
    taxonomy : dict, list of pairs, path, or "names", default=None
        The taxonomy of the labels, for studies along pipelines. The built-in corpora have their own.
    output : path, default=None
        Folder for rows and report. A study that was stopped goes on where it was.
    change : iterable of str
        Values of the plan to replace, such as ``"sizes.at=[50,100]"``.
    random_state : int, default=None
        Seed; the plan's when None.

    Returns
    -------
    DataFrame
        A row for each split, classifier, selector, size and threshold, with a column for each measure. The splits are in
        ``.attrs["splits"]``.

    Examples
    --------
    >>> import tamis
    >>> rows = tamis.study("li", "synth:topics:300", change=["selectors.list=['ig','df']", "sizes.at=[20,50]",
    ...                    "splits.how=random(0.3)", "corpus.min_documents=10"])
    >>> sorted(set(rows["selector"]))
    ['df@2', 'ig@2']
    """
    how = _inputs.how(verbose=verbose, n_jobs=n_jobs)
    core = _open_study(plan, documents, y, taxonomy, list(change), random_state, how, reading)
    lines = core.run(None if output is None else os.fspath(output), how)
    if output is not None:
        _core.study_report(os.fspath(output))
    return study_frame(lines.splitlines())


def _open_study(plan, documents, y, taxonomy, change, random_state, how, reading) -> _core.Study:
    paths = [] if documents is None else _paths(documents)
    pairs = None if taxonomy is None else taxonomy_pairs(taxonomy, [])
    if paths is not None:
        return _core.Study.on_corpus(os.fspath(plan), change, paths, _reading(reading), pairs, random_state, how)
    raw, labels = _inputs.texts(documents), _inputs.labels(y, lists=True)
    return _core.Study.on_texts(os.fspath(plan), change, raw, labels.sets, labels.names, pairs, random_state, how)


def study_frame(lines: Iterable[str]) -> pd.DataFrame:
    """Rows of a study as a DataFrame."""
    rows = [json.loads(line) for line in lines if line]
    results = [row for row in rows if row["row"] == "result"] or [row for row in rows if row["row"] not in ("split", "profile")]
    flat = []
    for row in results:
        flat.append({key: value for key, value in row.items() if key not in ("row", "values")} | row.get("values", {}))
    frame = pd.DataFrame(flat)
    # Plain dictionaries: pandas compares attrs, and frames have no truth value.
    frame.attrs["splits"] = [row for row in rows if row["row"] == "split"]
    return frame


def studies() -> list[str]:
    """Names of the built-in studies."""
    return _core.studies()


@dataclass(frozen=True)
class Calibration:
    """Thresholds along a pipeline, and what is known about them."""

    #: How they were found.
    method: str
    #: Names of the levels, root first.
    levels: list[str]
    #: One for each level; a document passes a level when its score is at least this.
    thresholds: np.ndarray
    #: Their utility on the documents given.
    utility: float
    #: No thresholds have a utility above this, where that is known.
    bound: float | None
    #: Whether no thresholds are better.
    proven: bool
    #: Utilities (or boxes of thresholds) looked at.
    evaluations: int
    #: Right and wrong decisions.
    outcome: dict[str, int]
    documents: int
    positives: int
    #: How many documents a negative stands for.
    negative_weight: float
    #: What the utility is, such as ``f1``.
    utility_name: str
    #: Time and evaluations by level.
    steps: list[dict[str, Any]]

    def accept(self, scores: Any) -> np.ndarray:
        """Which documents pass all levels."""
        scores = np.asarray(scores, dtype=float)
        return (scores.reshape(len(scores), -1) >= self.thresholds).all(axis=1)


def calibrate(
    scores: Any,
    truth: Any,
    *,
    by: str = "exact",
    utility: str = "f1",
    step: float | None = None,
    imbalance: str | None = None,
    seconds: float | None = 10.0,
    levels: Sequence[str] | None = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Calibration:
    """Thresholds along a pipeline of classifiers, for scores of anyone: what ``tamis calibrate`` does.

    Parameters
    ----------
    scores : array of shape (n_documents, n_levels)
        Scores in [0,1], the root in the first column.
    truth : array of shape (n_documents,)
        Whether each document belongs to the end of the pipeline.
    by : {"exact", "greedy-exact", "tsa", "rbf"}, default="exact"
        How thresholds are found.
    utility : str, default="f1"
        ``f1``, ``f(0.5)``, ``precision`` or ``recall``.
    step, imbalance, seconds :
        Step of the grid of tsa and rbf; positives to negatives where it is used, such as ``"2^-4"``; when exact stops.

    Examples
    --------
    >>> import tamis
    >>> best = tamis.calibrate([[0.9, 0.8], [0.8, 0.6], [0.9, 0.3], [0.2, 0.7]], [1, 1, 0, 0])
    >>> best.thresholds.tolist(), best.utility, best.proven
    ([0.8, 0.6], 1.0, True)
    """
    if levels is None and hasattr(scores, "columns"):
        levels = [str(name) for name in scores.columns]
    scores = np.asarray(scores, dtype=np.float64)
    scores = scores.reshape(len(scores), -1)
    truth = np.asarray(truth)
    if truth.shape != (len(scores),):
        raise ValueError(f"Found input variables with inconsistent numbers of samples: [{len(scores)}, {truth.size}]")
    if not np.isin(truth, [0, 1]).all():
        raise ValueError("truth must be 0 or 1 for each document")
    levels = [f"level{at + 1}" for at in range(scores.shape[1])] if levels is None else [str(name) for name in levels]
    about = json.loads(
        _core.calibrate(
            levels,
            np.ascontiguousarray(scores.T),
            truth.astype(bool).tolist(),
            by,
            utility,
            step,
            imbalance,
            seconds,
            _inputs.how(verbose=verbose, n_jobs=n_jobs),
        )
    )
    about["thresholds"] = np.array(about["thresholds"])
    return Calibration(**about)
