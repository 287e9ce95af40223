"""Models that grow by rounds: rows held out, when to stop, and what they say at each stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import _safe_indexing

from .._utils.types import Codes, LabelsLike, MatrixLike, VectorLike
from ..ordinal.arrays import require_count, require_positive
from .mixins import OrdinalClassifierMixin
from .validation import OrdinalData


class StagedMixin(OrdinalClassifierMixin):
    """Labels and scores after every round, for estimators with ``_staged_codes(X)``.

    The estimator has the parameters ``n_iter_no_change``, ``validation_fraction``, ``tol`` and
    ``verbose``, and those that ``_most_rounds`` and ``_step_factor`` name.
    """

    _most_rounds = "n_estimators"
    _step_factor = "learning_rate"

    def _staged_codes(self, X: Any) -> Iterator[Codes]:
        raise NotImplementedError

    def staged_predict(self, X: MatrixLike) -> Iterator[Any]:
        """Labels after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)

        Yields
        ------
        labels : array of shape (n,)
        """
        for codes in self._staged_codes(X):
            yield self._scale.decode(codes)

    def staged_score(
        self, X: MatrixLike, y: LabelsLike, sample_weight: VectorLike | None = None
    ) -> Iterator[float]:
        """Negative mean cost after each round.

        Parameters
        ----------
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional

        Yields
        ------
        score : float
        """
        for codes in self._staged_codes(X):
            yield -self._mean_cost(codes, y, sample_weight)

    def _check_rounds(self) -> None:
        require_count(self._most_rounds, getattr(self, self._most_rounds))
        require_positive(self._step_factor, getattr(self, self._step_factor))
        check_patience(self.n_iter_no_change, self.validation_fraction)

    def _hold_out(
        self, data: OrdinalData, rng: np.random.RandomState
    ) -> tuple[Codes | None, Codes | None]:
        """Rows that train, None for all, and rows held out; rows without weight do neither."""
        rows = np.flatnonzero(data.sample_weight)
        if self.n_iter_no_change is None:
            return None if len(rows) == len(data.codes) else rows, None
        codes = data.codes[rows]
        n_held = max(1, round(self.validation_fraction * len(rows)))
        counts = np.bincount(codes)
        counts = counts[counts > 0]
        spread = counts.min() > 1 and len(counts) <= min(n_held, len(rows) - n_held)
        train, held = train_test_split(
            rows, test_size=n_held, random_state=rng, stratify=codes if spread else None
        )
        return np.sort(train), held

    def _report(self, n_rounds: int, figures: str) -> None:
        most = getattr(self, self._most_rounds)
        if is_reported(n_rounds, most, self.verbose):
            print_round(self, n_rounds, most, figures)


class Patience:
    """The cost after every round, and whether it has stopped to fall.

    Parameters
    ----------
    most : int
        Rounds to wait for a lower cost.
    tol : float
        Least fall that counts.

    Examples
    --------
    >>> patience = Patience(2, 0.0)
    >>> [patience.is_over(cost) for cost in (3.0, 2.0, 2.0, 2.5)]
    [False, False, False, True]
    >>> patience.best
    1
    """

    def __init__(self, most: int, tol: float) -> None:
        self._most = most
        self._tol = tol
        self.costs: list[float] = []
        self.best = 0

    def is_over(self, cost: float) -> bool:
        """Note the cost of one more round."""
        self.costs.append(cost)
        if cost < self.costs[self.best] - self._tol:
            self.best = len(self.costs) - 1
        return len(self.costs) - 1 - self.best >= self._most


def check_patience(n_iter_no_change: Any, validation_fraction: Any) -> None:
    """Refuse parameters of early stopping that make no sense."""
    if n_iter_no_change is None:
        return
    require_count("n_iter_no_change", n_iter_no_change)
    if not isinstance(validation_fraction, Real) or not 0.0 < float(validation_fraction) < 1.0:
        raise ValueError(
            f"validation_fraction must lie between 0 and 1; found {validation_fraction!r}."
        )


def is_reported(n_rounds: int, most: int, verbose: int) -> bool:
    """Whether this round is one of about ten that are printed."""
    return verbose > 0 and n_rounds % max(1, most // 10) == 0


def print_round(model: Any, n_rounds: int, most: int, figures: str) -> None:
    """Print what a round has brought."""
    print(f"{type(model).__name__}: round {n_rounds} of {most}, {figures}", flush=True)


def take_rows(data: OrdinalData, rows: Codes | None) -> OrdinalData:
    """Some of the rows, or all for None."""
    if rows is None:
        return data
    return replace(
        data,
        X=_safe_indexing(data.X, rows),
        codes=data.codes[rows],
        sample_weight=data.sample_weight[rows],
    )
