"""What folds that keep rows together would find, where nobody has stated groups or times."""

import numpy as np
import pandas as pd

from echelon.model_selection.contest import finish, make_experiment
from echelon.model_selection.experiment_run import ExperimentRun
from echelon.model_selection.other_folds import other_folds
from echelon.model_selection.roster import candidates
from echelon.tables import labelled_table

ODDS = {"odds": candidates()["ProportionalOdds logit"]}
TREES = {"trees": candidates()["OrdinalBagging trees"]}


def told(frame, roster=ODDS, **stated):
    table = labelled_table(frame, "grade", **stated)
    experiment = make_experiment(table, candidates=roster, folds=3, repeats=1)
    board = finish(ExperimentRun(experiment))
    return other_folds(table, experiment, board)


def visits(n=40, size=8, seed=0):
    """Patients with a level of their own, which their traits tell apart."""
    rng = np.random.default_rng(seed)
    patient = np.repeat(np.arange(n), size)
    trait, level = rng.normal(size=(2, n))
    score = 1.5 * level[patient] + 0.3 * rng.normal(size=len(patient))
    return pd.DataFrame(
        {
            "patient": patient + 1000,
            "trait": trait[patient],
            "noise": rng.normal(size=len(patient)).round(3),
            "grade": 1 + np.digitize(score, [-1.0, 0.0, 1.0]),
        }
    )


def test_repeated_patients_are_held_out_whole():
    (found,) = told(visits(), TREES)
    assert found.other > 2.0 * found.usual
    assert str(found.sentence).startswith(
        "Values of 'patient' repeat: on 5 folds of whole groups the mean absolute error of trees is"
    )
    assert found.sentence.arguments == ("group",)


def test_nothing_is_told_of_what_is_stated():
    assert told(visits(), group="patient") == []


def test_copies_are_kept_together():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"x": rng.normal(size=150), "grade": rng.integers(1, 4, 150)})
    assert told(frame) == []
    (found,) = told(pd.concat([frame, frame[:60]], ignore_index=True), TREES)
    assert "120 of 210 rows equal another one, label included" in found.sentence
    assert found.other > found.usual + 0.1


def test_a_few_ratings_repeat_by_their_nature():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.integers(1, 4, (200, 3)), columns=["a", "b", "grade"])
    assert told(frame) == []


def test_labels_that_drift_are_tried_on_later_rows():
    rng = np.random.default_rng(3)
    days = np.sort(rng.integers(0, 1000, 240))
    drift = 0.004 * days + rng.normal(size=240)
    frame = pd.DataFrame(
        {
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(days, unit="D"),
            "x": rng.normal(size=240),
            "grade": 1 + np.digitize(drift, [1.0, 2.0, 3.0]),
        }
    )
    (found,) = told(frame)
    assert "Labels rise with 'day' (Goodman and Kruskal's γ +0." in found.sentence
    assert found.other > found.usual
    assert found.sentence.arguments == ("time",)
    shuffled = frame.assign(grade=rng.permutation(frame["grade"]))
    assert told(shuffled) == []
