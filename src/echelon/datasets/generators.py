"""Artificial ordinal data with known truth: the papers' sets and a general cumulative link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from sklearn.utils import check_random_state

from .._utils.messages import require_choice
from .._utils.types import Array, Codes, Matrix, RandomStateLike
from ..ordinal.arrays import require_count, require_positive
from ..ordinal.likelihoods import Link, class_probabilities, get_link

#: three-rank set: standard deviation of the latent noise at the two levels
_NOISE_LEVELS = {"lower": 0.1, "higher": 0.4}
#: length of the coefficients of `make_ordinal_classification` at noise 1
_SIGNAL = 3.0


@dataclass(frozen=True)
class OrdinalTruth:
    """The cumulative link model that labels were drawn from.

    P(y ≤ k | x) = F(b_k − f(x)) for the noise distribution F of `link`.

    Attributes
    ----------
    scores : ndarray of shape (n,)
        f(x) of the rows drawn.
    thresholds : ndarray of shape (K−1,)
        b, ascending.
    link : str
        Name of the link.
    coefficients : ndarray of shape (d,) or None
        w where f(x) = wᵀx.
    """

    scores: Array
    thresholds: Array
    link: str
    coefficients: Array | None = None

    @cached_property
    def probabilities(self) -> Array:
        """P(y = k | x) of the rows drawn."""
        return class_probabilities(get_link(self.link), self.scores, self.thresholds)

    @property
    def bayes_absolute_error(self) -> float:
        """Least expected absolute error on the rows drawn, that of the median label.

        It is the mean of Σ_k min(P(y ≤ k), P(y > k)).
        """
        below = np.cumsum(self.probabilities, axis=1)[:, :-1]
        return float(np.minimum(below, 1.0 - below).sum(axis=1).mean())


def make_ordinal_classification(
    n_samples: int = 100,
    n_features: int = 5,
    n_classes: int = 4,
    *,
    n_informative: int | None = None,
    noise: float = 1.0,
    link: str = "logit",
    weights: Sequence[float] | None = None,
    random_state: RandomStateLike = None,
    return_truth: bool = False,
) -> tuple[Any, ...]:
    """Draw from a linear cumulative link model with known coefficients and thresholds.

    Parameters
    ----------
    n_samples, n_features, n_classes : int
        n rows of d independent standard normal inputs, and labels 1 … K.
    n_informative : int, optional
        Number of leading inputs with a coefficient other than zero; all by default.
    noise : float
        Scale of the noise against the signal: coefficients and thresholds are divided by it.
    link : {"logit", "probit", "cloglog", "loglog", "cauchit"}
        Distribution of the noise.
    weights : sequence of float, optional
        Expected share of each class, lowest to highest; equal by default.
    random_state : int, RandomState instance or None
        Seed of the inputs, the coefficients and the labels.
    return_truth : bool
        Return the `OrdinalTruth` as a third value.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of int of shape (n,)
    truth : OrdinalTruth
        If `return_truth`.

    Examples
    --------
    >>> X, y, truth = make_ordinal_classification(
    ...     200, n_classes=3, random_state=0, return_truth=True
    ... )
    >>> X.shape, np.unique(y).tolist(), truth.thresholds.shape
    ((200, 5), [1, 2, 3], (2,))
    """
    require_count("n_samples", n_samples, 1)
    require_count("n_features", n_features, 1)
    require_count("n_classes", n_classes, 2)
    informative = n_features if n_informative is None else n_informative
    require_count("n_informative", informative, 1)
    if informative > n_features:
        raise ValueError(
            f"n_informative must be at most n_features, {n_features}; found {informative}."
        )
    require_positive("noise", noise)
    distribution = get_link(link)
    shares = _check_shares(weights, n_classes)
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    w = np.zeros(n_features)
    w[:informative] = rng.standard_normal(informative)
    length = _SIGNAL / noise
    w *= length / np.linalg.norm(w)
    # xᵀw is normal with standard deviation ‖w‖: its quantiles stand for the population.
    population = length * ndtri((np.arange(1000) + 0.5) / 1000)
    thresholds = _thresholds_for_shares(distribution, population, shares)
    truth = OrdinalTruth(X @ w, thresholds, link, w)
    return _with_labels(X, truth, rng, return_truth)


def make_quadratic_ordinal(
    n_samples: int = 500, *, random_state: RandomStateLike = None
) -> tuple[Matrix, Codes]:
    """Four ranks on the unit square, parted by three quadratic curves, without noise.

    The setting of [LL09] section 5.1, which states neither the curves nor a noise. Here the
    label is 1 plus the number of curves x₂ = c + 1.6·(x₁ − ½)² below the point, with
    c = 0.1, 0.33, 0.57; the classes have shares 0.233, 0.23, 0.24 and 0.297.

    Parameters
    ----------
    n_samples : int
        Number of points, uniform on [0, 1]².
    random_state : int, RandomState instance or None

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int of shape (n,)

    Examples
    --------
    >>> X, y = make_quadratic_ordinal(random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((500, 2), [1, 2, 3, 4])
    """
    require_count("n_samples", n_samples, 1)
    X = check_random_state(random_state).uniform(size=(n_samples, 2))
    height = X[:, 1] - 1.6 * (X[:, 0] - 0.5) ** 2
    return X, np.searchsorted([0.1, 0.33, 0.57], height, side="left") + 1


def make_three_rank_ordinal(
    n_samples: int = 60,
    *,
    noise: float | str = "lower",
    random_state: RandomStateLike = None,
    return_truth: bool = False,
) -> tuple[Any, ...]:
    """Three ranks in the plane with a curved latent function and Gaussian noise.

    In the manner of the figure of [CG05] that shows three ordinal scales in two dimensions at a
    lower and a higher noise level; the figures themselves are ours. The points are uniform on
    [−1, 1]², f(x) = x₁ + sin(πx₂)/2, the thresholds −0.4 and 0.4, and the label is 1 plus the
    number of thresholds below f(x) + ε, ε ~ N(0, noise²).

    Parameters
    ----------
    n_samples : int
    noise : float, "lower" or "higher"
        Standard deviation of ε; "lower" is 0.1 and "higher" 0.4.
    random_state : int, RandomState instance or None
    return_truth : bool
        Return the `OrdinalTruth`, a probit link in units of the noise, as a third value.

    Returns
    -------
    X : ndarray of shape (n, 2)
    y : ndarray of int of shape (n,)
    truth : OrdinalTruth
        If `return_truth`.

    Examples
    --------
    >>> X, y = make_three_rank_ordinal(noise="higher", random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((60, 2), [1, 2, 3])
    """
    require_count("n_samples", n_samples, 1)
    if isinstance(noise, str):
        require_choice("noise", noise, _NOISE_LEVELS, "a positive number")
    level = _NOISE_LEVELS[noise] if isinstance(noise, str) else noise
    require_positive("noise", level)
    rng = check_random_state(random_state)
    X = rng.uniform(-1.0, 1.0, size=(n_samples, 2))
    scores = (X[:, 0] + 0.5 * np.sin(np.pi * X[:, 1])) / level
    truth = OrdinalTruth(scores, np.array([-0.4, 0.4]) / level, "probit")
    return _with_labels(X, truth, rng, return_truth)


def make_nonlinear_ordinal(
    n_samples: int = 1000,
    n_features: int = 15,
    *,
    bayes_error: float = 1.0,
    random_state: RandomStateLike = None,
    return_truth: bool = False,
) -> tuple[Any, ...]:
    """Ten classes from linear, Gaussian, cube and rectangle terms, [DK09] section 4.1.

    The inputs are standard normal and log P(y > k | x)/P(y ≤ k | x) = π(f(x) − θ_k) with

        f = x₁ − x₂ + 0.2(x₃ − x₄) + 5·exp(−(x₅² + x₆² + 0.2·x₇²)) − Π_{j=8..10} I(|x_j| ≤ ½)
            + I(x₁₁ ≥ 0 ∧ x₁₂ ≥ 0) − I(x₁₃ ≥ 0 ∧ x₁₄ ≥ 0).

    θ makes the ten classes equally frequent, and π sets the least mean absolute error that any
    classifier can reach. Both are found numerically on a fixed large sample of f.

    Parameters
    ----------
    n_samples : int
    n_features : int
        At least 14; the inputs beyond the fourteenth are irrelevant. The paper leaves the
        number open.
    bayes_error : float
        Bayes risk of the absolute error, between 0.01 and 2.45; the paper sets 1.
    random_state : int, RandomState instance or None
    return_truth : bool
        Return the `OrdinalTruth` (with scores πf and thresholds πθ) as a third value.

    Returns
    -------
    X : ndarray of shape (n, d)
    y : ndarray of int of shape (n,)
    truth : OrdinalTruth
        If `return_truth`.

    Examples
    --------
    >>> X, y = make_nonlinear_ordinal(random_state=0)
    >>> X.shape, int(y.min()), int(y.max())
    ((1000, 15), 1, 10)
    """
    require_count("n_samples", n_samples, 1)
    require_count("n_features", n_features, 14)
    # Beyond these the steepness would have to be nearly infinite, or nearly zero.
    if not 0.01 <= bayes_error <= 2.45:
        raise ValueError(f"bayes_error must be between 0.01 and 2.45; found {bayes_error!r}.")
    steepness, thresholds = _nonlinear_calibration(float(bayes_error))
    rng = check_random_state(random_state)
    X = rng.standard_normal((n_samples, n_features))
    truth = OrdinalTruth(steepness * _nonlinear_scores(X), np.array(thresholds), "logit")
    return _with_labels(X, truth, rng, return_truth)


def _nonlinear_scores(X: Array) -> Array:
    """The function f of [DK09] section 4.1."""
    x = X.T
    linear = x[0] - x[1] + 0.2 * (x[2] - x[3])
    ball = 5.0 * np.exp(-(x[4] ** 2 + x[5] ** 2 + 0.2 * x[6] ** 2))
    cube = (np.abs(x[7:10]) <= 0.5).all(axis=0)
    rectangles = 1.0 * (x[10:12] >= 0).all(axis=0) - 1.0 * (x[12:14] >= 0).all(axis=0)
    return np.asarray(linear + ball - cube + rectangles)


@lru_cache(maxsize=32)
def _nonlinear_calibration(bayes_error: float) -> tuple[float, tuple[float, ...]]:
    """π and πθ that give ten equally frequent classes and the Bayes absolute error asked for."""
    sample = np.random.RandomState(0).standard_normal((400_000, 14))
    scores = np.quantile(_nonlinear_scores(sample), (np.arange(1000) + 0.5) / 1000)
    link, shares = get_link("logit"), np.full(10, 0.1)

    def truth(log_steepness: float) -> OrdinalTruth:
        steep = np.exp(log_steepness) * scores
        return OrdinalTruth(steep, _thresholds_for_shares(link, steep, shares), "logit")

    log_steepness = brentq(
        lambda value: truth(value).bayes_absolute_error - bayes_error, -7.0, 7.0, xtol=1e-6
    )
    return float(np.exp(log_steepness)), tuple(truth(log_steepness).thresholds.tolist())


def _thresholds_for_shares(link: Link, scores: Array, shares: Array) -> Array:
    """Thresholds b with mean_i F(b_k − f_i) = the share of the classes up to k, by bisection."""
    wanted = np.cumsum(shares)[:-1]
    # F(b − f) ≤ q for every f at b = min f + F⁻¹(q), and ≥ q at max f + F⁻¹(q).
    low = scores.min() + link.quantile(wanted)
    high = scores.max() + link.quantile(wanted)
    for _ in range(50):
        middle = 0.5 * (low + high)
        ends = middle - scores[:, None]
        mean = np.exp(link.log_interval(np.full_like(ends, -np.inf), ends)).mean(axis=0)
        low, high = np.where(mean < wanted, middle, low), np.where(mean < wanted, high, middle)
    return np.asarray(0.5 * (low + high))


def _with_labels(X: Array, truth: OrdinalTruth, rng: Any, return_truth: bool) -> tuple[Any, ...]:
    """Labels 1 plus the number of thresholds below f + ε."""
    uniform = rng.uniform(np.finfo(np.float64).tiny, 1.0, size=len(X))
    latent = truth.scores + get_link(truth.link).quantile(uniform)
    y = np.searchsorted(truth.thresholds, latent, side="left") + 1
    return (X, y, truth) if return_truth else (X, y)


def _check_shares(weights: Sequence[float] | None, n_classes: int) -> Array:
    if weights is None:
        return np.full(n_classes, 1.0 / n_classes)
    shares = np.asarray(weights, dtype=np.float64)
    if shares.shape != (n_classes,) or not (np.isfinite(shares) & (shares > 0)).all():
        raise ValueError(
            f"weights must be {n_classes} positive numbers, one per class; found {weights!r}."
        )
    return np.asarray(shares / shares.sum())
