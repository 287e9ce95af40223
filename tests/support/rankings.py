"""Small ranking data for tests."""

import numpy as np


def ranking_data(n=90, d=3, n_queries=6, K=4, seed=0, noise=0.5):
    """Inputs, grades and query numbers: a noisy linear score cut into grades, plus query levels.

    Rows of a query lie scattered, and each query shifts its rows' scores, so that only comparisons
    within a query tell the coefficients.
    """
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    qid = rng.permutation(np.arange(n) % n_queries)
    shift = 3.0 * rng.normal(size=n_queries)
    scores = X @ np.linspace(1.0, -0.5, d) + noise * rng.normal(size=n)
    y = np.searchsorted(np.quantile(scores, np.arange(1, K) / K), scores)
    return X, np.round(y + shift[qid], 3), qid


def all_pairs(y, qid):
    """Every (winner, loser) within a query, listed."""
    y, qid = np.asarray(y), np.asarray(qid)
    above = (y[:, None] > y) & (qid[:, None] == qid)
    return np.argwhere(above)


def random_queries(seed=0, n_queries=30, labels=4):
    """Labels, scores with many ties, and query numbers, query after query."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, 25, n_queries)
    y = rng.integers(0, labels, sizes.sum())
    return y, rng.integers(0, 8, sizes.sum()).astype(float), np.repeat(np.arange(n_queries), sizes)
