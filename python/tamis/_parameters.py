"""What parameters may be, in scikit-learn's own words, where several estimators share them."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.utils._param_validation import Interval, StrOptions

#: A whole number from 0.
COUNT = Interval(Integral, 0, None, closed="left")

#: A whole number from 1.
POSITIVE = Interval(Integral, 1, None, closed="left")

#: ``n_jobs`` and ``verbose``.
RUNNING: dict[str, list[Any]] = {"n_jobs": [Integral, None], "verbose": ["verbose"]}

#: What gives a seed.
SEED: list[Any] = [COUNT, np.random.RandomState, np.random.Generator, None]

#: How text becomes terms.
TEXT: dict[str, list[Any]] = {
    "terms": [str, None],
    "words": [str, None],
    "lowercase": ["boolean"],
    "min_length": [COUNT, None],
    "max_length": [COUNT, None],
    "digits": [StrOptions({"keep", "fold", "numbers", "drop"})],
    "stop_words": [str, "array-like", set, frozenset, None],
    "stem": [str, None],
    "language": [str, None],
    "ngrams": [POSITIVE, None],
    "char_ngrams": [tuple, list, None],
    "html": [StrOptions({"keep", "strip"}), None],
}
