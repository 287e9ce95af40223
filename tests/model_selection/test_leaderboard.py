import csv
import io
import json
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from support.data import ordinal_data

from echelon import ProportionalOdds, RoundedRegressor
from echelon.model_selection import compare_models, default_models, mixed_columns


def test_figures_are_those_of_cross_validation():
    X, y = ordinal_data()
    seen = []
    models = {"odds": ProportionalOdds(), "ridge": RoundedRegressor(Ridge(1e5))}
    board = compare_models(models, X, y, folds=3, repeats=2, random_state=4, on_row=seen.append)
    assert [row.model for row in board.rows] == ["odds", "ridge"]
    assert len(seen) == 2
    cv = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=4)
    by_hand = -cross_val_score(ProportionalOdds(), X, y, cv=cv)
    row = board.rows[0]
    np.testing.assert_allclose(row.folds["mae"], by_hand)
    assert row.mean("mae") == pytest.approx(by_hand.mean())
    assert row.summary("mae").se == pytest.approx(by_hand.std(ddof=1) / math.sqrt(6))
    assert row.mean("qwk") > 0
    assert math.isnan(board.rows[1].mean("rps"))


def test_classes_smaller_than_the_folds():
    X, y = ordinal_data(n=60)
    y = np.where(y == 3, 2, y)
    y[0] = 3
    labels = np.array(["a", "b", "c", "d"])[y]
    board = compare_models({"odds": ProportionalOdds(alpha=1.0)}, X, labels, classes=list("abcd"))
    assert np.isfinite(board.rows[0].folds["mae"]).all()


def test_renderings_hold_the_same_figures():
    X, y = ordinal_data()
    board = compare_models({"ridge": RoundedRegressor()}, X, y, folds=2, repeats=1)
    [record] = board.records()
    [row] = csv.DictReader(io.StringIO(board.to_csv()))
    assert float(row["mae"]) == record["mae"]
    [parsed] = json.loads(board.to_json())
    assert parsed["mae"] == record["mae"]
    assert parsed["rps"] is None
    assert f"{record['mae']:.3f}±{record['mae_se']:.3f}" in board.to_markdown()
    assert all(len(line) <= 80 for line in str(board).splitlines())


def test_default_models_run_on_a_messy_table():
    rng = np.random.default_rng(0)
    X, y = ordinal_data(n=90)
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[rng.choice(90, 9), "a"] = np.nan
    frame["colour"] = rng.choice(["red", "green", None], 90)
    frame["kind"] = pd.Categorical(rng.choice(["x", "y"], 90))
    frame["flag"] = rng.choice([True, False], 90)
    models = {name: make_pipeline(mixed_columns(), m) for name, m in default_models().items()}
    board = compare_models(models, frame, y, folds=3, repeats=1)
    assert len(board.rows) == len(models)
    order = [row.mean("mae") for row in board.rows]
    assert order == sorted(order)
    assert board.rows[0].model != "median label"


def test_no_models():
    with pytest.raises(ValueError, match="models must name at least one model"):
        compare_models({}, [[0], [1]], [0, 1])
