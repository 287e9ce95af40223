"""How much a model relies on each input: what shuffling a column adds to the mean cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import aligned, make_frame
from .._utils.types import LabelsLike, MatrixLike, RandomStateLike, Vector, VectorLike
from ..ordinal.arrays import check_weights, require_count
from ..ordinal.costs import cost_matrix
from .table import Response, draw_rows


@dataclass(frozen=True, eq=False)
class Importance:
    """Rise of the mean cost for each column, from `ordinal_importance`.

    Parameters
    ----------
    features : list of str
    mean, sd : ndarray of shape (d,)
        Mean rise over the repeats and its standard deviation (n − 1); NaN with one repeat.
    baseline : float
        Mean cost of the rows as they are.
    rises : ndarray of shape (d, repeats)
        Rise in every repeat.
    """

    features: list[str]
    mean: Vector
    sd: Vector
    baseline: float
    rises: npt.NDArray[np.float64]

    @property
    def order(self) -> npt.NDArray[np.intp]:
        """Columns from the most to the least important."""
        return np.argsort(-self.mean, kind="stable")

    def to_frame(self, backend: Any = "pandas") -> Any:
        """One row per column, the most important first, as a data frame."""
        order = self.order
        columns = {
            "feature": [self.features[j] for j in order],
            "mean": self.mean[order].tolist(),
            "sd": self.sd[order].tolist(),
        }
        return make_frame(columns, backend)

    def __str__(self) -> str:
        rows = [["", "adds to the cost", "sd"]]
        for j in self.order:
            spread = "–" if np.isnan(self.sd[j]) else f"{self.sd[j]:.4f}"
            rows.append([self.features[j], f"{self.mean[j]:+.4f}", spread])
        return "\n".join([f"mean cost {self.baseline:.4f}", *aligned(rows)])


def ordinal_importance(
    model: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    cost: str | npt.ArrayLike = "absolute",
    n_repeats: int = 5,
    random_state: RandomStateLike = 0,
    max_rows: int | None = 2000,
    sample_weight: VectorLike | None = None,
    classes: LabelsLike | None = None,
) -> Importance:
    """Rise of the mean cost when a column of the raw inputs is shuffled.

    Columns that say much the same stand in for each other: shuffling one of them costs little as
    long as the other remains, so that a small figure does not mean that a column is of no use. On
    the rows that a model was fitted to, the figures tell what it has memorised too; take others.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
    X : data frame or array-like of shape (n, d)
        Inputs as `model` takes them, before any preparation in a pipeline.
    y : label column of shape (n,)
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
        Row y, column r: the cost of predicting r when the truth is y.
    n_repeats : int, default=5
        Shuffles of each column; all columns are shuffled by the same permutations.
    random_state : int, default=0
    max_rows : int, optional, default=2000
        Most rows to use, drawn at random.
    sample_weight : array-like of shape (n,), optional
        What each row counts in the mean cost; only ratios matter.
    classes : sequence, optional
        The labels from lowest to highest, for a model that does not know their order.

    Returns
    -------
    importance : Importance

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> importance = ordinal_importance(ProportionalOdds().fit(X, y), X, y)
    >>> importance.features[importance.order[0]]
    'in4'
    """
    require_count("n_repeats", n_repeats)
    response = Response(model, classes, y)
    table, truth = response.labelled(X, y)
    rows = draw_rows(table.n_rows, max_rows, random_state)
    weights = check_weights(sample_weight, table.n_rows)[rows]
    table, truth = table.take(rows), truth[rows]
    matrix = cost_matrix(cost, response.scale.n_classes)
    baseline = float(np.average(matrix[truth, response.codes(table.native)], weights=weights))
    rng, n = np.random.default_rng(random_state), len(rows)
    shuffled = np.concatenate([rng.permutation(n) for _ in range(n_repeats)])
    again = np.tile(np.arange(n), n_repeats)
    predicted = (
        response.batched(table, again, {j: shuffled}, response.codes).reshape(n_repeats, n)
        for j in range(table.n_columns)
    )
    costs = (matrix[truth, codes] for codes in predicted)
    rises = np.array([np.average(found, axis=1, weights=weights) - baseline for found in costs])
    sd = rises.std(axis=1, ddof=1) if n_repeats > 1 else np.full(len(rises), np.nan)
    return Importance(table.names, rises.mean(axis=1), sd, baseline, rises)
