"""Looking at a model changes neither its state nor its file."""

import inspect
import warnings

import numpy as np
import pytest
from support.data import ordinal_data
from support.estimators import instances, label

from echelon import SVOR, AdaBoostOR, ORStump, RankRules
from echelon.model_selection.coarse_to_fine import CoarseToFineSearchCV
from echelon.trained.model_file import dump_estimators, load_estimators

METHODS = ("to_text", "to_frame", "step_tables", "calibration", "rule_model", "probability_link")


def look(model, X):
    """Ask for every public attribute and for what is shown of a model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in dir(type(model)):
            if not name.startswith("_") and not inspect.isroutine(getattr(type(model), name)):
                getattr(model, name, None)
        for name in METHODS:
            if hasattr(model, name):
                getattr(model, name)()
        for name in ("predict", "predict_proba", "explain", "apply", "transform"):
            if hasattr(model, name):
                getattr(model, name)(X)
        repr(model), model._repr_mimebundle_()


@pytest.mark.parametrize(
    "model",
    [i for i in instances() if not isinstance(i, CoarseToFineSearchCV)],
    ids=label,
)
def test_looking_changes_no_byte(model):
    X, y = ordinal_data(n=60)
    model.fit(X, y)
    before = dump_estimators(model)
    look(model, X)
    assert dump_estimators(model) == before
    again = load_estimators("It is refused", *before)
    look(again, X)
    assert dump_estimators(again) == before


def test_what_is_kept_to_be_fast_belongs_to_the_last_fit():
    for model in (AdaBoostOR(n_estimators=3), RankRules(5, random_state=0)):
        for seed in (0, 1):
            X, y = ordinal_data(n=50, seed=seed)
            again = model.fit(X, y).__class__(**model.get_params()).fit(X, y)
            np.testing.assert_array_equal(model.predict_proba(X), again.predict_proba(X))


def test_models_that_could_not_be_saved():
    X, y = ordinal_data(n=60)
    rules = RankRules(10, random_state=0).fit(X, y)
    constant = AdaBoostOR(ORStump(), 2).fit(X, y, sample_cost=np.zeros((60, 4)))
    for model in (rules.prune(3, X, y), SVOR(warm_start=True).fit(X, y), constant):
        again = load_estimators("It is refused", *dump_estimators(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert str(rules.prune(3, X, y).pruning_).startswith("3 of")
