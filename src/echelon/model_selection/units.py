"""One fold of one model: search on its training rows, fit, and figures on its test rows."""

from __future__ import annotations

import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from sklearn.base import clone
from sklearn.metrics import check_scoring
from sklearn.utils import _safe_indexing

from ..metrics import cost_scorer, get_scorer
from ..metrics.measures import MEASURES
from .leaderboard import SHOWN
from .schedule import Unit
from .tuning import best_settings


@dataclass(frozen=True)
class Entrant:
    """A whole estimator, with preparation, and the grid of its parameters that is searched."""

    name: str
    estimator: Any
    settings: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True)
class Arena:
    """What all units share: data, folds, what is measured, and who takes part.

    With ``strict`` a unit that fails raises, and warnings are not silenced.
    """

    X: Any
    y: Any
    classes: list[Any]
    splits: list[Any]
    entrants: Mapping[str, Entrant]
    cost: Any = None
    random_state: int = 0
    strict: bool = False


@dataclass(frozen=True)
class Outcome:
    """What a unit has found.

    Parameters
    ----------
    model, fold
        The unit.
    figures : mapping from measure to float
        Empty if the unit failed.
    fit_seconds, seconds : float
        Of the fit with the chosen settings; of everything but a search that was given up.
    settings : mapping
        Chosen settings.
    search_given_up : bool
        Whether the search took too long, so that the model's own settings were used.
    error : str
        Why it failed; empty if it did not.
    """

    model: str
    fold: int
    figures: Mapping[str, float] = field(default_factory=dict)
    fit_seconds: float = 0.0
    seconds: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    search_given_up: bool = False
    error: str = ""


class TooSlowError(BaseException):
    """A time limit is over; not an Exception, so that no estimator takes it for its own."""


def play(arena: Arena, unit: Unit, clock: Callable[[], float] = time.perf_counter) -> Outcome:
    """Run a unit; what goes wrong is its outcome too, unless the arena is strict.

    `clock` is what the seconds of the whole unit are taken from.
    """
    if arena.strict:
        return _measure(arena, unit, clock)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return _measure(arena, unit, clock)
        except TooSlowError:
            reason = f"One fold took more than {unit.limit:.0f} s, its share of the budget."
        except Exception as error:
            reason = _sentence(error)
    return Outcome(unit.model, unit.fold, error=reason)


def _measure(arena: Arena, unit: Unit, clock: Callable[[], float]) -> Outcome:
    entrant = arena.entrants[unit.model]
    training, test = arena.splits[unit.fold]
    X, y = _safe_indexing(arena.X, training), _safe_indexing(arena.y, training)
    begun, started = time.perf_counter(), clock()
    settings, given_up = _search(arena, entrant, unit, X, y)
    searched = time.perf_counter()
    if given_up:
        started = clock()
    left = None if unit.limit is None else max(0.1, unit.limit - (searched - begun))
    with time_limit(left):
        model = clone(entrant.estimator).set_params(**settings).fit(X, y)
        fitted = time.perf_counter()
        rows = _safe_indexing(arena.X, test), _safe_indexing(arena.y, test)
        figures = _figures(arena, model, *rows)
    return Outcome(
        unit.model,
        unit.fold,
        figures,
        fit_seconds=fitted - searched,
        seconds=clock() - started,
        settings=settings,
        search_given_up=given_up,
    )


def _search(
    arena: Arena, entrant: Entrant, unit: Unit, X: Any, y: Any
) -> tuple[dict[str, Any], bool]:
    """Settings from the training rows alone, and whether the search took too long."""
    if not unit.search:
        return {}, False
    try:
        # The other half of the time is for the fit.
        with time_limit(None if unit.limit is None else 0.5 * unit.limit):
            chosen = best_settings(
                entrant.estimator,
                entrant.settings,
                X,
                y,
                classes=arena.classes,
                cost=arena.cost,
                random_state=arena.random_state,
            )
            return chosen, False
    except TooSlowError:
        return {}, True


def _figures(arena: Arena, model: Any, X: Any, y: Any) -> dict[str, float]:
    scorers = {
        key: get_scorer(MEASURES[key].scorer, classes=arena.classes)
        for key in SHOWN
        if MEASURES[key].needs != "probabilities" or hasattr(model, "predict_proba")
    }
    if arena.cost is not None:
        scorers["cost"] = cost_scorer(arena.cost, classes=arena.classes)
    found = check_scoring(model, scoring=scorers)(model, X, y)
    return {key: float(MEASURES[key].sign * value) for key, value in found.items()}


@contextmanager
def time_limit(seconds: float | None) -> Iterator[None]:
    """Raise `TooSlowError` after so many seconds, where the system has such an alarm.

    Compiled loops are interrupted when they return to Python. Only the main thread can be
    interrupted, and not on Windows: there the end of the budget is what ends a unit.
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


def _sentence(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0] if lines else f"It failed with {type(error).__name__}."
