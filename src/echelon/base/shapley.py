"""Shapley values of a function of columns, with values from background rows in place of the rest.

For a set S of columns, v(S) is the mean over the background rows of the function with the columns
of S from the explained row and the others from the background row. The Shapley values φ_j share
v(all) − v(none) among the columns, and sum to it exactly, whether they are enumerated or drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector

Masks = npt.NDArray[np.bool_]
# Value of rows mixed of the explained one (where True) and of a background row.
Mixture = Callable[[Masks, npt.NDArray[np.intp]], Vector]


@dataclass(frozen=True, eq=False)
class Shares:
    """Shapley values of one row.

    Parameters
    ----------
    values : ndarray of shape (d,)
    standard_errors : ndarray of shape (d,), or None
        Of the drawing of orders; None where all subsets were enumerated.
    base, total : float
        Mean value of the background rows, and the value of the explained row.
    """

    values: Vector
    standard_errors: Vector | None
    base: float
    total: float


def exact_shares(mixture: Mixture, n_columns: int, n_background: int) -> Shares:
    """Shapley values by all 2^d subsets of the columns."""
    subsets = np.arange(2**n_columns)
    inside = (subsets[:, None] >> np.arange(n_columns)) & 1 == 1
    masks = np.repeat(inside, n_background, axis=0)
    background = np.tile(np.arange(n_background), len(subsets))
    v = mixture(masks, background).reshape(len(subsets), n_background).mean(axis=1)
    size = inside.sum(axis=1)
    weight = np.array([1.0 / (n_columns * math.comb(n_columns - 1, s)) for s in range(n_columns)])
    values = np.empty(n_columns)
    for j in range(n_columns):
        without = np.flatnonzero(~inside[:, j])
        values[j] = weight[size[without]] @ (v[without | (1 << j)] - v[without])
    return Shares(values, None, float(v[0]), float(v[-1]))


def drawn_shares(
    mixture: Mixture,
    n_columns: int,
    n_background: int,
    n_draws: int,
    rng: np.random.Generator,
) -> Shares:
    """Shapley values by drawn orders of the columns, each together with its reverse.

    Every background row is used with the same number of orders, so that the values sum to the
    difference of the means as they do for all orders.
    """
    pairs = max(2, -(-n_draws // (2 * n_background)))
    orders = rng.permuted(np.tile(np.arange(n_columns), (n_background * pairs, 1)), axis=1)
    orders = np.stack([orders, orders[:, ::-1]], axis=1).reshape(-1, n_columns)
    background = np.repeat(np.arange(n_background), 2 * pairs)
    position = np.argsort(orders, axis=1)
    # Step s of an order has the first s of its columns from the explained row.
    masks = position[:, None, :] < np.arange(n_columns + 1)[None, :, None]
    v = mixture(masks.reshape(-1, n_columns), np.repeat(background, n_columns + 1)).reshape(
        len(orders), n_columns + 1
    )
    steps = np.take_along_axis(np.diff(v, axis=1), position, axis=1)
    by_pair = steps.reshape(n_background, pairs, 2, n_columns).mean(axis=2)
    # Orders are drawn within each background row, so only the spread within it is an error.
    within = by_pair.var(axis=1, ddof=1).mean(axis=0)
    return Shares(
        by_pair.mean(axis=(0, 1)),
        np.sqrt(within / (pairs * n_background)),
        float(v[:, 0].mean()),
        float(v[:, -1].mean()),
    )
