"""hiclass's LocalClassifierPerNode with LinearSVC on tf-idf, same split, same judgement: it learns one path for each
document (the first label's) and always answers with a leaf, since it cannot stop half-way."""

import time

import numpy as np
from hiclass import LocalClassifierPerNode
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.svm import LinearSVC

from common import DATA, advisories, peak_mb, report

NOTE = "hiclass 5.0.8, LocalClassifierPerNode(LinearSVC)"



class Svc(LinearSVC):
    """hiclass compares nodes by ``predict_proba``, which LinearSVC lacks: a monotone map of its scores."""

    def predict_proba(self, x):
        positive = 1 / (1 + np.exp(-self.decision_function(x)))
        return np.column_stack((1 - positive, positive))


parent = {}
for line in open(DATA / "advisories/cwe.taxonomy.tsv", encoding="utf-8"):
    child, above, *_ = line.rstrip("\n").split("\t")
    parent[child] = above


def path(label):
    nodes = []
    while label:
        nodes.append(label)
        label = parent[label]
    return nodes[::-1]


documents = sorted(advisories(), key=lambda d: (d["date"], d["id"]))
cut = len(documents) - round(len(documents) * 0.2)
train, test = documents[:cut], documents[cut:]
depth = max(len(path(label)) for label in parent)
y = np.array([(path(d["labels"][0]) + [""] * depth)[:depth] for d in train])

start = time.perf_counter()
vectors = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\b\w\w+\b")
x = vectors.fit_transform(d["text"] for d in train)
model = LocalClassifierPerNode(local_classifier=Svc(C=1)).fit(x, y)
seconds = time.perf_counter() - start
memory = peak_mb()
start = time.perf_counter()
found = model.predict(vectors.transform(d["text"] for d in test))
classify = time.perf_counter() - start

shared = given = wanted = exact = 0
for row, document in zip(found, test):
    answer = [node for node in row if node]
    truth = {node for label in document["labels"] for node in path(label)}
    shared += len(truth & set(answer))
    given += len(answer)
    wanted += len(truth)
    exact += document["labels"] == answer[-1:]
report("progressive: fit", seconds, "s", NOTE)
report("progressive: peak memory", memory, "MB")
report("progressive: classify the test part", classify, "s")
for answers in ("best path", "tsa, one path"):
    report(f"progressive, {answers}: hF1", 2 * shared / (given + wanted), "score")
    report(f"progressive, {answers}: exact node", exact / len(test), "score")
