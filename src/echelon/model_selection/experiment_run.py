"""Entries on the same folds: what is run, what is kept of it, and the table that it gives."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._utils.messages import warn_caller
from ..ordinal.labels import read_scale
from .experiment import Experiment, Outcome, OutcomeStore, held_out_rows
from .leaderboard import SHOWN, Leaderboard, LeaderboardRow
from .racing import Race
from .schedule import FoldTask, Schedule
from .workers import count_jobs, run_tasks


@dataclass(frozen=True)
class ContestProgress:
    """How far a contest is.

    Parameters
    ----------
    done, total : int
        Folds of models; the total is what is to come if no more of them stop, and never rises.
    elapsed : float
        Seconds since the start.
    seconds_left : float or None
        At the most, as far as can be foretold; None where nothing tells.
    latest : Outcome or None
        What has just been finished; None at the start.
    board : Leaderboard
        The table so far.
    """

    done: int
    total: int
    elapsed: float
    seconds_left: float | None
    latest: Outcome | None
    board: Leaderboard


class ExperimentRun:
    """Entries on the same folds, with the outcomes so far.

    Parameters
    ----------
    experiment : Experiment
    store : path, optional
        File of finished tasks. Those of this contest are taken over, and new ones are added. One
        that cannot be used is a warning, not the end of the contest.
    fresh : bool
        Whether to forget what the store holds.

    Attributes
    ----------
    reused, foreign : int
        Tasks taken over from the store, and its lines that belong to other contests or entries.
    """

    def __init__(
        self, experiment: Experiment, store: Path | str | None = None, *, fresh: bool = False
    ) -> None:
        self.experiment = experiment
        self._scale, self._truth = read_scale(experiment.y, experiment.classes)
        self._store = None if store is None else OutcomeStore(store, experiment)
        kept, self.foreign = self._open(fresh)
        self.reused = len(kept)
        self._outcomes = {(outcome.model, outcome.step): outcome for outcome in kept}
        self._errors: dict[str, str] = {}
        self._unsearched: set[str] = {o.model for o in kept if o.search_given_up}
        self._race = Race(experiment)
        self._has_ended = False

    def run(
        self,
        *,
        budget: float | None = None,
        n_jobs: int | None = None,
        reserve: Callable[[float], float] | None = None,
        executor: Executor | None = None,
    ) -> Generator[ContestProgress, None, None]:
        """Run what is missing, and tell about every task.

        `reserve` gives the seconds of the budget that are to be left, from those that a fold of
        the best model takes.
        """
        schedule = Schedule(
            list(self.experiment.entries),
            self._race.steps,
            budget,
            count_jobs(n_jobs, executor),
            self._outcomes,
            training_rows=len(self.experiment.splits[self._race.steps[0].fold][0]),
            withdraws=self.experiment.racing,
        )
        for outcome in self._outcomes.values():
            self._race.record(outcome)
        self._settle(schedule)
        yield self._progress(schedule, None)
        with closing(run_tasks(self.experiment, schedule, executor)) as finished:
            for task, outcome in finished:
                self._take(schedule, task, outcome)
                progress = self._progress(schedule, outcome)
                if reserve is not None and progress.board.rows:
                    best = schedule.fold_seconds(progress.board.best_)
                    schedule.reserve = reserve(best)
                yield progress
        self._has_ended = True

    def _take(self, schedule: Schedule, task: FoldTask, outcome: Outcome) -> None:
        if outcome.search_given_up:
            schedule.stop_searching(task.model)
            self._unsearched.add(task.model)
        if outcome.error:
            schedule.drop(task)
            self._race.leave(task.model)
            self._errors[task.model] = outcome.error
        else:
            schedule.finish(task, outcome.seconds)
            self._keep(outcome)
            self._race.record(outcome)
        self._settle(schedule)

    def _settle(self, schedule: Schedule) -> None:
        """Tell race and schedule of each other."""
        for model in schedule.withdrawn:
            self._race.leave(model, withdrawn=True)
        for model in self._race.settle():
            schedule.stop(model)
        schedule.likely = self._race.likely()

    def board(self) -> Leaderboard:
        """The table of what has been finished."""
        sizes = np.mean([[len(rows) for rows in split] for split in self.experiment.splits], axis=0)
        found = {name: self._row(name) for name in self.experiment.entries}
        return Leaderboard.of(
            [row for row in found.values() if row is not None],
            "mae" if self.experiment.cost is None else "cost",
            sizes=(round(sizes[0]), round(sizes[1])),
            planned=len(self.experiment.splits),
            failures=self._failures([name for name, row in found.items() if row is None]),
            how=self.experiment.how,
            labels=self._scale,
            truth=self._truth,
            design=self.experiment.design,
            cost=self.experiment.cost,
        )

    def row(self, model: str) -> LeaderboardRow | None:
        """A model's row once all its folds are done."""
        row = self._row(model)
        return row if row is not None and row.n_folds == len(self.experiment.splits) else None

    def _open(self, fresh: bool) -> tuple[list[Outcome], int]:
        if self._store is None:
            return [], 0
        try:
            if fresh:
                self._store.clear()
            return self._store.read()
        except OSError as error:
            self._lose_store(self._store, error)
            return [], 0

    def _failures(self, without_figures: list[str]) -> dict[str, str]:
        unseen = "The budget ended before its first fold." if self._has_ended else ""
        found = {name: self._errors.get(name, unseen) for name in without_figures}
        return {name: reason for name, reason in found.items() if reason}

    def _keep(self, outcome: Outcome) -> None:
        self._outcomes[outcome.model, outcome.step] = outcome
        if self._store is not None:
            try:
                self._store.append(outcome)
            except OSError as error:
                self._lose_store(self._store, error)

    def _lose_store(self, store: OutcomeStore, error: OSError) -> None:
        self._store = None
        warn_caller(
            f"Finished folds cannot be kept in {store.path}: {error.strerror or error}. An "
            "interrupted comparison cannot be resumed.",
            RuntimeWarning,
        )

    def _progress(self, schedule: Schedule, latest: Outcome | None) -> ContestProgress:
        folds, seconds = (schedule.done, schedule.total), (schedule.elapsed, schedule.seconds_left)
        return ContestProgress(*folds, *seconds, latest, self.board())

    def _row(self, model: str) -> LeaderboardRow | None:
        """Row of a model with an outcome at least; looks count until there is a whole fold."""
        found = [self._outcomes.get((model, step)) for step in self._race.steps]
        outcomes = [o for o in found if o is not None and self._race.counts(o)]
        outcomes = [o for o in outcomes if o.rows is None] or outcomes[-1:]
        if not outcomes:
            return None
        outcomes = sorted(outcomes, key=lambda outcome: outcome.fold)
        measures = [*SHOWN, *([] if self.experiment.cost is None else ["cost"])]
        folds = {m: np.full(len(self.experiment.splits), math.nan) for m in measures}
        for outcome in outcomes:
            for measure, value in outcome.figures.items():
                folds[measure][outcome.fold] = value
        stop = self._race.stopped.get(model)
        return LeaderboardRow(
            model,
            folds,
            float(np.mean([outcome.fit_seconds for outcome in outcomes])),
            tuple(dict(outcome.settings) for outcome in outcomes),
            self.experiment.entries[model].group,
            self._note(model, outcomes),
            tuple(
                (held_out_rows(self.experiment, o.step), o.codes, o.probabilities) for o in outcomes
            ),
            complexity=self.experiment.entries[model].complexity,
            behind=None if stop is None else stop.behind,
        )

    def _note(self, model: str, outcomes: list[Outcome]) -> str:
        notes, stop = [], self._race.stopped.get(model)
        rows = outcomes[-1].rows
        done = f"{len(outcomes)} fold{'s' if len(outcomes) > 1 else ''}"
        done = done if rows is None else f"a look at {rows:,} rows"
        if stop is not None and stop.withdrawn:
            side = "behind" if stop.behind > 0.0 else "ahead of the rest"
            notes.append(
                f"Stopped after {done}, {side} by {abs(stop.behind):.3f}: the budget has no time "
                "for more."
            )
        elif stop is not None:
            notes.append(f"Stopped after {done}: behind by {stop.behind:.3f}.")
        elif model in self._errors:
            notes.append(f"No more folds: {self._errors[model]}")
        if rows is not None and stop is None:
            notes.append(f"Learnt from {rows:,} rows of a fold only.")
        if model in self._unsearched:
            notes.append(
                "Settings are not searched, because that would take too much of the budget."
            )
        return " ".join(notes)
