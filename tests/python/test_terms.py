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
