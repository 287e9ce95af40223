"""Small ordinal data for tests."""

import numpy as np


def ordinal_data(n=120, d=3, K=4, seed=0, noise=0.7):
    """Inputs and codes from a noisy linear score, every class present."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ np.linspace(1.0, -0.5, d) + noise * rng.logistic(size=n)
    cuts = np.quantile(scores, np.arange(1, K) / K)
    return X, np.searchsorted(cuts, scores)


def ascending(thresholds):
    return bool((thresholds[1:] >= thresholds[:-1]).all())
