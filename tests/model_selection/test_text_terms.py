"""Columns of text as numbers, in the folds and in files."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from echelon import LinearSVOR, RankRules
from echelon.inspection import explain_rows, rule_sentences, word_effects
from echelon.model_selection import TextTerms, find_candidate, prepare, tune
from echelon.tables import labelled_table
from echelon.trained.model_file import ModelFileError, dump_estimators, load_estimators

GOOD = ["a fine film", "truly great fun", "I loved the great ending"]
BAD = ["a dull film", "boring, no fun", "I left before the boring ending"]
REDUCTIONS = [None, "select", "svd"]


def reviews(n=60, seed=0):
    """Texts whose words tell the label, with some missing."""
    rng = np.random.default_rng(seed)
    grade = rng.integers(0, 3, n)
    fill = np.array(["plot", "actor", "scene", "music", "story", "camera"])
    words = [
        " ".join(
            [
                str(rng.choice(BAD if g == 0 else GOOD if g == 2 else ["it is"])),
                *rng.choice(fill, 6),
            ]
        )
        for g in grade
    ]
    words[3] = None
    return pd.DataFrame({"review": words}), grade


def test_weights_are_those_of_scikit_learn():
    X, _ = reviews()
    texts = X["review"].fillna("").tolist()
    peer = TfidfVectorizer(
        ngram_range=(1, 2), min_df=5, sublinear_tf=True, token_pattern=r"(?u)\b\w+\b"
    ).fit(texts)
    ours = TextTerms().fit(X)
    order = [peer.vocabulary_[term] for term in ours.terms_[0]]
    assert len(order) == len(peer.vocabulary_)
    found = ours.transform(X)
    assert sp.issparse(found)
    np.testing.assert_allclose(found.toarray()[:, :-1], peer.transform(texts).toarray()[:, order])
    length = np.log1p([len(text.split()) for text in texts])
    np.testing.assert_allclose(
        found.toarray()[:, -1], (length - length.mean()) / length.std(), atol=1e-12
    )


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize("container", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_fit_transform_is_fit_and_transform_in_every_container(reduce, container):
    X, y = reviews()
    X["more"] = X["review"].str[::-1]
    taken = container(X) if container is not pl.DataFrame else pl.from_pandas(X)
    terms = TextTerms(reduce, 5, min_rows=3)
    at_once = terms.fit_transform(taken, y)
    again = terms.transform(taken)
    plain = (at_once.toarray(), again.toarray()) if reduce is None else (at_once, again)
    np.testing.assert_array_equal(*plain)
    names = terms.get_feature_names_out()
    assert plain[0].shape == (60, len(names)) and len(set(names)) == len(names)
    expected = clone(terms).fit_transform(X, y)
    np.testing.assert_array_equal(plain[0], expected.toarray() if reduce is None else expected)


def test_selected_terms_are_the_telling_ones():
    X, y = reviews(200)
    terms = TextTerms("select", 6, min_rows=3).fit(X, y)
    telling = {"great", "boring", "fine", "dull", "loved", "left", "truly", "no"}
    assert len(set(terms.terms_[0]) & telling) >= 3
    assert set(np.unique(terms.transform(X)[:, :-1])) == {0.0, 1.0}
    with pytest.raises(ValueError, match="y must hold the labels"):
        TextTerms("select").fit(X)


@pytest.mark.parametrize("reduce", REDUCTIONS)
def test_texts_without_a_word_still_give_a_column(reduce):
    X = pd.DataFrame({"review": [None, "", "?", None, "…", "-"]})
    found = TextTerms(reduce).fit_transform(X, [0, 1, 0, 1, 0, 1])
    assert found.shape == (6, 1) and abs(found).sum() == 0.0
    more = pd.DataFrame({"review": ["new words here", None]})
    assert TextTerms(reduce).fit(X, [0, 1] * 3).transform(more).shape == (2, 1)


@pytest.mark.parametrize("reduce", REDUCTIONS)
@pytest.mark.parametrize(
    ("texts", "left_out"),
    [
        (["fine"] * 8, ()),
        (["the and of", "it is"] * 4, ("the", "and", "of", "it", "is")),
        (["😀😀 🎉", "😡 💩💩"] * 4, ()),
        (["سيء جدا \u202e", "רע מאוד"] * 4, ()),
        (["fine", "lovely parcel " * 75_000] * 4, ()),
    ],
)
def test_odd_texts_give_finite_columns_in_every_reduction(reduce, texts, left_out):
    X, y = pd.DataFrame({"review": texts}), [0, 1] * 4
    terms = TextTerms(reduce, 3, stop_words=left_out)
    found = terms.fit_transform(X, y)
    found = found.toarray() if reduce is None else found
    assert found.shape == (8, len(terms.get_feature_names_out())) and np.isfinite(found).all()


def test_where_words_hardly_repeat_terms_are_characters():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(list("天地人山水火土金木日"), 8)) for _ in range(40)]
    terms = TextTerms().fit(pd.DataFrame({"answer": texts}))
    assert terms.units_ == ["character"]
    assert max(map(len, terms.terms_[0])) > 1
    assert terms.without(0, texts[0], texts[0][:2]) == f" {texts[0][2:]} "


def test_left_out_words_are_no_part_of_any_term():
    X, _ = reviews()
    terms = TextTerms(stop_words=["the", "a", "it"], min_rows=2).fit(X).terms_[0]
    assert terms and not {"the", "a", "it"} & {word for term in terms for word in term.split()}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"reduce": "pca"}, "reduce must be"),
        ({"unit": "syllable"}, "unit must be"),
        ({"min_rows": 0}, "min_rows"),
        ({"size": 1.5}, "size"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        TextTerms(**wrong).fit(*reviews())


def test_wrong_inputs_are_named():
    with pytest.raises(ValueError, match="rows and columns of text; found shape"):
        TextTerms().fit(["one text", "another"])
    fitted = TextTerms().fit(reviews()[0])
    with pytest.raises(ValueError, match="1 columns of text; found 2"):
        fitted.transform(np.array([["a", "b"]], dtype=object))


@given(st.lists(st.one_of(st.none(), st.text(max_size=20)), min_size=2, max_size=20))
@settings(deadline=None)
def test_any_text_gives_finite_weights_of_length_one(texts):
    found = TextTerms(min_rows=1).fit_transform(pd.DataFrame({"t": texts})).toarray()
    assert np.isfinite(found).all()
    lengths = np.sqrt((found[:, :-1] ** 2).sum(axis=1))
    assert np.all(np.isclose(lengths, 1.0) | (lengths == 0.0))


def test_a_model_file_holds_terms_and_no_text():
    X, y = reviews(80)
    X["review"] += [f" secret{i}" for i in range(len(X))]
    for reduce in REDUCTIONS:
        terms = TextTerms(reduce, 4).fit(X, y)
        tree, numbers = dump_estimators(terms)
        assert b"secret" not in tree and b"secret" not in numbers
        again = load_estimators("It is refused", tree, numbers)
        for mine, theirs in zip(terms.terms_, again.terms_, strict=True):
            assert mine == theirs
        expected, found = terms.transform(X), again.transform(X)
        np.testing.assert_array_equal(
            *(m.toarray() if reduce is None else m for m in (expected, found))
        )


@pytest.mark.parametrize(
    "spoil",
    [
        lambda t: t.terms_[0].append("more"),
        lambda t: t.terms_[0].__setitem__(0, t.terms_[0][1]),
        lambda t: t.units_.__setitem__(0, "line"),
        lambda t: t.idf_.__setitem__(0, -t.idf_[0]),
        lambda t: t.components_.__setitem__(0, t.components_[0][:, 1:]),
        lambda t: setattr(t, "lengths_", t.lengths_ * 0.0),
    ],
)
def test_a_spoilt_state_is_refused(spoil):
    terms = TextTerms("svd", 3).fit(*reviews())
    spoil(terms)
    with pytest.raises(ModelFileError):
        load_estimators("It is refused", *dump_estimators(terms))


@pytest.mark.parametrize("name", ["LinearSVOR", "SVOR implicit", "RankRules", "PRank"])
def test_candidates_learn_from_words(name):
    X, y = reviews(150)
    table = labelled_table(X.assign(size=np.arange(150.0) % 7, grade=y), "grade", text="review")
    assert [column.kind for column in table.schema.columns] == ["text", "number"]
    model = tune(find_candidate(name), table.X, y, schema=table.schema, classes=[0, 1, 2])
    model.fit(table.X[:100], y[:100])
    assert np.abs(model.predict(table.X[100:]) - y[100:]).mean() < 0.5


def test_words_that_move_a_model():
    X, y = reviews(150)
    model = make_pipeline(TextTerms(min_rows=3), LinearSVOR()).fit(X, y)
    effects = word_effects(model, X, n_terms=4)
    raising = {word for e in effects if e.change > 0 for word in e.term.split()}
    lowering = {word for e in effects if e.change < 0 for word in e.term.split()}
    assert raising & {"great", "fine", "loved", "truly"}
    assert lowering & {"boring", "dull", "left", "before"}
    (why,) = explain_rows(model, pd.DataFrame({"review": ["a great boring film"]}), X)
    changes = {w.term: w.change for w in why.words}
    assert changes["great"] > 0 > changes["boring"]
    assert "raise" in why.sentence() and "“great”" in why.sentence()


def test_rules_say_contains():
    X, y = reviews(150)
    schema = labelled_table(X.assign(grade=y), "grade", text="review").schema
    model = make_pipeline(prepare(schema, classes=[0, 1, 2]), RankRules(10, random_state=0))
    sentences = rule_sentences(model.fit(X, y), X)
    assert any("review contains “" in s or "review does not contain “" in s for s in sentences)


def test_rules_tell_how_long_texts_are():
    texts = [" ".join(["word"] * k) for k in [2, 3, 4, 5, 20, 21, 22, 23] * 10]
    X, y = pd.DataFrame({"review": texts}), [0, 0, 0, 0, 1, 1, 1, 1] * 10
    schema = labelled_table(X.assign(grade=y), "grade", text="review").schema
    rules = RankRules(4, max_conditions=1, random_state=0)
    model = make_pipeline(prepare(schema, classes=[0, 1]), rules).fit(X, y)
    told = [s for s in rule_sentences(model, X) if "length of review in words is" in s]
    limits = [int(re.search(r"is at (?:least|most) (\d+)", s)[1]) for s in told]
    assert limits and all(5 <= limit <= 20 for limit in limits)
