"""Is a measured error better than, equal to or worse than another?

Against a published mean: Welch's t test from the two means, standard deviations and numbers of
trials. Both are means over random splits of the same data set, so the test asks whether the two
procedures differ in mean error on that data set. Where the paper prints no spread, its mean is
taken as exact (one-sample t test), which calls more differences real.

Does a measured error agree with a published mean within a stated tolerance? It does if it is lower,
or higher by no more than so many published standard errors or a least amount, the larger of both.

Between two of our own models on the same splits: the corrected resampled t test.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from echelon.metrics.significance import Summary, corrected_resampled_t_test, two_sided_p

from .published import Figure, Tolerance

LEVEL = 0.05


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
    theirs = published_se(figure, spread, trials)
    # Welch and Satterthwaite; with no published spread this is the one-sample test on n − 1.
    variance = ours.se**2 + theirs**2
    denominator = ours.se**4 / max(ours.n - 1, 1) + theirs**4 / max(trials - 1, 1)
    freedom = variance**2 / denominator if denominator > 0 else math.inf
    difference = ours.mean - figure.mean
    return _judge(difference, two_sided_p(difference, math.sqrt(variance), freedom))


def published_se(figure: Figure, spread: str, trials: int) -> float:
    """Standard error of a published mean; zero where no spread is printed."""
    if figure.spread is None or spread == "none":
        return 0.0
    return figure.spread / (1.0 if spread == "se" else math.sqrt(trials))


def is_within(
    ours: Summary, figure: Figure, spread: str, trials: int, tolerance: Tolerance
) -> bool:
    """Whether ours is lower than a published mean, or higher by no more than the tolerance.

    The other parameters are those of `against_published`.
    """
    margin = max(tolerance.standard_errors * published_se(figure, spread, trials), tolerance.least)
    # Means of printed decimals: a sum that is equal on paper must not fail by a rounding.
    return ours.mean - figure.mean <= margin + 1e-9


def between_models(
    ours: Sequence[float],
    other: Sequence[float],
    *,
    training: int,
    test: int,
    largest_loss: float | None = None,
) -> tuple[Summary, Verdict]:
    """Difference of two models' errors on the same splits, and the verdict on the first.

    Losses without a bound are not tested on training parts smaller than the test parts, where the
    correction would call every difference equal.
    """
    difference, p = corrected_resampled_t_test(
        ours, other, training=training, test=test, largest_loss=largest_loss
    )
    if largest_loss is None and training < test:
        return difference, Verdict("not tested", math.nan)
    return difference, _judge(difference.mean, p)


def _judge(difference: float, p: float) -> Verdict:
    """Word for a difference of errors; lower errors are better."""
    if math.isnan(p):
        return Verdict("too few splits", p)
    if p >= LEVEL:
        return Verdict("equal", p)
    return Verdict("better" if difference < 0 else "worse", p)


def p_text(p: float) -> str:
    """A p-value as pages and the command line show it.

    Examples
    --------
    >>> p_text(0.0421), p_text(1e-9), p_text(math.nan)
    ('0.042', '<0.001', '–')
    """
    if math.isnan(p):
        return "–"
    return "<0.001" if p < 0.001 else f"{p:.3f}"
