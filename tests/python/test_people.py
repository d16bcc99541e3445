"""Labels and texts as people have them, and what must never go wrong without a word."""

import json
import os
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import make_pipeline

tamis = pytest.importorskip("tamis")
pa = pytest.importorskip("pyarrow")
from tamis import _inputs, measures, significance  # noqa: E402

TEXTS = ["ship port sea", "ship crew sea", "oil price trade", "price of a barrel"] * 5
QUICK_ADDIS = ["pipelines.methods=['tsa']", "pipelines.imbalance=[0]", "pipelines.documents=100", "pipelines.features=20"]
QUICK = {"by": "chi2max@0", "features": "all", "classifier": "svm"}


# Labels


def vectors():
    """A label for each document, in every form there is."""
    plain = ["0", "0", "1", "1"] * 5
    forms = {
        "list": plain,
        "numpy": np.array(plain),
        "objects": np.array(plain, dtype=object),
        "series": pd.Series(plain),
        "category": pd.Series(plain, dtype="category"),
        "string": pd.Series(plain, dtype="string"),
        "arrow": pa.array(plain),
        "chunked": pa.chunked_array([plain[:7], plain[7:]]),
        "dictionary": pa.array(plain).dictionary_encode(),
        "arrow-backed": pd.Series(plain, dtype=pd.ArrowDtype(pa.string())),
    }
    try:
        import polars as pl
    except ImportError:
        return forms
    return forms | {"polars": pl.Series(plain)}


@pytest.mark.parametrize("name", vectors())
def test_a_label_is_what_it_says_whatever_holds_it(name):
    y = vectors()[name]
    found = tamis.TextCategorizer(**QUICK).fit(TEXTS, y)
    assert found.predict(TEXTS[:3]).tolist() == ["0", "0", "1"] and found.classes_.tolist() == ["0", "1"]
    assert tamis.count(TEXTS, y).labels == ["0", "1"]
    assert set(tamis.rank(TEXTS, y, "chi2max")["label"]) == {"0", "1"}
    X = tamis.TextCounter().fit_transform(TEXTS)
    for estimator in (tamis.LinearSVM(), tamis.MultinomialBayes(), tamis.OkapiKNN(k=3), tamis.ThresholdTuner(tamis.LinearSVM())):
        assert estimator.fit(X, y).predict(X[:3]).tolist() == ["0", "0", "1"]


def lists():
    plain = [["sea", "port"], ["sea"], ["oil"], []] * 5
    forms = {
        "lists": plain,
        "sets": [set(names) for names in plain],
        "series": pd.Series(plain),
        "arrays from Parquet": pd.Series([np.array(names, dtype=object) for names in plain]),
        "arrow": pa.array(plain),
        "chunked": pa.chunked_array([plain[:3], plain[3:]], pa.list_(pa.string())),
        "arrow-backed": pd.Series(plain, dtype=pd.ArrowDtype(pa.list_(pa.string()))),
    }
    try:
        import polars as pl
    except ImportError:
        return forms
    return forms | {"polars": pl.Series(plain, dtype=pl.List(pl.String))}


@pytest.mark.parametrize("name", lists())
def test_lists_of_labels_whatever_holds_them(name):
    found = tamis.TextCategorizer(**QUICK).fit(TEXTS, lists()[name])
    assert found.classes_.tolist() == ["oil", "port", "sea"]
    assert found.predict(TEXTS[:3]) == [["port", "sea"], ["sea"], ["oil"]]
    assert found.score(TEXTS, lists()[name]) == 1.0
    assert tamis.count(TEXTS, lists()[name]).labels == ["oil", "port", "sea"]


def test_lists_of_whole_numbers():
    y = [[1, 2], [2], [10], []] * 5
    for form in (y, pd.Series(y), pa.array(y), [np.array(row, dtype=np.int32) for row in y]):
        found = tamis.TextCategorizer(**QUICK).fit(TEXTS, form)
        assert found.classes_.tolist() == [1, 2, 10]
        assert found.predict(TEXTS[:4]) == [[1, 2], [2], [10], []]
    # Rows of zeros and ones in a plain list are an indicator matrix; in a column they are lists of the labels 0 and 1.
    rows = [[1, 0], [1, 0], [0, 1], [0, 1]] * 5
    assert tamis.TextCategorizer(**QUICK).fit(TEXTS, rows).predict(TEXTS[:3]).tolist() == rows[:3]
    assert _inputs.labels(pd.Series([[0], [0, 1]]), lists=True).classes.tolist() == [0, 1]


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_labels_are_named(missing):
    for form in (["a", missing] * 10, pd.Series(["a", missing] * 10), np.array([1.0, np.nan] * 10), pa.array(["a", None] * 10)):
        with pytest.raises(ValueError, match="y contains NaN.*in row 1"):
            tamis.TextCategorizer(**QUICK).fit(TEXTS, form)
    with pytest.raises(ValueError, match="the labels of row 1 are"):
        tamis.TextCategorizer(**QUICK).fit(TEXTS, pd.Series([["a"], missing] * 10))


def test_texts_whatever_holds_them():
    expected = tamis.TextCounter().fit_transform(TEXTS)
    forms = [np.array(TEXTS), pd.Series(TEXTS), pd.Series(TEXTS, dtype="string"), pa.array(TEXTS), pa.chunked_array([TEXTS]), tuple(TEXTS)]
    frames = [pd.DataFrame({"text": TEXTS}), pa.table({"text": TEXTS})]
    try:
        import polars as pl
    except ImportError:
        pass
    else:
        forms, frames = [*forms, pl.Series(TEXTS)], [*frames, pl.DataFrame({"text": TEXTS})]
    for form in forms + frames:
        assert (tamis.TextCounter().fit_transform(form) != expected).nnz == 0
    with pytest.raises(ValueError, match="None is an invalid document"):
        tamis.TextCounter().fit(pa.array(["a text", None]))
    with pytest.raises(ValueError, match="<NA> is an invalid document"):
        tamis.TextCounter().fit(pd.Series(["a text", pd.NA], dtype="string"))


def test_cross_validation_with_lists_of_labels():
    y = [["sea"], ["sea", "crew"], ["oil"], ["oil"]] * 5
    model = tamis.TextCategorizer(**QUICK)
    for form in (y, pd.Series(y)):
        assert (cross_val_score(model, TEXTS, form, cv=KFold(2)) > 0.5).all()


# Model files


@pytest.mark.parametrize(
    "y, options",
    [
        (np.array([10, 10, 2, 2] * 5), {}),
        (np.array([10, 10, 2, 2] * 5, dtype=np.int8), {}),
        (np.array([10.0, 10.0, 2.0, 2.0] * 5), {}),
        (np.array([True, True, False, False] * 5), {}),
        (np.array([3, 10, 2, 2] * 5), {"classifier": "bayes"}),
        (np.array(["b", "b", "a", "a"] * 5), {"threshold": "scut"}),
        (np.array([[1, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]] * 5), {}),
        (pd.DataFrame({"z": [1, 1, 0, 0] * 5, "a": [0, 0, 1, 0] * 5}), {"threshold": "scut"}),
        ([[1, 2], [2], [10], []] * 5, {}),
        ([["b"], ["b", "a"], ["a"], []] * 5, {}),
        (np.array([3, 4, 20, 20] * 5), {"taxonomy": {3: 1, 4: 1, 20: None, 1: None}, "features": "auto", "by": None}),
    ],
)
def test_a_model_file_keeps_types_order_and_form(y, options, tmp_path):
    model = tamis.TextCategorizer(**{**QUICK, "calibrate": None if "taxonomy" in options else "platt", **options}).fit(TEXTS, y)
    model.save(tmp_path / "a.model")
    again = tamis.TextCategorizer.load(tmp_path / "a.model")
    assert again.classes_.dtype.kind == model.classes_.dtype.kind and again.classes_.tolist() == model.classes_.tolist()
    if model.classes_.dtype.kind in "ifb":
        assert again.classes_.dtype == model.classes_.dtype
    same = lambda a, b: a == b if isinstance(a, list) else a.dtype.kind == b.dtype.kind and (a == b).all()  # noqa: E731
    assert same(model.predict(TEXTS), again.predict(TEXTS))
    assert (model.decision_function(TEXTS) == again.decision_function(TEXTS)).all()
    if "taxonomy" not in options:
        assert (model.predict_proba(TEXTS) == again.predict_proba(TEXTS)).all()
    assert model.predict([""]) == again.predict([""]) if isinstance(y, list) else (model.predict([""]) == again.predict([""])).all()
    # Fitted again, it is the same model.
    third = clone(again).fit(TEXTS, y)
    assert (third.decision_function(TEXTS) == model.decision_function(TEXTS)).all()


def test_the_command_prints_labels_as_text(tmp_path):
    from conftest import Tamis

    tamis.TextCategorizer(**QUICK).fit(TEXTS, [10, 10, 2, 2] * 5).save(tmp_path / "a.model")
    (tmp_path / "new.jsonl").write_text(json.dumps({"text": "a ship at sea"}) + "\n")
    assert [line["labels"] for line in Tamis().lines("classify", tmp_path / "a.model", tmp_path / "new.jsonl")] == [["10"]]


def test_a_loaded_taxonomy_model_fits_again(tmp_path):
    corpus = tamis.synth(300)
    texts, labels = corpus["text"].tolist(), corpus["labels"].tolist()
    options = {"taxonomy": "names", "by": "ig", "features": 60, "threshold": "tsa", "answers": "all", "utility": "f(0.5)", "per_node": 200}
    model = tamis.TextCategorizer(**options).fit(texts, labels)
    model.save(tmp_path / "a.model")
    clone(tamis.TextCategorizer.load(tmp_path / "a.model")).fit(texts, labels).save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


# Said, not swallowed


def test_documents_without_known_words_are_counted():
    model = tamis.TextCategorizer(**QUICK).fit(TEXTS, ["a", "a", "b", "b"] * 5)
    with pytest.warns(UserWarning, match="3 of 4 documents have no word that the model knows") as said:
        model.predict(["ship", "xyzzy", "plugh", ""])
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="2 documents have no word that the model knows"):
        model.evaluate(["ship", "xyzzy", "plugh"], ["a", "b", "b"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(["ship", "xyzzy"])


def test_a_solver_that_gives_up_says_so():
    X = tamis.TextCounter().fit_transform(TEXTS)
    y = ["a", "b", "a", "b"] * 5
    for data in (X, X * 0.5 - 1 * (X > 0)):
        with pytest.warns(ConvergenceWarning, match="problems were given up") as said:
            model = tamis.LinearSVM(iterations=1, gap=1e-9).fit(data, y)
        assert said[0].filename == __file__ and model.n_iter_ >= 1
    with pytest.warns(ConvergenceWarning):
        tamis.TextCategorizer(by="df", features="all", classifier="svm(iterations=1,gap=0.000000001)", folds=0).fit(TEXTS, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert 1 < tamis.LinearSVM().fit(X, ["a", "a", "b", "b"] * 5).n_iter_ < 5000


def test_measures_refuse_what_cannot_be_meant():
    with pytest.raises(ValueError, match="'0' is a label of type str, and the classes are of type int"):
        measures.evaluate([0, 1], y_pred=["0", "1"])
    with pytest.raises(ValueError, match="of type int, and the classes are of type str"):
        measures.evaluate(["0", "1"], y_pred=pd.Series([0, 1]))
    with pytest.raises(ValueError, match="0.7, which is a score and no decision"):
        measures.evaluate([[1, 0], [0, 1]], y_pred=[[0.7, 0.3], [0.2, 0.8]])
    assert measures.evaluate([0, 1], y_pred=[0, 1])["Accuracy"] == 1.0
    assert measures.evaluate(pa.array(["a", "b"]), y_pred=["a", "a"])["Accuracy"] == 0.5
    for bad in ([-1, 0.5], [2.0], [np.nan]):
        with pytest.raises(ValueError, match="p-values lie between 0 and 1"):
            significance.holm(bad)
    for wins, losses in [(1.9, 5.2), (-1, 3), (np.nan, 1)]:
        with pytest.raises(ValueError, match="is whole, 0 or more"):
            significance.sign_test(wins, losses)
    assert significance.sign_test(3.0, np.int64(1)) == significance.sign_test(3, 1)


def test_a_taxonomy_takes_what_is_asked_of_it():
    """A selector alone is used, probabilities are refused, and a study takes the corpus and the taxonomy that it is given."""
    corpus = tamis.synth(300)
    texts, labels = corpus["text"].tolist(), corpus["labels"].tolist()
    few, all_words = (tamis.TextCategorizer(taxonomy="names", by=by).fit(texts, labels) for by in ("ig", None))
    assert few.selector_ == "ig" and len(few.features_) < len(all_words.features_)
    with pytest.raises(ValueError, match="calibrate= is for models without a classifier at each node"):
        tamis.TextCategorizer(taxonomy="names", calibrate="platt").fit(texts, labels)
    assert not hasattr(tamis.TextCategorizer(taxonomy="names", calibrate="platt"), "predict_proba")
    change = ["sizes.at=[20]", "selectors.list=['ig','df']", "splits.how=random(0.3)"]
    rows = [tamis.study("li", texts[:n], labels[:n], change=[*change, "corpus.min_documents=4"]) for n in (300, 200)]
    assert len(rows[0]) and not rows[0].equals(rows[1])
    along = tamis.study("addis", texts, labels, taxonomy="names", change=["pipelines.depth=2", "pipelines.least=5", *QUICK_ADDIS])
    assert {pipeline.split(" > ")[-1] for pipeline in along["pipeline"]} <= {label for names in labels for label in names}


def test_progress_is_a_bar_or_lines(capsys, monkeypatch):
    from tamis import _progress

    monkeypatch.setattr(_progress, "tqdm", None)
    tamis.TextCounter(verbose=True).fit(TEXTS)
    assert "[tamis] counting" in capsys.readouterr().err
    moments = iter([0.0, 10.0, 20.0, 30.0])
    monkeypatch.setattr(_progress.time, "monotonic", lambda: next(moments))
    bar = _progress.Bar()
    bar.start("training", 40)
    bar.add("", 10)
    assert "training: 10 of 40, 30 s left" in capsys.readouterr().err

    class Tqdm(list):
        def __init__(self, total, desc, leave):
            super().__init__([total, desc])

        update, close = list.append, lambda self: self.append("closed")

    made = []
    monkeypatch.setattr(_progress, "tqdm", lambda **about: made.append(Tqdm(**about)) or made[-1])
    bar = _progress.Bar()
    bar.start("training", 4)
    bar.add("", 3)
    bar.finish("", None)
    assert made == [[4, "training", 3, "closed"]]


def test_letters_without_a_glyph_are_said(recwarn):
    plt = pytest.importorskip("matplotlib.pyplot")
    from tamis import plots

    words = pd.DataFrame({"term": ["ship", "\U000e0fff"], "score": [2.0, 1.0]})
    with pytest.warns(UserWarning, match="no font here has"):
        plots.plot_top_words(words)
    plt.close("all")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plots.plot_top_words(words.replace("\U000e0fff", "größe"))
    plt.close("all")


# scikit-learn's expectations


def test_frames_of_sparse_columns():
    with sklearn.config_context(transform_output="pandas"):
        counter = tamis.TextCounter()
        frame = counter.fit_transform(TEXTS)
        assert isinstance(frame, pd.DataFrame) and frame.columns.tolist() == counter.get_feature_names_out().tolist()
        assert frame.sparse.density < 1
        pipeline = make_pipeline(tamis.TextCounter(), tamis.Selector(k=4), tamis.LinearSVM())
        assert pipeline.fit(TEXTS, ["a", "a", "b", "b"] * 5).score(TEXTS, ["a", "a", "b", "b"] * 5) == 1
        assert pipeline[-1].feature_names_in_.tolist() == pipeline[:-1].get_feature_names_out().tolist()
        chosen = tamis.Selector(k=2).fit(sp.csr_matrix(frame.sparse.to_coo()), ["a", "a", "b", "b"] * 5)
        assert isinstance(chosen.transform(sp.csr_matrix(frame.sparse.to_coo())), pd.DataFrame)
    X = tamis.TextCounter().fit_transform(TEXTS)
    assert (frame.sparse.to_coo() != X).nnz == 0


def test_lengths_reach_score_by_routing():
    X = tamis.TextCounter().fit_transform(TEXTS)
    y, lengths = np.array(["a", "a", "b", "b"] * 5), np.arange(20) + 1
    with sklearn.config_context(enable_metadata_routing=True):
        knn = tamis.OkapiKNN(k=3).set_fit_request(lengths=True).set_score_request(lengths=True)
        assert cross_val_score(make_pipeline(tamis.Selector(k=4), knn), X, y, cv=2, params={"lengths": lengths}).shape == (2,)
        pipeline = make_pipeline(tamis.Selector(k=4), knn).fit(X, y, lengths=lengths)
        small = pipeline[:-1].transform(X)
        assert pipeline.score(X, y, lengths=lengths) == np.mean(knn.predict(small, lengths=lengths) == y)


def test_neighbours_can_be_calibrated_and_stacked():
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import StackingClassifier
    from sklearn.metrics import top_k_accuracy_score

    y = np.array(["a", "b", "c", "c"] * 5)
    knn = tamis.TextCategorizer(by="df", features="all", classifier="knn(2)")
    scores = knn.fit(TEXTS, y).decision_function([*TEXTS, "xyzzy"])
    assert np.isfinite(scores).all()
    assert top_k_accuracy_score(y, scores[:-1], k=2) > 0.9
    X = tamis.TextCounter().fit_transform(TEXTS)
    for model in (CalibratedClassifierCV(knn, cv=2), StackingClassifier([("knn", knn)], cv=2)):
        assert np.isfinite(model.fit(TEXTS, y).predict_proba(TEXTS)).all()
    assert np.isfinite(CalibratedClassifierCV(tamis.OkapiKNN(k=2), cv=2).fit(X, y).predict_proba(X)).all()


def test_threads_are_as_everywhere_in_scikit_learn():
    import joblib

    assert _inputs.how(n_jobs=None)[1] == 1 and _inputs.how(n_jobs=1)[1] == 1 and _inputs.how(n_jobs=3)[1] == 3
    assert _inputs.how(n_jobs=-1)[1] == joblib.cpu_count()
    with joblib.parallel_config(n_jobs=2):
        assert _inputs.how(n_jobs=None)[1] == 2
    inside = joblib.Parallel(n_jobs=2)(joblib.delayed(_threads)() for _ in range(2))
    assert inside == [1, 1]
    before = os.environ.get("OMP_NUM_THREADS")
    try:
        os.environ["OMP_NUM_THREADS"] = "1"
        assert _inputs.how(n_jobs=-1)[1] == 1
    finally:
        os.environ.pop("OMP_NUM_THREADS") if before is None else os.environ.update(OMP_NUM_THREADS=before)
    with pytest.raises(ValueError, match="n_jobs should be"):
        _inputs.how(n_jobs=0)


def _threads():
    from tamis import _inputs

    return _inputs.how(n_jobs=-1)[1]


def test_seeds_may_be_generators():
    X = tamis.TextCounter().fit_transform(TEXTS)
    y = ["a", "a", "b", "b"] * 5
    for state in (7, np.random.RandomState(7), np.random.default_rng(7), None):
        for estimator in (tamis.LinearSVM(random_state=state), tamis.ThresholdTuner(tamis.LinearSVM(), random_state=state)):
            assert estimator.fit(X, y).predict(X).tolist() == y
        tamis.TextCategorizer(**QUICK, random_state=state).fit(TEXTS, y)


def test_an_explanation_is_a_list_a_table_and_a_view():
    model = tamis.TextCategorizer(**QUICK).fit(TEXTS, ["a", "a", "b", "b"] * 5)
    found = model.explain("A <b>ship</b> at sea, günstig")
    assert isinstance(found, list) and found[0]["label"] == "a"
    table = found.to_frame()
    assert table.columns.tolist() == ["label", "score", "threshold", "decided", "word", "count", "adds"]
    assert set(table["word"]) == {"ship", "sea"}
    page = found._repr_html_()
    assert page.count("<mark") == 2 and "&lt;b&gt;" in page and "günstig" in page and "<b>ship" not in page
    assert pickle.loads(pickle.dumps(found)) == found
    assert "<mark" not in model.explain("nothing known")._repr_html_()


def test_the_categorizer_has_every_option_of_fit():
    """Options of ``tamis fit`` that are not about reading files, writing them, or the terminal."""
    import re

    from conftest import Tamis

    reading = {"from", "lines", "encoding", "on_error", "max_record", "label_separator", "quotes", "delimiter", "columns", "dates", "label_prefix",
               "values", "qrels", "parent", "vocabulary", "memory"}  # fmt: skip
    others = {"help", "version", "output", "verbose", "quiet", "color", "format", "report", "dry_run", "no_examples"}
    named = {"keep_case": "lowercase", "threads": "n_jobs", "seed": "random_state"}
    options = {name.replace("-", "_") for name in re.findall(r"^\s+(?:-\w, )?--([a-z-]+)", Tamis()("fit", "--help"), re.M)}
    options = {name for name in options if not name.endswith("_field") and not name.startswith(("reuters", "review"))}
    ours = set(tamis.TextCategorizer().get_params())
    assert {named.get(name, name) for name in options - reading - others} <= ours


def test_rare_terms_are_left_out_before_they_are_counted():
    texts, y = [*TEXTS, "once upon a time"], ["a", "a", "b", "b"] * 5 + ["a"]
    known = lambda least: set(tamis.TextCategorizer(**QUICK, min_df=least).fit(texts, y).features_)  # noqa: E731
    assert {"once", "ship"} <= known(1) and "once" not in known(2) and "ship" in known(2)


def test_weights_of_texts():
    """A document of weight 2 is two documents."""
    y, weights = np.array(["a", "a", "b", "b"] * 5), np.array([2, 1, 1, 2] * 5)
    twice = np.repeat(np.arange(20), weights)
    for classifier in ("bayes", "svm(vectors=tf,gap=0.00000001)"):
        options = {"by": "df", "features": "all", "classifier": classifier, "folds": 0}
        a = tamis.TextCategorizer(**options).fit(TEXTS, y, sample_weight=weights).decision_function(TEXTS)
        b = tamis.TextCategorizer(**options).fit([TEXTS[at] for at in twice], y[twice]).decision_function(TEXTS)
        plain = tamis.TextCategorizer(**options).fit(TEXTS, y).decision_function(TEXTS)
        np.testing.assert_allclose(a, b, atol=1e-4)
        assert abs(a - plain).max() > 1e-3
    with pytest.raises(ValueError, match="sample_weight"):
        tamis.TextCategorizer(**QUICK).fit(TEXTS, y, sample_weight=[1.0])


def test_html_is_taken_off(tmp_path):
    texts = ["<b>ship</b> at sea", "oil &amp; price"] * 5
    assert "amp" not in tamis.TextCounter(html="strip").fit(texts).vocabulary_
    model = tamis.TextCategorizer(**QUICK, html="strip").fit(texts, ["a", "b"] * 5)
    model.save(tmp_path / "a.model")
    assert tamis.TextCategorizer.load(tmp_path / "a.model").html == "strip" and "amp" not in model.features_
