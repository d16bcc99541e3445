"""What the tests share: the program under test, named by TAMIS_BIN, and a way to run it.

    TAMIS_BIN=target/debug/tamis python -m pytest tests/python
"""

import json
import os
import pathlib
import subprocess

import pytest

TAMIS = os.environ.get("TAMIS_BIN")


def pytest_configure():
    if TAMIS and not pathlib.Path(TAMIS).is_file():
        raise pytest.UsageError(f"TAMIS_BIN={TAMIS} is not a file")


class Tamis:
    """The program."""

    def __call__(self, *arguments, code=0):
        """Standard output of a run that must end with the exit code. Without the program the test is skipped, and says why."""
        if not TAMIS:
            pytest.skip("TAMIS_BIN is not set: build tamis and name the program with it")
        done = subprocess.run([TAMIS, *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == code, f"{arguments}: {done.stderr}"
        return done.stdout

    def json(self, *arguments):
        return json.loads(self(*arguments, "--format", "json"))

    def lines(self, *arguments):
        """Lines of JSON."""
        return [json.loads(line) for line in self(*arguments).splitlines()]

    def fit(self, corpus, model, classifier, *more):
        """A model of all terms, without cross-validation."""
        common = ["--by", "df@0", "--features", "all", "--folds", "0", "--classifier", classifier]
        self("fit", corpus, "-o", model, *common, *more)
        return model


@pytest.fixture(scope="session")
def tamis():
    return Tamis()


# Spark: one cluster of two executor processes for all tests, since a start takes longer than most of them.


@pytest.fixture(scope="session")
def spark():
    pytest.importorskip("pyspark")
    from spark_cluster import builder

    session = builder("local-cluster[2,1,1024]").config("spark.ui.enabled", False).getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def documents(tmp_path_factory):
    """A file of 3,000 generated documents."""
    path = tmp_path_factory.mktemp("spark") / "documents.jsonl"
    Tamis()("synth", path, "-n", 3000)
    return path


@pytest.fixture(scope="session")
def lines(documents):
    return [json.loads(line) for line in open(documents, encoding="utf-8")]
