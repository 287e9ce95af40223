"""Which step of which model is run next, so that a time budget is well spent.

A step is taken by all models before the next one begins, except that processes that would be idle
go on with the models that are likely to stay. The first step is taken by the quick models first, so
that there are figures early; after it the slow ones go first, so that none is waited for at the
end. When a step begins for which the budget cannot last, models are withdrawn: those that are best
so far stay, as many as there is time for.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from numbers import Real
from statistics import median

#: Least seconds that a task may take before it is given up.
LEAST_LIMIT = 5.0
#: Part of the budget that tasks which were meant to fit may take longer.
GRACE = 0.1
#: Part of the budget, and of a model's share of it, that one look at few rows may take.
_LOOK = 0.25
#: How the seconds of a task grow with its rows where one size was measured, and the bounds of that
#: where two were.
_GROWTH, _GROWTHS = 0.7, (0.5, 2.5)
#: How much longer a fold takes than a look at as many rows, since it finds probabilities too.
_WHOLE = 2.0
#: Folds that the models that stay should have at the least, if the budget allows it.
_FEW_FOLDS = 5
#: Part of the time left that the first of the models may take for these.
_LEADING = 0.5


@dataclass(frozen=True)
class Step:
    """A fold, or a look at it with so many of its training rows."""

    fold: int
    rows: int | None = None


@dataclass(frozen=True)
class FoldTask:
    """One fold of one model, or a look at one.

    Parameters
    ----------
    model : str
    fold : int
    limit : float or None
        Seconds after which it is given up.
    search : bool
        Whether settings are searched; not after a search that took too long.
    rows : int or None
        Training rows of a look; None for all of them.
    """

    model: str
    fold: int
    limit: float | None = None
    search: bool = True
    rows: int | None = None

    @property
    def step(self) -> Step:
        """The step of the model that it is."""
        return Step(self.fold, self.rows)


@dataclass
class _Standing:
    """What is known of one model."""

    missing: list[int]
    running: dict[int, float] = field(default_factory=dict)
    seconds: dict[int | None, list[float]] = field(default_factory=dict)
    done: int = 0
    search: bool = True
    is_out: bool = False


class Schedule:
    """Hands out tasks until the work or the time is at its end.

    Parameters
    ----------
    models : sequence of str
        Those that are likely to be quick first.
    steps : sequence of Step
        What every model is meant to do, in this order.
    budget : float, optional
        Seconds; no end by default.
    jobs : int
        Tasks that run at a time.
    finished : collection of (model, Step), optional
        What need not be run.
    training_rows : int
        Rows that a whole fold is learnt from, which tells what it takes longer than a look.
    withdraws : bool
        Whether models leave where the budget cannot last for all of them.
    clock : callable
        Seconds that pass.

    Attributes
    ----------
    likely : list of str
        Models that are likely to stay, the best first.
    reserve : float
        Seconds of the budget that are kept for what comes after.
    withdrawn : dict from model to float
        Models for which there is no time left, and the seconds that their next step would take.
    """

    def __init__(
        self,
        models: Sequence[str],
        steps: Sequence[Step],
        budget: float | None = None,
        jobs: int = 1,
        finished: Collection[tuple[str, Step]] = (),
        *,
        training_rows: int = 0,
        withdraws: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if budget is not None and not (isinstance(budget, Real) and float(budget) > 0.0):
            raise ValueError(f"budget must be a positive number of seconds; found {budget!r}.")
        self.jobs, self._clock, self._started = jobs, clock, clock()
        self._budget = math.inf if budget is None else float(budget)
        self._steps, self._training_rows = tuple(steps), training_rows
        self._standings = {
            m: _Standing([i for i, step in enumerate(steps) if (m, step) not in finished])
            for m in models
        }
        self._reused = sum(m in self._standings and s in self._steps for m, s in finished)
        self._begun: int | None = None
        self._withdraws = withdraws
        self.likely, self.reserve = list(models), 0.0
        self.withdrawn: dict[str, float] = {}

    def next(self) -> FoldTask | None:
        """The next task, which counts as started; None if no task fits into the time left."""
        now, current = self._clock(), self._current()
        if current is None:
            return None
        if current != self._begun:
            self._begun = current
            self._withdraw(current, now)
        for model in self._in_order(current, now):
            step = self._standings[model].missing[0]
            if now + (self._estimate(model, step, now) or 0.0) < self._end or self._is_first():
                return self._start(model, now)
        return None

    def finish(self, task: FoldTask, seconds: float) -> None:
        """A task is done and took so many seconds, without a search that was given up."""
        standing = self._standings[task.model]
        standing.running.pop(self._steps.index(task.step))
        standing.seconds.setdefault(task.rows, []).append(seconds)
        standing.done += 1

    def stop_searching(self, model: str) -> None:
        """No more search for the model: one took too long."""
        self._standings[model].search = False

    def drop(self, task: FoldTask) -> None:
        """A task failed or took too long, and its model gets no more of them."""
        self._standings[task.model].running.pop(self._steps.index(task.step), None)
        self.stop(task.model)

    def stop(self, model: str) -> None:
        """A model gets no more tasks."""
        self._standings[model].is_out = True

    def needs(self, task: FoldTask) -> bool:
        """Whether the outcome of a task that runs still counts."""
        return not self._standings[task.model].is_out

    def fold_seconds(self, model: str) -> float:
        """What a whole fold of a model takes; 0 before any of its tasks was measured."""
        return self._estimate(model, len(self._steps) - 1, self._clock()) or 0.0

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._started

    @property
    def done(self) -> int:
        """Tasks done, those that need not be run among them."""
        return self._reused + sum(s.done for s in self._standings.values())

    @property
    def total(self) -> int:
        """Tasks done or to be done by the models that have not stopped; it never rises."""
        return self.done + sum(
            len(s.running) + len(s.missing) for s in self._standings.values() if not s.is_out
        )

    @property
    def seconds_left(self) -> float | None:
        """Seconds to the end at the most, if nobody stops; None where nothing tells.

        Until every model was measured once, that is what the budget has left.
        """
        now = self._clock()
        left = max(0.0, self._end - now)
        work = 0.0
        for model, standing in self._standings.items():
            if standing.is_out or not (standing.missing or standing.running):
                continue
            if not standing.seconds:
                return None if math.isinf(left) else left
            for step in (*standing.running, *standing.missing):
                seconds = self._estimate(model, step, now) or 0.0
                # What runs has a part of it behind it.
                begun = standing.running.get(step)
                work += seconds if begun is None else max(0.0, seconds - (now - begun))
        return max(0.0, min(work / self.jobs, left))

    @property
    def patience(self) -> float | None:
        """Seconds to wait for tasks that run before they are abandoned; None without a budget."""
        if math.isinf(self._budget):
            return None
        return max(0.0, (self._end - self._started) * (1.0 + GRACE) - self.elapsed)

    @property
    def _end(self) -> float:
        return self._started + max(0.0, self._budget - self.reserve)

    def _is_first(self) -> bool:
        """Whether nothing was begun yet; the quickest model is measured whatever the budget."""
        return not self.done and not any(s.running for s in self._standings.values())

    def _in(self) -> list[str]:
        return [model for model, s in self._standings.items() if not s.is_out]

    def _current(self) -> int | None:
        """The step that not all have taken."""
        open_steps = [
            min((*s.running, *s.missing))
            for s in self._standings.values()
            if not s.is_out and (s.running or s.missing)
        ]
        return min(open_steps, default=None)

    def _in_order(self, current: int, now: float) -> list[str]:
        """Models that wait for a task, whose turn is first; a model runs ahead if it may stay."""
        rank = {model: i for i, model in enumerate(self.likely)}
        waiting = [m for m in self._in() if self._standings[m].missing]
        waiting = [m for m in waiting if self._standings[m].missing[0] == current or m in rank]

        def place(model: str) -> tuple[int, float]:
            step = self._standings[model].missing[0]
            if step > current:
                return step, rank[model]
            return step, -(self._estimate(model, step, now) or 0.0) if current else 0.0

        return sorted(waiting, key=place)

    def _start(self, model: str, now: float) -> FoldTask:
        standing = self._standings[model]
        step = standing.missing.pop(0)
        standing.running[step] = now
        fold, rows = self._steps[step].fold, self._steps[step].rows
        return FoldTask(model, fold, self._limit(model, step, now), standing.search, rows)

    def _limit(self, model: str, step: int, now: float) -> float | None:
        if math.isinf(self._budget):
            return None
        known = self._estimate(model, step, now) or 0.0
        left = (self._end - self._started) * (1.0 + GRACE) - self.elapsed
        return min(max(self._share(step), LEAST_LIMIT, 3.0 * known), max(left, LEAST_LIMIT))

    def _share(self, step: int) -> float:
        """Seconds that a task may take: the budget, for each model in the race."""
        share = (self._end - self._started) * self.jobs / max(1, len(self._in()))
        return share * (1.0 if self._steps[step].rows is None else _LOOK)

    def _estimate(self, model: str, step: int, now: float) -> float | None:
        """Seconds of a step: the median of its like, or what fewer rows took and would grow to.

        A task that something else on the machine has held up says little about the next.
        """
        standing, rows = self._standings[model], self._steps[step].rows
        if standing.seconds.get(rows):
            return median(standing.seconds[rows])
        sizes = sorted(size for size in standing.seconds if size is not None)
        alike = [now - t for i, t in standing.running.items() if self._steps[i].rows == rows]
        if not sizes:
            return max(alike) if alike else None
        last = median(standing.seconds[sizes[-1]])
        growth = _GROWTH
        if len(sizes) > 1:
            before = max(median(standing.seconds[sizes[-2]]), 1e-3)
            ratio = math.log(max(last, 1e-3) / before) / math.log(sizes[-1] / sizes[-2])
            growth = min(max(ratio, _GROWTHS[0]), _GROWTHS[1])
        wanted = self._training_rows if rows is None else rows
        grown = last * max(1.0, wanted / sizes[-1]) ** growth
        return max([grown * (_WHOLE if rows is None else 1.0), *alike])

    def _withdraw(self, current: int, now: float) -> None:
        """Where the budget cannot last, keep the best for which there is time."""
        if math.isinf(self._budget) or not current or not self._withdraws:
            return
        rank = {model: i for i, model in enumerate(self.likely)}
        alive = sorted(self._in(), key=lambda m: rank.get(m, len(rank)))
        if self._steps[current].rows is not None:
            kept = self._that_look(alive, current, now)
        else:
            kept = self._that_fit(alive, current, now)
        for model in alive:
            if model not in kept and self._standings[model].missing:
                self.withdrawn[model] = self._estimate(model, current, now) or 0.0
                self.stop(model)

    def _that_look(self, alive: Sequence[str], current: int, now: float) -> list[str]:
        """Models that are quick at a look, and the best of the others."""
        seconds = {m: self._estimate(m, current, now) or 0.0 for m in alive}
        share = max(self._share(current), LEAST_LIMIT)
        left = _LOOK * max(0.0, self._end - now) * self.jobs
        left -= sum(s for s in seconds.values() if s <= share)
        kept = []
        for model in alive:
            if seconds[model] <= share:
                kept.append(model)
            elif seconds[model] <= left:
                kept.append(model)
                left -= seconds[model]
        return kept or list(alive[:1])

    def _that_fit(self, alive: Sequence[str], current: int, now: float) -> list[str]:
        """The best models whose next few folds fit into the time left, together.

        A model that has two folds stays, and ends with as many as fit.
        """
        left = max(0.0, self._end - now) * self.jobs
        seconds = {m: self._estimate(m, current, now) or 0.0 for m in alive}
        looks = sum(step.rows is not None for step in self._steps)
        if current > looks + 1:
            return list(alive)
        few = min(looks + _FEW_FOLDS, len(self._steps)) - current
        while few > 1 and seconds[alive[0]] * few > _LEADING * left:
            few -= 1
        kept = []
        for model in alive:
            # Folds that a model is ahead with are done.
            ahead = len(self._steps) - current - len(self._standings[model].missing)
            needed = seconds[model] * max(0, few - ahead)
            if needed <= left:
                kept.append(model)
                left -= needed
        return kept
