"""Tasks one after the other, or several at a time in processes that can be ended."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, wait
from contextlib import closing, contextmanager
from importlib import import_module
from multiprocessing import resource_tracker
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import effective_n_jobs, wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

from .._utils.processes import end_with
from .experiment import Experiment, Outcome, run_fold
from .schedule import FoldTask, Schedule

try:
    from joblib.externals.loky import ProcessPoolExecutor
except ImportError:  # joblib has begun to unbundle what it ships
    ProcessPoolExecutor = import_module("loky").ProcessPoolExecutor

_DIED = "The process that ran it ended unexpectedly, perhaps for lack of memory."
_ABANDONED = "The budget ended while one of its folds was running."


def count_jobs(n_jobs: int | None) -> int:
    """Processes that ``n_jobs`` means, as in joblib."""
    if not (n_jobs is None or isinstance(n_jobs, Integral)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be an integer other than 0, or None; found {n_jobs!r}.")
    return int(effective_n_jobs(n_jobs))


def run_tasks(
    experiment: Experiment, schedule: Schedule
) -> Generator[tuple[FoldTask, Outcome], None, None]:
    """Outcomes as they come; close the iterator to end what still runs."""
    if schedule.jobs == 1:
        while (task := schedule.next()) is not None:
            yield task, run_fold(experiment, task)
        return
    with closing(_WorkerPool(experiment, schedule.jobs)) as pool:
        # Processes need seconds to start, in which this one has the first figures already. They
        # hold it up, so that its own time on a processor tells better what a fold takes.
        while not pool.is_ready() and (task := schedule.next()) is not None:
            with threadpool_limits(1):
                outcome = run_fold(experiment, task, time.thread_time)
            yield task, outcome
        yield from _run(pool, schedule)


def _run(pool: _WorkerPool, schedule: Schedule) -> Iterator[tuple[FoldTask, Outcome]]:
    while True:
        pool.fill(schedule)
        if not any(schedule.needs(task) for task in (*pool.running.values(), *pool.to_retry)):
            return
        done, _ = wait(pool.running, timeout=schedule.patience, return_when=FIRST_COMPLETED)
        if not done:
            for task in (*pool.running.values(), *pool.to_retry):
                yield task, Outcome(task.model, task.fold, error=_ABANDONED, rows=task.rows)
            return
        yield from pool.collect(done)


class _WorkerPool:
    """Worker processes that hold the experiment, and the tasks that they run.

    When a process dies, all tasks that ran are retried, one at a time, and the one with which a
    process dies again has failed.
    """

    def __init__(self, experiment: Experiment, jobs: int) -> None:
        self._jobs = jobs
        self.running: dict[Any, FoldTask] = {}
        self.to_retry: list[FoldTask] = []
        self._retried: FoldTask | None = None
        # A file, because what is handed over when a process starts is waited for if it is large.
        self._folder = TemporaryDirectory(prefix="echelon-")
        self._file = Path(self._folder.name) / "experiment"
        # Classes of a notebook or script go with it.
        wrapped = wrap_non_picklable_objects(experiment, keep_wrapper=False)
        self._file.write_bytes(pickle.dumps(wrapped))
        self._start_workers()

    def _start_workers(self) -> None:
        # What tracks resources lets interrupts through when it starts, so it starts first.
        self._executor = ProcessPoolExecutor(
            max_workers=self._jobs,
            initializer=_load_experiment,
            initargs=(self._file, os.getpid()),
        )
        if sys.platform != "win32":
            resource_tracker.ensure_running()
        with _no_interrupts():
            self._first_call = self._executor.submit(_answer)

    def is_ready(self) -> bool:
        """Whether a process has begun to work."""
        return bool(self._first_call.done())

    def fill(self, schedule: Schedule) -> None:
        """Retry a task alone, or as many tasks as there are processes."""
        if self.to_retry and not self.running:
            self._retried = self.to_retry.pop(0)
            self._start(self._retried)
        while (
            self._retried is None
            and len(self.running) < self._jobs
            and (task := schedule.next()) is not None
        ):
            self._start(task)

    def _start(self, task: FoldTask) -> None:
        try:
            future = self._executor.submit(_run_task, task)
        except BrokenExecutor as error:
            # A process has died since the last task was collected.
            future = Future()
            future.set_exception(error)
        self.running[future] = task

    def collect(self, done: Any) -> Iterator[tuple[FoldTask, Outcome]]:
        """Outcomes of tasks that are done; those of a process that died are retried."""
        died = False
        for future in done:
            task = self.running.pop(future)
            retried, self._retried = self._retried, None
            try:
                yield task, future.result()
            except BrokenExecutor:
                died = True
                if task is retried:
                    yield task, Outcome(task.model, task.fold, error=_DIED, rows=task.rows)
                else:
                    self.to_retry.append(task)
        if died:
            self.to_retry += self.running.values()
            self._stop_workers()
            self._start_workers()

    def close(self) -> None:
        """End what runs."""
        self._stop_workers()
        self._folder.cleanup()

    def _stop_workers(self) -> None:
        # A process may be busy or still starting; idle ones just end. Killing asks the system's
        # pgrep for children, which workers do not have, and complains where there is no pgrep.
        kill = bool(self.running) or not self.is_ready()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Failed to kill subprocesses")
            self._executor.shutdown(wait=True, kill_workers=kill)
        self.running.clear()


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


_experiment: Experiment | None = None


def _load_experiment(file: Path, parent: int) -> None:
    """Remember the experiment, and ignore Ctrl-C where it could not be blocked."""
    global _experiment
    end_with(parent, file.parent)
    _experiment = pickle.loads(file.read_bytes())
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _answer() -> None: ...


def _run_task(task: FoldTask) -> Outcome:
    assert _experiment is not None
    with threadpool_limits(1):
        return run_fold(_experiment, task)
