"""The estimators: equal to the program to the last digit, at home in scikit-learn's tools, and clear about bad input."""

import json
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from corpora import Corpus
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectKBest, chi2
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline

tamis = pytest.importorskip("tamis")
from tamis import _core, _inputs  # noqa: E402


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Documents with one label each."""
    return Corpus(tmp_path_factory.mktemp("single"), seed=5, test=200)


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """Documents with several labels each, or none."""
    return Corpus(tmp_path_factory.mktemp("several"), seed=6, test=200, single_label=False)


@pytest.fixture(scope="module")
def messages(tamis_program, tmp_path_factory):
    """The built-in corpus as texts, labels, and a file."""
    path = tmp_path_factory.mktemp("messages") / "messages.jsonl"
    tamis_program("synth", path, "-n", 600)
    documents = [json.loads(line) for line in open(path, encoding="utf-8")]
    for row, document in enumerate(documents):
        document.pop("split", None)
        # Documents that Python holds are named by their rows, and a model of neighbours keeps the names.
        document["id"] = str(row)
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return [d["text"] for d in documents], [d["labels"] for d in documents], path


@pytest.fixture(scope="session")
def tamis_program():
    from conftest import Tamis

    return Tamis()


def vector(corpus, rows):
    return np.array(corpus.labels)[corpus.members[rows].argmax(1)]


# Equal to the program


def test_counter_counts_as_the_program(messages, tamis_program, tmp_path):
    texts, labels, path = messages
    tamis_program("count", path, "-o", tmp_path / "a.counts", "--all-parts")
    counts = tamis.Counts.load(tmp_path / "a.counts")
    counter = tamis.TextCounter()
    X = counter.fit_transform(texts)
    assert counter.get_feature_names_out().tolist() == counts.terms
    assert (np.bincount(X.indices) == counts.parts()["df"]).all()
    assert (np.asarray(X.sum(0)).ravel() == counts.parts()["occurrences"]).all()
    assert counter.lengths_.sum() == counts.n_tokens == X.sum()
    assert tamis.count(texts, labels) == counts
    assert (counter.transform(texts) != X).nnz == 0
    # The last half's words alone, in the columns of all.
    assert (counter.transform(texts[300:]) != X[300:]).nnz == 0


def test_counter_counts_as_scikit_learn(messages):
    texts, _, _ = messages
    ours = tamis.TextCounter(words="letters")
    theirs = CountVectorizer(token_pattern="[A-Za-z]{2,40}(?![A-Za-z])")
    plain = [t.encode("ascii", "ignore").decode() for t in texts]
    X, Y = ours.fit_transform(plain), theirs.fit_transform(plain)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    assert (X != Y).nnz == 0 and X.dtype == Y.dtype and X.indices.dtype == Y.indices.dtype
    for option in [{"min_df": 3}, {"max_df": 0.2}, {"min_df": 0.01, "max_df": 300}, {"binary": True}]:
        ours.set_params(min_df=1, max_df=1.0, binary=False).set_params(**option)
        theirs.set_params(min_df=1, max_df=1.0, binary=False).set_params(**option)
        assert (ours.fit_transform(plain) != theirs.fit_transform(plain)).nnz == 0
    ours, theirs = tamis.TextCounter(words="letters", max_features=50), theirs.set_params(max_features=50, binary=False)
    assert ours.fit_transform(plain).shape == (600, 50) == theirs.set_params(max_df=1.0, min_df=1).fit_transform(plain).shape


@pytest.mark.parametrize("by", ["chi2max", "lr(chi2max,chi2avg)@1", "ig", "wr(0.7*bns,0.3*wllr)", "ib", "os(ib)"])
def test_selector_ranks_as_the_program(several, tamis_program, by):
    found = tamis_program.json("rank", several.train_path, "--by", by, "--top", 40)["terms"]
    X, Y = sp.csr_matrix(several.counts[several.train]), several.members[several.train].astype(int)
    if by.startswith("os"):
        selector = tamis.OscillatingSearch(k=40, cut=None).fit(X, Y)
    else:
        selector = tamis.Selector(by=by, k=40, cut=None).fit(X, Y)
    order = np.argsort(selector.ranking_, kind="stable")[:40]
    assert [several.terms[at] for at in order] == [term["term"] for term in found]
    assert selector.scores_[order].tolist() == [term["score"] for term in found]
    assert selector.get_support().sum() == 40
    assert (selector.transform(X) != X[:, selector.get_support()]).nnz == 0


def classifiers():
    return {
        "svm": tamis.LinearSVM(),
        "svm(c=0.1,loss=hinge,classes=balanced)": tamis.LinearSVM(C=0.1, loss="hinge", class_weight="balanced"),
        "svm(multi=ovo)": tamis.LinearSVM(multi="ovo"),
        "bayes": tamis.MultinomialBayes(),
        "bayes(multi=ovr)": tamis.MultinomialBayes(multi="ovr"),
        "knn(10)": tamis.OkapiKNN(k=10),
        "wknn(7)": tamis.WeightedKNN(k=7),
    }


@pytest.mark.parametrize("name", list(classifiers()))
def test_classifiers_score_as_the_program(corpus, tamis_program, tmp_path, name):
    model = tamis_program.fit(corpus.train_path, tmp_path / "a.model", name, "--threshold", "rcut(1)")
    lines = tamis_program.lines("classify", model, corpus.test_path, "--scores")
    # Words that only test documents have are columns of zeros in training: they count in lengths, as in the program.
    X, y = sp.csr_matrix(corpus.counts), vector(corpus, slice(None))
    ours = classifiers()[name].fit(X[corpus.train], y[corpus.train])
    absent = {"svm": -1.0, "bayes": -np.inf}.get(name.split("(")[0], 0.0)
    expected = corpus.scores(lines, absent)
    method = {"bayes": "predict_log_proba", "wknn": "predict_proba"}.get(name.split("(")[0], "decision_function")
    found = getattr(ours, method)(X[corpus.test])
    assert (found == expected).all()
    assert ours.predict(X[corpus.test]).tolist() == [line["labels"][0] for line in lines]


@pytest.mark.parametrize("name", ["svm", "knn(10)", "wknn(7)"])
def test_several_labels_are_decided_as_the_program_decides(several, tamis_program, tmp_path, name):
    model = tamis_program.fit(several.train_path, tmp_path / "a.model", name)
    lines = tamis_program.lines("classify", model, several.test_path)
    X, Y = sp.csr_matrix(several.counts), several.members.astype(int)
    for target in (Y, sp.csr_matrix(Y)):
        ours = classifiers()[name].fit(X[several.train], target[several.train])
        assert (ours.predict(X[several.test]) == several.decided(lines)).all()


@pytest.mark.parametrize("policy", ["scut", "scut(rare=5)", "rcut", "pcut(1.2,min=1)"])
@pytest.mark.parametrize("name", ["svm", "knn(10)"])
def test_thresholds_are_those_of_the_program(several, tamis_program, tmp_path, policy, name):
    model = tmp_path / "a.model"
    common = ["--by", "df@0", "--features", "all", "--folds", 5, "--classifier", name, "--threshold", policy]
    tamis_program("fit", several.train_path, "-o", model, *common)
    lines = tamis_program.lines("classify", model, several.test_path)
    X, Y = sp.csr_matrix(several.counts), several.members.astype(int)
    tuner = tamis.ThresholdTuner(classifiers()[name], policy).fit(X[several.train], Y[several.train])
    assert (tuner.predict(X[several.test]) == several.decided(lines)).all()
    loaded = tamis.TextCategorizer.load(model)
    if tuner.thresholds_ is not None:
        assert tuner.thresholds_.tolist() == [np.inf if t is None else t for t in loaded.thresholds_.values()]


@pytest.mark.parametrize(
    "options",
    [
        {"by": "chi2max@1", "features": 80, "classifier": "svm", "threshold": "scut(rare=5)", "calibrate": "platt"},
        {"by": "ig", "features": "all", "classifier": "bayes"},
        {"taxonomy": "names", "threshold": "tsa"},
        {"taxonomy": "names", "by": "ig"},
        {"taxonomy": "names", "goal": "hf1"},
        {"taxonomy": "names", "goal": "exact", "by": "ig", "features": 80, "classifier": "tree(svm,by=flat+taxonomy)"},
        {"classifier": "tree(svm,leaf=2)", "features": 100, "by": "ig"},
        {"classifier": "svm", "by": "chi2max@1", "effort": "usual", "prefer": "small", "loss": 0.02},
        {"classifier": "bayes", "stem": "english", "stop_words": "english", "ngrams": 2},
        {"classifier": "knn(k=7)", "features": 100, "by": "ig"},
    ],
)
def test_categorizer_is_the_program(messages, tamis_program, tmp_path, options):
    texts, labels, path = messages
    flags = []
    for key, value in options.items():
        flags += [f"--{key.replace('_', '-')}", str(value)]
    tamis_program("fit", path, "-o", tmp_path / "a.model", "--no-examples", *flags)
    ours = tamis.TextCategorizer(**options).fit(texts, labels)
    ours.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    lines = tamis_program.lines("classify", tmp_path / "a.model", path, "--scores")
    # The program lists labels by score, Python by name.
    assert ours.predict(texts) == [sorted(line["labels"]) for line in lines]
    found = ours.decision_function(texts)
    for row, line in zip(found, lines):
        named = {str(label): score for label, score in zip(ours.classes_.tolist(), row)}
        ranked = {entry["label"]: entry["score"] for entry in line["ranked"]}
        assert {label: named[label] for label in ranked} == ranked
        # What was not ranked has one score, and a finite one: others calibrate and stack.
        assert np.isfinite(row).all() and {score for label, score in named.items() if label not in ranked} <= {ours._floor}
    again = tamis.TextCategorizer.load(tmp_path / "a.model")
    assert again.predict(texts[:50]) == ours.predict(texts[:50])
    (tmp_path / "one.txt").write_text(texts[0], encoding="utf-8")
    program = tamis_program.json("explain", tmp_path / "a.model", tmp_path / "one.txt", "--top", 5)
    assert ours.explain(texts[0], top=5) == again.explain(texts[0], top=5) == program["reasons"]


def test_a_taxonomy_of_our_svm_is_close_to_the_library(messages):
    """The estimator trains nodes on all words with classifiers of its own; the answers are mostly the library's."""
    texts, labels, _ = messages
    first = [names[0] for names in labels]
    X = tamis.TextCounter().fit_transform(texts)
    ours = tamis.ProgressiveFilter(taxonomy="names").fit(X, first)
    assert np.mean(ours.predict(X) == np.array(first)) > 0.8
    assert set(ours.tuned_) == set(ours.classes_.tolist())
    for name, tuned in ours.tuned_.items():
        assert tuned is None or len(tuned["thresholds"]) == len(name.split("/"))
    again = pickle.loads(pickle.dumps(ours))
    assert (again.predict(X) == ours.predict(X)).all()


@pytest.mark.parametrize("method", ["tsa", "rbf", "exact", "greedy-exact"])
def test_a_taxonomy_of_anyones_classifiers(method):
    rng = np.random.default_rng(0)
    kinds = ["a/x", "a/y", "b", "b/z"]
    y = np.array(kinds)[rng.integers(0, 4, 400)]
    X = rng.poisson(0.3, (400, 12)) + np.stack([2 * (y == kind) for kind in kinds] * 3, 1)
    for estimator in (LogisticRegression(), tamis.WeightedKNN()):
        model = tamis.ProgressiveFilter(estimator, "names", threshold=method, step=0.05).fit(X[:300], y[:300])
        assert np.mean(model.predict(X[300:]) == y[300:]) > 0.9
        assert model.decision_function(X).shape == (400, 5)
        assert model.parents_ == {"a": None, "a/x": "a", "a/y": "a", "b": None, "b/z": "b"}
    columns = pd.DataFrame({kind: (y == kind).astype(int) for kind in kinds})
    columns.loc[:50, "b"] = 1
    several = tamis.ProgressiveFilter(LogisticRegression(), {"a/x": "a", "a/y": "a", "b": None, "b/z": "b"}).fit(X, columns)
    assert several.classes_.tolist() == ["a", "a/x", "a/y", "b", "b/z"]
    assert several.predict(X).shape == (400, 5)


# At home in scikit-learn


def test_pipelines_searches_and_pandas(messages):
    texts, labels, _ = messages
    y = np.array([names[0].split("/")[0] for names in labels])
    pipeline = make_pipeline(tamis.TextCounter(), tamis.Selector(k=300), tamis.LinearSVM())
    assert cross_val_score(pipeline, texts, y, cv=3).mean() > 0.6
    grid = {"selector__k": [50, 300], "selector__by": ["chi2max", "df"], "linearsvm__C": [0.1, 1.0]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(texts, y)
    assert search.best_params_["selector__k"] == 300 and search.best_score_ > 0.6
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    assert (again.predict(texts) == search.predict(texts)).all()
    names = pipeline.fit(texts, y)[:-1].get_feature_names_out()
    assert len(names) == 300 and "the" not in names[:5]
    frame = make_pipeline(tamis.TextCounter(), tamis.Selector(k=5)).set_output(transform="default").fit_transform(texts, y)
    assert frame.shape == (600, 5)
    dense = pd.DataFrame(tamis.TextCounter(max_features=40).fit_transform(texts).toarray()).add_prefix("w")
    chosen = tamis.Selector(k=7).set_output(transform="pandas").fit_transform(dense, y)
    assert isinstance(chosen, pd.DataFrame) and chosen.shape == (600, 7) and set(chosen) <= set(dense)


def test_joblib_and_forked_processes_do_not_hang(messages):
    import multiprocessing

    texts, labels, _ = messages
    y = np.array([names[0].split("/")[0] for names in labels])
    pipeline = make_pipeline(tamis.TextCounter(), tamis.LinearSVM())
    pipeline.fit(texts, y)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert (pool.apply_async(pipeline.predict, (texts[:20],)).get(60) == pipeline.predict(texts[:20])).all()
    assert len(cross_val_score(pipeline, texts, y, cv=2, n_jobs=2)) == 2


def test_clone_and_parameters():
    for estimator in (tamis.TextCounter(stem="english"), tamis.Selector("ig", 5), tamis.TextCategorizer(by="ig")):
        assert clone(estimator).get_params() == estimator.get_params()


def test_metadata_routing(corpus):
    import sklearn

    X, y = sp.csr_matrix(corpus.counts[corpus.train]), vector(corpus, corpus.train)
    lengths = np.asarray(X.sum(1)).ravel()
    chosen = tamis.Selector(k=30).fit(X, y)
    small = chosen.transform(X)
    plain = tamis.OkapiKNN(k=10).fit(small, y, lengths=lengths).decision_function(small, lengths=lengths)
    assert not (plain == tamis.OkapiKNN(k=10).fit(small, y).decision_function(small)).all()
    with sklearn.config_context(enable_metadata_routing=True):
        knn = tamis.OkapiKNN(k=10).set_fit_request(lengths=True).set_decision_function_request(lengths=True)
        pipeline = make_pipeline(tamis.Selector(k=30), knn).fit(X, y, lengths=lengths)
        assert (pipeline.decision_function(X, lengths=lengths) == plain).all()
        weights = np.ones(len(y))
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        tuner = tamis.ThresholdTuner(inner, cv=2).fit(X, y, sample_weight=weights)
        assert tuner.predict(X).shape == y.shape


def test_a_tuner_raises_f1_of_anyones_classifier(several):
    from sklearn.metrics import f1_score

    X, Y = several.counts, several.members.astype(int)
    plain = OneVsRestClassifier(LogisticRegression(max_iter=500)).fit(X[several.train], Y[several.train])
    tuned = tamis.ThresholdTuner(OneVsRestClassifier(LogisticRegression(max_iter=500))).fit(X[several.train], Y[several.train])
    score = lambda model: f1_score(Y[several.test], model.predict(X[several.test]), average="macro")  # noqa: E731
    assert score(tuned) > score(plain)
    assert tuned.thresholds_.shape == (7,) and len(tuned.curves_) == 7


def test_selection_agrees_with_scikit_learn_where_both_have_chi2():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 500)
    X = sp.csr_matrix((rng.random((500, 60)) < np.where(y[:, None] == 1, rng.random(60), 0.3)).astype(float))
    # On presence, χ² of one of two classes orders terms as scikit-learn's sum over both where d is common.
    ours = tamis.Selector(by="chi2max", k=10, cut=None).fit(X, y)
    theirs = SelectKBest(chi2, k=10).fit(X, y)
    assert len(set(ours.get_support(indices=True)) & set(theirs.get_support(indices=True))) >= 8


# No second copy


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("value", [np.float64, np.float32, np.int64, np.int32, np.uint8, bool])
def test_a_matrix_is_read_where_it_lies(index, value):
    X = sp.random(300, 200, 0.05, "csr", random_state=0)
    X.data = np.ones_like(X.data, dtype=value)
    X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
    indices, values = _core.addresses(_inputs.matrix(X))
    assert (indices, values) == (X.indices.ctypes.data, X.data.ctypes.data)


def test_selecting_takes_no_second_copy_of_the_data():
    rng = np.random.default_rng(0)
    X = sp.random(20_000, 5_000, 0.016, "csr", random_state=0)
    X.data[:] = 1.0
    y = rng.integers(0, 3, 20_000)
    assert X.nnz == 1_600_000
    selector = tamis.Selector(by="ig")
    tracemalloc.start()
    selector.fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # numpy tells tracemalloc of its arrays; a copy of the values would be 12.8 MB.
    assert peak < X.data.nbytes / 4


# Bad input


@pytest.mark.parametrize(
    "estimator", [tamis.Selector(by="ib"), tamis.LinearSVM(vectors="tfidf"), tamis.OkapiKNN(), tamis.WeightedKNN()]
)
def test_what_is_no_count_is_refused(estimator):
    X, y = np.array([[1.0, 2], [0, 1], [3, 0]]), [0, 1, 1]
    estimator.fit(X, y)
    for bad, message in [(-1, "Negative values"), (np.nan, "NaN"), (np.inf, "infinity"), (0.5, "not a count")]:
        wrong = X.copy()
        wrong[0, 0] = bad
        for form in (wrong, sp.csr_matrix(wrong)):
            with pytest.raises(ValueError, match=message):
                estimator.fit(form, y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        estimator.fit(X, [0, 1])
    with pytest.raises(ValueError, match="Expected 2D array"):
        estimator.fit([1, 2, 3], y)


def test_weights_select_as_counts_do():
    X, y = sp.csr_matrix([[2, 0, 1], [1, 1, 0], [0, 3, 1], [0, 1, 0]]), [0, 0, 1, 1]
    counts, weights = (tamis.Selector(by="chi2max", k=1, cut=None).fit(m, y) for m in (X, X * 0.3))
    assert (counts.scores_ == weights.scores_).all()


def test_labels_in_every_form_give_the_same():
    texts = ["ship port", "ship crew", "oil price", "price barrel oil"] * 4
    lists = [["sea"], ["sea", "crew"], ["oil"], []] * 4
    table = pd.DataFrame([[label in names for label in ("crew", "oil", "sea")] for names in lists], columns=["crew", "oil", "sea"])
    options = {"by": "chi2max", "features": "all", "classifier": "svm"}
    models = [
        tamis.TextCategorizer(**options).fit(texts, form)
        for form in (lists, [set(names) for names in lists], pd.Series(lists), table.astype(int))
    ]
    assert all(model.decision_function(texts).tolist() == models[0].decision_function(texts).tolist() for model in models)
    assert models[0].predict(texts[:2]) == [["sea"], ["crew", "sea"]]
    assert models[3].predict(texts[:2]).tolist() == [[0, 0, 1], [1, 0, 1]]
    numbers = tamis.TextCategorizer(**options).fit(texts, np.array([10, 10, 9, 9] * 4))
    assert numbers.predict(texts[:3]).tolist() == [10, 10, 9] and numbers.classes_.tolist() == [9, 10]
    with pytest.raises(ValueError, match="list of strings"):
        tamis.TextCategorizer().fit(texts, [[1], ["a"], [], []] * 4)
    with pytest.raises(ValueError, match="multi-label data representation"):
        tamis.Selector().fit(tamis.TextCounter().fit_transform(texts), lists)


@pytest.mark.parametrize("bad", [None, np.nan, 3, ["a"]])
def test_documents_that_are_none(bad):
    for use in (tamis.TextCounter().fit, lambda d: tamis.TextCategorizer().fit(d, ["a", "b"]), tamis.count):
        with pytest.raises(ValueError, match="invalid document, expected byte or unicode string"):
            use(["a text", bad])


def test_a_document_far_down_is_seen():
    texts = ["some words to count"] * 40_000
    counter = tamis.TextCounter()
    assert counter.fit_transform(texts).shape == (40_000, 4)
    with pytest.raises(ValueError, match="None is an invalid document"):
        counter.fit([*texts, None])
    with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
        counter.fit([*texts, "lone \ud800 half"])
    assert counter.fit_transform([*texts, b"bytes"]).shape == (40_001, 5)


def test_odd_documents_are_texts():
    counter = tamis.TextCounter()
    X = counter.fit_transform(np.array(["", "naïve café", b"caf\xc3\xa9".decode()], dtype=object))
    assert X.sum(1).ravel().tolist() == [[0, 2, 1]]
    assert counter.transform([b"caf\xc3\xa9", "", np.str_("café")]).sum(1).ravel().tolist() == [[1, 0, 1]]
    assert counter.transform(pd.Series(["café"])).sum() == 1
    latin = tamis.TextCounter(encoding="latin-1").fit([b"caf\xe9"])
    assert latin.get_feature_names_out().tolist() == ["café"]
    with pytest.raises(UnicodeDecodeError):
        counter.transform([b"caf\xe9"])
    with pytest.raises(ValueError, match="string object received"):
        counter.fit("a text")
    with pytest.raises(ValueError, match="empty vocabulary"):
        counter.fit(["", "a"])
    with pytest.raises(ValueError, match="kind of word"):
        tamis.TextCounter(words="tokens").fit(["a text"])


def test_every_classifier_says_what_is_not_ranked():
    from tamis._target import FLOORS

    assert {name.partition("(")[0] for name in tamis.registry("classifiers")["name"]} == set(FLOORS)


def test_what_a_taxonomy_cannot_have_is_refused(messages):
    texts, labels, _ = messages
    for option, value in [("calibrate", "platt"), ("quantise", True)]:
        with pytest.raises(ValueError, match=f"{option}= is for models without a classifier at each node"):
            tamis.TextCategorizer(taxonomy="names", **{option: value}).fit(texts[:60], labels[:60])
    # A selector alone takes as many words as the paper, as the command does.
    few = tamis.TextCategorizer(taxonomy="names", by="ig").fit(texts[:200], labels[:200])
    assert few.selector_ == "ig"


def test_mistakes_are_explained(tmp_path):
    X, y = [[1, 0], [0, 1]], ["a", "b"]
    with pytest.raises(tamis.UnknownNameError, match="did you mean rcut"):
        tamis.ThresholdTuner(tamis.LinearSVM(), "rkut", cv=2).fit(X * 2, y * 2)
    with pytest.raises(tamis.ExpressionError, match="did you mean chi2max"):
        tamis.Selector(by="ch2max").fit(X, y)
    with pytest.raises(tamis.ExpressionError, match="expected"):
        tamis.Selector(by="lr(chi2max,").fit(X, y)
    with pytest.raises(tamis.InvalidOptionError, match="between 1e-12"):
        tamis.LinearSVM(C=1e-20).fit(X, y)
    with pytest.raises(ValueError, match="The 'C' parameter of LinearSVM must be"):
        tamis.LinearSVM(C=0).fit(X, y)
    with pytest.raises(ValueError, match="The 'k' parameter of Selector must be"):
        tamis.Selector(k=-1).fit(X, y)
    with pytest.raises(FileNotFoundError):
        tamis.TextCategorizer.load("no such file")
    with pytest.raises(tamis.DamagedFileError):
        tamis.TextCategorizer.load(__file__)
    bad = tmp_path / "bad.jsonl"
    bad.write_text('{"text": 3}\n')
    with pytest.raises(tamis.MalformedError, match="bad.jsonl:1"):
        tamis.count(bad)


def test_documents_without_labels_are_evidence():
    """All-zero rows say that a document may have no label: nobody is given one because it is the best of none."""
    X = np.array([[2, 0], [0, 1], [1, 1], [0, 3]] * 12)
    y = np.array([1, 0, 0, 0] * 12)
    for form in (np.column_stack([y, np.roll(y, 1)]), pd.DataFrame({"spam": y, "ham": np.roll(y, 1)}), sp.csr_matrix(y[:, None])):
        found = tamis.LinearSVM().fit(X, form)
        assert (found.predict(X) == (found.decision_function(X) >= 0)).all()
        assert not found.predict(X)[3].any() or found.decision_function(X)[3].max() >= 0
    texts = ["win a prize", "lunch at noon", "prize of lunch", "noon train"] * 12
    model = tamis.TextCategorizer(classifier="svm", features="all").fit(texts, [["spam"], [], [], []] * 12)
    assert model.predict(["win a prize", "lunch at noon"]) == [["spam"], []]
    assert any("one label or none" in reason for reason in model.why_)


def test_frames_of_labels_are_checked():
    X = np.array([[2, 0], [0, 1], [1, 1], [0, 3]] * 5)
    y = np.array(["a", "b", "b", "b"] * 5)
    with pytest.warns(DataConversionWarning):
        found = tamis.LinearSVM().fit(X, pd.DataFrame({"y": y}))
    assert (found.predict(X) == tamis.LinearSVM().fit(X, y).predict(X)).all()
    with pytest.raises(ValueError, match="multiclass-multioutput"):
        tamis.LinearSVM().fit(X[:3], pd.DataFrame({"a": [0, 1, 2], "b": [2, 2, 1]}))


def test_labels_of_a_taxonomy_stay_what_they_are():
    X = np.array([[3, 0, 0], [0, 3, 0], [0, 0, 3], [3, 1, 0]] * 12)
    found = tamis.ProgressiveFilter(taxonomy={1: 0, 2: 0, 3: None, 0: None}).fit(X, np.array([1, 2, 3, 1] * 12))
    assert found.classes_.tolist() == [0, 1, 2, 3]
    assert found.predict(X[:3]).tolist() == [1, 2, 3]


def test_a_loaded_model_fits_as_it_was_fitted(messages, tmp_path):
    texts, labels, _ = messages
    options = {"by": "chi2max@1", "features": 50, "classifier": "svm", "threshold": "scut(rare=5)", "calibrate": "platt"}
    model = tamis.TextCategorizer(**options).fit(texts, labels)
    model.save(tmp_path / "a.model")
    again = clone(tamis.TextCategorizer.load(tmp_path / "a.model")).fit(texts, labels)
    again.save(tmp_path / "b.model")
    assert again.predict(texts[:50]) == model.predict(texts[:50])
    assert (again.predict_proba(texts[:50]) == model.predict_proba(texts[:50])).all()


@pytest.mark.parametrize(
    "use, name",
    [
        (lambda X, y: tamis.TextCounter(ngrams=(1, 2)).fit(["a text"]), "ngrams"),
        (lambda X, y: tamis.TextCounter(min_length=-1).fit(["a text"]), "min_length"),
        (lambda X, y: tamis.TextCounter(max_features=-3).fit(["a text"]), "max_features"),
        (lambda X, y: tamis.TextCounter(max_df=2.0).fit(["a text"]), "max_df"),
        (lambda X, y: tamis.TextCounter(n_jobs=1.5).fit(["a text"]), "n_jobs"),
        (lambda X, y: tamis.TextCategorizer(folds=-1).fit(["a", "b"], ["a", "b"]), "folds"),
        (lambda X, y: tamis.Selector(cut=-1).fit(X, y), "cut"),
        (lambda X, y: tamis.Selector(None).fit(X, y), "by"),
        (lambda X, y: tamis.ThresholdTuner(tamis.LinearSVM(), cv=1).fit(X, y), "cv"),
        (lambda X, y: tamis.ProgressiveFilter(per_node=-1).fit(X, y), "per_node"),
    ],
)
def test_a_parameter_out_of_range_is_named(use, name):
    X, y = np.array([[2, 0], [0, 1], [1, 1], [0, 3]] * 5), np.array([1, 0, 0, 0] * 5)
    with pytest.raises(ValueError, match=f"^The '{name}' parameter of |^{name} should be"):
        use(X, y)
