"""A call of a native function: valid arguments, what it must answer, and ways to spoil it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Arguments = dict[str, Any]
Rng = np.random.Generator
EXTREMES = (-(2**62), -(2**31), -2, -1, 1, 2, 3, 250, 2**31 - 1, 2**62)
NUMBERS = (np.nan, np.inf, -np.inf, 1e300, -1e300, 0.0, -1.0, 5e-324)


@dataclass(frozen=True)
class Call:
    """A function and arguments that it must take.

    Parameters
    ----------
    run : callable
        Called with the values of ``arguments`` in their order.
    arguments : dict
        Arrays that it fills are among them, scratch too.
    twin : callable, optional
        The same by plain NumPy: given the arguments before the call, a dict of those that the call
        changes as they must be after it, and of what it returns under ``result``. Without it all
        numbers after the call must be finite.
    """

    run: Callable[..., Any]
    arguments: Arguments
    twin: Callable[..., dict[str, Any]] | None = None

    def complaint(self) -> str:
        """Call it; what is wrong with the answer, or nothing."""
        before = copy.deepcopy(self.arguments)
        result = self.run(*self.arguments.values())
        after = {**self.arguments, "result": result}
        if self.twin is None:
            wrong = [name for name, value in after.items() if not _is_finite(value)]
            return f"not finite: {', '.join(wrong)}" if wrong else ""
        for name, wanted in self.twin(**before).items():
            if not np.allclose(after[name], wanted, rtol=1e-9, atol=1e-9):
                return f"{name} is {after[name]!r} where {wanted!r} is right"
        return ""

    def spoilt(self, rng: Rng) -> Call:
        """The same call with one or two arguments that break its contract, perhaps."""
        arguments = dict(self.arguments)
        for name in rng.choice(list(arguments), int(rng.integers(1, 3))):
            arguments[name] = _spoil(rng, arguments[name])
        return Call(self.run, arguments)


def _is_finite(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_finite, value))
    if isinstance(value, float | np.ndarray) and np.asarray(value).dtype.kind == "f":
        return bool(np.isfinite(value).all())
    return True


def _spoil(rng: Rng, value: Any) -> Any:
    if isinstance(value, bool | np.bool_ | str | type(None)):
        return value
    if isinstance(value, int | np.integer):
        return int(rng.choice([value + int(rng.integers(-3, 4)), *EXTREMES]))
    if isinstance(value, float):
        return float(rng.choice(NUMBERS))
    if isinstance(value, tuple):
        return tuple(_spoil(rng, each) for each in value)
    how = rng.integers(4)
    if how == 0 and value.size:
        return _with_odd_entries(rng, value)
    if how == 1 and value.size:
        return np.ascontiguousarray(rng.permutation(value.ravel()).reshape(value.shape))
    return _resized(rng, value)


def _with_odd_entries(rng: Rng, value: Any) -> Any:
    value = value.copy()
    places = rng.integers(0, value.size, int(rng.integers(1, 4)))
    if value.dtype.kind == "f":
        value.flat[places] = rng.choice(NUMBERS, len(places))
        return value
    limits = np.iinfo(value.dtype)
    near = [*EXTREMES, *(value.max() + step for step in (1, 2, 5))]
    odd = [each for each in near if limits.min <= each <= limits.max]
    value.flat[places] = rng.choice(odd, len(places))
    return value


def _resized(rng: Rng, value: Any) -> Any:
    """Shorter, empty or longer along one axis."""
    axis = int(rng.integers(value.ndim))
    size = value.shape[axis]
    wanted = int(rng.choice([0, max(size - 1, 0), size // 2, size + 1, 2 * size + 1]))
    places = np.arange(wanted) % max(size, 1)
    if size == 0:
        return np.zeros([1 + n for n in value.shape], dtype=value.dtype)
    return np.ascontiguousarray(np.take(value, places, axis=axis))


def draw_size(rng: Rng, least: int = 1, most: int = 40) -> int:
    """A number from the least to the most."""
    return int(rng.integers(least, most + 1))


def codes_of(rng: Rng, n_bins: Any, n: int) -> Any:
    """Codes 0 … n_bins[j], a row per feature."""
    codes = rng.integers(0, np.asarray(n_bins)[:, None] + 1, (len(n_bins), n))
    return codes.astype(str(rng.choice(["uint8", "int32"])))


def starts_of(sizes: Any) -> Any:
    """Where runs of these sizes begin, and the end of the last."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def bytes_of(rng: Rng, n: int) -> Any:
    """Zeros and ones."""
    return rng.integers(0, 2, n).astype(np.uint8)
