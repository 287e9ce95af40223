"""Shapley values, and why one row is ranked above another.

For a set S of columns, v(S) is the mean over the background rows of the function with the columns
of S from the explained row and the others from the background row. The Shapley values φ_j share
v(all) − v(none) among the columns, and sum to it exactly, whether they are enumerated or drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import aligned, make_frame
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


# Of so many features all subsets are gone through; with more of them orders are drawn.
_FEW_FEATURES = 6
_DRAWN_ORDERS = 200


@dataclass(frozen=True)
class PairTerm:
    """One part of the difference of two scores.

    Parameters
    ----------
    name : str
        A feature, a condition or a rule.
    contribution : float
        What it adds to score(a) − score(b).
    a, b : float
        The values that are compared: inputs, or what a base ranker says.
    """

    name: str
    contribution: float
    a: float
    b: float


@dataclass(frozen=True)
class PairExplanation:
    """Difference of the scores of two rows, taken apart.

    Parameters
    ----------
    score_a, score_b : float
        Scores of the two rows.
    terms : tuple of PairTerm
        Parts of score_a − score_b, by falling size; they sum to it.
    """

    score_a: float
    score_b: float
    terms: tuple[PairTerm, ...]

    @property
    def difference(self) -> float:
        """score_a − score_b; a is ranked above b where it is positive."""
        return self.score_a - self.score_b

    def to_text(self, n: int | None = 10) -> str:
        """The explanation as a text table.

        Parameters
        ----------
        n : int, optional
            Most parts to write; the others are summed up in a line.

        Returns
        -------
        text : str
        """
        order = "above" if self.difference > 0 else "below" if self.difference < 0 else "level with"
        head = f"a is ranked {order} b: {self.score_a:.4g} against {self.score_b:.4g}"
        shown = self.terms if n is None else self.terms[:n]
        rows = [["", "a", "b", "adds"]]
        rows += [[t.name, f"{t.a:.4g}", f"{t.b:.4g}", f"{t.contribution:+.4g}"] for t in shown]
        rest = self.terms[len(shown) :]
        if rest:
            total = math.fsum(term.contribution for term in rest)
            rows.append([f"{len(rest)} others", "", "", f"{total:+.4g}"])
        rows.append(["difference", "", "", f"{self.difference:+.4g}"])
        return "\n".join([head, *aligned(rows)])

    def to_frame(self, backend: Any = "pandas") -> Any:
        """The parts as a data frame of "pandas", "polars" or "pyarrow"."""
        names = ("name", "contribution", "a", "b")
        return make_frame({name: [getattr(t, name) for t in self.terms] for name in names}, backend)

    def __str__(self) -> str:
        return self.to_text()


def explanation(score_a: float, score_b: float, terms: Sequence[PairTerm]) -> PairExplanation:
    """Parts that add something, sorted by size."""
    kept = [term for term in terms if term.contribution != 0.0]
    kept.sort(key=lambda term: -abs(term.contribution))
    return PairExplanation(float(score_a), float(score_b), tuple(kept))


def linear_terms(names: Sequence[str], coef: Vector, a: Vector, b: Vector) -> list[PairTerm]:
    """Parts w_j·(a_j − b_j) of a linear score."""
    return _terms(names, coef * (a - b), a, b)


def shapley_terms(
    names: Sequence[str], score: Callable[[Any], Vector], a: Vector, b: Vector
) -> list[PairTerm]:
    """Parts of any score by features: the mean change as b turns into a, feature by feature.

    The mean is over all orders of the features that differ where they are few, and over drawn
    orders, each with its reverse, where they are many. Either way the parts sum to the difference.
    """
    differing = np.flatnonzero(~((a == b) | (np.isnan(a) & np.isnan(b))))
    parts = np.zeros(len(a))

    def mixture(masks: Masks, _: npt.NDArray[np.intp]) -> Vector:
        rows = np.tile(b, (len(masks), 1))
        rows[:, differing] = np.where(masks, a[differing], b[differing])
        return score(rows)

    n = len(differing)
    if n > _FEW_FEATURES:
        rng = np.random.default_rng(0)
        parts[differing] = drawn_shares(mixture, n, 1, _DRAWN_ORDERS, rng).values
    elif n:
        parts[differing] = exact_shares(mixture, n, 1).values
    return _terms(names, parts, a, b)


def _terms(names: Sequence[str], parts: Vector, a: Vector, b: Vector) -> list[PairTerm]:
    columns = (names, parts.tolist(), a.tolist(), b.tolist())
    return [PairTerm(*entry) for entry in zip(*columns, strict=True)]
