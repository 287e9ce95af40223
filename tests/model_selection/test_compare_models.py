"""What contests and searches say of arguments that they cannot use."""

import numpy as np
import pytest
from support.data import ordinal_data

from echelon import LinearSVOR
from echelon.model_selection import Candidate, compare_models, find_candidate, run_contest, tune
from echelon.ordinal.costs import cost_matrix

X, Y = ordinal_data(n=60)
FEW = {"machine": Candidate("machine", LinearSVOR())}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"y": Y[:5]}, "y must have a label for every row; found 5 labels for 60 rows"),
        ({"y": np.ones(60)}, "y must have at least two classes; found 1.0"),
        ({"folds": 1}, "folds must be an integer of at least 2; found 1"),
        ({"folds": 59}, "59 folds need a class of at least 59 rows; the largest has"),
        ({"repeats": 0}, "repeats must be an integer of at least 1; found 0"),
        ({"budget": "long"}, "budget must be a positive number of seconds; found 'long'"),
        ({"budget": -1}, "budget must be a positive number of seconds; found -1"),
        ({"budget": float("nan")}, "budget must be a positive number of seconds; found nan"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0, or None; found 0"),
        ({"n_jobs": "all"}, "n_jobs must be an integer other than 0, or None; found 'all'"),
        ({"cost": "dear"}, "cost must be 'absolute', 'squared', 'zero_one' or a matrix"),
        ({"candidates": ["machine"]}, "candidates must be a mapping from the name"),
        ({"candidates": {"machine": LinearSVOR()}}, "A candidate must be .* found LinearSVOR"),
    ],
)
def test_arguments_of_a_contest(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        run_contest(X, **{"y": Y, "candidates": FEW, **arguments})


def test_arguments_of_a_search():
    with pytest.raises(TypeError, match=r"A candidate must be .* found str"):
        tune("LinearSVOR", X, Y, classes=range(4))
    with pytest.raises(ValueError, match="folds must be an integer of at least 2"):
        tune(find_candidate("LinearSVOR"), X, Y, classes=range(4), folds=1)
    with pytest.raises(TypeError, match="name must be the name of a candidate; found 3"):
        find_candidate(3)
    with pytest.raises(ValueError, match="models must name at least one model"):
        compare_models({}, X, Y)


def test_a_cost_by_name_is_its_matrix():
    by_name, by_matrix = (
        run_contest(X, Y, candidates=FEW, folds=3, repeats=1, cost=cost)
        for cost in ("squared", cost_matrix("squared", len(np.unique(Y))))
    )
    assert by_name.measure == "cost"
    np.testing.assert_array_equal(by_name.rows[0].folds["cost"], by_matrix.rows[0].folds["cost"])
