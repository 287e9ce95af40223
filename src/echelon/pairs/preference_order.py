"""From preferences on pairs to an order of all items: the second stage of [MRT18] section 10.6.

A preference function h(u, v) ∈ [0, 1] is the probability that item u is preferred to item v. It
need not be transitive, only consistent: h(u, v) + h(v, u) = 1. It may be expensive, so it is asked
in batches, and what was asked is counted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._utils.choices import require_choice
from .._utils.types import Codes, Vector
from .preference_function import CountedPreference, OrderResult, Preference, read_preference

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
