"""Misranking in which some pairs matter more than others: L_ω of [MRT18], (10.36).

A pair of rows at the ranks i and j of the target weighs ω(i, j). Rank 1 is the best, and rows with
equal labels share the best of their ranks, so that no pair of them ever counts. The theory of
section 10.6 holds for an ω that is symmetric, grows as ranks move apart and obeys the triangle
inequality; an ω of the caller's is checked for that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.messages import require_choice
from ..._utils.types import Index, KeysLike, LabelsLike, Matrix, Vector, VectorLike, WeightsLike
from ...ordinal.arrays import read_numbers, require_count
from ...pairs.preference_order import ROUNDING, read_probabilities
from .misranking import pair_rows, query_pairs, tie_error
from .queries import QueryRows, order_within, padded_queries, read_label_column
from .summary import QueryScores, is_loss, query_metric, settled

# Pairs that are listed at a time.
_BLOCK = 1 << 20


@is_loss
@query_metric
def weighted_misranking(
    y_true: LabelsLike,
    y_score: VectorLike,
    *,
    omega: str | Emphasis | npt.ArrayLike = "uniform",
    k: int | None = None,
    qid: KeysLike | None = None,
    query_weight: WeightsLike | None = None,
    ties: str = "half",
    empty: str | float = "skip",
    check: bool = True,
) -> QueryScores:
    """Weighted disagreement L_ω between the order of the scores and that of the labels, (10.36).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, higher is better. For a target ranking σ*, pass −σ*.
    y_score : array-like of shape (n,)
        Scores, higher is ranked higher.
    omega : str, callable or array-like, default="uniform"
        "uniform": every pair weighs one, (10.23). "top_k": a pair weighs one if a row of it is
        among the first `k` of the target. "auc": n(n−1)/(2·m⁺·m⁻), for two labels, which makes the
        loss 1 − AUC. "k_partite": n(n−1)/(2P) with P the number of pairs with different labels,
        for any number of labels (exercise 10.10). A callable ω(i, j) takes two arrays of ranks
        that broadcast; an array holds ω(i, j) in row i−1 and column j−1.
    k : int, optional
        For "top_k" only, and required there.
    qid : sequence of shape (n,), optional
        Query of each row. Ranks are those within the query, and losses of queries are averaged.
    query_weight : mapping or array-like, optional
        Weight of each query in the average, by id, in the order of first rows, or once per row.
    ties : {"half", "error", "correct"}, default="half"
        What a pair with equal scores is.
    empty : "skip" or float, default="skip"
        Whether a query of one row, or for "auc" and "k_partite" one with equal labels throughout,
        is left out, or the loss it gets.
    check : bool, default=True
        Whether to check the axioms of an ω of the caller's, see `check_emphasis`.

    Returns
    -------
    loss : float
        NaN, without a warning, if nothing is left to average.

    Notes
    -----
    O(n log n) for the named ω: rows below the first k of the target are all in a tie there. An ω
    of the caller's costs O(n²) time per query and bounded memory.

    Examples
    --------
    >>> weighted_misranking([4, 3, 2, 1], [1.0, 4.0, 2.0, 3.0]).__round__(12)
    0.666666666667
    >>> weighted_misranking([1, 1, 0, 0], [4.0, 2.0, 3.0, 1.0], omega="auc")
    0.25
    >>> weighted_misranking([4, 3, 2, 1], [4, 1, 3, 2], omega=lambda i, j: abs(i - j))
    0.5
    """
    view = pair_rows(y_true, y_score, qid, None, query_weight)
    tie_error(ties)
    _check_omega(omega, k)
    if isinstance(omega, str):
        parts, wholes = _named_sums(view, omega, k, ties)
    else:
        parts, wholes = _own_sums(view, omega, ties, check), _all_pairs(view)
    # An ω above one may give a loss above one.
    return settled(view, parts, wholes, empty, most=math.inf)


def preference_loss(
    y_true: LabelsLike,
    preference: Any,
    *,
    omega: str | Emphasis | npt.ArrayLike = "uniform",
    k: int | None = None,
    check: bool = True,
) -> float:
    """Loss (10.24) of a preference function on one set of items, with the weights of (10.36).

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels, higher is better. For a target ranking σ*, pass −σ*.
    preference : array-like of shape (n, n), or callable
        h(u, v) from 0 to 1, how much u is preferred to v, with h(u, v) + h(v, u) = 1: a matrix, or
        a function of two arrays of rows. The function is asked once for each pair of different
        labels, in blocks.
    omega, k, check
        As in `weighted_misranking`. For a matrix, `check` also covers the sum of h(u, v) and
        h(v, u).

    Returns
    -------
    loss : float
        NaN, without a warning, for a single item, or for "auc" and "k_partite" if all labels are
        equal.

    Examples
    --------
    >>> cycle = [[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]]
    >>> preference_loss([3, 2, 1], cycle).__round__(12)
    0.333333333333
    """
    labels = read_label_column(y_true)
    n = len(labels)
    ask = _preference_function(preference, n, check)
    if n < 2:
        return math.nan
    ranks = _target_ranks(labels, np.array([0, n]))
    _check_omega(omega, k)
    if isinstance(omega, str):
        weight = _named_emphasis(labels, omega, k)
    else:
        weight = _own_emphasis(omega, n, check)
    if weight is None:
        return math.nan
    total = 0.0
    for worse, better in _misrankable(ranks):
        weights = weight(ranks[better], ranks[worse])
        total += float(weights @ _probabilities(ask(worse, better), len(worse)))
    return 2.0 * total / (n * (n - 1))


def _named_sums(view: QueryRows, omega: str, k: int | None, ties: str) -> tuple[Vector, Vector]:
    """Weight of the errors and the whole of each query, for a named ω."""
    if omega == "auc":
        _refuse_levels(view.relevance)
    if k is not None:
        # Below the first k the target is one tie.
        outside = _target_ranks(view.relevance, view.starts) > k
        labels = np.where(outside, -np.inf, view.relevance)
        return query_pairs(view, labels).errors(ties), _all_pairs(view)
    pairs = query_pairs(view)
    whole = pairs.total if omega in ("auc", "k_partite") else _all_pairs(view)
    return pairs.errors(ties), whole


def _own_sums(view: QueryRows, omega: Emphasis | npt.ArrayLike, ties: str, check: bool) -> Vector:
    """Weight of the errors of each query, for an ω of the caller's."""
    weight = _own_emphasis(omega, int(view.sizes.max()), check)
    ranks = _target_ranks(view.relevance, view.starts)
    sums = np.zeros(len(view.ids))
    for q, (first, last) in enumerate(pairwise(view.starts)):
        scores, places = view.scores[first:last], ranks[first:last]
        for worse, better in _misrankable(places):
            tied = tie_error(ties) * (scores[worse] == scores[better])
            errors = (scores[worse] > scores[better]) + tied
            sums[q] += weight(places[better], places[worse]) @ errors
    return sums


def _misrankable(ranks: Index) -> Any:
    """All pairs of positions (worse, better) in the target, in blocks."""
    order = np.argsort(ranks, kind="stable")
    ahead = np.searchsorted(ranks[order], ranks[order])
    ends = np.searchsorted(np.cumsum(ahead), np.arange(_BLOCK, ahead.sum() + _BLOCK, _BLOCK))
    bounds = np.r_[0, ends + 1]
    for first, last in pairwise(bounds):
        counts = ahead[first:last]
        worse = np.repeat(order[first:last], counts)
        starts = np.repeat(np.cumsum(counts) - counts, counts)
        yield worse, order[np.arange(len(worse)) - starts]


def _target_ranks(labels: Vector, starts: Index) -> Index:
    """Rank of each row in its query, the highest label first; equal labels share the best rank."""
    order = order_within(-labels, padded_queries(starts))
    places = np.arange(len(order))
    fresh = np.r_[True, labels[order][1:] != labels[order][:-1]]
    fresh[starts[:-1]] = True
    first_of_level = np.maximum.accumulate(np.where(fresh, places, 0))
    ranks = np.empty(len(order), dtype=np.intp)
    ranks[order] = first_of_level - np.repeat(starts[:-1], np.diff(starts)) + 1
    return ranks


def _all_pairs(view: QueryRows) -> Vector:
    return 0.5 * view.sizes * (view.sizes - 1.0)


def _named_emphasis(
    labels: Vector, omega: str, k: int | None
) -> Callable[[Index, Index], Matrix] | None:
    """ω of a pair of different labels of one query; None where it is not defined."""
    if omega == "top_k":
        return lambda i, j: (np.minimum(i, j) <= k).astype(np.float64)
    if omega == "uniform":
        return lambda i, j: np.ones(len(i))
    if omega == "auc":
        _refuse_levels(labels)
    sizes = np.unique(labels, return_counts=True)[1]
    n = len(labels)
    n_pairs = (n * n - int(sizes @ sizes)) / 2
    if not n_pairs:
        return None
    return lambda i, j: np.full(len(i), n * (n - 1) / (2 * n_pairs))


def _own_emphasis(
    omega: Emphasis | npt.ArrayLike, n: int, check: bool
) -> Callable[[Index, Index], Matrix]:
    if check:
        check_emphasis(omega, n)
    return as_function(omega, n)


def _preference_function(
    preference: Any, n: int, check: bool
) -> Callable[[Index, Index], npt.ArrayLike]:
    if callable(preference):
        return preference
    h = read_numbers(preference, "preference")
    if h.shape != (n, n):
        raise ValueError(f"preference must have shape ({n}, {n}); found {h.shape}.")
    off = ~np.eye(n, dtype=bool)
    if check and not np.allclose((h + h.T)[off], 1.0, rtol=0.0, atol=ROUNDING):
        raise ValueError(
            "preference must have h(u, v) + h(v, u) = 1; found a pair where it is not."
        )
    return lambda u, v: h[u, v]


def _probabilities(values: npt.ArrayLike, n: int) -> Vector:
    h = read_probabilities(values, "preference")
    if h.shape != (n,):
        raise ValueError(
            f"preference must give a probability for each of {n} pairs; found shape {h.shape}."
        )
    return h


def _check_omega(omega: Any, k: int | None) -> None:
    if isinstance(omega, str):
        named = ("uniform", "top_k", "auc", "k_partite")
        require_choice("omega", omega, named, "a callable", "a matrix")
    if isinstance(omega, str) and omega == "top_k":
        require_count("k", k)
    elif k is not None:
        raise ValueError(f"k is for omega='top_k' only; found k={k!r}.")


def _refuse_levels(labels: Vector) -> None:
    n_labels = len(np.unique(labels))
    if n_labels > 2:
        raise ValueError(f"omega='auc' needs at most two labels; found {n_labels}.")


Emphasis = Callable[[Index, Index], npt.ArrayLike]

# All triples of this many ranks are checked; of more ranks, a selection of as many.
_MOST_CHECKED = 512
_TOLERANCE = 1e-12


def check_emphasis(omega: Emphasis | npt.ArrayLike, n: int) -> None:
    """Check that ω is a valid emphasis on the ranks 1 … n; raise a ValueError that says why not.

    Parameters
    ----------
    omega : callable or array-like
        As in `weighted_misranking`.
    n : int
        Number of ranks.

    Notes
    -----
    The axioms are symmetry, ω(i, j) = ω(j, i); monotonicity, ω(i, j) ≤ ω(i, k) where j lies between
    i and k; and the triangle inequality, ω(i, j) ≤ ω(i, k) + ω(k, j). The last follows from the
    second unless k lies between i and j. All triples of up to 512 ranks are checked, in O(n³); with
    more ranks the first 256 and 256 others spread evenly, so that a violation may pass unseen, but
    what is reported is one.

    Examples
    --------
    >>> check_emphasis(lambda i, j: (i - j) ** 2, 3)
    Traceback (most recent call last):
    ValueError: omega must obey the triangle inequality; found ω(1, 3) = 4 > ω(1, 2) + ω(2, 3) = 2.
    """
    require_count("n", n)
    ranks, half = np.arange(1, n + 1), _MOST_CHECKED // 2
    if n > _MOST_CHECKED:
        ranks = np.r_[ranks[:half], np.linspace(half + 1, n, half).astype(np.intp)]
    values = as_function(omega, n)(ranks[:, None], ranks[None, :])
    off = ~np.eye(len(ranks), dtype=bool)
    if not np.isfinite(values[off]).all() or (values[off] < 0).any():
        raise ValueError("omega must be finite and not negative; found an entry that is not.")
    slack = _TOLERANCE * float(values[off].max(initial=0.0))
    _check_symmetry(values, ranks, off, slack)
    _check_monotonicity(values, ranks, slack)
    _check_triangles(values, ranks, slack)


def as_function(omega: Emphasis | npt.ArrayLike, n: int) -> Callable[[Index, Index], Matrix]:
    """ω as a function of two arrays of ranks that always gives an array of their shape."""
    if callable(omega):

        def evaluate(i: Index, j: Index) -> Matrix:
            shape = np.broadcast_shapes(i.shape, j.shape)
            values = read_numbers(omega(i, j), "omega(i, j)")
            if values.shape not in ((), shape):
                raise ValueError(
                    "omega(i, j) must give one number for each pair of ranks; found shape "
                    f"{values.shape} for {shape}."
                )
            return np.broadcast_to(values, shape)

        return evaluate
    table = read_numbers(omega, "omega")
    if table.ndim != 2 or table.shape[0] != table.shape[1] or len(table) < n:
        raise ValueError(
            f"omega must be square with a row for each of {n} ranks; found shape {table.shape}."
        )
    return lambda i, j: table[i - 1, j - 1]


def _check_symmetry(values: Matrix, ranks: Index, off: npt.NDArray[np.bool_], slack: float) -> None:
    wrong = (np.abs(values - values.T) > slack) & off
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        raise ValueError(
            f"omega must be symmetric; found ω({ranks[i]}, {ranks[j]}) = {values[i, j]:g} and "
            f"ω({ranks[j]}, {ranks[i]}) = {values[j, i]:g}."
        )


def _check_monotonicity(values: Matrix, ranks: Index, slack: float) -> None:
    growth = np.diff(values, axis=1)
    rows, steps = np.indices(growth.shape)
    # Right of the diagonal the values may not fall, left of it they may not rise.
    wrong = ((growth < -slack) & (steps > rows)) | ((growth > slack) & (steps + 1 < rows))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        near, far = (j, j + 1) if j > i else (j + 1, j)
        raise ValueError(
            "omega must not fall as ranks move apart; found "
            f"ω({ranks[i]}, {ranks[near]}) = {values[i, near]:g} > "
            f"ω({ranks[i]}, {ranks[far]}) = {values[i, far]:g}."
        )


def _check_triangles(values: Matrix, ranks: Index, slack: float) -> None:
    for k in range(1, len(ranks) - 1):
        detour = values[:k, k, None] + values[k, None, k + 1 :]
        wrong = values[:k, k + 1 :] > detour + slack
        if wrong.any():
            i, j = np.argwhere(wrong)[0] + (0, k + 1)
            raise ValueError(
                "omega must obey the triangle inequality; found "
                f"ω({ranks[i]}, {ranks[j]}) = {values[i, j]:g} > "
                f"ω({ranks[i]}, {ranks[k]}) + ω({ranks[k]}, {ranks[j]}) = "
                f"{values[i, k] + values[k, j]:g}."
            )
