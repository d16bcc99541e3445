"""Spark on real executor processes: the counts, labels and rows of one machine."""

import json

import pytest

pytest.importorskip("pyspark")
tamis = pytest.importorskip("tamis")

import tamis.spark  # noqa: E402


@pytest.fixture(scope="module")
def frame(spark, documents):
    return spark.read.schema("id string, text string, labels array<string>").json(str(documents)).repartition(6)


def test_counts_are_those_of_one_machine(frame, documents, lines):
    whole = tamis.count(documents, all_parts=True)
    assert tamis.spark.count(frame) == whole
    assert tamis.spark.count(frame, min_df=4) == whole.at_least(4)
    options = {"stem": "english", "stop_words": "english"}
    assert tamis.spark.count(frame, **options) == tamis.count(documents, all_parts=True, **options)
    ranked = tamis.spark.rank(frame, "lr(chi2max,chi2avg)@1", top=25)
    assert ranked.equals(tamis.rank(documents, by="lr(chi2max,chi2avg)@1", top=25, all_parts=True))


def test_three_ways_to_count_give_the_same_bytes(frame, documents, lines, tmp_path):
    from conftest import Tamis

    run = Tamis()
    run("count", "--all-parts", documents, "-o", tmp_path / "whole.counts")
    tamis.spark.count(frame).save(tmp_path / "spark.counts")
    for part in range(3):
        own = tmp_path / f"{part}.jsonl"
        own.write_text("".join(json.dumps(line) + "\n" for line in lines[part::3]))
        run("count", "--all-parts", own, "-o", tmp_path / f"{part}.counts")
    run("merge", *(tmp_path / f"{part}.counts" for part in (2, 0, 1)), "-o", tmp_path / "merged.counts")
    whole = (tmp_path / "whole.counts").read_bytes()
    assert (tmp_path / "spark.counts").read_bytes() == whole
    assert (tmp_path / "merged.counts").read_bytes() == whole


def test_counts_of_other_columns(spark, lines):
    rows = [(d["text"], d["labels"][0] if d["labels"] else None) for d in lines[:200]]
    frame = spark.createDataFrame(rows, "body string, topic string")
    texts, labels = [r[0] for r in rows], [[r[1]] if r[1] else [] for r in rows]
    assert tamis.spark.count(frame, "body", "topic") == tamis.count(texts, labels)
    assert tamis.spark.count(frame, "body", None) == tamis.count(texts)
    twice = spark.createDataFrame([(r[0], [r[1], r[1]] if r[1] else None) for r in rows], "text string, labels array<string>")
    assert tamis.spark.count(twice) == tamis.count(texts, labels)


def test_classify_labels_as_one_machine(frame, lines, tmp_path):
    texts, labels = [d["text"] for d in lines], [d["labels"] for d in lines]
    model = tamis.TextCategorizer(by="chi2max@1", features=500, classifier="svm").fit(texts[:1000], labels[:1000])
    model.save(tmp_path / "a.model")
    expected = dict(zip((d["id"] for d in lines), model.predict(texts)))
    rest = frame.drop("labels")
    for given in (model, tmp_path / "a.model"):
        found = {row["id"]: row["labels"] for row in tamis.spark.classify(rest, given).select("id", "labels").collect()}
        assert found == expected
    scored = tamis.spark.classify(rest, model, output="decided", scores="scores")
    assert scored.columns == ["id", "text", "decided", "scores"]
    row = scored.where(f"id = '{lines[0]['id']}'").collect()[0]
    scores = dict(zip(model.classes_.tolist(), model.decision_function(texts[:1])[0]))
    assert row["scores"] == scores


def test_null_texts(spark):
    frame = spark.createDataFrame([("a ship",), (None,)], "text string")
    model = tamis.TextCategorizer(by="df", features="all", classifier="bayes").fit(["ship sea", "oil gas"] * 3, ["sea", "oil"] * 3)
    assert [row["labels"] for row in tamis.spark.classify(frame, model).collect()] == [["sea"], None]
    given = {rule: [row["labels"] for row in tamis.spark.classify(frame, model, on_null=rule).collect()] for rule in ("null", "empty")}
    assert given["null"] == [["sea"], None] and given["empty"][1] is not None
    for use in (lambda: tamis.spark.count(frame, labels=None), lambda: tamis.spark.classify(frame, model, on_null="error").collect()):
        with pytest.raises(Exception, match="the text is null in 1 rows"):
            use()
    assert tamis.spark.count(frame, labels=None, on_null="skip") == tamis.count(["a ship"])
    assert tamis.spark.count(frame, labels=None, on_null="empty") == tamis.count(["a ship", ""])
    with pytest.raises(ValueError, match="on_null should be one of"):
        tamis.spark.count(frame, labels=None, on_null="drop")


def test_nested_columns_expressions_probabilities_and_measures(spark, lines):
    from pyspark.sql import functions as F

    rows = [((d["text"],), d["labels"][:1]) for d in lines[:300]]
    frame = spark.createDataFrame(rows, "mail struct<body: string>, labels array<string>").repartition(3)
    texts, labels = [row[0][0] for row in rows], [row[1] for row in rows]
    whole = tamis.count(texts, labels)
    assert tamis.spark.count(frame, "mail.body") == whole == tamis.spark.count(frame, F.col("mail.body"), F.col("labels"))
    shouted = tamis.spark.count(frame, F.upper("mail.body"), lowercase=False)
    assert shouted == tamis.count([text.upper() for text in texts], labels, lowercase=False)
    model = tamis.TextCategorizer(by="df", features=300, classifier="bayes").fit(texts, [names[0] for names in labels])
    found = tamis.spark.classify(frame, model, "mail.body", output="found", probabilities="p")
    assert found.columns == ["mail", "labels", "found", "p"]
    row = found.limit(1).collect()[0]
    expected = dict(zip(model.classes_.tolist(), model.predict_proba([row["mail"]["body"]])[0]))
    assert row["p"] == pytest.approx(expected, abs=1e-12)
    judged = tamis.spark.evaluate(frame, model, "mail.body")
    local = tamis.measures.evaluate([names[0] for names in labels], y_pred=model.predict(texts))
    assert judged == pytest.approx(local)
    label = tamis.spark.udf(model)
    assert {r[0][0] for r in frame.select(label("mail.body")).collect()} == set(model.predict(texts))
    svm = tamis.TextCategorizer(by="df", features=300, classifier="svm", folds=0).fit(texts, [names[0] for names in labels])
    with pytest.raises(ValueError, match="no probabilities"):
        tamis.spark.classify(frame, svm, "mail.body", output="found", probabilities="p")
    with pytest.raises(ValueError, match="for the text"):
        tamis.spark.count(frame, "mail.subject")


def test_wrong_columns_are_named(spark):
    frame = spark.createDataFrame([(1, ["x"], 2.5)], "text long, labels array<string>, weight double")
    with pytest.raises(TypeError, match=r"column 'text' \(text\) is of type bigint; expected string"):
        tamis.spark.count(frame)
    good = frame.selectExpr("cast(text as string) text", "weight")
    with pytest.raises(ValueError, match="no column 'labels'.*the DataFrame has text, weight"):
        tamis.spark.count(good)
    with pytest.raises(TypeError, match=r"column 'weight' \(labels\) is of type double"):
        tamis.spark.count(good, labels="weight")
    with pytest.raises(ValueError, match="kind of word"):
        tamis.spark.count(good, labels=None, words="tokens")
    with pytest.raises(TypeError, match="unexpected text option 'steming'"):
        tamis.spark.count(good, labels=None, steming="english")
    with pytest.raises(tamis.DamagedFileError):
        tamis.spark.classify(good, b"no model")
    with pytest.raises(ValueError, match="no documents"):
        tamis.spark.count(good.limit(0), labels=None)


def test_a_study_is_that_of_one_machine(spark, documents):
    change = ["selectors.list=['chi2max','ig']", "sizes.at=[20,50]", "splits.how=random(0.3,2)", "corpus.min_documents=20"]
    rows = tamis.spark.study(spark, "li", documents, change=change)
    assert rows.equals(tamis.study("li", documents, change=change))
