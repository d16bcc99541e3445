"""How good: `tamis fit` with no option beside the best of each peer's grid, on the same documents.

    cargo xtask bench quality [TASK…] [peers=NAME,NAME…]
    cargo xtask bench quality seconds=20news,reuters

Every peer is tuned by cross-validation on the training documents alone, and answers the test documents once. A task is one
split or ten folds. Printed for each: the measure of both sides, the better peer last, with the interval of the difference
over documents (paired bootstrap, 95 %) and the p-value of a paired test (sign test over documents; of the F1 measures,
approximate randomisation).
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse import csc_matrix
from scipy.stats import binomtest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import f1_score
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import MultiLabelBinarizer
from sklearn.svm import LinearSVC

from common import DATA, advisories, newsgroups

# Grids have corners where a solver gives up or a label is missing; that is theirs to lose.
warnings.filterwarnings("ignore")
TAMIS = os.environ["TAMIS_BIN"]
SEED = 1
FOLDS = 10


# ---------------------------------------------------------------- tasks


class Task:
    """Documents, their sets of labels, and the splits to be judged on."""

    def __init__(self, texts, labels, splits, measures, single=True, counts=None):
        self.texts, self.labels, self.splits, self.measures = np.array(texts, dtype=object), labels, splits, measures
        self.single, self.counts = single, counts


def folded(texts, labels, measures=("Accuracy",)):
    order = np.random.RandomState(SEED).permutation(len(texts))
    parts = np.array_split(order, FOLDS)
    splits = [(np.concatenate(parts[:i] + parts[i + 1 :]), parts[i]) for i in range(FOLDS)]
    return Task(texts, labels, splits, measures)


def parted(train, test, measures, single=True):
    texts = [t for t, _ in train] + [t for t, _ in test]
    labels = [l for _, l in train] + [l for _, l in test]
    split = (np.arange(len(train)), np.arange(len(train), len(texts)))
    return Task(texts, labels, [split], measures, single)


def sentences(name):
    documents = [json.loads(line) for line in open(DATA / f"sentences/{name}.jsonl", encoding="utf-8")]
    return folded([d["text"] for d in documents], [d["labels"] for d in documents])


def trec():
    documents = [json.loads(line) for line in open(DATA / "sentences/trec.jsonl", encoding="utf-8")]
    part = lambda name: [(d["text"], [d["labels"][0].split("/")[0]]) for d in documents if d["split"] == name]
    return parted(part("train"), part("test"), ("Accuracy",))


def movies():
    files = [f for label in ("neg", "pos") for f in sorted((DATA / "movie_reviews" / label).iterdir())]
    return folded([f.read_text(encoding="latin-1") for f in files], [[f.parent.name] for f in files])


def news():
    (train, y), (test, t) = newsgroups(("training",)), newsgroups(("test",))
    return parted([(d, [l]) for d, l in zip(train, y)], [(d, [l]) for d, l in zip(test, t)], ("Accuracy",))


def reuters():
    parts = {"TRAIN": [], "TEST": []}
    for file in sorted((DATA / "reuters21578").glob("*.sgm")):
        for story in re.findall(r"<REUTERS (.*?)</REUTERS>", file.read_bytes().decode("latin-1"), re.S):
            head, body = story.split(">", 1)
            split = re.search(r'LEWISSPLIT="(.*?)"', head).group(1)
            if 'TOPICS="YES"' not in head or split not in parts:
                continue
            topics = re.findall(r"<D>(.*?)</D>", re.search(r"<TOPICS>(.*?)</TOPICS>", body, re.S).group(1))
            words = re.search(r"<TEXT.*?>(.*)</TEXT>", body, re.S).group(1)
            words = re.sub(r"<DATELINE>.*?</DATELINE>|<[^>]*>", " ", words, flags=re.S)
            parts[split].append((words.replace("&lt;", "<").replace("&amp;", "&"), topics))
    seen = lambda part: {l for _, labels in parts[part] for l in labels}
    kept = seen("TRAIN") & seen("TEST")
    clean = lambda part: [(t, [l for l in labels if l in kept]) for t, labels in parts[part]]
    return parted(clean("TRAIN"), clean("TEST"), ("F1@micro", "F1@macro"), single=False)


def newest():
    documents = sorted(advisories(), key=lambda d: (d["date"], d["id"]))
    cut = len(documents) - round(len(documents) * 0.2)
    sizes = {}
    for d in documents[:cut]:
        for label in d["labels"]:
            sizes[label] = sizes.get(label, 0) + 1
    clean = [(d["text"], [l for l in d["labels"] if sizes.get(l, 0) >= 10]) for d in documents]
    train, test = ([d for d in part if d[1]] for part in (clean[:cut], clean[cut:]))
    return parted(train, test, ("P@1", "F1@macro"), single=False)


def rcv1():
    texts, labels, rows = [], [], []
    for line in open(DATA / "rcv1/rcv1-15k-counts.svm", encoding="utf-8"):
        head, _, rest = line.rstrip("\n").partition(" ")
        pairs = [pair.split(":") for pair in rest.split("#")[0].split()]
        labels.append(head.split(",") if head else [])
        texts.append(" ".join(f"t{term} " * int(count) for term, count in pairs))
    order = np.random.RandomState(SEED).permutation(len(texts))
    cut = len(texts) // 5
    return Task(texts, labels, [(np.sort(order[cut:]), np.sort(order[:cut]))], ("F1@micro", "F1@macro"), False, True)


TASKS = {
    "mr": lambda: sentences("mr"),
    "cr": lambda: sentences("cr"),
    "mpqa": lambda: sentences("mpqa"),
    "subj": lambda: sentences("subj"),
    "trec": trec,
    "movie_reviews": movies,
    "20news": news,
    "reuters": reuters,
    "rcv1": rcv1,
    "advisories": newest,
}
# Figures that were published or asked for.
PUBLISHED = {"mr": 0.794, "cr": 0.818, "mpqa": 0.863, "subj": 0.932, "movie_reviews": 0.8945}


# ---------------------------------------------------------------- ours


def ours(task, train, test, folder):
    """Labels by `tamis fit` with no option, and the first label of each document."""
    def write(name, rows, with_labels):
        with open(folder / name, "w", encoding="utf-8") as out:
            for row in rows:
                record = {"id": str(row), ("tokens" if task.counts else "text"): task.texts[row].split() if task.counts else task.texts[row]}
                if with_labels:
                    record["labels"] = list(task.labels[row])
                out.write(json.dumps(record) + "\n")

    write("train.jsonl", train, True)
    write("test.jsonl", test, False)
    # Documents that a split leaves without a label are negatives, as they are for the peers.
    options = ["--unlabelled", "negative"] if any(not task.labels[row] for row in train) else []
    run = lambda *words: subprocess.run([TAMIS, *words], cwd=folder, check=True, capture_output=True, text=True).stdout
    said = run("fit", "train.jsonl", "-o", "m.model", *options)
    answers = [json.loads(line) for line in run("classify", "m.model", "test.jsonl").splitlines()]
    first = [json.loads(line)["labels"][:1] for line in run("classify", "m.model", "test.jsonl", "--top", "1").splitlines()]
    chosen = re.search(r"^.* came first.*$", said, re.M)
    return [a["labels"] for a in answers], [f[0] if f else "" for f in first], chosen.group(0) if chosen else said[:200]


# ---------------------------------------------------------------- peers


def inner(rows):
    return list(KFold(3, shuffle=True, random_state=SEED).split(np.arange(rows)))


def best_of_grid(grid, fit, score, rows):
    """The setting with the best mean score over three folds of the training documents."""
    folds = inner(rows)
    means = [np.mean([score(fit(setting, a), b) for a, b in folds]) for setting in grid]
    return grid[int(np.argmax(means))]


class Svc:
    """TfidfVectorizer (words, or words 1-2; sublinear) and LinearSVC, over C."""

    grid = [(n, c) for n in (1, 2) for c in (0.1, 0.3, 1, 3)]

    def answers(self, task, train, test):
        texts, y, names = task.texts[train], *encoded(task, train)
        spaces = {}
        for n in {n for n, _ in self.grid}:
            vectors = TfidfVectorizer(sublinear_tf=True, ngram_range=(1, n), min_df=1 if len(train) < 20000 else 2, token_pattern=r"\b\w+\b", dtype=np.float32)
            spaces[n] = (vectors.fit_transform(texts), vectors)
        make = lambda c: LinearSVC(C=c) if task.single else OneVsRestClassifier(LinearSVC(C=c))
        fit = lambda s, rows: (s, make(s[1]).fit(spaces[s[0]][0][rows], y[rows]))
        def score(fitted, rows):
            (n, _), model = fitted
            return quality(y[rows], model.predict(spaces[n][0][rows]), task)
        n, c = best_of_grid(self.grid, fit, score, len(train))
        model = make(c).fit(spaces[n][0], y)
        scores = model.decision_function(spaces[n][1].transform(task.texts[test]))
        return decided(scores, names, task), f"words 1-{n}, C = {c}"


class Nbsvm:
    """NBSVM (Wang and Manning 2012): binary words 1-2 weighed by log-count ratios, LinearSVC, interpolated."""

    grid = [(b, c) for b in (0.25, 1.0) for c in (0.1, 1, 10)]

    def answers(self, task, train, test):
        if not task.single:
            return None, "for one label a document"
        y, names = encoded(task, train)
        vectors = CountVectorizer(ngram_range=(1, 2), binary=True, token_pattern=r"\b\w+\b|[^\w\s]", dtype=np.float32)
        x = vectors.fit_transform(task.texts[train])
        classes = [1] if len(names) == 2 else range(len(names))

        def fit(setting, rows):
            beta, c = setting
            models = []
            for label in classes:
                positive = (y[rows] == label).astype(float)
                p, q = (1 + x[rows].T @ side for side in (positive, 1 - positive))
                r = np.log((p / p.sum()) / (q / q.sum())).astype(np.float32)
                model = LinearSVC(C=c).fit(x[rows].multiply(r).tocsr(), positive)
                w = model.coef_[0]
                w = (1 - beta) * np.abs(w).mean() + beta * w
                models.append((r * w, model.intercept_[0]))
            return models

        def scores(models, x):
            s = np.column_stack([x @ w + b for w, b in models])
            return s[:, 0] if len(names) == 2 else s

        predict = lambda s: (s > 0).astype(int) if s.ndim == 1 else s.argmax(axis=1)
        score = lambda models, rows: np.mean(predict(scores(models, x[rows])) == y[rows])
        setting = best_of_grid(self.grid, fit, score, len(train))
        found = scores(fit(setting, np.arange(len(train))), vectors.transform(task.texts[test]))
        return decided(found, names, task), f"beta = {setting[0]}, C = {setting[1]}"


class LibMultiLabel:
    """LibMultiLabel's linear module with its thresholds (micro-macro), on its own tf-idf."""

    def answers(self, task, train, test):
        if task.single:
            return None, "for several labels a document"
        try:
            import libmultilabel.linear as linear
        except ImportError:
            subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "libmultilabel"], check=True)
            import libmultilabel.linear as linear
        data = {part: {"x": list(task.texts[rows]), "y": [list(task.labels[r]) for r in rows]} for part, rows in (("train", train), ("test", test))}
        preprocessor = linear.Preprocessor(include_test_labels=False, tfidf_params={"sublinear_tf": True})
        ready = preprocessor.fit({"data_format": "txt", **data}).transform({"data_format": "txt", **data})
        class Truth(csc_matrix):
            """LibMultiLabel 0.10 asks scipy for the sum over a third axis where it means documents; newer scipy refuses."""

            def tocsc(self, copy=False):
                return self

            def sum(self, axis=None, dtype=None, out=None):
                return super().sum(axis=0 if axis == 2 else axis, dtype=dtype, out=out)

        train_on = lambda y, x, c: linear.train_thresholding(Truth(y), x, options=f"-s 1 -c {c} -B 1 -q", verbose=False)
        best, chosen = -1.0, None
        from sklearn.model_selection import train_test_split
        a, b = train_test_split(np.arange(len(train)), test_size=0.2, random_state=SEED)
        for c in (0.3, 1, 3):
            model = train_on(ready["train"]["y"][a], ready["train"]["x"][a], c)
            found = linear.predict_values(model, ready["train"]["x"][b]) > 0
            value = quality(ready["train"]["y"][b].toarray(), found.astype(int), task)
            if value > best:
                best, chosen = value, c
        model = train_on(ready["train"]["y"], ready["train"]["x"], chosen)
        scores = linear.predict_values(model, ready["test"]["x"])
        return decided(np.asarray(scores), list(preprocessor.binarizer.classes_), task), f"C = {chosen}"


class FastText:
    """fastText with its autotune for 120 s, on a fifth of the training documents held out."""

    def answers(self, task, train, test):
        import fasttext

        if len(task.splits) > 1:
            return None, "one split only: two minutes each"
        names = sorted({l for row in train for l in task.labels[row]})
        number = {name: i for i, name in enumerate(names)}
        clean = lambda text: " ".join(re.findall(r"\w+|[^\w\s]", text.lower()))
        line = lambda row: " ".join(f"__label__{number[l]}" for l in task.labels[row]) + " " + clean(task.texts[row]) + "\n"
        rows = np.random.RandomState(SEED).permutation(train)
        cut = len(rows) // 5
        with tempfile.TemporaryDirectory() as folder:
            for name, part in (("valid", rows[:cut]), ("train", rows[cut:]), ("all", rows)):
                Path(folder, name).write_text("".join(line(r) for r in part if task.labels[r]), encoding="utf-8")
            tuned = fasttext.train_supervised(f"{folder}/train", autotuneValidationFile=f"{folder}/valid", autotuneDuration=120, verbose=0, thread=2)
            how = tuned.f.getArgs()
            model = fasttext.train_supervised(f"{folder}/all", lr=how.lr, dim=how.dim, epoch=how.epoch, wordNgrams=how.wordNgrams, minn=how.minn, maxn=how.maxn, bucket=how.bucket, loss=how.loss.name, verbose=0, thread=2)
        scores = np.zeros((len(test), len(names)))
        for at, row in enumerate(test):
            # Not `predict` of the package, which numpy 2 breaks.
            for probability, label in model.f.predict(clean(task.texts[row]) + "\n", len(names), 0.0, "strict"):
                scores[at, int(label[len("__label__") :])] = probability
        return decided(scores - 0.5 if not task.single else scores, names, task), f"wordNgrams = {how.wordNgrams}, epoch = {how.epoch}"


class Embeddings:
    """all-MiniLM-L6-v2 (packaged with its weights) and logistic regression over C."""

    grid = [1, 10, 100]

    def answers(self, task, train, test):
        from sklearn.linear_model import LogisticRegression

        if len(task.texts) > 25000:
            return None, "embedding takes too long here"
        if not hasattr(task, "vectors"):
            from minilm import MiniLM

            task.vectors = MiniLM().encode(task.texts)
        x, (y, names) = task.vectors, encoded(task, train)
        make = lambda c: LogisticRegression(C=c, max_iter=2000) if task.single else OneVsRestClassifier(LogisticRegression(C=c, max_iter=500))
        fit = lambda c, rows: make(c).fit(x[train[rows]], y[rows])
        score = lambda model, rows: quality(y[rows], model.predict(x[train[rows]]), task)
        c = best_of_grid(self.grid, fit, score, len(train))
        return decided(make(c).fit(x[train], y).decision_function(x[test]), names, task), f"C = {c}"


PEERS = {"LinearSVC": Svc, "NBSVM": Nbsvm, "LibMultiLabel": LibMultiLabel, "fastText": FastText, "MiniLM": Embeddings}


# ---------------------------------------------------------------- measures


def encoded(task, rows):
    names = sorted({l for row in rows for l in task.labels[row]})
    if task.single:
        number = {name: i for i, name in enumerate(names)}
        return np.array([number[task.labels[row][0]] for row in rows]), names
    binarizer = MultiLabelBinarizer(classes=names)
    return binarizer.fit_transform([task.labels[row] for row in rows]).astype(np.int64), names


def quality(y, predicted, task):
    """What a peer is tuned for."""
    if task.single:
        return np.mean(y == predicted)
    return f1_score(y, predicted, average="micro", zero_division=0)


def decided(scores, names, task):
    """Labels and first labels from scores."""
    if scores.ndim == 1:
        first = [names[int(s > 0)] for s in scores]
        return [[f] for f in first], first
    first = [names[i] for i in scores.argmax(axis=1)]
    if task.single:
        return [[f] for f in first], first
    return [[names[i] for i in np.flatnonzero(row > 0)] for row in scores], first


class Answers:
    """What a side answered to all test documents of a task, and how good that is."""

    def __init__(self, task):
        self.task, self.labels, self.first, self.seconds, self.notes = task, {}, {}, 0.0, []

    def add(self, test, labels, first):
        for row, l, f in zip(test, labels, first):
            self.labels[row], self.first[row] = l, f

    def values(self, measure):
        """A number for each document that averages to the measure, or a table of hits for F1."""
        rows = sorted(self.labels)
        if measure == "Accuracy":
            return np.array([float(self.labels[r] == list(self.task.labels[r])) for r in rows])
        if measure == "P@1":
            return np.array([float(self.first[r] in self.task.labels[r]) for r in rows])
        answers = [[self.first[r]] for r in rows] if self.task.measures[0] == "P@1" else [self.labels[r] for r in rows]
        names = sorted({l for r in rows for l in self.task.labels[r]} | {l for a in answers for l in a})
        binarizer = MultiLabelBinarizer(classes=names, sparse_output=True)
        truth, given = binarizer.fit_transform([self.task.labels[r] for r in rows]), binarizer.fit_transform(answers)
        return truth.multiply(given).tocsr(), truth.tocsr(), given.tocsr(), names


def f1(table, weights, average):
    hits, truth, given, _ = table
    hit, sum_ = weights @ hits, weights @ truth + weights @ given
    if average == "F1@micro":
        return 2 * hit.sum() / max(sum_.sum(), 1)
    # Over labels that occur or are answered, as scikit-learn has it.
    there = np.asarray((truth.sum(axis=0) + given.sum(axis=0))).ravel() > 0
    return float(np.mean((2 * hit / np.maximum(sum_, 1e-12))[there]))


def compare(mine, theirs, measure, rounds=1000):
    """Both values, the interval of their difference and a p-value."""
    rng = np.random.RandomState(SEED)
    a, b = mine.values(measure), theirs.values(measure)
    if not measure.startswith("F1"):
        n = len(a)
        wins, losses = int((a > b).sum()), int((a < b).sum())
        p = binomtest(wins, wins + losses).pvalue if wins + losses else 1.0
        draws = [np.mean((a - b)[rng.randint(0, n, n)]) for _ in range(rounds)]
        return a.mean(), b.mean(), np.percentile(draws, [2.5, 97.5]), p
    n = a[0].shape[0]
    ones = np.ones(n)
    values = f1(a, ones, measure), f1(b, ones, measure)
    draws = []
    for _ in range(rounds // 4):
        weights = np.bincount(rng.randint(0, n, n), minlength=n).astype(float)
        draws.append(f1(a, weights, measure) - f1(b, weights, measure))
    interval = np.percentile(draws, [2.5, 97.5])
    p = 2 * min(np.mean(np.array(draws) <= 0), np.mean(np.array(draws) >= 0))
    return *values, interval, min(1.0, max(p, 4.0 / rounds))


def line(side, what, value, note):
    print(json.dumps({"side": side, "what": what, "value": value, "unit": "score", "note": note}), flush=True)


def seconds(name):
    """How long `tamis fit` takes with no option, beside GridSearchCV over words 1 / 1-2 and four values of C with three folds, which
    counts the words of each setting and fold anew, as people write it."""
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    task = TASKS[name]()
    train, test = task.splits[0]
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        ours(task, train, test[:1], Path(folder))
        mine = time.perf_counter() - start
    y, _ = encoded(task, train)
    pipeline = make_pipeline(TfidfVectorizer(sublinear_tf=True), LinearSVC() if task.single else OneVsRestClassifier(LinearSVC()))
    c = "linearsvc__C" if task.single else "onevsrestclassifier__estimator__C"
    grid = {"tfidfvectorizer__ngram_range": [(1, 1), (1, 2)], c: [0.1, 0.3, 1, 3]}
    scoring = "accuracy" if task.single else "f1_micro"
    start = time.perf_counter()
    GridSearchCV(pipeline, grid, cv=3, scoring=scoring).fit(task.texts[train], y)
    theirs = time.perf_counter() - start
    for side, value in (("ours", mine), ("peer", theirs)):
        print(json.dumps({"side": side, "what": f"{name}: fit, beside GridSearchCV", "value": value, "unit": "s", "note": ""}), flush=True)


def main():
    words = sys.argv[1:]
    timed = next((w[8:].split(",") for w in words if w.startswith("seconds=")), [])
    for name in timed:
        seconds(name)
    if timed:
        return
    peers = next((w[6:].split(",") for w in words if w.startswith("peers=")), list(PEERS))
    peers = [p for p in peers if p]
    chosen = [w for w in words if "=" not in w] or list(TASKS)
    for name in chosen:
        task = TASKS[name]()
        mine = Answers(task)
        for train, test in task.splits:
            with tempfile.TemporaryDirectory() as folder:
                start = time.perf_counter()
                labels, first, note = ours(task, train, test, Path(folder))
                mine.seconds += time.perf_counter() - start
            mine.add(test, labels, first)
            mine.notes.append(note)
        print(f"{name}: ours {mine.seconds:.0f} s; {mine.notes[0]}", file=sys.stderr, flush=True)
        found = {}
        for peer in peers:
            theirs = Answers(task)
            for train, test in task.splits:
                start = time.perf_counter()
                try:
                    answered, note = PEERS[peer]().answers(task, train, test)
                except Exception as error:  # a peer that does not run here is left out, and said so
                    answered, note = None, repr(error)
                theirs.seconds += time.perf_counter() - start
                theirs.notes.append(note)
                if answered is None:
                    break
                theirs.add(test, *answered)
            if answered is None:
                print(f"{name}: {peer} left out: {note}", file=sys.stderr, flush=True)
                continue
            found[peer] = theirs
            print(f"{name}: {peer} {theirs.seconds:.0f} s; {theirs.notes[0]}", file=sys.stderr, flush=True)
        for measure in task.measures:
            single = not measure.startswith("F1")
            value = mine.values(measure).mean() if single else f1(mine.values(measure), np.ones(len(mine.labels)), measure)
            published = f", published {PUBLISHED[name]}" if name in PUBLISHED else ""
            line("ours", f"{name}: {measure}", float(value), f"{mine.seconds:.0f} s{published}")
            for peer, theirs in found.items():
                ours_, value, (low, high), p = compare(mine, theirs, measure)
                line("ours", f"{name}: {measure}, {peer}", float(ours_), f"difference {low:+.4f} to {high:+.4f}, p = {p:.2g}")
                line("peer", f"{name}: {measure}, {peer}", float(value), f"{theirs.seconds:.0f} s, {theirs.notes[0]}")


main()
