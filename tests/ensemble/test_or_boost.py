"""ORBoost: thresholded ensembles of perceptrons, sigmoids and stumps."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from support.data import ordinal_data

from echelon import ORBoost
from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.pairs.exponential import ExponentialPairLoss

VARIANTS = ("all", "left_right", "pairs")
BASES = ("perceptron", "sigmoid", "stump")


def rings(n=300, seed=0):
    """Four levels by the distance from the origin, which no single plane can tell."""
    X = np.random.default_rng(seed).normal(size=(n, 2))
    radius = np.hypot(*X.T)
    return X, np.searchsorted(np.quantile(radius, [0.25, 0.5, 0.75]), radius)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("base", BASES)
def test_learns_what_one_plane_cannot(variant, base):
    X, y = rings()
    test_X, test_y = rings(1000, seed=1)
    model = ORBoost(150, variant=variant, base=base, random_state=0).fit(X, y)
    assert -model.score(test_X, test_y) < 0.3
    assert (np.diff(model.loss_) <= 1e-12 * model.loss_[0]).all()
    assert (model.estimator_weights_ > 0).all()
    assert len(model.estimators_) == len(model.estimator_weights_) == len(model.loss_)


def plain_loss(model, X, y, weights, W):
    Z = np.where(y[:, None] > np.arange(W.shape[1]), 1.0, -1.0)
    terms = W[y] * np.exp(-Z * (model.predict_latent(X)[:, None] - model.thresholds_))
    return (weights[:, None] * np.where(W[y] > 0, terms, 0.0)).sum() / weights.sum()


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
def test_loss_is_the_mean_of_the_threshold_loss_and_bounds_the_cost(cost, rng):
    X, y = ordinal_data()
    weights = rng.random(len(y))
    model = ORBoost(40, cost=cost, random_state=0).fit(X, y, sample_weight=weights)
    W = threshold_weights(cost_matrix(cost, 4))
    assert model.loss_[-1] == pytest.approx(plain_loss(model, X, y, weights, W))
    assert -model.score(X, y, sample_weight=weights) <= model.loss_[-1]


def test_loss_of_pairs_is_their_mean_and_thresholds_cost_least():
    X, y = ordinal_data()
    model = ORBoost(40, variant="pairs", random_state=0).fit(X, y)
    scores = model.predict_latent(X)
    loss = ExponentialPairLoss(y, 4)
    assert model.loss_[-1] == pytest.approx(np.exp(loss.at(scores).log_loss) / loss.total)
    paid = -model.score(X, y)
    for k in range(3):
        for cut in np.unique(scores):
            b = model.thresholds_.copy()
            b[k] = cut
            b = np.sort(b)
            assert np.abs((scores[:, None] > b).sum(axis=1) - y).mean() >= paid - 1e-12


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("base", BASES)
def test_stages_end_in_the_model(variant, base):
    X, y = ordinal_data()
    model = ORBoost(30, variant=variant, base=base, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    scores = list(model.staged_score(X, y))
    assert len(stages) == len(scores) == len(model.estimators_)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    assert scores[-1] == pytest.approx(model.score(X, y))
    # Fewer rounds are the beginning of more rounds.
    short = clone(model).set_params(n_estimators=10).fit(X, y)
    np.testing.assert_array_equal(short.predict(X), stages[9])


@pytest.mark.parametrize("base", BASES)
def test_two_classes_are_boosting_with_a_free_threshold(base):
    X, y = rings()
    y = (y > 1).astype(int)
    model = ORBoost(100, base=base, random_state=0).fit(X, y)
    ours = (model.predict(X) == y).mean()
    assert ours >= AdaBoostClassifier(n_estimators=100).fit(X, y).score(X, y) - 0.02
    assert model.decision_function(X).shape == (len(X),)


def test_each_round_of_stumps_is_the_best_one():
    X, y = ordinal_data(n=40, d=2)
    Z = np.where(y[:, None] > np.arange(3), 1.0, -1.0)
    for t in range(1, 6):
        before, after = (ORBoost(rounds, base="stump").fit(X, y) for rounds in (t, t + 1))
        margins = before.decision_function(X)
        u = (Z * np.exp(-Z * margins)).sum(axis=1)
        every = [abs(u @ np.where(X[:, j] > cut, 1.0, -1.0)) for j in (0, 1) for cut in X[:, j]]
        assert u @ after.estimators_[t].predict(X) == pytest.approx(max(every))


def test_stumps_accept_missing_values():
    X, y = rings()
    X[::7, 0] = np.nan
    model = ORBoost(100, base="stump", max_bins=32).fit(X, y)
    assert -model.score(X, y) < 0.3
    with pytest.raises(ValueError, match="NaN"):
        ORBoost(10).fit(X, y)


def test_stumps_do_not_depend_on_threads():
    X, y = rings()
    one, two = (ORBoost(30, base="stump", n_jobs=n).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))


@pytest.mark.parametrize("variant", ["all", "pairs"])
def test_costs_per_row_equal_a_matrix_of_the_same_costs(variant):
    X, y = ordinal_data()
    cost = cost_matrix("squared", 4)
    by_matrix = ORBoost(30, variant=variant, cost="squared", random_state=0).fit(X, y)
    by_row = ORBoost(30, variant=variant, random_state=0).fit(X, y, sample_cost=cost[y])
    np.testing.assert_allclose(by_row.decision_function(X), by_matrix.decision_function(X))
    np.testing.assert_allclose(by_row.predict_proba(X), by_matrix.predict_proba(X), atol=1e-9)


def test_costly_mistakes_are_avoided():
    X, y = ordinal_data(noise=2.0)
    cost = cost_matrix("absolute", 4)
    cost[np.tril_indices(4)] *= 20.0
    low = ORBoost(30, cost=cost, random_state=0).fit(X, y).predict(X)
    plain = ORBoost(30, random_state=0).fit(X, y).predict(X)
    assert (low < y).sum() < (plain < y).sum()
    assert (low > y).sum() > (plain > y).sum()


def test_a_small_learning_rate_takes_smaller_steps():
    X, y = rings()
    fast, slow = (ORBoost(20, learning_rate=r, random_state=0).fit(X, y) for r in (1.0, 0.1))
    assert slow.estimator_weights_[0] == pytest.approx(0.1 * fast.estimator_weights_[0])
    assert slow.loss_[-1] > fast.loss_[-1]


def test_early_stopping_keeps_the_best_round():
    X, y = ordinal_data(n=300, noise=2.0)
    model = ORBoost(
        500, n_iter_no_change=10, validation_fraction=0.3, base="stump", random_state=0
    ).fit(X, y)
    best = int(np.argmin(model.validation_costs_))
    assert len(model.estimators_) == best + 1
    assert len(model.validation_costs_) == best + 11 < 500
    early = clone(model).set_params(n_iter_no_change=10, tol=10.0).fit(X, y)
    assert len(early.estimators_) == 1
    model.set_params(n_iter_no_change=None, n_estimators=5).fit(X, y)
    assert not hasattr(model, "validation_costs_")


def test_early_stopping_with_a_class_of_one_row():
    X, y = ordinal_data()
    y[y == 3] = 2
    y[0] = 3
    model = ORBoost(20, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("variant", VARIANTS)
def test_probabilities_are_near_the_truth(variant):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 2))
    true = 1.0 / (1.0 + np.exp(np.array([-1.0, 0.5]) - 1.5 * X[:, :1]))
    y = (rng.random((4000, 1)) < true).sum(axis=1)
    y = np.array([0, 1, 2])[y]
    model = ORBoost(25, variant=variant, base="sigmoid", random_state=0).fit(X, y)
    P = model.predict_proba(X)
    shares = np.bincount(y, minlength=3) / len(y)
    np.testing.assert_allclose(P.mean(axis=0), shares, atol=0.06)
    sure = P.max(axis=1) > 0.8
    assert (P.argmax(axis=1) == y)[sure].mean() > 0.7


@pytest.mark.parametrize("base", BASES)
def test_importances_find_the_inputs_that_matter(base):
    X, y = ordinal_data(n=300, d=2, noise=0.2)
    X = np.column_stack([X * [1.0, 1e-3], np.random.default_rng(1).normal(size=(300, 2))])
    shares = ORBoost(40, base=base, random_state=0).fit(X, y).feature_importances_
    assert shares.sum() == pytest.approx(1.0)
    assert shares[0] > shares[1] > shares[2:].max()


def test_constant_inputs_leave_thresholds_alone():
    y = np.array([0, 1, 1, 2])
    model = ORBoost(10, random_state=0).fit(np.ones((4, 2)), y)
    assert model.estimators_ == []
    assert model.predict(np.ones((2, 2))).tolist() == [1, 1]
    assert not model.feature_importances_.any()
    assert list(model.staged_predict(np.ones((2, 2)))) == []


def test_a_cost_of_nothing_is_no_error():
    X, y = ordinal_data()
    model = ORBoost(5, cost=np.zeros((4, 4))).fit(X, y)
    assert model.score(X, y) == 0.0


def test_progress_is_printed(capsys):
    X, y = ordinal_data()
    ORBoost(20, verbose=1, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[0].startswith("ORBoost: round 2 of 20, loss ")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"variant": "some"}, "variant must be 'all', 'left_right' or 'pairs'; found 'some'"),
        ({"base": "tree"}, "base must be 'perceptron', 'sigmoid' or 'stump'; found 'tree'"),
        ({"learning_rate": 1.5}, "learning_rate must be at most 1; found 1.5"),
        ({"learning_rate": 0}, "learning_rate must be a positive number; found 0"),
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1; found 0"),
        ({"search_steps": 0.5}, "search_steps must be an integer of at least 1; found 0.5"),
        ({"max_bins": 1}, "max_bins must be None or an integer from 2 to 255; found 1"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be an integer of at least 1; found 0"),
        ({"cost": "cubic"}, "cost must be 'absolute'"),
    ],
)
def test_bad_parameters_get_a_sentence(params, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        ORBoost(**params).fit(X, y)


def test_left_right_knows_no_costs_per_row():
    X, y = ordinal_data()
    with pytest.raises(ValueError, match="sample_cost must be None with variant='left_right'"):
        ORBoost(variant="left_right").fit(X, y, sample_cost=cost_matrix("absolute", 4)[y])
