import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from echelon.model_selection.preparation import prepare
from echelon.tables import Schema

FRAME = pd.DataFrame(
    {
        "size": [1.0, np.nan, 3.0, 5.0] * 3,
        "sold": pd.array([True, None, True, False] * 3, dtype="boolean"),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None, "2020-01-04"] * 3),
        "colour": ["red", "blue", None, "red"] * 3,
        "maker": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "i", "i", "i"],
    }
)
SCHEMA = Schema.of(FRAME)
READY = SCHEMA.apply(FRAME)


def test_numbers_are_filled_and_scaled_and_names_kept():
    found = prepare(SCHEMA).set_output(transform="pandas").fit_transform(READY)
    assert found.columns.tolist() == [
        "size",
        "day",
        "sold",
        "colour_blue",
        "colour_red",
        "colour_nan",
        "maker_i",
        "maker_infrequent_sklearn",
    ]
    np.testing.assert_allclose(found[["size", "day"]].mean(), 0, atol=1e-12)
    np.testing.assert_allclose(found[["size", "day"]].std(ddof=0), 1)
    assert found["sold"].tolist() == [1, 1, 1, 0] * 3
    assert found["colour_nan"].tolist() == [0, 0, 1, 0] * 3
    assert found["maker_infrequent_sklearn"].sum() == 8


def test_an_unseen_level_counts_as_a_rare_one():
    preparation = prepare(SCHEMA).set_output(transform="pandas").fit(READY)
    found = preparation.transform(READY[:1].assign(maker="new", colour="new"))
    assert found["maker_infrequent_sklearn"].tolist() == [1]
    assert found.filter(like="colour_").to_numpy().tolist() == [[0, 0, 0]]


def test_columns_that_lose_all_values_in_a_fold_keep_their_place():
    found = prepare(SCHEMA).fit_transform(READY.assign(size=np.nan, sold=np.nan))
    assert np.isfinite(found).all() and found.shape[1] == 8


@pytest.mark.parametrize("columns", [["size"], ["sold"], ["colour"], ["colour", "day"]])
def test_schemas_without_some_kinds(columns):
    schema = Schema.of(FRAME[columns])
    assert len(prepare(schema).fit_transform(schema.apply(FRAME))) == len(FRAME)


def test_a_level_may_have_the_name_of_another_column():
    frame = FRAME[["colour", "size"]].rename(columns={"size": "colour_red"})
    schema = Schema.of(frame)
    names = prepare(schema).fit(schema.apply(frame)).get_feature_names_out().tolist()
    assert len(set(names)) == len(names) == 4


def test_skops_saves_it_without_trusting_any_function():
    io = pytest.importorskip("skops.io")
    labels = [0, 1, 0, 1] * 3
    model = make_pipeline(clone(prepare(SCHEMA)), DecisionTreeClassifier()).fit(READY, labels)
    stored = io.dumps(model[:-1])
    plain = ["numpy.dtype"]
    assert set(io.get_untrusted_types(data=stored)) <= set(plain)
    again = io.loads(stored, trusted=plain)
    np.testing.assert_array_equal(again.transform(READY), model[:-1].transform(READY))


def test_ordered_levels_become_scaled_ranks():
    levels = ["low", "mid", "high"]
    answers = pd.Categorical(["high", None, "low", "mid"] * 3, categories=levels, ordered=True)
    schema = Schema.of(pd.DataFrame({"answer": answers}))
    ready = schema.apply(pd.DataFrame({"answer": answers}))
    found = prepare(schema).set_output(transform="pandas").fit_transform(ready)["answer"]
    np.testing.assert_allclose(found[:4], np.array([1, 0, -1, 0]) / np.sqrt(0.5))
