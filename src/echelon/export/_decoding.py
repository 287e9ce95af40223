"""From latent scores to margins, labels and class probabilities, as the models have it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._utils.types import Matrix, Vector
from ..ordinal.reduction import _RIDGE, _VOTE_ROUNDING
from ._functions import arctangent, normal_cdf
from ._graph import Value, in_double


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
    latent: Value, thresholds: Vector, probabilities: Value | None = None
) -> Ordinal:
    """A score, its thresholds, and the label by the margins."""
    margins = margins_of(latent, thresholds)
    return Ordinal(decode(margins), margins, latent, probabilities)


def least_cost(probabilities: Value, cost: Matrix) -> Value:
    """Code of least expected cost, the lowest among equals."""
    return (probabilities @ cost).argmin()


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
    system = turned @ equations + _RIDGE * np.eye(K)
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
    tied = margins.apply("Abs") <= _VOTE_ROUNDING
    return tied.where(np.finfo(np.float64).tiny, margins)


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
