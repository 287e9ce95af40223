"""Labels and queries in every container, with one estimator and one ranker.

How a column of labels becomes codes and comes back is the scale's, and tested where it lives, in
`tests/ordinal/test_labels.py`; here is that an estimator passes it on.
"""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted
from support.data import ordinal_data
from support.rankings import ranking_data

from echelon import LinearRankSVM, ProportionalOdds
from echelon.metrics import get_scorer

WORDS = np.array(["poor", "fair", "good", "great"])
CONTAINERS = {
    "ints": (lambda codes: codes * 10, np.ndarray),
    "floats": (lambda codes: codes / 2.0, np.ndarray),
    "pandas": (
        lambda codes: pd.Categorical.from_codes(codes, WORDS, ordered=True),
        pd.Categorical,
    ),
    "pandas-series": (
        lambda codes: pd.Series(pd.Categorical.from_codes(codes, WORDS, ordered=True)),
        pd.Categorical,
    ),
    "polars": (
        lambda codes: pl.Series(WORDS[codes].tolist(), dtype=pl.Enum(WORDS.tolist())),
        pl.Series,
    ),
    "pyarrow": (
        lambda codes: pa.DictionaryArray.from_arrays(pa.array(codes), WORDS.tolist(), ordered=True),
        pa.DictionaryArray,
    ),
}


def plain(labels):
    return labels.to_pylist() if hasattr(labels, "to_pylist") else list(labels)


@pytest.mark.parametrize("name", CONTAINERS)
def test_labels_come_back_in_the_type_that_came_in(name):
    labels, container = CONTAINERS[name]
    X, codes = ordinal_data()
    expected = ProportionalOdds().fit(X, codes).predict(X)
    model = ProportionalOdds().fit(X, labels(codes))
    found = model.predict(X)
    assert isinstance(found, container)
    assert plain(found) == plain(labels(expected))
    assert model.score(X, labels(codes)) == pytest.approx(-np.abs(codes - expected).mean())


@pytest.mark.parametrize(
    ("cost", "scorer"),
    [("absolute", "neg_mean_absolute_rank_error"), ("zero_one", "neg_zero_one_error")],
)
def test_cross_validation_with_an_ordered_category(cost, scorer):
    X, codes = ordinal_data()
    y = pd.Series(pd.Categorical.from_codes(codes, WORDS, ordered=True))
    model = ProportionalOdds(cost=cost)
    by_words = cross_val_score(model, X, y, cv=3, error_score="raise")
    by_codes = cross_val_score(model, X, codes, cv=3, error_score="raise")
    np.testing.assert_allclose(by_words, by_codes)
    assert (by_words < 0).all()
    named = cross_val_score(model, X, y, cv=3, scoring=get_scorer(scorer), error_score="raise")
    np.testing.assert_allclose(named, by_words)


def test_a_category_without_an_order_leaves_no_half_fitted_estimator():
    X, codes = ordinal_data()
    model = ProportionalOdds()
    with pytest.raises(ValueError, match="no order of labels"):
        model.fit(X, pd.Series(WORDS[codes], dtype="category"))
    with pytest.raises(NotFittedError):
        check_is_fitted(model)


@pytest.mark.parametrize(
    "rename",
    [
        lambda qid: [f"query {q}" for q in qid],
        lambda qid: [("user", int(q)) for q in qid],
        lambda qid: pd.Series(qid * 1.5),
        lambda qid: pl.Series([f"q{q}" for q in qid]),
    ],
    ids=["text", "tuples", "pandas-floats", "polars-text"],
)
def test_any_hashable_query(rename):
    X, y, qid = ranking_data()
    model = LinearRankSVM().fit(X, y, qid=qid)
    named = LinearRankSVM().fit(X, y, qid=rename(qid))
    np.testing.assert_array_equal(named.predict(X), model.predict(X))
    assert named.score(X, y, rename(qid)) == model.score(X, y, qid)


@pytest.mark.parametrize(
    "labels",
    [
        lambda codes: pd.Categorical.from_codes(codes, WORDS, ordered=True),
        lambda codes: pl.Series(WORDS[codes].tolist(), dtype=pl.Enum(WORDS.tolist())),
    ],
    ids=["pandas", "polars"],
)
def test_a_ranker_reads_ordered_categories(labels):
    X, y, qid = ranking_data()
    grades = np.unique(y, return_inverse=True)[1] % 4
    model = LinearRankSVM().fit(X, grades, qid=qid)
    other = LinearRankSVM().fit(X, labels(grades), qid=qid)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    assert other.score(X, labels(grades), qid) == model.score(X, grades, qid)
