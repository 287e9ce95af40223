"""Tasks one after the other, or several at a time on an executor of `concurrent.futures`."""

from __future__ import annotations

import pickle
import time
import warnings
from collections.abc import Generator, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    wait,
)
from contextlib import ExitStack, closing
from numbers import Integral
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from joblib import effective_n_jobs, wrap_non_picklable_objects
from threadpoolctl import threadpool_limits

from .._utils.messages import warn_caller
from .experiment import Experiment, Outcome, run_fold
from .schedule import FoldTask, Schedule
from .worker_processes import WorkerProcesses

_DIED = "The process that ran it ended unexpectedly, perhaps for lack of memory."
_ABANDONED = "The budget ended while one of its folds was running."


def count_jobs(n_jobs: int | None, executor: Executor | None = None) -> int:
    """Tasks at a time that ``n_jobs`` means, as in joblib; all processors for an executor."""
    if not (n_jobs is None or isinstance(n_jobs, Integral)) or n_jobs == 0:
        raise ValueError(f"n_jobs must be an integer other than 0, or None; found {n_jobs!r}.")
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must be an executor of concurrent.futures, with a method submit; found "
            f"{executor!r}."
        )
    return int(effective_n_jobs(-1 if n_jobs is None and executor is not None else n_jobs))


def run_tasks(
    experiment: Experiment, schedule: Schedule, executor: Executor | None = None
) -> Generator[tuple[FoldTask, Outcome], None, None]:
    """Outcomes as they come; close the iterator to end what still runs."""
    if schedule.jobs == 1 and executor is None:
        while (task := schedule.next()) is not None:
            yield task, run_fold(experiment, task)
        return
    with closing(_WorkerPool(experiment, schedule.jobs, executor)) as pool:
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
    """An executor, what it needs of the experiment, and the tasks that it runs.

    A task whose process dies is retried, alone, and has failed if a process dies with it again. An
    executor of the user's that breaks is replaced by processes of this machine.
    """

    def __init__(self, experiment: Experiment, jobs: int, executor: Executor | None = None) -> None:
        self._experiment, self._jobs = experiment, jobs
        self.running: dict[Any, FoldTask] = {}
        self.to_retry: list[FoldTask] = []
        self._retried: FoldTask | None = None
        self._folder: TemporaryDirectory[str] | None = None
        self._settings = ExitStack()
        self._own: WorkerProcesses | None = None
        self._first_call: Future[None] | None = None
        if executor is None:
            self._executor: Executor = self._start_workers()
            return
        self._executor = executor
        self._source: Any = experiment
        if isinstance(executor, ProcessPoolExecutor):
            self._source = self._write()
        elif isinstance(executor, ThreadPoolExecutor):
            # Both are settings of the whole process.
            self._settings.enter_context(threadpool_limits(1))
            self._settings.enter_context(warnings.catch_warnings())

    def _start_workers(self) -> WorkerProcesses:
        self._source = self._write()
        self._own = WorkerProcesses(self._jobs, self._source.parent)
        self._first_call = self._own.submit(_answer)
        return self._own

    def _write(self) -> Path:
        """A file with the experiment, since what is handed over with each task should be small."""
        if self._folder is None:
            self._folder = TemporaryDirectory(prefix="echelon-")
            # Classes of a notebook or script go with it.
            wrapped = wrap_non_picklable_objects(self._experiment, keep_wrapper=False)
            Path(self._folder.name, "experiment").write_bytes(pickle.dumps(wrapped))
        return Path(self._folder.name, "experiment")

    def is_ready(self) -> bool:
        """Whether a process has begun to work."""
        return self._first_call is None or bool(self._first_call.done())

    def fill(self, schedule: Schedule) -> None:
        """Retry a task alone, or as many tasks as there are processes."""
        if self.to_retry and not self.running:
            self._retried = self.to_retry.pop(0)
            self._start(self._retried)
        while (
            self._retried is None
            and not self.to_retry
            and len(self.running) < self._jobs
            and (task := schedule.next()) is not None
        ):
            self._start(task)

    def _start(self, task: FoldTask) -> None:
        in_threads = isinstance(self._executor, ThreadPoolExecutor)
        call = run_fold if in_threads else _run_task
        try:
            future: Any = self._executor.submit(call, self._source, task)
        except (BrokenExecutor, RuntimeError) as error:
            # It has died or was shut down since the last task was collected.
            future = Future()
            future.set_exception(BrokenExecutor(str(error)))
        self.running[future] = task

    def collect(self, done: Any) -> Iterator[tuple[FoldTask, Outcome]]:
        """Outcomes of tasks that are done; those of a process that died are retried."""
        broken: BrokenExecutor | None = None
        for future in done:
            task = self.running.pop(future)
            retried, self._retried = self._retried, None
            try:
                yield task, future.result()
            except BrokenExecutor as error:
                broken = error
                if task is retried:
                    yield task, Outcome(task.model, task.fold, error=_DIED, rows=task.rows)
                else:
                    self.to_retry.append(task)
            except Exception as error:
                # An executor has failures of its own, say a cluster whose worker was lost.
                if self._experiment.strict:
                    raise
                reason = " ".join(str(error).split()) or f"It failed with {type(error).__name__}."
                yield task, Outcome(task.model, task.fold, error=reason, rows=task.rows)
        if broken is not None and self._executor is not self._own:
            self.to_retry += self.running.values()
            self.running.clear()
            self._replace(broken)

    def _replace(self, error: BrokenExecutor) -> None:
        warn_caller(
            f"The executor broke ({str(error).rstrip('.') or type(error).__name__}); what is left "
            "runs in processes of this machine.",
            RuntimeWarning,
        )
        self._executor = self._start_workers()

    def close(self) -> None:
        """End what runs, as far as that can be done."""
        for future in self.running:
            future.cancel()
        self.running.clear()
        if self._own is not None:
            self._own.shutdown()
        self._settings.close()
        if self._folder is not None:
            self._folder.cleanup()


_loaded: tuple[Path, Experiment] | None = None


def _answer() -> None: ...


def _run_task(source: Path | Experiment, task: FoldTask) -> Outcome:
    """Run a task of an experiment, or of one in a file, which is read once."""
    global _loaded
    if isinstance(source, Path):
        if _loaded is None or _loaded[0] != source:
            _loaded = source, pickle.loads(source.read_bytes())
        source = _loaded[1]
    with threadpool_limits(1):
        return run_fold(source, task)
