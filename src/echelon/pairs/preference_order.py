"""Sorting by a preference function: its questions counted and cached, by degree and by QuickSort.

A preference function h(u, v) ∈ [0, 1] is the probability that item u is preferred to item v. It
need not be transitive, only consistent: h(u, v) + h(v, u) = 1. It may be expensive, so it is asked
in batches, and what was asked is counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import Codes, Vector

Preference = Callable[[Codes, Codes], Any]

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
        require_choice("consistency", consistency, ("assume", "check", "symmetrize"))
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
        for u in range(size):
            v = np.arange(u + 1, size)
            _require_consistent(H[u, v], H[v, u], np.full(len(v), u), v)
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


METHODS = ("quicksort", "degree")
DECISIONS = ("sample", "majority")

# Pairs in one call of h, unless told otherwise.
_BATCH = 1 << 18


def sort_by_degree(
    h: Preference | npt.ArrayLike,
    n: int | None = None,
    *,
    groups: Codes | None = None,
    consistency: str | None = None,
    batch_size: int = _BATCH,
) -> OrderResult:
    """Order items by their mean preference over the others, Σ_v h(u, v).

    Parameters
    ----------
    h : callable or array-like of shape (n, n)
        Function of two arrays of items, giving the probability that the first is preferred to the
        second for each pair; or all of them as a matrix H[u, v].
    n : int, optional
        Number of items; needed for a function.
    groups : ndarray of shape (n,), optional
        Code of the group of each item, from 0. Items are compared within groups only, and groups
        follow each other.
    consistency : {"assume", "check", "symmetrize"}, optional
        Whether h(u, v) + h(v, u) = 1 is taken for granted, checked, or made true by
        ½(h(u, v) + 1 − h(v, u)). A function is asked twice as many pairs by the last two. By
        default a matrix is checked and a function is not.
    batch_size : int, default=2**18
        Most pairs in one call of h, which bounds the memory.

    Returns
    -------
    result : OrderResult
        Items of equal degree stay in their order.

    Notes
    -----
    Every pair is asked once, n(n − 1)/2 in all. In the bipartite setting the loss is at most twice
    that of h, [MRT18] (10.30), and no deterministic method can promise less (theorem 10.5).

    Where h raises `BudgetExceeded`, items are ordered by the mean over the opponents they have had.
    Pairs are asked around a circle, all neighbours first, so all items have had as many by then.

    Examples
    --------
    >>> beats = [[0.5, 0.9, 0.2], [0.1, 0.5, 0.3], [0.8, 0.7, 0.5]]
    >>> result = sort_by_degree(beats)
    >>> result.order.tolist(), result.n_calls
    ([2, 0, 1], 3)
    """
    asked, n = read_preference(h, n, consistency, batch_size)
    codes, starts = _grouped(groups, n)
    # The circle is drawn without regard to the order of items, but always the same way.
    circle = np.lexsort((np.random.default_rng(0).random(n), codes))
    wins, met = np.zeros(n), np.zeros(n)
    for u, v in _around(circle, starts, batch_size):
        answers = asked.ask(u, v)
        u, v = u[: len(answers)], v[: len(answers)]
        wins += np.bincount(u, answers, n) + np.bincount(v, 1.0 - answers, n)
        met += np.bincount(u, minlength=n) + np.bincount(v, minlength=n)
        if not asked.complete:
            break
    degree = np.where(met > 0, wins / np.maximum(met, 1.0), 0.5)
    return asked.result(np.lexsort((-degree, codes)))


def quicksort(
    h: Preference | npt.ArrayLike,
    n: int | None = None,
    *,
    groups: Codes | None = None,
    top_k: int | None = None,
    decide: str = "sample",
    consistency: str | None = None,
    batch_size: int = _BATCH,
    rng: int | np.random.Generator | None = None,
) -> OrderResult:
    """Order items by randomised QuickSort with h as the comparison.

    A pivot is drawn uniformly, every other item goes above it or below it as h says, and both parts
    are sorted in the same way. All parts of one depth are split by one call of h, so there are as
    many calls as the depth, O(log n).

    Parameters
    ----------
    h : callable or array-like of shape (n, n)
        Function of two arrays of items, giving the probability that the first is preferred to the
        second for each pair; or all of them as a matrix H[u, v].
    n : int, optional
        Number of items; needed for a function.
    groups : ndarray of shape (n,), optional
        Code of the group of each item, from 0. Items are compared within groups only, and groups
        follow each other.
    top_k : int, optional
        Return the first so many of each group, and split only parts that they lie in.
    decide : {"sample", "majority"}, default="sample"
        Whether v goes above a pivot u with probability h(v, u), or if h(v, u) > ½. Equal odds
        are decided by a coin either way.
    consistency : {"assume", "check", "symmetrize"}, optional
        As for `sort_by_degree`.
    batch_size : int, default=2**18
        Most pairs in one call of h.
    rng : int or numpy.random.Generator, optional
        For pivots and decisions.

    Returns
    -------
    result : OrderResult

    Notes
    -----
    Each pair is asked at most once. Whatever h is, about 2n ln n pairs are expected, and
    O(n + k log k) for the first k. In the bipartite setting the expected loss with
    ``decide="sample"`` equals that of h, [MRT18] (10.33), and in general it is at most twice as
    large (10.35). With ``decide="majority"`` both hold for h rounded to 0 and 1.

    Where h raises `BudgetExceeded`, the answers that came are used, and parts that were not split
    stay in the order that they had.

    Examples
    --------
    >>> strength = np.array([0.3, 2.0, 1.1, -4.0])
    >>> result = quicksort(lambda u, v: strength[u] > strength[v], 4, rng=0)
    >>> result.order.tolist()
    [1, 2, 0, 3]
    """
    require_choice("decide", decide, DECISIONS)
    if top_k is not None and (int(top_k) != top_k or top_k < 1):
        raise ValueError(f"top_k must be an integer of at least 1; found {top_k!r}.")
    asked, n = read_preference(h, n, consistency, batch_size)
    codes, starts = _grouped(groups, n)
    order = np.argsort(codes, kind="stable")
    ends = starts[1:] if top_k is None else np.minimum(starts[1:], starts[:-1] + top_k)
    generator = np.random.default_rng(rng)
    parts = _Parts(starts[:-1], starts[1:], ends).open()
    while len(parts.starts) and asked.complete:
        parts = _split(order, parts, asked, generator, decide)
    wanted = np.arange(n) < np.repeat(ends, np.diff(starts))
    return asked.result(order[wanted])


def order_by(
    method: str,
    h: Preference | npt.ArrayLike,
    n: int,
    *,
    groups: Codes | None = None,
    top_k: int | None = None,
    decide: str = "sample",
    batch_size: int = _BATCH,
    rng: int | np.random.Generator | None = None,
) -> OrderResult:
    """Order items by the method of this name; the first `top_k` of each group."""
    require_choice("method", method, METHODS)
    if method == "quicksort":
        return quicksort(
            h, n, groups=groups, top_k=top_k, decide=decide, batch_size=batch_size, rng=rng
        )
    result = sort_by_degree(h, n, groups=groups, batch_size=batch_size)
    if top_k is None:
        return result
    _, starts = _grouped(groups, n)
    place = np.arange(n) - np.repeat(starts[:-1], np.diff(starts))
    return replace(result, order=result.order[place < top_k])


@dataclass(frozen=True)
class _Parts:
    """Runs of the order that are still to be sorted; nothing is wanted from `limits` on."""

    starts: Codes
    ends: Codes
    limits: Codes

    def open(self) -> _Parts:
        kept = (self.ends - self.starts > 1) & (self.starts < self.limits)
        return _Parts(self.starts[kept], self.ends[kept], self.limits[kept])


def _split(
    order: Codes, parts: _Parts, asked: CountedPreference, rng: np.random.Generator, decide: str
) -> _Parts:
    """Split every part around a pivot, in place, and return the parts that need more of it."""
    sizes = parts.ends - parts.starts
    pivots = parts.starts + rng.integers(0, sizes)
    part = np.repeat(np.arange(len(sizes)), sizes)
    place = np.arange(len(part)) + np.repeat(parts.starts - (np.cumsum(sizes) - sizes), sizes)
    others = np.flatnonzero(place != pivots[part])
    probability = asked.ask(order[place[others]], order[pivots[part[others]]])
    others = others[: len(probability)]
    # The pivot stays in the middle, and so does what was left unanswered.
    side = np.ones(len(part), dtype=np.intp)
    side[others] = np.where(_above(probability, rng, decide), 0, 2)
    order[place] = order[place[np.argsort(3 * part + side, kind="stable")]]
    above = np.bincount(part[side == 0], minlength=len(sizes))
    below = np.bincount(part[side == 2], minlength=len(sizes))
    return _Parts(
        np.c_[parts.starts, parts.ends - below].ravel(),
        np.c_[parts.starts + above, parts.ends].ravel(),
        np.repeat(parts.limits, 2),
    ).open()


def _above(probability: Vector, rng: np.random.Generator, decide: str) -> npt.NDArray[np.bool_]:
    coins = rng.random(len(probability))
    if decide == "majority":
        probability = 0.5 + 0.5 * np.sign(probability - 0.5)
    return np.asarray(coins < probability)


def _around(circle: Codes, starts: Codes, batch_size: int) -> Iterator[tuple[Codes, Codes]]:
    """All pairs within groups: neighbours on each group's circle, then next but one, and so on."""
    sizes = np.repeat(np.diff(starts), np.diff(starts))
    local = np.arange(len(circle)) - np.repeat(starts[:-1], np.diff(starts))
    live = np.arange(len(circle))
    firsts: list[Codes] = []
    seconds: list[Codes] = []
    count = 0
    for step in range(1, int(sizes.max(initial=0)) // 2 + 1):
        live = live[sizes[live] >= 2 * step]
        # Across a circle of even size every pair would come up from both ends.
        once = live[(sizes[live] > 2 * step) | (local[live] < step)]
        firsts.append(circle[once])
        seconds.append(circle[once - local[once] + (local[once] + step) % sizes[once]])
        count += len(once)
        if count >= batch_size:
            yield np.concatenate(firsts), np.concatenate(seconds)
            firsts, seconds, count = [], [], 0
    if count:
        yield np.concatenate(firsts), np.concatenate(seconds)


def _grouped(groups: Codes | None, n: int) -> tuple[Codes, Codes]:
    """Group of each item, and where each group begins in an order by groups, and n."""
    codes = np.zeros(n, dtype=np.intp) if groups is None else np.asarray(groups)
    if codes.shape != (n,) or codes.dtype.kind not in "iu" or codes.min(initial=0) < 0:
        raise ValueError(
            f"groups must be {n} whole numbers from 0; found shape {codes.shape} of {codes.dtype}."
        )
    return codes, np.r_[0, np.cumsum(np.bincount(codes))].astype(np.intp)
