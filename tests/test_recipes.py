"""The recipes "Add a metric" and "Add an estimator" of CONTRIBUTING.md, followed with a toy."""

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import estimator_checks_generator
from support.data import ordinal_data

from echelon import ProportionalOdds
from echelon.base.estimator import BaseEstimator
from echelon.base.mixins import ThresholdModelMixin
from echelon.base.validation import all_or_nothing, validate_inputs, validate_ordinal_fit
from echelon.export import ExportError, to_onnx
from echelon.metrics import get_scorer, scorer_names
from echelon.metrics._labels import read_labels
from echelon.metrics.measures import MEASURES, Measure, find_measure, measure_responses
from echelon.tables import labelled_table
from echelon.trained import ModelFileError, load_model, train
from echelon.trained.trust import OWN_TYPES


def overshoot(y_true, y_pred, *, classes=None, sample_weight=None):
    """Share of rows whose prediction lies above the label."""
    pairs = read_labels(y_true, y_pred, classes, sample_weight)
    return pairs.mean(pairs.predicted > pairs.truth)


class MeanScore(ThresholdModelMixin, BaseEstimator):
    """A toy: the sum of the inputs, cut where the classes' shares are.

    Parameters
    ----------
    classes : sequence, optional
    """

    def __init__(self, classes=None):
        self.classes = classes

    @all_or_nothing
    def fit(self, X, y, sample_weight=None):
        data = validate_ordinal_fit(self, X, y, sample_weight)
        order = np.argsort(data.X.sum(axis=1))
        shares = np.cumsum(np.bincount(data.codes, data.sample_weight, data.n_classes))[:-1]
        places = np.searchsorted(np.cumsum(data.sample_weight[order]), shares)
        self.thresholds_ = data.X.sum(axis=1)[order[np.minimum(places, len(order) - 1)]]
        self._store_scale(data)
        return self

    def _latent(self, X):
        return validate_inputs(self, X).sum(axis=1)


@pytest.fixture
def measure(monkeypatch):
    """Step 2 of "Add a metric": a row in the table of measures."""
    row = Measure("overshoot", overshoot, "share of labels overshot", "overshot", unit="%")
    monkeypatch.setitem(MEASURES, row.key, row)
    return row


@pytest.fixture
def saved_type(monkeypatch):
    """Step 5 of "Add an estimator": a stable name for model files."""
    monkeypatch.setitem(OWN_TYPES, "echelon.MeanScore", f"{__name__}.MeanScore")


def table_of(X, y):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    return labelled_table(pd.DataFrame({**columns, "grade": y}), "grade")


def test_a_metric_is_a_scorer_and_a_figure(measure):
    X, y = ordinal_data()
    model = ProportionalOdds().fit(X, y)
    expected = np.mean(model.predict(X) > y)
    assert "neg_overshoot" in scorer_names()
    assert get_scorer("neg_overshoot")(model, X, y) == pytest.approx(-expected)
    assert (cross_val_score(model, X, y, scoring=get_scorer("neg_overshoot")) <= 0).all()
    assert find_measure("overshoot").heading == "share of labels overshot"
    figures = measure_responses(["overshoot"], y, {"labels": model.predict(X)})
    assert figures == {"overshoot": pytest.approx(expected)}


def test_a_metric_that_the_table_lacks_is_refused():
    with pytest.raises(ValueError, match=r"name must be .*; found 'neg_overshoot'"):
        get_scorer("neg_overshoot")


def test_an_estimator_fits_and_predicts():
    X, y = ordinal_data()
    model = MeanScore().fit(X, y)
    assert (np.diff(model.thresholds_) >= 0).all()
    assert model.decision_function(X).shape == (len(X), 3)
    np.testing.assert_array_equal(np.unique(model.predict(X)), np.arange(4))
    words = np.array(["low", "mid", "good", "top"])
    named = MeanScore(classes=words).fit(X, words[y])
    np.testing.assert_array_equal(named.predict(X), words[model.predict(X)])
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full_like(X, np.nan), y)
    np.testing.assert_array_equal(model.predict(X), MeanScore().fit(X, y).predict(X))


@pytest.mark.parametrize("name", ["check_estimators_pickle", "check_dict_unchanged", "check_fit1d"])
def test_scikit_learns_checks_run_on_it(name):
    checks = [c for e, c in estimator_checks_generator(MeanScore()) if c.func.__name__ == name]
    assert checks
    for check in checks:
        check(MeanScore())


def test_an_estimator_is_saved_and_loaded_once_it_has_a_stable_name(saved_type, tmp_path):
    X, y = ordinal_data()
    trained = train(table_of(X, y), MeanScore(), evaluate=False)
    trained.save(tmp_path / "model.echelon")
    again = load_model(tmp_path / "model.echelon")
    np.testing.assert_array_equal(again.predict(X), trained.predict(X))


def test_an_estimator_without_a_stable_name_is_not_saved(tmp_path):
    X, y = ordinal_data()
    trained = train(table_of(X, y), MeanScore(), evaluate=False)
    with pytest.raises(ModelFileError, match=r"cannot be saved, because it holds .*MeanScore"):
        trained.save(tmp_path / "model.echelon")


def test_export_refuses_an_estimator_without_a_converter():
    X, y = ordinal_data()
    with pytest.raises(ExportError, match="MeanScore"):
        to_onnx(MeanScore().fit(X, y))
