"""scikit-learn's CountVectorizer with n-grams and characters, and LinearSVC on tf-idf of characters."""

import json
import sys

import numpy as np
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.svm import LinearSVC

from common import DATA, best, newsgroups, report

parts = [a for a in sys.argv[1:] if not a.startswith("--")]
wanted = lambda part: not parts or part in parts
rows = lambda name: [json.loads(line) for line in open(DATA / name / f"{name}.jsonl", encoding="utf-8")]

if wanted("counting"):
    chars = dict(analyzer="char", ngram_range=(1, 2))
    # Ours of one kind beside what scikit-learn has for it; the default stands beside plain words.
    for name, texts, compared in [
        ("20news", newsgroups()[0], {
            "words(1-2)": dict(ngram_range=(1, 2)),
            "words": {},
            "words(kind=letters)": dict(token_pattern="[A-Za-z]{2,}"),
        }),
        ("shopping", [row["text"] for row in rows("shopping")], {
            "chars(1-2,kind=text)": chars,
            "chars(1-2)": chars,
        }),
    ]:
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        for terms, parameters in compared.items():
            seconds, counts = best(1, lambda: CountVectorizer(**parameters).fit_transform(texts))
            for threads in (1, 2):
                report(f"{name}: {terms}, {threads} thread(s)", megabytes / seconds, "MB/s",
                       f"CountVectorizer: {counts.shape[1]} terms, {counts.nnz} entries")

if wanted("quality"):
    for name, field in [("shopping", "category"), ("shopping", "polarity"), ("wisesight", None)]:
        documents = rows(name)
        label = lambda row: row[field] if field else row["labels"][0]
        train, test = ([row for row in documents if row["split"] == part] for part in ("train", "test"))
        vectors = TfidfVectorizer(analyzer="char", ngram_range=(1, 2), sublinear_tf=True)
        x, z = vectors.fit_transform(row["text"] for row in train), vectors.transform(row["text"] for row in test)
        found = LinearSVC().fit(x, [label(row) for row in train]).predict(z)
        accuracy = float(np.mean(found == np.array([label(row) for row in test])))
        report(f"{name}{f' by {field}' if field else ''}: Accuracy of fit", accuracy, "score",
               "TfidfVectorizer(char, 1-2, sublinear_tf), LinearSVC")
