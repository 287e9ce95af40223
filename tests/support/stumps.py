"""Stumps by trying everything, and small problems to try them on."""

import itertools

import numpy as np
from hypothesis import strategies as st

from echelon.solvers.boosting.ordinal_tree import TreeLearner
from echelon.solvers.boosting.stumps import StumpSearch


def best_stump(bins, V):
    """The stump of least cost and its ranks of the rows."""
    return StumpSearch(bins, V.shape[1] + 1).find(V)


def grow_tree(bins, V, limits=None, seed=0):
    """Tree for signed weights V on coded inputs."""
    return TreeLearner(bins, limits).grow(V, seed)[0]


@st.composite
def signed_problems(draw, most_rows=9, most_features=2, most_classes=4, missing=True):
    """Inputs with many ties and missing values, and signed weights, often zero."""
    n = draw(st.integers(1, most_rows))
    d = draw(st.integers(1, most_features))
    K = draw(st.integers(2, most_classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.integers(0, draw(st.integers(1, 5)), size=(n, d)).astype(float)
    if missing and draw(st.booleans()):
        X[rng.random((n, d)) < 0.3] = np.nan
    codes = rng.integers(0, K, size=n)
    weights = rng.choice([0.0, 1.0, 1.0, 2.0, 0.5], size=(n, K - 1))
    V = np.where(codes[:, None] > np.arange(K - 1), weights, -weights)
    return X, np.ascontiguousarray(V)


def cost_of_ranks(V, ranks):
    above = np.asarray(ranks)[:, None] > np.arange(V.shape[1])
    return np.abs(V)[(V > 0) != above].sum()


def brute_force_cost(X, V):
    """Least cost over features, directions, threshold places and ranks for missing values."""
    K = V.shape[1] + 1
    least = np.inf
    for column, direction in itertools.product(X.T, (1, -1)):
        scores = direction * column
        missing = np.isnan(scores)
        values = np.unique(scores[~missing])
        places = np.concatenate([[-np.inf], values])
        for thresholds in itertools.combinations_with_replacement(places, K - 1):
            ranks = np.array([sum(s > t for t in thresholds) for s in scores])
            for rank in range(K) if missing.any() else [0]:
                least = min(least, cost_of_ranks(V, np.where(missing, rank, ranks)))
    return least
