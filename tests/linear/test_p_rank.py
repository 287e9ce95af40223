"""PRank as an estimator: fits by chance and online, weights, costs, levels without rows."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from support.data import ascending, ordinal_data

from echelon.linear.prank import PRank


def fit(X, y, n_epochs=30, random_state=0, sample_weight=None, sample_cost=None, **params):
    model = PRank(n_epochs, random_state=random_state, **params)
    return model.fit(X, y, sample_weight=sample_weight, sample_cost=sample_cost)


def repeated_passes(model, X, y, times, **params):
    for _ in range(times):
        model.partial_fit(X, y, **params)
    return model


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
@pytest.mark.parametrize("averaged", [True, False])
@pytest.mark.parametrize("pocket", [True, False])
def test_training_cost_is_that_of_the_predictions(rng, cost, averaged, pocket):
    X, y = ordinal_data(noise=1.5)
    weights = rng.random(len(y))
    model = fit(X, y, sample_weight=weights, cost=cost, averaged=averaged, pocket=pocket)
    assert model.training_cost_ == pytest.approx(-model.score(X, y, sample_weight=weights))
    assert ascending(model.thresholds_)
    assert model.n_iter_ == 30


def test_integer_inputs_where_scores_meet_thresholds(rng):
    X = rng.integers(0, 3, size=(80, 3))
    y = np.clip(X.sum(axis=1) - 1 + rng.integers(-1, 2, size=80), 0, 4)
    model = fit(X, y)
    assert model.training_cost_ == pytest.approx(-model.score(X, y))


def test_no_fit_is_worse_than_the_best_constant_label(rng):
    X, y = rng.normal(size=(40, 1)), rng.integers(0, 3, size=40)
    y[:25] = 0
    for seed in range(5):
        model = fit(X, y, n_epochs=1, random_state=seed)
        assert model.training_cost_ <= min(np.abs(y - k).mean() for k in range(3))


def test_pocket_beats_the_last_weights_where_classes_overlap():
    X, y = ordinal_data(noise=2.0)
    kept, last = (fit(X, y, n_epochs=100, pocket=p).training_cost_ for p in (True, False))
    assert kept < last


def test_averages_have_fractions_and_plain_thresholds_do_not():
    X, y = ordinal_data()
    assert (fit(X, y, averaged=False).thresholds_ % 1 == 0).all()
    assert (fit(X, y, averaged=True).thresholds_ % 1 != 0).any()


def test_the_random_state_decides():
    X, y = ordinal_data(noise=2.0)
    first, same, other = (fit(X, y, random_state=s).coef_ for s in (0, 0, 1))
    np.testing.assert_array_equal(first, same)
    assert (first != other).any()
    stream = np.random.RandomState(3)
    assert (fit(X, y, random_state=stream).coef_ != fit(X, y, random_state=stream).coef_).any()


def test_rows_without_weight_are_never_seen():
    X, y = ordinal_data()
    weights = np.ones(len(y))
    weights[::3] = 0.0
    spoilt = X.copy()
    spoilt[::3] = 1e6
    expected, model = fit(X, y, sample_weight=weights), fit(spoilt, y, sample_weight=weights)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    left_out = fit(X[weights > 0], y[weights > 0])
    np.testing.assert_array_equal(model.coef_, left_out.coef_)
    assert model.training_cost_ == left_out.training_cost_


def test_sample_costs_of_a_matrix_are_the_matrix(rng):
    X, y = ordinal_data()
    squared = (y[:, None] - np.arange(4.0)) ** 2
    expected, model = fit(X, y, cost="squared"), fit(X, y, sample_cost=squared)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.training_cost_ == pytest.approx(expected.training_cost_)


def test_sample_costs_count_as_weights_of_rows(rng):
    X, y = ordinal_data()
    factors = rng.integers(1, 5, size=len(y)).astype(float)
    by_cost = fit(X, y, sample_cost=factors[:, None] * np.abs(y[:, None] - np.arange(4.0)))
    by_weight = fit(X, y, sample_weight=factors)
    np.testing.assert_array_equal(by_cost.coef_, by_weight.coef_)


def test_costs_on_one_side_push_the_labels_there():
    X, y = ordinal_data(noise=2.0)
    away = np.arange(4.0) - y[:, None]
    costs = np.where(away < 0, -20.0 * away, away)
    costly_below = fit(X, y, n_epochs=200, sample_cost=costs).predict(X)
    assert costly_below.mean() > fit(X, y, n_epochs=200).predict(X).mean() + 0.3


def test_no_cost_at_all_is_a_constant_label():
    X, y = ordinal_data(K=3)
    model = fit(X, y, sample_cost=np.zeros((len(y), 3)))
    assert set(model.predict(X)) == {1}
    assert model.training_cost_ == 0.0
    assert model.coef_.tolist() == [0.0, 0.0, 0.0]
    model.partial_fit(X, y)
    assert model.n_mistakes_ > 0


@pytest.mark.parametrize("K", [2, 30])
def test_few_and_many_classes(K):
    X, y = ordinal_data(n=300, K=K, noise=0.1)
    model = fit(X, y, n_epochs=200)
    assert model.thresholds_.shape == (K - 1,)
    assert ascending(model.thresholds_)
    assert model.training_cost_ < 0.15 * K / 4


def test_levels_without_rows_keep_finite_thresholds_in_order():
    X, y = ordinal_data()
    model = fit(X, 2 * y, classes=list(range(-1, 9)))
    assert np.isfinite(model.thresholds_).all()
    assert ascending(model.thresholds_)
    # Levels 1, 3 and 5 lie between two seen ones: nothing tells their two thresholds apart.
    for level in (2, 4, 6):
        assert model.thresholds_[level - 1] == model.thresholds_[level]
    assert set(model.predict(X)) <= {0, 2, 4, 6}


def test_sparse_inputs_give_the_dense_model(rng):
    X, y = ordinal_data()
    X[rng.random(size=X.shape) < 0.4] = 0.0
    dense, sparse = fit(X, y), fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(dense.coef_, sparse.coef_)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csc_array(X)))
    online = [PRank().partial_fit(kind, y).coef_ for kind in (X, sp.csr_array(X))]
    np.testing.assert_array_equal(*online)


def test_class_weights_multiply_sample_weights():
    X, y = ordinal_data()
    by_class = fit(X, y, class_weight={0: 3})
    by_row = fit(X, y, sample_weight=np.where(y == 0, 3.0, 1.0))
    np.testing.assert_array_equal(by_class.coef_, by_row.coef_)
    assert by_class.training_cost_ == by_row.training_cost_


def test_verbose_prints_ten_lines(capsys):
    X, y = ordinal_data()
    model = fit(X, y, n_epochs=50, verbose=1)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 10
    assert lines[-1] == f"epoch 50: least training cost {model.training_cost_:.6g}"


@pytest.mark.parametrize("n_epochs", [0, -1, 2.5, None])
def test_epochs_are_counted(n_epochs):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match="n_epochs must be an integer of at least 1; found"):
        PRank(n_epochs).fit(X, y)


def test_costs_must_be_v_shaped():
    X, y = ordinal_data(K=3)
    with pytest.raises(ValueError, match="cost must be V-shaped"):
        PRank(cost=[[0, 2, 1], [1, 0, 1], [1, 2, 0]]).fit(X, y)
    with pytest.raises(ValueError, match="sample_cost must have shape"):
        PRank().fit(X, y, sample_cost=np.zeros((len(y), 2)))


@pytest.mark.parametrize("averaged", [True, False])
def test_batches_and_repeats_are_one_stream(rng, averaged):
    X, y = ordinal_data()
    repeats = rng.integers(0, 3, size=len(y))
    rows = np.repeat(np.arange(len(y)), repeats)
    whole = PRank(averaged=averaged).partial_fit(X[rows], y[rows], classes=[0, 1, 2, 3])
    parts = PRank(averaged=averaged)
    for part in np.array_split(np.arange(len(y)), 5):
        parts.partial_fit(X[part], y[part], classes=[0, 1, 2, 3], sample_weight=repeats[part])
    np.testing.assert_allclose(parts.coef_, whole.coef_, rtol=1e-12)
    np.testing.assert_array_equal(parts.thresholds_, whole.thresholds_)
    assert parts.n_mistakes_ == whole.n_mistakes_
    assert parts.cumulative_cost_ == whole.cumulative_cost_


def test_mistakes_are_those_of_the_answers_before_each_step():
    X, y = ordinal_data()
    model = PRank(averaged=False, cost="squared")
    mistakes, cost = 0, 0.0
    for x, label in zip(X, y, strict=True):
        if hasattr(model, "coef_"):
            answer = model.predict(x[None])[0]
        else:
            answer = 0 if label else 3  # zero scores are wrong on either side
            cost -= (label - answer) ** 2 - max(label, 3 - label) ** 2
        mistakes += answer != label
        cost += (label - answer) ** 2
        model.partial_fit(x[None], [label], classes=[0, 1, 2, 3])
    assert (model.n_mistakes_, model.cumulative_cost_) == (mistakes, cost)
    # Averaging changes what is predicted, not what is learnt.
    averaged = PRank(cost="squared").partial_fit(X, y, classes=[0, 1, 2, 3])
    assert (averaged.n_mistakes_, averaged.cumulative_cost_) == (mistakes, cost)


def test_online_learning_stops_on_separable_data(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    scores = X @ [2.0, -1.0]
    X, scores = X[np.abs(np.abs(scores) - 0.7) > 0.1], scores[np.abs(np.abs(scores) - 0.7) > 0.1]
    y = np.searchsorted([-0.7, 0.7], scores)
    model = repeated_passes(PRank(), X, y, 300)
    before = model.n_mistakes_
    assert repeated_passes(model, X, y, 2).n_mistakes_ == before
    assert model.score(X, y) == 0.0


@pytest.mark.parametrize("averaged", [True, False])
def test_online_goes_on_from_a_fit(averaged):
    X, y = ordinal_data(noise=1.5)
    model = fit(X, y, averaged=averaged)
    before = model.coef_.copy()
    model.partial_fit(X[:1], y[:1])
    assert not hasattr(model, "training_cost_")
    # One example moves a plain model by at most K − 1 times its row, an average by less.
    assert np.linalg.norm(model.coef_ - before) <= 3 * np.linalg.norm(X[0]) + 1e-12
    repeated_passes(model, X, y, 3)
    assert ascending(model.thresholds_)
    assert model.n_mistakes_ > 0
    model.fit(X, y)
    assert not hasattr(model, "n_mistakes_")
    np.testing.assert_array_equal(model.coef_, before)


def test_an_average_asked_for_later_starts_there():
    X, y = ordinal_data()
    model = repeated_passes(PRank(), X, y, 3)
    plain = model.coef_.copy()
    model.set_params(averaged=True).partial_fit(X[:1], y[:1])
    step = model.coef_ - plain
    assert np.linalg.norm(step) <= 3 * np.linalg.norm(X[0]) + 1e-12


def test_labels_of_the_first_batch_fix_the_scale():
    X, y = ordinal_data()
    words = pd.Series(pd.Categorical.from_codes(y, ["poor", "fair", "good", "great"], ordered=True))
    model = PRank().partial_fit(X[:5], words[:5])
    model.partial_fit(X[5:], words[5:])
    assert isinstance(model.predict(X), pd.Categorical)
    with pytest.raises(ValueError, match="labels outside the scale"):
        model.partial_fit(X, np.full(len(y), "awful"))
    with pytest.raises(ValueError, match="classes must be those of the first call"):
        model.partial_fit(X, words, classes=["poor", "fair"])
    with pytest.raises(ValueError, match=r"one class only, .*; give all labels as classes="):
        PRank().partial_fit(X[:1], [3])
    with pytest.raises(ValueError, match="requires y to be passed"):
        PRank().partial_fit(X, None)
    assert PRank(classes=[0, 1, 2, 3]).partial_fit(X[:1], y[:1]).thresholds_.shape == (3,)


def test_online_weights_are_whole_numbers():
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=r"must be whole numbers .* found 0\.5"):
        PRank().partial_fit(X, y, sample_weight=np.full(len(y), 0.5))
    with pytest.raises(ValueError, match=r"sum is at most 1e\+09 .* found a sum of .*e\+15"):
        PRank().partial_fit(X, y, sample_weight=np.where(np.arange(len(y)) == 0, 2**53, 1))
    with pytest.raises(ValueError, match="class_weight must be None or a dict for partial_fit"):
        PRank(class_weight="balanced").partial_fit(X, y)
    doubled = PRank(class_weight={3: 2}).partial_fit(X, y)
    weighted = PRank().partial_fit(X, y, sample_weight=np.where(y == 3, 2, 1))
    np.testing.assert_array_equal(doubled.coef_, weighted.coef_)


def test_rows_are_presented_in_order_across_blocks(monkeypatch, rng):
    X, y = ordinal_data()
    repeats = rng.integers(0, 5, size=len(y))
    whole = PRank().partial_fit(X, y, sample_weight=repeats)
    monkeypatch.setattr("echelon.solvers.linear.prank._BLOCK", 3)
    blocks = PRank().partial_fit(X, y, sample_weight=repeats)
    np.testing.assert_array_equal(blocks.coef_, whole.coef_)
    assert blocks.n_mistakes_ == whole.n_mistakes_


def test_a_batch_that_is_refused_changes_nothing():
    X, y = ordinal_data()
    model = PRank()
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(np.full((4, 3), np.nan), y[:4])
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.partial_fit(X, y)
    before = model.coef_.copy()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(X, y[:-1])
    with pytest.raises(ValueError, match="2 features"):
        model.partial_fit(X[:, :2], y)
    np.testing.assert_array_equal(model.coef_, before)
