"""The Rust core. Its functions take arrays and options as JSON; use the estimators and functions of `tamis` instead."""

from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

__version__: str

class MalformedError(ValueError): ...
class UnknownNameError(ValueError): ...
class ExpressionError(ValueError): ...
class InvalidOptionError(ValueError): ...
class DataError(ValueError): ...
class DamagedFileError(ValueError): ...

How = tuple[bool, int]
Matrix = tuple[NDArray[Any], NDArray[Any], NDArray[Any], int]
Sets = tuple[NDArray[np.int64], NDArray[np.int32], int]
Budget = tuple[float | None, int | None]
Labelled = tuple[NDArray[np.float64] | None, NDArray[np.int64], NDArray[np.int32], NDArray[np.bool_]]
Pairs = list[tuple[str, str | None]]
Path = str | PathLike[str]

def synth(shape: str, documents: int, seed: int) -> tuple[list[str], list[list[str]], list[bool]]: ...
def count_texts(
    texts: list[str], text: str, vocabulary: list[str] | None, memory: int, how: How
) -> tuple[list[str], NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]]: ...
def rank_matrix(
    matrix: Matrix, labels: Sets, by: str, cut: int | None, size: int | None, budget: Budget, how: How
) -> tuple[NDArray[np.int64], NDArray[np.float64], str | None]: ...
def addresses(matrix: Matrix) -> tuple[int, int]: ...

class Counts:
    documents: int
    tokens: int
    terms: list[str]
    labels: list[str]
    @staticmethod
    def of_texts(texts: list[str], labels: Sets, names: list[str], text: str, memory: int, how: How) -> Counts: ...
    @staticmethod
    def of_column(
        offsets: NDArray[np.int64],
        bytes: NDArray[np.uint8],
        labels: Sets,
        names: list[str],
        text: str,
        memory: int,
        how: How,
    ) -> Counts: ...
    @staticmethod
    def of_corpus(paths: list[str], reading: str, text: str, all_parts: bool, memory: int, how: How) -> Counts: ...
    @staticmethod
    def from_parts(
        terms: list[str],
        labels: list[str],
        documents: int,
        tokens: int,
        label_documents: list[int],
        df: NDArray[np.int64],
        occurrences: NDArray[np.int64],
        meetings: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]],
        text: str,
    ) -> Counts: ...
    @staticmethod
    def is_one(path: Path) -> bool: ...
    @staticmethod
    def load(path: Path) -> Counts: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Counts: ...
    def parts(self) -> dict[str, Any]: ...
    def save(self, path: Path) -> None: ...
    def merge(self, other: Counts) -> Counts: ...
    def at_least(self, documents: int) -> Counts: ...
    def equals(self, other: Counts) -> bool: ...
    def rank(self, by: str, cut: int | None, top: int | None, budget: Budget, how: How) -> dict[str, Any]: ...
    def rank_per_label(self, by: str, cut: int | None, top: int | None, how: How) -> list[dict[str, Any]]: ...

class Model:
    labels: list[str]
    features: list[str]
    about: str
    @staticmethod
    def fit_texts(
        texts: list[str], labels: Sets, names: list[str], text: str, fitting: str, how: How
    ) -> tuple[Model, str]: ...
    @staticmethod
    def fit_matrix(
        matrix: Matrix,
        lengths: NDArray[np.int64] | None,
        labels: Sets,
        classifier: str,
        threshold: str | None,
        how: How,
    ) -> Model: ...
    @staticmethod
    def load(path: Path) -> Model: ...
    @staticmethod
    def from_bytes(bytes: bytes) -> Model: ...
    def to_bytes(self) -> bytes: ...
    def save(self, path: Path) -> None: ...
    def texts(self, texts: list[str], absent: float | None, how: How) -> Labelled: ...
    def column(
        self, offsets: NDArray[np.int64], bytes: NDArray[np.uint8], absent: float | None, how: How
    ) -> Labelled: ...
    def matrix(
        self, matrix: Matrix, lengths: NDArray[np.int64] | None, absent: float | None, how: How
    ) -> Labelled: ...
    def probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64] | None: ...
    def explain(self, text: str, label: str | None, top: int) -> str: ...
    def top_words(self, label: str, top: int) -> list[tuple[str, float]]: ...
    def path(self, label: str) -> list[str] | None: ...

class Thresholds:
    values: list[float] | None
    n: int | None
    @staticmethod
    def tune(
        policy: str,
        scores: NDArray[np.float64],
        folds: NDArray[np.int64],
        labels: Sets,
        absent: float | None,
        how: How,
    ) -> tuple[Thresholds, str]: ...
    def decide(
        self, scores: NDArray[np.float64], absent: float | None
    ) -> tuple[NDArray[np.int64], NDArray[np.int32]]: ...
    @staticmethod
    def from_json(text: str) -> Thresholds: ...
    def to_json(self) -> str: ...

def stratified_folds(labels: Sets, folds: int, seed: int) -> NDArray[np.int64]: ...

class Nodes:
    names: list[str]
    parents: list[int]
    def __init__(self, pairs: Pairs, labels: Sets, names: list[str]) -> None: ...
    def training(
        self, rows: NDArray[np.int64], negatives: str, per_node: int, seed: int
    ) -> tuple[list[tuple[int, NDArray[np.int64], NDArray[np.bool_]]], list[int]]: ...
    def tune(
        self,
        scores: NDArray[np.float64],
        margins: bool,
        folds: NDArray[np.int64],
        states: list[int],
        method: str,
        hierarchy: str,
        how: How,
    ) -> PipelineFilter: ...

class PipelineFilter:
    tuned: str
    def decide(
        self, scores: NDArray[np.float64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]: ...
    @staticmethod
    def from_json(text: str) -> PipelineFilter: ...

def read_taxonomy(path: Path) -> Pairs: ...
def calibrate(
    levels: list[str],
    scores: NDArray[np.float64],
    truth: list[bool],
    by: str,
    utility: str,
    step: float | None,
    imbalance: str | None,
    seconds: float | None,
    how: How,
) -> str: ...
def evaluate(
    names: list[str],
    truth: Sets,
    scores: NDArray[np.float64] | None,
    decided: Sets | None,
    replicates: int,
    seed: int,
) -> str: ...
def per_document(
    name: str, truth: Sets, scores: NDArray[np.float64] | None, decided: Sets | None
) -> NDArray[np.float64]: ...
def sign_test(wins: int, losses: int) -> str: ...
def paired_test(
    name: str, a: NDArray[np.float64], b: NDArray[np.float64], replicates: int, level: float, seed: int
) -> str: ...
def holm(p: list[float]) -> list[float]: ...

class Study:
    units: int
    @staticmethod
    def on_corpus(
        plan: str, changes: list[str], corpus: list[str], reading: str, seed: int | None, how: How
    ) -> Study: ...
    @staticmethod
    def on_texts(
        plan: str, changes: list[str], texts: list[str], labels: Sets, names: list[str], seed: int | None, how: How
    ) -> Study: ...
    def run(self, folder: Path | None, how: How) -> str: ...
    def run_unit(self, unit: int, how: How) -> str: ...

def study_report(folder: Path) -> None: ...
def studies() -> list[str]: ...
def registry(what: str) -> tuple[list[str], list[list[str]]]: ...
