"""Are models different? Tests of two models over splits, and of many over data sets.

Two models are compared split by split (Nadeau and Bengio, 2003). For many models a table of scores
has a row per data set and a column per model; Friedman's and Nemenyi's tests look at ranks within
rows alone, so scores of different data sets need not be comparable (Demšar, 2006).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from .._utils.types import Array
from ..ordinal.arrays import require_count
from ._labels import require_fraction


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (n − 1) and number of measurements, such as one per split."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Summarise measurements; the standard deviation of a single one is NaN.

        Examples
        --------
        >>> round(Summary.of([1.0, 2.0, 3.0]).se, 4)
        0.5774
        """
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), sd, len(values))

    @property
    def se(self) -> float:
        """Standard error of the mean, as if the measurements were independent."""
        return self.sd / math.sqrt(self.n)


def two_sided_p(difference: float, error: float, freedom: float) -> float:
    """p-value of a difference with a standard error, by Student's t; NaN without an error."""
    if error == 0.0:
        return 1.0 if difference == 0.0 else 0.0
    return float(2.0 * stats.t.sf(abs(difference) / error, freedom))


def corrected_resampled_t_test(
    first: Sequence[float],
    second: Sequence[float],
    *,
    training: int,
    test: int,
    largest_loss: float | None = None,
) -> tuple[Summary, float]:
    """Compare two models measured on the same random splits, split by split.

    Parameters
    ----------
    first, second : sequence of float
        A figure per split, in the same order.
    training, test : int
        Rows of the training and the test part of a split.
    largest_loss : float, optional
        Largest loss of a row, if the figures are means over rows of losses from 0 to this: 1 for
        the error rate, K − 1 for the mean absolute error of K classes. It sharpens the test where
        the training part is the smaller one.

    Returns
    -------
    difference : Summary
        Of first minus second.
    p : float
        Two-sided; NaN for a single split.

    Notes
    -----
    Figures of J random splits of the same N rows are correlated, since the splits share rows.
    Nadeau and Bengio (2003) multiply the variance of the mean difference by
    1 + J·n_test/n_training, which supposes that the test rows cause all variation: right for a
    small test part, far too much for a small training part.

    With a bound L on the losses both parts are told apart. Let S² be the variance over splits and
    v the variance over rows of the difference in losses, for which
    v ≤ L·min(a + b, 2L − a − b) − (a − b)² with a and b the two means. Test means share
    n_test/N of their rows, hence have the covariance v/N; what the drawn training rows cause
    is correlated by n_training/N at most (Hoeffding, 1948). So the variance of the mean is

        S²/J + max(0, S² − v·n_training/(n_test·N))·n_training/n_test + v/N

    at most, and the smaller of this and Nadeau and Bengio's is used.

    Examples
    --------
    >>> a, b = [0.50, 0.54, 0.49, 0.52], [0.55, 0.60, 0.53, 0.59]
    >>> difference, p = corrected_resampled_t_test(a, b, training=80, test=20)
    >>> round(difference.mean, 3), p < 0.05
    (-0.055, True)

    Of 8,192 rows 50 are for training, and two such parts have 0.3 rows in common:

    >>> a, b = [0.72, 0.75, 0.69, 0.77], [0.61, 0.62, 0.60, 0.65]
    >>> for largest in (None, 1):
    ...     found = corrected_resampled_t_test(a, b, training=50, test=8142, largest_loss=largest)
    ...     print(round(found[1], 3))
    0.642
    0.003
    """
    difference = Summary.of(np.subtract(first, second).tolist())
    J = difference.n
    variance = difference.sd**2 * (1.0 / J + test / training)
    if largest_loss is not None and test > 0:
        N, rest = training + test, training / test
        row_variance = _most_row_variance(first, second, largest_loss)
        by_training = max(0.0, difference.sd**2 - row_variance * rest / N)
        variance = min(variance, difference.sd**2 / J + by_training * rest + row_variance / N)
    return difference, two_sided_p(difference.mean, math.sqrt(variance), J - 1)


def _most_row_variance(first: Sequence[float], second: Sequence[float], largest: float) -> float:
    """Bound on the variance over rows of the difference between two losses in [0, largest]."""
    a, b = float(np.mean(first)), float(np.mean(second))
    if not 0.0 <= min(a, b) <= max(a, b) <= largest:
        raise ValueError(
            f"largest_loss={largest:g} must not be less than the figures, which must be 0 or more; "
            f"found means of {a:g} and {b:g}."
        )
    return largest * min(a + b, 2.0 * largest - a - b) - (a - b) ** 2


@dataclass(frozen=True)
class FriedmanResult:
    """Do models differ at all?

    Parameters
    ----------
    names : tuple of str
        The models, in the order of the columns.
    average_ranks : ndarray of shape (n_models,)
        1 is best.
    n_sets, n_models : int
    statistic, p : float
        Friedman's χ² with the correction for ties, and its p-value with n_models − 1 degrees of
        freedom.
    f_statistic, f_p : float
        The statistic of Iman and Davenport, less conservative, and its p-value by F with
        n_models − 1 and (n_models − 1)(n_sets − 1) degrees of freedom.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_sets: int
    n_models: int
    statistic: float
    p: float
    f_statistic: float
    f_p: float


@dataclass(frozen=True)
class NemenyiResult:
    """Which models differ?

    Parameters
    ----------
    names : tuple of str
        The models, in the order of the columns.
    average_ranks : ndarray of shape (n_models,)
        1 is best.
    n_sets, n_models : int
    alpha : float
        Level of the test over all pairs.
    critical_difference : float
        Average ranks that differ by so much or more differ significantly.
    p : ndarray of shape (n_models, n_models)
        Of every pair, allowing for the number of pairs.
    groups : tuple of tuple of str
        The largest groups, of two models or more, in which no two differ significantly; the best
        group first, and within it the best model first.
    """

    names: tuple[str, ...]
    average_ranks: Array
    n_sets: int
    n_models: int
    alpha: float
    critical_difference: float
    p: Array
    groups: tuple[tuple[str, ...], ...]


def average_ranks(scores: npt.ArrayLike, lower_is_better: bool = True) -> Array:
    """Mean rank of every model over data sets; 1 is best, and ties share their mean rank.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_sets, n_models)
    lower_is_better : bool
        True for errors.

    Returns
    -------
    ranks : ndarray of shape (n_models,)

    Examples
    --------
    >>> average_ranks([[0.1, 0.3, 0.2], [0.4, 0.5, 0.4]])
    array([1.25, 3.  , 1.75])
    """
    return np.asarray(_ranks(_read_scores(scores)[1], lower_is_better).mean(axis=0))


def friedman_test(
    scores: npt.ArrayLike, *, names: Sequence[str] | None = None, lower_is_better: bool = True
) -> FriedmanResult:
    """Test whether models rank alike over data sets.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_sets, n_models)
        A figure per data set and model, without missing ones.
    names : sequence of str, optional
        Names of the models; the columns of a frame, or ``"model 1"`` and so on, by default.
    lower_is_better : bool
        True for errors.

    Returns
    -------
    result : FriedmanResult

    Notes
    -----
    With ranks r_ij and their mean (k + 1)/2 the statistic is
    χ² = (k − 1)·Σ_j (Σ_i r_ij − n(k + 1)/2)² / Σ_ij (r_ij − (k + 1)/2)², which without ties is
    Friedman's 12n/(k(k + 1))·(Σ_j R_j² − k(k + 1)²/4) of the average ranks R_j. That of Iman and
    Davenport is F = (n − 1)χ²/(n(k − 1) − χ²).

    Examples
    --------
    >>> errors = [[0.10, 0.14, 0.20], [0.31, 0.30, 0.44], [0.22, 0.25, 0.27], [0.05, 0.07, 0.11]]
    >>> found = friedman_test(errors)
    >>> found.average_ranks
    array([1.25, 1.75, 3.  ])
    >>> round(found.statistic, 3), round(found.p, 3)
    (6.5, 0.039)
    """
    known, values = _read_scores(scores, names, least_sets=2)
    ranks = _ranks(values, lower_is_better)
    n, k = ranks.shape
    deviations = ranks - 0.5 * (k + 1)
    total = float((deviations**2).sum())
    # Models that tie on every set do not differ.
    statistic = (k - 1) * float((deviations.sum(axis=0) ** 2).sum()) / total if total else 0.0
    room = n * (k - 1) - statistic
    # Sums of halves are exact, so that models in the same order on every set leave no room.
    f_statistic = (n - 1) * statistic / room if room > 1e-9 * n * k else math.inf
    return FriedmanResult(
        names=known,
        average_ranks=ranks.mean(axis=0),
        n_sets=n,
        n_models=k,
        statistic=statistic,
        p=float(stats.chi2.sf(statistic, k - 1)),
        f_statistic=f_statistic,
        f_p=float(stats.f.sf(f_statistic, k - 1, (k - 1) * (n - 1))),
    )


def nemenyi_critical_difference(n_models: int, n_sets: int, alpha: float = 0.05) -> float:
    """Least difference of average ranks that is significant over all pairs of models.

    Parameters
    ----------
    n_models : int
        At least 2.
    n_sets : int
        Data sets that the ranks are averaged over.
    alpha : float
        Level, between 0 and 1.

    Returns
    -------
    difference : float
        q/√2·√(k(k + 1)/(6n)), q the upper quantile of the studentised range of k models with
        infinitely many degrees of freedom.

    Examples
    --------
    >>> round(nemenyi_critical_difference(6, 8), 3)
    2.666
    """
    require_count("n_models", n_models, 2)
    require_count("n_sets", n_sets)
    require_fraction("alpha", alpha)
    quantile = stats.studentized_range.isf(alpha, n_models, np.inf)
    return float(quantile * _scale(n_models, n_sets))


def nemenyi_test(
    scores: npt.ArrayLike,
    *,
    names: Sequence[str] | None = None,
    alpha: float = 0.05,
    lower_is_better: bool = True,
) -> NemenyiResult:
    """Compare all pairs of models by their average ranks over data sets.

    Parameters
    ----------
    scores : array-like or data frame of shape (n_sets, n_models)
    names : sequence of str, optional
        Both as for `friedman_test`.
    alpha : float
        Level of the test over all pairs.
    lower_is_better : bool
        True for errors.

    Returns
    -------
    result : NemenyiResult

    Notes
    -----
    It is meant for models that `friedman_test` has found to differ.

    Examples
    --------
    >>> import numpy as np
    >>> errors = np.linspace(0.1, 0.4, 12)[:, None] + [0.00, 0.01, 0.02, 0.03]
    >>> found = nemenyi_test(errors)
    >>> round(found.critical_difference, 3)
    1.354
    >>> found.groups
    (('model 1', 'model 2'), ('model 2', 'model 3'), ('model 3', 'model 4'))
    """
    known, values = _read_scores(scores, names, least_sets=2)
    ranks = _ranks(values, lower_is_better).mean(axis=0)
    n, k = values.shape
    difference = nemenyi_critical_difference(k, n, alpha)
    apart = np.abs(np.subtract.outer(ranks, ranks))
    p = stats.studentized_range.sf(apart / _scale(k, n), k, np.inf)
    np.fill_diagonal(p, 1.0)
    groups = tuple(tuple(known[j] for j in group) for group in indistinguishable(ranks, difference))
    return NemenyiResult(known, ranks, n, k, alpha, difference, p, groups)


def indistinguishable(ranks: Array, difference: float) -> list[tuple[int, ...]]:
    """Positions of the largest groups whose ranks all lie within less than the difference.

    On a line such a group is a run of neighbours, and a run is largest if it neither begins nor
    ends with another.

    Examples
    --------
    >>> indistinguishable(np.array([3.0, 1.0, 2.5, 1.5]), 1.6)
    [(1, 3, 2), (3, 2, 0)]
    """
    order = np.argsort(ranks, kind="stable")
    ends = np.searchsorted(ranks[order], ranks[order] + difference, side="left")
    groups, reached = [], 0
    for start, end in enumerate(ends.tolist()):
        if end > max(reached, start + 1):
            groups.append(tuple(order[start:end].tolist()))
            reached = end
    return groups


def _scale(k: int, n: int) -> float:
    """Unit of the studentised range in average ranks."""
    return math.sqrt(k * (k + 1) / (12.0 * n))


def _ranks(values: Array, lower_is_better: bool) -> Array:
    return np.asarray(stats.rankdata(values if lower_is_better else -values, axis=1))


def _read_scores(
    scores: Any, names: Sequence[str] | None = None, least_sets: int = 1
) -> tuple[tuple[str, ...], Array]:
    """Names of the models and their scores, checked."""
    columns, values = _as_array(scores)
    if values.ndim != 2 or values.shape[1] < 2 or values.shape[0] < least_sets:
        raise ValueError(
            f"scores must have a row per data set, {least_sets} at least, and a column per model, "
            f"2 at least; found an array of shape {values.shape}."
        )
    known = _names(names, columns, values.shape[1])
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        row, column = missing[0]
        raise ValueError(
            f"scores has {len(missing)} missing figures (NaN), the first in row {row} of "
            f"{known[column]!r}; every model needs a figure on every data set."
        )
    return known, values


def _names(
    given: Sequence[str] | None, columns: tuple[str, ...] | None, n_models: int
) -> tuple[str, ...]:
    if given is None:
        return columns or tuple(f"model {j}" for j in range(1, n_models + 1))
    names = tuple(map(str, given))
    if len(names) != n_models or len(set(names)) < n_models:
        raise ValueError(
            f"names must be {n_models} different names, one per model; found {list(names)}."
        )
    return names


def _as_array(scores: Any) -> tuple[tuple[str, ...] | None, Array]:
    import narwhals as nw

    frame = nw.from_native(scores, eager_only=True, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        texts = [name for name, dtype in frame.schema.items() if not dtype.is_numeric()]
        if texts:
            raise ValueError(
                f"scores must have columns of numbers only; found {texts[0]!r} with "
                f"{frame.schema[texts[0]]}."
            )
        return tuple(map(str, frame.columns)), np.asarray(frame.to_numpy(), dtype=np.float64)
    try:
        return None, np.asarray(scores, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "scores must be numbers, a row per data set and a column per model; found values "
            f"that are not ({error})."
        ) from error
