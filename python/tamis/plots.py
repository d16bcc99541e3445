"""Three plots for notebooks. They return the axes, and draw on `ax` when given one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from . import _warnings


def _axes(ax: Any, **size: Any) -> Any:
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'tamis[plots]'") from error
    return plt.subplots(layout="constrained", **size)[1]


def _readable(ax: Any, texts: Any) -> None:
    """Takes a font that has all letters of the texts, where the usual one lacks some; says so where there is none."""
    from matplotlib import font_manager
    from matplotlib.ft2font import FT2Font

    letters = {letter for text in texts for letter in str(text) if ord(letter) > 127}
    lacks = lambda path: {letter for letter in letters if not FT2Font(path).get_char_index(ord(letter))}  # noqa: E731
    if not letters:
        return
    missing = lacks(font_manager.findfont(font_manager.FontProperties()))
    for font in font_manager.fontManager.ttflist if missing else ():
        # The last resort has a box for every letter.
        if "lastresort" not in font.fname.lower() and not lacks(font.fname):
            for label in [*ax.get_yticklabels(), *ax.get_xticklabels(), ax.title]:
                label.set_fontfamily([*font_manager.FontProperties().get_family(), font.name])
            return
    if missing:
        _warnings.show(
            f"no font here has {min(missing)!r} and the other letters of these words: install one, such as Noto Sans CJK for "
            "Chinese, Japanese and Korean, and start Python again"
        )


def plot_size_curve(results: Any, measure: str | None = None, *, ax: Any = None) -> Any:
    """Quality by number of features: of a study (:func:`tamis.study`), or of what a ``TextCategorizer`` tried."""
    rows = results if isinstance(results, pd.DataFrame) else results.trials_
    if not len(rows):
        raise ValueError("nothing was tried: the selector, the size and the classifier were all given")
    measures = [name for name in rows.columns if pd.api.types.is_float_dtype(rows[name]) and name not in ("error", "lambda")]
    measure = measures[0] if measure is None else measure
    if measure not in rows:
        raise ValueError(f"there is no measure {measure!r}; there are {', '.join(measures)}")
    ax = _axes(ax, figsize=(7, 4.5))
    several = rows["classifier"].nunique() > 1
    for (classifier, selector), part in rows.groupby(["classifier", "selector"], sort=False):
        means = part.groupby("features")[measure].mean()
        error = part.groupby("features")["error"].mean() if "error" in part else part.groupby("features")[measure].sem()
        (line,) = ax.plot(means.index, means.values, marker="o", ms=4, label=f"{selector}, {classifier}" if several else selector)
        error = error.fillna(0).values
        ax.fill_between(means.index, means.values - error, means.values + error, color=line.get_color(), alpha=0.15, lw=0)
    ax.set(xscale="log", xlabel="features", ylabel=measure, title=f"{measure} by number of features")
    # The sizes themselves, as long as their names do not overlap: powers of ten are few here.
    sizes = sorted(rows["features"].unique().tolist())
    shown = [size for at, size in enumerate(sizes) if at == 0 or size >= 1.4 * sizes[at - 1]]
    ax.set_xticks(shown, [f"{size:,}" for size in shown])
    ax.set_xticks([], minor=True)
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small", frameon=False)
    return ax


def plot_top_words(source: Any, label: Any = None, top: int = 15, *, ax: Any = None) -> Any:
    """The words that matter: weights of a label in a ``TextCategorizer``, or the first terms of a ranking."""
    if isinstance(source, pd.DataFrame):
        part = source if label is None else source[source["label"] == label]
        part = part.head(top)
        words, weights, what = part["term"].astype(str).tolist(), part["score"].to_numpy(), "score"
        title = "Best terms" if label is None else f"Best terms for {label}"
    else:
        label = source.classes_[0] if label is None else label
        pairs = source.top_words(label, top)
        words, weights = [word for word, _ in pairs], np.array([weight for _, weight in pairs])
        what, title = "weight", f"Words for and against {label}"
    ax = _axes(ax, figsize=(6, 0.28 * len(words) + 1.2))
    places = np.arange(len(words))[::-1]
    ax.barh(places, weights, color=["#2f6f9f" if weight >= 0 else "#b5533c" for weight in weights])
    ax.set_yticks(places, words)
    _readable(ax, words)
    ax.axvline(0, color="0.4", lw=0.8)
    ax.set(xlabel=what, title=title)
    ax.margins(y=0.01)
    return ax


def plot_thresholds(source: Any, labels: Any = None, *, top: int = 6, ax: Any = None) -> Any:
    """F against the threshold of labels, of a fitted ``ThresholdTuner`` or ``TextCategorizer``; dots mark the choice."""
    curves = source.curves_
    if not isinstance(curves, dict):
        names = [str(name) for name in source.classes_.tolist()]
        # A tuner of two classes has one label, the second.
        names = names if len(curves) == len(names) else names[-len(curves) :]
        curves = {names[curve["label"]]: curve for curve in curves}
    if not curves:
        raise ValueError("no thresholds were tuned by label: take scut or pcut")
    if labels is None:
        labels = sorted(curves, key=lambda name: -curves[name]["positives"])[:top]
    ax = _axes(ax, figsize=(7, 4.5))
    for name in map(str, labels):
        if name not in curves:
            raise ValueError(f"there is no label {name!r}; there are {', '.join(list(curves)[:10])} …")
        points = pd.DataFrame(curves[name]["points"])
        if not len(points):
            continue
        (line,) = ax.plot(points["threshold"], points["f"], label=f"{name} ({curves[name]['positives']})")
        best = curves[name]["best"]
        if best:
            ax.plot(best["threshold"], best["f"], "o", color=line.get_color())
    ax.set(xlabel="threshold", ylabel="F on held-out documents", title="F by threshold", ylim=(0, 1.02))
    ax.grid(alpha=0.3)
    ax.legend(fontsize="small", frameon=False, title="label (documents)")
    return ax
