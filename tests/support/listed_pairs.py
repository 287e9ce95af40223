"""Pair sets written out, for oracles over all pairs."""

import numpy as np
from hypothesis import strategies as st

from echelon.pairs import PairSet


def listed(pairs):
    """Winners, losers and weights of all pairs."""
    return tuple(np.concatenate(column) for column in zip(*pairs.blocks(), strict=True))


def differences(X, pairs):
    """x_winner − x_loser of all pairs, and their weights."""
    winners, losers, weights = listed(pairs)
    return X[winners] - X[losers], weights


def ranking_data(n=60, d=3, n_queries=3, noise=0.5, seed=0):
    """Inputs, four levels of relevance from a noisy linear score, and queries."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X @ np.linspace(1.0, -0.5, d) + noise * rng.normal(size=n)
    return X, np.digitize(scores, [-1.0, 0.0, 1.0]), rng.integers(0, n_queries, n)


@st.composite
def pair_sets(draw, n=12):
    """Small pair sets with ties of scores, queries of any size, weights and stated pairs."""
    labels = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
    qid = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    weights = np.array(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)), dtype=float)
    pairs = PairSet.from_labels(labels, qid, weights)
    row = st.integers(0, n - 1)
    stated = draw(st.lists(st.tuples(row, row).filter(lambda p: p[0] != p[1]), max_size=4))
    return pairs + PairSet.from_pairs(stated, n)
