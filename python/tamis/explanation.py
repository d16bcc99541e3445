"""Why a document has its labels: for programs, for tables, and for people who look at a notebook."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import pandas as pd

#: Colours of words that speak for a label and against it, as in plots.
FOR, AGAINST = "47, 111, 159", "181, 83, 60"


class Explanation(list):
    """Reasons, a dictionary for each label: what :meth:`TextCategorizer.explain` gives.

    It is a list, shows itself in notebooks as the marked text with bars of what words add, and becomes a table by
    :meth:`to_frame`."""

    def __init__(self, reasons: list[dict[str, Any]], document: Any, look_up: Callable[[], list[dict[str, Any]]]):
        super().__init__(reasons)
        self._document, self._look_up = document, look_up

    def __reduce__(self) -> tuple:
        # Pickled and copied as the list that it is: it should not drag a model along.
        return list, (list(self),)

    def to_frame(self) -> pd.DataFrame:
        """A row for each label and word: ``label``, ``score``, ``threshold``, ``decided``, ``word``, ``count``, ``adds``."""
        rows = [
            {key: reason.get(key) for key in ("label", "score", "threshold", "decided")} | word
            for reason in self
            for word in reason.get("words", [])
        ]
        return pd.DataFrame(rows, columns=["label", "score", "threshold", "decided", "word", "count", "adds"])

    def _repr_html_(self) -> str:
        """The text with its words marked, and a bar for each word, label by label."""
        return "".join(self._part(reason) for reason in self._look_up()) or "<p>There is nothing to explain.</p>"

    def _part(self, reason: dict[str, Any]) -> str:
        words = reason.get("words", [])
        largest = max((abs(word["adds"]) for word in words), default=0.0) or 1.0
        strength = {word["word"]: word["adds"] / largest for word in words}
        given = "given" if reason.get("decided") else "not given"
        head = f"<p><b>{escape(str(reason['label']))}</b> {reason['score']:.3f} <small>({given})</small></p>"
        bars = "".join(self._bar(word, strength[word["word"]]) for word in words)
        table = f'<table style="border-collapse:collapse;font-size:90%">{bars}</table>' if bars else ""
        return f'<div style="margin-bottom:1em">{head}{self._text(reason.get("spans") or [], largest)}{table}</div>'

    @staticmethod
    def _bar(word: dict[str, Any], strength: float) -> str:
        colour = FOR if strength >= 0 else AGAINST
        bar = f'<div style="height:.8em;width:{8 * abs(strength):.2f}em;background:rgb({colour})"></div>'
        return (
            f'<tr><td style="text-align:right;padding:0 .6em">{escape(str(word["word"]))}</td>'
            f'<td style="text-align:right;padding-right:.6em">{word["adds"]:+.3f}</td><td style="text-align:left">{bar}</td></tr>'
        )

    def _text(self, spans: list[dict[str, Any]], largest: float) -> str:
        """The text, marked where its words are; places are in bytes of UTF-8."""
        if not isinstance(self._document, str):
            return ""
        raw, out, at = self._document.encode(), [], 0
        for span in spans:
            start, end, share = span["start"], span["end"], min(max(span["adds"] / largest, -1.0), 1.0)
            if start < at:
                continue  # n-grams overlap: the first stands
            colour = FOR if share >= 0 else AGAINST
            out.append(escape(raw[at:start].decode(errors="replace")))
            marked = escape(raw[start:end].decode(errors="replace"))
            out.append(f'<mark style="color:inherit;background:rgba({colour}, {0.15 + 0.6 * abs(share):.2f})">{marked}</mark>')
            at = end
        out.append(escape(raw[at:].decode(errors="replace")))
        return f'<p style="white-space:pre-wrap">{"".join(out)}</p>'
