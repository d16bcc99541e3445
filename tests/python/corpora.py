"""Random corpora with ready tokens, so that no tokeniser comes between two implementations."""

import json

import numpy as np


class Corpus:
    """Training and test documents: counts (documents x terms), memberships (documents x labels), and their files."""

    def __init__(self, folder, seed, train=300, test=1500, terms=150, labels=7, single_label=True, unlabelled=0.05):
        rng = np.random.default_rng(seed)
        base = rng.dirichlet(np.full(terms, 0.2), size=labels)
        prior = rng.dirichlet(np.full(labels, 3.0))
        documents = train + test
        self.counts = np.zeros((documents, terms), dtype=int)
        self.members = np.zeros((documents, labels), dtype=bool)
        for d in range(documents):
            of = rng.choice(labels, p=prior)
            self.members[d, of] = True
            if not single_label:
                self.members[d] |= rng.random(labels) < 0.15
            words = base[self.members[d]].mean(0)
            mixture = 0.5 * words + 0.5 / terms
            self.counts[d] = rng.multinomial(rng.integers(4, 40), mixture / mixture.sum())
            if not single_label and rng.random() < unlabelled:
                self.members[d] = False
        # Words that only test documents have: they count in a document's length and nowhere else.
        self.counts[:train, :3] = 0
        self.terms = [f"wx{t:03}q" for t in range(terms)]
        self.labels = [f"label{c}" for c in range(labels)]
        self.known = self.counts[:train].any(0)
        assert self.members[:train].sum(0).min() > 0 and self.counts[train:, :3].any()
        self.train, self.test = np.arange(train), np.arange(train, documents)
        self.train_path = self.write(folder / "train.jsonl", self.train)
        self.test_path = self.write(folder / "test.jsonl", self.test)

    def write(self, path, rows):
        with open(path, "w", encoding="utf-8") as out:
            for d in rows:
                tokens = [w for t, w in enumerate(self.terms) for _ in range(self.counts[d, t])]
                names = [self.labels[c] for c in np.flatnonzero(self.members[d])]
                out.write(json.dumps({"id": f"d{d}", "tokens": tokens, "labels": names}) + "\n")
        return path

    def features(self, rows):
        """Counts of the terms that training documents have."""
        return self.counts[rows][:, self.known]

    def tfidf(self, rows):
        """Method 6: (1 + log tf) log(n/df), scaled to length 1."""
        train = self.features(self.train)
        idf = np.log(len(train) / (train > 0).sum(0))
        counts = self.features(rows)
        weights = np.where(counts > 0, (1 + np.log(np.maximum(counts, 1))) * idf, 0)
        norms = np.sqrt((weights**2).sum(1, keepdims=True))
        return np.divide(weights, norms, out=np.zeros_like(weights), where=norms > 0)

    def scores(self, lines, absent=np.nan):
        """The scores of `tamis classify --scores` as documents x labels."""
        out = np.full((len(lines), len(self.labels)), absent, dtype=float)
        for row, line in enumerate(lines):
            for entry in line["ranked"]:
                out[row, self.labels.index(entry["label"])] = entry["score"]
        return out

    def decided(self, lines):
        """The labels that documents got, as documents x labels."""
        out = np.zeros((len(lines), len(self.labels)), dtype=bool)
        for row, line in enumerate(lines):
            out[row, [self.labels.index(name) for name in line["labels"]]] = True
        return out
