"""Classifiers against scikit-learn, liblinear and dense numpy versions, on the scores that `tamis classify` prints."""

import numpy as np
import pytest
from sklearn.naive_bayes import MultinomialNB
from sklearn.svm import LinearSVC

from corpora import Corpus


@pytest.fixture(scope="module", params=["single-label", "multi-label"])
def corpus(request, tmp_path_factory):
    single = request.param == "single-label"
    return Corpus(tmp_path_factory.mktemp("corpus"), 21 if single else 22, single_label=single)


@pytest.fixture
def classify(tamis, corpus, tmp_path):
    """Fits a classifier and returns the lines for a part of the corpus."""

    def run(classifier, path, *more):
        model = tmp_path / "x.model"
        if not model.exists():
            tamis.fit(corpus.train_path, model, classifier, "--threshold", "none")
        return tamis.lines("classify", model, path, "--scores", *more)

    return run


def test_bayes_is_multinomial_nb(corpus, classify):
    """A document with several labels counts in each of them: one row for each."""
    members = corpus.members[corpus.train]
    rows, y = np.nonzero(members)
    prior = (1 + members.sum(0)) / (1 + members.sum(0)).sum()
    theirs = MultinomialNB(alpha=1.0, class_prior=prior).fit(corpus.features(corpus.train)[rows], y)
    expected = theirs.predict_log_proba(corpus.features(corpus.test))
    lines = classify("bayes", corpus.test_path)
    scores = corpus.scores(lines)
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.exp(scores).sum(1), 1, atol=1e-9)
    # The order of the list is that of the scores.
    for line, row in zip(classify("bayes", corpus.test_path, "--top", "100"), expected):
        assert [corpus.labels.index(name) for name in line["labels"]] == np.argsort(-row).tolist()


def test_bayes_one_vs_rest_is_a_binary_nb_for_each_label(corpus, classify):
    x, members = corpus.features(corpus.train), corpus.members[corpus.train]
    expected = np.zeros((len(corpus.test), len(corpus.labels)))
    for c in range(len(corpus.labels)):
        n_c = members[:, c].sum()
        prior = np.array([1 + len(x) - n_c, 1 + n_c]) / (2 + len(x))
        theirs = MultinomialNB(alpha=1.0, class_prior=prior).fit(x, members[:, c])
        expected[:, c] = theirs.predict_log_proba(corpus.features(corpus.test))[:, 1]
    scores = corpus.scores(classify("bayes(multi=ovr)", corpus.test_path))
    np.testing.assert_allclose(scores, expected, rtol=0, atol=1e-9)


def objective(w, bias, x, y, loss):
    """Primal of Hsieh et al. 2008 with C = 1; the bias is the weight of a constant feature, and as such it is penalised."""
    slack = np.maximum(0, 1 - y * (x @ w + bias))
    return 0.5 * (w @ w + bias**2) + (slack if loss == "hinge" else slack**2).sum()


@pytest.mark.parametrize("loss", ["hinge", "squared"])
def test_svm_reaches_liblinears_objective_and_predictions(tamis, corpus, tmp_path, loss):
    x, x_test = corpus.tfidf(corpus.train), corpus.tfidf(corpus.test)
    model = tamis.fit(corpus.train_path, tmp_path / "svm.model", f"svm(loss={loss})", "--threshold", "fixed(0)")
    # The weights as `explain` tells them, and the bias: the score of a document without a known word.
    terms = [t for t, known in zip(corpus.terms, corpus.known) if known]
    weights = np.zeros((len(corpus.labels), len(terms)))
    for entry in tamis.json("explain", model, "--top", 100_000):
        for word in entry["words"]:
            weights[corpus.labels.index(entry["label"]), terms.index(word["word"])] = word["adds"]
    strange = tmp_path / "strange.jsonl"
    strange.write_text('{"tokens": ["xyzzy"]}\n', encoding="utf-8")
    bias = corpus.scores(tamis.lines("classify", model, strange, "--scores"))[0]

    lines = tamis.lines("classify", model, corpus.test_path, "--scores")
    scores = corpus.scores(lines)
    np.testing.assert_allclose(scores, x_test @ weights.T + bias, rtol=0, atol=1e-9)
    assert (corpus.decided(lines) == (scores >= 0)).all()

    theirs = np.zeros_like(scores)
    for c in range(len(corpus.labels)):
        y = np.where(corpus.members[corpus.train, c], 1, -1)
        name = "hinge" if loss == "hinge" else "squared_hinge"
        svc = LinearSVC(C=1, loss=name, dual=True, intercept_scaling=1, tol=1e-7, max_iter=200_000, random_state=0)
        svc.fit(x, y)
        theirs[:, c] = svc.decision_function(x_test)
        best = objective(svc.coef_[0], svc.intercept_[0], x, y, loss)
        ours = objective(weights[c], bias[c], x, y, loss)
        assert abs(ours - best) <= 1e-3 * best, f"{corpus.labels[c]}: {ours} against {best}"
    assert np.abs(scores - theirs).max() < 0.05
    assert (scores.argmax(1) == theirs.argmax(1)).mean() >= 0.999
    assert ((scores >= 0) == (theirs >= 0)).mean() >= 0.999


@pytest.mark.parametrize(("loss", "theirs"), [("hinge", "hinge"), ("squared", "squared_hinge")])
def test_svm_one_vs_one_votes_like_liblinear_on_pairs(corpus, classify, loss, theirs):
    if (corpus.members.sum(1) != 1).any():
        pytest.skip("pairs of classes need one class for each document")
    x, x_test = corpus.tfidf(corpus.train), corpus.tfidf(corpus.test)
    y = corpus.members[corpus.train].argmax(1)
    votes = np.zeros((len(corpus.test), len(corpus.labels)))
    for b in range(len(corpus.labels)):
        for a in range(b):
            rows = (y == a) | (y == b)
            svc = LinearSVC(C=1, loss=theirs, dual=True, intercept_scaling=1, tol=1e-7, max_iter=200_000, random_state=0)
            chosen = svc.fit(x[rows], y[rows]).predict(x_test)
            votes[:, a] += chosen == a
            votes[:, b] += chosen == b
    # Votes decide; what is below one vote orders labels with equal votes.
    scores = corpus.scores(classify(f"svm(loss={loss},multi=ovo)", corpus.test_path))
    agree = (np.round(scores) == votes).all(1)
    assert agree.mean() >= 0.98
    assert np.abs(np.round(scores) - votes).max() <= 2


def in_order(corpus, factors, weights):
    """Sums of products over the features in the order of the ranking by df, one after the other. Documents that are
    equally near in exact arithmetic stay so, whatever a matrix product would make of them."""
    df = (corpus.features(corpus.train) > 0).sum(0)
    sums = np.zeros((len(factors), len(weights)))
    for t in np.argsort(-df, kind="stable"):
        sums += np.multiply.outer(factors[:, t], weights[:, t])
    return sums


def neighbours(corpus, similarity, k):
    """Scores of labels: similarities of the k nearest that carry them, added in training order; and of all k."""
    scores = np.zeros((len(similarity), len(corpus.labels)))
    total = np.zeros(len(similarity))
    for row, of_document in enumerate(similarity):
        # Largest first; equal ones in training order.
        nearest = np.argsort(-of_document, kind="stable")[:k]
        nearest = np.sort(nearest[of_document[nearest] > 0])
        scores[row] = (of_document[nearest, None] * corpus.members[nearest]).sum(0)
        total[row] = of_document[nearest].sum()
    return scores, total


def check_neighbours(corpus, lines, expected):
    got = corpus.scores(lines, absent=0)
    np.testing.assert_allclose(got, expected, rtol=1e-10, atol=0)
    # Labels with a positive score, best first; equal ones in label order.
    for line, row in zip(lines, expected):
        order = np.argsort(-row, kind="stable")
        assert line["labels"] == [corpus.labels[c] for c in order if row[c] > 0]


@pytest.mark.parametrize("k", [1, 7, 100, 1000])
def test_knn_is_the_dense_version(corpus, classify, k):
    """Method 6 and 7: okapi weights; the length of a document counts words that no training document has."""
    counts, tests = corpus.features(corpus.train).astype(float), corpus.features(corpus.test).astype(float)
    length = corpus.counts.sum(1).astype(float)
    mean = length[corpus.train].mean()
    n, df = len(counts), (counts > 0).sum(0)
    idf = np.maximum(0, np.log((n - df + 0.5) / (df + 0.5)))
    weigh = lambda tf, dl: tf / (0.5 + 1.5 * dl[:, None] / mean + tf)
    factors, weights = weigh(tests, length[corpus.test]) * idf, weigh(counts, length[corpus.train])
    scores, _ = neighbours(corpus, in_order(corpus, factors, weights), k)
    check_neighbours(corpus, classify(f"knn({k})", corpus.test_path, "--top", "100"), scores)


@pytest.mark.parametrize("k", [1, 20, 1000])
def test_wknn_is_the_dense_version(corpus, classify, k):
    """Method 6 and 7: cosine of tfidf; scores are shares of the neighbours' similarity."""
    train, tests = corpus.features(corpus.train), corpus.features(corpus.test)
    idf = np.log(len(train) / (train > 0).sum(0))
    weigh = lambda counts: np.where(counts > 0, (1 + np.log(np.maximum(counts, 1))) * idf, 0)
    factors, weights = weigh(tests), weigh(train)
    squares = lambda of: in_order(corpus, of * of, np.ones((1, of.shape[1])))[:, 0]
    with np.errstate(divide="ignore"):
        inverse = [np.where(norm > 0, 1 / np.sqrt(norm), 0) for norm in (squares(factors), squares(weights))]
    similarity = in_order(corpus, factors, weights) * inverse[0][:, None] * inverse[1]
    scores, total = neighbours(corpus, similarity, k)
    shares = np.divide(scores, total[:, None], out=np.zeros_like(scores), where=total[:, None] > 0)
    check_neighbours(corpus, classify(f"wknn({k})", corpus.test_path, "--top", "100"), shares)
    # The same numbers as a cosine by the book.
    np.testing.assert_allclose(similarity, corpus.tfidf(corpus.test) @ corpus.tfidf(corpus.train).T, rtol=1e-9, atol=1e-12)


def test_features_are_the_best_of_the_ranking(tamis, corpus, tmp_path):
    """A model of 20 features sees those, and the vectors are made of those alone."""
    model = tmp_path / "x.model"
    tamis("fit", corpus.train_path, "-o", model, "--by", "chi2max", "--features", "20", "--folds", "0",
          "--classifier", "bayes", "--threshold", "none")  # fmt: skip
    top = [row["term"] for row in tamis.json("rank", corpus.train_path, "--by", "chi2max", "--top", "20")["terms"]]
    columns = [corpus.terms.index(term) for term in top]
    members = corpus.members[corpus.train]
    rows, y = np.nonzero(members)
    prior = (1 + members.sum(0)) / (1 + members.sum(0)).sum()
    theirs = MultinomialNB(alpha=1.0, class_prior=prior).fit(corpus.counts[corpus.train][rows][:, columns], y)
    expected = theirs.predict_log_proba(corpus.counts[corpus.test][:, columns])
    lines = tamis.lines("classify", model, corpus.test_path, "--scores")
    np.testing.assert_allclose(corpus.scores(lines), expected, rtol=0, atol=1e-9)
    unknown = ~corpus.counts[corpus.test][:, columns].any(1)
    assert [line["known"] for line in lines] == (~unknown).tolist()


def test_calibration_is_a_probability_that_grows_with_the_score(tamis, corpus, tmp_path):
    model = tmp_path / "x.model"
    tamis("fit", corpus.train_path, "-o", model, "--by", "df@0", "--features", "all", "--folds", "3",
          "--classifier", "svm", "--calibrate", "platt")  # fmt: skip
    lines = tamis.lines("classify", model, corpus.test_path, "--scores", "--top", len(corpus.labels))
    for label in corpus.labels:
        ranked = [entry for line in lines for entry in line["ranked"] if entry["label"] == label]
        pairs = sorted((entry["score"], entry["probability"]) for entry in ranked)
        probabilities = [p for _, p in pairs]
        assert all(0 <= p <= 1 for p in probabilities)
        assert probabilities == sorted(probabilities)
    # They mean something: as many labels as they promise, within a sixth.
    promised = sum(entry["probability"] for line in lines for entry in line["ranked"])
    assert promised == pytest.approx(corpus.members[corpus.test].sum(), rel=1 / 6)
