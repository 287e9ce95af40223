"""Which fold of which model is run next, so that a time budget is shared fairly.

Every model gets its first fold before any gets its second, quick models first. From what the folds
took, the budget is shared by max-min fairness: a model that needs less than an equal share gets all
its folds, and the rest is shared by the slower ones.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from numbers import Real
from statistics import median

#: Least seconds that a fold may take before it is given up.
LEAST_LIMIT = 5.0
#: Part of the budget that folds which were meant to fit may take longer.
GRACE = 0.1


@dataclass(frozen=True)
class FoldTask:
    """One fold of one model.

    Parameters
    ----------
    model : str
    fold : int
    limit : float or None
        Seconds after which it is given up.
    search : bool
        Whether settings are searched; not after a search that took too long.
    """

    model: str
    fold: int
    limit: float | None = None
    search: bool = True


@dataclass
class _Standing:
    """What is known of one model."""

    missing: list[int]
    running: dict[int, float] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    done: int = 0
    search: bool = True
    is_out: bool = False

    @property
    def wanted(self) -> int:
        """Folds done, running and to come."""
        return self.done + len(self.running) + (0 if self.is_out else len(self.missing))

    def estimate(self, now: float) -> float | None:
        """Seconds of a fold: the median so far, or what the first one has taken until now.

        A fold that something else on the machine has held up says little about the next.
        """
        if self.seconds:
            return median(self.seconds)
        return now - min(self.running.values()) if self.running else None


class Schedule:
    """Hands out tasks until the work or the time is at its end.

    Parameters
    ----------
    models : sequence of str
        Those that are likely to be quick first.
    n_folds : int
        Folds that every model is meant to have.
    budget : float, optional
        Seconds; no end by default.
    jobs : int
        Tasks that run at a time.
    finished : collection of (model, fold), optional
        Folds that need not be run.
    clock : callable
        Seconds that pass.
    """

    def __init__(
        self,
        models: Sequence[str],
        n_folds: int,
        budget: float | None = None,
        jobs: int = 1,
        finished: Collection[tuple[str, int]] = (),
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if budget is not None and not (isinstance(budget, Real) and float(budget) >= 0.0):
            raise ValueError(f"budget must be a number of seconds; found {budget!r}.")
        self.jobs, self._clock, self._started = jobs, clock, clock()
        self._budget = math.inf if budget is None else budget
        self._standings = {
            model: _Standing([f for f in range(n_folds) if (model, f) not in finished])
            for model in models
        }
        self._reused = sum(model in self._standings for model, _ in finished)

    def next(self) -> FoldTask | None:
        """The next task, which counts as started; None if no task fits into the time left."""
        now = self._clock()
        level = self._level(now)
        waiting = [m for m, s in self._standings.items() if s.missing and not s.is_out]

        def place(model: str) -> tuple[bool, int, float]:
            standing = self._standings[model]
            begun = standing.done + len(standing.running)
            is_over = begun >= self._quota(standing, level, now)
            return is_over, -len(standing.missing), standing.estimate(now) or 0.0

        for model in sorted(waiting, key=place):
            seconds = self._standings[model].estimate(now) or 0.0
            if now + seconds < self._started + self._budget:
                return self._start(model, now)
        return None

    def finish(self, task: FoldTask, seconds: float) -> None:
        """A task is done and took so many seconds, without a search that was given up."""
        standing = self._standings[task.model]
        del standing.running[task.fold]
        standing.seconds.append(seconds)
        standing.done += 1

    def stop_searching(self, model: str) -> None:
        """No more search for the model: one took too long."""
        self._standings[model].search = False

    def drop(self, task: FoldTask) -> None:
        """A task failed or took too long, and its model gets no more folds."""
        standing = self._standings[task.model]
        standing.running.pop(task.fold, None)
        standing.is_out = True

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
        """Tasks that will be done if folds take as long as they did."""
        return self.done + round(sum(count for count, _ in self._ahead()))

    @property
    def seconds_left(self) -> float | None:
        """Estimated seconds to the end; None before anything was measured."""
        if not any(s.seconds for s in self._standings.values()):
            return None
        work = sum(count * seconds for count, seconds in self._ahead()) / self.jobs
        return max(0.0, min(work, self._budget - self.elapsed))

    @property
    def patience(self) -> float | None:
        """Seconds to wait for tasks that run before they are abandoned; None without a budget."""
        if math.isinf(self._budget):
            return None
        return max(0.0, self._budget * (1.0 + GRACE) - self.elapsed)

    def _start(self, model: str, now: float) -> FoldTask:
        standing = self._standings[model]
        fold = standing.missing.pop(0)
        known = standing.estimate(now)
        standing.running[fold] = now
        limit = None
        if not math.isinf(self._budget):
            share = self._budget * self.jobs / len(self._standings)
            left = self._budget * (1.0 + GRACE) - self.elapsed
            limit = min(max(share, LEAST_LIMIT, 3.0 * (known or 0.0)), left)
        return FoldTask(model, fold, limit, standing.search)

    def _quota(self, standing: _Standing, level: float, now: float) -> float:
        """Folds of a model that its share of the budget pays for, one at least."""
        seconds = standing.estimate(now)
        if not seconds or math.isinf(level):
            return math.inf
        return max(1.0, level // seconds)

    def _level(self, now: float) -> float:
        """Seconds of work that a model may have."""
        left = self._budget * self.jobs
        needs = sorted((s.estimate(now) or 0.0) * s.wanted for s in self._standings.values())
        for position, need in enumerate(needs):
            share = left / (len(needs) - position)
            if need > share:
                return share
            left -= need
        return math.inf

    def _ahead(self) -> list[tuple[float, float]]:
        """Folds still to be done and seconds of each, by model."""
        now = self._clock()
        level = self._level(now)
        known = [median(s.seconds) for s in self._standings.values() if s.seconds]
        typical = sum(known) / len(known) if known else 0.0
        ahead = []
        for standing in self._standings.values():
            if standing.is_out:
                continue
            most = self._quota(standing, level, now) - standing.done - len(standing.running)
            count = len(standing.running) + max(0.0, min(len(standing.missing), most))
            ahead.append((count, standing.estimate(now) or typical))
        return ahead
