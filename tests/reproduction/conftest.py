"""A tiny table, a tiny data set and a tiny model, so that the harness can be run in a blink."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from echelon import datasets
from reproduction import published
from reproduction.models import registry

CLASSES = (1, 2, 3)

CONTENT = {
    "title": "a tiny table",
    "source": "[T00] table 0",
    "spread": "sd",
    "trials": 4,
    "columns": ["NEAR", "FAR", "UNBUILT"],
    "measures": ["zero_one", "absolute"],
    "protocol": {"bins": 3, "binning": "quantile", "ties": "split", "seed": 0},
    "sets": {
        name: {
            "label": name.upper(),
            "inputs": 2,
            "training": 20,
            "test": 10,
            "zero_one": {"NEAR": "0.500 ± 0.100 *", "UNBUILT": "0.4"},
            "absolute": {"NEAR": "0.600 ± 0.100"},
        }
        for name in ("one", "two")
    },
}


class Threshold(ClassifierMixin, BaseEstimator):
    """Cut the first input at the quantiles that the training labels have, moved by `shift`."""

    fits = 0

    def __init__(self, shift=0.0):
        self.shift = shift

    def fit(self, X, y):
        Threshold.fits += 1
        self.classes_ = np.unique(y)
        shares = np.cumsum([np.mean(y == c) for c in self.classes_])[:-1]
        self.cuts_ = np.quantile(X[:, 0], shares) + self.shift
        return self

    def predict(self, X):
        return self.classes_[np.searchsorted(self.cuts_, X[:, 0])]


def fake_fetch(name, *, bins, binning, ties, return_X_y):
    rng = np.random.default_rng(len(name))
    X = rng.normal(5.0, 3.0, (30, 2))
    latent = X[:, 0] + rng.normal(0.0, 1.0, 30)
    return X, 1 + (bins * np.argsort(np.argsort(latent))) // 30


@pytest.fixture
def table():
    return published.parse_table("tiny", CONTENT)


@pytest.fixture
def tiny(monkeypatch, table):
    """The tiny world in place of the real one; gives the counter of fits."""
    monkeypatch.setattr(datasets, "fetch_benchmark", fake_fetch)
    models = {
        "NEAR": registry.Model("NEAR", lambda problem: Threshold()),
        "FAR": registry.Model("FAR", lambda problem: Threshold(shift=0.5)),
    }
    monkeypatch.setattr(registry, "_MODELS", models)
    Threshold.fits = 0
    return Threshold


@pytest.fixture
def grades(monkeypatch):
    """Thirty made-up rows in place of the grading example; gives inputs and grades."""
    rng = np.random.default_rng(3)
    X = np.stack([rng.normal(550.0, 40.0, 30), rng.integers(1, 6, 30)], axis=1)
    y = 1 + (5 * np.argsort(np.argsort(X[:, 0] + 30.0 * rng.normal(size=30)))) // 30
    monkeypatch.setattr(datasets, "fetch_benchmark", lambda name, return_X_y: (X, y))
    return X, y
