"""Cutting a continuous target into ordered classes 1 … K, as the papers do."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import Codes, Vector
from ..ordinal.arrays import require_count


def discretize(
    target: npt.ArrayLike, bins: int, *, binning: str = "quantile", ties: str = "together"
) -> Codes:
    """Labels 1 … K of a continuous target.

    Parameters
    ----------
    target : array-like of shape (n,)
        Finite numbers.
    bins : int
        Number of classes K, at least 2 and at most the number of distinct values.
    binning : {"quantile", "width"}
        ``"quantile"`` aims at equally many rows in each class [CK07], [DK09]; ``"width"`` cuts
        [min, max] into K intervals of equal length, closed on the right [CG05], of which some
        may hold no row.
    ties : {"together", "split"}
        What equal-frequency cuts do with equal target values. ``"together"`` keeps them in one
        class, so that the label is a function of the target: from the lowest class up, each
        takes an even share of the rows left, as nearly as whole values allow, and no class is
        empty. ``"split"`` sorts the rows (stably) and cuts them into consecutive groups, of
        which the first n mod K get one row more than the others, as the published archives do.
        The two agree where no tie straddles a cut.

    Returns
    -------
    ndarray of int
        Labels from 1 to K.

    Examples
    --------
    >>> discretize([1.0, 2.0, 2.0, 9.0], 2)
    array([1, 2, 2, 2])
    >>> discretize([1.0, 2.0, 2.0, 9.0], 2, ties="split")
    array([1, 1, 2, 2])
    >>> discretize([1.0, 2.0, 2.0, 9.0], 2, binning="width")
    array([1, 1, 1, 2])
    """
    values = _check_target(target)
    require_count("bins", bins, 2)
    require_choice("binning", binning, ("quantile", "width"))
    require_choice("ties", ties, ("together", "split"))
    if binning == "width" and ties == "split":
        raise ValueError(
            "ties must be 'together' with binning='width', which never parts equal values; "
            "found 'split'."
        )
    distinct, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    if bins > len(distinct):
        raise ValueError(
            f"bins must be at most the number of distinct target values, {len(distinct)}; "
            f"found {bins}."
        )
    if binning == "width":
        inner = np.linspace(values.min(), values.max(), bins + 1)[1:-1]
        return np.searchsorted(inner, values, side="left") + 1
    if ties == "split":
        rank = np.empty(len(values), dtype=np.intp)
        rank[np.argsort(values, kind="stable")] = np.arange(len(values))
        # The first n mod K groups get one row more.
        k = np.arange(1, bins)
        even = k * (len(values) // bins) + np.minimum(k, len(values) % bins)
        return np.searchsorted(even, rank, side="right") + 1
    cuts = _cuts_between_values(np.cumsum(counts), bins)
    return np.searchsorted(cuts, group, side="right") + 1


def _cuts_between_values(rows_up_to: Codes, bins: int) -> Codes:
    """Distinct values below each cut.

    From the lowest class up, each takes its even share of the rows that are left, as nearly as
    whole values allow, and leaves a value for every class above it. A value that fills more than
    a share thus thins all the classes above it, not the next one alone.
    """
    n_rows, n_distinct = int(rows_up_to[-1]), len(rows_up_to)
    cuts = np.empty(bins - 1, dtype=np.intp)
    values = rows = 0
    for k in range(bins - 1):
        wanted = rows - (rows - n_rows) // (bins - k)  # the share, rounded up
        choices = rows_up_to[values : n_distinct - (bins - 1 - k)]
        values += 1 + int(np.argmin(np.abs(choices - wanted)))
        rows = int(rows_up_to[values - 1])
        cuts[k] = values
    return cuts


def _check_target(target: npt.ArrayLike) -> Vector:
    values = np.asarray(target, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"target must be one column of numbers; found shape {values.shape}.")
    finite = np.isfinite(values)
    if not finite.all():
        raise ValueError(
            f"target must be finite; found {int((~finite).sum())} missing or infinite values, "
            f"the first in row {int(np.argmin(finite))}."
        )
    return values
