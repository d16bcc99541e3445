"""Counting and training on a Spark cluster of two executor processes, beside one machine and beside pyspark.ml.

    cargo xtask bench spark [DOCUMENTS] [COMMA-SEPARATED NUMBERS OF PARTS] [DOCUMENTS FOR PYSPARK.ML] [MINUTES]

One million documents of RCV1's shape when not given; a tenth is held out. Training is to a gap of 1 % of the value of each of 103 labels;
pyspark.ml trains a few labels on some of the documents, one against the rest as its OneVsRest does, and the rest is extrapolated.
A training that would likely take longer than the minutes left (15 in all when not given) is left out, and that is said.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

import tamis
import tamis.spark
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

DOCUMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
PARTS = [int(n) for n in sys.argv[2].split(",")] if len(sys.argv) > 2 else [2, 4, 1]
PEER = int(sys.argv[3]) if len(sys.argv) > 3 else min(DOCUMENTS, 20_000)
MINUTES = float(sys.argv[4]) if len(sys.argv) > 4 else 15.0
BEGAN = time.monotonic()

#: Labels that the peer trains: a large one, a middling one and a small one.
PEER_LABELS = 3

CHOICES = {"by": "chi2max@1", "features": 20_000, "classifier": "svm(gap=0.01)", "folds": 0}


def say(what, value, unit, note="", side="ours"):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": unit, "note": note}), flush=True)
    print(f"{what}: {value:.4g} {unit} {note}", file=sys.stderr, flush=True)


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def is_time_for(what, seconds):
    """Whether work of so many seconds can be done in the minutes left; if not, it is said."""
    left = 60 * MINUTES - (time.monotonic() - BEGAN)
    if seconds > left:
        print(f"left out: {what}, for about {seconds:.0f} s of work there are {max(left, 0):.0f} s left", file=sys.stderr, flush=True)
    return seconds <= left


def stages(session):
    """What Spark itself says about its stages."""
    url = session.sparkContext.uiWebUrl
    application = session.sparkContext.applicationId
    with urllib.request.urlopen(f"{url}/api/v1/applications/{application}/stages?status=complete") as page:
        return json.load(page)


def program(*arguments):
    done = subprocess.run([os.environ["TAMIS_BIN"], "-q", *map(str, arguments)], check=True, capture_output=True, text=True)
    return done.stdout


def counting(session, frame, corpus, folder):
    seconds, counts = timed(lambda: tamis.spark.count(frame))
    say("counted on two executors", seconds, "s", repr(counts))
    for stage in stages(session):
        name = f"stage {stage['stageId']}: {stage['name'].split(' at ')[0]}"
        say(f"{name}, run time of {stage['numTasks']} tasks", stage["executorRunTime"] / 1000, "s")
        if stage["shuffleWriteBytes"]:
            say(f"{name}, shuffled", stage["shuffleWriteBytes"] / 1e6, "MB", f"{stage['shuffleWriteRecords']:,} rows")
    file = folder / "corpus.counts"
    seconds, _ = timed(lambda: program("count", "--all-parts", corpus, "-o", file))
    say("counted on two executors", seconds, "s", "tamis count, one process of two threads", "peer")
    say("the counts are equal", float(counts == tamis.Counts.load(file)), "yes=1")


def micro_f1(model, test):
    return json.loads(program("evaluate", model, test, "--all-parts", "--format", "json"))["F1@micro"]


def training(train, corpus, test, folder):
    """Trains in so many parts each, and on one machine."""
    reached, took = {}, 0.0
    for parts in PARTS:
        # Each executor has one core, so that one part alone takes about twice as long as two.
        if not is_time_for(f"training in {parts} parts", took * (2 if parts == 1 else 1)):
            continue
        seconds, model = timed(lambda: tamis.spark.fit(train, parts=parts, verbose=True, **CHOICES))
        name = f"trained in {parts} parts"
        say(name, seconds, "s", ", ".join(f"{phase} {s:.1f} s" for phase, s in model.seconds_.items()))
        rounds = model.rounds_
        say(f"{name}, rounds", len(rounds), "", f"to a gap of {rounds['gap'].iloc[-1]:.4f}")
        note = f"{rounds['sent'].iloc[0] / 1e6:.1f} in the first, {rounds['sent'].max() / 1e6:.1f} at most; "
        note += f"{rounds['received'].mean() / 1e6:.1f} MB back from all"
        say(f"{name}, sent to each part in a round", rounds["sent"].mean() / 1e6, "MB", note)
        say(f"{name}, a round", rounds["seconds"].mean(), "s")
        took = max(took, seconds)
        for row in rounds.itertuples():
            note = f"gap {row.gap:.4f}, {row.open} of {row.problems} labels open, {row.sent / 1e6:.2f} MB sent to each part, {row.received / 1e6:.2f} MB back"
            say(f"{name}, round {row.round:02}", row.seconds, "s", note)
        file = folder / f"spark{parts}.model"
        model.save(file)
        reached[parts] = (seconds, micro_f1(file, test))
        say(f"{name}, micro-F1 on held-out documents", reached[parts][1], "")
    file = folder / "alone.model"
    options = ["--by", CHOICES["by"], "--features", CHOICES["features"], "--classifier", CHOICES["classifier"]]
    options += ["--folds", 0, "--no-examples"]
    seconds, _ = timed(lambda: program("fit", corpus, "-o", file, *options))
    alone = micro_f1(file, test)
    for parts in reached:
        say(f"trained in {parts} parts", seconds, "s", "tamis fit, one process of two threads", "peer")
        say(f"trained in {parts} parts, micro-F1 on held-out documents", alone, "", "tamis fit", "peer")
    return reached


def peer(train, documents, reached):
    """pyspark.ml on some of the documents and labels; what all would take, it is said, is not measured."""
    from pyspark.ml import Pipeline
    from pyspark.ml.classification import LinearSVC, LogisticRegression
    from pyspark.ml.feature import IDF, CountVectorizer, Tokenizer

    few = train.limit(PEER).repartition(4).cache()
    n = few.count()
    sizes = few.select(F.explode("labels").alias("label")).groupBy("label").count().orderBy(F.desc("count")).collect()
    labels = [sizes[at]["label"] for at in (0, len(sizes) // 4, len(sizes) // 2)][:PEER_LABELS]
    steps = [Tokenizer(inputCol="text", outputCol="words"), CountVectorizer(inputCol="words", outputCol="counts", vocabSize=20_000, minDF=2)]
    steps.append(IDF(inputCol="counts", outputCol="features"))
    seconds, vectors = timed(lambda: Pipeline(stages=steps).fit(few).transform(few).select("features", "labels").cache())
    made, _ = timed(vectors.count)
    note = f"on {n:,} documents; {{}} labels took {{:.1f}} s; times documents and {len(sizes)} labels (extrapolated, not measured)"
    for name, machine in (("LinearSVC", LinearSVC(regParam=1 / n)), ("LogisticRegression", LogisticRegression(regParam=1 / n))):
        took, trained = 0.0, 0
        for label in labels:
            if trained and not is_time_for(f"{name} of {label}", took / trained):
                break
            one = vectors.withColumn("label", F.array_contains("labels", label).cast("double"))
            took, trained = took + timed(lambda: machine.fit(one))[0], trained + 1
        whole = (seconds + made + took / trained * len(sizes)) * documents / n
        for parts, (ours, _) in reached.items():
            say(f"trained in {parts} parts, against {name}", ours, "s")
            say(f"trained in {parts} parts, against {name}", whole, "s", note.format(trained, took), "peer")


os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = sys.executable
with tempfile.TemporaryDirectory() as name:
    folder = Path(name)
    corpus, test = folder / "corpus.jsonl", folder / "test.jsonl"
    whole = folder / "whole.jsonl"
    seconds, _ = timed(lambda: program("synth", whole, "--shape", "rcv1", "-n", DOCUMENTS))
    with open(whole) as lines, open(corpus, "w") as train_lines, open(test, "w") as test_lines:
        for number, line in enumerate(lines):
            # All of them take part: the split of the shape is not ours.
            line = line.replace('"split":"train",', "", 1).replace('"split":"test",', "", 1)
            (test_lines if number % 10 == 9 else train_lines).write(line)
    whole.unlink()
    say("documents generated", seconds, "s", f"{DOCUMENTS:,} documents, {corpus.stat().st_size / 1e6:.0f} MB of JSON lines to train on")
    seconds, session = timed(
        lambda: SparkSession.builder.master("local-cluster[2,1,1536]")
        .config("spark.executor.memory", "1536m")
        .config("spark.driver.memory", "2g")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", 4)
        .config("spark.ui.showConsoleProgress", False)
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    say("Spark started", seconds, "s", "local-cluster[2,1,1536]: two executor processes of one core")
    frame = session.read.schema("tokens array<string>, labels array<string>").json(str(corpus))
    frame = frame.selectExpr("concat_ws(' ', tokens) text", "labels")
    counting(session, frame, corpus, folder)
    reached = training(frame, corpus, test, folder)
    peer(frame, DOCUMENTS - DOCUMENTS // 10, reached)
    session.stop()
