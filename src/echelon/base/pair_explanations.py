"""Why one row is ranked above another: what each feature, stump or rule adds to the difference."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import make_frame
from .._utils.text import aligned
from .._utils.types import Vector
from .shapley import Masks, drawn_shares, exact_shares

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
