import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from support.data import ordinal_data

from echelon import RoundedRegressor
from echelon.metrics import get_scorer


def test_rounds_to_the_nearest_rank_and_stays_on_the_scale():
    X, y = ordinal_data()
    model = RoundedRegressor(LinearRegression()).fit(X, y)
    far = np.vstack([X, 50 * X])
    expected = np.clip(np.rint(LinearRegression().fit(X, y).predict(far)), 0, 3)
    np.testing.assert_array_equal(model.predict(far), expected)
    assert model.thresholds_.tolist() == [0.5, 1.5, 2.5]


def test_levels_without_rows_still_count_as_a_step():
    X = np.array([[0.0], [1.0], [3.0]])
    model = RoundedRegressor(LinearRegression(), classes=["a", "b", "c", "d"])
    model.fit(X, ["a", "b", "d"])
    assert model.predict([[2.0]]).tolist() == ["c"]


def test_nested_parameters_in_a_grid():
    X, y = ordinal_data()
    grid = GridSearchCV(
        RoundedRegressor(Ridge()),
        {"regressor__alpha": [0.1, 1e4]},
        scoring=get_scorer("neg_mean_absolute_rank_error"),
        cv=3,
    ).fit(X, y)
    assert grid.best_params_ == {"regressor__alpha": 0.1}


def test_frames_of_any_columns_reach_the_regressor_as_they_are():
    frame = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "colour": ["r", "g", "r", "g"]})
    inner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough"), Ridge(1e-6)
    )
    model = RoundedRegressor(inner).fit(frame, [0, 1, 2, 3])
    assert model.predict(frame).tolist() == [0, 1, 2, 3]


def test_texts_reach_the_regressor_as_they_are():
    texts = ["awful", "awful mess", "fine", "splendid fine", "splendid"]
    model = RoundedRegressor(make_pipeline(TfidfVectorizer(), Ridge(1e-6)))
    assert model.fit(texts, [0, 0, 1, 2, 2]).predict(["awful"]).tolist() == [0]


def test_weights_need_a_regressor_that_takes_them():
    X, y = ordinal_data(n=30)
    with pytest.raises(ValueError, match="KNeighborsRegressor does not accept sample_weight"):
        RoundedRegressor(KNeighborsRegressor()).fit(X, y, sample_weight=np.ones(30))
    RoundedRegressor(KNeighborsRegressor()).fit(X, y)
