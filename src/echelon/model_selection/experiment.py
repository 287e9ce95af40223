"""One fold of one candidate model, and the store of what is finished.

A line belongs to an experiment (data, labels, folds, seed, cost) and to an entry (parameters, grid,
versions), both by content. Lines of others are left alone, and one that a killed process left
unfinished is dropped.
"""

from __future__ import annotations

import base64
import hashlib
import json
import signal
import threading
import time
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._utils.files import AppendLog
from .._utils.packages import package_versions
from .._utils.types import Index
from ..base.nested import fit_arguments
from ..base.reading import FittedModel
from ..base.row_design import RowDesign
from ..metrics.measures import Need, measure_responses
from ..ordinal.labels import OrdinalScale, read_scale
from .leaderboard import SHOWN, UNKNOWN_COMPLEXITY
from .preparation import with_probabilities
from .schedule import FoldTask, Step
from .settings_search import SEARCH_FOLDS, SEARCH_ROWS, best_settings


@dataclass(frozen=True)
class Entry:
    """A whole estimator, with preparation, and the grid of its parameters that is searched.

    With `calibrated` it is given probabilities if it has none of its own, and then `decision` says
    whose labels count, as for `with_probabilities`.
    """

    name: str
    estimator: Any
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    group: str = ""
    calibrated: bool = False
    complexity: int = UNKNOWN_COMPLEXITY
    decision: str = "inner"


@dataclass(frozen=True)
class Experiment:
    """What all tasks share: data, folds, what is measured, and who takes part.

    With ``strict`` a task that fails raises, and warnings are not silenced. `how` says what the
    folds are, `racing` whether models that cannot win stop before the last of them.
    """

    X: Any
    y: Any
    classes: list[Any]
    splits: list[Any]
    entries: Mapping[str, Entry]
    cost: Any = None
    random_state: int = 0
    strict: bool = False
    design: RowDesign = field(default_factory=RowDesign)
    how: str = ""
    racing: bool = False


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a task has found.

    Parameters
    ----------
    model, fold
        The task.
    figures : mapping from measure to float
        Empty if the task failed.
    fit_seconds, seconds : float
        Of the fit with the chosen settings; of everything but a search that was given up.
    settings : mapping
        Chosen settings.
    search_given_up : bool
        Whether the search took too long, so that the model's own settings were used.
    error : str
        Why it failed; empty if it did not.
    codes : ndarray of shape (n_test,), optional
        Ranks predicted for the test rows.
    probabilities : ndarray of shape (n_test, K), optional
        Class probabilities of the test rows, if the model has them.
    rows : int or None
        Training rows of a look; None for all of them.
    """

    model: str
    fold: int
    figures: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    search_given_up: bool = False
    error: str = ""
    codes: Any = None
    probabilities: Any = None
    rows: int | None = None

    @property
    def step(self) -> Step:
        """The step of the model that it is of."""
        return Step(self.fold, self.rows)


class TooSlowError(BaseException):
    """A time limit is over; not an Exception, so that no estimator takes it for its own."""


def run_fold(
    experiment: Experiment, task: FoldTask, clock: Callable[[], float] = time.perf_counter
) -> Outcome:
    """Run a task; what goes wrong is its outcome too, unless the experiment is strict.

    `clock` is what the seconds of the whole task are taken from.
    """
    if experiment.strict:
        return _measure(experiment, task, clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _measure(experiment, task, clock)
        except TooSlowError:
            what = "fold" if task.rows is None else f"look at {task.rows:,} rows"
            reason = f"One {what} took more than {task.limit:.0f} s, its share of the budget."
        except Exception as error:
            lines = [line.strip() for line in str(error).splitlines() if line.strip()]
            reason = lines[0] if lines else f"It failed with {type(error).__name__}."
    return Outcome(task.model, task.fold, error=reason, rows=task.rows)


#: Test rows of a look, at the most.
_LOOK_TEST = 10_000


def training_rows(experiment: Experiment, step: Step) -> Index:
    """Rows that a step learns from; those of a look are a part of those of a larger one."""
    training = np.asarray(experiment.splits[step.fold][0])
    return training if step.rows is None else _part(experiment, training, step.rows)


def held_out_rows(experiment: Experiment, step: Step) -> Index:
    """Rows that a step is measured on."""
    test = np.asarray(experiment.splits[step.fold][1])
    return test if step.rows is None else _part(experiment, test, _LOOK_TEST)


def _part(experiment: Experiment, rows: Index, size: int) -> Index:
    """So many of these rows: whole groups, or about the same share of every label, in order."""
    codes = read_scale(_safe_indexing(experiment.y, rows), experiment.classes)[1]
    rng = np.random.RandomState(experiment.random_state)
    return rows[experiment.design.take(rows).part(codes, size, rng)]


def _measure(experiment: Experiment, task: FoldTask, clock: Callable[[], float]) -> Outcome:
    entry = experiment.entries[task.model]
    training, test = training_rows(experiment, task.step), held_out_rows(experiment, task.step)
    X, y = _safe_indexing(experiment.X, training), _safe_indexing(experiment.y, training)
    begun, started = time.perf_counter(), clock()
    settings, given_up = _search(experiment, entry, task, training, X, y)
    searched = time.perf_counter()
    if given_up:
        started = clock()
    left = None if task.limit is None else max(0.1, task.limit - (searched - begun))
    with time_limit(left):
        model = clone(entry.estimator).set_params(**settings)
        if entry.calibrated and task.rows is None:
            model = with_probabilities(
                model,
                classes=experiment.classes,
                cost=experiment.cost,
                random_state=experiment.random_state,
                decision=entry.decision,
            )
        model.fit(X, y, **fit_arguments(model, experiment.design.take(training)))
        fitted = time.perf_counter()
        reader = FittedModel(model, OrdinalScale(np.asarray(experiment.classes)))
        codes, probabilities = reader.codes_and_probabilities(_safe_indexing(experiment.X, test))
        figures = test_figures(experiment, test, codes, probabilities, len(training))
    return Outcome(
        task.model,
        task.fold,
        figures,
        fit_seconds=fitted - searched,
        seconds=clock() - started,
        settings=settings,
        search_given_up=given_up,
        codes=codes.astype(np.int16),
        probabilities=None if probabilities is None else probabilities.astype(np.float32),
        rows=task.rows,
    )


def _search(
    experiment: Experiment, entry: Entry, task: FoldTask, training: Index, X: Any, y: Any
) -> tuple[dict[str, Any], bool]:
    """Settings from the training rows alone, and whether the search took too long."""
    if not task.search:
        return {}, False
    try:
        # The other half of the time is for the fit.
        with time_limit(None if task.limit is None else 0.5 * task.limit):
            known = experiment.classes, experiment.cost, experiment.random_state
            design = experiment.design.take(training)
            found = best_settings(entry.estimator, entry.settings, X, y, *known, design=design)
            return found, False
    except TooSlowError:
        return {}, True


def test_figures(
    experiment: Experiment, test: Any, codes: Any, probabilities: Any, training_rows: int
) -> dict[str, float]:
    """Measures of what is predicted for the test rows, each row with its weight.

    The log loss of every model is made finite by its number of training rows in the same way.
    """
    known = {"classes": np.arange(len(experiment.classes))}
    truth = read_scale(_safe_indexing(experiment.y, test), experiment.classes)[1]
    weights = experiment.design.weights
    if weights is not None:
        known["sample_weight"] = weights[test]
    responses: dict[Need, Any] = {"labels": codes}
    if probabilities is not None:
        responses["probabilities"] = probabilities
    plain = [measure for measure in SHOWN if measure != "log_loss"]
    found = measure_responses(plain, truth, responses, **known)
    found |= measure_responses(["log_loss"], truth, responses, training_rows=training_rows, **known)
    if experiment.cost is None:
        return found
    return found | measure_responses(["cost"], truth, responses, cost=experiment.cost, **known)


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlowError` after so many seconds, where the system has such an alarm.

    Compiled loops are interrupted when they return to Python. Only the main thread can be
    interrupted, and not on Windows: there the end of the budget is what ends a task.
    """
    if (
        seconds is None
        or not hasattr(signal, "setitimer")
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return

    def ring(*_: Any) -> None:
        raise TooSlowError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


_PACKAGES = ("echelon", "scikit-learn", "numpy", "scipy", "lightgbm")


class OutcomeStore:
    """The results file of experiments.

    Parameters
    ----------
    path : path
        Made, with its folder, when the first outcome is kept.
    experiment : Experiment
        What is being run.
    """

    def __init__(self, path: Path | str, experiment: Experiment) -> None:
        self._log = AppendLog(path)
        self.path = self._log.path
        self._experiment = experiment_key(experiment)
        self._entries = {name: _entry_key(e) for name, e in experiment.entries.items()}

    def read(self) -> tuple[list[Outcome], int]:
        """Outcomes of this experiment and its entries, and how many lines belong to others."""
        found, others = {}, 0
        for line in self._log.lines():
            outcome = self._parse(line)
            if outcome is None:
                others += 1
            else:
                found[outcome.model, outcome.step] = outcome
        return list(found.values()), others

    def clear(self) -> None:
        """Forget everything."""
        self._log.clear()

    def append(self, outcome: Outcome) -> None:
        """Keep an outcome, on disk before this returns."""
        keys = {"experiment": self._experiment, "entry": self._entries[outcome.model]}
        self._log.append({**keys, "outcome": _as_json(asdict(outcome))})

    def _parse(self, line: bytes) -> Outcome | None:
        try:
            content = json.loads(line)
            outcome = Outcome(**_from_json(content["outcome"]))
            ours = (self._experiment, self._entries.get(outcome.model))
        except (ValueError, TypeError, KeyError, zlib.error):
            return None
        return outcome if (content.get("experiment"), content.get("entry")) == ours else None


_ARRAYS = {"codes": np.int16, "probabilities": np.float32}


def _as_json(outcome: dict[str, Any]) -> dict[str, Any]:
    """What a line holds of an outcome: predictions as compressed bytes."""
    for name, dtype in _ARRAYS.items():
        if outcome[name] is not None:
            packed = zlib.compress(np.ascontiguousarray(outcome[name], dtype).tobytes(), 1)
            outcome[name] = base64.b64encode(packed).decode()
    return outcome


def _from_json(content: dict[str, Any]) -> dict[str, Any]:
    found = dict(content)
    for name, dtype in _ARRAYS.items():
        if found[name] is not None:
            found[name] = np.frombuffer(zlib.decompress(base64.b64decode(found[name])), dtype)
    if found["probabilities"] is not None:
        found["probabilities"] = found["probabilities"].reshape(len(found["codes"]), -1)
    return found


def experiment_key(experiment: Experiment) -> str:
    """Digest of all but the entries: data, labels and their order, weights, folds, seed, cost."""
    digest = hashlib.sha256()
    for part in (
        *_input_parts(experiment.X),
        read_scale(experiment.y, experiment.classes)[1],
        json.dumps([str(label) for label in experiment.classes]),
        *(rows for fold in experiment.splits for rows in fold),
        *("" if part is None else part for part in vars(experiment.design).values()),
        "" if experiment.cost is None else np.asarray(experiment.cost),
        str(experiment.random_state),
    ):
        digest.update(_as_bytes(part))
        digest.update(b"\0")
    return digest.hexdigest()


def _input_parts(X: Any) -> list[Any]:
    if hasattr(X, "iloc"):
        from pandas.util import hash_pandas_object

        types = [f"{name}: {dtype}" for name, dtype in X.dtypes.items()]
        return [json.dumps(types), hash_pandas_object(X, index=False).to_numpy()]
    return [joblib.hash(X)]


def _as_bytes(part: Any) -> bytes:
    if isinstance(part, str | float):
        return str(part).encode()
    return f"{part.dtype}{part.shape}".encode() + np.ascontiguousarray(part).tobytes()


def _entry_key(entry: Entry) -> str:
    settings = sorted((name, list(values)) for name, values in entry.settings.items())
    known = (SEARCH_FOLDS, SEARCH_ROWS)
    content = (entry.estimator, settings, entry.calibrated, entry.decision, *known)
    return str(joblib.hash((content, sorted(package_versions(_PACKAGES).items()))))
