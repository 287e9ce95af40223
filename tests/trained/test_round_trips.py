"""Every estimator through joblib and through a model file: the same predictions to the last bit."""

import io
from importlib import import_module
from importlib.util import find_spec

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.base import is_classifier
from support.data import ordinal_data
from support.estimators import instances

from echelon.model_selection.coarse_to_fine import CoarseToFineSearchCV
from echelon.model_selection.roster import candidates, find_candidate
from echelon.model_selection.tuning import candidate_pipeline
from echelon.trained.trust import TRUSTED, is_trusted

METHODS = ("predict", "predict_proba", "decision_function", "predict_latent", "transform")


def fitted_instances():
    return [i for i in instances() if not isinstance(i, CoarseToFineSearchCV)]


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return joblib.load(io.BytesIO(buffer.getvalue()))


def through_skops(model):
    packed = skops.io.dumps(model)
    types = skops.io.get_untrusted_types(data=packed)
    foreign = [name for name in types if not is_trusted(name)]
    assert foreign == [], "echelon.trained.trust lacks them"
    return skops.io.loads(packed, trusted=types)


@pytest.mark.parametrize("model", fitted_instances(), ids=lambda m: repr(m)[:60])
def test_the_same_predictions_to_the_last_bit(model):
    X, codes = ordinal_data(n=60)
    y = np.array(["low", "mid", "high", "top"])[codes] if is_classifier(model) else codes
    if "classes" in model.get_params():
        model.set_params(classes=["low", "mid", "high", "top"])
    elif is_classifier(model):
        y = codes
    model.fit(X, y)
    new = ordinal_data(n=40, seed=1)[0]
    for copy in (through_skops(model), through_joblib(model)):
        compared = [name for name in METHODS if hasattr(model, name)]
        assert compared
        for name in compared:
            expected, found = getattr(model, name)(new), getattr(copy, name)(new)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", candidates())
def test_every_candidate_of_the_roster_can_be_saved(name):
    X, y = ordinal_data(n=60)
    model = candidate_pipeline(find_candidate(name), None, classes=range(4)).fit(X, y)
    again = through_skops(model)
    new = ordinal_data(n=40, seed=1)[0]
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


def test_trusted_types_are_classes_of_this_package_or_of_its_foundations():
    for name in sorted(TRUSTED):
        module, _, kind = name.rpartition(".")
        if name.startswith("lightgbm.") and find_spec("lightgbm") is None:
            continue
        found = getattr(import_module(module), kind)
        assert isinstance(found, type), name
        assert found.__module__ == module, name
