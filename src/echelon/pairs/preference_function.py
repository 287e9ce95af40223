"""Preference functions as they are asked: in batches, with answers checked and counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.choices import require_choice
from .._utils.types import Codes, Vector

Preference = Callable[[Codes, Codes], Any]

CONSISTENCY = ("assume", "check", "symmetrize")

# By so much h(u, v) + h(v, u) may differ from 1.
ROUNDING = 1e-6


@dataclass(frozen=True)
class OrderResult:
    """An order and what it took to find it.

    Parameters
    ----------
    order : ndarray
        Items from best to worst; group by group where there are groups.
    n_calls : int
        Pairs that h was asked.
    n_batches : int
        Calls of h, each with many pairs.
    complete : bool
        Whether h answered everything; if not, what it left open stands as the items came.
    """

    order: Codes
    n_calls: int
    n_batches: int
    complete: bool = True


class BudgetExceeded(RuntimeError):  # noqa: N818 - an end, not always an error
    """No more pairs may be asked.

    Raised by a preference function, it carries the answers to the first of the pairs that were
    asked. Raised to the user, it carries the order that was reached.

    Parameters
    ----------
    message : str
    answers : sequence of float
        Answers to the first pairs of the batch.
    result : object, optional
        The order so far.
    """

    def __init__(self, message: str, answers: Any = (), result: Any = None) -> None:
        super().__init__(message)
        self.answers = answers
        self.result = result


class CountedPreference:
    """A preference function that is asked in batches, checked and counted."""

    def __init__(self, h: Preference, consistency: str, batch_size: int) -> None:
        self._h = h
        self._consistency = consistency
        self._step = batch_size if consistency == "assume" else max(1, batch_size // 2)
        self.n_calls = 0
        self.n_batches = 0
        self.complete = True

    def ask(self, u: Codes, v: Codes) -> Vector:
        """Preferences for u over v; for the first of them only where a budget has ended."""
        parts = [np.empty(0)]
        for first in range(0, len(u), self._step):
            part = slice(first, first + self._step)
            parts.append(self._consistent(u[part], v[part]))
            if not self.complete:
                break
        return np.concatenate(parts)

    def result(self, order: Codes) -> OrderResult:
        """An order, with what it took."""
        return OrderResult(order, self.n_calls, self.n_batches, self.complete)

    def _consistent(self, u: Codes, v: Codes) -> Vector:
        if self._consistency == "assume":
            return self._answers(u, v)
        # Both directions side by side, so that answers cut short by a budget still come in twos.
        both = self._answers(np.c_[u, v].ravel(), np.c_[v, u].ravel())
        straight, turned = both[: len(both) // 2 * 2].reshape(-1, 2).T
        if self._consistency == "check":
            _require_consistent(straight, turned, u, v)
        return np.asarray(0.5 + 0.5 * (straight - turned))

    def _answers(self, u: Codes, v: Codes) -> Vector:
        try:
            answers = read_probabilities(self._h(u, v), "h")
            if answers.shape != u.shape:
                raise ValueError(
                    f"h must give one probability for each of {len(u)} pairs; found shape "
                    f"{answers.shape}."
                )
        except BudgetExceeded as ended:
            self.complete = False
            answers = read_probabilities(ended.answers, "h")
        self.n_calls += len(answers)
        self.n_batches += len(answers) > 0
        return answers


def read_preference(
    h: Preference | npt.ArrayLike, n: int | None, consistency: str | None, batch_size: int
) -> tuple[CountedPreference, int]:
    """A function or a matrix to be asked, and the number of its items."""
    if consistency is not None:
        require_choice("consistency", consistency, CONSISTENCY)
    if batch_size < 1:
        raise ValueError(f"batch_size must be at least 1; found {batch_size!r}.")
    if callable(h):
        if n is None or n < 0:
            raise ValueError(f"n must be the number of items where h is a function; found {n!r}.")
        return CountedPreference(h, consistency or "assume", batch_size), int(n)
    H = read_probabilities(h, "h")
    size = len(H) if n is None else n
    if H.shape != (size, size):
        raise ValueError(
            f"h must be a function or a matrix of shape ({size}, {size}); found shape {H.shape}."
        )
    if consistency in (None, "check"):
        _require_consistent_matrix(H)
    mode = "symmetrize" if consistency == "symmetrize" else "assume"
    return CountedPreference(lambda u, v: H[u, v], mode, batch_size), size


def read_probabilities(values: Any, name: str) -> Vector:
    """Numbers from 0 to 1, of any shape."""
    answers = np.asarray(values, dtype=np.float64)
    wrong = ~((answers >= 0.0) & (answers <= 1.0))
    if wrong.any():
        raise ValueError(
            f"{name} must hold probabilities between 0 and 1; found {answers[wrong][0]:g}."
        )
    return answers


def _require_consistent(straight: Vector, turned: Vector, u: Codes, v: Codes) -> None:
    off = np.flatnonzero(np.abs(straight + turned - 1.0) > ROUNDING)
    if len(off):
        p = off[0]
        raise ValueError(
            f"h(u, v) + h(v, u) must be 1; found {straight[p]:g} + {turned[p]:g} for items {u[p]} "
            f"and {v[p]}; pass consistency='symmetrize' to average both directions."
        )


def _require_consistent_matrix(H: Vector) -> None:
    for u in range(len(H)):
        v = np.arange(u + 1, len(H))
        _require_consistent(H[u, v], H[v, u], np.full(len(v), u), v)
