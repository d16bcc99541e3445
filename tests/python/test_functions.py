"""Functions of the package against the program, and against other libraries."""

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from corpora import Corpus
from sklearn.metrics import f1_score, label_ranking_average_precision_score, ndcg_score

tamis = pytest.importorskip("tamis")


@pytest.fixture(scope="module")
def program():
    from conftest import Tamis

    return Tamis()


@pytest.fixture(scope="module")
def messages(program, tmp_path_factory):
    path = tmp_path_factory.mktemp("functions") / "messages.jsonl"
    program("synth", path, "-n", 400)
    return path


def same(frame, terms):
    """A ranking of the program and of Python, to the last digit."""
    expected = pd.DataFrame(terms)
    assert frame[list(expected)].equals(expected.astype(frame[list(expected)].dtypes.to_dict()))


@pytest.mark.parametrize("by", ["chi2max", "lr(chi2max,chi2avg)@1", "wfo(0.3)", "df", "ib"])
def test_rank_is_the_program(program, messages, tmp_path, by):
    expected = program.json("rank", messages, "--by", by)["terms"]
    same(tamis.rank(messages, by=by), expected)
    counts = tamis.count(messages)
    counts.save(tmp_path / "python.counts")
    program("count", messages, "-o", tmp_path / "program.counts")
    assert (tmp_path / "python.counts").read_bytes() == (tmp_path / "program.counts").read_bytes()
    same(tamis.rank(tmp_path / "program.counts", by=by, top=30), expected[:30])
    train = [d for d in map(json.loads, open(messages, encoding="utf-8")) if d["split"] == "train"]
    texts, labels = [d["text"] for d in train], [d["labels"] for d in train]
    same(tamis.rank(texts, labels, by), expected)
    counter = tamis.TextCounter()
    X = counter.fit_transform(texts)
    found = tamis.rank(X, labels, by, feature_names=counter.get_feature_names_out())
    assert found["term"].tolist() == [e["term"] for e in expected]
    assert found["score"].tolist() == [e["score"] for e in expected]
    assert found["df"].tolist() == [e["df"] for e in expected]


def test_rank_per_label_and_text_options_are_the_program(program, messages):
    options = ["--stem", "english", "--stop-words", "english", "--digits", "fold"]
    lists = program.json("rank", messages, "--by", "bns", "--per-label", "--top", 5, *options)["labels"]
    found = tamis.rank(messages, by="bns", per_label=True, top=5, stem="english", stop_words="english", digits="fold")
    same(found, [term for part in lists for term in part["terms"]])


def test_counts_add_up(messages):
    documents = [json.loads(line) for line in open(messages, encoding="utf-8")]
    texts, labels = [d["text"] for d in documents], [d["labels"] for d in documents]
    whole = tamis.count(texts, labels)
    assert tamis.count(texts[:150], labels[:150]).merge(tamis.count(texts[150:], labels[150:])) == whole
    assert whole == tamis.count(messages, all_parts=True)
    frequent = whole.at_least(3)
    assert frequent == tamis.count(texts, labels, min_df=3) and len(frequent.terms) < len(whole.terms)
    parts = whole.parts()
    parts["meetings"] = tuple(parts.pop(f"{n}") for n in ("offsets", "meeting_labels", "meeting_documents", "meeting_occurrences"))
    assert repr(whole).startswith("<Counts of 400 documents")
    import pickle

    from tamis import _core

    assert pickle.loads(pickle.dumps(whole._core)).equals(whole._core)
    assert parts["label_documents"].sum() == sum(map(len, labels)) and isinstance(whole._core, _core.Counts)
    with pytest.raises(ValueError, match="different text options"):
        whole.merge(tamis.count(texts, labels, stem="english"))


def test_study_is_the_program(program, messages, tmp_path):
    change = ["selectors.list=['chi2max','ig']", "sizes.at=[20,50]", "splits.how=given", "corpus.min_documents=5", "measures.list=['RPrec']"]
    flags = [flag for value in change for flag in ("--set", value)]
    program("study", "li", "--corpus", messages, "-o", tmp_path / "program", *flags)
    rows = tamis.study("li", messages, output=tmp_path / "python", change=change)
    read = lambda folder: (tmp_path / folder / "rows.jsonl").read_text()  # noqa: E731
    assert read("python") == read("program")
    assert (tmp_path / "python/report.html").exists()
    assert tamis.study("li", messages, change=change).equals(rows)
    assert len(rows) == 4 and rows["RPrec"].between(0.1, 1).all() and rows.attrs["splits"][0]["split"] == 1
    # It goes on where it was: nothing is left to do.
    assert tamis.study("li", messages, output=tmp_path / "python", change=change).equals(rows)
    with pytest.raises(tamis.UnknownNameError, match="olsson-preliminary"):
        tamis.study("olson")


@pytest.mark.parametrize("by", ["tsa", "rbf", "exact", "greedy-exact"])
def test_calibrate_is_the_program(program, tmp_path, by):
    rng = np.random.default_rng(3)
    scores, truth = np.round(rng.random((300, 3)), 3), rng.random(300) < 0.2
    scores[truth] = np.round(np.sqrt(scores[truth]), 3)
    table = pd.DataFrame(scores, columns=["root", "middle", "leaf"])
    table.assign(truth=truth.astype(int)).to_csv(tmp_path / "scores.tsv", sep="\t", index=False)
    step = ["--step", 0.05] if by in ("tsa", "rbf") else []
    expected = program.json("calibrate", tmp_path / "scores.tsv", "--by", by, "--utility", "f(0.5)", *step)
    found = tamis.calibrate(table, truth, by=by, utility="f(0.5)", step=0.05 if step else None)
    assert found.thresholds.tolist() == expected["thresholds"] and found.utility == expected["utility"]
    assert (found.levels, found.proven, found.bound) == (expected["levels"], expected["proven"], expected["bound"])
    accepted = found.accept(scores)
    assert found.outcome["true_positives"] == (accepted & truth).sum()
    with pytest.raises(ValueError, match="not in \\[0,1\\]"):
        tamis.calibrate(scores * 2, truth, by=by)
    with pytest.raises(ValueError, match="0 or 1"):
        tamis.calibrate(scores, np.arange(300), by=by)


def test_measures_agree_with_other_libraries():
    rng = np.random.default_rng(0)
    truth = (rng.random((80, 6)) < 0.3).astype(int)
    truth[truth.sum(1) == 0, 0] = 1
    scores = rng.random((80, 6))
    decided = (scores > 0.6).astype(int)
    found = tamis.measures.evaluate(truth, scores, decided, measures=["MAP", "nDCG", "F1@micro", "F1@macro", "P@1"])
    assert found["MAP"] == pytest.approx(label_ranking_average_precision_score(truth, scores))
    assert found["nDCG"] == pytest.approx(ndcg_score(truth, scores))
    assert found["F1@micro"] == pytest.approx(f1_score(truth, decided, average="micro"))
    assert found["F1@macro"] == pytest.approx(f1_score(truth, decided, average="macro"))
    assert found["P@1"] == pytest.approx(truth[np.arange(80), scores.argmax(1)].mean())
    assert tamis.measures.rprec(truth, scores) == tamis.measures.evaluate(truth, scores)["RPrec"]
    per_document = tamis.measures.per_document("RPrec", truth, scores)
    assert per_document.mean() == pytest.approx(tamis.measures.rprec(truth, scores))
    value, low, high = tamis.measures.intervals(truth, scores, measures=["RPrec"])["RPrec"]
    assert low < value < high
    names = np.array(["a", "b", "c"])
    y, guess = names[rng.integers(0, 3, 50)], names[rng.integers(0, 3, 50)]
    assert tamis.measures.f_score(y, guess) == pytest.approx((y == guess).mean())
    lists = [["a"], ["b", "zebra"], []]
    assert tamis.measures.evaluate(lists, np.eye(3), classes=names, measures=["RPrec"]) == {"RPrec": 0.75}
    with pytest.raises(ValueError, match="did you mean RPrec"):
        tamis.measures.evaluate(truth, scores, measures=["RPerc"])
    with pytest.raises(ValueError, match="inconsistent numbers"):
        tamis.measures.evaluate(truth, scores[:-1])


def test_measures_are_the_program(program, tmp_path):
    corpus = Corpus(tmp_path, seed=2, test=150, single_label=False)
    model = program.fit(corpus.train_path, tmp_path / "a.model", "svm")
    printed = program.json("evaluate", model, corpus.test_path)
    expected = {name: value for name, value in printed.items() if name in ("RPrec", "MAP", "P@5", "F1@micro", "F1@macro")}
    assert len(expected) == 5
    X, Y = corpus.counts, corpus.members.astype(int)
    ours = tamis.LinearSVM().fit(X[corpus.train], Y[corpus.train])
    found = tamis.measures.evaluate(
        Y[corpus.test], ours.decision_function(X[corpus.test]), ours.predict(X[corpus.test]), measures=list(expected)
    )
    assert found == expected


def test_significance_agrees_with_scipy():
    rng = np.random.default_rng(4)
    a, b = rng.random(30), rng.random(30) + 0.1
    assert tamis.significance.wilcoxon(a, b)["p_two_sided"] == pytest.approx(scipy.stats.wilcoxon(a, b).pvalue)
    wins, losses = int((a > b).sum()), int((a < b).sum())
    sign = tamis.significance.sign_test(a, b)
    assert sign["p_two_sided"] == pytest.approx(scipy.stats.binomtest(wins, wins + losses).pvalue)
    assert sign["p_two_sided"] == tamis.significance.sign_test(wins, losses)["p_two_sided"]
    assert tamis.significance.holm([0.01, 0.04, 0.03]).tolist() == pytest.approx([0.03, 0.06, 0.06])
    expected = scipy.stats.permutation_test((a - b,), np.mean, permutation_type="samples", n_resamples=5000, rng=0).pvalue
    assert tamis.significance.randomisation(a, b, replicates=5000)["p_two_sided"] == pytest.approx(expected, abs=0.03)
    assert tamis.significance.paired_bootstrap(a, b)["difference"] == pytest.approx((a - b).mean())
    with pytest.raises(ValueError, match="same length"):
        tamis.significance.wilcoxon(a, b[:-1])


def test_registries_and_version():
    for what in (
        *("formats", "selectors", "combinations", "searches", "classifiers", "thresholds", "methods", "measures"),
        *("stop_words", "stemmers"),
    ):
        assert len(tamis.registry(what)) > 3
    for name in tamis.registry("selectors")["example"]:
        tamis.Selector(by=name, k=1, cut=None).fit([[1, 0, 2], [0, 1, 1], [1, 1, 0]], [0, 1, 0])
    crate = open(os.path.join(os.path.dirname(__file__), "../../Cargo.toml"), encoding="utf-8").read()
    assert f'version = "{tamis.__version__}"' in crate
    from importlib.metadata import version

    assert version("tamis") == tamis.__version__


PIPELINES = ["pipelines.least=5", "pipelines.most=2"]


def test_a_study_along_pipelines_takes_its_corpus_and_taxonomy(tmp_path):
    rows = tamis.study("addis", "synth:rcv1:1500", change=PIPELINES)
    # Two pipelines: four methods at eight imbalances, and a row without a method for what each threshold would do.
    assert len(rows) == 2 * (4 * 8 + 1)
    corpus = tmp_path / "some.jsonl"
    labels = ["a/b/c", "a/b/d", "a/e/f"]
    lines = [{"text": f"word{i % 3} and word{i % 7}", "labels": [labels[i % 3]]} for i in range(90)]
    corpus.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.raises(tamis.DataError, match='taxonomy="names"'):
        tamis.study("addis", corpus, change=PIPELINES)
    named = tamis.study("addis", corpus, taxonomy="names", change=PIPELINES)
    pairs = {"a": None, "a/b": "a", "a/e": "a", "a/b/c": "a/b", "a/b/d": "a/b", "a/e/f": "a/e"}
    pd.testing.assert_frame_equal(named, tamis.study("addis", corpus, taxonomy=pairs, change=PIPELINES))
    with pytest.raises(tamis.DataError, match="uses no taxonomy: leave taxonomy= out"):
        tamis.study("li", corpus, taxonomy="names")


def test_messages_name_arguments_that_exist():
    """What the library calls an option is an argument here, or is said to be the command's."""
    public = [getattr(tamis, name) for name in tamis.__all__]
    arguments = set(tamis.functions.READING)
    for thing in public:
        if callable(thing):
            with contextlib.suppress(ValueError):
                arguments |= set(inspect.signature(thing).parameters)
    table = tamis._core.option_arguments()
    for option, argument in table:
        assert argument is None or argument in arguments, option
    assert {argument for _, argument in table} >= {"from_format", "documents", "change", "max_record"}
    spelled = tamis._core.spell_message
    assert spelled("give the option `from=csv` or the option `quotes=false`") == 'give from_format="csv" or quotes=False'
    assert spelled("raise the option `max_record`; the option `parent=first`") == "raise max_record=; `parent=first` of the command"


# Whoever starts the tests in the background has them ignore Ctrl-C, and a child inherits that.
LONG = """
import signal, sys, tamis
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    tamis.study("olsson-preliminary", "synth:topics:3000", verbose=True)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


def test_ctrl_c_stops_long_work_and_verbose_reports(tmp_path):
    child = subprocess.Popen([sys.executable, "-c", LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(2)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=120)
    assert (child.returncode, out) == (0, "stopped\n"), err
    assert "counting" in err


def test_other_threads_run_meanwhile(messages):
    import threading

    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.005):
            ticks.append(1)

    thread = threading.Thread(target=tick, daemon=True)
    thread.start()
    tamis.study("li", messages, change=["splits.how=random(0.3,2)", "sizes.at=[100]", "corpus.min_documents=5"])
    stop.set()
    thread.join()
    # With the lock held all the while there would be one or two.
    assert len(ticks) > 10


def test_plots(messages, tmp_path):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    documents = [json.loads(line) for line in open(messages, encoding="utf-8")]
    texts, labels = [d["text"] for d in documents], [d["labels"] for d in documents]
    model = tamis.TextCategorizer(classifier="bayes").fit(texts, labels)
    for axes in (
        tamis.plot_size_curve(model),
        tamis.plot_top_words(model, model.classes_[0]),
        tamis.plot_thresholds(model),
        tamis.plot_top_words(tamis.rank(texts, labels, "ig")),
    ):
        axes.figure.savefig(tmp_path / "plot.png")
        assert axes.get_title() and (tmp_path / "plot.png").stat().st_size > 5000
    with pytest.raises(ValueError, match="nothing was tried"):
        tamis.plot_size_curve(tamis.TextCategorizer(by="ig", features=50, classifier="svm").fit(texts, labels))


def test_measures_of_what_was_not_given_are_none():
    found = tamis.measures.evaluate(["a", "b"], y_pred=["a", "b"], measures=["RPrec", "F1@macro"])
    assert found == {"RPrec": None, "F1@macro": 1.0}
    assert tamis.measures.evaluate(["a", "b"], np.eye(2), measures=["F1@macro", "P@1"]) == {"F1@macro": None, "P@1": 1.0}
    assert list(tamis.measures.intervals(["a", "b"] * 9, y_pred=["a", "b"] * 9, measures=["MAP", "Accuracy"])) == ["Accuracy"]


def test_measures_look_at_shapes_and_names():
    with pytest.raises(ValueError, match="2 labels in y_true, and 3 in y_pred"):
        tamis.measures.evaluate([[1, 0], [0, 1]], y_pred=[[1, 0, 0], [0, 1, 0]])
    with pytest.raises(ValueError, match="2 classes for a matrix of 3 labels"):
        tamis.measures.evaluate([[1, 0, 0], [0, 1, 0]], y_pred=[[1, 0, 0], [0, 1, 0]], classes=["a", "b"])
    truth = pd.DataFrame({"a": [1, 0], "b": [0, 1]})
    assert tamis.measures.evaluate(truth, y_pred=truth[["b", "a"]], measures=["F1@micro"]) == {"F1@micro": 1.0}
    with pytest.raises(ValueError, match="other names"):
        tamis.measures.evaluate(truth, y_pred=truth.rename(columns={"b": "c"}))
