"""Scores of single queries, their mean, and how far it can be trusted."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import compress
from typing import Any, ParamSpec, Protocol

import numpy as np
from scipy import stats

from ..._utils.messages import require_choice
from ..._utils.types import Mask, RandomStateLike, Vector
from ...ordinal.arrays import require_count
from .._labels import require_fraction
from .queries import QueryRows

#: Numbers drawn at a time when queries are resampled or signs flipped.
_BLOCK = 1 << 21


P = ParamSpec("P")


class HasMean(Protocol):
    """Scores of queries that have a mean."""

    def mean(self) -> float:
        """Over the queries."""


@dataclass(frozen=True)
class QueryScores:
    """A metric query by query.

    Parameters
    ----------
    ids : tuple
        The queries, by first appearance.
    values : ndarray of shape (Q,)
        NaN where the metric is undefined.
    weights : ndarray of shape (Q,)

    Examples
    --------
    >>> scores = QueryScores(("a", "b"), np.array([1.0, 0.5]), np.array([1.0, 3.0]))
    >>> scores.mean()
    0.625
    """

    ids: tuple[Any, ...]
    values: Vector
    weights: Vector

    def mean(self) -> float:
        """Weighted mean; NaN if a value is, or if there is no query."""
        v, w = self._counted()
        return float(np.average(v, weights=w)) if len(w) else math.nan

    def standard_error(self) -> float:
        """Of the mean, with queries as the sample; NaN for a single one.

        Notes
        -----
        √(Q/(Q − 1)·Σ w²(v − v̄)²) / Σ w, which for equal weights is s/√Q.
        """
        v, w = self._counted()
        if len(v) < 2:
            return math.nan
        w = w / w.sum()
        spread = w * (v - np.average(v, weights=w))
        return math.sqrt(len(v) / (len(v) - 1) * float(spread @ spread))

    def confidence_interval(
        self,
        level: float = 0.95,
        *,
        method: str = "t",
        n_resamples: int = 9999,
        random_state: RandomStateLike = 0,
    ) -> tuple[float, float]:
        """Interval for the mean over queries like these.

        Parameters
        ----------
        level : float, default=0.95
        method : {"t", "bootstrap"}, default="t"
            By Student's t with Q − 1 degrees of freedom, or percentiles over resampled queries.
        n_resamples : int, default=9999
        random_state : int or Generator, default=0

        Returns
        -------
        low, high : float
            NaN for fewer than two queries.
        """
        require_choice("method", method, ("t", "bootstrap"))
        require_fraction("level", level)
        require_count("n_resamples", n_resamples)
        v, w = self._counted()
        if len(v) < 2 or np.isnan(v).any():
            return math.nan, math.nan
        if method == "t":
            mean, error = self.mean(), self.standard_error()
            reach = float(stats.t.isf(0.5 * (1.0 - level), len(v) - 1)) * error
            return mean - reach, mean + reach
        rng = np.random.default_rng(random_state)
        means = np.concatenate(
            [
                (w[drawn] * v[drawn]).sum(axis=1) / w[drawn].sum(axis=1)
                for count in blocks(n_resamples, len(v))
                for drawn in [rng.integers(len(v), size=(count, len(v)))]
            ]
        )
        low, high = np.quantile(means, [0.5 * (1.0 - level), 0.5 * (1.0 + level)])
        return float(low), float(high)

    def defined(self) -> QueryScores:
        """The queries whose value is a number and whose weight is positive."""
        return some_queries(self, ~np.isnan(self.values) & (self.weights > 0))

    def _counted(self) -> tuple[Vector, Vector]:
        """Values and weights of the queries of positive weight."""
        counted = self.weights > 0
        return self.values[counted], self.weights[counted]


def some_queries(scores: QueryScores, kept: Mask) -> QueryScores:
    """Those of the queries that are kept."""
    return QueryScores(tuple(compress(scores.ids, kept)), scores.values[kept], scores.weights[kept])


def query_metric(values_of: Callable[P, HasMean]) -> Callable[P, float]:
    """Make a metric, the mean over queries, from a function that returns `QueryScores`.

    The function stays at hand as the metric's attribute ``by_query``.
    """

    @functools.wraps(values_of)
    def metric(*args: P.args, **kwargs: P.kwargs) -> float:
        return values_of(*args, **kwargs).mean()

    signature = inspect.signature(values_of)
    metric.__signature__ = signature.replace(return_annotation="float")  # type: ignore[attr-defined]
    metric.by_query = values_of  # type: ignore[attr-defined]
    return metric


def is_loss(metric: Callable[P, float]) -> Callable[P, float]:
    """Mark a metric that falls with quality, so that scorers negate it."""
    metric.greater_is_better = False  # type: ignore[attr-defined]
    return metric


def settled(
    view: QueryRows, found: Vector, whole: Vector, empty: float | str, *, most: float = 1.0
) -> QueryScores:
    """Found over whole in each query, at most `most`; `empty` for a query without a whole."""
    if isinstance(empty, str) and empty != "skip":
        raise ValueError(f"empty must be a number or 'skip'; found {empty!r}.")
    defined = whole > 0
    fill = math.nan if isinstance(empty, str) else float(empty)
    # Found and whole are sums of the same numbers in different orders: the rest is rounding.
    share = np.minimum(found / np.where(defined, whole, 1.0), most)
    scores = QueryScores(view.ids, np.where(defined, share, fill), view.query_weights)
    return some_queries(scores, defined) if isinstance(empty, str) else scores


def blocks(repeats: int, size: int) -> Iterator[int]:
    """Repeats cut into parts that hold a bounded number of numbers at a time."""
    step = max(1, _BLOCK // size)
    for first in range(0, repeats, step):
        yield min(step, repeats - first)
