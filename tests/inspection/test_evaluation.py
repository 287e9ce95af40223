"""Figures of predictions with intervals by the bootstrap."""

import numpy as np
import pytest
from support.data import ordinal_data

from echelon import ProportionalOdds, metrics
from echelon.inspection import evaluate_model, evaluate_predictions


def fitted(n=200):
    X, y = ordinal_data(n=n)
    return ProportionalOdds().fit(X, y), X, y


def test_values_are_those_of_the_metrics():
    model, X, y = fitted()
    cost = np.array([[0, 1, 4, 9], [2, 0, 1, 4], [8, 2, 0, 1], [20, 8, 2, 0]])
    figures = evaluate_model(model, X, y, cost=cost).figures
    predicted, p = model.predict(X), model.predict_proba(X)
    expected = {
        "cost": metrics.mean_cost(y, predicted, cost=cost),
        "mae": metrics.mean_absolute_rank_error(y, predicted),
        "zero_one": metrics.zero_one_error(y, predicted),
        "within_one": metrics.within_one_accuracy(y, predicted),
        "qwk": metrics.quadratic_weighted_kappa(y, predicted),
        "rps": metrics.ranked_probability_score(y, p),
        "log_loss": metrics.ordinal_log_loss(y, p),
    }
    assert list(figures) == list(expected)
    for name, value in expected.items():
        figure = figures[name]
        assert figure.value == pytest.approx(value)
        assert figure.low < figure.value < figure.high


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(0)
    covered = 0
    for seed in range(100):
        wrong = rng.random(150) < 0.3
        figure = evaluate_predictions(
            np.zeros(150, dtype=int),
            wrong.astype(int),
            classes=[0, 1],
            confidence=0.8,
            n_draws=100,
            random_state=seed,
        ).figures["mae"]
        covered += figure.low <= 0.3 <= figure.high
    assert 0.7 < covered / 100 < 0.9


def test_prediction_intervals_are_measured():
    truth = np.array([0, 1, 2, 2])
    low, high = np.array([0, 0, 0, 1]), np.array([0, 2, 1, 2])
    result = evaluate_predictions(truth, truth, None, (low, high), classes=[5, 6, 7])
    assert result.figures["interval_coverage"].value == 0.75
    assert result.figures["interval_width"].value == (1 + 3 + 2 + 2) / 4
    assert "rps" not in result.figures


def test_an_infinite_loss_is_said_and_written_as_none():
    p = np.array([[1.0, 0.0], [1.0, 0.0]])
    result = evaluate_predictions(np.array([0, 1]), np.array([0, 0]), p, classes=["a", "b"])
    assert result.figures["log_loss"].value == np.inf
    assert result.to_dict()["figures"]["log_loss"]["value"] is None


def test_confusion_and_errors_by_class():
    truth, codes = np.array([0, 0, 2, 2]), np.array([0, 1, 2, 0])
    result = evaluate_predictions(truth, codes, classes=["low", "mid", "high"])
    assert result.confusion.tolist() == [[1, 1, 0], [0, 0, 0], [1, 0, 1]]
    content = result.to_dict()
    assert [entry["mae"] for entry in content["by_class"]] == [0.5, None, 1.0]
    assert content["confusion"] == result.confusion.tolist()
    text = str(result)
    assert "true / predicted" in text and "mean absolute error" in text


def test_arguments_that_cannot_be_are_named():
    one = np.array([0])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
        evaluate_predictions(one, one, classes=[0, 1], confidence=1.0)
    with pytest.raises(ValueError, match="at least one row"):
        evaluate_predictions(one[:0], one[:0], classes=[0, 1])


def test_rows_and_labels_must_be_as_many():
    model, X, y = fitted()
    with pytest.raises(ValueError, match="y must have as many rows as X, 200; found 3"):
        evaluate_model(model, X, y[:3])


def test_weights_count_and_only_their_ratios():
    rng = np.random.default_rng(2)
    truth, codes, weights = rng.integers(0, 3, 60), rng.integers(0, 3, 60), rng.integers(0, 4, 60)
    known = {"classes": [1, 2, 3], "n_draws": 50}
    found = evaluate_predictions(truth, codes, sample_weight=weights, **known)
    rows = np.repeat(np.arange(60), weights)
    repeated = evaluate_predictions(truth[rows], codes[rows], **known)
    for name, figure in repeated.figures.items():
        assert found.figures[name].value == pytest.approx(figure.value)
    scaled = evaluate_predictions(truth, codes, sample_weight=weights / 1024.0, **known)
    assert scaled.figures == found.figures and str(scaled) == str(found)


def test_whole_groups_are_drawn():
    rng = np.random.default_rng(3)
    level = rng.integers(0, 2, 30)
    groups = np.repeat(np.arange(30), 20)
    truth, codes = np.ones(600, dtype=int), 1 + level[groups]
    known = {"classes": [1, 2, 3], "n_draws": 400}
    apart = evaluate_predictions(truth, codes, **known).figures["mae"]
    together = evaluate_predictions(truth, codes, groups=groups, **known).figures["mae"]
    assert together.value == apart.value
    widths = [figure.high - figure.low for figure in (together, apart)]
    assert widths[0] == pytest.approx(widths[1] * np.sqrt(20), rel=0.25)
