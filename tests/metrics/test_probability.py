"""Scores of probabilities against loops, scikit-learn, and the property that makes them proper."""

import math

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from echelon.metrics import ordinal_log_loss, ranked_probability_score


@pytest.fixture(params=[2, 3, 6])
def data(request):
    generator = np.random.default_rng(request.param)
    proba = generator.dirichlet(np.ones(request.param), size=200)
    truth = np.array([generator.choice(request.param, p=row) for row in proba])
    return truth, proba, generator.random(200)


def slow_rps(truth, proba, weights):
    n_classes = proba.shape[1]
    total = 0.0
    for y, row, weight in zip(truth, proba, weights, strict=True):
        for k in range(n_classes - 1):
            total += weight * (row[: k + 1].sum() - (y <= k)) ** 2
    return total / sum(weights)


def test_ranked_probability_score_equals_its_sum(data):
    truth, proba, weights = data
    expected = slow_rps(truth, proba, weights)
    n_thresholds = proba.shape[1] - 1
    arguments = {"classes": range(n_thresholds + 1), "sample_weight": weights}
    found = ranked_probability_score(truth, proba, normalize=False, **arguments)
    assert found == pytest.approx(expected, rel=1e-12)
    normalized = ranked_probability_score(truth, proba, **arguments)
    assert normalized == pytest.approx(expected / n_thresholds, rel=1e-12)


def test_ranked_probability_score_of_two_classes_is_the_brier_score(data):
    truth, proba = data[0] > 0, np.stack([data[1][:, 0], 1 - data[1][:, 0]], axis=1)
    expected = brier_score_loss(truth, proba[:, 1])
    assert ranked_probability_score(truth, proba) == pytest.approx(expected, rel=1e-12)


def test_ranked_probability_score_charges_for_distance():
    near, far = [[0.0, 0.5, 0.5]], [[0.5, 0.0, 0.5]]
    arguments = {"classes": [1, 2, 3]}
    assert ordinal_log_loss([3], near, **arguments) == ordinal_log_loss([3], far, **arguments)
    assert ranked_probability_score([3], near, **arguments) == 0.125
    assert ranked_probability_score([3], far, **arguments) == 0.25


def test_the_true_probabilities_have_the_best_expected_scores():
    # Weighting each class by its true probability gives the expectation exactly.
    p = np.array([0.2, 0.5, 0.3])
    others = np.random.default_rng(0).dirichlet(np.ones(3), size=200)
    for score in (ranked_probability_score, ordinal_log_loss):
        expected = [score([0, 1, 2], np.tile(q, (3, 1)), sample_weight=p) for q in (p, *others)]
        assert np.argmin(expected) == 0


def test_worst_and_best_scores():
    certain_low = [[1.0, 0.0, 0.0]]
    arguments = {"classes": ["low", "mid", "high"]}
    assert ranked_probability_score(["low"], certain_low, **arguments) == 0
    assert ranked_probability_score(["high"], certain_low, **arguments) == 1


def test_log_loss_agrees_with_scikit_learn(data):
    truth, proba, weights = data
    labels = np.arange(proba.shape[1])
    for w in (None, weights):
        expected = log_loss(truth, proba, labels=labels, sample_weight=w)
        found = ordinal_log_loss(truth, proba, classes=labels, sample_weight=w)
        assert found == pytest.approx(expected, rel=1e-12)


def test_log_loss_is_exact_in_the_tail():
    tiny = 1e-300
    assert ordinal_log_loss([1, 2], [[tiny, 1.0], [0.0, 1.0]]) == -math.log(tiny) / 2
    assert ordinal_log_loss([1, 2], [[0.0, 1.0], [0.0, 1.0]]) == math.inf


def test_an_impossible_row_of_weight_zero_does_not_count():
    assert ordinal_log_loss([1, 2], [[0.0, 1.0], [0.0, 1.0]], sample_weight=[0, 1]) == 0.0


def test_one_class():
    assert ranked_probability_score([4, 4], [[1.0], [1.0]]) == 0.0
    assert ordinal_log_loss([4, 4], [[1.0], [1.0]]) == 0.0


def test_single_precision_and_frames_are_accepted(data):
    truth, proba, _ = data
    labels = range(proba.shape[1])
    expected = ranked_probability_score(truth, proba, classes=labels)
    single = ranked_probability_score(truth, proba.astype(np.float32), classes=labels)
    assert single == pytest.approx(expected, rel=1e-5)
    assert ranked_probability_score(truth, pd.DataFrame(proba), classes=labels) == expected


@pytest.mark.parametrize(
    ("proba", "message"),
    [
        ([0.5, 0.5], r"a column per class; found shape \(2,\)"),
        ([[0.2, 0.3, 0.5]] * 2, "one column per class; found 3 columns for 2 classes"),
        ([[0.5, 0.5], [0.5, 0.4]], r"sum to one in every row, within 1e-05; row 1 sums to 0.9"),
        ([[1.5, -0.5], [0.5, 0.5]], "must not be negative; found -0.5"),
        ([[np.nan, 0.5], [0.5, 0.5]], "must hold finite numbers"),
        ([["a", "b"]] * 2, "proba must hold numbers; found list"),
    ],
)
def test_bad_probabilities(probability_case, proba, message):
    with pytest.raises(ValueError, match=message):
        probability_case.metric([1, 2], proba)


def test_a_class_that_the_labels_lack_is_named_by_classes(probability_case):
    proba = [[0.2, 0.3, 0.5]] * 2
    with pytest.raises(ValueError, match=r"classes=\[\.\.\.\] names classes that y_true lacks"):
        probability_case.metric([1, 3], proba)
    assert probability_case.metric([1, 3], proba, classes=[1, 2, 3]) > 0


@pytest.mark.parametrize("rows", [0, -3, 2.5, "many"])
def test_training_rows_must_be_a_count(rows):
    with pytest.raises(ValueError, match="training_rows must be"):
        ordinal_log_loss([1, 2], [[1.0, 0.0], [1.0, 0.0]], training_rows=rows)


def test_one_more_row_for_all_labels_evenly():
    p = np.array([[0.5, 0.5, 0.0], [0.0, 0.25, 0.75]])
    # Of ten rows, and one that is a third of each label.
    counts = 10 * p + 1 / 3
    expected = -np.log((counts / counts.sum(axis=1, keepdims=True))[[0, 1], [2, 2]]).mean()
    assert ordinal_log_loss([3, 3], p, classes=[1, 2, 3], training_rows=10) == pytest.approx(
        expected
    )
