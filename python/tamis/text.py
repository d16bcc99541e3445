"""Raw strings to counts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval, RealNotInt, StrOptions
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from . import _core, _inputs
from ._analyze import ACCENTS, CoreAnalyzer, TokenAnalyzer, Weighter, count
from ._parameters import RUNNING, TEXT


class TextCounter(TransformerMixin, BaseEstimator):
    """Count words: raw strings to a sparse matrix.

    Like scikit-learn's ``CountVectorizer``, with the tokenisation of tamis: what it counts is what ``tamis count`` counts.

    Parameters
    ----------
    terms : str, default=None
        What a term is, as one expression: ``"words(1-2)+chars(3-5)"``, ``"words(stem=english,stop=english)"``. The
        parameters below are shorthand for it; with it, they hold for blocks that do not say otherwise. Blocks of fields, as in
        ``"title:words(1-2)+body:words"``, read the columns of a DataFrame, an Arrow table or a dictionary.
    words : {"scripts", "unicode", "letters", "blanks"}, default=None
        What a word is: as each script has them (the default), by Unicode's rules alone, ``[A-Za-z]+``, or what stands
        between blanks.
    lowercase : bool, default=True
        Whether words are lower-cased.
    min_length, max_length : int, default=None
        Shortest and longest word, in characters; 2 and 40 when None, and any for character n-grams.
    digits : {"keep", "fold", "numbers", "drop"}, default="keep"
        Keep words with digits, make every digit ``0``, drop words without a letter, or drop words with a digit.
    stop_words : str or list of str, default=None
        A language such as ``"english"``, a file with a word in each line, or the words themselves.
    stem : str, default=None
        Snowball stemmer such as ``"english"``.
    language : str, default=None
        Stop words and stemming of a language, where those are not said; ``"auto"`` recognises it from the first documents
        fitted, and ``language_`` says what it took (None for one that has neither).
    ngrams : int, default=1
        Word n-grams of 1 to this many words.
    char_ngrams : tuple (low, high), default=None
        Character n-grams within runs of letters instead.
    html : {"keep", "strip"}, default=None
        Whether tags and entities of HTML are taken off before words are looked for; kept when None.
    min_df, max_df : int or float, default=1 and 1.0
        Terms in fewer or more documents are left out; a float is a share of the documents.
    max_features : int, default=None
        Only so many terms, by occurrences in all documents.
    ngram_range : tuple (low, high), default=None
        Word n-grams of so many words, as of ``CountVectorizer``; instead of ``ngrams``, which start at single words.
    vocabulary : dict, or iterable of str, default=None
        Only these terms, in this order (a dict says their columns); ``transform`` needs no ``fit`` then.
    weights : str, default=None
        Weights instead of counts: ``tfidf``, ``binary``, ``tf`` or ``okapi``, as classifiers compute them inside, alone or times a
        selector score that is learned from y, such as ``tfidf*rf``.
    tokenizer : callable, default=None
        Gives the tokens of a text; lower case, stop words and n-grams come after it. Much slower: it runs in Python, on one
        core.
    analyzer : callable, default=None
        Gives the terms of a document, which may be anything. As slow.
    strip_accents : {"ascii", "unicode"} or callable, default=None
        Take accents off before words are looked for. It runs in Python.
    binary : bool, default=False
        Ones instead of counts.
    dtype : dtype, default=numpy.int64
        Type of the counts.
    encoding, decode_error : str, default="utf-8" and "strict"
        How documents that are bytes are decoded.
    n_jobs : int, default=None
        Threads: one when None, all cores when −1. The result does not depend on it.
    verbose : bool, default=False
        Show progress: a bar where tqdm is installed, else lines on standard error.

    Attributes
    ----------
    vocabulary_ : dict
        Term to column.
    language_ : str or None
        The language of stop words and stemming, where ``language`` was given.
    lengths_ : ndarray of shape (n_documents,)
        Tokens of the documents fitted, those of terms left out included; what ``OkapiKNN.fit`` takes as ``lengths``.

    See Also
    --------
    sklearn.feature_extraction.text.CountVectorizer : docs/drop-in.md has both side by side.
    tamis.count : Counts of a corpus on disk, by label.

    Examples
    --------
    >>> from tamis import TextCounter
    >>> counter = TextCounter()
    >>> X = counter.fit_transform(["the cat sat", "the cat and the dog"])
    >>> counter.get_feature_names_out().tolist()
    ['and', 'cat', 'dog', 'sat', 'the']
    >>> X.toarray().tolist()
    [[0, 1, 0, 1, 1], [1, 1, 1, 0, 2]]
    """

    _parameter_constraints = {
        **TEXT,
        "min_df": [Interval(Integral, 0, None, closed="left"), Interval(RealNotInt, 0, 1, closed="both")],
        "max_df": [Interval(Integral, 0, None, closed="left"), Interval(RealNotInt, 0, 1, closed="both")],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "ngram_range": [tuple, list, None],
        "vocabulary": [Mapping, "array-like", set, frozenset, HasMethods("__iter__"), None],
        "weights": [str, None],
        "tokenizer": [callable, None],
        "analyzer": [callable, None],
        "strip_accents": [StrOptions({"ascii", "unicode"}), callable, None],
        "binary": ["boolean"],
        "dtype": "no_validation",
        "encoding": [str],
        "decode_error": [StrOptions({"strict", "ignore", "replace"})],
        **RUNNING,
    }

    def __init__(
        self,
        *,
        terms: str | None = None,
        words: str | None = None,
        lowercase: bool = True,
        min_length: int | None = None,
        max_length: int | None = None,
        digits: str = "keep",
        stop_words: str | Iterable[str] | None = None,
        stem: str | None = None,
        language: str | None = None,
        ngrams: int = 1,
        char_ngrams: tuple[int, int] | None = None,
        html: str | None = None,
        min_df: int | float = 1,
        max_df: int | float = 1.0,
        max_features: int | None = None,
        ngram_range: tuple[int, int] | None = None,
        vocabulary: Any = None,
        weights: str | None = None,
        tokenizer: Callable[[str], Iterable[str]] | None = None,
        analyzer: Callable[[Any], Iterable[str]] | None = None,
        strip_accents: str | Callable[[str], str] | None = None,
        binary: bool = False,
        dtype: Any = np.int64,
        encoding: str = "utf-8",
        decode_error: str = "strict",
        n_jobs: int | None = None,
        verbose: bool = False,
    ):
        self.terms = terms
        self.words = words
        self.lowercase = lowercase
        self.min_length = min_length
        self.max_length = max_length
        self.digits = digits
        self.stop_words = stop_words
        self.stem = stem
        self.language = language
        self.ngrams = ngrams
        self.char_ngrams = char_ngrams
        self.html = html
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.ngram_range = ngram_range
        self.vocabulary = vocabulary
        self.weights = weights
        self.tokenizer = tokenizer
        self.analyzer = analyzer
        self.strip_accents = strip_accents
        self.binary = binary
        self.dtype = dtype
        self.encoding = encoding
        self.decode_error = decode_error
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, raw_documents: Any, y: Any = None) -> TextCounter:
        """Learn the terms; `y` is for weights times a selector score alone."""
        self._learn(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> Any:
        """Learn the terms and count them."""
        X, lengths = self._learn(raw_documents, y)
        return self._framed(self._weigh(X, lengths))

    def _learn(self, raw_documents: Any, y: Any) -> tuple[sp.csr_matrix, np.ndarray]:
        self._start(raw_documents)
        given = self._given()
        terms, X, self.lengths_ = self._count(raw_documents, given)
        if given is None:
            if not len(terms):
                raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
            terms, X = self._limit(terms, X)
        self._keep(terms)
        if self.weights is not None:
            weighter, scores = Weighter(self.weights), None
            if weighter.score is not None:
                labels = _inputs.labels(y, lists=True)
                how = _inputs.how(self)
                columns, found, _, _ = _inputs.rank_columns(X, labels, weighter.score, None, None, (None, None), how)
                scores = np.zeros(X.shape[1])
                scores[columns] = found
            mean = self.lengths_.mean() if len(self.lengths_) else 0.0
            df = np.bincount(X.indices, minlength=X.shape[1])
            self._weighter = weighter.fit(df, X.shape[0], mean, scores)
        return X, self.lengths_

    def partial_fit(self, raw_documents: Any, y: Any = None) -> TextCounter:
        """Learn the terms of more documents: those of all documents so far, as ``fit`` would learn them at once.

        ``min_df``, ``max_df``, ``max_features`` and unsupervised ``weights`` look at all documents so far."""
        if self.vocabulary is not None:
            raise ValueError("vocabulary is given: there is nothing to learn. Call transform.")
        if self.weights is not None and "*" in self.weights:
            raise ValueError("weights times a selector score need all documents and labels at once: call fit.")
        if not hasattr(self, "_sums"):
            self._start(raw_documents)
            self._sums: dict[str, tuple[int, int]] = {}
            self._so_far = [0, 0]
        terms, X, self.lengths_ = self._count(raw_documents, None)
        df, occurrences = np.bincount(X.indices, minlength=X.shape[1]), np.asarray(X.sum(axis=0)).ravel()
        for term, more, often in zip(_names(terms), df.tolist(), occurrences.tolist()):
            before = self._sums.get(term, (0, 0))
            self._sums[term] = before[0] + more, before[1] + often
        self._so_far[0] += X.shape[0]
        self._so_far[1] += int(self.lengths_.sum())
        if not self._sums:
            raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
        # In byte order, as the core sorts.
        names = sorted(self._sums, key=str.encode)
        sums = np.array([self._sums[name] for name in names])
        keep = self._kept(sums[:, 0], lambda: sums[:, 1], self._so_far[0])
        self._keep(self._as_terms([name for name, kept in zip(names, keep.tolist()) if kept]))
        if self.weights is not None:
            self._weighter = Weighter(self.weights).fit(sums[keep, 0], self._so_far[0], self._so_far[1] / self._so_far[0], None)
        return self

    def _start(self, raw_documents: Any) -> None:
        """Checks the parameters and forgets what was learned before."""
        self._validate_params()
        for name in ("_sums", "_so_far", "_weighter", "_terms"):
            self.__dict__.pop(name, None)
        self._text = self._parameters()
        self._analyzer = self._callable()
        if self.language == "auto":
            documents = _inputs.texts(raw_documents, self.encoding, self.decode_error, fields=_core.text_fields(self._text))
            self._text = _inputs.recognised(documents, self._text)
        found = json.loads(self._text)
        # Recognised, a language is the stemmer and the stop words that it has.
        self.language_ = found["language"]
        if self.language == "auto":
            stop_words = found["stop_words"] if self.stop_words is None else None
            self.language_ = (found["stem"] if self.stem is None else None) or stop_words

    def _parameters(self) -> str:
        given = self.get_params(deep=False)
        if self.ngram_range is not None:
            if self.ngrams != 1 or self.terms is not None or self.char_ngrams is not None:
                raise ValueError("ngram_range says what ngrams, terms and char_ngrams say as well: give one of them")
            low, high = self.ngram_range
            given["terms"] = f"words({int(low)}-{int(high)})" if low != high else f"words({int(low)})"
        return _inputs.text_parameters(given)

    def _accents(self) -> Any:
        return ACCENTS.get(self.strip_accents, self.strip_accents) if self.strip_accents is not None else None

    def _callable(self) -> Any:
        """What turns documents into terms where the core does not."""
        if self.analyzer is not None:
            return self.analyzer
        if self.tokenizer is None:
            return None
        stop = self.stop_words or ()
        if isinstance(stop, str):
            stop = _core.stop_words(stop)
        ngrams = self.ngram_range or (1, self.ngrams)
        return TokenAnalyzer(self.tokenizer, self.lowercase, stop, tuple(ngrams), self._accents())

    def build_analyzer(self) -> Any:
        """A callable that gives the terms of a document, in its order."""
        self._validate_params()
        found = self._callable()
        return CoreAnalyzer(getattr(self, "_text", self._parameters()), self._accents()) if found is None else found

    def _given(self) -> Any:
        """The vocabulary that was given, as the core takes it; its own order is kept beside it."""
        if self.vocabulary is None:
            return None
        if isinstance(self.vocabulary, Mapping):
            names = sorted(self.vocabulary, key=self.vocabulary.__getitem__)
            if sorted(self.vocabulary.values()) != list(range(len(names))):
                raise ValueError("vocabulary should number its terms from 0 without gaps")
        else:
            names = list(map(str, self.vocabulary))
        if not names:
            raise ValueError("empty vocabulary passed to fit")
        if isinstance(self.vocabulary, (set, frozenset)):
            names.sort(key=str.encode)
        if len(set(names)) < len(names):
            twice = next(name for at, name in enumerate(names) if name in names[:at])
            raise ValueError(f"vocabulary has a term twice: {twice!r}")
        return self._as_terms(names)

    def _as_terms(self, names: list[str]) -> Any:
        return names if self._analyzer is not None else _core.Terms(names)

    def _keep(self, terms: Any) -> None:
        self._terms = terms
        self._names = self._vocabulary = None
        self._order = None
        if self.vocabulary is not None and not isinstance(terms, list):
            # The core's columns are in byte order; the user's are as they were given.
            wanted = sorted(self.vocabulary, key=self.vocabulary.__getitem__) if isinstance(self.vocabulary, Mapping) else None
            wanted = wanted or [str(name) for name in self.vocabulary]
            if isinstance(self.vocabulary, (set, frozenset)):
                wanted.sort(key=str.encode)
            place = {name: at for at, name in enumerate(terms.tolist())}
            order = np.array([place[name] for name in wanted])
            self._order = None if (order == np.arange(len(order))).all() else order

    def transform(self, raw_documents: Any) -> Any:
        """Count the terms that were learned, or given as ``vocabulary``."""
        self._ready(raw_documents)
        _, X, lengths = self._count(raw_documents, self._terms)
        return self._framed(self._weigh(X, lengths))

    def _ready(self, raw_documents: Any) -> None:
        if not hasattr(self, "_terms") and self.vocabulary is not None and self.weights is None:
            self._start(raw_documents)
            self._keep(self._given())
        check_is_fitted(self)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_terms") or (self.vocabulary is not None and self.weights is None)

    def _weigh(self, X: sp.csr_matrix, lengths: np.ndarray) -> sp.csr_matrix:
        X = X if self.weights is None else self._weighter.weigh(X, lengths)
        return X if self._order is None else X[:, self._order]

    def _framed(self, X: sp.csr_matrix) -> Any:
        """A frame of sparse columns where scikit-learn is told to give pandas' frames."""
        if _get_output_config("transform", self)["dense"] != "pandas":
            return X
        return pd.DataFrame.sparse.from_spmatrix(X, columns=self.get_feature_names_out())

    def inverse_transform(self, X: Any) -> list[np.ndarray]:
        """The terms of each row that are not zero."""
        self._ready([])
        rows = sp.csr_matrix(X)
        rows.eliminate_zeros()
        names = self.get_feature_names_out()
        return [names[rows.indices[start:end]] for start, end in zip(rows.indptr, rows.indptr[1:])]

    def count_lengths(self, raw_documents: Any) -> np.ndarray:
        """Tokens of each document, those of terms left out included."""
        self._ready(raw_documents)
        return self._count(raw_documents, self._terms)[2]

    @property
    def idf_(self) -> np.ndarray:
        """What each column is multiplied with, where there are ``weights``."""
        check_is_fitted(self, "_weighter")
        return self._weighter.factors

    @property
    def vocabulary_(self) -> dict[str, int]:
        self._ready([])
        if self._vocabulary is None:
            self._vocabulary = {name: at for at, name in enumerate(self.get_feature_names_out().tolist())}
        return self._vocabulary

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The terms, in the order of the columns."""
        self._ready([])
        if self._names is None:
            shown = self._terms if isinstance(self._terms, list) else self._terms.shown(self._text)
            self._names = np.array(shown, dtype=object)
            self._names = self._names if self._order is None else self._names[self._order]
        return self._names

    def _count(self, raw_documents: Any, vocabulary: Any) -> tuple[Any, sp.csr_matrix, Any]:
        terms, indptr, indices, data, lengths = self._counted(raw_documents, vocabulary)
        if self.binary:
            data.fill(1)
        columns = len(terms)
        data = data.astype(self.dtype, copy=False)
        X = sp.csr_matrix((len(indptr) - 1, columns), dtype=self.dtype)
        # The arrays are as scipy wants them; its constructor would look through them again.
        X.indptr, X.indices, X.data = indptr, indices, data
        X.has_sorted_indices = True
        X.has_canonical_format = True
        return terms, X, lengths

    def _counted(self, raw_documents: Any, vocabulary: Any) -> tuple:
        if self._analyzer is not None:
            documents = _inputs.listed(raw_documents)
            if self.analyzer is None:
                documents = _inputs.strings(documents, self.encoding, self.decode_error)
            return count(documents, self._analyzer, vocabulary)
        fields = _core.text_fields(self._text)
        if fields is not None or _inputs.is_table(raw_documents):
            documents = _inputs.columns(raw_documents, fields)
        else:
            documents = _inputs.listed(raw_documents)
        accents = self._accents()
        if accents is not None:
            documents = _inputs.strings(documents, self.encoding, self.decode_error)
            documents = [accents(document) for document in documents]
        how = self._text, vocabulary, _inputs.MEMORY, _inputs.how(self)
        counted = _core.count_texts(documents, *how)
        if counted is None:  # not all are strings
            documents = _inputs.strings(documents, self.encoding, self.decode_error)
            counted = _core.count_texts(documents, *how)
        return counted

    def _limit(self, terms: Any, X: sp.csr_matrix) -> tuple[Any, sp.csr_matrix]:
        df = np.bincount(X.indices, minlength=X.shape[1])
        keep = self._kept(df, lambda: np.asarray(X.sum(axis=0)).ravel(), X.shape[0])
        if keep.all():
            return terms, X
        names = [term for term, kept in zip(_names(terms), keep.tolist()) if kept]
        return self._as_terms(names), X[:, np.flatnonzero(keep)]

    def _kept(self, df: np.ndarray, occurrences: Any, documents: int) -> np.ndarray:
        """Which terms are frequent enough, and not too frequent."""
        low = self.min_df if isinstance(self.min_df, Integral) else self.min_df * documents
        high = self.max_df if isinstance(self.max_df, Integral) else self.max_df * documents
        if high < low:
            raise ValueError("max_df corresponds to < documents than min_df")
        keep = (df >= low) & (df <= high)
        if self.max_features is not None and keep.sum() > self.max_features:
            best = np.argsort(-np.where(keep, occurrences(), -1), kind="stable")[: self.max_features]
            keep = np.zeros_like(keep)
            keep[best] = True
        if not keep.any():
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        return keep

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        tags.no_validation = True
        return tags


def _names(terms: Any) -> list[str]:
    return terms if isinstance(terms, list) else terms.tolist()
