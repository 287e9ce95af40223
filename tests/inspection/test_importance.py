"""Permutation importance under an ordinal cost."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from support.data import ordinal_data

from echelon import ProportionalOdds
from echelon.inspection import ordinal_importance
from echelon.metrics import cost_scorer


class FirstColumn:
    """Predicts the whole number in the first column."""

    classes_ = np.array([0, 1, 2, 3])

    def predict(self, X):
        return np.asarray(X)[:, 0].astype(int)


def test_the_rise_is_the_mean_over_all_orders_of_a_tiny_column():
    X = np.array([[0.0, 9.0], [1.0, 8.0], [3.0, 7.0], [3.0, 6.0]])
    y = np.array([0, 1, 3, 2])
    expected = np.mean([np.abs(X[list(order), 0] - y).mean() for order in permutations(range(4))])
    found = ordinal_importance(FirstColumn(), X, y, n_repeats=2000)
    assert found.baseline == 0.25
    assert found.mean[0] == pytest.approx(expected - 0.25, abs=4 * found.sd[0] / np.sqrt(2000))
    assert found.sd[0] > 0
    assert (found.rises[1] == 0).all()  # a column that the model does not look at


def test_a_cost_matrix_charges_what_it_says():
    X, y = np.array([[0.0], [3.0]]), np.array([0, 3])
    cost = np.array([[0, 1, 2, 50], [1, 0, 1, 2], [2, 1, 0, 1], [7, 2, 1, 0]])
    found = ordinal_importance(FirstColumn(), X, y, cost=cost, n_repeats=50)
    # Two rows either stay, which costs nothing, or change places: (50 + 7) / 2.
    assert set(found.rises[0]) == {0.0, 28.5}


def test_it_agrees_with_scikit_learn_in_distribution():
    X, y = ordinal_data(n=150)
    model = ProportionalOdds().fit(X, y)
    ours = ordinal_importance(model, X, y, cost="squared", n_repeats=200)
    theirs = permutation_importance(
        model, X, y, scoring=cost_scorer("squared"), n_repeats=200, random_state=0
    )
    error = np.sqrt((ours.sd**2 + theirs.importances_std**2) / 200)
    assert (np.abs(ours.mean - theirs.importances_mean) < 5 * error).all()


def test_seeds_decide():
    X, y = ordinal_data(n=80)
    model = ProportionalOdds().fit(X, y)
    first, again, other = (
        ordinal_importance(model, X, y, random_state=seed).rises for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_a_pipeline_is_asked_about_raw_columns_in_every_library():
    polars = pytest.importorskip("polars")
    X, y = ordinal_data(n=100)
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0, "high", "low")})
    y = np.searchsorted([-1.5, 0.5], 2 * X[:, 0] + (X[:, 1] > 0))
    from sklearn.compose import make_column_transformer

    prepare = make_column_transformer((StandardScaler(), ["a"]), (OneHotEncoder(), ["b"]))
    model = make_pipeline(prepare, ProportionalOdds(alpha=1.0)).fit(frame, y)
    found = ordinal_importance(model, frame, y)
    assert found.features == ["a", "b"]
    assert found.mean[0] > found.mean[1] > 0
    other = ordinal_importance(model, polars.from_pandas(frame), y)
    assert (other.rises == found.rises).all()
    text = str(found)
    assert text.index("a ") < text.index("b ")
    assert list(found.to_frame()["feature"]) == ["a", "b"]


def test_the_order_of_a_classifier_s_text_labels_is_that_of_y():
    X, codes = ordinal_data(n=120, K=3)
    words = np.array(["poor", "fair", "good"])
    y = pd.Categorical(words[codes], categories=words, ordered=True)
    model = LogisticRegression().fit(X, words[codes])
    found = ordinal_importance(model, X, y, n_repeats=1)
    again = ordinal_importance(model, X, words[codes], classes=words, n_repeats=1)
    predicted = np.array([list(words).index(label) for label in model.predict(X)])
    assert found.baseline == again.baseline == np.abs(predicted - codes).mean()
    assert np.isnan(found.sd).all()


def test_rows_are_drawn_from_large_tables():
    X, y = ordinal_data(n=300)
    model = ProportionalOdds().fit(X, y)
    few = ordinal_importance(model, X, y, max_rows=40, n_repeats=1)
    assert few.baseline * 40 == pytest.approx(round(few.baseline * 40))


def test_wrong_arguments_are_named():
    X, y = ordinal_data(n=40)
    model = ProportionalOdds().fit(X, y)
    with pytest.raises(ValueError, match="y must have as many rows as X, 40; found 39"):
        ordinal_importance(model, X, y[1:])
    with pytest.raises(ValueError, match="n_repeats"):
        ordinal_importance(model, X, y, n_repeats=0)
    with pytest.raises(ValueError, match="must be fitted and have classes_"):
        ordinal_importance(StandardScaler(), X, y)


def test_no_rows_are_refused():
    X, y = ordinal_data(n=60)
    model = ProportionalOdds().fit(X, y)
    with pytest.raises(ValueError, match="X must have at least one row; found none"):
        ordinal_importance(model, X[:0], y[:0])
    with pytest.raises(ValueError, match="max_rows must be an integer of at least 1; found 0"):
        ordinal_importance(model, X, y, max_rows=0)
