import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from support.data import ordinal_data
from support.rank_svm import least_objective, objective

from echelon import LinearRankSVM
from echelon.pairs.pair_set import PairSet

LOSSES = ("squared_hinge", "hinge")


def queries(n, size, seed=0):
    """A query for each row, in no order."""
    return np.random.default_rng(seed).permutation(n) // size


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e3])
def test_the_certificate_is_true(loss, C):
    X, y = ordinal_data(n=100)
    model = LinearRankSVM(C, loss=loss).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.duality_gap_ <= 1e-6 * model.objective_
    pairs = PairSet.from_labels(y)
    weight = C * 100 / pairs.total_weight
    w = model.coef_
    own = objective(X @ w, 0.5 * w @ w, pairs, weight, loss == "squared_hinge")
    assert model.objective_ == pytest.approx(own)
    exact = LinearRankSVM(C, loss=loss, tol=1e-9).fit(X, y)
    assert model.objective_ - exact.objective_ <= model.duality_gap_
    assert 0.5 * np.sum((w - exact.coef_) ** 2) <= model.duality_gap_ + exact.duality_gap_


@pytest.mark.parametrize("loss", LOSSES)
def test_the_sum_over_pairs_is_the_problem_of_the_book(loss):
    X, y = ordinal_data(n=18, K=3)
    model = LinearRankSVM(0.1, loss=loss, normalize=False, tol=1e-8).fit(X, y)
    best = least_objective(X @ X.T, PairSet.from_labels(y), 0.1, loss == "squared_hinge")
    assert model.objective_ == pytest.approx(best, rel=1e-6)


def test_normalized_c_does_not_depend_on_the_number_of_pairs():
    X, y = ordinal_data(n=60)
    once = LinearRankSVM(tol=1e-10).fit(X, y)
    # Twice the rows: four times the pairs, and twice the loss.
    twice = LinearRankSVM(0.5, tol=1e-10).fit(np.r_[X, X], np.r_[y, y])
    np.testing.assert_allclose(twice.coef_, once.coef_, atol=1e-5)
    pairs = PairSet.from_labels(y)
    plain = LinearRankSVM(60 / pairs.total_weight, normalize=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(plain.coef_, once.coef_, atol=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("qid", [None, queries(80, 7)])
def test_all_pairs_stated_are_labels(loss, qid):
    X, y = ordinal_data(n=80)
    weights = np.random.default_rng(0).choice([0.5, 1.0, 3.0], size=80)
    settings = {"loss": loss, "normalize": False, "tol": 1e-10, "C": 0.01}
    labels = LinearRankSVM(**settings).fit(X, y, qid=qid, sample_weight=weights)
    winners, losers = np.nonzero(y[:, None] > y)
    if qid is not None:
        same = qid[winners] == qid[losers]
        winners, losers = winners[same], losers[same]
    pairs, pair_weight = np.c_[winners, losers], weights[winners] * weights[losers]
    stated = LinearRankSVM(**settings).fit(X, pairs=pairs, pair_weight=pair_weight)
    np.testing.assert_allclose(stated.coef_, labels.coef_, atol=1e-5)
    half = np.arange(len(pairs)) % 2 == 0
    given = PairSet.from_pairs(pairs[half], 80, pair_weight[half])
    rest = PairSet.from_pairs(pairs[~half], 80, pair_weight[~half])
    united = LinearRankSVM(**settings).fit(X, pairs=given + rest)
    np.testing.assert_allclose(united.coef_, labels.coef_, atol=1e-5)


def test_labels_and_stated_pairs_together():
    X, y = ordinal_data(n=30, K=2)
    stated = np.array([[0, 1], [5, 9], [5, 9]])
    both = LinearRankSVM(0.1, normalize=False, tol=1e-10).fit(X, y, pairs=stated)
    pairs = PairSet.from_labels(y) + PairSet.from_pairs(stated, 30)
    assert both.objective_ == pytest.approx(least_objective(X @ X.T, pairs, 0.1, True))
    assert not np.allclose(both.coef_, LinearRankSVM(0.1, normalize=False).fit(X, y).coef_)


@pytest.mark.parametrize("loss", LOSSES)
def test_whole_weights_are_repeated_rows(loss):
    X, y = ordinal_data(n=60)
    weights = np.random.default_rng(0).integers(0, 4, size=60)
    qid = queries(60, 20)
    rows = np.repeat(np.arange(60), weights)
    for weighting in ("pairs", "queries"):
        settings = {"loss": loss, "query_weighting": weighting, "tol": 1e-10}
        weighted = LinearRankSVM(**settings).fit(X, y, qid=qid, sample_weight=weights)
        repeated = LinearRankSVM(**settings).fit(X[rows], y[rows], qid=qid[rows])
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-5)


@pytest.mark.parametrize("kind", [str, int, lambda q: ("query", int(q))])
def test_the_order_of_rows_and_the_names_of_queries_do_not_matter(kind):
    X, y = ordinal_data(n=90)
    qid = np.repeat(np.arange(9), 10)
    plain = LinearRankSVM(tol=1e-10).fit(X, y, qid=qid)
    order = np.random.default_rng(3).permutation(90)
    names = [kind(q) for q in qid[order]]
    shuffled = LinearRankSVM(tol=1e-10).fit(X[order], y[order], qid=names)
    np.testing.assert_allclose(shuffled.coef_, plain.coef_, atol=1e-5)
    assert not np.allclose(plain.coef_, LinearRankSVM(tol=1e-10).fit(X, y).coef_, atol=1e-3)


def test_what_is_constant_within_queries_has_no_say():
    X, y = ordinal_data(n=60)
    qid = np.repeat(np.arange(6), 10)
    level = np.random.default_rng(0).normal(size=6)[qid]
    model = LinearRankSVM(tol=1e-10).fit(np.c_[X, level], y + 10 * qid, qid=qid)
    plain = LinearRankSVM(tol=1e-10).fit(X, y, qid=qid)
    np.testing.assert_allclose(model.coef_, [*plain.coef_, 0.0], atol=1e-5)


def test_queries_can_count_alike():
    X, y = ordinal_data(n=66)
    qid = np.array([0] * 60 + [1] * 6)
    alike = LinearRankSVM(query_weighting="queries", normalize=False, tol=1e-10).fit(X, y, qid=qid)
    masses = [PairSet.from_labels(y[qid == q]).total_weight for q in (0, 1)]
    pairs = PairSet.from_labels(y, qid, query_scales=1.0 / np.array(masses))
    w = alike.coef_
    assert alike.objective_ == pytest.approx(objective(X @ w, 0.5 * w @ w, pairs, 1.0, True))
    assert pairs.total_weight == pytest.approx(2.0)
    with pytest.raises(ValueError, match="query_weighting='queries' needs labels y"):
        LinearRankSVM(query_weighting="queries").fit(X, pairs=[[0, 1]])


@pytest.mark.parametrize("loss", LOSSES)
def test_sparse_is_dense(loss):
    X, y = ordinal_data(n=90, d=6)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = LinearRankSVM(loss=loss, tol=1e-10).fit(X, y)
    for make in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        sparse = LinearRankSVM(loss=loss, tol=1e-10).fit(make(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
        np.testing.assert_allclose(sparse.predict(make(X)), dense.predict(X), atol=1e-4)


def test_a_large_sparse_matrix_stays_sparse():
    rng = np.random.default_rng(0)
    # Filled up it would need 16 gigabytes.
    place = rng.integers(0, 200_000, size=100_000)
    X = sp.csr_array((np.ones(100_000), place, np.arange(0, 100_001, 10)), shape=(10_000, 200_000))
    model = LinearRankSVM().fit(X, rng.integers(0, 3, size=10_000))
    assert model.converged_


def test_many_rows_start_from_drawn_pairs():
    X, y = ordinal_data(n=9_000, d=4)
    many = LinearRankSVM(tol=1e-9).fit(X, y)
    rows = sp.csr_array(X)
    np.testing.assert_allclose(LinearRankSVM(tol=1e-9).fit(rows, y).coef_, many.coef_, atol=1e-5)
    few = LinearRankSVM(tol=1e-9, warm_start=True)
    few.coef_ = np.full(4, 0.1)
    np.testing.assert_allclose(few.fit(X, y).coef_, many.coef_, atol=1e-5)
    assert many.n_iter_ < few.n_iter_


@pytest.mark.parametrize("loss", LOSSES)
def test_units_of_inputs_matter_to_the_penalty_only(loss):
    X, y = ordinal_data(n=120)
    factors = np.array([1e-3, 1.0, 1e4])
    shifted = X * factors + np.array([0.0, 1e3, -1e6])
    model = LinearRankSVM(loss=loss, tol=1e-6).fit(shifted, y)
    assert model.converged_
    # With a negligible penalty the scores are those of any units.
    free = LinearRankSVM(1e9, loss=loss).fit(shifted, y)
    plain = LinearRankSVM(1e9, loss=loss).fit(X, y)
    np.testing.assert_allclose(free.coef_ * factors, plain.coef_, rtol=0.01)


def test_warm_start_takes_fewer_steps():
    X, y = ordinal_data(n=200)
    model = LinearRankSVM(warm_start=True).fit(X, y)
    cold = LinearRankSVM(1.1).fit(X, y)
    warm = model.set_params(C=1.1).fit(X, y)
    assert warm.n_iter_ < cold.n_iter_
    np.testing.assert_allclose(warm.coef_, cold.coef_, atol=1e-3)
    other = model.fit(X[:, :2], y)
    np.testing.assert_allclose(other.coef_, LinearRankSVM(1.1).fit(X[:, :2], y).coef_, atol=1e-3)


def test_ranks_and_explanations():
    X, y = ordinal_data(n=80)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = LinearRankSVM().fit(frame, y)
    np.testing.assert_array_equal(model.rank(frame), np.argsort(-model.predict(frame)))
    best, worst = model.rank(frame)[[0, -1]]
    told = model.explain_pair(X[best], X[worst])
    parts = {term.name: term.contribution for term in told.terms}
    assert set(parts) == {"a", "b", "c"}
    assert sum(parts.values()) == pytest.approx(told.difference)
    assert parts["a"] == pytest.approx(model.coef_[0] * (X[best, 0] - X[worst, 0]))


def test_too_few_steps_warn_with_the_gap():
    X, y = ordinal_data()
    with pytest.warns(
        ConvergenceWarning, match=r"LinearRankSVM stopped after 2 steps .* tol=1e-06"
    ):
        model = LinearRankSVM(loss="hinge", max_iter=2).fit(X, y)
    assert not model.converged_
    best = LinearRankSVM(loss="hinge").fit(X, y)
    assert 0.0 < model.objective_ - best.objective_ <= model.duality_gap_


def test_verbose_prints_the_steps(capsys):
    X, y = ordinal_data()
    model = LinearRankSVM(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1
    assert lines[0].startswith("LinearRankSVM step 0: objective ")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "C must be a positive number; found 0.0"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; found 0"),
        ({"loss": "log"}, "loss must be 'hinge' or 'squared_hinge'; found 'log'"),
        ({"query_weighting": "q"}, "query_weighting must be 'pairs' or 'queries'; found 'q'"),
    ],
)
def test_bad_parameters(params, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        LinearRankSVM(**params).fit(X, y)


X3, Y3 = np.arange(6.0).reshape(3, 2), np.array([0, 1, 2])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": X3 * np.nan, "y": Y3}, "NaN"),
        ({"X": np.where(X3 > 3, np.inf, X3), "y": Y3}, "infinity"),
        ({"X": X3, "y": Y3 * 0}, "no pair to rank among 3 samples"),
        ({"X": X3[:1], "y": Y3[:1]}, "no pair to rank among 1 sample"),
        ({"X": X3, "y": Y3, "qid": [0, 1, 2]}, "no pair to rank"),
        ({"X": X3, "y": Y3[:2]}, "inconsistent numbers of samples"),
        ({"X": X3, "y": Y3, "qid": [0, 1]}, "qid"),
        ({"X": X3, "pairs": [[0, 3]]}, "pairs must name rows 0 to 2; found 0 to 3"),
        ({"X": X3, "y": Y3, "pair_weight": [1.0]}, "pair_weight needs pairs"),
        ({"X": X3, "y": Y3, "sample_weight": [1.0, -1.0, 1.0]}, "must not be negative"),
    ],
)
def test_bad_data(arguments, message):
    model = LinearRankSVM()
    with pytest.raises(ValueError, match=message):
        model.fit(**arguments)
    assert not hasattr(model, "coef_")
