"""Kappa against scikit-learn and against its definition."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from echelon.metrics import linear_weighted_kappa, quadratic_weighted_kappa, weighted_kappa

SKLEARN_WEIGHTS = {"quadratic": "quadratic", "linear": "linear", "unweighted": None}


@pytest.fixture(params=range(4))
def data(request):
    generator = np.random.default_rng(request.param)
    n_classes = 2 + request.param
    truth, predicted = generator.integers(0, n_classes, (2, 120))
    predicted = np.where(generator.random(120) < 0.5, truth, predicted)
    return truth, predicted, generator.random(120), n_classes


@pytest.mark.parametrize("weights", SKLEARN_WEIGHTS)
def test_agrees_with_scikit_learn(data, weights):
    truth, predicted, sample_weight, _ = data
    for w in (None, sample_weight):
        expected = cohen_kappa_score(
            truth, predicted, weights=SKLEARN_WEIGHTS[weights], sample_weight=w
        )
        found = weighted_kappa(truth, predicted, weights=weights, sample_weight=w)
        assert found == pytest.approx(expected, abs=1e-13)


def test_the_short_names(data):
    truth, predicted, sample_weight, _ = data
    for function, weights in (
        (quadratic_weighted_kappa, "quadratic"),
        (linear_weighted_kappa, "linear"),
    ):
        assert function(truth, predicted, sample_weight=sample_weight) == weighted_kappa(
            truth, predicted, weights=weights, sample_weight=sample_weight
        )


@pytest.mark.parametrize(("weights", "power"), [("quadratic", 2), ("linear", 1), ("unweighted", 0)])
def test_named_weights_equal_their_matrix(data, weights, power):
    truth, predicted, sample_weight, n_classes = data
    codes = np.arange(n_classes)
    matrix = np.abs(codes[:, None] - codes).astype(np.float64) ** power * (1 - np.eye(n_classes))
    by_matrix = weighted_kappa(
        truth, predicted, weights=matrix, classes=codes, sample_weight=sample_weight
    )
    by_name = weighted_kappa(
        truth, predicted, weights=weights, classes=codes, sample_weight=sample_weight
    )
    assert by_name == pytest.approx(by_matrix, abs=1e-13)


def test_a_matrix_is_used_with_truth_in_rows(data):
    truth, predicted, _, n_classes = data
    matrix = np.random.default_rng(5).random((n_classes, n_classes)) * (1 - np.eye(n_classes))
    observed = np.mean([matrix[y, r] for y, r in zip(truth, predicted, strict=True)])
    expected = np.mean([[matrix[y, r] for r in predicted] for y in truth])
    found = weighted_kappa(truth, predicted, weights=matrix, classes=range(n_classes))
    assert found == pytest.approx(1 - observed / expected, rel=1e-12)


@pytest.mark.parametrize("weights", SKLEARN_WEIGHTS)
def test_perfect_agreement_is_one_even_for_one_label(weights):
    assert weighted_kappa([1, 2, 3], [1, 2, 3], weights=weights) == 1.0
    assert weighted_kappa([2, 2, 2], [2, 2, 2], weights=weights) == 1.0
    third = np.full(3, 1 / 3)
    assert (
        weighted_kappa([2] * 3, [2] * 3, weights=weights, classes=[1, 2, 3], sample_weight=third)
        == 1.0
    )


@pytest.mark.parametrize("weights", SKLEARN_WEIGHTS)
def test_one_constant_column_is_chance(weights):
    assert weighted_kappa([1, 2, 3], [2, 2, 2], weights=weights) == pytest.approx(0, abs=1e-15)


def test_opposite_labels():
    assert quadratic_weighted_kappa([1, 2], [2, 1]) == -1.0


def test_unobserved_levels_keep_their_distance():
    assert linear_weighted_kappa([1, 3, 2], [1, 2, 3]) != linear_weighted_kappa(
        [1, 9, 2], [1, 2, 9], classes=[1, 2, 3, 4, 9]
    )


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (
            "cubic",
            "weights must be 'quadratic', 'linear', 'unweighted' or a matrix; found 'cubic'",
        ),
        (np.zeros((3, 3)), r"shape \(2, 2\); found \(3, 3\)"),
    ],
)
def test_bad_weights(weights, message):
    with pytest.raises(ValueError, match=message):
        weighted_kappa([1, 2], [1, 2], weights=weights)
