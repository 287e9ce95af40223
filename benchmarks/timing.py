"""Fair timing: one process, the same arrays, warm functions, alternating rounds.

Machines drift: they heat up, other work comes and goes. Two functions that are timed one after
the other can swap their order on that account alone. Here every round times ours and then the
peer, and the figure reported is the ratio within a round.
"""

from __future__ import annotations

import gc
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

Clock = Callable[[], float]
#: Times one round and gives the seconds of one call.
Sampler = Callable[[], float]

# Calls shorter than this are repeated within a round, so that the clock can resolve them.
SHORTEST_ROUND = 0.02
# A call as long as this hardly notices that it was the first: it counts as the first round.
LONG_CALL = 10.0


@dataclass(frozen=True)
class Timing:
    """Seconds of one call, a figure per round."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        """The least disturbed round."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """The usual round."""
        return median(self.seconds)


@dataclass(frozen=True)
class Ratio:
    """Ours over the peer's, round by round: below one where ours is faster."""

    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The usual round."""
        return median(self.rounds)

    @property
    def low(self) -> float:
        """The round kindest to ours."""
        return min(self.rounds)

    @property
    def high(self) -> float:
        """The round kindest to the peer."""
        return max(self.rounds)


@dataclass(frozen=True)
class Warm:
    """A function that has been called once: what it gave, what it warned of, how to time it."""

    result: Any
    warned: tuple[str, ...]
    sampler: Sampler


def ratio(ours: Timing, peer: Timing) -> Ratio:
    """Quotient of two functions timed in the same rounds."""
    pairs = zip(ours.seconds, peer.seconds, strict=True)
    return Ratio(tuple(mine / theirs for mine, theirs in pairs))


def warm_up(function: Callable[[], Any], clock: Clock = time.perf_counter) -> Warm:
    """Call a function until it is warm and fit it with a sampler of whole rounds."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started = clock()
        result = function()
        seconds = clock() - started
        if seconds < SHORTEST_ROUND:
            # The first call also pays for imports and caches; a second one says what a call costs.
            started = clock()
            function()
            seconds = clock() - started
    warned = tuple(sorted({warning.category.__name__ for warning in caught}))
    if seconds >= LONG_CALL:
        return Warm(result, warned, _first_then(seconds, lambda: _sample(function, 1, clock)))
    calls = calls_per_round(seconds)
    return Warm(result, warned, lambda: _sample(function, calls, clock))


def _first_then(seconds: float, sampler: Sampler) -> Sampler:
    """Give the seconds that are known, and from then on new samples."""
    known = [seconds]
    return lambda: known.pop() if known else sampler()


def calls_per_round(seconds: float, shortest: float = SHORTEST_ROUND) -> int:
    """How many calls of that many seconds fill a round."""
    if seconds >= shortest:
        return 1
    return math.ceil(shortest / max(seconds, shortest / 10_000))


def interleave(samplers: Sequence[Sampler], rounds: int) -> list[Timing]:
    """Take a sample of each in turn, round after round, without garbage collection."""
    if rounds < 1:
        raise ValueError(f"rounds must be at least 1; found {rounds}.")
    seconds: list[list[float]] = [[] for _ in samplers]
    with garbage_collection_off(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(rounds):
            for sampler, record in zip(samplers, seconds, strict=True):
                # By hand between samples, so that nobody pays for another's garbage.
                gc.collect()
                record.append(sampler())
    return [Timing(tuple(record)) for record in seconds]


def scaling_exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of log seconds on log size by least squares: 1 is linear, 2 is quadratic."""
    if len(set(sizes)) < 2:
        raise ValueError(f"sizes must hold at least two different sizes; found {list(sizes)}.")
    x = [math.log(size) for size in sizes]
    y = [math.log(second) for second in seconds]
    x_mean, y_mean = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - x_mean) * (b - y_mean) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - x_mean) ** 2 for a in x)


@contextmanager
def garbage_collection_off() -> Iterator[None]:
    """No automatic collection inside; afterwards as it was before."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _sample(function: Callable[[], Any], calls: int, clock: Clock) -> float:
    started = clock()
    for _ in range(calls):
        function()
    return (clock() - started) / calls
