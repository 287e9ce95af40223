"""What every estimator says of entries that are masked, missing or too large to compute with."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags
from support.data import ordinal_data
from support.estimators import REQUIRED, label, public_estimators

from echelon import (
    LinearSVOR,
    OrdinalReduction,
    ORStump,
    PRank,
    PreferenceRanker,
    ProportionalOdds,
    RankBoost,
    RoundedRegressor,
)
from echelon.model_selection import CoarseToFineSearchCV

TOO_LARGE = r"{} must hold numbers of at most 1e\+50 in size; found 1e\+300"
OTHERS = (CoarseToFineSearchCV, PreferenceRanker)
every_estimator = pytest.mark.parametrize(
    "kind", [k for k in public_estimators() if k not in OTHERS and hasattr(k, "predict")]
)


def make(kind):
    return REQUIRED.get(kind, kind)()


@every_estimator
def test_entries_that_no_model_can_use(kind):
    X, y = ordinal_data(n=40, K=3)
    model, masked = make(kind), np.arange(40) == 7
    with pytest.raises(ValueError, match="y has 1 missing labels"):
        model.fit(X, np.ma.array(y, mask=masked))
    with pytest.raises(ValueError, match="sample_weight must hold finite numbers; found NaN"):
        model.fit(X, y, sample_weight=np.ma.array(np.ones(40), mask=masked))
    with pytest.raises(ValueError, match=TOO_LARGE.format("sample_weight")):
        model.fit(X, y, sample_weight=np.where(masked, 1e300, 1.0))
    X[7, 1] = -1e300
    with pytest.raises(ValueError, match=TOO_LARGE.format("X")):
        model.fit(X, y)
    X[7, 1] = 0.0
    hidden = np.ma.array(X, mask=np.isin(X, 0.0))
    if get_tags(model).input_tags.allow_nan:
        given = np.where(X == 0.0, np.nan, X)
        found, twin = (clone(model).fit(rows, y).predict(rows) for rows in (hidden, given))
        np.testing.assert_array_equal(found, twin)
    else:
        with pytest.raises(ValueError, match="contains NaN"):
            model.fit(hidden, y)


@pytest.mark.parametrize("model", [ProportionalOdds(), OrdinalReduction(), RankBoost(3)], ids=label)
@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, sp.csr_array])
def test_numbers_out_of_range_in_every_container(model, kind):
    X, y = ordinal_data(n=40, K=3)
    model = clone(model)
    if kind is sp.csr_array and not get_tags(model).input_tags.sparse:
        pytest.skip("dense only")
    model.fit(kind(X), y)
    X[3, 0] = 1e300
    for call in (model.predict, lambda rows: model.fit(rows, y)):
        with pytest.raises(ValueError, match=TOO_LARGE.format("X")):
            call(kind(X))


def test_numbers_beside_texts_are_left_to_the_estimator_inside():
    _, y = ordinal_data(n=40, K=3)
    frame = pd.DataFrame({"a": np.full(40, 1e300), "b": ["x", "y"] * 20})
    with pytest.raises(ValueError, match="could not convert"):
        RoundedRegressor().fit(frame, y)


def test_costs_and_chunks_are_checked_as_well():
    X, y = ordinal_data(n=40, K=3)
    cost = np.array([[0.0, 1.0, 1e300], [1.0, 0.0, 1.0], [2.0, 1.0, 0.0]])
    with pytest.raises(ValueError, match=TOO_LARGE.format("cost")):
        ORStump(cost=cost).fit(X, y)
    with pytest.raises(ValueError, match=TOO_LARGE.format("sample_cost")):
        ORStump().fit(X, y, sample_cost=cost[y])
    with pytest.raises(ValueError, match="sample_cost must hold finite"):
        ORStump().fit(X, y, sample_cost=np.ma.array(cost[y], mask=cost[y] == 2.0))
    with pytest.raises(ValueError, match=TOO_LARGE.format("sample_weight")):
        PRank().partial_fit(X, y, sample_weight=np.full(40, 1e300))
    with pytest.raises(ValueError, match=TOO_LARGE.format("sample_weight")):
        LinearSVOR().fit_chunks(lambda: iter([(X, y, np.full(40, 1e300))]), classes=[0, 1, 2])


def test_missing_values_of_pandas_among_objects_get_a_sentence():
    X, y = ordinal_data(n=40, K=3)
    frame = pd.DataFrame(X).astype(object)
    frame.iloc[3, 0] = pd.NA
    with pytest.raises(ValueError, match=r"found pandas' NA among objects: .*astype\('Float64'\)"):
        ORStump().fit(frame, y)
    ORStump().fit(frame.astype("Float64"), y)


def test_masked_queries_and_pairs_are_missing():
    X, y = ordinal_data(n=40, K=3)
    qid = np.ma.array(np.arange(40) // 10, mask=np.arange(40) == 7)
    with pytest.raises(ValueError, match="qid must not be missing; found masked"):
        RankBoost(3).fit(X, y, qid=qid)
    pairs = np.ma.array([[0, 1], [2, 3]], mask=[[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="pairs must"):
        RankBoost(3).fit(X, pairs=pairs)
