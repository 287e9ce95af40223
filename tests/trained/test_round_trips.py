"""Every estimator through joblib and through a model file: the same predictions to the last bit."""

import io
import json
from dataclasses import replace
from importlib import import_module
from importlib.util import find_spec

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.linear_model import LogisticRegression
from support.data import ordinal_data
from support.estimators import instances

import echelon
from echelon.model_selection.coarse_to_fine import CoarseToFineSearchCV
from echelon.model_selection.preparation import candidate_pipeline
from echelon.model_selection.roster import candidates, find_candidate
from echelon.trained.model_file import ModelFileError, dump_estimators, load_estimators
from echelon.trained.trust import FOREIGN_NAMES, OWN_TYPES, find_type, name_of

METHODS = ("predict", "predict_proba", "decision_function", "predict_latent", "transform")


def fitted_instances():
    return [i for i in instances() if not isinstance(i, CoarseToFineSearchCV)]


def through_joblib(model):
    buffer = io.BytesIO()
    joblib.dump(model, buffer)
    return joblib.load(io.BytesIO(buffer.getvalue()))


def through_model_file(model):
    tree, numbers = dump_estimators(model)
    name = json.loads(tree)["type"]
    assert name == f"echelon.{type(model).__name__}" or name.startswith("sklearn.")
    return load_estimators("It is refused", tree, numbers)


@pytest.mark.parametrize("model", fitted_instances(), ids=lambda m: repr(m)[:60])
def test_the_same_predictions_to_the_last_bit(model):
    X, codes = ordinal_data(n=60)
    model = clone(model)
    y = np.array(["low", "mid", "high", "top"])[codes] if is_classifier(model) else codes
    if "classes" in model.get_params():
        model.set_params(classes=["low", "mid", "high", "top"])
    elif is_classifier(model):
        y = codes
    model.fit(X, y)
    new = ordinal_data(n=40, seed=1)[0]
    for copy in (through_model_file(model), through_joblib(model)):
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
    again = through_model_file(model)
    new = ordinal_data(n=40, seed=1)[0]
    np.testing.assert_array_equal(again.predict(new), model.predict(new))


@pytest.mark.parametrize("name", sorted([*OWN_TYPES, *FOREIGN_NAMES]))
def test_listed_types_are_classes_where_the_list_says(name):
    if name.startswith("lightgbm.") and find_spec("lightgbm") is None:
        pytest.skip("lightgbm is not installed")
    found = find_type(name)
    assert isinstance(found, type)
    assert name_of(found) == name


def test_public_types_have_their_public_names():
    for name, path in OWN_TYPES.items():
        package, _, kind = name.rpartition(".")
        home, _, stored = path.rpartition(".")
        if kind in echelon.__all__:
            assert package == "echelon"
            assert getattr(echelon, kind) is getattr(import_module(home), stored)
    assert len(set(OWN_TYPES.values())) == len(OWN_TYPES)


def test_machines_without_order_constraints_keep_thresholds_that_fall():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(24, 2)), rng.integers(0, 5, 24)
    model = echelon.SVOR(constraints="none", C=0.01).fit(X, y)
    assert (np.diff(model.thresholds_) < 0).any()
    np.testing.assert_array_equal(through_model_file(model).predict(X), model.predict(X))


@pytest.mark.parametrize("kind", [echelon.OnlineRankSVM, echelon.RankPerceptron])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("queries", [False, True])
def test_a_stream_goes_on_after_loading(kind, make, queries):
    X, y = ordinal_data(n=60)
    qid = np.repeat(list("abc"), 20) if queries else None
    model = kind(random_state=0)

    def learn(model, rows):
        return model.partial_fit(make(X[rows]), y[rows], qid=None if qid is None else qid[rows])

    learn(model, slice(0, 30))
    again = through_model_file(model)
    for learner in (model, again):
        learn(learner, slice(30, 60))
    np.testing.assert_array_equal(again.coef_, model.coef_)


def test_rows_of_a_stream_that_are_not_complete():
    X, y = ordinal_data(n=10)
    model = echelon.OnlineRankSVM(random_state=0).partial_fit(X, y)
    model._buffer = replace(model._buffer, relevance=model._buffer.relevance[:5])
    with pytest.raises(ModelFileError, match="its rows are not complete"):
        through_model_file(model)


@pytest.mark.parametrize("n_jobs", [2, 4096, -1])
def test_a_file_does_not_say_how_many_processes_to_start(n_jobs):
    X, y = ordinal_data(n=60)
    model = echelon.OrdinalReduction(LogisticRegression(), mode="separate").fit(X, y)
    model.n_jobs = n_jobs
    tree, numbers = dump_estimators(model)
    assert json.loads(tree)["state"]["n_jobs"] is None
    made_up = tree.replace(b'"n_jobs":null', b'"n_jobs":%d' % n_jobs)
    assert made_up != tree
    with pytest.raises(ModelFileError, match="OrdinalReduction asks for processes"):
        load_estimators("It is refused", made_up, numbers)


def test_a_mapping_may_be_empty_and_must_be_made_of_pairs():
    assert load_estimators("It is refused", *dump_estimators([{}, {"a": 1}])) == [{}, {"a": 1}]
    for items in ([1], [[1]], [[1, 2, 3]], [["a", 1], "b"]):
        tree = json.dumps([{"is": "dict", "items": items}]).encode()
        with pytest.raises(ModelFileError, match="a mapping is not made of pairs"):
            load_estimators("It is refused", tree, b"")
