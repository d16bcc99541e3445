"""Counting on a Spark cluster of two executor processes: seconds by phase and bytes shuffled, and whether the counts are those
of `tamis count`.

    cargo xtask bench spark [DOCUMENTS]     one million when not given
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

DOCUMENTS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000


def say(what, value, unit, note="", side="ours"):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": unit, "note": note}), flush=True)


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def stages(session):
    """What Spark itself says about its stages."""
    url = session.sparkContext.uiWebUrl
    application = session.sparkContext.applicationId
    with urllib.request.urlopen(f"{url}/api/v1/applications/{application}/stages?status=complete") as page:
        return json.load(page)


os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
os.environ["PYSPARK_PYTHON"] = sys.executable
with tempfile.TemporaryDirectory() as folder:
    corpus = Path(folder) / "corpus.jsonl"
    program = os.environ["TAMIS_BIN"]
    seconds, _ = timed(
        lambda: subprocess.run([program, "-q", "synth", corpus, "--shape", "rcv1", "-n", str(DOCUMENTS)], check=True)
    )
    say("documents generated", seconds, "s", f"{DOCUMENTS:,} documents, {corpus.stat().st_size / 1e6:.0f} MB of JSON lines")
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
    seconds, counts = timed(lambda: tamis.spark.count(frame))
    say("counted on two executors", seconds, "s", repr(counts))
    for stage in stages(session):
        name = f"stage {stage['stageId']}: {stage['name'].split(' at ')[0]}"
        say(f"{name}, run time of {stage['numTasks']} tasks", stage["executorRunTime"] / 1000, "s")
        if stage["shuffleWriteBytes"]:
            say(f"{name}, shuffled", stage["shuffleWriteBytes"] / 1e6, "MB", f"{stage['shuffleWriteRecords']:,} rows")
    session.stop()
    file = Path(folder) / "corpus.counts"
    seconds, _ = timed(lambda: subprocess.run([program, "-q", "count", "--all-parts", corpus, "-o", file], check=True))
    say("counted on two executors", seconds, "s", "tamis count, one process of two threads", "peer")
    say("the counts are equal", float(counts == tamis.Counts.load(file)), "yes=1")
