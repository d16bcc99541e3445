"""scikit-learn, scipy, liblinear and fastText doing the same jobs; vectors come from our half of the benchmark."""

import random
import re
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from common import best, newsgroups, report

FOLDER = Path(__file__).resolve().parents[2] / "target/bench-classify"


def load(name):
    read = lambda part, kind: np.fromfile(FOLDER / f"{name}.{part}", kind)
    starts, columns, values = read("starts", "<i8"), read("columns", "<i4"), read("values", "<f8")
    width = int(columns.max()) + 1 if len(columns) else 1
    x = sp.csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))
    label_starts, labels = read("label_starts", "<i8"), read("labels", "<i4")
    y = sp.csr_matrix((np.ones(len(labels)), labels, label_starts))
    return x, y


def knn():
    for by in ("chi2max", "df"):
        what = f"20news, 5,000 words by {by}: knn(100), 2 threads"
        (x, y), (z, t) = load(f"knn-{by}-train"), load(f"knn-{by}-test")
        width = max(x.shape[1], z.shape[1])
        x.resize(x.shape[0], width), z.resize(z.shape[0], width)
        truth, test = y.indices, t.indices
        peer = KNeighborsClassifier(n_neighbors=100, algorithm="brute", metric="cosine", n_jobs=2).fit(x, truth)
        part = z[:2000]
        seconds, found = best(1, lambda: peer.predict(part))
        report(what, part.shape[0] / seconds, "docs/s", f"KNeighborsClassifier, brute, cosine; accuracy {np.mean(found == test[:2000]):.4f}")
        # scipy's best: sparse training matrix times dense blocks of queries, best 100 by argpartition, two threads.
        labels = np.zeros((x.shape[0], truth.max() + 1))
        labels[np.arange(x.shape[0]), truth] = 1

        def block(start):
            dense = z[start:start + 128].toarray().T
            similarity = x @ dense
            nearest = np.argpartition(similarity, -100, axis=0)[-100:]
            scores = np.zeros((dense.shape[1], labels.shape[1]))
            for column in range(dense.shape[1]):
                rows = nearest[:, column]
                scores[column] = similarity[rows, column] @ labels[rows]
            return scores.argmax(axis=1)

        def run():
            with ThreadPoolExecutor(2) as pool:
                return np.concatenate(list(pool.map(block, range(0, z.shape[0], 128))))

        seconds, found = best(2, run)
        report(what, z.shape[0] / seconds, "docs/s", f"scipy CSR x dense blocks, argpartition; accuracy {np.mean(found == test):.4f}")


def svm():
    for name in ("reuters", "20news", "advisories"):
        x, y = load(f"svm-{name}")
        y = y.tocsc()
        for loss, sk in (("hinge", "hinge"), ("squared", "squared_hinge")):
            bounds = np.fromfile(FOLDER / f"svm-{name}-{loss}.bounds", "<f8")
            labels = [l for l in range(y.shape[1]) if np.isfinite(bounds[l])]
            step = max(1, len(labels) // 20)
            some = labels[::step]
            goal = 1e-4 if loss == "hinge" else 1e-6
            for tolerance in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5):
                total, gaps = 0.0, []
                for label in some:
                    sign = np.where(np.asarray(y[:, label].todense()).ravel() > 0, 1.0, -1.0)
                    model = LinearSVC(C=1.0, loss=sk, dual=True, tol=tolerance, max_iter=100_000, intercept_scaling=1.0)
                    # Processor time: liblinear has one thread, and whatever else runs must not count against it.
                    start = time.process_time()
                    model.fit(x, sign)
                    total += time.process_time() - start
                    w, b = model.coef_.ravel(), model.intercept_[0]
                    error = np.maximum(0, 1 - sign * (x @ w + b))
                    primal = 0.5 * (w @ w + b * b) + (error.sum() if loss == "hinge" else (error**2).sum())
                    gaps.append((primal - bounds[label]) / primal)
                if np.median(gaps) <= goal or tolerance == 1e-5:
                    break
            note = f"LinearSVC(tol={tolerance:g}), median gap {np.median(gaps):.0e}, largest {max(gaps):.0e}"
            if step > 1:
                note += f"; {len(some)} of {len(labels)} labels, scaled"
            for threads in ("1 thread", "2 threads"):
                report(f"{name}: svm, loss={loss}, {threads}", total * len(labels) / len(some), "s", note)


def text():
    import fasttext

    (train, y), (test, t) = newsgroups(("training",)), newsgroups(("test",))
    many = test * 2
    for name, words in (("all words", None), ("20,000 words", 20_000), ("5,000 words", 5_000)):
        steps = [TfidfVectorizer(sublinear_tf=True), *([SelectKBest(chi2, k=words)] if words else []), LinearSVC()]
        pipeline = make_pipeline(*steps).fit(train, y)
        seconds, found = best(2, lambda: pipeline.predict(many))
        start = time.perf_counter()
        for document in test[:300]:
            pipeline.predict([document])
        single = (time.perf_counter() - start) / 300 * 1e3
        # What is deployed keeps the words selected and no more: the peer's smallest honest file.
        if words:
            kept = steps[0].get_feature_names_out()[steps[1].get_support()]
            small = TfidfVectorizer(sublinear_tf=True, vocabulary=kept)
            pipeline = make_pipeline(small, LinearSVC()).fit(train, y)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "pipeline.joblib"
            joblib.dump(pipeline, file, compress=3)
            size = file.stat().st_size / 1e6
        note = f"TfidfVectorizer + LinearSVC, accuracy {np.mean(found[: len(t)] == np.array(t)):.4f}"
        for bits in ("", ", 8 bits"):
            what = f"20news, {name}{bits}"
            report(f"{what}: model file", size, "MB", note + ", joblib compressed")
            report(f"{what}: tamis classify of raw JSONL, 2 threads", len(many) / seconds, "docs/s", note + ", one batch")
            report(f"{what}: one document at a time", single, "ms", note)
    with tempfile.TemporaryDirectory() as folder:
        # fastText never shuffles: a file sorted by label would ruin it. It wants lower-cased words apart.
        words = lambda document: " ".join(re.findall(r"[a-z0-9]+|[^\sa-z0-9]", document.lower()))
        order = list(range(len(train)))
        random.Random(1).shuffle(order)
        lines = Path(folder) / "train.txt"
        lines.write_text("\n".join(f"__label__{y[i]} {words(train[i])}" for i in order), encoding="utf-8")
        retries = 0
        while True:
            try:
                model = fasttext.train_supervised(str(lines), epoch=25, lr=0.5, wordNgrams=2, dim=100, thread=2, verbose=0)
                break
            except RuntimeError:
                retries += 1
        ready = [words(document) for document in many]

        def predict(documents):
            return [model.predict([d])[0][0][0] for d in documents]

        seconds, labels = best(1, lambda: predict(ready))
        fast_ready = len(many) / seconds
        seconds, _ = best(1, lambda: predict([words(d) for d in many]))
        fast_text = len(many) / seconds
        right = np.mean([l == f"__label__{c}" for l, c in zip(labels, t)])
        model.quantize(input=str(lines), retrain=True, cutoff=100_000, qnorm=True, verbose=0)
        model.save_model(str(Path(folder) / "model.ftz"))
        ftz = (Path(folder) / "model.ftz").stat().st_size / 1e6
        small = np.mean([model.predict([d])[0][0][0] == f"__label__{c}" for d, c in zip(ready, t)])
    fast = f"fastText, accuracy {right:.4f}" + (f", {retries} retries" if retries else "")
    for name in ("all words", "20,000 words", "5,000 words"):
        for bits in ("", ", 8 bits"):
            what = f"20news, {name}{bits}"
            report(f"{what}: model file", ftz, "MB", f"fastText .ftz, accuracy {small:.4f}")
            classify = f"{what}: tamis classify of raw JSONL, 2 threads"
            report(classify, fast_text, "docs/s", fast + ", from text")
            report(classify, fast_ready, "docs/s", fast + ", from ready tokens")
            report(f"{what}: one document at a time", 1e3 / fast_text, "ms", fast)


parts = [a for a in sys.argv[1:] if not a.startswith("-")]
for name, run in (("knn", knn), ("svm", svm), ("text", text)):
    if not parts or name in parts:
        run()
