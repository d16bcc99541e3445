"""Text to terms outside the core: a callable of the user's, or the core's own terms one document at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import strip_accents_ascii, strip_accents_unicode

from . import _core

#: How accents are taken off, as CountVectorizer does it.
ACCENTS = {"ascii": strip_accents_ascii, "unicode": strip_accents_unicode}


class CoreAnalyzer:
    """The core's terms of a document: what ``TextCounter.build_analyzer`` gives. It can be pickled."""

    def __init__(self, text: str, accents: Callable[[str], str] | None = None):
        self._text, self._accents = text, accents

    def __call__(self, document: str) -> list[str]:
        document = document if self._accents is None else self._accents(document)
        return _core.analyze([document], self._text)[0]


class TokenAnalyzer:
    """Terms of the user's own tokens: lower case, stop words and n-grams as the counter says."""

    def __init__(
        self,
        tokenizer: Callable[[str], Iterable[str]],
        lowercase: bool,
        stop_words: Iterable[str],
        ngrams: tuple[int, int],
        accents: Callable[[str], str] | None = None,
    ):
        self._tokenizer, self._lowercase, self._accents = tokenizer, lowercase, accents
        self._stop, self._ngrams = frozenset(stop_words), ngrams

    def __call__(self, document: str) -> list[str]:
        document = document.lower() if self._lowercase else document
        document = document if self._accents is None else self._accents(document)
        tokens = [token for token in self._tokenizer(document) if token not in self._stop]
        low, high = self._ngrams
        if high == 1:
            return tokens
        return [" ".join(tokens[at : at + n]) for n in range(low, high + 1) for at in range(len(tokens) - n + 1)]


def count(documents: list[Any], analyzer: Callable[[Any], Iterable[str]], vocabulary: list[str] | None) -> tuple:
    """Documents counted in Python: terms in order, ``indptr``, ``indices``, ``data`` and lengths, as the core gives them."""
    counted = [Counter(analyzer(document)) for document in documents]
    if vocabulary is None:
        vocabulary = sorted({term for row in counted for term in row})
    place = {term: at for at, term in enumerate(vocabulary)}
    rows = [sorted((place[term], n) for term, n in row.items() if term in place) for row in counted]
    indptr = np.cumsum([0] + [len(row) for row in rows]).astype(np.int32)
    indices = np.array([at for row in rows for at, _ in row], dtype=np.int32)
    data = np.array([n for row in rows for _, n in row], dtype=np.int64)
    return vocabulary, indptr, indices, data, np.array([row.total() for row in counted], dtype=np.int64)


class Weighter:
    """Counts to weights: the weightings that classifiers have inside (docs/method.md, method 6), for whoever wants the vectors."""

    def __init__(self, weights: str):
        base, _, score = weights.partition("*")
        self.base, self.score = base.strip(), score.strip() or None
        if self.base not in ("tfidf", "binary", "tf", "okapi"):
            raise ValueError(
                f"weights should be 'tfidf', 'binary', 'tf' or 'okapi', alone or times a selector score as in 'tfidf*rf'. "
                f"Got {weights!r}."
            )

    def fit(self, df: np.ndarray, documents: int, mean_length: float, scores: np.ndarray | None) -> Weighter:
        """Learns what each column is multiplied with."""
        df, n = df.astype(float), documents
        with np.errstate(divide="ignore"):
            if self.base == "tfidf":
                idf = np.log(n / df)
            elif self.base == "okapi":
                idf = np.sqrt(np.maximum(0, np.log((n - df + 0.5) / (df + 0.5))))
            else:
                idf = np.ones(len(df))
        # A term that no document has tells nothing.
        self.factors = np.where(df > 0, idf, 0.0)
        if scores is not None:
            self.factors = self.factors * np.maximum(scores, 0.0)
        self.mean_length = mean_length
        return self

    def weigh(self, X: sp.csr_matrix, lengths: np.ndarray) -> sp.csr_matrix:
        """The vectors of counted documents."""
        tf = X.data.astype(float)
        if self.base == "tfidf":
            tf = 1 + np.log(tf)
        elif self.base == "binary":
            tf = np.ones_like(tf)
        elif self.base == "okapi":
            share = lengths / self.mean_length if self.mean_length else np.zeros(len(lengths))
            tf = tf / (np.repeat(0.5 + 1.5 * share, np.diff(X.indptr)) + tf)
        out = sp.csr_matrix((tf * self.factors[X.indices], X.indices, X.indptr), shape=X.shape)
        if self.base == "tfidf":
            norms = np.sqrt(np.asarray(out.multiply(out).sum(axis=1)).ravel())
            out.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(out.indptr))
        return out
