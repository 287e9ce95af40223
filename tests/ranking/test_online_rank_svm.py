"""OnlineRankSVM: near the optimum of the machine it approaches, and fit for streams."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from sklearn.base import clone
from support.listed_pairs import differences, ranking_data

from echelon.pairs import PairSet
from echelon.ranking.linear_rank_svm import LinearRankSVM
from echelon.ranking.online_rank_svm import OnlineRankSVM
from echelon.solvers.ranking.online import DescentState, PairSteps, descend


def objective(model, X, pairs, coef):
    D, weights = differences(X, pairs)
    short = np.maximum(0.0, 1.0 - D @ coef)
    loss = short if model.loss == "hinge" else short**2
    return 0.5 * model.alpha * coef @ coef + np.average(loss, weights=weights)


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
@pytest.mark.parametrize("alpha", [1.0, 1e-2, 1e-4])
def test_fit_comes_near_the_optimum(loss, alpha):
    X, y, qid = ranking_data(n=80)
    X = X * [1.0, 3.0, 0.3]
    weights = np.random.default_rng(0).integers(0, 3, 80).astype(float)
    pairs = PairSet.from_labels(y, qid, weights) + PairSet.from_pairs([[0, 1]], 80, [50.0])
    model = OnlineRankSVM(alpha, loss=loss, n_epochs=100, random_state=0)
    model.fit(X, y, qid=qid, sample_weight=weights, pairs=[[0, 1]], pair_weight=[50.0])
    assert model.objective_ == pytest.approx(objective(model, X, pairs, model.coef_))
    best = min(
        minimize(lambda w: objective(model, X, pairs, w), start, method="Nelder-Mead").fun
        for start in (np.zeros(3), model.coef_)
    )
    assert best <= model.objective_ <= 1.03 * best


def test_alpha_is_the_machines_c():
    X, y, qid = ranking_data(n=100)
    exact = LinearRankSVM(0.5, tol=1e-10).fit(X, y, qid=qid)
    # Every row of these queries is in some pair.
    online = OnlineRankSVM(1 / (0.5 * 100), loss="squared_hinge", n_epochs=300, random_state=0)
    online.fit(X, y, qid=qid)
    np.testing.assert_allclose(online.coef_, exact.coef_, rtol=0.05, atol=0.02)


def test_rows_one_by_one_meet_the_buffer(rng):
    X, y, _ = ranking_data(n=600, noise=0.3)
    pairs = PairSet.from_labels(y)
    model = OnlineRankSVM(1e-3, buffer_size=50, random_state=0)
    for row in range(len(y)):
        model.partial_fit(X[[row]], y[[row]])
    assert len(model._buffer) == 50
    D, _ = differences(X, pairs)
    ranked = (D @ model.coef_ > 0).mean()
    best = LinearRankSVM().fit(X, y)
    assert ranked > (D @ best.coef_ > 0).mean() - 0.02
    blind = OnlineRankSVM(1e-3, buffer_size=0, random_state=0)
    for row in range(10):
        blind.partial_fit(X[[row]], y[[row]])
    assert blind.n_steps_ == 0


def test_the_buffer_is_a_uniform_sample():
    counts = np.zeros(40)
    for seed in range(100):
        model = OnlineRankSVM(buffer_size=8, random_state=seed)
        for start in range(0, 40, 5):
            rows = np.arange(start, start + 5, dtype=float)
            model.partial_fit(rows[:, None], np.arange(5) % 2)
        counts[model._buffer.X[:, 0].astype(int)] += 1
    expected = 100 * 8 / 40
    assert (np.abs(counts - expected) < 4.5 * np.sqrt(expected)).all()


def test_rows_are_compared_within_their_query_only():
    # Within each query the input rises with the label, between the queries it falls.
    X = np.array([[10.0], [11.0], [0.0], [1.0]])
    y, qid = np.array([0, 1, 2, 3]), np.array(["a", "a", "b", "b"])
    model = OnlineRankSVM(0.1, random_state=0)
    for _ in range(30):
        for row in range(4):
            model.partial_fit(X[[row]], y[[row]], qid=qid[[row]])
    assert model.coef_[0] > 0
    mixed = OnlineRankSVM(0.1, random_state=0)
    for _ in range(30):
        for row in range(4):
            mixed.partial_fit(X[[row]], y[[row]])
    assert mixed.coef_[0] < 0


def test_stated_pairs_arrive_too():
    X, y, _ = ranking_data(n=100, noise=0.0)
    model = OnlineRankSVM(1e-3, random_state=0)
    pairs = np.array([[i, i + 1] if y[i] > y[i + 1] else [i + 1, i] for i in range(99)])
    for _ in range(20):
        for start in range(0, 98, 2):
            model.partial_fit(X[start : start + 2], pairs=pairs[[start]] - start)
    assert model.score(X, y) > 0.95
    with_labels = OnlineRankSVM(random_state=0).partial_fit(X[:10], y[:10])
    with_labels.partial_fit(X[10:20], y[10:20], pairs=[[0, 9]], pair_weight=[1000.0])
    assert with_labels.coef_ @ (X[10] - X[19]) > 0


def test_sparse_order_and_weights_do_not_matter(rng):
    X, y, qid = ranking_data()
    counts = rng.integers(0, 4, len(y))
    model = OnlineRankSVM(random_state=3)
    weighted = clone(model).fit(X, y, qid=qid, sample_weight=counts)
    order = rng.permutation(np.repeat(np.arange(len(y)), counts))
    copies = clone(model).fit(X[order], y[order], qid=qid[order])
    np.testing.assert_allclose(weighted.coef_, copies.coef_)
    sparse = clone(model).fit(sp.csr_array(X), y, qid=qid, sample_weight=counts)
    np.testing.assert_allclose(weighted.coef_, sparse.coef_)
    streams = [clone(model), clone(model)]
    for start in range(0, 60, 20):
        part = slice(start, start + 20)
        streams[0].partial_fit(X[part], y[part], qid=qid[part])
        streams[1].partial_fit(sp.csr_array(X[part]), y[part], qid=qid[part])
    np.testing.assert_allclose(streams[0].coef_, streams[1].coef_)


def test_streams_go_on_after_a_pickle_and_after_fit():
    X, y, qid = ranking_data()
    model = OnlineRankSVM(random_state=0).fit(X, y, qid=qid)
    steps = model.n_steps_
    again = pickle.loads(pickle.dumps(model))
    for stream in (model, again):
        stream.partial_fit(X, y, qid=qid)
    np.testing.assert_array_equal(model.coef_, again.coef_)
    assert model.n_steps_ > steps
    assert not hasattr(model, "objective_")


@pytest.mark.parametrize("learning_rate", ["inverse_sqrt", "constant"])
def test_other_rates(learning_rate):
    X, y, qid = ranking_data(n=200)
    slow = OnlineRankSVM(learning_rate=learning_rate, initial_rate=1e-6, random_state=0)
    good = OnlineRankSVM(learning_rate=learning_rate, averaged=False, random_state=0)
    assert good.fit(X, y, qid=qid).objective_ < slow.fit(X, y, qid=qid).objective_


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha must be a positive number"),
        ({"loss": "logistic"}, "loss must be 'hinge' or 'squared_hinge'; found 'logistic'"),
        ({"learning_rate": "fast"}, "learning_rate must be 'optimal'"),
        ({"initial_rate": -1.0}, "initial_rate must be a positive number"),
        ({"batch_size": 0}, "batch_size must be an integer of at least 1"),
        ({"pairs_per_row": 0}, "pairs_per_row must be an integer"),
        ({"n_epochs": 0}, "n_epochs must be an integer"),
        ({"buffer_size": -1}, "buffer_size must be an integer of at least 0"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y, _ = ranking_data()
    with pytest.raises(ValueError, match=message):
        OnlineRankSVM(**parameters).fit(X, y)
    with pytest.raises(ValueError, match=message):
        OnlineRankSVM(**parameters).partial_fit(X, y)


def test_rows_that_pair_with_nothing_new_make_no_step():
    X, y = np.arange(6.0)[:, None], np.arange(6)
    model = OnlineRankSVM(random_state=0).partial_fit(X, y, qid=np.zeros(6))
    steps = model.n_steps_
    assert model.partial_fit([[1.0]], [1], qid=[1]).n_steps_ == steps > 0


@pytest.mark.parametrize(
    ("schedule", "expected"),
    [("optimal", 1 / (0.01 * 9 + 2.0)), ("inverse_sqrt", 0.5 / 3), ("constant", 0.5)],
)
def test_rates_are_those_of_the_documentation(schedule, expected):
    steps = PairSteps(0.01, "hinge", 1, schedule, 0.5)
    assert steps.rate(9, 7.0) == pytest.approx(expected)


def test_weights_are_averaged_by_the_number_of_the_step(rng):
    X = rng.normal(size=(20, 3))
    steps = PairSteps(0.1, "hinge", 1, "optimal", None)
    state, seen = DescentState.fresh(3), []
    for row in range(0, 20, 2):
        state = descend(X, np.array([row]), np.array([row + 1]), state, steps)
        seen.append(state.coef)
    t = np.arange(1, 11)
    np.testing.assert_allclose(state.average, t @ np.array(seen) / t.sum())


def test_a_long_pair_after_short_ones_is_not_overshot():
    X = np.array([[1.0], [0.0], [-100.0]])
    steps = PairSteps(1e-4, "squared_hinge", 1, "optimal", None)
    state = descend(X, np.array([0] * 20 + [2]), np.array([1] * 21), DescentState.fresh(1), steps)
    assert 0.9 < -100.0 * state.coef[0] <= 1.0
