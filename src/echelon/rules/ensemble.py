"""Rules that add up to scores, and fewer rules for a fitted ensemble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from .._utils.state import WithoutCaches, are_indices, is_ascending, require_state
from .._utils.types import Codes, Matrix, Vector
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import monotone_exceedance
from ..ordinal.thresholds import level_of_threshold, margins
from ..solvers.rules.bodies import (
    Body,
    Interval,
    Membership,
    RuleTable,
    covers,
    tabulate_rules,
)
from ..solvers.rules.losses import RuleLoss
from ..solvers.rules.rank_rules import ClassWeights, RuleRound, replay
from ..solvers.rules.sparse import sparse_refit
from .columns import InputColumns

# Conditions on an input times cuts of it: bytes of the table that scores rows, or half of them.
_MOST_CELLS = 2**30

Stage = Sequence[RuleRound | None]


@dataclass(frozen=True)
class RuleEnsemble(WithoutCaches):
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

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, make no rules."""
        listed = isinstance(self.bodies, tuple) and isinstance(self.stages, tuple)
        require_state(listed and all(map(_is_body, self.bodies)), "a rule has no conditions")
        M = len(self.bodies)
        for name in ("responses", "losses"):
            values = getattr(self, name)
            fits = isinstance(values, np.ndarray) and values.shape == (M,)
            require_state(
                fits and np.isfinite(values).all(), f"its {name} are not as many as rules"
            )
        shares = self.class_shares
        require_state(
            isinstance(shares, np.ndarray) and shares.ndim == 2 and len(shares) == M,
            "its shares of classes are not as many as rules",
        )
        ascend = is_ascending(self.start) and len(self.stages) == M
        same = ascend and all(is_ascending(stage, len(self.start)) for stage in self.stages)
        require_state(same, "its thresholds do not ascend")
        conditions = Counter(condition.feature for body in self.bodies for condition in body)
        cells = sum(count**2 for count in conditions.values())
        require_state(cells <= _MOST_CELLS, "its rules are too many for a table")

    @property
    def features(self) -> set[int]:
        """Inputs that its rules ask about."""
        return {condition.feature for body in self.bodies for condition in body}

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

    def rounds(self) -> Iterator[RuleRound]:
        """The rules one after another, with shares of all weight in place of weights."""
        parts = self.responses.tolist(), self.class_shares, self.losses.tolist(), self.stages
        return map(RuleRound, self.bodies, *parts)


def _is_body(value: object) -> bool:
    if not isinstance(value, tuple) or not value:
        return False
    return all(isinstance(part, Interval | Membership) for part in value)


@dataclass(frozen=True)
class Levels:
    """The levels of a scale that occur in the training rows.

    ``joint`` says whether one score is cut by all thresholds, or every threshold has a score of its
    own, whose probabilities are made to fall from threshold to threshold.
    """

    observed: Codes
    n_classes: int
    joint: bool

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, are no levels."""
        K = self.n_classes
        require_state(type(K) is int and K >= 2 and type(self.joint) is bool, "no scale")
        places = isinstance(self.observed, np.ndarray) and self.observed.ndim == 1
        ascend = places and are_indices(self.observed, K) and (np.diff(self.observed) > 0).all()
        require_state(ascend and len(self.observed) >= 2, "its levels do not ascend")

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


class GrowingScores:
    """Scores of rows to which rules are added, a score for each ensemble.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    starts : sequence of ndarray
        Thresholds of the score 0 of each ensemble.
    """

    def __init__(self, X: Matrix, starts: Sequence[Vector]) -> None:
        self._X = X
        self._scores = [np.zeros(len(X)) for _ in starts]
        self._thresholds = list(starts)

    def add(self, stage: Stage) -> Matrix:
        """Margins with one more rule in each ensemble that has one."""
        for m, found in enumerate(stage):
            if found is not None:
                self._scores[m] += found.response * covers(found.body, self._X)
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


# On the responses in units of the deviation that they give the score, beside ln of the mean loss:
# where rules make no error, the score of a rule deviates by no more than about the inverse.
_RIDGE = 1e-2


@dataclass(frozen=True)
class Pruning:
    """What became of a model by pruning.

    Parameters
    ----------
    n_before, n_after : int
        Rules.
    error_before, error_after : float
        Mean absolute error on the rows that the rules were chosen by.
    violation, selection_violation : float
        The most by which the responses of the rules kept violate the conditions of their optimum,
        and by which those of all rules violated them where the choice was made.
    """

    n_before: int
    n_after: int
    error_before: float
    error_after: float
    violation: float
    selection_violation: float

    def __str__(self) -> str:
        return (
            f"{self.n_after} of {self.n_before} rules; mean absolute error {self.error_before:.3f} "
            f"with all and {self.error_after:.3f} with those kept."
        )


@dataclass(frozen=True)
class KeptRules:
    """Rules of a pruned ensemble, the most important first, and thresholds of the score 0."""

    rounds: list[RuleRound]
    start: Vector
    violation: float = 0.0
    selection_violation: float = 0.0


def kept_rules(
    ensemble: RuleEnsemble,
    loss: RuleLoss,
    n: int,
    data: OrdinalData,
) -> KeptRules:
    """The rules of an ensemble that matter most to a loss of the data at the score 0."""
    merged: dict[Body, float] = {}
    for body, response in zip(ensemble.bodies, ensemble.responses, strict=True):
        merged[body] = merged.get(body, 0.0) + float(response)
    bodies = list(merged)
    if not bodies:
        return KeptRules([], loss.thresholds)
    coverage = np.column_stack([covers(body, data.X) for body in bodies])
    start = np.array(list(merged.values()))
    fit = sparse_refit(coverage, loss.refit_loss(), start, n, ridge=_RIDGE)
    loss.settle(coverage @ fit.responses)
    shares = data.sample_weight @ coverage[:, fit.kept] / data.sample_weight.sum()
    importance = np.abs(fit.responses[fit.kept]) * np.sqrt(shares * (1.0 - shares))
    order = fit.kept[np.argsort(-importance, kind="stable")]
    thresholds = loss.thresholds
    weigh = ClassWeights(data.codes, data.n_classes, data.sample_weight)
    rounds = replay(loss, [bodies[m] for m in order], fit.responses[order], data.X, weigh)
    return KeptRules(list(rounds), thresholds, fit.refit_violation, fit.selection_violation)
