"""Labels and probabilities asked for together are those that are asked for apart."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import OrdinalCalibrator, ProportionalOdds, RankRules
from echelon.base.reading import labels_and_probabilities

MODELS = {
    "links": ProportionalOdds(link="probit"),
    "costs": ProportionalOdds(cost="zero_one"),
    "rules": RankRules(n_rules=20),
    "rules of absolute loss": RankRules(n_rules=20, loss="absolute"),
    "binary rules": RankRules(n_rules=10, loss="binary"),
    "no order": LogisticRegression(),
    "around another": OrdinalCalibrator(ProportionalOdds()),
}


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_both_at_once(name, nested):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=90), [-0.5, 0.5])
    model = make_pipeline(StandardScaler(), MODELS[name])
    model = (make_pipeline(StandardScaler(), model) if nested else model).fit(X, y)
    labels, probabilities = labels_and_probabilities(model, X)
    np.testing.assert_array_equal(labels, model.predict(X))
    np.testing.assert_array_equal(probabilities, model.predict_proba(X))
