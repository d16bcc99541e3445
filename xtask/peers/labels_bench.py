"""Thousands of labels, and a hierarchy: `tamis fit` beside omikuji's label trees, hiclass and scikit-learn's linear SVM.

    cargo xtask bench labels                        # wordnet, advisories, rcv1
    cargo xtask bench labels wordnet                # one of them
    cargo xtask bench labels generated 30000        # 500,000 generated documents with so many labels: ours alone

Times are from text to model, wall clock; memory is the peak of the process. Every side reads the same documents and is judged on the same test
part. scikit-learn trains a tenth of wordnet's documents: one label after the other takes it hours with all of them.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DATA = Path(os.environ["TAMIS_DATA"])
TAMIS = os.environ["TAMIS_BIN"]


def say(side, what, value, unit, note=""):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": unit, "note": note}), flush=True)


def timed(command):
    """Seconds and peak MB of a program."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command}: {process.stderr.read().decode()}")
    return time.perf_counter() - start, usage.ru_maxrss / 1024


def used(command):
    """Seconds of processor time of a program."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measures(model, corpus, names, *more):
    out = subprocess.run([TAMIS, "evaluate", model, corpus, "--measures", names, "--format", "json", *more], check=True, capture_output=True)
    return json.loads(out.stdout)


def ours(what, corpus, names, fit, judge=(), test=None, model=None):
    with tempfile.TemporaryDirectory() as folder:
        model = model or f"{folder}/a.model"
        seconds, memory = timed([TAMIS, "fit", str(corpus), "-o", model, *map(str, fit)])
        say("ours", f"{what}: fit", seconds, "s")
        say("ours", f"{what}: peak memory", memory, "MB")
        found = measures(model, str(test or corpus), names, *map(str, judge))
        for name in names.split(","):
            say("ours", f"{what}: {name}", found[name], "score")


def wordnet():
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC
    import omikuji

    corpus, tree = DATA / "wordnet/wordnet.jsonl", DATA / "wordnet/wordnet.taxonomy.tsv"
    plain = ["--terms", "words", "--by", "chi2max@1", "--features", "all", "--folds", "0"]
    ours("wordnet, label trees", corpus, "P@1", [*plain, "--classifier", "tree(svm)"])
    ours("wordnet, label trees and flat", corpus, "P@1", [*plain, "--classifier", "tree(svm,by=flat+means)"])
    ours("wordnet, flat svm", corpus, "P@1", [*plain, "--classifier", "svm"])
    for goal in ("exact", "hf1"):
        ours(f"wordnet, taxonomy, --goal {goal}", corpus, "P@1,hF1", ["--taxonomy", tree, "--goal", goal])

    documents = [json.loads(line) for line in open(corpus, encoding="utf-8")]
    train = [d for d in documents if d["split"] == "train"]
    test = [d for d in documents if d["split"] == "test"]
    names = sorted({d["labels"][0] for d in train})
    number = {name: at for at, name in enumerate(names)}
    start = time.perf_counter()
    vectors = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\b\w\w+\b")
    x = vectors.fit_transform(d["text"] for d in train)
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/train.txt"
        with open(path, "w", encoding="utf-8") as out:
            print(x.shape[0], x.shape[1], len(names), file=out)
            for row, d in zip(x, train):
                pairs = " ".join(f"{i}:{v:.6f}" for i, v in zip(row.indices, row.data))
                print(number[d["labels"][0]], pairs, file=out)
        written = time.perf_counter() - start
        start = time.perf_counter()
        model = omikuji.Model.train_on_data(path, omikuji.Model.default_hyper_param())
        seconds = time.perf_counter() - start
    right = 0
    for row, d in zip(vectors.transform(d["text"] for d in test), test):
        best = model.predict(list(zip(row.indices.tolist(), row.data.tolist())), top_k=1)
        right += bool(best) and names[best[0][0]] == d["labels"][0]
    say("peer", "wordnet, label trees: fit", written + seconds, "s", f"omikuji, of it {written:.1f} s for its vectors")
    say("peer", "wordnet, label trees: peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, "MB")
    say("peer", "wordnet, label trees: P@1", right / len(test), "score")

    some = train[::10]
    start = time.perf_counter()
    flat = LinearSVC().fit(vectors.transform(d["text"] for d in some), [d["labels"][0] for d in some])
    seconds = time.perf_counter() - start
    found = flat.predict(vectors.transform(d["text"] for d in test))
    say("peer", "wordnet, flat svm: fit", seconds, "s", "LinearSVC on a tenth of the documents")
    say("peer", "wordnet, flat svm: P@1", sum(f == d["labels"][0] for f, d in zip(found, test)) / len(test), "score")


def advisories():
    corpus, tree = DATA / "advisories/advisories.jsonl", DATA / "advisories/cwe.taxonomy.tsv"
    documents = [json.loads(line) for line in open(corpus, encoding="utf-8")]
    documents.sort(key=lambda d: (d["date"], d["id"]))
    cut = len(documents) - round(len(documents) * 0.2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "parted.jsonl"
        with open(path, "w", encoding="utf-8") as out:
            for at, d in enumerate(documents):
                out.write(json.dumps({**d, "split": "train" if at < cut else "test"}) + "\n")
        for goal in ("exact", "hf1"):
            ours(f"advisories, taxonomy, --goal {goal}", path, "SubsetAccuracy,hF1", ["--taxonomy", tree, "--goal", goal])
        flat = ["--terms", "words", "--by", "chi2max", "--features", "all", "--classifier", "svm", "--threshold", "rcut(1)"]
        ours("advisories, flat svm", path, "SubsetAccuracy,hF1", flat, ["--taxonomy", tree])
    along_paths("advisories, taxonomy", documents[:cut], documents[cut:], tree)


def along_paths(what, train, test, tree):
    """hiclass, a classifier for the children of each node: one path for each document, the first label's by first parents."""
    import numpy as np
    from hiclass import LocalClassifierPerParentNode
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.svm import LinearSVC

    parent = {}
    for line in open(tree, encoding="utf-8"):
        child, above = line.rstrip("\n").split("\t")[:2]
        parent.setdefault(child, above)

    def path(label):
        nodes = [label]
        while parent.get(nodes[-1]) in parent:
            nodes.append(parent[nodes[-1]])
        return nodes[::-1]

    paths = [path(d["labels"][0]) for d in train]
    deepest = max(map(len, paths))
    y = np.array([p + [""] * (deepest - len(p)) for p in paths], dtype=object)
    start = time.perf_counter()
    vectors = TfidfVectorizer(sublinear_tf=True)
    machine = LocalClassifierPerParentNode(LinearSVC(), n_jobs=2)
    machine.fit(vectors.fit_transform(d["text"] for d in train), y)
    say("peer", f"{what}, --goal exact: fit", time.perf_counter() - start, "s", "hiclass, classifiers per parent node")
    found = machine.predict(vectors.transform(d["text"] for d in test))
    exact = right = given = true = 0
    for row, d in zip(found, test):
        answer = {str(node) for node in row if node}
        truth = {node for label in d["labels"] for node in path(label)}
        last = [str(node) for node in row if node][-1]
        exact += d["labels"] == [last]
        right, given, true = right + len(answer & truth), given + len(answer), true + len(truth)
    say("peer", f"{what}, --goal exact: SubsetAccuracy", exact / len(test), "score")
    say("peer", f"{what}, --goal hf1: hF1", 2 * right / (given + true), "score")


def rcv1():
    corpus, tree = DATA / "rcv1/rcv1-15k-counts.svm", DATA / "rcv1/rcv1.taxonomy"
    with tempfile.TemporaryDirectory() as folder:
        train, test = f"{folder}/train.jsonl", f"{folder}/test.jsonl"
        subprocess.run([TAMIS, "split", str(corpus), "-o", train, test], check=True, capture_output=True)
        for goal in ("hf1", "f1"):
            ours(f"rcv1, taxonomy, --goal {goal}", train, "F1@micro,hF1", ["--taxonomy", tree, "--goal", goal], test=test)
        flat = ["--by", "chi2max", "--features", "all", "--classifier", "svm"]
        ours("rcv1, flat svm", train, "F1@micro,hF1", flat, ["--taxonomy", tree], test=test)


def generated(labels, documents=500_000):
    """Documents of 30 words: some of the label, some of its group, the rest of the language, frequent words first."""
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        path, one, some = (f"{folder}/{name}.jsonl" for name in ("generated", "one", "some"))
        held_out = []
        with open(path, "w", encoding="utf-8") as out:
            for at in range(documents):
                label = at % labels if at < labels else int(labels * rng.random() ** 2)
                own = [f"own{label}x{rng.randrange(4)}" for _ in range(4)]
                group = [f"group{label // 50}x{rng.randrange(12)}" for _ in range(6)]
                rest = [f"word{int(200_000 ** rng.random())}" for _ in range(20)]
                split = "test" if at >= labels and at % 50 == 0 else "train"
                text = " ".join(own + group + rest)
                held_out.extend([text] if split == "test" else [])
                out.write(json.dumps({"text": text, "labels": [f"l{label}"], "split": split}) + "\n")
        plain = ["--terms", "words", "--by", "chi2max@1", "--features", "all", "--folds", "0"]
        model = f"{folder}/a.model"
        ours(f"generated, {labels} labels", path, "P@1", [*plain, "--classifier", "tree(svm)"], model=model)
        for name, texts in ((one, held_out[:1]), (some, held_out)):
            with open(name, "w", encoding="utf-8") as out:
                out.writelines(json.dumps({"text": text}) + "\n" for text in texts)
        # What opening the model takes is not part of it.
        spent = [used([TAMIS, "classify", model, name]) for name in (one, some)]
        each = (spent[1] - spent[0]) / max(1, len(held_out) - 1)
        say("ours", f"generated, {labels} labels: one document labelled", 1000 * each, "ms", "processor time")


if __name__ == "__main__":
    parts = sys.argv[1:] or ["wordnet", "advisories", "rcv1"]
    if parts[0] == "generated":
        generated(*map(int, parts[1:]))
    elif len(parts) == 1:
        {"wordnet": wordnet, "advisories": advisories, "rcv1": rcv1}[parts[0]]()
    else:
        # Each in a process of its own: a program begins as a copy of the one that starts it, whose memory would count as its peak.
        for part in parts:
            subprocess.run([sys.executable, __file__, part], check=True)
