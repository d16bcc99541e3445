"""scikit-learn's CountVectorizer with the same tokenisation, and wc -w."""

import subprocess
import time

from sklearn.feature_extraction.text import CountVectorizer

from common import DATA, advisories, best, newsgroups, peak_mb, report


def vectorize(texts):
    return CountVectorizer(token_pattern="[A-Za-z]{2,}", lowercase=True).fit_transform(texts)


texts = [d["text"] for d in advisories()]
for name, texts in [("advisories", texts), ("20news", newsgroups()[0])]:
    megabytes = sum(len(t.encode()) for t in texts) / 1e6
    seconds, counts = best(2, lambda: vectorize(texts))
    for threads in (1, 2):
        report(f"{name}: text to counts, {threads} thread(s)", megabytes / seconds, "MB/s",
               f"CountVectorizer: {counts.shape[1]} terms, {counts.nnz} entries")
    if name == "advisories":
        report("advisories: peak memory with the texts", peak_mb(), "MB")
file = DATA / "advisories/advisories.jsonl"
start = time.perf_counter()
subprocess.run(["wc", "-w", str(file)], check=True, stdout=subprocess.DEVNULL)
report("advisories.jsonl: file to counts, 1 thread(s)",
       file.stat().st_size / 1e6 / (time.perf_counter() - start), "MB/s", "peer is wc -w")
