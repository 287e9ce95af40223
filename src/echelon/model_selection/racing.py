"""A race between models: which of them may still win, from their losses row by row.

A contest is a sequence of *steps* that every model takes in the same order: first looks, then all
rows of one fold after the other. After each step the models that cannot win any more stop; the rest
go on, so that those at the top are compared on the same folds.

Folds
    After a fold every model is compared with the best so far on the rows that both have predicted.
    Each row has one difference of losses, its mean over repeats; rows of one group are summed
    first. The variance of the mean over m tested rows gets the factor 1 + m / n of the corrected
    resampled t-test, n being the rows learnt from, because the folds share what they learn from. A
    model stops if the difference exceeds `CLEARLY` standard errors, which a model that is no worse
    does about once in 160 times. Differences over rows are far sharper than those over means of
    folds: most models stop after one fold.
Looks
    A large table is looked at through growing parts of one fold's training rows, each four times
    as large as the last (successive halving over rows). A model that is behind on few rows may be
    ahead on many, so it is judged by the least loss that it may come to: what the last growth of
    its rows has gained is taken to be gained again by every further one, times `LASTING`. It stops
    if even that is clearly more than what the best has already. The first look stops nobody.
Order
    What is decided at a step depends on the outcomes of that step and those before, for all models
    that are in the race, and not on when they came. So a contest that was killed and resumed ends
    as an undisturbed one, wherever no budget binds. Processes that would wait for a decision take
    further steps with the models that are likely to stay; what a model has done beyond the step
    at which it stopped is not shown.
Time
    `Schedule` knows about time: it withdraws models for which the budget has no time left, the best
    last. Baselines run all folds: they cost little, and say whether anything has been learnt.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, t

from .._utils.types import Codes, Index, Vector
from ..base.row_design import RowDesign
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import read_scale
from .experiment import Experiment, Outcome, held_out_rows
from .schedule import Step

#: Standard errors by which a model must be behind to stop.
CLEARLY = 2.5
#: Share of the last gain from more rows that the next growth is taken to bring, at the most.
LASTING = 0.7
#: Rows of the first look at the least, and the growth from look to look.
FIRST_ROWS, GROWTH = 1000, 4


def plan_steps(experiment: Experiment) -> tuple[Step, ...]:
    """Looks at one fold's rows where they are many, and all folds.

    That fold comes first: the first one, unless another, as the last of times, has more to learn
    from.
    """
    sizes = [len(training) for training, _ in experiment.splits]
    largest = int(np.argmax(sizes))
    first = largest if sizes[largest] > 1.1 * sizes[0] else 0
    looks, rows = [], sizes[first] // GROWTH
    while experiment.racing and rows >= FIRST_ROWS:
        looks.append(Step(first, rows))
        rows //= GROWTH
    others = [fold for fold in range(len(sizes)) if fold != first]
    return (*looks[::-1], *(Step(fold) for fold in (first, *others)))


class Difference(NamedTuple):
    """Mean loss of a model less that of another, and the least that is clearly more than none."""

    mean: float
    clear: float


def mean_difference(
    values: Vector, rows: Index, design: RowDesign, n_training: int, clearly: float = CLEARLY
) -> Difference:
    """Weighted mean of differences, one for each of these rows, and its standard errors.

    Examples
    --------
    >>> rows = np.arange(400)
    >>> found = mean_difference(np.tile([0.0, 1.0], 200), rows, RowDesign(), 1200)
    >>> round(found.mean, 3), round(found.clear, 3)
    (0.5, 0.073)
    """
    weights = np.ones(len(rows)) if design.weights is None else design.weights[rows]
    total = weights.sum()
    mean = float(weights @ values / total)
    parts: Vector = weights * (values - mean)
    if design.groups is not None:
        own = np.unique(design.groups[rows], return_inverse=True)[1]
        parts = np.bincount(own, parts).astype(np.float64)
    n = len(parts)
    if n < 2:
        return Difference(mean, math.inf)
    variance = (parts @ parts) * n / (n - 1) / total**2 * (1.0 + len(rows) / n_training)
    quantile = float(t.isf(norm.sf(clearly), n - 1))
    return Difference(mean, quantile * math.sqrt(variance))


@dataclass(frozen=True)
class Stop:
    """Where a model has left the race, and how much more than the best it lost up to there."""

    step: int
    behind: float
    withdrawn: bool = False


class Race:
    """Who is in the race.

    Parameters
    ----------
    experiment : Experiment
        Without its `racing`, nobody stops.
    """

    def __init__(self, experiment: Experiment) -> None:
        self.steps = plan_steps(experiment)
        self.stopped: dict[str, Stop] = {}
        self._experiment = experiment
        self._place = {step: i for i, step in enumerate(self.steps)}
        self._in = list(experiment.entries)
        self._kept = {n for n, e in experiment.entries.items() if e.group == "baseline"}
        scale, self._truth = read_scale(experiment.y, experiment.classes)
        cost = "absolute" if experiment.cost is None else experiment.cost
        self._cost = cost_matrix(cost, scale.n_classes)
        self._codes: dict[tuple[str, int], Codes] = {}
        self._rows: dict[Step, Index] = {}
        self._at = 0

    def record(self, outcome: Outcome) -> None:
        """An outcome has come; it counts when its step is settled."""
        if outcome.codes is not None:
            self._codes[outcome.model, self._place[outcome.step]] = outcome.codes

    def leave(self, model: str, *, withdrawn: bool = False) -> None:
        """A model takes no further part: it has failed, or there is no time for it."""
        if model not in self._in:
            return
        last = self._at - 1
        self._in.remove(model)
        if withdrawn and last >= 0 and self._in:
            behind = self._against(model, self._best(self._in, last), last).mean
            self.stopped[model] = Stop(last, behind, withdrawn=True)

    def settle(self) -> list[str]:
        """Decide every step that all in the race have taken; the models that stop."""
        gone: list[str] = []
        while self._at < len(self.steps) and self._in and self._have_taken(self._at):
            if self._experiment.racing:
                gone += self._stop_at(self._at)
            self._at += 1
        return gone

    def likely(self) -> list[str]:
        """Models in the race that are not clearly behind, from what has come; the best first."""
        here = min(self._at, len(self.steps) - 1)
        known = [m for m in self._in if (m, here) in self._codes]
        if not known and here:
            here -= 1
            known = [m for m in self._in if (m, here) in self._codes]
        if not self._experiment.racing or not known:
            return list(self._in)
        best = self._best(known, here)
        known = [m for m in known if m == best or not self._is_behind(m, best, here)]
        return sorted(known, key=lambda model: self._mean(model, here))

    def counts(self, outcome: Outcome) -> bool:
        """Whether an outcome is shown: its model had not stopped before."""
        stop = self.stopped.get(outcome.model)
        return stop is None or self._place[outcome.step] <= stop.step

    def _have_taken(self, step: int) -> bool:
        return all((model, step) in self._codes for model in self._in)

    def _stop_at(self, step: int) -> list[str]:
        best = self._best(self._in, step)
        gone = [
            model
            for model in self._in
            if model != best and model not in self._kept and self._is_behind(model, best, step)
        ]
        for model in gone:
            self.stopped[model] = Stop(step, self._against(model, best, step).mean)
            self._in.remove(model)
        return gone

    def _best(self, models: Sequence[str], step: int) -> str:
        return min(models, key=lambda model: self._mean(model, step))

    def _mean(self, model: str, step: int) -> float:
        rows, losses = self._losses(model, step)
        weights = self._experiment.design.weights
        return float(np.average(losses, weights=None if weights is None else weights[rows]))

    def _is_behind(self, model: str, best: str, step: int) -> bool:
        """Whether a model is clearly behind, and will be, whatever more rows may bring."""
        if self.steps[step].rows is None:
            found = self._against(model, best, step)
        elif step == 0:
            return False
        else:
            rows, losses = self._losses(model, step)
            gain = self._losses(model, step - 1)[1] - losses
            further = sum(s.rows is not None for s in self.steps) - step
            hoped = sum(LASTING**i for i in range(1, further + 1)) * gain
            values = losses - (hoped if hoped.mean() > 0.0 else 0.0)
            found = self._difference(values - self._losses(best, step)[1], rows, step)
        return found.mean > found.clear

    def _against(self, model: str, other: str, step: int) -> Difference:
        rows, losses = self._losses(model, step)
        return self._difference(losses - self._losses(other, step)[1], rows, step)

    def _difference(self, values: Vector, rows: Index, step: int) -> Difference:
        training = self._experiment.splits[self.steps[step].fold][0]
        return mean_difference(values, rows, self._experiment.design, len(training))

    def _losses(self, model: str, step: int) -> tuple[Index, Vector]:
        """Rows tested up to a step, and mean loss of each; of the step alone where it is a look."""
        here = self.steps[step]
        if here.rows is not None:
            rows = self._held_out_rows(here)
            return rows, self._cost[self._truth[rows], self._codes[model, step]]
        sums, counts = np.zeros((2, len(self._truth)))
        for i, earlier in enumerate(self.steps[: step + 1]):
            if earlier.rows is None:
                rows = self._held_out_rows(earlier)
                sums[rows] += self._cost[self._truth[rows], self._codes[model, i]]
                counts[rows] += 1.0
        rows = np.flatnonzero(counts)
        return rows, sums[rows] / counts[rows]

    def _held_out_rows(self, step: Step) -> Index:
        if step not in self._rows:
            self._rows[step] = held_out_rows(self._experiment, step)
        return self._rows[step]
