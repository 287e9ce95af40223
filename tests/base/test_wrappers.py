"""One way into models inside models, whatever is around them."""

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from support.data import ordinal_data

from echelon import LinearSVOR, ProportionalOdds
from echelon.base.reading import latent_scores
from echelon.base.wrappers import final_estimator, last_step, layers, opened
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal


class Trained:
    """A fitted estimator that belongs to a table."""

    def __init__(self, estimator, columns):
        self.estimator, self.columns = estimator, columns

    def inputs(self, X):
        # Chosen columns come in another memory layout, in which BLAS adds in another order.
        return np.ascontiguousarray(X[:, self.columns])


def nested(X, y):
    steps = [
        ("scale", StandardScaler()),
        ("idle", "passthrough"),
        ("none", None),
        ("end", make_pipeline(MinMaxScaler(), LinearSVOR())),
    ]
    search = GridSearchCV(Pipeline(steps), {"end__linearsvor__C": [0.5]}, cv=2).fit(X, y)
    return ConformalOrdinal(OrdinalCalibrator(FrozenEstimator(search)), 0.7, random_state=0)


def test_every_kind_of_layer_is_gone_through():
    X, y = ordinal_data(n=120)
    model = nested(X[:, :2], y).fit(X[:, :2], y)
    found = [(type(layer.model).__name__, len(layer.before)) for layer in layers(model)]
    assert found == [
        ("ConformalOrdinal", 0),
        ("OrdinalCalibrator", 0),
        ("FrozenEstimator", 0),
        ("GridSearchCV", 0),
        ("Pipeline", 0),
        ("Pipeline", 1),
        ("LinearSVOR", 2),
    ]
    before, last = last_step(model)
    direct = last.predict_latent(before[1].transform(before[0].transform(X[:, :2])))
    trained = Trained(model, [0, 1])
    np.testing.assert_array_equal(latent_scores(trained, X), direct)
    np.testing.assert_array_equal(model.predict_latent(X[:, :2]), direct)
    assert opened(trained, None, "coef_") == (last, None)
    assert opened(trained, X, "rules_") is None
    assert final_estimator(trained) is model
    assert final_estimator(model.estimator_.estimator_) is last


def test_searches_of_other_libraries_and_unfitted_ones():
    class Search:
        best_estimator_ = make_pipeline(StandardScaler(), ProportionalOdds())

    assert last_step(Search())[1] is Search.best_estimator_[-1]
    assert final_estimator(Search()) is Search.best_estimator_[-1]
    ahead = GridSearchCV(make_pipeline(StandardScaler(), LinearSVOR()), {})
    assert isinstance(final_estimator(ahead), LinearSVOR)
    assert final_estimator(None) is None
    assert latent_scores(LinearRegression().fit([[0.0], [1.0]], [0, 1]), [[0.0]]) is None
