"""Warnings, shown where the user's own code called."""

from __future__ import annotations

import os
import sys
import warnings

from sklearn.exceptions import ConvergenceWarning

_HERE = os.path.dirname(os.path.abspath(__file__))


def show(message: str, not_converged: bool = False) -> None:
    """Warns with the line outside this package that led here."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_HERE):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, ConvergenceWarning if not_converged else UserWarning, stacklevel=level)


def unknown_words(known: object, what: str = "documents") -> None:
    """Warns where most documents have no word that the model knows: what it says of them is not about them."""
    total, without = len(known), int((~known).sum())  # type: ignore[arg-type, operator]
    if 2 * without > total:
        show(
            f"{without} of {total} {what} have no word that the model knows: they get what is most frequent, or nothing. "
            "Are they in the language and form of the training documents?"
        )
