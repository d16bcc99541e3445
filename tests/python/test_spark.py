"""Spark on real executor processes: the counts, labels and rows of one machine."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

pytest.importorskip("pyspark")
tamis = pytest.importorskip("tamis")

import tamis.spark  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

DOCUMENTS = 3000


def builder(master):
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    return (
        SparkSession.builder.master(master)
        .config("spark.executor.memory", "1024m")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", 4)
        .config("spark.default.parallelism", 4)
        .config("spark.ui.showConsoleProgress", False)
    )


@pytest.fixture(scope="module")
def documents(tmp_path_factory):
    from conftest import Tamis

    path = tmp_path_factory.mktemp("spark") / "documents.jsonl"
    Tamis()("synth", path, "-n", DOCUMENTS)
    return path


@pytest.fixture(scope="module")
def spark():
    session = builder("local-cluster[2,1,1024]").config("spark.ui.enabled", False).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def frame(spark, documents):
    return spark.read.schema("id string, text string, labels array<string>").json(str(documents)).repartition(6)


@pytest.fixture(scope="module")
def lines(documents):
    return [json.loads(line) for line in open(documents, encoding="utf-8")]


def test_counts_are_those_of_one_machine(frame, documents, lines):
    whole = tamis.count(documents, all_parts=True)
    assert tamis.spark.count(frame) == whole
    assert tamis.spark.count(frame, min_df=4) == whole.at_least(4)
    options = {"stem": "english", "stop_words": "english"}
    assert tamis.spark.count(frame, **options) == tamis.count(documents, all_parts=True, **options)
    ranked = tamis.spark.rank(frame, "lr(chi2max,chi2avg)@1", top=25)
    assert ranked.equals(tamis.rank(documents, by="lr(chi2max,chi2avg)@1", top=25, all_parts=True))


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


# A cluster of processes, one of which dies


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Cluster:
    """A standalone master and two workers on loopback, each a process of its own group."""

    def __init__(self, folder):
        import pyspark

        home = os.path.dirname(pyspark.__file__)
        self.environment = {**os.environ, "SPARK_HOME": home, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
        self.program = os.path.join(home, "bin", "spark-class")
        self.folder, self.processes = folder, []
        self.port, self.page = free_port(), free_port()
        self.url = f"spark://127.0.0.1:{self.port}"
        names = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self.page)]
        self.start("org.apache.spark.deploy.master.Master", *names)
        self.wait(0)
        for number in (1, 2):
            work = ["--host", "127.0.0.1", "--cores", "1", "--memory", "1500m", "--webui-port", "0"]
            self.start("org.apache.spark.deploy.worker.Worker", *work, "--work-dir", str(folder / f"w{number}"), self.url)
        self.wait(2)

    def start(self, *arguments):
        log = open(self.folder / f"{len(self.processes)}.log", "w")
        self.processes.append(
            subprocess.Popen(
                [self.program, *arguments], env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        )

    def wait(self, workers):
        """Until the master answers and has so many workers."""
        for _ in range(240):
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.page}/json/", timeout=5) as page:
                    if json.load(page)["aliveworkers"] >= workers:
                        return
            except OSError:
                pass
            time.sleep(0.5)
        raise AssertionError("the cluster did not start: " + (self.folder / "0.log").read_text()[-2000:])

    def kill(self, number):
        """A process with all its children, as when a machine goes down."""
        try:
            os.killpg(self.processes[number].pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.processes[number].wait()

    def end(self):
        for number in range(len(self.processes)):
            self.kill(number)


def test_a_worker_that_dies_changes_nothing(spark, documents, tmp_path):
    # Only one session can be in a process: the shared one makes room.
    spark.stop()
    cluster = Cluster(tmp_path)
    try:
        session = builder(cluster.url).config("spark.ui.enabled", False).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        tracker = session.sparkContext.statusTracker()
        killed = []

        def kill_in_the_middle():
            while not killed:
                for stage in tracker.getActiveStageIds():
                    info = tracker.getStageInfo(stage)
                    if info and info.numTasks >= 20 and 3 <= info.numCompletedTasks < info.numTasks - 3:
                        cluster.kill(1)
                        killed.append((info.numCompletedTasks, info.numTasks))
                        return
                time.sleep(0.05)

        frame = session.read.schema("text string, labels array<string>").json(str(documents)).repartition(24)
        killer = threading.Thread(target=kill_in_the_middle, daemon=True)
        killer.start()
        counts = tamis.spark.count(frame)
        killer.join(10)
        session.stop()
    finally:
        cluster.end()
    assert killed, "the job was over before a worker could be killed"
    assert counts == tamis.count(documents, all_parts=True)
