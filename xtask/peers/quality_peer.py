"""scikit-learn's TfidfVectorizer and LinearSVC on the same splits and labels."""

import re
from collections import Counter

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from common import DATA, advisories, newsgroups, report

NOTE = "TfidfVectorizer(sublinear_tf), LinearSVC"


def vectorizer():
    return TfidfVectorizer(sublinear_tf=True, token_pattern=r"\b\w\w+\b", dtype=np.float64)


def reuters():
    documents = []
    for file in sorted((DATA / "reuters21578").glob("*.sgm")):
        text = file.read_bytes().decode("latin-1")
        for story in re.findall(r"<REUTERS (.*?)</REUTERS>", text, re.S):
            head, body = story.split(">", 1)
            if 'TOPICS="YES"' not in head:
                continue
            split = re.search(r'LEWISSPLIT="(.*?)"', head).group(1)
            if split not in ("TRAIN", "TEST"):
                continue
            topics = re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", body, re.S).group(1))
            words = re.search(r"<TEXT.*?>(.*)</TEXT>", body, re.S).group(1)
            words = re.sub(r"<DATELINE>.*?</DATELINE>|<[^>]*>", " ", words, flags=re.S)
            documents.append((split, words.replace("&lt;", "<").replace("&amp;", "&"), topics))
    return documents


documents = reuters()
train, test = ([d for d in documents if d[0] == part] for part in ("TRAIN", "TEST"))
kept = set(l for d in train for l in d[2]) & set(l for d in test for l in d[2])
binarizer = MultiLabelBinarizer(classes=sorted(kept))
truth = lambda part: binarizer.fit_transform([[l for l in d[2] if l in kept] for d in part]).astype(np.int64)
vectors = vectorizer()
x, z = vectors.fit_transform(d[1] for d in train), vectors.transform(d[1] for d in test)
y, t = truth(train), truth(test)
decided = OneVsRestClassifier(LinearSVC(C=1)).fit(x, y).predict(z)
for what in ("", ", tuned thresholds"):
    note = NOTE if not what else NOTE + " at threshold 0"
    report(f"reuters-90: F1@micro{what}", f1_score(t, decided, average="micro"), "score", note)
    report(f"reuters-90: F1@macro{what}", f1_score(t, decided, average="macro", zero_division=0), "score", note)

(train, y), (test, t) = newsgroups(("training",)), newsgroups(("test",))
vectors = vectorizer()
x, z = vectors.fit_transform(train), vectors.transform(test)
report("20news: Accuracy", float(np.mean(LinearSVC(C=1).fit(x, y).predict(z) == np.array(t))), "score", NOTE)
best = SelectKBest(chi2, k=x.shape[1] // 5).fit(x, y)
accuracy = np.mean(LinearSVC(C=1).fit(best.transform(x), y).predict(best.transform(z)) == np.array(t))
report("20news: Accuracy, 20 % of the words", float(accuracy), "score", NOTE + " after SelectKBest(chi2)")

documents = sorted(advisories(), key=lambda d: (d["date"], d["id"]))
cut = len(documents) - round(len(documents) * 0.2)
sizes = Counter(l for d in documents[:cut] for l in d["labels"])
kept = {l for l, n in sizes.items() if n >= 10}
clean = [(d["text"], [l for l in d["labels"] if l in kept]) for d in documents]
train, test = [d for d in clean[:cut] if d[1]], [d for d in clean[cut:] if d[1]]
binarizer = MultiLabelBinarizer(classes=sorted(kept))
y, t = (binarizer.fit_transform([d[1] for d in part]).astype(np.int64) for part in (train, test))
vectors = TfidfVectorizer(sublinear_tf=True, token_pattern=r"\b\w\w+\b", min_df=2)
x, z = vectors.fit_transform(d[0] for d in train), vectors.transform(d[0] for d in test)
scores = OneVsRestClassifier(LinearSVC(C=1)).fit(x, y).decision_function(z)
first = scores.argmax(axis=1)
report("advisories: P@1", float(t[np.arange(len(test)), first].mean()), "score", NOTE)
one = np.zeros_like(t)
one[np.arange(len(test)), first] = 1
report("advisories: F1@macro", f1_score(t, one, average="macro", zero_division=0), "score", NOTE + ", first label")
