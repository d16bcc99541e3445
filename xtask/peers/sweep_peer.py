"""The preliminary grid as a numpy user writes it: scipy CSR times dense blocks and argpartition, in two threads.

Two versions. Size by size: for each number of features the product over those features. Nested: products over the
features that a size adds, sums carried from size to size. Both judge the lists by R-precision. The matrices and rankings
are those that our half left.
"""

import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from common import report

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
FOLDER = TARGET / "tmp/sweep"
ABOUT = json.loads((FOLDER / "about.json").read_text())
GRID = "reuters: the preliminary grid, 2 threads"
K, BLOCK = 100, 512


def read(name):
    return np.fromfile(FOLDER / f"{name}.u32", dtype=np.uint32)


def read_csr(name, columns):
    indptr = read(f"{name}.indptr").astype(np.int64)
    indices, data = read(f"{name}.indices").astype(np.int32), read(f"{name}.data").astype(np.float64)
    return csr_matrix((data, indices, indptr), shape=(len(indptr) - 1, columns))


def weighted(counts, lengths, mean_length):
    """Okapi weights: tf / (0.5 + 1.5·dl/avdl + tf)."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    weights = counts.copy()
    weights.data = counts.data / (0.5 + 1.5 * lengths[rows] / mean_length + counts.data)
    return weights


train, test = read_csr("train.counts", ABOUT["terms"]), read_csr("test.counts", ABOUT["terms"])
train_labels, test_labels = read_csr("train.labels", ABOUT["labels"]), read_csr("test.labels", ABOUT["labels"])
train_lengths, test_lengths = read("train.lengths").astype(float), read("test.lengths").astype(float)
n = train.shape[0]
df = np.bincount(train.indices, minlength=ABOUT["terms"])
idf = np.where(df > 0, np.maximum(0, np.log((n - df + 0.5) / (df + 0.5))), 0)
train = weighted(train, train_lengths, train_lengths.mean())
# The query's side carries idf, so a product of the two is the similarity.
test = weighted(test, test_lengths, train_lengths.mean()).multiply(idf).tocsr()
true_counts = np.diff(test_labels.indptr)
truth = test_labels.toarray().astype(bool)


def judge(similarities, rows):
    """R-precision of a block; similarities are documents of the block × training documents."""
    nearest = np.argpartition(similarities, n - K, axis=1)[:, n - K :]
    values = np.take_along_axis(similarities, nearest, axis=1)
    block = len(similarities)
    votes = csr_matrix((values.ravel(), nearest.ravel(), np.arange(0, block * K + 1, K)), shape=(block, n))
    scores = (votes @ train_labels).toarray()
    most = true_counts[rows].max(initial=1)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :most]
    listed = np.take_along_axis(scores, order, axis=1) > 0
    hits = np.take_along_axis(truth[rows], order, axis=1) & listed
    hits &= np.arange(most)[None, :] < true_counts[rows][:, None]
    return hits.sum(axis=1) / np.maximum(true_counts[rows], 1)


def blocks():
    return [np.arange(first, min(first + BLOCK, test.shape[0])) for first in range(0, test.shape[0], BLOCK)]


def over_blocks(work):
    with ThreadPoolExecutor(2) as pool:
        return np.concatenate(list(pool.map(work, blocks())))


def size_by_size(ranking, sizes):
    means = []
    for size in sizes:
        chosen = ranking[:size]
        part, queries = train[:, chosen], test[:, chosen]
        values = over_blocks(lambda rows: judge((part @ queries[rows].T.toarray()).T, rows))
        means.append(values.mean())
    return means


def nested(ranking, sizes):
    steps = [ranking[low:high] for low, high in zip([0, *sizes[:-1]], sizes)]
    pieces = [(train[:, step], test[:, step]) for step in steps]

    def work(rows):
        similarities = np.zeros((n, len(rows)))
        values = []
        for part, queries in pieces:
            similarities += part @ queries[rows].T.toarray()
            values.append(judge(np.ascontiguousarray(similarities.T), rows))
        return np.array(values).T

    return over_blocks(work).mean(axis=0)


labelled = true_counts > 0
assert labelled.all(), "the plan keeps labelled documents only"
rankings = {name: read(f"ranking.{name}").astype(np.int64) for name in ABOUT["sample"]}
for name, version in [("scipy, size by size", size_by_size), ("numpy, nested", nested)]:
    lists, seconds = 0, 0.0
    for selector, ranking in rankings.items():
        sizes = [len(ranking) if s == "all" else min(int(s), len(ranking)) for s in ABOUT["sizes"]]
        start = time.perf_counter()
        means = version(ranking, sizes)
        seconds += time.perf_counter() - start
        lists += len(sizes) * test.shape[0]
        report(f"reuters: mean RPrec over sizes, {selector}", float(np.mean(means)), "score", name)
    report(GRID, lists / seconds, "/s", f"{name}: {lists} classifications in {seconds:.1f} s, {len(rankings)} rankings")
