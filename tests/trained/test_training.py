"""From a labelled table to a model with probabilities, intervals and figures."""

import json

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from support.mixed_tables import ORDER, WORDS, mixed_frame

from echelon import ProportionalOdds, RoundedRegressor
from echelon.calibration import OrdinalCalibrator
from echelon.tables import labelled_table
from echelon.trained import train
from echelon.trained.figures import cross_validated


@pytest.fixture(scope="module")
def table():
    return labelled_table(mixed_frame(240), "rating", ORDER)


def test_a_candidate_by_name(table):
    model = train(table, "proportional-odds logit")
    assert model.name == "ProportionalOdds logit"
    assert model.extra["settings"]["alpha"] in (0.1, 1.0, 10.0, 100.0)
    assert set(model.metrics) >= {"mae", "mae_se", "rps", "interval_coverage", "interval_width"}
    assert 0.7 < model.metrics["interval_coverage"] <= 1.0
    assert model.metrics["mae"] < 0.9
    json.dumps(model.card(), allow_nan=False)


def test_labels_come_from_all_rows(table):
    model = train(table, ProportionalOdds(alpha=1.0), evaluate=False)
    assert model.metrics == {}
    by_hand = model.estimator.set_params().fit(table.X, table.y)
    np.testing.assert_array_equal(model.predict(table.X), by_hand.predict(table.X))
    assert model.estimator["model"].classes_.tolist() == WORDS


def test_a_model_without_probabilities_gets_them(table):
    model = train(table, RoundedRegressor(Ridge()), evaluate=False)
    assert isinstance(model.estimator, OrdinalCalibrator)
    assert any("OrdinalCalibrator" in note for note in model.notes)
    frame = model.predict_frame(mixed_frame(40, seed=2))
    np.testing.assert_allclose(frame.filter(like="p_").sum(axis=1), 1.0)


def test_good_probabilities_are_left_alone(table):
    assert not isinstance(
        train(table, ProportionalOdds(alpha=1.0), evaluate=False).estimator, OrdinalCalibrator
    )


def test_intervals_hold_the_prediction_and_most_labels(table):
    model = train(table, ProportionalOdds(alpha=1.0), confidence=0.8, evaluate=False)
    new = mixed_frame(2000, seed=9)
    low, high = (np.array([WORDS.index(w) for w in end]) for end in model.predict_interval(new))
    predicted = np.array([WORDS.index(w) for w in model.predict(new)])
    truth = np.array([WORDS.index(w) for w in new["rating"]])
    assert ((low <= predicted) & (predicted <= high)).all()
    assert ((low <= truth) & (truth <= high)).mean() > 0.72


def test_folds_end_when_patience_does():
    done = []

    def measure(train, test):
        done.append(test)
        return {"mae": float(test)}

    folds = [(None, k) for k in range(5)]
    figures, measured = cross_validated(measure, folds, patience=-1.0, n_jobs=1)
    assert (figures["mae"], measured, done) == (0.0, 1, [0])
    figures, measured = cross_validated(measure, folds, patience=60.0, n_jobs=1)
    assert (figures["mae"], measured) == (2.0, 5)
    assert figures["mae_se"] == pytest.approx(np.sqrt(2.5 / 5))
