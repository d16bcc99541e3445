"""Spark on real processes: how the tests start it, and a cluster of which a part can be killed."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

from pyspark.sql import SparkSession


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


def frame_of(session, lines):
    rows = [(d["text"], d["labels"]) for d in lines]
    return session.createDataFrame(rows, "text string, labels array<string>")


def bytes_of(model):
    return bytes(model._model.to_bytes())


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


def killed_in_the_middle(session, cluster, when):
    """Kills a worker as soon as `when` says so of an active stage, in a thread; what it saw then is in the list."""
    tracker, killed = session.sparkContext.statusTracker(), []

    def look():
        while not killed:
            for stage in tracker.getActiveStageIds():
                info = tracker.getStageInfo(stage)
                if info and when(info):
                    cluster.kill(1)
                    killed.append((info.numCompletedTasks, info.numTasks))
                    return
            time.sleep(0.02)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    return thread, killed
