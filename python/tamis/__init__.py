"""Text categorisation you can read: find the few words that matter, train small classifiers, set their thresholds well.

Estimators behave like scikit-learn's own; the work is done in Rust, with ``n_jobs=-1`` on all cores. ``tamis.spark`` does the same counting and
classifying on a Spark cluster.
"""

from . import measures, significance
from ._core import (
    DamagedFileError,
    DataError,
    ExpressionError,
    InvalidOptionError,
    MalformedError,
    UnknownNameError,
    __version__,
)
from .bayes import MultinomialBayes
from .categorizer import TextCategorizer
from .classifiers import LinearSVM, OkapiKNN, WeightedKNN
from .functions import Calibration, Counts, calibrate, count, rank, registry, studies, study, synth
from .hierarchy import ProgressiveFilter
from .logistic import LinearLogistic
from .plots import plot_size_curve, plot_thresholds, plot_top_words
from .selection import OscillatingSearch, Selector
from .text import TextCounter
from .threshold import ThresholdTuner

__all__ = [
    "Calibration",
    "Counts",
    "DamagedFileError",
    "DataError",
    "ExpressionError",
    "InvalidOptionError",
    "LinearLogistic",
    "LinearSVM",
    "MalformedError",
    "MultinomialBayes",
    "OkapiKNN",
    "OscillatingSearch",
    "ProgressiveFilter",
    "Selector",
    "TextCategorizer",
    "TextCounter",
    "ThresholdTuner",
    "UnknownNameError",
    "WeightedKNN",
    "__version__",
    "calibrate",
    "count",
    "measures",
    "plot_size_curve",
    "plot_thresholds",
    "plot_top_words",
    "rank",
    "registry",
    "significance",
    "studies",
    "study",
    "synth",
]
