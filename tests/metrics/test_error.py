"""Errors in ranks and costs against scikit-learn and against loops."""

import numpy as np
import pytest
from sklearn import metrics as sk

from echelon.metrics import (
    macro_mean_absolute_error,
    maximum_mean_absolute_error,
    mean_absolute_rank_error,
    mean_cost,
    within_one_accuracy,
    zero_one_error,
)

LABELS = np.array(["none", "mild", "severe", "critical"])


@pytest.fixture(params=[None, 1], ids=["unweighted", "weighted"])
def data(request):
    generator = np.random.default_rng(7)
    truth = generator.choice(4, size=300, p=[0.7, 0.2, 0.08, 0.02])
    predicted = np.clip(truth + generator.integers(-2, 3, size=300), 0, 3)
    weights = None if request.param is None else generator.random(300)
    return truth, predicted, weights


def ours(metric, data, **kwargs):
    truth, predicted, weights = data
    return metric(LABELS[truth], LABELS[predicted], classes=LABELS, sample_weight=weights, **kwargs)


def class_errors(truth, predicted, weights):
    return [
        sk.mean_absolute_error(
            truth[truth == k],
            predicted[truth == k],
            sample_weight=None if weights is None else weights[truth == k],
        )
        for k in np.unique(truth)
    ]


def test_rank_error_is_the_mean_absolute_error_of_codes(data):
    truth, predicted, weights = data
    expected = sk.mean_absolute_error(truth, predicted, sample_weight=weights)
    assert ours(mean_absolute_rank_error, data) == pytest.approx(expected, rel=1e-13)


def test_zero_one_error_is_the_complement_of_accuracy(data):
    truth, predicted, weights = data
    expected = 1 - sk.accuracy_score(truth, predicted, sample_weight=weights)
    assert ours(zero_one_error, data) == pytest.approx(expected, rel=1e-13)


def test_macro_and_maximum_are_over_class_errors(data):
    errors = class_errors(*data)
    assert ours(macro_mean_absolute_error, data) == pytest.approx(np.mean(errors), rel=1e-13)
    assert ours(maximum_mean_absolute_error, data) == pytest.approx(max(errors), rel=1e-13)


def test_macro_error_of_two_classes_is_one_minus_balanced_accuracy(data):
    truth, predicted, weights = data[0] > 0, data[1] > 0, data[2]
    expected = 1 - sk.balanced_accuracy_score(truth, predicted, sample_weight=weights)
    found = macro_mean_absolute_error(truth, predicted, sample_weight=weights)
    assert found == pytest.approx(expected, rel=1e-13)


def test_within_one(data):
    truth, predicted, weights = data
    expected = np.average(np.abs(truth - predicted) <= 1, weights=weights)
    assert ours(within_one_accuracy, data) == pytest.approx(expected, rel=1e-13)


def test_classes_without_rows_take_no_part_in_macro_and_maximum():
    truth, predicted = [1, 1, 4], [2, 1, 4]
    assert macro_mean_absolute_error(truth, predicted, classes=[1, 2, 3, 4]) == 0.25
    assert maximum_mean_absolute_error(truth, predicted, classes=[1, 2, 3, 4]) == 0.5
    weights = [1, 1, 0]
    assert macro_mean_absolute_error(truth, predicted, sample_weight=weights) == 0.5


def test_named_costs_are_the_named_errors(data):
    truth, predicted, weights = data
    squared = sk.mean_squared_error(truth, predicted, sample_weight=weights)
    assert ours(mean_cost, data) == ours(mean_absolute_rank_error, data)
    assert ours(mean_cost, data, cost="zero_one") == ours(zero_one_error, data)
    assert ours(mean_cost, data, cost="squared") == pytest.approx(squared, rel=1e-13)


def test_cost_rows_are_the_truth_and_columns_the_prediction(data):
    truth, predicted, weights = data
    cost = np.random.default_rng(0).random((4, 4)) * (1 - np.eye(4))
    expected = np.average(
        [cost[y, r] for y, r in zip(truth, predicted, strict=True)], weights=weights
    )
    assert ours(mean_cost, data, cost=cost) == pytest.approx(expected, rel=1e-13)


@pytest.mark.parametrize(
    ("cost", "message"),
    [
        ("cubic", "cost must be 'absolute', 'squared', 'zero_one' or a matrix; found 'cubic'"),
        (np.zeros((3, 3)), r"shape \(4, 4\); found \(3, 3\)"),
        (np.ones((4, 4)), "zero on its diagonal"),
    ],
)
def test_bad_costs(cost, message):
    with pytest.raises(ValueError, match=message):
        mean_cost([1, 2, 3, 4], [1, 2, 3, 4], cost=cost)


def test_a_single_class_is_right():
    same = ([5, 5], [5, 5])
    assert mean_absolute_rank_error(*same) == macro_mean_absolute_error(*same) == 0
    assert within_one_accuracy(*same) == 1
