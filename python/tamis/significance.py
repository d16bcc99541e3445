"""Is a difference real? Tests of paired values, such as a measure of two models on the same documents.

>>> from tamis import significance
>>> round(significance.sign_test(15, 5)["p_one_sided"], 4)
0.0207
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from . import _core


def _pair(a: Any, b: Any) -> tuple[np.ndarray, np.ndarray]:
    a, b = (np.ascontiguousarray(x, dtype=np.float64) for x in (a, b))
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two vectors of the same length are compared, found shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("Input contains NaN or infinity.")
    return a, b


def _test(name: str, a: Any, b: Any, replicates: int = 1000, level: float = 0.95, seed: int = 1) -> dict[str, Any]:
    return json.loads(_core.paired_test(name, *_pair(a, b), replicates, level, seed))


def sign_test(a: Any, b: Any) -> dict[str, Any]:
    """Sign test of paired values, or of numbers of wins and losses; ties are dropped."""
    if np.ndim(a) == 0 and np.ndim(b) == 0:
        return json.loads(_core.sign_test(_whole("wins", a), _whole("losses", b)))
    return _test("sign", a, b)


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not float(value).is_integer() or value < 0:
        raise ValueError(f"a number of {name} is whole, 0 or more. Got {value!r}; give two vectors to compare values")
    return int(value)


def wilcoxon(a: Any, b: Any) -> dict[str, Any]:
    """Wilcoxon's signed-rank test; exact for at most 50 pairs without ties."""
    return _test("wilcoxon", a, b)


def paired_bootstrap(a: Any, b: Any, *, replicates: int = 1000, level: float = 0.95, random_state: int = 1) -> dict:
    """Mean difference with its interval, by drawing pairs again."""
    return _test("bootstrap", a, b, replicates, level, random_state)


def randomisation(a: Any, b: Any, *, replicates: int = 1000, random_state: int = 1) -> dict[str, Any]:
    """Fisher's randomisation test of the mean difference: each pair may change sides."""
    return _test("randomisation", a, b, replicates, 0.95, random_state)


def holm(p: Any) -> np.ndarray:
    """p-values corrected for as many tests by Holm's step-down."""
    p = np.asarray(p, dtype=float)
    if p.ndim != 1:
        raise ValueError(f"a vector of p-values is corrected, found shape {p.shape}")
    wrong = p[~((p >= 0) & (p <= 1))]
    if len(wrong):
        raise ValueError(f"p-values lie between 0 and 1. Got {wrong[0]}.")
    return np.array(_core.holm(p.tolist()))
