"""Run models × data sets × splits, keep every finished cell, run none twice."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import sklearn
from joblib import Parallel, delayed
from sklearn.base import clone

from echelon._utils.packages import package_version

from .errors import ReproductionError
from .measures import measure_all
from .models import Model, Problem, get_model, list_models
from .probes import require_same_results
from .protocol import (
    Population,
    Protocol,
    Source,
    Split,
    draw_split,
    load,
    load_splits,
    tuning_part,
)
from .published import PublishedSet, Table
from .store import ANY_EFFORT, TUNING_SPLIT, Cell, CellKey, ResultStore

EFFORTS = ("quick", "paper")


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    table : Table
    sets : list of PublishedSet
    models : list of Model
    splits : int
    effort : {"quick", "paper"}
        "paper" tunes on the training part of every split; "quick" tunes once per data set, on
        the training part of the first split, or `protocol.QUICK_ROWS` rows of it where it has
        more, and uses these parameters on all splits. A model with nothing to tune is measured
        once for both.
    jobs : int
        Processes; results do not depend on it.
    """

    table: Table
    sets: list[PublishedSet]
    models: list[Model]
    splits: int
    effort: str
    jobs: int = 1

    def key(self, entry: PublishedSet, model: Model, split: int) -> CellKey:
        """Key of a cell of this plan."""
        effort = self.effort if model.tuned else ANY_EFFORT
        return CellKey(self.table.name, entry.name, model.name, model.revision, effort, split)

    def cells(self) -> list[CellKey]:
        """Keys of all cells of this plan, tunings not counted."""
        return [
            self.key(entry, model, split)
            for entry in self.sets
            for model in self.models
            for split in range(self.splits)
        ]


@dataclass(frozen=True)
class Progress:
    """Where a run stands; `seconds_left` is for the present data set and model."""

    set: str
    model: str
    step: str
    done: int
    total: int
    seconds_left: float | None = None


def make_plan(
    table: Table,
    *,
    sets: list[str] | None = None,
    models: list[str] | None = None,
    splits: int | None = None,
    effort: str = "quick",
    jobs: int = 1,
) -> Plan:
    """Check a request and fill in the defaults: all sets, all models, the table's trials."""
    if effort not in EFFORTS:
        raise ReproductionError(f"effort must be one of {', '.join(EFFORTS)}; found {effort!r}.")
    splits = table.trials if splits is None else splits
    if splits < 1:
        raise ReproductionError(f"splits must be at least 1; found {splits}.")
    chosen = _choose_models(table, models)
    return Plan(table, table.select(sets), chosen, splits, effort, jobs)


def _choose_models(table: Table, models: list[str] | None) -> list[Model]:
    known = list_models()
    own = [name for name in table.columns if name not in table.measured_under]
    names = [name for name in own if name in known] if models is None else models
    if not names:
        raise ReproductionError(f"No column of {table.name} has a model yet.")
    for name in names:
        if name in table.measured_under:
            raise ReproductionError(
                f"{name} of {table.name} is measured under {table.measured_under[name]}; "
                "run it there."
            )
        if name in table.columns and name not in known:
            raise ReproductionError(
                f"{name} of {table.name} is published only: it has no model yet."
            )
    return [get_model(name) for name in names]


def run(plan: Plan, store: ResultStore) -> Iterator[Progress]:
    """Run what is left of a plan, telling after every step where it stands.

    The caller may stop at any time, by Ctrl-C or by dropping the iterator: what was told to be
    done is in the store. A model that has cells to add must give the results of its revision.
    """
    missing_keys = [key for key in plan.cells() if key not in store]
    for name in dict.fromkeys(key.model for key in missing_keys):
        require_same_results(get_model(name))
    done = len(plan.cells()) - len(missing_keys)
    for entry in plan.sets:
        data: Source | None = None
        for model in plan.models:
            missing = [s for s in range(plan.splits) if plan.key(entry, model, s) not in store]
            if not missing:
                continue
            data = data or _source(entry, plan.table.protocol)
            for progress in _run_group(plan, store, entry, model, data, missing):
                done += progress.done
                yield Progress(
                    entry.name,
                    model.name,
                    progress.step,
                    done,
                    len(plan.cells()),
                    progress.seconds_left,
                )


def _source(entry: PublishedSet, protocol: Protocol) -> Source:
    """What the splits of a set are drawn from."""
    if protocol.splits is not None:
        return load_splits(entry.name, protocol)
    if entry.generator is not None:
        return Population(entry.generator, entry.test, tuple(range(1, protocol.bins + 1)))
    return load(entry.name, protocol)


@dataclass(frozen=True)
class _Step:
    step: str
    done: int = 0
    seconds_left: float | None = None


def _run_group(
    plan: Plan,
    store: ResultStore,
    entry: PublishedSet,
    model: Model,
    data: Source,
    missing: list[int],
) -> Iterator[_Step]:
    """The missing splits of one data set and model."""
    parameters = None
    if plan.effort == "quick" and model.tuned:
        key = plan.key(entry, model, TUNING_SPLIT)
        if key not in store:
            yield _Step("tuning")
            split = draw_split(data, entry.training, seed=plan.table.protocol.seed, index=0)
            problem = Problem(data.classes, 0, plan.jobs)
            store.append(_tune(key, model, tuning_part(split), problem))
        parameters = store[key].parameters
    yield _Step("running")
    tasks = (delayed(_run_cell)(plan, entry, model, data, index, parameters) for index in missing)
    start = time.perf_counter()
    cells = Parallel(n_jobs=plan.jobs, return_as="generator_unordered")(tasks)
    for count, cell in enumerate(cells, start=1):
        store.append(cell)
        pace = (time.perf_counter() - start) / count
        yield _Step(f"split {cell.key.split}", 1, pace * (len(missing) - count))


def _tune(key: CellKey, model: Model, split: Split, problem: Problem) -> Cell:
    """Tune a model on one training part."""
    start = time.perf_counter()
    search = model.build(problem).set_params(refit=False).fit(split.X_train, split.y_train)
    return Cell(key, {}, search.best_params_, time.perf_counter() - start, versions())


def _run_cell(
    plan: Plan,
    entry: PublishedSet,
    model: Model,
    data: Source,
    index: int,
    parameters: dict[str, Any] | None,
) -> Cell:
    """Fit and measure a model on one split; `parameters` given means that it is tuned already."""
    start = time.perf_counter()
    split = draw_split(data, entry.training, seed=plan.table.protocol.seed, index=index)
    estimator = model.build(Problem(data.classes, index))
    if parameters is not None:
        estimator = clone(estimator.estimator).set_params(**parameters)
    estimator.fit(split.X_train, split.y_train)
    errors = measure_all(plan.table.measures, estimator, split, data.classes)
    used = getattr(estimator, "best_params_", parameters) or {}
    seconds = time.perf_counter() - start
    return Cell(plan.key(entry, model, index), errors, used, seconds, versions())


def versions() -> dict[str, str]:
    """Versions of what computes a cell."""
    found = {"Python": platform.python_version(), "scikit-learn": sklearn.__version__}
    for name in ("echelon", "numpy", "scipy"):
        found[name] = package_version(name) or "not installed"
    return found
