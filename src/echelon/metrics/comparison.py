"""Are two models different? Summaries of repeated measurements and tests between them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats


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
    first: Sequence[float], second: Sequence[float], *, training: int, test: int
) -> tuple[Summary, float]:
    """Compare two models measured on the same random splits, split by split.

    Parameters
    ----------
    first, second : sequence of float
        A figure per split, in the same order.
    training, test : int
        Rows of the training and the test part of a split.

    Returns
    -------
    difference : Summary
        Of first minus second.
    p : float
        Two-sided; NaN for a single split.

    Notes
    -----
    Nadeau and Bengio (2003): the variance of the mean difference is multiplied by
    1 + J·n_test/n_training for J splits, because the training parts of random splits overlap.

    Examples
    --------
    >>> a, b = [0.50, 0.54, 0.49, 0.52], [0.55, 0.60, 0.53, 0.59]
    >>> difference, p = corrected_resampled_t_test(a, b, training=80, test=20)
    >>> round(difference.mean, 3), p < 0.05
    (-0.055, True)
    """
    difference = Summary.of(np.subtract(first, second).tolist())
    inflation = math.sqrt(1.0 + difference.n * test / training)
    p = two_sided_p(difference.mean, difference.se * inflation, difference.n - 1)
    return difference, p
