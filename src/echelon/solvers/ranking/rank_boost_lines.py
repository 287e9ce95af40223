"""A loss over pairs along a base ranker, from which the steps of boosting are found.

What a base ranker h does to the loss F = Σ c·exp(−(f_winner − f_loser)) is Z(α) = F(f + α·h)/F(f) =
Σ D·e^{−α·(h(winner) − h(loser))}. With few values of h it takes the weight of the pairs for every
two of them; else moments of h, for Z and two derivatives at any α.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ..._utils.types import Index, Matrix, Vector
from .rank_boost_stumps import Answers


class Line(Protocol):
    """A loss along a base ranker, as a share of the loss where it starts."""

    @property
    def edge(self) -> float:
        """Mean of h(winner) − h(loser) under the weights of the pairs."""

    @property
    def spread(self) -> float:
        """Greatest difference of two values of h."""

    @property
    def least_gain(self) -> float:
        """Least h(winner) − h(loser); positive where h puts all pairs in order."""

    def at(self, step: float) -> tuple[float, float, float]:
        """Share of the loss after a step, and its two derivatives."""


class PairObjective(Protocol):
    """A loss over pairs, and the scores of the rows that take part in them."""

    rows: Index
    scores: Vector
    weights: Vector

    @property
    def log_total(self) -> float:
        """Logarithm of the loss."""

    def along(self, answers: Answers) -> Line:
        """The loss along a base ranker."""

    def move(self, answers: Answers, line: Line, step: float) -> None:
        """Add a step along it to the scores."""


@dataclass(frozen=True)
class FewLine:
    """Z for a base ranker with few values.

    Parameters
    ----------
    masses : ndarray of shape (A, A)
        Share of the pairs whose winner is in class a and loser in class b.
    values : ndarray of shape (A,)
        h of every class.
    upper, lower : ndarray of shape (S, A), optional
        Sums of u and v by segment and class.
    """

    masses: Matrix
    values: Vector
    upper: Matrix | None = None
    lower: Matrix | None = None

    @property
    def gains(self) -> Matrix:
        """h(winner) − h(loser) for every two classes."""
        return np.asarray(self.values[:, None] - self.values[None, :])

    @property
    def edge(self) -> float:
        """Mean of h(winner) − h(loser) over the pairs."""
        return float((self.masses * self.gains).sum())

    @property
    def spread(self) -> float:
        """Greatest difference of two values of h."""
        return self.most - self.least

    @property
    def least(self) -> float:
        """Least value of h."""
        return float(self.values.min())

    @property
    def most(self) -> float:
        """Greatest value of h."""
        return float(self.values.max())

    @property
    def least_gain(self) -> float:
        """Least h(winner) − h(loser); h puts all pairs in order where it is positive."""
        return float(self.gains[self.masses > 0].min())

    @property
    def means(self) -> tuple[float, float]:
        """Mean of h over the winners and over the losers."""
        winners, losers = self.masses.sum(axis=1), self.masses.sum(axis=0)
        return float(winners @ self.values), float(losers @ self.values)

    def at(self, step: float) -> tuple[float, float, float]:
        """Z and its two derivatives."""
        gains = self.gains
        terms = self.masses * np.exp(-step * gains)
        return float(terms.sum()), -float((gains * terms).sum()), float((gains**2 * terms).sum())


@dataclass(frozen=True)
class ManyLine:
    """Z for a base ranker with many values.

    Parameters
    ----------
    weights, h : ndarray of shape (m,)
        π and h of the rows.
    moments : callable
        Sums over pairs of D·e^{−α·(h_i − h_j)}·h_i^a·h_j^b, a and b from 0 to 2, for h and α.
    """

    weights: Vector
    h: Vector
    moments: Callable[[Vector, float], Matrix]

    @property
    def edge(self) -> float:
        """Mean of h(winner) − h(loser) over the pairs."""
        return float(self.weights @ self.h)

    @property
    def spread(self) -> float:
        """Greatest difference of two values of h."""
        return self.most - self.least

    @property
    def least(self) -> float:
        """Least value of h."""
        return float(self.h.min())

    @property
    def most(self) -> float:
        """Greatest value of h."""
        return float(self.h.max())

    @property
    def least_gain(self) -> float:
        """Not known: boosting does not end at a base ranker with many values."""
        return -np.inf

    @property
    def means(self) -> tuple[float, float]:
        """Mean of h over the winners and over the losers."""
        moments = self.moments(self.h, 0.0)
        return float(moments[1, 0]), float(moments[0, 1])

    def at(self, step: float) -> tuple[float, float, float]:
        """Z and its two derivatives."""
        # Only differences of h matter, and these keep exponents small.
        m = self.moments(self.h - self.least, step)
        return float(m[0, 0]), float(m[0, 1] - m[1, 0]), float(m[2, 0] - 2 * m[1, 1] + m[0, 2])
