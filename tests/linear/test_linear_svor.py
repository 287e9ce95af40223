import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from support.data import ascending, ordinal_data

from echelon import LinearSVOR
from echelon.ordinal.costs import adjacent_weights, cost_matrix, threshold_weights

SETTINGS = [
    {"constraints": constraints, "loss": loss}
    for constraints in ("implicit", "explicit")
    for loss in ("squared_hinge", "hinge")
]


def objective(model, X, y, weights=1.0):
    """The objective in the docstring, from public attributes."""
    K = len(model.classes_)
    Z = np.where(y[:, None] > np.arange(K - 1), 1.0, -1.0)
    if model.constraints == "explicit":
        W = adjacent_weights(K)
    else:
        W = threshold_weights(cost_matrix(model.cost, K))
    t = np.maximum(0.0, 1.0 - Z * (np.asarray(X @ model.coef_)[:, None] - model.thresholds_))
    loss = t**2 if model.loss == "squared_hinge" else t
    total = np.sum(np.broadcast_to(weights, len(y))[:, None] * W[y] * loss)
    return 0.5 * model.coef_ @ model.coef_ + model.C * total


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
def test_the_certificate_is_true(settings, C):
    X, y = ordinal_data(n=150)
    model = LinearSVOR(C, **settings).fit(X, y)
    assert model.converged_
    assert 0.0 <= model.duality_gap_ <= 1e-6 * (1.0 + model.objective_)
    assert model.objective_ == pytest.approx(objective(model, X, y))
    exact = LinearSVOR(C, tol=1e-9, **settings).fit(X, y)
    assert model.objective_ - exact.objective_ <= model.duality_gap_ + 1e-9 * exact.objective_
    distance = 0.5 * np.sum((model.coef_ - exact.coef_) ** 2)
    assert distance <= model.duality_gap_ + exact.duality_gap_
    assert ascending(model.thresholds_)


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_two_classes_are_a_support_vector_machine(C):
    X, y = ordinal_data(n=80, K=2)
    model = LinearSVOR(C, loss="hinge", tol=1e-9).fit(X, y)
    peer = SVC(kernel="linear", C=C, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_[0], atol=1e-4)
    np.testing.assert_allclose(model.thresholds_, -peer.intercept_, atol=1e-4)


@pytest.mark.parametrize("settings", SETTINGS)
def test_chunks_give_the_fit_of_all_rows(settings):
    X, y = ordinal_data(n=200)
    weights = np.random.default_rng(0).choice([0.0, 0.5, 1.0, 2.0], size=200)
    weights[:40] = 0.0
    whole = LinearSVOR(tol=1e-10, class_weight="balanced", **settings).fit(X, y, weights)
    cuts = [slice(0, 40), slice(40, 41), slice(41, 150), slice(150, 200)]
    reads = []

    def chunks():
        reads.append(1)
        return ((X[rows], y[rows], weights[rows]) for rows in cuts)

    streamed = LinearSVOR(tol=1e-10, class_weight="balanced", **settings).fit_chunks(chunks)
    assert len(reads) > streamed.n_iter_
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=1e-5)
    np.testing.assert_allclose(streamed.thresholds_, whole.thresholds_, atol=1e-5)
    assert streamed.objective_ == pytest.approx(whole.objective_)
    np.testing.assert_array_equal(streamed.predict(X), whole.predict(X))


def test_chunks_may_be_sparse_and_hold_ordered_categories():
    X, codes = ordinal_data(n=90, K=3)
    words = np.array(["low", "mid", "high"])
    y = pd.Categorical.from_codes(codes, words, ordered=True)
    halves = [(sp.csr_array(X[:45]), y[:45]), (sp.csr_array(X[45:]), y[45:])]
    model = LinearSVOR().fit_chunks(halves)
    assert isinstance(model.predict(X), pd.Categorical)
    expected = LinearSVOR().fit(X, codes)
    np.testing.assert_array_equal(model.predict(X).codes, expected.predict(X))
    stated = LinearSVOR().fit_chunks([(X, words[codes])], classes=words)
    np.testing.assert_array_equal(stated.predict(X), words[expected.predict(X)])


@pytest.mark.parametrize("settings", SETTINGS)
def test_sparse_is_dense(settings):
    X, y = ordinal_data(n=120)
    X = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = LinearSVOR(tol=1e-10, **settings).fit(X, y)
    for make in (sp.csr_array, sp.csr_matrix, sp.csc_array):
        sparse = LinearSVOR(tol=1e-10, **settings).fit(make(X), y)
        np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-5)
        np.testing.assert_allclose(
            sparse.decision_function(make(X)), dense.decision_function(X), atol=1e-4
        )


@pytest.mark.parametrize("settings", SETTINGS)
def test_class_weights_are_sample_weights(settings):
    X, y = ordinal_data(n=100, K=3)
    factors = np.array([1.0, 5.0, 0.2])
    by_class = LinearSVOR(class_weight={1: 5.0, 2: 0.2}, tol=1e-9, **settings).fit(X, y)
    by_row = LinearSVOR(tol=1e-9, **settings).fit(X, y, factors[y])
    np.testing.assert_allclose(by_class.coef_, by_row.coef_, atol=1e-5)
    assert by_class.objective_ == pytest.approx(objective(by_class, X, y, factors[y]))


def test_rows_without_weight_are_ignored():
    X, y = ordinal_data(n=100)
    weights = np.ones(100)
    weights[:30] = 0.0
    X_odd = X.copy()
    X_odd[:30] *= 1e3
    weighted = LinearSVOR(tol=1e-10).fit(X_odd, y, weights)
    dropped = LinearSVOR(tol=1e-10).fit(X[30:], y[30:])
    np.testing.assert_allclose(weighted.coef_, dropped.coef_, atol=1e-6)
    np.testing.assert_allclose(weighted.thresholds_, dropped.thresholds_, atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS)
def test_levels_without_rows(settings):
    X, y = ordinal_data(n=90, K=3)
    levels = np.array([1, 3, 4])[y]
    model = LinearSVOR(classes=range(7), tol=1e-9, **settings).fit(X, levels)
    plain = LinearSVOR(tol=1e-9, **settings).fit(X, y)
    b = model.thresholds_
    np.testing.assert_array_equal(b[[0, 4, 5]], [-np.inf, np.inf, np.inf])
    # Classes 1 and 3 have the level 2 between them, so thresholds 1 and 2 coincide.
    assert b[1] == pytest.approx(b[2], abs=1e-6)
    if settings["constraints"] == "explicit":
        np.testing.assert_allclose(b[[1, 3]], plain.thresholds_, atol=1e-4)
    assert set(model.predict(X)) <= {1, 3, 4}


def test_the_cost_moves_the_fit_and_the_score():
    X, y = ordinal_data(n=150)
    absolute, squared = LinearSVOR().fit(X, y), LinearSVOR(cost="squared").fit(X, y)
    assert not np.allclose(absolute.coef_, squared.coef_, rtol=1e-3)
    own = LinearSVOR(cost=cost_matrix("squared", 4)).fit(X, y)
    np.testing.assert_array_equal(own.coef_, squared.coef_)
    errors = (squared.predict(X) - y) ** 2
    assert squared.score(X, y) == pytest.approx(-errors.mean())
    # The zero-one cost weighs just the two thresholds beside a class.
    near = LinearSVOR(cost="zero_one").fit(X, y)
    np.testing.assert_array_equal(near.coef_, LinearSVOR(constraints="explicit").fit(X, y).coef_)


def test_a_threshold_between_far_classes_lies_in_the_middle():
    X = np.array([[0.0], [1.0], [10.0]])
    model = LinearSVOR(1e3, loss="hinge", tol=1e-9).fit(X, [0, 1, 2])
    # The slope 2 separates 0 from 1; class 2 leaves the second threshold free from 3 to 19.
    np.testing.assert_allclose(model.coef_, [2.0], atol=1e-4)
    np.testing.assert_allclose(model.thresholds_, [1.0, 11.0], atol=1e-3)


def test_too_few_steps_warn_with_the_gap():
    X, y = ordinal_data()
    with pytest.warns(
        ConvergenceWarning, match=r"after 1 steps with a duality gap of .* tol=1e-06"
    ):
        model = LinearSVOR(loss="hinge", max_iter=1).fit(X, y)
    assert not model.converged_
    best = LinearSVOR(loss="hinge").fit(X, y)
    assert 0.0 < model.objective_ - best.objective_ <= model.duality_gap_


def test_verbose_prints_the_steps(capsys):
    X, y = ordinal_data()
    model = LinearSVOR(verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_ + 1
    assert lines[0].startswith("step 0: objective ")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0.0}, "C must be a positive number; found 0.0"),
        ({"C": np.inf}, "C must be a positive number; found inf"),
        ({"tol": -1.0}, "tol must be a positive number"),
        ({"max_iter": 0}, "max_iter must be an integer of at least 1; found 0"),
        ({"loss": "log"}, "loss must be 'squared_hinge', 'hinge', 'logistic' or 'exponential'; "),
        ({"constraints": "no"}, "constraints must be 'implicit' or 'explicit'; found 'no'"),
        ({"cost": "cubic"}, "cost must be 'absolute'"),
        ({"cost": [[0, 2, 1, 1], [1, 0, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]]}, "V-shaped"),
    ],
)
def test_bad_parameters(params, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        LinearSVOR(**params).fit(X, y)


X3, Y3 = np.arange(6.0).reshape(3, 2), np.array([0, 1, 2])


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        ((chunk for chunk in [(X3, Y3)]), "chunks must give the same rows on every pass"),
        ([], "at least one chunk of rows; found none"),
        ([X3], r"chunks must yield \(X, y\) or \(X, y, sample_weight\); found ndarray"),
        ([(X3, Y3), (X3[:, :1], Y3)], "1 features, but .* is expecting 2 features"),
        ([(X3, Y3[:2])], "inconsistent numbers of samples"),
        ([(X3, Y3 * 0)], "y has one class only, "),
        ([(X3, Y3, np.zeros(3))], "sample_weight must have a positive entry"),
        ([(X3, Y3, [-1, 1, 1])], "sample_weight must not be negative"),
        ([(X3 * np.nan, Y3)], "NaN"),
    ],
)
def test_bad_chunks(chunks, message):
    model = LinearSVOR()
    with pytest.raises(ValueError, match=message):
        model.fit_chunks(chunks)
    assert not hasattr(model, "coef_")
