"""Is a measured error better than, equal to or worse than another?

Against a published mean: Welch's t test from the two means, standard deviations and numbers of
trials. Both are means over random splits of the same data set, so the test asks whether the two
procedures differ in mean error on that data set. Where the paper prints no spread, its mean is
taken as exact (one-sample t test), which calls more differences real.

Between two of our own models on the same splits: the corrected resampled t test of Nadeau and
Bengio (2003), which multiplies the variance of the mean difference by 1 + J·n_test/n_training for
J splits, because the training parts of random splits overlap.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .published import Figure

LEVEL = 0.05


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation (n − 1) and number of splits of a measured error."""

    mean: float
    sd: float
    n: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Summary:
        """Summarise errors of splits.

        Examples
        --------
        >>> Summary.of([1.0, 2.0, 3.0]).se.__round__(4)
        0.5774
        """
        sd = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
        return cls(float(np.mean(values)), sd, len(values))

    @property
    def se(self) -> float:
        """Standard error of the mean."""
        return self.sd / math.sqrt(self.n)


@dataclass(frozen=True)
class Verdict:
    """The word, better, equal or worse at `LEVEL`, and the two-sided p-value; NaN without one."""

    word: str
    p: float


def against_published(ours: Summary, figure: Figure, spread: str, trials: int) -> Verdict:
    """Compare a measured error with a published figure.

    Parameters
    ----------
    ours : Summary
    figure : Figure
    spread : {"sd", "se", "none"}
        What the number after ± in the published table is.
    trials : int
        Number of trials behind the published mean.
    """
    theirs = 0.0
    if figure.spread is not None and spread != "none":
        theirs = figure.spread / (1.0 if spread == "se" else math.sqrt(trials))
    # Welch and Satterthwaite; with no published spread this is the one-sample test on n − 1.
    variance = ours.se**2 + theirs**2
    denominator = ours.se**4 / max(ours.n - 1, 1) + theirs**4 / max(trials - 1, 1)
    freedom = variance**2 / denominator if denominator > 0 else math.inf
    return _judge(ours.mean - figure.mean, math.sqrt(variance), freedom)


def between_models(
    ours: Sequence[float], other: Sequence[float], *, training: int, test: int
) -> Verdict:
    """Compare errors of two models on the same splits, split by split."""
    difference = Summary.of(np.subtract(ours, other).tolist())
    inflation = math.sqrt(1.0 + difference.n * test / training)
    return _judge(difference.mean, difference.se * inflation, difference.n - 1)


def _judge(difference: float, error: float, freedom: float) -> Verdict:
    """Two-sided t test of an error difference; lower errors are better."""
    if math.isnan(error):
        return Verdict("too few splits", math.nan)
    if error == 0.0:
        p = 1.0 if difference == 0.0 else 0.0
    else:
        p = float(2.0 * stats.t.sf(abs(difference) / error, freedom))
    if p >= LEVEL:
        return Verdict("equal", p)
    return Verdict("better" if difference < 0 else "worse", p)
