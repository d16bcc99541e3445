"""Workers that die: what they had is made again, and nothing shows. The tests end the session that others share, so they are the last."""

import pytest

pytest.importorskip("pyspark")
tamis = pytest.importorskip("tamis")

import tamis.spark  # noqa: E402
from spark_cluster import Cluster, builder, bytes_of, frame_of, killed_in_the_middle  # noqa: E402
from tamis import _spark_fit  # noqa: E402


def test_a_worker_killed_in_a_round_changes_nothing(spark, lines, tmp_path, monkeypatch):
    options = {"parts": 4, "by": "chi2max@1", "features": 400, "classifier": "svm(gap=0.01)", "folds": 0}
    expected = bytes_of(tamis.spark.fit(frame_of(spark, lines[:800]), **options))
    # Only one session can be in a process: the shared one makes room.
    spark.stop()
    cluster = Cluster(tmp_path)
    watch = []
    usual = _spark_fit.Diary.round

    def told(diary, report):
        usual(diary, report)
        if report["round"] == 2:
            watch.extend(killed_in_the_middle(session, cluster, lambda info: info.numActiveTasks >= 1))

    monkeypatch.setattr(_spark_fit.Diary, "round", told)
    try:
        session = builder(cluster.url).config("spark.ui.enabled", False).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        model = tamis.spark.fit(frame_of(session, lines[:800]).repartition(4), **options)
        watch[0].join(10)
        session.stop()
    finally:
        cluster.end()
    assert watch[1], "the rounds were over before a worker could be killed"
    assert bytes_of(model) == expected


def test_a_worker_that_dies_changes_nothing(spark, documents, tmp_path):
    # Only one session can be in a process: the shared one makes room.
    spark.stop()
    cluster = Cluster(tmp_path)
    try:
        session = builder(cluster.url).config("spark.ui.enabled", False).getOrCreate()
        session.sparkContext.setLogLevel("OFF")
        frame = session.read.schema("text string, labels array<string>").json(str(documents)).repartition(24)
        middle = lambda info: info.numTasks >= 20 and 3 <= info.numCompletedTasks < info.numTasks - 3  # noqa: E731
        killer, killed = killed_in_the_middle(session, cluster, middle)
        counts = tamis.spark.count(frame)
        killer.join(10)
        session.stop()
    finally:
        cluster.end()
    assert killed, "the job was over before a worker could be killed"
    assert counts == tamis.count(documents, all_parts=True)
