"""Every pair of docs/drop-in.md: ours beside scikit-learn's, on the same data, and what both must agree on."""

import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_predict
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

tamis = pytest.importorskip("tamis")

#: Words that both tokenise alike.
PATTERN = "[A-Za-z]{2,40}(?![A-Za-z])"


@pytest.fixture(scope="module")
def messages():
    corpus = tamis.synth(300)
    texts = [text.encode("ascii", "ignore").decode() for text in corpus["text"]]
    return texts, np.array([labels[0].split("/")[0] for labels in corpus["labels"]])


def equal(a, b):
    return a.shape == b.shape and (abs(a - b) > 1e-12).nnz == 0


OPTIONS = [
    ({}, {}),
    ({"ngram_range": (2, 2)}, {"ngram_range": (2, 2)}),
    ({"ngram_range": (1, 2)}, {"ngram_range": (1, 2)}),
    ({"ngrams": 2}, {"ngram_range": (1, 2)}),
    ({"lowercase": False}, {"lowercase": False}),
    ({"min_df": 3, "max_df": 0.5}, {"min_df": 3, "max_df": 0.5}),
    ({"max_features": 40}, {"max_features": 40}),
    ({"binary": True}, {"binary": True}),
    ({"stop_words": ["the", "of"]}, {"stop_words": ["the", "of"]}),
    ({"vocabulary": ["team", "price", "goal"]}, {"vocabulary": ["team", "price", "goal"]}),
    ({"vocabulary": {"team": 1, "price": 0}}, {"vocabulary": {"team": 1, "price": 0}}),
    ({"strip_accents": "unicode"}, {"strip_accents": "unicode"}),
    ({"tokenizer": str.split}, {"tokenizer": str.split, "token_pattern": None}),
    ({"tokenizer": str.split, "ngram_range": (1, 2), "stop_words": ["the"]},
     {"tokenizer": str.split, "token_pattern": None, "ngram_range": (1, 2), "stop_words": ["the"]}),
    ({"analyzer": str.split}, {"analyzer": str.split}),
    ({"dtype": np.float32}, {"dtype": np.float32}),
]  # fmt: skip


@pytest.mark.parametrize("ours, theirs", OPTIONS)
@pytest.mark.filterwarnings("ignore:The parameter 'token_pattern'")
def test_text_counter_is_count_vectorizer(messages, ours, theirs):
    texts, _ = messages
    a = tamis.TextCounter(words="letters", **ours)
    b = CountVectorizer(**{"token_pattern": PATTERN, **theirs})
    X, Y = a.fit_transform(texts), b.fit_transform(texts)
    if "max_features" in ours:  # of equally frequent words both take some
        assert X.shape == Y.shape
        return
    assert a.get_feature_names_out().tolist() == b.get_feature_names_out().tolist()
    assert equal(X, Y) and X.dtype == Y.dtype and a.vocabulary_ == b.vocabulary_
    assert equal(a.transform(texts[:20]), b.transform(texts[:20]))
    for ours_back, theirs_back in zip(a.inverse_transform(X[:5]), b.inverse_transform(Y[:5])):
        assert sorted(ours_back) == sorted(theirs_back)
    analyzer, other = a.build_analyzer(), b.build_analyzer()
    assert all(sorted(analyzer(text)) == sorted(other(text)) for text in texts[:20])


def test_a_vocabulary_needs_no_fit():
    for model in (tamis.TextCounter(vocabulary=["sea", "oil"]), CountVectorizer(vocabulary=["sea", "oil"])):
        assert model.transform(["oil oil sea", "ship"]).toarray().tolist() == [[1, 2], [0, 0]]
        assert model.get_feature_names_out().tolist() == ["sea", "oil"]


def test_weights_are_tf_idf(messages):
    """(1 + log tf) · log(n/df), scaled to length 1: scikit-learn's with sublinear_tf, without its two smoothings."""
    texts, _ = messages
    ours = tamis.TextCounter(words="letters", weights="tfidf").fit(texts)
    X = ours.transform(texts)
    counts = CountVectorizer(token_pattern=PATTERN).fit_transform(texts)
    theirs = TfidfTransformer(sublinear_tf=True, smooth_idf=False, norm=None).fit(counts)
    # Theirs is log(n/df) + 1.
    np.testing.assert_allclose(ours.idf_, theirs.idf_ - 1, rtol=1e-12)
    np.testing.assert_allclose(np.sqrt(X.multiply(X).sum(axis=1)), 1.0)
    vectoriser = TfidfVectorizer(token_pattern=PATTERN, sublinear_tf=True).fit(texts)
    assert ours.get_feature_names_out().tolist() == vectoriser.get_feature_names_out().tolist()


@pytest.mark.parametrize("weights", ["tfidf", "okapi", "binary", "tf", "tfidf*rf", "binary*lpr"])
def test_weights_are_those_that_the_svm_has_inside(messages, weights):
    texts, y = messages
    counter = tamis.TextCounter(words="letters")
    inside = tamis.LinearSVM(vectors=weights).fit(counter.fit_transform(texts), y)
    weighted = tamis.TextCounter(words="letters", weights=weights)
    outside = tamis.LinearSVM(vectors="as-is").fit(weighted.fit_transform(texts, y), y)
    scores = inside.decision_function(counter.transform(texts))
    np.testing.assert_allclose(outside.decision_function(weighted.transform(texts)), scores, atol=1e-4)
    np.testing.assert_allclose(outside.coef_, inside.coef_, atol=1e-4)


def test_partial_fit_learns_what_fit_learns(messages):
    texts, y = messages
    options = {"min_df": 3, "max_df": 0.9, "max_features": 300, "weights": "tfidf"}
    whole, parts = tamis.TextCounter(**options).fit(texts), tamis.TextCounter(**options)
    for start in range(0, 300, 80):
        parts.partial_fit(texts[start : start + 80])
    assert parts.get_feature_names_out().tolist() == whole.get_feature_names_out().tolist()
    assert equal(parts.transform(texts), whole.transform(texts))
    X = tamis.TextCounter().fit_transform(texts)
    for alpha in (1.0, 0.3):
        whole, parts = tamis.MultinomialBayes(alpha=alpha).fit(X, y), tamis.MultinomialBayes(alpha=alpha)
        for start in range(0, 300, 80):
            parts.partial_fit(X[start : start + 80], y[start : start + 80], classes=np.unique(y))
        np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(parts.feature_log_prob_, whole.feature_log_prob_, rtol=1e-9)
    several = (np.column_stack([y == name for name in np.unique(y)[:4]])).astype(int)
    whole, parts = tamis.MultinomialBayes().fit(X, several), tamis.MultinomialBayes()
    for rows in (slice(0, 200), slice(200, 300)):
        parts.partial_fit(X[rows], several[rows])
    np.testing.assert_allclose(parts.predict_log_proba(X), whole.predict_log_proba(X), rtol=1e-8, atol=1e-9)
    assert (parts.predict(X) == whole.predict(X)).all()
    with pytest.raises(ValueError, match="'other' is none of them"):
        tamis.MultinomialBayes().partial_fit(X[:2], ["a", "b"], classes=["a", "b"]).partial_fit(X[:2], ["a", "other"])


def test_selector_is_select_k_best(messages):
    """On presence and two classes, both χ² order columns alike; ours has p-values too."""
    texts, y = messages
    X = (tamis.TextCounter(min_df=5).fit_transform(texts) > 0).astype(int)
    two = y == y[0]
    ours, theirs = tamis.Selector("chi2max", k=20, cut=None).fit(X, two), SelectKBest(chi2, k=20).fit(X, two)
    common = set(ours.get_support(indices=True)) & set(theirs.get_support(indices=True))
    assert len(common) >= 16 and ours.scores_.shape == ours.pvalues_.shape == theirs.pvalues_.shape
    from scipy.stats import chi2_contingency

    for column in ours.get_support(indices=True)[:5]:
        has = X[:, [column]].toarray().ravel()
        table = [[np.sum((has == a) & (two == b)) for b in (0, 1)] for a in (0, 1)]
        found = chi2_contingency(table, correction=False)
        assert ours.scores_[column] == pytest.approx(found.statistic)
        assert ours.pvalues_[column] == pytest.approx(found.pvalue)
    assert tamis.Selector("ig", k=20).fit(X, y).pvalues_ is None


@pytest.mark.parametrize("loss, their_loss", [("squared", "squared_hinge"), ("hinge", "hinge")])
@pytest.mark.parametrize("classes", [2, 3])
def test_linear_svm_is_linear_svc(messages, loss, their_loss, classes):
    """The same objective, bias included, on the same vectors: the same weights."""
    texts, y = messages
    X = TfidfVectorizer(min_df=2).fit_transform(texts)
    y = np.unique(y, return_inverse=True)[1] % classes
    ours = tamis.LinearSVM(C=0.5, loss=loss, gap=1e-8).fit(X, y)
    theirs = LinearSVC(C=0.5, loss=their_loss, tol=1e-8, max_iter=100_000, random_state=0).fit(X, y)
    assert ours.vectors_ == "as-is" and ours.coef_.shape == theirs.coef_.shape
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-3)
    np.testing.assert_allclose(ours.intercept_, theirs.intercept_, atol=2e-3)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=5e-3)
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.995


def test_linear_logistic_is_logistic_regression(messages):
    """The same loss; the intercept is the weight of a column of ones. test_logistic.py has more."""
    texts, y = messages
    X, y = tamis.TextCounter(min_df=8).fit_transform(texts), np.where(y < "m", "a", "b")
    ours = tamis.LinearLogistic(C=0.1, vectors="tf", gap=1e-10).fit(X, y)
    ones = sp.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    theirs = LogisticRegression(C=0.1, solver="newton-cg", tol=1e-10, fit_intercept=False, max_iter=1000).fit(ones, y)
    np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(ones), atol=1e-4)
    held_out = [np.mean(cross_val_predict(model, X, y, cv=3) == y) for model in (tamis.LinearSVM(), tamis.LinearLogistic())]
    assert min(held_out) > np.mean(y == "b")


def test_weights_of_documents_and_classes(messages):
    """A document of weight 2 is two documents, whoever fits; classes weigh as theirs do."""
    texts, y = messages
    X = tamis.TextCounter(min_df=5).fit_transform(texts)
    V = TfidfVectorizer(min_df=5).fit_transform(texts)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    twice = np.repeat(np.arange(len(y)), weights)
    for model, data in [
        (tamis.LinearSVM(vectors="tf", gap=1e-8), X),
        (tamis.LinearSVM(gap=1e-8), V),
        (tamis.MultinomialBayes(), X),
        (tamis.MultinomialBayes(alpha=0.3), V),
        (tamis.LinearLogistic(vectors="tf", gap=1e-8), X),
    ]:
        a = model.fit(data, y, sample_weight=weights)
        scores = a.decision_function(data) if hasattr(a, "decision_function") else a.predict_log_proba(data)
        b = type(model)(**model.get_params()).fit(data[twice], y[twice])
        other = b.decision_function(data) if hasattr(b, "decision_function") else b.predict_log_proba(data)
        np.testing.assert_allclose(scores, other, atol=5e-3)
    two = y == y[0]
    for classes in ("balanced", {True: 5.0, False: 0.5}):
        ours = tamis.LinearSVM(class_weight=classes, gap=1e-8).fit(V, two)
        theirs = LinearSVC(class_weight=classes, tol=1e-8, max_iter=100_000, random_state=0).fit(V, two)
        np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=5e-3)
    with pytest.raises(ValueError, match="which no document has"):
        tamis.LinearSVM(class_weight={"nobody": 2.0}).fit(V, y)


@pytest.mark.parametrize("alpha", [1.0, 0.1])
@pytest.mark.parametrize("weights", [False, True])
def test_multinomial_bayes_is_multinomial_nb(messages, alpha, weights):
    texts, y = messages
    X = (TfidfVectorizer() if weights else CountVectorizer()).fit_transform(texts)
    ours = tamis.MultinomialBayes(alpha=alpha).fit(X, y)
    # Shares of classes are smoothed by ours.
    smoothed = (1 + np.unique(y, return_counts=True)[1]) / (len(y) + len(np.unique(y)))
    theirs = MultinomialNB(alpha=alpha, class_prior=smoothed).fit(X, y)
    np.testing.assert_allclose(ours.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours.feature_log_prob_, theirs.feature_log_prob_, rtol=1e-9)
    np.testing.assert_allclose(ours.class_log_prior_, theirs.class_log_prior_, rtol=1e-9)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)
    assert (ours.predict(X) == theirs.predict(X)).all()


def test_calibrate_is_calibrated_classifier(messages):
    texts, y = messages
    ours = tamis.TextCategorizer(by="df", features="all", classifier="svm", calibrate="platt", folds=3).fit(texts, y)
    theirs = CalibratedClassifierCV(make_pipeline(TfidfVectorizer(), LinearSVC()), method="sigmoid", cv=3, ensemble=False)
    a, b = ours.predict_proba(texts), theirs.fit(texts, y).predict_proba(texts)
    np.testing.assert_allclose(a.sum(axis=1), 1)
    assert np.mean(a.argmax(axis=1) == b.argmax(axis=1)) > 0.95


def test_threshold_tuner_is_tuned_threshold_classifier(messages):
    texts, y = messages
    X = tamis.TextCounter(min_df=8).fit_transform(texts)
    rare = (y == np.unique(y)[0]).astype(int)
    ours = tamis.ThresholdTuner(LogisticRegression(max_iter=100), "scut", cv=3).fit(X, rare)
    theirs = TunedThresholdClassifierCV(LogisticRegression(max_iter=100), scoring="f1", cv=3).fit(X, rare)
    plain = LogisticRegression(max_iter=100).fit(X, rare)
    found = [np.sum(model.predict(X)) for model in (ours, theirs, plain)]
    assert min(found[:2]) >= found[2] and abs(found[0] - found[1]) < 0.1 * len(y)


# Any numbers


def test_numbers_beside_text(messages):
    texts, y = messages
    import pandas as pd

    frame = pd.DataFrame({"text": texts, "length": [len(text) for text in texts]})
    both = ColumnTransformer([("words", tamis.TextCounter(weights="tfidf"), "text"), ("numbers", StandardScaler(), ["length"])])
    model = make_pipeline(both, tamis.LinearSVM()).fit(frame, y)
    assert model[-1].vectors_ == "as-is" and model.score(frame, y) > 0.9
    dense = np.column_stack([frame["length"], -frame["length"]]) / 100
    for classes in (y == y[0], y):
        svm = tamis.LinearSVM().fit(dense, classes)
        np.testing.assert_allclose(svm.decision_function(dense), svm.decision_function(sp.csr_matrix(dense)), rtol=1e-12)
    several = np.column_stack([y == name for name in np.unique(y)[:3]]).astype(int)
    X = both.fit_transform(frame)
    svm = tamis.LinearSVM().fit(X, several)
    assert (svm.predict(X) == (svm.decision_function(X) >= 0)).all()
    assert (tamis.LinearSVM(threshold="rcut(2)").fit(X, several).predict(X).sum(axis=1) == 2).all()
    with pytest.raises(ValueError, match="OneVsOneClassifier"):
        tamis.LinearSVM(multi="ovo", vectors="as-is").fit(dense, y)


def test_weights_of_counts_give_the_scores(messages):
    texts, y = messages
    X = tamis.TextCounter(words="letters", max_features=200).fit_transform(texts)
    V = tamis.TextCounter(words="letters", max_features=200, weights="tfidf").fit_transform(texts)
    for labels in (y, y == y[0]):
        svm = tamis.LinearSVM().fit(X, labels)
        scores = V @ svm.coef_.T + svm.intercept_
        np.testing.assert_allclose(scores.ravel(), svm.decision_function(X).ravel(), atol=1e-5)
    with pytest.raises(AttributeError, match="pairs of labels"):
        _ = tamis.LinearSVM(multi="ovo").fit(X, y).coef_


def test_the_page_names_every_parameter():
    """docs/drop-in.md has each of their parameters, and no others of ours than there are."""
    page = (Path(__file__).parents[2] / "docs" / "drop-in.md").read_text(encoding="utf-8")
    pairs = {
        CountVectorizer: tamis.TextCounter,
        TfidfVectorizer: tamis.TextCounter,
        SelectKBest: tamis.Selector,
        LinearSVC: tamis.LinearSVM,
        LogisticRegression: tamis.LinearLogistic,
        MultinomialNB: tamis.MultinomialBayes,
        CalibratedClassifierCV: tamis.TextCategorizer,
        TunedThresholdClassifierCV: tamis.ThresholdTuner,
    }
    for theirs, ours in pairs.items():
        part = page.split(f"## {theirs.__name__}")[1].split("\n## ")[0]
        rows = [re.split(r"(?<!\\)\|", line)[1:3] for line in part.splitlines() if line.startswith("| `")]
        named = {name for left, _ in rows for name in re.findall(r"`(\w+)`", left)}
        # A parameter that the newest scikit-learn no longer has may stay for those with an older one.
        assert set(theirs.__init__.__code__.co_varnames[1 : theirs.__init__.__code__.co_argcount + theirs.__init__.__code__.co_kwonlyargcount]) - {"deprecated"} <= named, theirs
        known = set(ours().get_params() if ours is not tamis.ThresholdTuner else ours(tamis.LinearSVM()).get_params(deep=False))
        for _, right in rows:
            assert set(re.findall(r"`(\w+)=", right)) <= known, (theirs, right)
