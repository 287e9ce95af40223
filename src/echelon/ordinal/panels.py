"""Meshes for integrals over a latent function that is Gaussian before it meets a likelihood.

A likelihood of an interval changes on the scale of the noise near its thresholds and is smooth,
on the scale of the distance to the nearest threshold, elsewhere. A mesh of panels, each with a
Gauss–Legendre rule, therefore has panels of a few noise widths at a threshold that grow in
proportion to the distance from it, and none longer than a sixth of the whole interval, so that a
bell-shaped integrand is resolved too.

A log-concave integrand that falls at least as sharply as e^{−t²/2} from its mode is negligible
outside an interval that is found by Newton's method alone: for a concave function it approaches a
level from outside, so that it may stop as soon as the interval is short enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._utils.types import Array, Index

#: value, slope and curvature (at most −1) of some rows' functions at one point each
Concave = Callable[[Index, Array], tuple[Array, Array, Array]]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: length of a panel at a threshold, and its growth with the distance from it
_LENGTH, _GROWTH = 4.0, 1.0
_LEAST_PANELS = 6
#: how far below its maximum a function may be at what counts as its mode
MODE_GAP = 0.1
_LENGTHENED = 8.0
_MAX_STEPS = 100


@dataclass(frozen=True)
class Panels:
    """Panels of many rows: panel j belongs to row ``row[j]``.

    Attributes
    ----------
    row : ndarray of int, shape (m,)
    nodes, weights : ndarray of shape (m, 16)
        Abscissae, and the weights of the rule.
    n_rows : int
    """

    row: Index
    nodes: Array
    weights: Array
    n_rows: int

    def sums(self, values: Array) -> Array:
        """Sum of the values at the nodes over the nodes of each row."""
        return np.asarray(np.bincount(self.row, values.sum(axis=1), self.n_rows), dtype=np.float64)


def build_panels(left: Array, right: Array, lower: Array, upper: Array, noise: Array) -> Panels:
    """Mesh of [left, right] of each row, for thresholds at lower and upper (possibly infinite)."""
    extent = right - left
    ahead = (lower - left) / noise, (upper - left) / noise
    # Distances from the left end: a short interval far from zero must not stall the walk.
    travelled = np.zeros(len(left))
    row = np.arange(len(left))
    rows: list[Index] = []
    starts, lengths = [], []
    while row.size or not rows:
        here, unit = travelled[row], noise[row]
        length = extent[row] / _LEAST_PANELS
        for threshold in ahead:
            length = np.minimum(length, unit * _longest_step(threshold[row] - here / unit))
        remainder = extent[row] - here
        # What is left over at the end is not worth a panel of its own.
        proceeds = remainder > 1.1 * length
        length = np.where(proceeds, length, remainder)
        rows.append(row)
        starts.append(here)
        lengths.append(length)
        travelled[row] = here + length
        row = row[proceeds]
    owner = np.concatenate(rows)
    half = 0.5 * np.concatenate(lengths)
    centre = left[owner] + (np.concatenate(starts) + half)
    nodes = centre[:, None] + half[:, None] * _NODES
    return Panels(owner, nodes, half[:, None] * _WEIGHTS, len(left))


def _longest_step(ahead: Array) -> Array:
    """Length of a panel that starts this far before a threshold, or −ahead behind it."""
    # Before the threshold it is the far end of the panel that comes close to it.
    return np.where(
        ahead > 0.0,
        (_LENGTH + _GROWTH * ahead) / (1.0 + _GROWTH),
        _LENGTH - _GROWTH * ahead,
    )


def concave_support(
    function: Concave, n_rows: int, depth: float, near: Array | None = None
) -> tuple[Array, Array, Array]:
    """Where concave functions are within `depth` of their maxima, give or take a tenth of it.

    Parameters
    ----------
    function : callable
        Functions of t whose curvature is at most −1, so that the mode lies between zero and the
        slope at zero.
    n_rows : int
        Number of functions.
    depth : float
        Difference to the maximum.
    near : ndarray of shape (n_rows,), optional
        Where the maxima may be, to look there first.

    Returns
    -------
    top, left, right : ndarray of shape (n_rows,)
        The maximum to within 0.1, and the ends of the interval.

    Examples
    --------
    >>> parabolas = lambda rows, t: (-2.0 * t * t, -4.0 * t, np.full(len(rows), -4.0))
    >>> top, left, right = concave_support(parabolas, 1, 18.0)
    >>> top, bool(left[0] <= -3.0), bool(right[0] >= 3.0)
    (array([-0.]), True, True)
    """
    mode, top = _modes(function, n_rows, np.zeros(n_rows) if near is None else near)
    reach = math.sqrt(2.0 * (depth + 2.0 * MODE_GAP))
    left = _descend(function, mode - reach, top - depth, 0.1 * depth)
    right = _descend(function, mode + reach, top - depth, 0.1 * depth)
    # Where values are so large that their rounding exceeds the depth, the mode stays inside.
    width = 4.0 * np.spacing(np.abs(mode))
    return top, np.minimum(left, mode - width), np.maximum(right, mode + width)


def _modes(function: Concave, n_rows: int, near: Array) -> tuple[Array, Array]:
    """Points at most MODE_GAP below the maxima, and the values there."""
    t = np.zeros(n_rows)
    active = np.arange(n_rows)
    value, slope, curvature = function(active, t)
    first, last = np.minimum(slope, 0.0), np.maximum(slope, 0.0)
    # Length of the last step, and of the one before.
    moved = last - first
    before = moved.copy()
    for round_ in range(_MAX_STEPS):
        # Uphill the function lies below its tangent, and below a parabola of curvature −1.
        uphill = np.where(slope[active] > 0.0, last[active], first[active]) - t[active]
        gap = np.minimum(slope[active] * uphill, 0.5 * slope[active] ** 2)
        active = active[gap > MODE_GAP]
        if not active.size:
            break
        low, high = first[active], last[active]
        step = t[active] - slope[active] / curvature[active]
        # Newton's steps may go to and fro for ever, or creep: one that is longer than half of the
        # last but one is lengthened, to have the mode between two points of its own scale.
        creeps = np.abs(step - t[active]) > 0.5 * before[active]
        step = np.where(creeps, t[active] + _LENGTHENED * (step - t[active]), step)
        at = np.where((step > low) & (step < high), step, 0.5 * (low + high))
        if round_ == 0:
            guess = near[active]
            at = np.where((guess > low) & (guess < high), guess, at)
        before[active], moved[active] = moved[active], np.abs(at - t[active])
        t[active] = at
        value[active], slope[active], curvature[active] = function(active, at)
        first[active] = np.where(slope[active] > 0.0, at, low)
        last[active] = np.where(slope[active] > 0.0, high, at)
    return t, value


def _descend(function: Concave, t: Array, level: Array, slack: float) -> Array:
    """Newton's method from points beyond the crossing of a level, down to `slack` below it."""
    active = np.arange(len(t))
    for _ in range(_MAX_STEPS):
        value, slope, _curvature = function(active, t[active])
        below = level[active] - value
        going = below > slack
        active = active[going]
        if not active.size:
            break
        t[active] += below[going] / slope[going]
    return t
