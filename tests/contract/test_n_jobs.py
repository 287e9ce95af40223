"""Every estimator that takes n_jobs gives the same model for each number of them."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from support.data import ordinal_data
from support.estimators import instances, label

from echelon.base.mixins import RankerMixin

METHODS = ("predict", "decision_function", "predict_latent", "predict_proba")


def answers(estimator, n_jobs, X, y, **fit):
    # Threads share all that matters with processes, which take a second to start.
    with parallel_config("threading"):
        model = clone(estimator).set_params(n_jobs=n_jobs).fit(X, y, **fit)
        return {name: getattr(model, name)(X) for name in METHODS if hasattr(model, name)}


@pytest.mark.filterwarnings("ignore::echelon.meta.CoverageWarning")
@pytest.mark.parametrize(
    "estimator", [i for i in instances() if "n_jobs" in i.get_params(deep=False)], ids=label
)
def test_the_number_of_jobs_changes_nothing(estimator, monkeypatch):
    monkeypatch.setattr("echelon.solvers.rules.search._WORTH_A_THREAD", 0)
    X, y = ordinal_data(60, 3, 3)
    # Copies, and values that many rows share, make ties between features and between cuts.
    X = np.hstack([X, X[:, ::-1]]).round(1)
    fit = {"qid": np.arange(len(y)) % 3} if isinstance(estimator, RankerMixin) else {}
    one = answers(estimator, 1, X, y, **fit)
    for n_jobs in (2, 3):
        for name, values in answers(estimator, n_jobs, X, y, **fit).items():
            np.testing.assert_array_equal(values, one[name])
