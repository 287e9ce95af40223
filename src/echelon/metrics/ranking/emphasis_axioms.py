"""The axioms of an emphasis ω(i, j) on pairs of ranks, section 10.6.4 of [MRT18]."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ..._utils.types import Index, Matrix
from ...ordinal.arrays import read_numbers, require_count

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
    ranks = _checked_ranks(n)
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


def _checked_ranks(n: int) -> Index:
    if n <= _MOST_CHECKED:
        return np.arange(1, n + 1)
    half = _MOST_CHECKED // 2
    return np.r_[np.arange(1, half + 1), np.linspace(half + 1, n, half).astype(np.intp)]
