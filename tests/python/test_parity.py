"""One answer: `tamis classify`, the server and Python give the same JSON, and so do the three ways to explain."""

import contextlib
import json
import re
import signal
import subprocess
import urllib.request

import pytest
from conftest import TAMIS, Tamis

import tamis

FLAT = ["--by", "chi2max@1", "--features", "300", "--folds", "3"]
MODELS = {
    "svm": [*FLAT, "--classifier", "svm", "--threshold", "scut"],
    "bayes": [*FLAT, "--classifier", "bayes"],
    "knn": [*FLAT, "--classifier", "knn(15)"],
    "wknn": [*FLAT, "--classifier", "wknn(9)"],
    "quantised": [*FLAT, "--classifier", "svm", "--quantise"],
    "calibrated": [*FLAT, "--classifier", "svm", "--calibrate", "platt"],
    "best-path": ["--taxonomy", "names", "--answers", "best"],
    "tsa": ["--taxonomy", "names", "--threshold", "tsa", "--by", "ig", "--features", "60"],
}


@pytest.fixture(scope="module")
def program():
    return Tamis()


@pytest.fixture(scope="module")
def documents(program, tmp_path_factory):
    """Fifty documents that no model has seen, odd ones among them, and the file of the training documents."""
    folder = tmp_path_factory.mktemp("parity")
    program("synth", folder / "all.jsonl", "-n", 500)
    lines = [json.loads(line) for line in open(folder / "all.jsonl", encoding="utf-8")]
    train = [line for line in lines if line.get("split") != "test"]
    test = [{"id": line["id"], "text": line["text"]} for line in lines if line.get("split") == "test"][:46]
    odd = ["", "xyzzy plugh", "Señor 🦊: The STRIKER scored, the striker!", "goal " * 300]
    test += [{"id": f"odd \"{at}\"", "text": text} for at, text in enumerate(odd)]
    assert len(test) == 50
    for name, part in [("train", train), ("test", test)]:
        text = "".join(json.dumps(line) + "\n" for line in part)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder, test


@pytest.fixture(scope="module")
def models(program, documents):
    folder, _ = documents
    for name, options in MODELS.items():
        program("fit", folder / "train.jsonl", "-o", folder / f"{name}.model", "--quiet", *options)
    return folder


@pytest.fixture(scope="module")
def server(models):
    """All models behind one address."""
    arguments = [f"{name}={models / name}.model" for name in MODELS]
    process = subprocess.Popen(
        [TAMIS, "serve", *arguments, "--port", "0", "--drain", "0.1"], stderr=subprocess.PIPE, text=True
    )
    try:
        address = next(found[1] for line in process.stderr if (found := re.search(r"on (http://[0-9.:]+)/", line)))
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=60)


def ask(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as reply:
        return json.load(reply)


@pytest.mark.parametrize("name", MODELS)
def test_answers_are_the_same_everywhere(program, documents, models, server, name):
    _, test = documents
    file = models / f"{name}.model"
    texts, ids = [d["text"] for d in test], [d["id"] for d in test]
    ours = tamis.TextCategorizer.load(file)
    plain = program.lines("classify", file, models / "test.jsonl")
    assert len(plain) == 50 and any(line["labels"] for line in plain) and not plain[46]["known"]
    assert ours.answer(texts, ids=ids) == plain
    assert ask(f"{server}/v1/classify", {"model": name, "documents": test})["documents"] == plain
    # The same as a stream.
    lines = (models / "test.jsonl").read_bytes()
    stream = urllib.request.Request(f"{server}/v1/classify?model={name}", lines, {"Content-Type": "application/x-ndjson"})
    with urllib.request.urlopen(stream, timeout=60) as reply:
        assert [json.loads(line) for line in reply.read().splitlines()] == plain
    # With scores, thresholds, probabilities, and the way to each label.
    scored = program.lines("classify", file, models / "test.jsonl", "--scores")
    labels = len(ours._model.labels)
    assert ours.answer(texts, ids=ids, ranked=labels) == scored
    for document, line in zip(test, scored):
        reply = ask(f"{server}/v1/classify", {"model": name, "top": labels, **document})
        assert reply.pop("model") == name
        assert reply == line
    assert any("probability" in entry for line in scored for entry in line["ranked"]) == (name not in ("best-path", "tsa"))
    assert all("steps" in entry for line in scored for entry in line["ranked"]) == (name in ("best-path", "tsa"))
    # With reasons.
    explained = program.lines("classify", file, models / "test.jsonl", "--explain")
    assert ours.answer(texts, ids=ids, why=10) == explained
    assert all(line["reasons"] for line in explained) or "knn" in name


@pytest.mark.parametrize("name", MODELS)
def test_explanations_are_the_same_everywhere(program, documents, models, server, name):
    _, test = documents
    file = models / f"{name}.model"
    ours = tamis.TextCategorizer.load(file)
    named = []
    for document in test[:10] + test[-4:]:
        (models / "one.txt").write_text(document["text"], encoding="utf-8")
        program_says = program.json("explain", file, models / "one.txt", "--top", 7)
        reply = ask(f"{server}/v1/explain", {"model": name, "text": document["text"], "top": 7})
        assert reply.pop("model") == name
        assert reply == program_says
        assert ours.explain(document["text"], top=7) == program_says["reasons"]
        assert ours.answer([document["text"]], why=7) == [program_says]
        named += [n["document"] for reason in program_says["reasons"] for n in reason.get("neighbours", [])]
    train = {json.loads(line)["id"] for line in open(models / "train.jsonl", encoding="utf-8")}
    assert set(named) <= train and bool(named) == (name in ("knn", "wknn"))


def test_evaluation_is_the_same_in_python_and_along_any_taxonomy(program, documents, models):
    """A flat model is judged along a taxonomy it does not have, and Python gives the figures of the program."""
    folder, _ = documents
    lines = [json.loads(line) for line in open(folder / "all.jsonl", encoding="utf-8")]
    test = [line for line in lines if line.get("split") == "test"]
    texts, labels = [line["text"] for line in test], [line["labels"] for line in test]
    for name in ("svm", "tsa"):
        file = models / f"{name}.model"
        ours = tamis.TextCategorizer.load(file)
        found = program.json("evaluate", file, folder / "all.jsonl", "--taxonomy", "names", "--per-label")
        assert {"hP", "hR", "hF1", "levels", "labels"} <= found.keys()
        assert ours.evaluate(texts, labels, taxonomy="names", per_label=True) == found
    flat = program.json("evaluate", models / "svm.model", folder / "all.jsonl")
    assert "hF1" not in flat and flat["F1@micro"] == program.json(
        "evaluate", models / "svm.model", folder / "all.jsonl", "--taxonomy", "names")["F1@micro"]
