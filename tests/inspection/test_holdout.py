"""Out-of-fold predictions and learning curves."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from support.data import ordinal_data

from echelon import ProportionalOdds, RoundedRegressor
from echelon.inspection import holdout_predictions, learning_curve


class Memory(RoundedRegressor):
    """Right for rows that it saw, and wrong by one rank for the others."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.seen_ = {row.tobytes(): label for row, label in zip(np.asarray(X), y, strict=True)}
        return self

    def predict(self, X):
        return np.array([self.seen_.get(row.tobytes(), 0) for row in np.asarray(X)])


def test_no_row_is_predicted_by_a_model_that_saw_it():
    X, y = ordinal_data(n=53)
    held = holdout_predictions(Memory(), X, y + 1, classes=[0, 1, 2, 3, 4], cv=4, repeats=3)
    assert (held.codes == 0).all()
    assert held.probabilities is None
    assert (held.truth == y[held.rows] + 1).all()
    for repeat in range(3):
        assert sorted(held.rows[held.repeat == repeat]) == list(range(53))
    assert set(held.fold) == {0, 1, 2, 3}
    first, second = (held.rows[(held.repeat == repeat) & (held.fold == 0)] for repeat in (0, 1))
    assert set(first) != set(second)


def test_folds_have_the_same_shares_of_classes():
    X, y = ordinal_data(n=100, K=4)
    held = holdout_predictions(ProportionalOdds(), X, y, cv=5)
    for fold in range(5):
        counts = np.bincount(held.truth[held.fold == fold], minlength=4)
        assert np.ptp(counts - np.bincount(y, minlength=4) / 5) <= 2
    np.testing.assert_allclose(held.probabilities.sum(axis=1), 1.0)


def test_a_class_of_one_row_keeps_its_place_on_the_scale():
    X, y = ordinal_data(n=60, K=3)
    y = y.copy()
    y[y == 2] = 1
    y[7] = 2
    held = holdout_predictions(LogisticRegression(), X, y, cv=3)
    assert held.probabilities.shape == (60, 3)
    mine = held.probabilities[held.rows == 7]
    assert mine[0, 2] == 0.0  # the models of the other folds have never seen the class


def test_ordered_text_comes_back_on_its_scale():
    X, codes = ordinal_data(n=60, K=3)
    words = np.array(["poor", "fair", "good"])
    frame = pd.DataFrame(X)
    y = pd.Series(pd.Categorical(words[codes], categories=words, ordered=True))
    held = holdout_predictions(ProportionalOdds(), frame, y, cv=3)
    assert held.classes.tolist() == words.tolist()
    assert (held.y_true == words[codes][held.rows]).all()
    assert set(held.y_pred) <= set(words)


def test_folds_need_rows():
    X, y = ordinal_data(n=8)
    with pytest.raises(ValueError, match="cv must be at most the number of rows, 8; found 9"):
        holdout_predictions(ProportionalOdds(), X, y, cv=9)


def test_the_learning_curve_has_training_and_held_out_costs():
    X, y = ordinal_data(n=60)
    curve = learning_curve(Memory(), X, y + 1, classes=range(5), sizes=[10, 0.5, 1.0], cv=4)
    assert curve.sizes.tolist() == [10, 22, 45]
    assert (curve.train_mean == 0).all() and (curve.train_sd == 0).all()
    np.testing.assert_allclose(curve.test_mean, (y + 1).mean(), atol=0.05)
    assert "45" in str(curve)


def test_the_learning_curve_takes_costs_and_falls():
    X, y = ordinal_data(n=400, noise=0.2)
    absolute, squared = (
        learning_curve(ProportionalOdds(alpha=1e-3), X, y, cv=3, cost=cost)
        for cost in ("absolute", "squared")
    )
    assert absolute.test_mean[-1] < absolute.test_mean[0]
    assert (squared.test_mean >= absolute.test_mean).all()


def test_even_tiny_training_sets_have_two_classes():
    X = np.arange(30.0)[:, None]
    y = np.array([0] * 26 + [1] * 4)
    curve = learning_curve(LogisticRegression(), X, y, sizes=[2, 4], cv=2)
    assert np.isfinite(curve.test_mean).all()


@pytest.mark.parametrize("sizes", [[0], [46], [-1], []])
def test_sizes_must_fit_into_a_training_fold(sizes):
    X, y = ordinal_data(n=60)
    with pytest.raises(ValueError, match="sizes must be numbers of rows from 2 to 45"):
        learning_curve(ProportionalOdds(), X, y, sizes=sizes, cv=4)


def test_a_fitted_nominal_model_takes_the_order_of_the_labels():
    X, codes = ordinal_data(n=150, K=3)
    words = np.array(["poor", "fair", "good"])
    y = pd.Series(pd.Categorical(words[codes], words, ordered=True))
    for model in (LogisticRegression(), LogisticRegression().fit(X, y)):
        held = holdout_predictions(model, X, y, 3)
        assert held.classes.tolist() == words.tolist()
        np.testing.assert_array_equal(held.truth, codes[held.rows])
        assert np.corrcoef(held.probabilities @ np.arange(3), held.truth)[0, 1] > 0.4
