"""What type checkers say of the way people write: the examples of the documentation, and parameters of several types."""

import importlib.util
import subprocess
import sys

import pytest

tamis = pytest.importorskip("tamis")

#: Parameters of more than one type.
WRITTEN = """
import tamis
from sklearn.base import BaseEstimator

model: BaseEstimator = tamis.TextCategorizer(features=500, by=None, classifier="svm", random_state=None, folds=0)
tamis.TextCategorizer(features="all", taxonomy={"a": None, "b": "a"}, char_ngrams=(3, 5), n_jobs=-1)
tamis.Selector("ig", k="all", cut=None)
tamis.Selector(k=10, cut=0)
tamis.TextCounter(vocabulary=["a", "b"], ngram_range=(2, 2), tokenizer=str.split, min_df=0.1, stop_words=["the"])
tamis.LinearSVM(0.5, vectors="as-is", gap=None, class_weight="balanced")
tamis.MultinomialBayes(alpha=0.1)
tamis.OkapiKNN(k=5, threshold=None)
tamis.ThresholdTuner(tamis.LinearSVM(), cv=3)
tamis.ProgressiveFilter(taxonomy="names", per_node=None)
tamis.OscillatingSearch(k=5, seconds=1.5)
tamis.TextCategorizer().fit(["a"], ["b"]).explain("a").to_frame().head()
"""


def examples():
    """Python of the package's docstrings, as doctest finds it, one function for each."""
    import doctest

    finder = doctest.DocTestFinder()
    for name in tamis.__all__:
        thing = getattr(tamis, name)
        if not getattr(thing, "__doc__", None):
            continue
        for test in finder.find(thing, name):
            if test.examples:
                yield "\n".join(example.source.rstrip() for example in test.examples)


#: What must be refused: who accepts it has not found the package.
WRONG = "import tamis\ntamis.Selector(k=1.5)\ntamis.TextCategorizer(features=None)\n"


def script():
    indented = ["".join(f"    {line}\n" for line in part.splitlines()) for part in examples()]
    return "\n\n".join([WRITTEN, *(f"def example{at}() -> None:\n{part}" for at, part in enumerate(indented))])


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_a_type_checker_accepts_what_people_write(checker, tmp_path):
    if importlib.util.find_spec(checker) is None:
        pytest.skip(f"{checker} is not installed")
    # What scikit-learn and pandas say of themselves is no concern of ours.
    (tmp_path / "pyrightconfig.json").write_text('{"reportMissingImports": false}')
    arguments = ["--ignore-missing-imports", "--follow-imports=silent", "--cache-dir", tmp_path] if checker == "mypy" else []
    for name, text, code in [("right", script(), 0), ("wrong", WRONG, 1)]:
        path = tmp_path / f"{name}.py"
        path.write_text(text, encoding="utf-8")
        command = [sys.executable, "-m", checker, *map(str, arguments), path]
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert done.returncode == code, done.stdout + done.stderr


def test_every_estimator_says_what_its_parameters_are():
    """Constructors are annotated, constraints name all parameters, and docstrings explain them."""
    for name in ("TextCounter", "Selector", "OscillatingSearch", "LinearSVM", "LinearLogistic", "MultinomialBayes", "OkapiKNN", "WeightedKNN",
                 "ThresholdTuner", "ProgressiveFilter", "TextCategorizer"):  # fmt: skip
        kind = getattr(tamis, name)
        parameters = set(kind._get_param_names())
        assert parameters == set(kind._parameter_constraints), name
        assert parameters <= set(kind.__init__.__annotations__), name
        section = kind.__doc__.split("Parameters\n")[1].split("\n    Examples")[0]
        assert "Attributes\n" in kind.__doc__ and "See Also\n" in kind.__doc__ and ">>> " in kind.__doc__, name
        for parameter in parameters:
            assert parameter in section, (name, parameter)
