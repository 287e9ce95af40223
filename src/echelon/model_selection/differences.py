"""From the out-of-fold predictions of a leaderboard to differences between its models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from .._utils.types import Codes, Index, Matrix, Vector
from ..metrics.best_comparison import (
    Comparison,
    PairDifferences,
    fold_differences,
    row_differences,
)
from ..metrics.measures import MEASURES
from ..metrics.probability import row_ranked_probability_scores
from .holdout import FoldPredictions

if TYPE_CHECKING:
    from .leaderboard import Leaderboard, LeaderboardRow

#: Losses of rows from true ranks, predicted ones, and class probabilities.
_Losses = Callable[[Codes, Codes, Matrix | None], Vector | None]


def compare_rows(board: Leaderboard) -> list[Comparison]:
    """Every row of a leaderboard beside the best of the others.

    Empty without any other, or if it is not known how many rows a fold learns from.

    By losses of rows where the measure is their mean and all predictions are known, else by the
    figures of folds. Those behind the first row are compared with models of as many folds as it
    has; it is compared with all.
    """
    if len(board.rows) < 2 or board.sizes is None:
        return []
    found = _by_rows(board, board.sizes[0]) or _by_folds(board, *board.sizes)
    folds = np.array([row.n_folds for row in board.rows])
    return found.to_best(0, board.margin_, rivals=folds >= folds[0])


def _by_folds(board: Leaderboard, training: int, test: int) -> PairDifferences:
    sign = -MEASURES[board.measure].sign
    figures = np.array([row.folds[board.measure] for row in board.rows], dtype=np.float64)
    return fold_differences(sign * figures, training, test)


def _by_rows(board: Leaderboard, training: int) -> PairDifferences | None:
    loss, truth = _loss(board), board.truth
    if loss is None or truth is None:
        return None
    runs = [_runs(row) for row in board.rows]
    if any(run is None for run in runs):
        return None
    tests: dict[int, Index] = {}
    for run in runs:
        for fold, (tested, _, _) in (run or {}).items():
            # A look at a fold may have had a part of its test rows.
            if len(tested) >= len(tests.get(fold, ())):
                tests[fold] = tested
    folds = sorted(tests)
    losses: list[Sequence[Vector | None]] = [
        [
            loss(truth[p[0]], p[1], p[2])
            if (p := (run or {}).get(fold)) is not None and len(p[0]) == len(tests[fold])
            else None
            for fold in folds
        ]
        for run in runs
    ]
    weights, groups = (
        (None, None) if board.design is None else (board.design.weights, board.design.groups)
    )
    return row_differences(
        losses, [tests[fold] for fold in folds], training, weights=weights, groups=groups
    )


def _runs(row: LeaderboardRow) -> dict[int, FoldPredictions] | None:
    """Predictions of a model by fold; None if they are not known for every fold."""
    folds = np.flatnonzero(np.isfinite(np.asarray(row.folds["mae"], dtype=np.float64))).tolist()
    if not row.predictions or len(row.predictions) != len(folds):
        return None
    return dict(zip(folds, row.predictions, strict=True))


def _loss(board: Leaderboard) -> _Losses | None:
    """The loss of which the board's measure is the mean over rows, if it is one."""
    cost = board.cost
    known: dict[str, _Losses] = {
        "mae": lambda truth, codes, _: np.abs(truth - codes).astype(np.float64),
        "zero_one": lambda truth, codes, _: (truth != codes).astype(np.float64),
        "rps": lambda truth, _, p: None if p is None else row_ranked_probability_scores(truth, p),
    }
    if cost is not None:
        known["cost"] = lambda truth, codes, _: np.asarray(cost[truth, codes], dtype=np.float64)
    return known.get(board.measure)
