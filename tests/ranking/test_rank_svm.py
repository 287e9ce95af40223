import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from support.data import ordinal_data
from support.rank_svm import least_objective, objective

from echelon import LinearRankSVM, RankSVM
from echelon.kernels import Gaussian, Pearson
from echelon.pairs.pair_set import PairSet

LOSSES = ("squared_hinge", "hinge")
SOLVERS = ("primal", "dual")


def curved_data(n=50, seed=0):
    """Rows whose rank falls with the distance from the middle."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, np.digitize(-np.hypot(*X.T) + 0.2 * rng.normal(size=n), [-1.5, -0.8])


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("settings", [*({"solver": s} for s in SOLVERS), {"n_components": 40}])
@pytest.mark.parametrize("C", [0.01, 10.0])
def test_the_linear_kernel_is_the_linear_machine(loss, settings, C):
    X, y = ordinal_data(n=40)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.5], size=40)
    qid = np.random.default_rng(1).integers(0, 2, size=40)
    data = {"y": y, "qid": qid, "sample_weight": weights}
    kernel = RankSVM(C, kernel="linear", loss=loss, tol=1e-9, **settings).fit(X, **data)
    linear = LinearRankSVM(C, loss=loss, tol=1e-9).fit(X, **data)
    assert kernel.objective_ == pytest.approx(linear.objective_, rel=1e-8)
    np.testing.assert_allclose(kernel.predict(X), linear.predict(X), atol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 100.0])
def test_the_certificate_is_true_in_primal_and_dual(loss, C):
    X, y = curved_data()
    pairs = PairSet.from_labels(y)
    gram = Gaussian(0.5).block(X)
    weight = C * len(y) / pairs.total_weight
    best = None
    for solver in SOLVERS:
        model = RankSVM(C, gamma=0.5, loss=loss, solver=solver).fit(X, y)
        assert model.converged_
        assert 0.0 <= model.duality_gap_ <= 1e-6 * model.objective_
        half_norm = 0.5 * model.dual_coef_ @ model.predict(model.support_vectors_)
        scores = model.predict(X)
        np.testing.assert_allclose(scores, gram[:, model.support_] @ model.dual_coef_, atol=1e-8)
        own = objective(scores, half_norm, pairs, weight, loss == "squared_hinge")
        assert model.objective_ == pytest.approx(own, rel=1e-8)
        best = best or least_objective(gram, pairs, weight, loss == "squared_hinge")
        assert model.objective_ - best <= model.duality_gap_ + 1e-7 * best


@pytest.mark.parametrize("loss", LOSSES)
def test_all_pairs_stated_are_labels(loss):
    X, y = curved_data(30)
    labels = RankSVM(loss=loss, tol=1e-9).fit(X, y)
    pairs = np.argwhere(y[:, None] > y)
    stated = RankSVM(loss=loss, tol=1e-9, gamma=labels.kernel_.gamma).fit(X, pairs=pairs)
    assert stated.objective_ == pytest.approx(labels.objective_, rel=1e-8)
    np.testing.assert_allclose(stated.predict(X), labels.predict(X), atol=1e-3)


def test_the_solver_follows_the_pairs_and_the_loss(capsys):
    X, y = curved_data(30)
    pairs = np.argwhere(y[:, None] > y)

    def is_dual(**settings):
        data = {"pairs": pairs, "y": None} | settings
        loss = data.pop("loss", "hinge")
        RankSVM(loss=loss, verbose=1).fit(X, **data)
        return "width 0\n" in capsys.readouterr().out

    assert is_dual()
    assert not is_dual(loss="squared_hinge")
    assert not is_dual(y=y)
    assert not is_dual(pairs=np.tile(pairs, (10, 1)))


@pytest.mark.parametrize("loss", LOSSES)
def test_all_rows_as_components_are_exact(loss):
    X, y = curved_data()
    exact = RankSVM(loss=loss, tol=1e-9).fit(X, y)
    nystrom = RankSVM(loss=loss, tol=1e-9, n_components=50, random_state=0).fit(X, y)
    assert nystrom.objective_ == pytest.approx(exact.objective_, rel=1e-7)
    np.testing.assert_allclose(nystrom.predict(X), exact.predict(X), atol=1e-3)


def test_more_components_come_nearer():
    X, y = curved_data(300)
    exact = RankSVM().fit(X, y)
    values = [RankSVM(n_components=m, random_state=0).fit(X, y) for m in (3, 10, 40)]
    objectives = [model.objective_ for model in values]
    # Functions of fewer rows are fewer functions.
    assert objectives[0] > objectives[1] > objectives[2] > exact.objective_ * (1.0 - 1e-6)
    assert objectives[2] < 1.01 * exact.objective_
    assert [len(model.support_) for model in values] == [3, 10, 40]


def test_curved_ranks_are_learnt():
    X, y = curved_data(120)
    pairs = np.argwhere(y[:, None] > y)

    def right(model):
        scores = model.predict(X)
        return np.mean(scores[pairs[:, 0]] > scores[pairs[:, 1]])

    assert right(RankSVM(C=10.0).fit(X, y)) > 0.9
    assert right(LinearRankSVM(C=10.0).fit(X, y)) < 0.7


@pytest.mark.parametrize("solver", SOLVERS)
def test_whole_weights_are_repeated_rows(solver):
    X, y = curved_data(30)
    weights = np.random.default_rng(0).integers(0, 3, size=30)
    rows = np.repeat(np.arange(30), weights)
    for settings in ({}, {"query_weighting": "queries"}, {"normalize": False, "C": 0.1}):
        model = RankSVM(solver=solver, tol=1e-10, **settings)
        weighted = model.fit(X, y, sample_weight=weights).predict(X)
        np.testing.assert_allclose(
            weighted, model.fit(X[rows], y[rows]).predict(X), rtol=1e-4, atol=1e-4
        )


def test_precomputed_callable_and_sparse_kernels_agree():
    X, y = curved_data()
    sample_weight = np.random.default_rng(0).choice([0.0, 1.0], size=50)
    plain = RankSVM(kernel=Gaussian(0.5), tol=1e-9).fit(X, y, sample_weight=sample_weight)
    gram = Gaussian(0.5).block(X)
    kinds = [
        (RankSVM(kernel="precomputed", tol=1e-9), gram),
        (RankSVM(kernel=Gaussian(0.5).block, tol=1e-9), X),
        (RankSVM(gamma=0.5, tol=1e-9), sp.csr_array(X)),
        (RankSVM(gamma=0.5, tol=1e-9, cache_size=0.001), X),
        (RankSVM(kernel="precomputed", tol=1e-9, n_components=50, random_state=0), gram),
        (RankSVM(gamma=0.5, tol=1e-9, n_components=50, random_state=0), sp.csr_array(X)),
    ]
    for model, inputs in kinds:
        model.fit(inputs, y, sample_weight=sample_weight)
        np.testing.assert_allclose(model.predict(inputs), plain.predict(X), atol=1e-3)
    assert not hasattr(kinds[0][0], "support_vectors_")
    assert kinds[0][0].__sklearn_tags__().input_tags.pairwise


def test_pearson_takes_missing_entries():
    X, y = ordinal_data(n=40, d=5)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    for kernel in ("pearson", Pearson()):
        assert RankSVM(kernel=kernel).fit(X, y).converged_
    with pytest.raises(ValueError, match="NaN"):
        RankSVM().fit(X, y)


def test_duplicates_and_rows_outside_pairs():
    X, y = curved_data(30)
    same = np.r_[X, X, X[:5] + 100.0]
    labels, qid = np.r_[y, y, np.zeros(5)], np.r_[np.zeros(30), np.ones(30), np.full(5, 2)]
    for solver in SOLVERS:
        model = RankSVM(2.0, solver=solver, gamma=0.5, tol=1e-9).fit(same, labels, qid=qid)
        # Each query has all pairs of the rows once: the mean is the same, the rows are twice.
        plain = RankSVM(4.0, solver=solver, gamma=0.5, tol=1e-9).fit(X, y)
        np.testing.assert_allclose(model.predict(X), plain.predict(X), atol=1e-3)
        assert model.support_.max() < 60


def test_easy_rows_are_no_support():
    X = np.linspace(-3, 3, 40)[:, None]
    model = RankSVM(10.0, kernel="linear", loss="hinge").fit(X, X[:, 0] > 0)
    assert 0 < len(model.support_) < 10
    assert np.all(np.abs(X[model.support_]) < 1.0)


def test_explanations_sum_to_the_difference():
    X, y = curved_data()
    model = RankSVM().fit(pd.DataFrame(X, columns=["u", "v"]), y)
    told = model.explain_pair(X[0], X[1])
    assert {term.name for term in told.terms} == {"u", "v"}
    assert sum(term.contribution for term in told.terms) == pytest.approx(told.difference)


def test_components_are_drawn_from_the_seed():
    X, y = curved_data()
    a, b, c = (RankSVM(n_components=5, random_state=s).fit(X, y).support_ for s in (0, 0, 1))
    np.testing.assert_array_equal(a, b)
    assert set(a) != set(c)


@pytest.mark.parametrize("settings", [{"solver": s} for s in SOLVERS] + [{"n_components": 20}])
def test_too_few_steps_warn_with_the_gap(settings):
    X, y = curved_data()
    with pytest.warns(ConvergenceWarning, match=r"RankSVM stopped after 1 steps .* tol=1e-06"):
        model = RankSVM(100.0, loss="hinge", max_iter=1, random_state=0, **settings).fit(X, y)
    assert not model.converged_
    best = RankSVM(100.0, loss="hinge", random_state=0, **settings).fit(X, y)
    assert 0.0 < model.objective_ - best.objective_ <= model.duality_gap_


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": -1.0}, "C must be a positive number; found -1.0"),
        ({"loss": "log"}, "loss must be 'hinge' or 'squared_hinge'; found 'log'"),
        ({"solver": "qp"}, "solver must be 'auto', 'primal' or 'dual'; found 'qp'"),
        ({"kernel": "bessel"}, "kernel must be 'linear'"),
        ({"kernel": "precomputed"}, r"X must be a square matrix .* shape \(50, 2\)"),
        ({"gamma": "wide"}, "gamma must be 'scale', 'auto', a number or one per feature"),
        ({"n_components": 0}, "n_components must be an integer of at least 1; found 0"),
        ({"n_components": 3, "solver": "dual"}, "solver must be 'auto' or 'primal' with n_comp"),
        ({"cache_size": 0}, "cache_size must be a positive number; found 0"),
        ({"kernel": lambda X, Y: -(X @ Y.T)}, "kernel must have no negative eigenvalues"),
    ],
)
def test_bad_parameters(params, message):
    X, y = curved_data()
    with pytest.raises(ValueError, match=message):
        RankSVM(**params).fit(X, y)


@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ([[0.0], [np.inf]], [0, 1], "infinity"),
        ([[0.0], [1.0]], [1, 1], "no pair to rank among 2 samples"),
        ([[0.0]], [1], "no pair to rank among 1 sample"),
    ],
)
def test_bad_data(X, y, message):
    model = RankSVM()
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "dual_coef_")
