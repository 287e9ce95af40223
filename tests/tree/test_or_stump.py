import numpy as np
import pytest
from support.data import ascending, ordinal_data
from support.stumps import brute_force_cost

from echelon import ORStump
from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.ordinal.reduction import signed_weights
from echelon.tree.stump import _score_of_rank

ASYMMETRIC = [[0, 1, 5, 5], [2, 0, 1, 4], [2, 2, 0, 0.5], [9, 4, 1, 0]]


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one", ASYMMETRIC])
def test_training_cost_is_the_least_of_all_stumps(cost):
    X, y = ordinal_data(n=14, d=2)
    model = ORStump(cost=cost).fit(X, y)
    V = signed_weights(y, threshold_weights(cost_matrix(cost, 4)[y]))
    assert model.training_cost_ == pytest.approx(brute_force_cost(X, V) / 14)
    assert -model.score(X, y) == pytest.approx(model.training_cost_)


def test_sample_costs_replace_the_cost():
    X, y = ordinal_data(n=30)
    costs = 3.0 * cost_matrix("squared", 4)[y]
    named = ORStump(cost="squared").fit(X, y)
    given = ORStump().fit(X, y, sample_cost=costs)
    np.testing.assert_array_equal(named.thresholds_, given.thresholds_)
    assert given.training_cost_ == pytest.approx(3 * named.training_cost_)


def test_equal_values_share_a_rank():
    model = ORStump().fit([[0.0], [0.0], [0.0], [1.0]], [1, 1, 3, 2])
    assert model.predict([[0.0], [1.0]]).tolist() == [1, 2]


def test_missing_values_take_the_rank_of_least_cost_among_them():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan], [np.nan]])
    model = ORStump().fit(X, [1, 2, 3, 2, 2, 1])
    assert model.predict([[np.nan], [0.0], [2.0]]).tolist() == [2, 1, 3]
    assert model.decision_function([[np.nan]]).tolist() == [[1.0, -1.0]]


def test_missing_values_that_training_lacked_take_the_rank_of_least_cost_of_all():
    model = ORStump().fit([[0.0], [1.0], [2.0], [3.0]], [1, 2, 3, 3])
    assert model.missing_rank_ == 1
    assert model.predict([[np.nan]]).tolist() == [2]


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
@pytest.mark.parametrize(("lowest", "highest"), [(-1.0, 5.0), (2.0, np.inf), (-np.inf, 2.0)])
def test_the_latent_score_of_missing_values_has_their_rank(rank, lowest, highest):
    thresholds = np.array([lowest, 2.0, highest])
    score = _score_of_rank(rank, thresholds)
    assert np.isfinite(score)
    reached = {int(np.sum(s > thresholds)) for s in (-9.0, 0.0, 2.0, 3.0, 9.0)}
    assert int(np.sum(score > thresholds)) == min(reached, key=lambda r: abs(r - rank))


def test_missing_values_have_finite_latent_scores():
    X = np.array([[0.0], [1.0], [2.0], [np.nan], [np.nan], [np.nan]])
    model = ORStump().fit(X, [1, 2, 3, 2, 2, 1])
    assert model.predict_latent([[np.nan], [0.25]]).tolist() == [1.0, 0.25]
    assert ORStump().fit(X[3:], [1, 1, 2]).predict_latent(X[3:]).tolist() == [0.0] * 3


def test_falling_stump_has_ascending_thresholds():
    X, y = ordinal_data()
    rising, falling = ORStump().fit(X, y), ORStump().fit(-X, y)
    assert (rising.direction_, falling.direction_) == (1, -1)
    assert ascending(rising.thresholds_) and ascending(falling.thresholds_)
    assert rising.training_cost_ == pytest.approx(falling.training_cost_)
    np.testing.assert_array_equal(falling.predict_latent(-X), X[:, falling.feature_])


def test_importance_belongs_to_the_feature_that_decides():
    X, y = ordinal_data()
    model = ORStump().fit(X, y)
    assert np.flatnonzero(model.feature_importances_).tolist() == [model.feature_]
    constant = ORStump().fit(np.ones((4, 2)), [1, 2, 2, 3])
    assert not constant.feature_importances_.any()
    assert constant.predict([[1.0, 1.0]]).tolist() == [2]


def test_bins_lose_little():
    X, y = ordinal_data(n=2000)
    exact, binned = ORStump().fit(X, y), ORStump(max_bins=64).fit(X, y)
    assert exact.training_cost_ <= binned.training_cost_ <= exact.training_cost_ + 0.02
    with pytest.raises(ValueError, match="max_bins"):
        ORStump(max_bins=1000).fit(X, y)


def test_a_cost_that_is_not_v_shaped_is_refused():
    X, y = ordinal_data()
    with pytest.raises(ValueError, match="V-shaped"):
        ORStump(cost=[[0, 2, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]).fit(X, y)
