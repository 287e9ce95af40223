import numpy as np
import pytest
from scipy import stats

from echelon.datasets import (
    make_nonlinear_ordinal,
    make_ordinal_classification,
    make_quadratic_ordinal,
    make_three_rank_ordinal,
)
from echelon.datasets.generators import _nonlinear_scores
from echelon.ordinal.likelihoods import LINKS

MAKERS = [
    make_nonlinear_ordinal,
    make_ordinal_classification,
    make_quadratic_ordinal,
    make_three_rank_ordinal,
]
WITH_TRUTH = [maker for maker in MAKERS if maker is not make_quadratic_ordinal]


def shares(y, n_classes):
    return np.bincount(y, minlength=n_classes + 1)[1:] / len(y)


def assert_frequencies(y, expected):
    """Counts within what chance allows: a test at level 1e-4 on a fixed seed."""
    counts = np.bincount(y, minlength=len(expected) + 1)[1:]
    assert stats.chisquare(counts, np.asarray(expected) * len(y)).pvalue > 1e-4


@pytest.mark.parametrize("maker", MAKERS)
def test_deterministic_under_random_state(maker):
    X, y = maker(50, random_state=7)
    again_X, again_y = maker(50, random_state=np.random.RandomState(7))
    other_X, _ = maker(50, random_state=8)
    np.testing.assert_array_equal(X, again_X)
    np.testing.assert_array_equal(y, again_y)
    assert (other_X != X).any()


@pytest.mark.parametrize("maker", WITH_TRUTH)
def test_labels_follow_the_stated_probabilities(maker):
    X, y, truth = maker(20_000, random_state=1, return_truth=True)
    assert (np.diff(truth.thresholds) > 0).all()
    assert truth.scores.shape == (len(X),)
    probability = truth.probabilities
    np.testing.assert_allclose(probability.sum(axis=1), 1.0)
    hit = y[:, None] == np.arange(1, probability.shape[1] + 1)
    # Rows grouped by score: observed minus expected counts, in standard deviations.
    for rows in np.array_split(np.argsort(truth.scores), 5):
        spread = np.sqrt((probability[rows] * (1 - probability[rows])).sum(axis=0) + 1.0)
        assert (np.abs((hit[rows] - probability[rows]).sum(axis=0)) < 4.5 * spread).all()


def test_quadratic_set_has_the_stated_shares_and_curves():
    X, y = make_quadratic_ordinal(20_000, random_state=0)
    assert_frequencies(y, [0.1 + 1.6 / 12, 0.23, 0.24, 1 - 0.57 - 1.6 / 12])
    for row, label in zip(X[:200], y[:200], strict=True):
        below = [row[1] > c + 1.6 * (row[0] - 0.5) ** 2 for c in (0.1, 0.33, 0.57)]
        assert label == 1 + sum(below)
    assert make_quadratic_ordinal(random_state=0)[0].shape == (500, 2)


def test_nonlinear_scores_match_the_formula_row_by_row():
    X = np.random.RandomState(0).normal(size=(300, 16))
    X[0, :14] = [1, 2, 3, 4, 0, 0, 0, 0.5, -0.5, 0, 0, 0, 0, 0]
    for x, f in zip(X, _nonlinear_scores(X), strict=True):
        expected = x[0] - x[1] + 0.2 * (x[2] - x[3])
        expected += 5 * np.exp(-(x[4] ** 2 + x[5] ** 2 + 0.2 * x[6] ** 2))
        expected -= all(-0.5 <= x[j] <= 0.5 for j in (7, 8, 9))
        expected += x[10] >= 0 and x[11] >= 0
        expected -= int(x[12] >= 0 and x[13] >= 0)
        assert f == pytest.approx(expected)


@pytest.mark.parametrize("bayes_error", [1.0, 0.4])
def test_nonlinear_set_has_the_bayes_error_asked_for_on_fresh_rows(bayes_error):
    _, y, truth = make_nonlinear_ordinal(
        60_000, bayes_error=bayes_error, random_state=11, return_truth=True
    )
    assert truth.bayes_absolute_error == pytest.approx(bayes_error, abs=0.012)
    # The median label is the Bayes decision: no other decision, nor its labels, beat it.
    cost = np.abs(np.subtract.outer(np.arange(10), np.arange(10)))
    least = (truth.probabilities @ cost).min(axis=1)
    assert least.mean() == pytest.approx(truth.bayes_absolute_error)
    decision = (truth.probabilities @ cost).argmin(axis=1) + 1
    assert np.abs(decision - y).mean() == pytest.approx(bayes_error, abs=0.02)
    np.testing.assert_allclose(shares(y, 10), 0.1, atol=0.006)


@pytest.mark.parametrize("link", LINKS)
def test_general_generator_has_the_shares_asked_for(link):
    weights = [4, 1, 3, 2]
    _, y, truth = make_ordinal_classification(
        20_000, 3, 4, link=link, weights=weights, random_state=5, return_truth=True
    )
    assert_frequencies(y, np.array(weights) / 10)
    assert truth.link == link


def test_general_generator_scores_are_linear_and_noise_scales_them():
    X, y, truth = make_ordinal_classification(
        400, 6, 5, n_informative=2, random_state=3, return_truth=True
    )
    np.testing.assert_allclose(X @ truth.coefficients, truth.scores)
    assert (truth.coefficients[2:] == 0).all()
    assert (truth.coefficients[:2] != 0).all()
    _, noisy_y, noisy = make_ordinal_classification(
        400, 6, 5, n_informative=2, noise=4.0, random_state=3, return_truth=True
    )
    np.testing.assert_allclose(4.0 * noisy.coefficients, truth.coefficients)
    assert noisy.bayes_absolute_error > truth.bayes_absolute_error
    assert (y != noisy_y).any()
    assert set(y.tolist()) == {1, 2, 3, 4, 5}


def test_three_rank_noise_levels():
    errors = [
        make_three_rank_ordinal(2000, noise=noise, random_state=0, return_truth=True)[
            2
        ].bayes_absolute_error
        for noise in (0.01, "lower", "higher", 2.0)
    ]
    assert errors == sorted(errors)
    X, y = make_three_rank_ordinal(2000, noise=1e-9, random_state=0)
    latent = X[:, 0] + 0.5 * np.sin(np.pi * X[:, 1])
    np.testing.assert_array_equal(y, 1 + (latent > -0.4) + (latent > 0.4))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: make_nonlinear_ordinal(10, 13), "n_features must be an integer of at least 14"),
        (lambda: make_nonlinear_ordinal(bayes_error=2.5), "bayes_error must be between"),
        (lambda: make_ordinal_classification(0), "n_samples must be an integer of at least 1"),
        (lambda: make_ordinal_classification(n_classes=1), "n_classes must be an integer"),
        (lambda: make_ordinal_classification(noise=0), "noise must be a positive number; found 0"),
        (lambda: make_ordinal_classification(link="log"), "link must be 'logit'"),
        (lambda: make_ordinal_classification(n_informative=6), "at most n_features, 5; found 6"),
        (lambda: make_ordinal_classification(weights=[1, 1]), "weights must be 4 positive"),
        (lambda: make_ordinal_classification(weights=[1, 1, 1, 0]), "weights must be 4 positive"),
        (lambda: make_three_rank_ordinal(noise="high"), "noise must be 'lower', 'higher' or"),
        (lambda: make_three_rank_ordinal(noise=-1.0), "noise must be a positive number"),
        (lambda: make_quadratic_ordinal(1.5), "n_samples must be an integer"),
    ],
)
def test_bad_arguments_are_told_in_a_sentence(call, sentence):
    with pytest.raises(ValueError, match=sentence):
        call()
