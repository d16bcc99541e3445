"""Filtering a crawl: Parquet shards in, the same shards with the score of one label out. Ours, fastText and scikit-learn.

The label is "science" (the four sci.* groups of 20 Newsgroups against the rest), learned from the training part. The shards hold the test part,
again and again, until there are some hundred megabytes of text. Every run is a process of its own that begins with reading its model; what counts is processor
time (user and system) of all its threads. Bytes are those of the texts in UTF-8.

    python bulk_bench.py [MEGABYTES] [ready]    both sides; with ready, models are those of a run before
    python bulk_bench.py run fasttext MODEL …   one peer over shards, in a process of its own
"""

import itertools
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parents[2] / "target/bench-bulk"
LABEL = "science"
OURS = FOLDER / "ours.model"
PEERS = {(grams, words): FOLDER / f"fasttext-{grams}-{words}.bin" for grams in (1, 2) for words in ("flat", "plain")}


def plain(text):
    """fastText reads lines, and splits words at blanks only: lower case, and punctuation apart, as its tutorial and quality filters do."""
    return " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))


def flat(text):
    """The least that fastText needs: no line ends."""
    return text.replace("\n", " ")


def scored(source, target, score):
    """A shard with a column of scores, row group by row group."""
    file = pq.ParquetFile(source)
    with pq.ParquetWriter(target, file.schema_arrow.append(pa.field("score", pa.float64())), compression="zstd") as out:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group)
            out.write_table(table.append_column("score", pa.array(score(table.column("text").to_pylist()), pa.float64())))


def run(kind, model, target, shards):
    """One peer over all shards."""
    if kind.startswith("fasttext"):
        import fasttext

        peer = fasttext.load_model(model)
        words = plain if kind.endswith("plain") else flat

        def score(texts):
            labels, numbers = peer.predict([words(text) for text in texts], k=2)
            return [float(n[l.index(f"__label__{LABEL}")]) for l, n in zip(labels, numbers)]
    elif kind == "command":
        # One process for all shards, which reads its model once.
        program, model = model.split(":")
        lines = "".join(flat(text) + "\n" for shard in shards for text in pq.read_table(shard, columns=["text"]).column(0).to_pylist())
        done = subprocess.run([program, "predict-prob", model, "-", "2"], input=lines, capture_output=True, text=True, check=True)
        found = map(str.split, done.stdout.splitlines())
        scores = (float(line[line.index(f"__label__{LABEL}") + 1]) for line in found)

        def score(texts):
            return list(itertools.islice(scores, len(texts)))
    else:
        import joblib

        peer = joblib.load(model)
        score = peer.decision_function
    for shard in shards:
        scored(shard, Path(target) / Path(shard).name, score)


def newsgroups():
    from common import newsgroups as of

    parts = []
    for part in ("training", "test"):
        texts, labels = of((part,))
        parts.append([(text, LABEL if label.startswith("sci.") else "rest") for text, label in zip(texts, labels)])
    return parts


def shards(documents, megabytes, folder, files=8, group=10_000):
    """The documents again and again, in shards; and the bytes of their texts."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    texts = [text for text, _ in documents]
    size = sum(len(text.encode()) for text in texts)
    times = max(1, round(megabytes * 1e6 / size / files))
    texts *= times
    for at in range(files):
        order = random.Random(at).sample(range(len(texts)), len(texts))
        columns = {"id": [f"{at}-{i}" for i in order], "url": [f"https://example.org/{at}/{i}" for i in order], "text": [texts[i] for i in order]}
        pq.write_table(pa.table(columns), folder / f"shard-{at}.parquet", compression="zstd", row_group_size=group)
    return sorted(map(str, folder.iterdir())), size * times * files


# A process starts with the memory of the one that made it, so a small one does.
LAUNCHER = """
import json, os, subprocess, sys, time
begun = time.perf_counter()
process = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(process.pid, 0)
print(json.dumps([used.ru_utime + used.ru_stime, time.perf_counter() - begun, used.ru_maxrss / 1024]))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def timed(command):
    """Processor seconds, seconds and megabytes at most of a process, with those that it waited for."""
    done = subprocess.run([sys.executable, "-c", LAUNCHER, *map(str, command)], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def command_of_fasttext():
    """fastText's own command, built from the source distribution of PyPI."""
    program = FOLDER / "fasttext"
    if not program.exists():
        folder = FOLDER / "source"
        get = ["-m", "pip", "download", "-q", "--no-binary", "fasttext", "--no-deps", "--no-build-isolation", "fasttext==0.9.3", "-d", str(folder)]
        subprocess.run([sys.executable, *get], check=True)
        with tarfile.open(next(folder.glob("*.tar.gz"))) as source:
            source.extractall(folder, filter="data")
        sources = sorted(map(str, next(folder.glob("fasttext-*/src")).glob("*.cc")))
        subprocess.run(["g++", "-O3", "-march=native", "-funroll-loops", "-std=c++17", "-pthread", *sources, "-o", program], check=True)
    return program


def f1(scores, truth):
    """The best F1 over all thresholds: scales differ between the sides."""
    order = sorted(zip(scores, truth), reverse=True)
    positives, right, best = sum(truth), 0, 0.0
    for at, (_, positive) in enumerate(order, 1):
        right += positive
        best = max(best, 2 * right / (at + positives))
    return best


def report(side, what, value, unit, note):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": unit, "note": note}), flush=True)


def learn(train, tamis):
    """The models of all sides: ours, fastText's by n-grams and how words were cut, scikit-learn's."""
    import fasttext
    import joblib
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import LinearSVC

    random.Random(1).shuffle(train)
    with open(FOLDER / "train.jsonl", "w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": text, "label": label}) + "\n" for text, label in train)
    subprocess.run([tamis, "fit", FOLDER / "train.jsonl", "-o", OURS, "--by", "chi2max", "--features", "20000", "--classifier", "svm", "-q"], check=True)
    for grams, words in PEERS:
        cut = {"flat": flat, "plain": plain}[words]
        lines = FOLDER / "fasttext.txt"
        lines.write_text("".join(f"__label__{label} {cut(text)}\n" for text, label in train), encoding="utf-8")
        model = fasttext.train_supervised(str(lines), epoch=10, lr=0.5, wordNgrams=grams, dim=100, thread=2, verbose=0)
        model.save_model(str(PEERS[grams, words]))
    texts, labels = zip(*train)
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC()).fit(texts, [label == LABEL for label in labels])
    joblib.dump(pipeline, FOLDER / "sklearn.joblib")


def main(megabytes, ready):
    tamis = os.environ["TAMIS_BIN"]
    FOLDER.mkdir(parents=True, exist_ok=True)
    train, test = newsgroups()
    if not ready:
        learn(train, tamis)
        command_of_fasttext()
    files, size = shards(test, megabytes, FOLDER / "shards")
    per_core = f"from Parquet to Parquet, {size / 1e6:.0f} MB of text in {len(files)} shards, MB of text by second of processor"
    order = random.Random(0).sample(range(len(test) * round(size / len(files) / sum(len(t.encode()) for t, _ in test))), len(pq.read_table(files[0])))
    truth = [test[i % len(test)][1] == LABEL for i in order]

    def measure(side, name, command, column):
        out = FOLDER / "out"
        shutil.rmtree(out, ignore_errors=True)
        out.mkdir()
        used, seconds, most = timed([*command(out)])
        best = f1(pq.read_table(out / Path(files[0]).name).column(column).to_pylist(), truth)
        note = f"{name}: {size / 1e9 / used * 3600:.0f} GB by core-hour, {seconds:.1f} s, F1 {best:.3f}, {most:.0f} MB of memory"
        report(side, per_core, size / 1e6 / used, "MB/s", note)
        return used

    bulk = lambda out, *more: [tamis, "classify", OURS, *files, "-o", f"{out}/", *more, "-q"]
    measure("ours", "--only-score", lambda out: bulk(out, "--only-score", LABEL, "--workers", 1), "tamis_score")
    script = [sys.executable, __file__, "run"]
    names = {"flat": "line ends taken out", "plain": "lower case, punctuation apart"}
    for (grams, words), model in PEERS.items():
        name = f"fastText in Python, {grams}-grams, {names[words]}"
        measure("peer", name, lambda out: [*script, f"fasttext-{words}", model, out, *files], "score")
    for grams in (1, 2):
        name = f"fastText's command, {grams}-grams, {names['flat']}"
        model = f"{command_of_fasttext()}:{PEERS[grams, 'flat']}"
        measure("peer", name, lambda out: [*script, "command", model, out, *files], "score")
    measure("peer", "TfidfVectorizer + LinearSVC", lambda out: [*script, "sklearn", FOLDER / "sklearn.joblib", out, *files], "score")

    # Other ways of ours, without a peer.
    for what, more in (
        ("labels and all scores", ["--scores"]),
        ("only rows above a score", ["--only-score", LABEL, "--keep", "score > 0"]),
    ):
        out = FOLDER / "out"
        shutil.rmtree(out, ignore_errors=True)
        used, seconds, most = timed(bulk(out, *more, "--workers", 1))
        report("ours", f"{what}, MB of text by second of processor", size / 1e6 / used, "MB/s", f"{seconds:.1f} s, {most:.0f} MB of memory")
    for workers in (1, 2):
        out = FOLDER / "out"
        shutil.rmtree(out, ignore_errors=True)
        used, seconds, most = timed(bulk(out, "--only-score", LABEL, "--workers", workers))
        report("ours", f"--workers {workers}, MB of text by second", size / 1e6 / seconds, "MB/s", f"{used:.1f} s of processor")
    # Memory against the size of a shard that is a single row group.
    for part in (1, 4):
        one, bytes_ = shards(test, part * megabytes / 8, FOLDER / "one", files=1, group=10_000_000)
        for what, more in (("all rows", []), ("rows left out", ["--keep", "score > 0"])):
            shutil.rmtree(FOLDER / "out", ignore_errors=True)
            _, _, most = timed([tamis, "classify", OURS, *one, "-o", f"{FOLDER / 'out'}/", "--only-score", LABEL, *more, "--workers", 2, "-q"])
            report("ours", f"memory, a shard of {bytes_ / 1e6:.0f} MB in one row group, {what}", most, "MB", "")


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        run(sys.argv[2], sys.argv[3], sys.argv[4], sys.argv[5:])
    else:
        numbers = [float(word) for word in sys.argv[1:] if word != "ready"]
        main(numbers[0] if numbers else 300, "ready" in sys.argv)
