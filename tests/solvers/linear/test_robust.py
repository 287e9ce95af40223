"""The sandwich against scores and second derivatives by differences."""

import numpy as np
import pytest
from support.data import ordinal_data

from echelon import ProportionalOdds
from echelon.ordinal.likelihoods import class_probabilities, get_link


def differentiated(model, X, codes, weights, groups):
    """The same covariance from the log-likelihood alone, by central differences."""
    K, link = len(model.classes_), get_link(model.link)
    at = np.concatenate([model.thresholds_, model.coef_])

    def rows(parameters):
        p = class_probabilities(link, X @ parameters[K - 1 :], parameters[: K - 1])
        return weights * np.log(p[np.arange(len(codes)), codes])

    steps, p = 1e-4 * np.eye(len(at)), len(at)
    scores = np.column_stack([(rows(at + h) - rows(at - h)) / 2e-4 for h in steps])
    second = np.empty((p, p))
    for i in range(p):
        for j in range(p):
            a, b = steps[i], steps[j]
            ends = rows(at + a + b) - rows(at + a - b) - rows(at - a + b) + rows(at - a - b)
            second[i, j] = ends.sum() / 4e-8
    second[range(K - 1, p), range(K - 1, p)] -= model.alpha
    inverse = np.linalg.inv(-second)
    names = np.unique(groups)
    sums = np.array([scores[groups == g].sum(axis=0) for g in names])
    sums = sums - sums.mean(axis=0)
    return len(names) / (len(names) - 1) * inverse @ sums.T @ sums @ inverse


@pytest.mark.parametrize("link", ["logit", "cloglog"])
@pytest.mark.parametrize("alpha", [0.0, 2.0])
@pytest.mark.parametrize("grouped", [False, True])
def test_it_is_what_differences_of_the_likelihood_give(link, alpha, grouped):
    X, y = ordinal_data(n=90, K=4, seed=3)
    rng = np.random.default_rng(0)
    weights, groups = rng.uniform(0.5, 2.0, 90), rng.integers(0, 12, 90)
    model = ProportionalOdds(link, alpha=alpha).fit(X, y, weights)
    codes = np.searchsorted(model.classes_, y)
    given = groups if grouped else None
    found = model.robust_covariance(X, y, weights, given)
    slow = differentiated(model, X, codes, weights, groups if grouped else np.arange(90))
    np.testing.assert_allclose(found, slow, rtol=2e-3, atol=1e-6)


def test_weights_count_by_their_ratios_and_sparse_rows_are_the_same():
    from scipy.sparse import csr_array

    X, y = ordinal_data(n=80, K=3)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    one, many = (ProportionalOdds().fit(X, y, c * weights) for c in (1.0, 50.0))
    expected = one.robust_covariance(X, y, weights)
    np.testing.assert_allclose(many.robust_covariance(X, y, 50.0 * weights), expected, rtol=1e-6)
    np.testing.assert_allclose(one.robust_covariance(csr_array(X), y, weights), expected)


def test_where_the_model_holds_it_is_close_to_the_inverse_hessian():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(4000, 2))
    y = np.searchsorted([-1.0, 1.0], X @ [1.0, -0.5] + rng.logistic(size=4000))
    model = ProportionalOdds().fit(X, y)
    ratio = np.diagonal(model.robust_covariance(X, y)) / np.diagonal(model.covariance_)
    np.testing.assert_allclose(ratio, 1.0, atol=0.1)


def test_a_level_that_no_row_has_stays_undetermined():
    X, y = ordinal_data(n=80, K=3)
    model = ProportionalOdds(classes=[0, 1, 2, 3]).fit(X, np.minimum(y, 2))
    found = np.diagonal(model.robust_covariance(X, np.minimum(y, 2)))
    assert np.isnan(found).tolist() == [False, False, True, False, False, False]


def test_groups_widen_what_repeats_within_them():
    X, y = ordinal_data(n=60, K=3)
    again, labels = np.repeat(X, 5, axis=0), np.repeat(y, 5)
    model = ProportionalOdds().fit(again, labels)
    rows = model.robust_covariance(again, labels)
    groups = model.robust_covariance(again, labels, groups=np.repeat(np.arange(60), 5))
    np.testing.assert_allclose(np.diagonal(groups) / np.diagonal(rows), 5.0, rtol=0.05)
