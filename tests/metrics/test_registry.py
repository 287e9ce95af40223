"""The scorers' names in scikit-learn's registry."""

import subprocess
import sys

import pytest
import sklearn.metrics
from sklearn.metrics import _scorer

from echelon.metrics import get_scorer, scorer_names
from echelon.metrics.registry import register

SEARCH = """
from sklearn.dummy import DummyClassifier
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score, learning_curve
import warnings
warnings.simplefilter("error")
X, y = [[0.0]] * 12, [1, 2, 3] * 4
model = DummyClassifier(strategy="constant", constant=2)
name = "neg_mean_absolute_rank_error"
search = GridSearchCV(model, {"constant": [1, 2]}, scoring=name, cv=2).fit(X, y)
assert search.best_params_ == {"constant": 2}, search.best_params_
assert cross_val_score(model, X, y, scoring=name, cv=2).max() < 0
permutation_importance(search, X, y, scoring=name, n_repeats=1)
learning_curve(model, X, y, scoring=name, cv=2, train_sizes=[1.0])
"""


@pytest.mark.parametrize(
    "imports",
    [
        "import echelon.metrics",
        "import sklearn.model_selection, sklearn.inspection, echelon.metrics",
    ],
    ids=["before scikit-learn's model selection", "after it"],
)
def test_plain_strings_work_whatever_is_imported_first(imports):
    done = subprocess.run(
        [sys.executable, "-c", f"{imports}\n{SEARCH}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", scorer_names())
def test_scikit_learn_knows_the_name(name):
    assert name in sklearn.metrics.get_scorer_names()
    assert repr(sklearn.metrics.get_scorer(name)) == repr(get_scorer(name))


def test_a_name_that_scikit_learn_has_is_left_alone():
    before = _scorer._SCORERS["accuracy"]
    assert register({"accuracy": get_scorer("kendall_tau_b")}) == []
    assert _scorer._SCORERS["accuracy"] is before


def test_registering_twice_changes_nothing():
    before = dict(_scorer._SCORERS)
    ours = {name: before[name] for name in scorer_names()}
    assert register(ours) == list(ours)
    assert before == _scorer._SCORERS


@pytest.mark.parametrize("replacement", ["absent", ()])
def test_a_registry_that_moved_is_no_error(monkeypatch, replacement):
    if replacement == "absent":
        monkeypatch.delattr(_scorer, "_SCORERS")
    else:
        monkeypatch.setattr(_scorer, "_SCORERS", replacement)
    assert register({"kendall_tau_b": get_scorer("kendall_tau_b")}) == []
