"""The table of measures: one name, one direction, and what each needs."""

import numpy as np
import pytest

from echelon import metrics
from echelon.metrics.measures import MEASURES, find_measure, known_measures, measure_responses
from echelon.metrics.scorers import ranking_scorer_names, scorer_names

CLASSES = [1, 2, 3]
GOOD = {
    "labels": [1, 2, 3, 3],
    "probabilities": np.eye(3)[[0, 1, 2, 2]],
    "scores": [0.0, 1.0, 2.0, 2.0],
    "intervals": ([1, 2, 3, 3], [1, 2, 3, 3]),
}
BAD = {
    "labels": [3, 2, 1, 1],
    "probabilities": np.full((4, 3), 1 / 3),
    "scores": [2.0, 1.0, 0.0, 0.0],
    "intervals": ([1, 1, 1, 1], [3, 2, 2, 2]),
}


def test_headings_keys_and_scorers_are_unique():
    for name in ("key", "heading", "short", "scorer"):
        values = [getattr(measure, name) for measure in MEASURES.values()]
        assert len(set(values)) == len(values), name
    assert all(key == measure.key for key, measure in MEASURES.items())


@pytest.mark.parametrize("key", [k for k, m in MEASURES.items() if m.needs != "queries"])
def test_the_direction_is_true(key):
    measure = MEASURES[key]
    y = [1, 2, 3, 3]
    good, bad = (measure.function(y, told[measure.needs], classes=CLASSES) for told in (GOOD, BAD))
    assert (good > bad) == measure.greater_is_better
    assert good != bad


@pytest.mark.parametrize("key", [k for k, m in MEASURES.items() if m.needs == "queries"])
def test_the_direction_of_rankings_is_true(key):
    measure = MEASURES[key] if MEASURES[key].places != "must" else MEASURES[key].at(1)
    y, qid = [1, 0, 0, 1, 0], ["a", "a", "a", "b", "b"]
    good, bad = (
        measure.function(y, sign * np.array(y, dtype=float), qid=qid, **measure.options)
        for sign in (1, -1)
    )
    assert measure.greater_is_better and good > bad


def test_every_scorer_is_of_the_table():
    assert set(scorer_names()) | {"neg_mean_cost"} == {
        m.scorer for m in MEASURES.values() if m.needs not in ("queries", "intervals")
    }
    assert {find_measure(name).scorer for name in ranking_scorer_names()} == set(
        ranking_scorer_names()
    )


def test_scorers_have_the_sign_of_the_table():
    for key in ("mae", "qwk"):
        scorer = metrics.get_scorer(MEASURES[key].scorer)
        assert scorer._sign == MEASURES[key].sign


@pytest.mark.parametrize("key", ["", "maes", "mae@3", "precision", "ndcg@", "ndcg@0", "ndcg@x"])
def test_other_keys_are_refused(key):
    with pytest.raises(ValueError, match=r"key must be one of cost, mae, .*; found"):
        find_measure(key)


def test_figures_are_told_in_the_order_of_the_table():
    keys = ["rps_se", "ndcg@5", "interval_width", "rps", "cost"]
    assert [m.key for m in known_measures(keys)] == ["cost", "rps", "interval_width", "ndcg@5"]


def test_a_model_is_measured_as_far_as_it_answers():
    y = [1, 2, 3, 3]
    told = {"labels": BAD["labels"], "intervals": BAD["intervals"]}
    found = measure_responses(
        ["mae", "rps", "interval_coverage", "interval_width"], y, told, classes=CLASSES
    )
    assert found == {"mae": 1.5, "interval_coverage": 0.5, "interval_width": 2.25}
