"""Units one after the other, or several at a time in processes that can be ended."""

from __future__ import annotations

import pickle
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing, contextmanager
from multiprocessing import resource_tracker
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import effective_n_jobs, wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

from .schedule import Schedule, Unit
from .units import Arena, Outcome, play

try:
    from joblib.externals.loky import ProcessPoolExecutor
except ImportError:  # joblib has begun to unbundle what it ships
    from loky import ProcessPoolExecutor

_DIED = "The process that ran it ended unexpectedly, perhaps for lack of memory."
_ABANDONED = "The budget ended while one of its folds was running."


def count_jobs(n_jobs: int | None) -> int:
    """Processes that ``n_jobs`` means, as in joblib."""
    if not (n_jobs is None or isinstance(n_jobs, Integral)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be an integer other than 0, or None; found {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def run_units(arena: Arena, schedule: Schedule) -> Iterator[tuple[Unit, Outcome]]:
    """Outcomes as they come; close the iterator to end what still runs."""
    if schedule.jobs == 1:
        while (unit := schedule.next()) is not None:
            yield unit, play(arena, unit)
        return
    with closing(_Crew(arena, schedule.jobs)) as crew:
        # Processes need seconds to start, in which this one has the first figures already. They
        # hold it up, so that its own time on a processor tells better what a fold takes.
        while not crew.is_there() and (unit := schedule.next()) is not None:
            with threadpool_limits(1):
                outcome = play(arena, unit, time.thread_time)
            yield unit, outcome
        yield from _run(crew, schedule)


def _run(crew: _Crew, schedule: Schedule) -> Iterator[tuple[Unit, Outcome]]:
    while True:
        crew.fill(schedule)
        if not crew.running:
            return
        done, _ = wait(crew.running, timeout=schedule.patience, return_when=FIRST_COMPLETED)
        if not done:
            for unit in (*crew.running.values(), *crew.suspects):
                yield unit, Outcome(unit.model, unit.fold, error=_ABANDONED)
            return
        yield from crew.collect(done)


class _Crew:
    """Worker processes that hold the arena, and the units that they run.

    When a process dies, all units that ran are suspects: they run again, one at a time, and the one
    with which a process dies again is to blame.
    """

    def __init__(self, arena: Arena, jobs: int) -> None:
        self._jobs = jobs
        self.running: dict[Any, Unit] = {}
        self.suspects: list[Unit] = []
        self._accused: Unit | None = None
        # A file, because what is handed over when a process starts is waited for if it is large.
        self._folder = TemporaryDirectory(prefix="echelon-")
        self._file = Path(self._folder.name) / "arena"
        # Classes of a notebook or script go with it.
        wrapped = wrap_non_picklable_objects(arena, keep_wrapper=False)
        self._file.write_bytes(pickle.dumps(wrapped))
        self._hire()

    def _hire(self) -> None:
        # What tracks resources lets interrupts through when it starts, so it starts first.
        self._executor = ProcessPoolExecutor(
            max_workers=self._jobs, initializer=_enter, initargs=(self._file,)
        )
        if sys.platform != "win32":
            resource_tracker.ensure_running()
        with _no_interrupts():
            self._greeting = self._executor.submit(_greet)

    def is_there(self) -> bool:
        """Whether a process has begun to work."""
        return bool(self._greeting.done())

    def fill(self, schedule: Schedule) -> None:
        """Start a suspect alone, or as many units as there are processes."""
        if self.suspects and not self.running:
            self._accused = self.suspects.pop(0)
            self._start(self._accused)
        while (
            self._accused is None
            and len(self.running) < self._jobs
            and (unit := schedule.next()) is not None
        ):
            self._start(unit)

    def _start(self, unit: Unit) -> None:
        try:
            future = self._executor.submit(_play, unit)
        except BrokenExecutor as error:
            # A process has died since the last unit was collected.
            future = Future()
            future.set_exception(error)
        self.running[future] = unit

    def collect(self, done: Any) -> Iterator[tuple[Unit, Outcome]]:
        """Outcomes of units that are done; those of a process that died become suspects."""
        died = False
        for future in done:
            unit = self.running.pop(future)
            accused, self._accused = self._accused, None
            try:
                yield unit, future.result()
            except BrokenExecutor:
                died = True
                if unit is accused:
                    yield unit, Outcome(unit.model, unit.fold, error=_DIED)
                else:
                    self.suspects.append(unit)
        if died:
            self.suspects += self.running.values()
            self._dismiss()
            self._hire()

    def close(self) -> None:
        """End what runs."""
        self._dismiss()
        self._folder.cleanup()

    def _dismiss(self) -> None:
        self.running.clear()
        self._executor.shutdown(wait=True, kill_workers=True)


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Start processes that do not hear Ctrl-C, not even while they import what they need.

    A terminal sends it to all of them, and the one that prints ends the others.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_arena: Arena | None = None


def _enter(file: Path) -> None:
    """Remember the arena, and ignore Ctrl-C where it could not be blocked."""
    global _arena
    _arena = pickle.loads(file.read_bytes())
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _greet() -> None: ...


def _play(unit: Unit) -> Outcome:
    assert _arena is not None
    with threadpool_limits(1):
        return play(_arena, unit)
