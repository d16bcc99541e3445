"""tamis as a stage of ``pyspark.ml``: an estimator, its model, and a judge for cross-validation.

Stages stand in a ``Pipeline`` and in a ``CrossValidator``, and are saved and loaded with them; the model file lies in the folder of the stage.
"""

from __future__ import annotations

import json
from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWritable,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType

from ._spark_columns import LABELS, is_labels, with_column
from ._spark_fit import fit
from ._spark_model import _file, classify, judged
from .categorizer import TextCategorizer
from . import _core

#: The parameters, by the kind of their values; names are those of :func:`tamis.spark.fit`, spelled as Spark spells them.
TEXTS = ("by", "classifier", "effort", "prefer", "unlabelled", "threshold", "calibrate", "terms", "words", "digits", "stop_words", "stem",
         "language", "html", "taxonomy", "goal", "costs")  # fmt: skip
WHOLES = ("folds", "ngrams", "min_length", "max_length", "random_state", "parts", "rounds_at_most", "min_df", "sample", "held_out_scores")
NUMBERS = ("loss", "seconds")
SWITCHES = ("lowercase", "quantise", "verbose")


def spelled(name: str) -> str:
    """A name as Spark spells it: ``min_df`` is ``minDf``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _features(value: Any) -> str:
    """A number of features, ``all`` or ``auto``, as text."""
    return str(value) if isinstance(value, str) else str(int(value))


class _Columns(Params):
    """The columns, which estimator and model share."""

    textCol = Param(Params._dummy(), "textCol", "column of the text", TypeConverters.toString)
    labelsCol = Param(Params._dummy(), "labelsCol", "column of the labels, an array of strings or a string", TypeConverters.toString)
    predictionCol = Param(Params._dummy(), "predictionCol", "column of the labels that are given, an array of strings", TypeConverters.toString)
    scoresCol = Param(Params._dummy(), "scoresCol", "column of a map of labels to scores; none when empty", TypeConverters.toString)
    probabilityCol = Param(
        Params._dummy(), "probabilityCol", "column of a map of labels to probabilities; none when empty", TypeConverters.toString
    )

    def _set_columns(self) -> None:
        self._setDefault(textCol="text", labelsCol="labels", predictionCol="prediction", scoresCol="", probabilityCol="")

    def _columns(self) -> dict[str, Any]:
        names = ("textCol", "labelsCol", "predictionCol", "scoresCol", "probabilityCol")
        return {name: self.getOrDefault(name) for name in names}


class Categorizer(_Columns, Estimator, DefaultParamsReadable, DefaultParamsWritable):
    """:func:`tamis.spark.fit` as an estimator of ``pyspark.ml``.

    Parameters are those of :func:`tamis.spark.fit`, spelled as Spark spells them: ``minDf``, ``roundsAtMost``, ``stopWords``; what is not set is as
    there. Columns are ``textCol``, ``labelsCol`` and ``predictionCol``, and where wanted ``scoresCol`` and ``probabilityCol``.

    ::

        categorizer = tamis.spark.Categorizer(textCol="body", labelsCol="topics", by="chi2max@1", features=5000, classifier="svm")
        grid = ParamGridBuilder().addGrid(categorizer.classifier, ["svm(c=0.3)", "svm", "bayes"]).build()
        judge = tamis.spark.Judge(labelsCol="topics", measure="F1@micro")
        best = CrossValidator(estimator=categorizer, estimatorParamMaps=grid, evaluator=judge).fit(mail).bestModel
    """

    features = Param(Params._dummy(), "features", "number of features, all or auto", _features)

    def __init__(self, **given: Any):
        super().__init__()
        self._set_columns()
        self.setParams(**given)

    def setParams(self, **given: Any) -> Categorizer:
        """Sets parameters by their names."""
        for name, value in given.items():
            if not self.hasParam(name):
                known = ", ".join(sorted(param.name for param in self.params))
                raise TypeError(f"unexpected parameter {name!r}; known: {known}")
            if value is not None:
                self._set(**{name: value})
        return self

    def _fit(self, dataset: DataFrame) -> CategorizerModel:
        given = {name: self.getOrDefault(spelled(name)) for name in OPTIONS if self.isDefined(spelled(name))}
        if "features" in given and given["features"] not in ("all", "auto"):
            given["features"] = int(given["features"])
        columns = self._columns()
        fitted = fit(dataset, columns["textCol"], columns["labelsCol"], **given)
        model = CategorizerModel(fitted, **columns)
        model._resetUid(self.uid)
        return model


OPTIONS = (*TEXTS, *WHOLES, *NUMBERS, *SWITCHES, "features")
for _names, _converter in (
    (TEXTS, TypeConverters.toString),
    (WHOLES, TypeConverters.toInt),
    (NUMBERS, TypeConverters.toFloat),
    (SWITCHES, TypeConverters.toBoolean),
):
    for _name in _names:
        setattr(Categorizer, spelled(_name), Param(Params._dummy(), spelled(_name), f"{_name} of tamis.spark.fit", _converter))


class CategorizerModel(_Columns, Model, MLReadable, MLWritable):
    """A fitted :class:`Categorizer`: it adds a column of labels. ``categorizer`` is the :class:`tamis.TextCategorizer`."""

    def __init__(self, categorizer: TextCategorizer | bytes | None = None, **columns: Any):
        super().__init__()
        self._set_columns()
        self._set(**columns)
        self._bytes = b"" if categorizer is None else _file(categorizer)
        self._categorizer = categorizer if isinstance(categorizer, TextCategorizer) else None

    @property
    def categorizer(self) -> TextCategorizer:
        """The model on this machine: it explains, is saved as a model file, and so on."""
        if self._categorizer is None:
            self._categorizer = TextCategorizer._of(_core.Model.from_bytes(self._bytes))
        return self._categorizer

    def _transform(self, dataset: DataFrame) -> DataFrame:
        columns = self._columns()
        return classify(
            dataset,
            self._bytes,
            columns["textCol"],
            output=columns["predictionCol"],
            scores=columns["scoresCol"] or None,
            probabilities=columns["probabilityCol"] or None,
        )

    def write(self) -> MLWriter:
        """Writes the stage, with the model file in its folder."""
        return _Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        """Reads a stage."""
        return _Reader(cls)


class _Writer(MLWriter):
    def __init__(self, instance: CategorizerModel):
        super().__init__()
        self.instance = instance

    def saveImpl(self, path: str) -> None:
        session = self.sparkSession
        DefaultParamsWriter.saveMetadata(self.instance, path, session)
        # Spark itself writes the file, wherever the folder is.
        session.createDataFrame([(bytearray(self.instance._bytes),)], "model binary").coalesce(1).write.parquet(path + "/model")


class _Reader(MLReader):
    def __init__(self, kind: type[CategorizerModel]):
        super().__init__()
        self.kind = kind

    def load(self, path: str) -> CategorizerModel:
        session = self.sparkSession
        metadata = DefaultParamsReader.loadMetadata(path, session)
        model = self.kind(bytes(session.read.parquet(path + "/model").toArrow().column(0)[0].as_py()))
        model._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(model, metadata)
        return model


class Judge(Evaluator, DefaultParamsReadable, DefaultParamsWritable):
    """A measure of given labels for ``CrossValidator``: any of :mod:`tamis.measures` that decided labels have, such as ``F1@micro``."""

    measure = Param(Params._dummy(), "measure", "name of the measure, such as F1@micro", TypeConverters.toString)
    labelsCol = Param(Params._dummy(), "labelsCol", "column of the true labels", TypeConverters.toString)
    predictionCol = Param(Params._dummy(), "predictionCol", "column of the given labels", TypeConverters.toString)

    def __init__(self, *, measure: str = "F1@micro", labelsCol: str = "labels", predictionCol: str = "prediction"):
        super().__init__()
        self._set(measure=measure, labelsCol=labelsCol, predictionCol=predictionCol)

    def _evaluate(self, dataset: DataFrame) -> float:
        name = self.getOrDefault(self.measure)
        wide = with_column(dataset, LABELS, self.getOrDefault(self.labelsCol), "labels", "array<string> or string", is_labels)
        if isinstance(wide.schema[LABELS].dataType, StringType):
            wide = wide.withColumn(LABELS, F.when(F.col(LABELS).isNull(), F.array()).otherwise(F.array(LABELS)))
        found = judged(wide, LABELS, self.getOrDefault(self.predictionCol), (), [name])
        value = next(iter(found.values()))
        if value is None:
            raise ValueError(f"{name} has no value here: {json.dumps(found)}")
        return float(value)

    def isLargerBetter(self) -> bool:
        """Whether more is better: not for losses."""
        return not self.getOrDefault(self.measure).lower().startswith(("hamming", "loss"))
