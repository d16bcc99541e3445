"""Text to terms against scikit-learn's analyzers, where both define a term alike."""

import pytest
from sklearn.feature_extraction.text import CountVectorizer

tamis = pytest.importorskip("tamis")

TEXTS = [
    "The quick brown fox can jump over the lazy dog",
    "A ship at sea, and the sea at the ship!",
    "Straße und Größe: naïve Café",
    "这个手机很好，屏幕清晰 iPhone",
    "สวัสดี ประเทศไทย",
    "один два три",
    "x",
]


def same(counter, vectorizer, texts=TEXTS):
    ours = counter.fit_transform(texts)
    theirs = vectorizer.fit_transform(texts)
    names = counter.get_feature_names_out().tolist()
    assert names == vectorizer.get_feature_names_out().tolist()
    assert (ours != theirs).nnz == 0


@pytest.mark.parametrize("high", [1, 2, 3])
def test_word_ngrams(high):
    counter = tamis.TextCounter(terms=f"words(1-{high},kind=blanks,min=1,max=none,form=nfc)")
    same(counter, CountVectorizer(analyzer="word", token_pattern=r"\S+", ngram_range=(1, high)))


@pytest.mark.parametrize("low,high", [(2, 2), (2, 3), (3, 3)])
def test_characters_between_blanks(low, high):
    # Longer n-grams than a word: scikit-learn counts the word itself, tamis nothing.
    counter = tamis.TextCounter(terms=f"chars({low}-{high},kind=blanks,form=nfc)")
    same(counter, CountVectorizer(analyzer="char_wb", ngram_range=(low, high)))


@pytest.mark.parametrize("low,high", [(2, 2), (2, 4), (3, 5)])
def test_characters_of_the_text(low, high):
    counter = tamis.TextCounter(terms=f"chars({low}-{high},kind=text,form=nfc)")
    same(counter, CountVectorizer(analyzer="char", ngram_range=(low, high)))


def test_chinese_is_characters_and_pairs():
    texts = ["这个手机很好", "手机", "好"]
    same(tamis.TextCounter(), CountVectorizer(analyzer="char", ngram_range=(1, 2)), texts)


def test_blocks_and_shorthand():
    counter = tamis.TextCounter(terms="words+chars(3)")
    counter.fit(["the fox"])
    assert counter.get_feature_names_out().tolist() == ["fox", "the", "‹␣fo›", "‹␣th›", "‹fox›", "‹he␣›", "‹ox␣›", "‹the›"]
    long, short = tamis.TextCounter(terms="words(1-2,stem=english)"), tamis.TextCounter(ngrams=2, stem="english")
    texts = ["running ships", "the ships run"]
    assert (long.fit_transform(texts) != short.fit_transform(texts)).nnz == 0
    assert long.vocabulary_ == short.vocabulary_


@pytest.mark.parametrize("terms", ["wrods", "words(2-1)", "words(stem=klingon)", "words+", "chars(3"])
def test_bad_expressions(terms):
    with pytest.raises(ValueError, match=r"\^"):
        tamis.TextCounter(terms=terms).fit(["text"])


def test_models_keep_their_terms(tmp_path):
    texts = ["ship port sea", "ship crew sea", "oil price trade", "price of a barrel"] * 5
    model = tamis.TextCategorizer(terms="words+chars(3-4)", by="chi2max", features=20, classifier="bayes")
    model.fit(texts, ["sea", "sea", "oil", "oil"] * 5).save(tmp_path / "m")
    again = tamis.TextCategorizer.load(tmp_path / "m")
    assert again.terms == "words+chars(3-4)"
    assert again.features_ == model.features_
    assert again.predict(["a ship"]).tolist() == ["sea"]


TITLES = ["Sea", "Oil", None, "Oil price"] * 5
BODIES = ["ship port sea", "price of a barrel", "ship crew sea", "price trade"] * 5
LABELS = ["sea", "oil", "sea", "oil"] * 5
FIELDS = "title:words(1-2)+body:words"


def tables():
    import pandas as pd

    yield pd.DataFrame({"title": TITLES, "body": BODIES, "other": 1})
    yield {"title": TITLES, "body": BODIES}
    for name, make in [("polars", "DataFrame"), ("pyarrow", "table")]:
        try:
            yield getattr(__import__(name), make)({"title": TITLES, "body": BODIES})
        except ImportError:
            pass


@pytest.mark.parametrize("table", list(tables()), ids=lambda table: type(table).__module__.split(".")[0])
def test_fields_are_columns(table):
    counter = tamis.TextCounter(terms=FIELDS)
    X = counter.fit_transform(table)
    names = counter.get_feature_names_out().tolist()
    assert "title:oil price" in names and "body:sea" in names and "title:sea" in names
    assert X.shape[0] == 20 and X[2, names.index("title:sea")] == 0
    model = tamis.TextCategorizer(terms=FIELDS, by="chi2max", features="all", classifier="svm").fit(table, LABELS)
    assert model.predict(table).tolist() == LABELS
    [reason] = model.explain({"title": "Sea", "body": "a ship"}, label="sea", spans=True)
    assert {span["field"] for span in reason["spans"]} == {"title", "body"}
    assert model.answer(table, why=3, spans=True)[2]["labels"] == ["sea"]


def test_missing_columns_are_named():
    import pandas as pd

    table = pd.DataFrame({"title": TITLES, "body": BODIES})
    with pytest.raises(ValueError, match="'titel'.*title, body"):
        tamis.TextCounter(terms="titel:words").fit(table)
    with pytest.raises(ValueError, match="'text'.*title, body"):
        tamis.TextCounter().fit(table)
    with pytest.raises(ValueError, match="give a DataFrame"):
        tamis.TextCategorizer(terms=FIELDS).fit(BODIES, LABELS)
    model = tamis.TextCategorizer(terms=FIELDS, by="df", features=5, classifier="bayes").fit(table, LABELS)
    with pytest.raises(ValueError, match="'title'.*body"):
        model.predict(table[["body"]])
    with pytest.raises(ValueError, match="headline"):
        model.explain({"headline": "Sea"})


def test_language_is_recognised():
    texts = ["The ships were sailing over the seas and nobody knew where they had been going"] * 3
    counter = tamis.TextCounter(language="auto").fit(texts)
    assert counter.language_ == "english"
    assert "ship" in counter.vocabulary_ and "the" not in counter.vocabulary_
    assert "ship" in tamis.TextCounter(language="auto").fit(texts).get_feature_names_out()
    assert "the" not in tamis.count(texts, language="auto").terms
    assert tamis.TextCounter().fit(texts).language_ is None
    with pytest.raises(ValueError, match="no stemmer"):
        tamis.TextCounter(language="thai").fit(texts)
