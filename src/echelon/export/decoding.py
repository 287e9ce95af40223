"""From latent scores to margins, labels and class probabilities, as the models have it.

Functions that links need and onnxruntime lacks in double precision are polynomials on short
intervals, evaluated by Horner's rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.polynomial import chebyshev
from scipy.special import erfcx

from .._utils.types import Matrix, Vector
from ..ordinal.costs import cost_matrix
from ..ordinal.reduction import UNTILTING_RIDGE, VOTE_ROUNDING
from ..solvers.linear.calibration import Calibration
from .graph import Value, in_double

# Of the map from [0, ∞) to [−1, 1] that makes e^{a²}·erfc(a) nearly a polynomial.
_CENTRE = 3.75
_DEGREE_ERFCX = 28
_DEGREE_ATAN = 16
# tan(π/8): where |z| ≤ 1 has half the angle.
_WIDTH = np.tan(np.pi / 8.0)
# Beyond this the normal tail is zero in double precision.
_FAR = 38.6


@dataclass(frozen=True)
class Ordinal:
    """What a model of ordered labels gives: codes, margins, and what else it has."""

    codes: Value
    margins: Value
    latent: Value | None = None
    probabilities: Value | None = None


def decode(margins: Value) -> Value:
    """Number of positive margins."""
    return (margins > 0.0).cast("int64").sum()


def margins_of(latent: Value, thresholds: Vector) -> Value:
    """Scores less thresholds."""
    return latent.upright() - thresholds


def threshold_model(
    latent: Value, thresholds: Vector, calibration: Calibration | None = None
) -> Ordinal:
    """A score, its thresholds, the label by the margins, and probabilities by a logistic model."""
    margins = margins_of(latent, thresholds)
    probabilities = None
    if calibration is not None:
        scaled = latent * float(calibration.slope)
        probabilities = link_probabilities("logit", scaled, calibration.thresholds)
    return Ordinal(decode(margins), margins, latent, probabilities)


def least_cost(probabilities: Value, model: Any) -> Value:
    """Code of least expected cost to a fitted model, the lowest among equals."""
    return (probabilities @ cost_matrix(model.cost, len(model.classes_))).argmin()


def link_probabilities(
    name: str, latent: Value, thresholds: Vector, scale: Value | None = None
) -> Value:
    """Class probabilities of a cumulative link model, with a scale of the noise for each row.

    Intervals right of the middle are differences of upper tails, so that small probabilities keep
    their digits on both sides.
    """
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    z = edges - latent.upright()
    if scale is not None:
        z = z / scale.upright()
    lower, upper = np.arange(len(edges) - 1), np.arange(1, len(edges))
    cdf, tail = (curve(z) for curve in _LINKS[name])
    right = tail.take(lower) - tail.take(upper)
    left = cdf.take(upper) - cdf.take(lower)
    beyond = (z.take(lower) + z.take(upper)) > 0.0
    return normalised(beyond.where(right, left).clip(0.0))


def normalised(values: Value) -> Value:
    """Rows divided by their sums."""
    return values / values.sum(keep=True)


def untilted_probabilities(above: Value, weights: Matrix) -> Value:
    """Class probabilities behind shares that were estimated with threshold weights.

    The K equations of every row are solved by Gauss and Jordan's elimination; the matrix is
    positive definite, so no rows are exchanged.
    """
    K = len(weights)
    if (weights == weights[0, 0]).all():
        return fall_probabilities(above, K)
    sides = (np.arange(K) > np.arange(K - 1)[:, None]).astype(np.float64)
    scaled = weights.T / max(weights.max(), np.finfo(np.float64).tiny)
    equations = (sides - above.upright(2)) * scaled
    graph = above.graph
    turned = in_double(graph.op("Transpose", equations, perm=[0, 2, 1]))
    system = turned @ equations + UNTILTING_RIDGE * np.eye(K)
    solved = (system.take(np.array([0]), axis=2)) * 0.0 + 1.0
    for k in range(K):
        rest = (np.arange(K) != k).astype(np.float64)[:, None]
        pivot = system.take(np.array([k]), axis=1)
        scale = pivot.take(np.array([k]), axis=2)
        factors = system.take(np.array([k]), axis=2) * rest
        row, right = pivot / scale, solved.take(np.array([k]), axis=1) / scale
        system = (system - factors * row) * rest + row * (1.0 - rest)
        solved = (solved - factors * right) * rest + right * (1.0 - rest)
    flat = graph.op("Squeeze", solved, np.array([2]))
    return normalised(normalised(flat).clip(0.0))


def fall_probabilities(above: Value, n_classes: int) -> Value:
    """Falls of K−1 probabilities of lying above, from one to zero."""
    graph = above.graph
    ones = above.column(0) * 0.0 + 1.0
    framed = graph.concat([ones, above, ones * 0.0])
    return framed.take(np.arange(n_classes)) - framed.take(np.arange(1, n_classes + 1))


def sigmoid(z: Value) -> Value:
    """1/(1 + e^{−z}), also of ±∞.

    The operator of that name is off by 1e-8 in its tails in onnxruntime.
    """
    return 1.0 / (1.0 + (-z).apply("Exp"))


def monotone_exceedance(above: Value, width: int) -> Value:
    """Nearest P(y > k) that falls in k: min over a ≤ k of max over b ≥ k of mean(a … b)."""
    columns = [above.column(k) for k in range(width)]
    least: list[Value | None] = [None] * width
    for a in range(width):
        total, means = None, []
        for b in range(a, width):
            total = columns[b] if total is None else total + columns[b]
            means.append(total / float(b - a + 1))
        highest = means[-1]
        for k in range(width - 1, a - 1, -1):
            highest = highest.at_least(means[k - a])
            before = least[k]
            least[k] = highest if before is None else before.at_most(highest)
    projected = above.graph.concat([value for value in least if value is not None])
    return running_minimum(projected, width).clip(0.0, 1.0)


def running_minimum(values: Value, width: int) -> Value:
    """Least entry of each row up to each column."""
    columns = [values.column(0)]
    for k in range(1, width):
        columns.append(columns[-1].at_most(values.column(k)))
    return values.graph.concat(columns)


def vote_margins(above: Value, total: float) -> Value:
    """Margins by the weight of the votes above; a tie, also up to rounding, counts as above."""
    margins = 2.0 * (above / total) - 1.0
    tied = margins.apply("Abs") <= VOTE_ROUNDING
    return tied.where(np.finfo(np.float64).tiny, margins)


def _smooth_erfcx(t: Any) -> Any:
    with np.errstate(divide="ignore"):
        a = _CENTRE * (1.0 + t) / (1.0 - t)
    # At infinity a·erfcx(a) is 1/√π; (a + c)·erfcx(a) is smooth on all of [−1, 1].
    return np.where(t < 1.0, (np.minimum(a, 1e8) + _CENTRE) * erfcx(np.minimum(a, 1e8)), 0.0)


def _smooth_atan(t: Any) -> Any:
    root = np.sqrt(np.maximum(0.5 * (t + 1.0), 1e-300)) * _WIDTH
    return np.arctan(root) / root


@cache
def _polynomial(function: Any, degree: int) -> Vector:
    """By interpolation at Chebyshev's points of [−1, 1]."""
    return np.asarray(chebyshev.cheb2poly(chebyshev.chebinterpolate(function, degree)))


def _horner(coefficients: Vector, t: Value) -> Value:
    result = t * coefficients[-1] + coefficients[-2]
    for coefficient in coefficients[-3::-1]:
        result = result * t + coefficient
    return result


def normal_tail(a: Value) -> Value:
    """1 − Φ(a) for a ≥ 0, with relative accuracy."""
    a = a.clip(0.0, _FAR)
    half = a * np.sqrt(0.5)
    coefficients = _polynomial(_smooth_erfcx, _DEGREE_ERFCX)
    smooth = _horner(coefficients, (half - _CENTRE) / (half + _CENTRE)) / (half + _CENTRE)
    return smooth * (a * a * -0.5).apply("Exp") * 0.5


def normal_cdf(z: Value) -> Value:
    """Φ(z), with relative accuracy in the lower tail."""
    tail = normal_tail(z.apply("Abs"))
    return (z < 0.0).where(tail, 1.0 - tail)


def arctangent(z: Value) -> Value:
    """Arc tangent, also of ±∞."""
    size = z.apply("Abs")
    inner = size.at_most(1.0 / size.at_least(1e-300))
    halved = inner / (1.0 + (1.0 + inner * inner).apply("Sqrt"))
    t = halved * halved * (2.0 / _WIDTH**2) - 1.0
    angle = 2.0 * halved * _horner(_polynomial(_smooth_atan, _DEGREE_ATAN), t)
    angle = (size > 1.0).where(0.5 * np.pi - angle, angle)
    return angle * z.apply("Sign")


def _cloglog(z: Value) -> Value:
    return 1.0 - _cloglog_tail(z)


def _cloglog_tail(z: Value) -> Value:
    return (-z.apply("Exp")).apply("Exp")


def _cauchit(z: Value) -> Value:
    return arctangent(z) * (1.0 / np.pi) + 0.5


Curve = Callable[[Value], Value]

_LINKS: dict[str, tuple[Curve, Curve]] = {
    "logit": (sigmoid, lambda z: sigmoid(-z)),
    "probit": (normal_cdf, lambda z: normal_cdf(-z)),
    "cloglog": (_cloglog, _cloglog_tail),
    "loglog": (lambda z: _cloglog_tail(-z), lambda z: _cloglog(-z)),
    "cauchit": (_cauchit, lambda z: _cauchit(-z)),
}
