"""Raw strings to counts."""

from __future__ import annotations

import json
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import _core, _inputs


class TextCounter(TransformerMixin, BaseEstimator):
    """Count words: raw strings to a sparse matrix, on all cores.

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
        fitted, and ``language_`` says what it took.
    ngrams : int, default=1
        Word n-grams of 1 to this many words.
    char_ngrams : tuple (low, high), default=None
        Character n-grams within runs of letters instead.
    min_df, max_df : int or float, default=1 and 1.0
        Terms in fewer or more documents are left out; a float is a share of the documents.
    max_features : int, default=None
        Only so many terms, by occurrences in all documents.
    vocabulary : iterable of str, default=None
        Only these terms; they are sorted.
    binary : bool, default=False
        Ones instead of counts.
    dtype : dtype, default=numpy.int64
        Type of the counts.
    encoding, decode_error : str, default="utf-8" and "strict"
        How documents that are bytes are decoded.
    n_jobs : int, default=None
        Threads; all cores when None. The result does not depend on it.
    verbose : bool, default=False
        Report progress on standard error.

    Attributes
    ----------
    vocabulary_ : dict
        Term to column.
    language_ : str or None
        The language of stop words and stemming, where ``language`` was given.
    lengths_ : ndarray of shape (n_documents,)
        Tokens of the documents fitted, those of terms left out included; what ``OkapiKNN.fit`` takes as ``lengths``.

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

    def __init__(
        self,
        *,
        terms=None,
        words=None,
        lowercase=True,
        min_length=None,
        max_length=None,
        digits="keep",
        stop_words=None,
        stem=None,
        language=None,
        ngrams=1,
        char_ngrams=None,
        min_df=1,
        max_df=1.0,
        max_features=None,
        vocabulary=None,
        binary=False,
        dtype=np.int64,
        encoding="utf-8",
        decode_error="strict",
        n_jobs=None,
        verbose=False,
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
        self.min_df = min_df
        self.max_df = max_df
        self.max_features = max_features
        self.vocabulary = vocabulary
        self.binary = binary
        self.dtype = dtype
        self.encoding = encoding
        self.decode_error = decode_error
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, raw_documents: Any, y: Any = None) -> TextCounter:
        """Learn the terms."""
        self.fit_transform(raw_documents, y)
        return self

    def fit_transform(self, raw_documents: Any, y: Any = None) -> sp.csr_matrix:
        """Learn the terms and count them."""
        given = None if self.vocabulary is None else _core.Terms(list(map(str, self.vocabulary)))
        if given is not None and not len(given):
            raise ValueError("empty vocabulary passed to fit")
        self._text = _inputs.text_parameters(self)
        if self.language == "auto":
            documents = _inputs.texts(raw_documents, self.encoding, self.decode_error, fields=_core.text_fields(self._text))
            self._text = _inputs.recognised(documents, self._text)
        self.language_ = json.loads(self._text)["language"]
        terms, X, self.lengths_ = self._count(raw_documents, given)
        if given is None:
            if not len(terms):
                raise ValueError("empty vocabulary; perhaps the documents only contain stop words")
            terms, X = self._limit(terms, X)
        self._terms = terms
        self._names = self._vocabulary = None
        return X

    def transform(self, raw_documents: Any) -> sp.csr_matrix:
        """Count the terms that were learned."""
        check_is_fitted(self, "_terms")
        return self._count(raw_documents, self._terms)[1]

    def count_lengths(self, raw_documents: Any) -> np.ndarray:
        """Tokens of each document, those of terms left out included."""
        check_is_fitted(self, "_terms")
        return self._count(raw_documents, self._terms)[2]

    @property
    def vocabulary_(self) -> dict[str, int]:
        check_is_fitted(self, "_terms")
        if self._vocabulary is None:
            self._vocabulary = {name: at for at, name in enumerate(self.get_feature_names_out().tolist())}
        return self._vocabulary

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The terms, in the order of the columns."""
        check_is_fitted(self, "_terms")
        if self._names is None:
            self._names = np.array(self._terms.shown(self._text), dtype=object)
        return self._names

    def _count(self, raw_documents: Any, vocabulary: _core.Terms | None) -> tuple[_core.Terms, sp.csr_matrix, Any]:
        fields = _core.text_fields(self._text)
        if fields is not None or _inputs.is_table(raw_documents):
            documents = _inputs.columns(raw_documents, fields)
        else:
            documents = _inputs.listed(raw_documents)
        how = self._text, vocabulary, _inputs.MEMORY, _inputs.how(self)
        counted = _core.count_texts(documents, *how)
        if counted is None:  # not all are strings
            documents = _inputs.strings(documents, self.encoding, self.decode_error)
            counted = _core.count_texts(documents, *how)
        terms, indptr, indices, data, lengths = counted
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

    def _limit(self, terms: _core.Terms, X: sp.csr_matrix) -> tuple[_core.Terms, sp.csr_matrix]:
        documents = X.shape[0]
        for name, value in (("min_df", self.min_df), ("max_df", self.max_df)):
            if value < 0 or (not isinstance(value, Integral) and value > 1):
                raise ValueError(f"{name} should be a share from 0 to 1 or a number of documents. Got {value!r}.")
        if self.max_features is not None:
            _inputs.whole("max_features", self.max_features, 1)
        low = self.min_df if isinstance(self.min_df, Integral) else self.min_df * documents
        high = self.max_df if isinstance(self.max_df, Integral) else self.max_df * documents
        if high < low:
            raise ValueError("max_df corresponds to < documents than min_df")
        if low <= 1 and high >= documents and self.max_features is None:
            return terms, X
        df = np.bincount(X.indices, minlength=X.shape[1])
        keep = (df >= low) & (df <= high)
        if self.max_features is not None and keep.sum() > self.max_features:
            occurrences = np.where(keep, np.asarray(X.sum(axis=0)).ravel(), -1)
            best = np.argsort(-occurrences, kind="stable")[: self.max_features]
            keep = np.zeros_like(keep)
            keep[best] = True
        if not keep.any():
            raise ValueError("After pruning, no terms remain. Try a lower min_df or a higher max_df.")
        names = [term for term, kept in zip(terms.tolist(), keep.tolist()) if kept]
        return _core.Terms(names), X[:, np.flatnonzero(keep)]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = True
        tags.no_validation = True
        return tags
