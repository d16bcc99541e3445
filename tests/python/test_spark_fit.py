"""Training on Spark executors: as good as one machine, the same bytes whoever did the work, and what goes wrong is named."""

import json
import os

import numpy as np
import pytest

pytest.importorskip("pyspark")
tamis = pytest.importorskip("tamis")

import tamis.spark  # noqa: E402
from spark_cluster import bytes_of, frame_of  # noqa: E402
from tamis import _spark_rounds  # noqa: E402

DOCUMENTS, TRAINING = 1600, 800
#: Several trainings each, which take minutes.
in_rounds = pytest.mark.skipif("TAMIS_SPARK_ROUNDS" not in os.environ, reason="takes minutes: set TAMIS_SPARK_ROUNDS to run it")
# Each round is a job of Spark: a gap of 1 % takes a few, the usual one about a hundred.
PINNED = {"by": "chi2max@1", "features": 400, "classifier": "svm(gap=0.01)"}


@pytest.fixture(scope="module")
def frame(spark, lines):
    return frame_of(spark, lines[:TRAINING]).repartition(5).cache()


def micro_f1(model, lines):
    found = model.evaluate([d["text"] for d in lines], [d["labels"] for d in lines], ["F1@micro"])
    return found["F1@micro"]


def scores(model, lines):
    return model.decision_function([d["text"] for d in lines])


@in_rounds
def test_as_good_as_one_machine(frame, lines):
    train, test = lines[:TRAINING], lines[TRAINING:DOCUMENTS]
    texts, labels = [d["text"] for d in train], [d["labels"] for d in train]
    for classifier in ("svm(gap=0.01)", "svm(c=0.5,loss=hinge,vectors=tfidf*rf,gap=0.02)", "logistic(form=ovr,gap=0.01)"):
        options = {**PINNED, "classifier": classifier, "folds": 2}
        ours = tamis.spark.fit(frame, parts=3, **options)
        alone = tamis.TextCategorizer(**options).fit(texts, labels)
        assert ours.features_ == alone.features_, "selection has the same counts"
        assert ours.classes_.tolist() == alone.classes_.tolist()
        # Both are solved to the same gap: what they score is the same to about its root.
        assert np.abs(scores(ours, test) - scores(alone, test)).mean() < 0.1
        assert ours.rounds_["open"].iloc[-1] == 0 and ours.rounds_["gap"].iloc[-1] <= 0.02
        # Folds are drawn otherwise, so thresholds are others, and as good.
        a, b = micro_f1(ours, test), micro_f1(alone, test)
        assert a > b - 0.02, (classifier, a, b)
        assert ours.quality_["RPrec"] == pytest.approx(alone.quality_["RPrec"], abs=0.02)
        assert set(ours.thresholds_) == set(alone.thresholds_)
    assert {"counting", "packing", "rounds", "scoring"} <= set(ours.seconds_)


def test_bayes_is_the_model_of_one_machine_to_the_byte(frame, lines, tmp_path):
    texts, labels = [d["text"] for d in lines[:TRAINING]], [d["labels"] for d in lines[:TRAINING]]
    options = {"by": "ig@1", "features": 300, "classifier": "bayes", "folds": 0}
    alone = tamis.TextCategorizer(**options).fit(texts, labels)
    ours = tamis.spark.fit(frame, **options)
    assert bytes_of(ours) == bytes_of(alone)
    ours.save(tmp_path / "a.model")
    assert tamis.TextCategorizer.load(tmp_path / "a.model").predict(texts[:20]) == alone.predict(texts[:20])


def test_the_same_bytes_whoever_did_what(spark, frame, lines):
    options = {**PINNED, "parts": 3, "folds": 2}
    once = bytes_of(tamis.spark.fit(frame, **options))
    # In other partitions and another order, the documents are the same.
    other = frame_of(spark, lines[:TRAINING][::-1]).repartition(7)
    assert bytes_of(tamis.spark.fit(other, **options)) == once


@in_rounds
def test_a_search_runs_on_a_sample_and_is_trained_on_all(frame, lines):
    model = tamis.spark.fit(frame, classifier="svm(gap=0.01)", effort="quick", sample=500, parts=2, folds=0)
    assert any("sample of" in reason for reason in model.why_) and len(model.trials_) > 1
    about = json.loads(model._model.about)["summary"]
    assert about["documents"] == TRAINING
    assert micro_f1(model, lines[TRAINING:]) > 0.5
    again = tamis.spark.fit(frame.repartition(3), classifier="svm(gap=0.01)", effort="quick", sample=500, parts=2, folds=0)
    assert bytes_of(again) == bytes_of(model)


def test_a_stage_of_spark_ml(spark, frame, lines, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import SQLTransformer
    from pyspark.ml.tuning import CrossValidator, CrossValidatorModel, ParamGridBuilder

    test = frame_of(spark, lines[TRAINING:TRAINING + 200])
    clean = SQLTransformer(statement="SELECT lower(text) AS body, labels FROM __THIS__")
    categorizer = tamis.spark.Categorizer(textCol="body", by="df", features=300, classifier="bayes", folds=0, scoresCol="scores")
    fitted = Pipeline(stages=[clean, categorizer]).fit(frame)
    found = fitted.transform(test)
    assert found.columns == ["body", "labels", "prediction", "scores"]
    expected = fitted.stages[1].categorizer.predict([d["text"].lower() for d in lines[TRAINING:TRAINING + 200]])
    assert [row["prediction"] for row in found.select("prediction").collect()] == expected
    fitted.write().overwrite().save(str(tmp_path / "pipeline"))
    loaded = PipelineModel.load(str(tmp_path / "pipeline"))
    assert loaded.stages[1]._bytes == fitted.stages[1]._bytes
    assert loaded.transform(test).select("prediction").collect() == found.select("prediction").collect()

    grid = ParamGridBuilder().addGrid(categorizer.features, [5, 300]).build()
    judge = tamis.spark.Judge(measure="F1@micro")
    small = clean.transform(frame).limit(400).cache()
    tuned = CrossValidator(estimator=categorizer, estimatorParamMaps=grid, evaluator=judge, numFolds=2, seed=1).fit(small)
    assert tuned.avgMetrics[1] > tuned.avgMetrics[0] > 0
    assert len(tuned.bestModel.categorizer.features_) == 300
    tuned.write().overwrite().save(str(tmp_path / "tuned"))
    again = CrossValidatorModel.load(str(tmp_path / "tuned"))
    assert again.bestModel._bytes == tuned.bestModel._bytes and again.avgMetrics == tuned.avgMetrics
    categorizer.write().overwrite().save(str(tmp_path / "estimator"))
    assert tamis.spark.Categorizer.load(str(tmp_path / "estimator")).getOrDefault("features") == "300"
    with pytest.raises(TypeError, match="unexpected parameter 'featurs'"):
        tamis.spark.Categorizer(featurs=3)


def hierarchical_f1(model, lines):
    found = model.evaluate([d["text"] for d in lines], [d["labels"] for d in lines], ["hF1"], taxonomy="names")
    return found["hF1"]


def test_along_a_taxonomy_with_trees(spark, frame, lines):
    train, test = lines[:TRAINING], lines[TRAINING:DOCUMENTS]
    options = {"by": "chi2max@1", "features": 400, "classifier": "tree(svm(gap=0.01),by=flat+taxonomy)", "taxonomy": "names"}
    options |= {"goal": "hf1", "folds": 2}
    ours = tamis.spark.fit(frame, parts=2, **options)
    alone = tamis.TextCategorizer(**options).fit([d["text"] for d in train], [d["labels"] for d in train])
    assert ours.classes_.tolist() == alone.classes_.tolist()
    a, b = hierarchical_f1(ours, test), hierarchical_f1(alone, test)
    assert a > b - 0.03 and a > 0.6, (a, b)
    # Labels with their ancestors are the same documents, answered in that form.
    def closed(labels):
        return sorted({"/".join(label.split("/")[:n]) for label in labels for n in range(1, label.count("/") + 2)})

    wide = frame_of(spark, [{**d, "labels": closed(d["labels"])} for d in train[::-1]]).repartition(3)
    full = tamis.spark.fit(wide, parts=2, **options)
    texts = [d["text"] for d in test[:100]]
    assert [sorted(labels) for labels in full.predict(texts)] == [closed(labels) for labels in ours.predict(texts)]
    # Labels side by side, with thresholds of their own and the taxonomy beside them.
    flat = tamis.spark.fit(frame, parts=2, **{**options, "goal": None, "threshold": "scut", "classifier": "svm(gap=0.01)", "folds": 2})
    assert flat.deciding_.startswith("scut") and hierarchical_f1(flat, test) > 0.6


@in_rounds
def test_a_search_along_a_taxonomy(frame, lines):
    model = tamis.spark.fit(frame, taxonomy="names", goal="hf1", effort="quick", sample=500, parts=2, rounds_at_most=60)
    assert any("sample of" in reason for reason in model.why_)
    assert hierarchical_f1(model, lines[TRAINING:]) > 0.6


def test_parts_without_documents_and_labels_in_one_part(spark):
    rows = [("ship sea port", ["sea"]), ("oil gas", ["oil"]), ("ship crew", ["sea"]), ("gas price", ["oil"])]
    rows += [("ship oil", ["sea", "oil"]), ("chess", ["rare"])]
    frame = spark.createDataFrame(rows, "text string, labels array<string>").repartition(16)
    # Eight parts for six documents, which lie in sixteen partitions: some have none, and every label is in a few of them.
    options = {"by": "df", "features": "all", "classifier": "svm(gap=0.01)", "folds": 0}
    model = tamis.spark.fit(frame, parts=8, **options)
    alone = tamis.TextCategorizer(**options).fit([r[0] for r in rows], [r[1] for r in rows])
    texts = [r[0] for r in rows]
    assert model.predict(texts) == alone.predict(texts)
    assert np.abs(model.decision_function(texts) - alone.decision_function(texts)).max() < 0.3


def test_one_label_each_and_two_labels(spark, lines):
    rows = [(d["text"], d["labels"][0]) for d in lines[:600] if d["labels"]]
    two = sorted({label for _, label in rows})[:2]
    few = [row for row in rows if row[1] in two]
    for chosen in (rows, few):
        frame = spark.createDataFrame(chosen, "body string, topic string")
        model = tamis.spark.fit(frame, "body", "topic", parts=2, by="df", features=200, classifier="svm(gap=0.01)", folds=2)
        assert model.deciding_ == "rcut(1)"
        texts = [text for text, _ in chosen]
        right = np.mean([a == b for a, (_, b) in zip(model.predict(texts), chosen)])
        assert right > 0.8
        # One of the two labels has two documents: no fold can be held out there, so there are no probabilities.
        if chosen is rows:
            assert np.allclose(model.predict_proba(texts[:5]).sum(axis=1), 1)
            # Spark's planner must not take longer for each round: it was 1.6 times as long as for the one before.
            assert len(model.rounds_) > 10


@in_rounds
def test_what_is_wrong_is_named(spark, monkeypatch):
    good = spark.createDataFrame([("ship", ["sea"]), ("oil", ["oil"]), (None, ["oil"])], "text string, labels array<string>")
    with pytest.raises(Exception, match="the text is null in 1 rows"):
        tamis.spark.fit(good, parts=1, folds=0, **PINNED)
    model = tamis.spark.fit(good, parts=1, folds=0, on_null="skip", by="df", features="all", classifier="svm(gap=0.01)")
    assert json.loads(model._model.about)["summary"]["documents"] == 2
    numbers = good.selectExpr("1 as text", "labels")
    with pytest.raises(TypeError, match=r"column 'text' \(text\) is of type int; expected string"):
        tamis.spark.fit(numbers, **PINNED)
    wrong = {
        "svm\\(multi=ovo\\).*multi=ovr": {"classifier": "svm(multi=ovo)"},
        "only svm, logistic, bayes and trees": {"classifier": "knn"},
        "form=ovr": {"classifier": "logistic(form=multinomial)"},
        "set on one machine": {"taxonomy": "names", "answers": "one"},
        "are set on one machine": {"taxonomy": "names", "threshold": "tsa"},
        "two folds or more": {"taxonomy": "names"},
        "labels are not in the taxonomy: oil": {"taxonomy": {"sea": None}},
        "folds=1": {"folds": 1},
        "rounds_at_most should be a whole number": {"rounds_at_most": 0},
    }
    for reason, options in wrong.items():
        with pytest.raises(ValueError, match=reason):
            tamis.spark.fit(good, **{**PINNED, "by": "df", "features": "all", "on_null": "skip", "folds": 0, **options})
    with pytest.raises(ValueError, match="no documents to learn from"):
        tamis.spark.fit(good.limit(0), **PINNED)
    same = good.selectExpr("text", "array('oil') as labels")
    with pytest.raises(ValueError, match=r"the same labels \(oil\)"):
        tamis.spark.fit(same, on_null="skip", folds=0, **PINNED)
    with pytest.raises(RuntimeError, match=r"the executor .* has tamis .*, and the driver 0\.0\.0"):
        _spark_rounds.check_executors(spark, "0.0.0")


def test_an_executor_without_the_package_is_named(spark):
    with pytest.raises(RuntimeError, match=r"tamis_elsewhere is not installed on the executor \S+ \(.*python"):
        _spark_rounds.check_executors(spark, "1", "tamis_elsewhere")
