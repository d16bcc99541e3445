"""A hundred pipelines of ours and of scikit-learn's parts, drawn by a seed: each fits, is cloned, pickled, and predicts the same.

What scikit-learn's own checks cannot test (estimators that take text) is covered here and in test_people.py: fitting and predicting,
clone and parameters, pickle, results that do not depend on threads, and every form of the target."""

import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import ComplementNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.svm import LinearSVC

tamis = pytest.importorskip("tamis")

PIPELINES = 100


@pytest.fixture(scope="module")
def corpus():
    frame = tamis.synth(160)
    heads = np.array([labels[0].split("/")[0] for labels in frame["labels"]])
    names = np.unique(heads)
    several = np.array([[any(label.startswith(name) for label in labels) for name in names[:5]] for labels in frame["labels"]])
    return frame["text"].tolist(), {"two": heads < names[len(names) // 2], "words": heads, "numbers": np.unique(heads, return_inverse=True)[1] * 7, "several": several.astype(int)}


def draw(rng):
    """A pipeline, and the name of the target it is fitted to."""
    pick = lambda *options: options[rng.integers(len(options))]  # noqa: E731
    target = pick("two", "words", "numbers", "several")
    n = int(rng.integers(1, 3))
    words = {"ngrams": n, "min_df": int(rng.integers(1, 4)), "binary": bool(rng.integers(2)), "stem": pick(None, "english")}
    weights = pick("tfidf", "okapi", "binary")
    kind = pick("counts", "counts", "weights", "any")
    counter = lambda: pick(tamis.TextCounter(**words), CountVectorizer(ngram_range=(1, n)), tamis.TextCounter(char_ngrams=(2, 3), min_df=3))  # noqa: E731
    if kind == "counts":
        steps = [pick(counter(), FeatureUnion([("a", counter()), ("b", counter())]))]
    else:
        steps = pick([tamis.TextCounter(**words, weights=weights)], [TfidfVectorizer()], [counter(), TfidfTransformer()])
    if rng.random() < 0.6 and target != "several":
        size = int(rng.integers(20, 200))
        steps.append(pick(tamis.Selector(pick("chi2max", "ig", "lr(chi2max,chi2avg)"), k=size), SelectKBest(chi2, k=20)))
    elif rng.random() < 0.5:
        steps.append(tamis.Selector("chi2max", k=100))
    if kind == "any":
        steps += pick([MaxAbsScaler()], [StandardScaler(with_mean=False)], [TruncatedSVD(5, random_state=0), StandardScaler()])
    ours = [tamis.LinearSVM(C=float(rng.uniform(0.1, 2)), loss=pick("hinge", "squared"))]
    if kind != "any":
        ours.append(tamis.MultinomialBayes(alpha=pick(1.0, 0.2)))
    if kind == "counts":
        ours += [tamis.LinearLogistic(), tamis.OkapiKNN(k=5), tamis.WeightedKNN(k=5), tamis.LinearSVM(vectors=pick("tf", "binary", "tfidf*rf"))]
    theirs = [LinearSVC(random_state=0), RidgeClassifier()] + ([MultinomialNB(), ComplementNB()] if kind != "any" else [])
    if target == "several":
        theirs = [OneVsRestClassifier(LinearSVC(random_state=0)), KNeighborsClassifier(3)]
    last = pick(*ours, pick(*theirs))
    if rng.random() < 0.25:
        last = tamis.ThresholdTuner(last if not isinstance(last, KNeighborsClassifier) else tamis.LinearSVM(), pick("scut", "pcut"), cv=2)
    elif rng.random() < 0.1 and target != "several":
        last = tamis.ProgressiveFilter(pick(None, SGDClassifier(random_state=0)) if kind == "counts" else LinearSVC(random_state=0), cv=2)
    return make_pipeline(*steps, last), target


@pytest.mark.parametrize("block", range(0, PIPELINES, 10))
def test_pipelines_fit_clone_pickle_and_predict_the_same(corpus, block):
    texts, targets = corpus
    for seed in range(block, block + 10):
        pipeline, target = draw(np.random.default_rng(seed))
        y = targets[target]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
            found = pipeline.fit(texts[:120], y[:120]).predict(texts[120:])
            twin = clone(pipeline)
            assert str(twin.get_params()) == str(pipeline.get_params()), seed
            again = twin.fit(texts[:120], y[:120])
        assert found.shape == y[120:].shape, (seed, pipeline)
        assert (again.predict(texts[120:]) == found).all(), (seed, pipeline)
        stored = pickle.loads(pickle.dumps(pipeline))
        assert (stored.predict(texts[120:]) == found).all(), (seed, pipeline)
        for method in ("decision_function", "predict_proba"):
            if hasattr(pipeline, method):
                scores = [np.asarray(getattr(model, method)(texts[120:])) for model in (pipeline, again, stored)]
                assert (scores[0] == scores[1]).all() and (scores[0] == scores[2]).all(), (seed, method, pipeline)
        # It learned something: more is right than the most frequent answer would be, as a rule.
        assert np.isin(np.unique(found), np.unique(y)).all(), (seed, pipeline)


def test_threads_change_nothing(corpus):
    texts, targets = corpus
    for seed in range(8):
        pipeline, target = draw(np.random.default_rng(1000 + seed))
        several = clone(pipeline)
        parallel = {name: 3 for name in several.get_params() if name.endswith("__n_jobs") and "okapi" not in name}
        several.set_params(**parallel)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sklearn.exceptions.ConvergenceWarning)
            a, b = (model.fit(texts[:120], targets[target][:120]).predict(texts[120:]) for model in (pipeline, several))
        assert (a == b).all(), (seed, pipeline)


def test_categorizers_of_every_target(corpus, tmp_path):
    """The estimator that takes text alone: fit, clone, pickle, file, for every target and classifier."""
    texts, targets = corpus
    lists = [[name for name, has in zip("abcde", row) if has] for row in targets["several"]]
    for seed, y in enumerate([*targets.values(), lists]):
        options = {"classifier": ["svm", "bayes", "knn(5)", "wknn(5)"][seed % 4], "by": "ig", "features": 100, "folds": 2}
        model = tamis.TextCategorizer(**options).fit(texts[:120], y[:120])
        found = model.predict(texts[120:])
        model.save(tmp_path / "a.model")
        others = [clone(model).fit(texts[:120], y[:120]), pickle.loads(pickle.dumps(model)), tamis.TextCategorizer.load(tmp_path / "a.model")]
        for other in others:
            same = other.predict(texts[120:])
            assert same == found if isinstance(found, list) else (same == found).all() and same.dtype.kind == found.dtype.kind
            assert (other.decision_function(texts[120:]) == model.decision_function(texts[120:])).all()
