"""From pairs of rows to the training data of a classifier, and rows to compare others with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from .._utils.types import Index, Vector
from ..base.nested import fit_weighted
from ..base.validation import RankingData
from ..pairs import PairSet
from ..solvers.ranking.pair_draws import draw_pairs


def training_pairs(
    data: RankingData, max_pairs: int, rng: np.random.Generator
) -> tuple[Index, Index, Vector]:
    """Stated pairs, and implied ones: all of them, or as many as are wanted, by weight."""
    stated = PairSet(data.pairs.n_items, listed=data.pairs.listed)
    implied = PairSet(data.pairs.n_items, implied=data.pairs.implied)
    parts = list(stated.blocks())
    if implied.n_pairs <= max_pairs:
        parts += implied.blocks()
    else:
        winners, losers = draw_pairs(implied, max_pairs, rng)
        parts.append((winners, losers, np.full(max_pairs, implied.total_weight / max_pairs)))
    winners, losers, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
    return winners, losers, weights


def fit_both_ways(
    model: Any,
    pair_features: Callable[[Any, Any], Any],
    X: Any,
    winners: Index,
    losers: Index,
    weights: Vector,
) -> Any:
    """Fit a classifier to say whether the first of two rows wins, on both orders of each pair."""
    first, second = np.r_[winners, losers], np.r_[losers, winners]
    target = np.repeat([1, 0], len(winners))
    halves = np.tile(0.5 * weights, 2)
    if not has_fit_parameter(model, "sample_weight") and (halves == halves[0]).all():
        halves = None
    return fit_weighted(model, pair_features(X[first], X[second]), target, halves)


def reference(data: RankingData, n: int, rng: np.random.Generator) -> tuple[Any, Vector]:
    """Training rows to compare with, and weights that sum to 1."""
    rows = np.flatnonzero(data.sample_weight > 0)
    weights = data.sample_weight[rows] / data.sample_weight[rows].sum()
    if len(rows) > n:
        rows = np.sort(rng.choice(rows, n, p=weights))
        weights = np.full(n, 1.0 / n)
    return data.X[rows], weights
