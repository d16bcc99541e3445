"""The preliminary grid as a numpy user writes it well: sparse products, argpartition, two processes.

Two versions. Size by size: for each number of features the product over those features. Nested: products over the
features that a size adds, sums carried from size to size. Both judge the lists by R-precision. The matrices and rankings
are those that our half left; single precision, rows of the product in cache-sized blocks, and processes instead of
threads because they were the faster choice in trials.
"""

import json
import multiprocessing
import os
import time
from pathlib import Path

# Two processes on two cores: libraries inside them must not start threads of their own.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.sparse import csr_matrix

from common import report

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).parents[2] / "target"))
FOLDER = TARGET / "tmp/sweep"
ABOUT = json.loads((FOLDER / "about.json").read_text())
GRID = "reuters: the preliminary grid, 2 threads"
K, BLOCK = 100, 256


def read(name):
    return np.fromfile(FOLDER / f"{name}.u32", dtype=np.uint32)


def read_csr(name, columns):
    indptr = read(f"{name}.indptr").astype(np.int32)
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
# Postings of training documents by term; the query's side carries idf, so a product of the two is the similarity.
postings = weighted(train, train_lengths, train_lengths.mean()).T.tocsr().astype(np.float32)
queries = weighted(test, test_lengths, train_lengths.mean()).multiply(idf).tocsc().astype(np.float32)
labels_of = train_labels.toarray().astype(np.float32)
true_counts = np.diff(test_labels.indptr)
truth = test_labels.toarray().astype(bool)
assert (true_counts > 0).all(), "the plan keeps labelled documents only"


def judge(similarities, rows):
    """R-precision of a block; similarities are documents of the block × training documents."""
    nearest = np.argpartition(similarities, n - K, axis=1)[:, n - K :]
    values = np.take_along_axis(similarities, nearest, axis=1)
    scores = np.matmul(values[:, None, :], labels_of[nearest])[:, 0, :]
    most = true_counts[rows].max()
    order = np.argsort(-scores, axis=1, kind="stable")[:, :most]
    listed = np.take_along_axis(scores, order, axis=1) > 0
    hits = np.take_along_axis(truth[rows], order, axis=1) & listed
    hits &= np.arange(most)[None, :] < true_counts[rows][:, None]
    return hits.sum(axis=1) / true_counts[rows]


def blocks(half):
    firsts = range(0, test.shape[0], BLOCK)
    return [slice(first, min(first + BLOCK, test.shape[0])) for first in firsts][half::2]


def size_by_size(ranking, sizes, half):
    means = np.zeros(len(sizes))
    for i, size in enumerate(sizes):
        part, asked = postings[ranking[:size]], queries[:, ranking[:size]].tocsr()
        means[i] = sum(judge((asked[rows] @ part).toarray(), rows).sum() for rows in blocks(half))
    return means


def nested(ranking, sizes, half):
    steps = [ranking[low:high] for low, high in zip([0, *sizes[:-1]], sizes)]
    pieces = [(postings[step], queries[:, step].tocsr()) for step in steps]
    means = np.zeros(len(sizes))
    for rows in blocks(half):
        similarities = np.zeros((rows.stop - rows.start, n), dtype=np.float32)
        for i, (part, asked) in enumerate(pieces):
            similarities += (asked[rows] @ part).toarray()
            means[i] += judge(similarities, rows).sum()
    return means


VERSIONS = {"scipy, size by size": size_by_size, "numpy, nested": nested}
RANKINGS = {name: read(f"ranking.{name}").astype(np.int64) for name in ABOUT["sample"]}


def work(task):
    version, selector, sizes, half = task
    return VERSIONS[version](RANKINGS[selector], sizes, half)


def main():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        for version in VERSIONS:
            lists, seconds = 0, 0.0
            for selector, ranking in RANKINGS.items():
                sizes = [len(ranking) if s == "all" else min(int(s), len(ranking)) for s in ABOUT["sizes"]]
                start = time.perf_counter()
                halves = pool.map(work, [(version, selector, sizes, half) for half in (0, 1)], chunksize=1)
                seconds += time.perf_counter() - start
                lists += len(sizes) * test.shape[0]
                mean = float(np.mean(sum(halves) / test.shape[0]))
                report(f"reuters: mean RPrec over sizes, {selector}", mean, "score", version)
            note = f"{version}: {lists} classifications in {seconds:.1f} s, {len(RANKINGS)} rankings"
            report(GRID, lists / seconds, "/s", note)


if __name__ == "__main__":
    main()
