"""Rules that add up to scores: one ensemble, or one for every threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from .._utils.types import Codes, Matrix, Vector
from ..base.validation import OrdinalData
from ..ordinal.reduction import monotone_exceedance
from ..ordinal.thresholds import all_levels, level_of_threshold, margins
from ..solvers.rules.bodies import Body, RuleTable, covers, tabulate_rules
from ..solvers.rules.rank_rules import RuleRound
from .columns import InputColumns

Stage = Sequence[RuleRound | None]


@dataclass(frozen=True)
class RuleEnsemble:
    """Rules in the order in which they were found, and thresholds for the sum of their responses.

    ``class_shares`` (M, K) has the share of the weight of all training rows that each rule covers,
    by class; ``losses`` and ``stages`` have the mean loss and the thresholds after every rule,
    ``start`` the thresholds of the score 0.
    """

    bodies: tuple[Body, ...]
    responses: Vector
    class_shares: Matrix
    losses: Vector
    stages: tuple[Vector, ...]
    start: Vector

    @classmethod
    def of(cls, rounds: Sequence[RuleRound | None], start: Vector, mass: Vector) -> RuleEnsemble:
        """From the rounds of boosting, without those that found no rule any more.

        ``mass`` is the weight of the training rows of each class.
        """
        made = [found for found in rounds if found is not None]
        covered = [found.class_weights for found in made]
        return cls(
            tuple(found.body for found in made),
            np.array([found.response for found in made]),
            np.array(covered).reshape(len(made), len(mass)) / mass.sum(),
            np.array([found.loss for found in made]),
            tuple(found.thresholds for found in made),
            start,
        )

    @property
    def thresholds(self) -> Vector:
        """Of the whole score."""
        return self.stages[-1] if self.stages else self.start

    @cached_property
    def table(self) -> RuleTable:
        """The rules in a form that scores rows fast."""
        return tabulate_rules(self.bodies, self.responses)

    def margins(self, X: Matrix) -> Matrix:
        """Score minus thresholds."""
        return margins(self.table(X), self.thresholds)

    def staged_margins(self, X: Matrix) -> Iterator[Matrix]:
        """The same after every rule; always the same array of scores underneath."""
        scores = np.zeros(len(X))
        for body, response, thresholds in zip(
            self.bodies, self.responses, self.stages, strict=True
        ):
            scores += response * covers(body, X)
            yield margins(scores, thresholds)


@dataclass(frozen=True)
class Levels:
    """The levels of a scale that occur in the training rows.

    ``joint`` says whether one score is cut by all thresholds, or every threshold has a score of its
    own, whose probabilities are made to fall from threshold to threshold.
    """

    observed: Codes
    n_classes: int
    joint: bool

    def thresholds(self, found: Vector) -> Vector:
        """Thresholds of the whole scale; ∓∞ next to levels that do not occur."""
        return all_levels(found, self.observed, self.n_classes)

    def margins(self, found: Matrix) -> Matrix:
        """Margins of the whole scale from those between levels that occur."""
        if not self.joint:
            found = 0.5 * logit(monotone_exceedance(expit(2.0 * found)))
        if len(self.observed) == self.n_classes:
            return found
        framed = np.empty((len(found), found.shape[1] + 2))
        framed[:, 0], framed[:, 1:-1], framed[:, -1] = np.inf, found, -np.inf
        return framed[:, level_of_threshold(self.observed, self.n_classes)]


class RuleModel(NamedTuple):
    """What the predictions of a fitted model of rules are computed from.

    ``ensembles`` are one for all thresholds, or one for each, by ``levels``; ``columns`` turn
    inputs into the numbers that conditions are about.
    """

    ensembles: Sequence[RuleEnsemble]
    levels: Levels
    columns: InputColumns


class HeldOutError:
    """The error on held-out rows after each stage.

    Parameters
    ----------
    data : OrdinalData
        The held-out rows.
    starts : sequence of ndarray
        Thresholds of the score 0 of each ensemble.
    levels : Levels
    absolute : bool
        Whether the score is meant to be the rank, and the error is how far it is off; else it is
        the ranked probability score.
    """

    def __init__(
        self, data: OrdinalData, starts: Sequence[Vector], levels: Levels, *, absolute: bool
    ) -> None:
        self._data = data
        self._scores = [np.zeros(len(data.codes)) for _ in starts]
        self._thresholds = list(starts)
        self._levels = levels
        self._absolute = absolute

    def __call__(self, stage: Stage) -> float:
        """The error with one more rule in each ensemble."""
        G = self._levels.margins(self._margins(stage))
        codes = self._data.codes
        if self._absolute:
            # The thresholds lie midway between ranks, so a margin is a rank but for a constant.
            errors = np.abs(G[:, 0] + 0.5 - codes)
        else:
            above = codes[:, None] > np.arange(G.shape[1])
            errors = ((expit(2.0 * G) - above) ** 2).mean(axis=1)
        return float(np.average(errors, weights=self._data.sample_weight))

    def _margins(self, stage: Stage) -> Matrix:
        for m, found in enumerate(stage):
            if found is not None:
                self._scores[m] += found.response * covers(found.body, self._data.X)
                self._thresholds[m] = found.thresholds
        parts = zip(self._scores, self._thresholds, strict=True)
        return np.hstack([margins(scores, cuts) for scores, cuts in parts])


def beside(columns: Sequence[Vector]) -> Matrix:
    """Columns that may end early, with NaN below.

    Examples
    --------
    >>> beside([np.array([1.0, 2.0]), np.array([3.0])])
    array([[ 1.,  3.],
           [ 2., nan]])
    """
    table = np.full((max(map(len, columns)), len(columns)), np.nan)
    for k, column in enumerate(columns):
        table[: len(column), k] = column
    return table


def carried_on(columns: Sequence[Vector]) -> Matrix:
    """Columns that may end early and then keep their last value; those of nothing are left out.

    Examples
    --------
    >>> carried_on([np.array([1.0, 2.0]), np.array([3.0]), np.array([])])
    array([[1., 3.],
           [2., 3.]])
    """
    length = max(map(len, columns))
    filled = [np.pad(part, (0, length - len(part)), "edge") for part in columns if len(part)]
    return np.column_stack(filled) if filled else np.zeros((0, 1))
