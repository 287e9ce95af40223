"""Cuts as people write them: the shortest decimal that parts the training values alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from .._utils.types import Matrix, Vector
from ..solvers.rules.bodies import Body, Interval

# From here on, floats have no digits after the point, and repr writes them with an exponent.
_SCIENTIFIC = 1e16

# Enough digits for the exact value of any float.
_EXACT = Context(prec=1100)


class ShownCut(NamedTuple):
    """A cut c in two ways: x ≤ c reads "at most `most`", and x > c reads "at least `least`"."""

    most: str
    least: str


#: The neighbouring training values of cuts, by feature and then by cut: mappings whose keys are
#: plain numbers can be saved by skops.
Gaps = Mapping[int, Mapping[float, tuple[float, float]]]


def used_cuts(bodies: Iterable[Body]) -> dict[int, Vector]:
    """Ascending distinct finite cuts of every input that bodies of rules cut."""
    found: dict[int, set[float]] = {}
    for body in bodies:
        for condition in body:
            if isinstance(condition, Interval):
                ends = {condition.lower, condition.upper} - {-np.inf, np.inf}
                found.setdefault(condition.feature, set()).update(ends)
    return {feature: np.array(sorted(cuts)) for feature, cuts in found.items()}


def cut_gaps(X: Matrix, bodies: Iterable[Body]) -> dict[int, dict[float, tuple[float, float]]]:
    """Neighbouring training values of every cut that bodies of rules use.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The training inputs; NaN where missing.
    bodies : iterable of Body

    Returns
    -------
    gaps : dict from feature to dict
        From cut to the greatest value at most the cut and the least above.

    Examples
    --------
    >>> X = np.array([[34.0, 3.2], [35.0, 3.4]])
    >>> body = (Interval(0, lower=34.5), Interval(1, upper=3.3))
    >>> cut_gaps(X, [body])
    {0: {34.5: (34.0, 35.0)}, 1: {3.3: (3.2, 3.4)}}
    """
    gaps = {}
    for feature, cuts in used_cuts(bodies).items():
        below, above = neighbours(X[:, feature], cuts)
        sides = zip(below.tolist(), above.tolist(), strict=True)
        gaps[feature] = dict(zip(cuts.tolist(), sides, strict=True))
    return gaps


def neighbours(column: Vector, cuts: Vector) -> tuple[Vector, Vector]:
    """Greatest value at most, and least value above, each of ascending cuts; infinite if none."""
    values = column[~np.isnan(column)]
    place = np.searchsorted(cuts, values)
    greatest = np.full(len(cuts) + 1, -np.inf)
    least = np.full(len(cuts) + 1, np.inf)
    np.maximum.at(greatest, place, values)
    np.minimum.at(least, place, values)
    below = np.maximum.accumulate(greatest)[:-1]
    above = np.minimum.accumulate(least[::-1])[::-1][1:]
    return below, above


@lru_cache(maxsize=2**14)
def shown_cut(cut: float, below: float, above: float) -> ShownCut:
    """Short numbers for one cut between neighbouring values, below ≤ cut < above.

    On rows without a value between these two, "at most `most`" holds where x ≤ cut, and "at least
    `least`" where x > cut.

    Examples
    --------
    >>> shown_cut(617.25, 0.5, 1234.0)
    ShownCut(most='617', least='618')
    >>> shown_cut(0.125, 0.12, 0.13)
    ShownCut(most='0.12', least='0.13')
    """
    # Without a value on one side any number there would do; the cut itself is the honest limit.
    if below == -np.inf:
        below = cut
    if above == np.inf:
        above = cut + max(1.0, abs(cut))
    most = _shortest(cut, lambda s: below <= s < above, upwards=False, otherwise=cut)
    least = _shortest(cut, lambda s: below < s <= above, upwards=True, otherwise=above)
    return ShownCut(plain_number(most), plain_number(least))


def plain_number(value: float) -> str:
    """A number without needless digits.

    Examples
    --------
    >>> [plain_number(x) for x in (34.0, -0.0, 0.1, 1e-7, 2.5e20)]
    ['34', '0', '0.1', '1e-07', '2.5e+20']
    """
    if abs(value) < _SCIENTIFIC and value == int(value):
        return str(int(value))
    return repr(float(value))


def _shortest(
    cut: float, fits: Callable[[float], bool], *, upwards: bool, otherwise: float
) -> float:
    """A number beside the cut with as few decimals as one that fits can have.

    The cut lies between the limits of what fits, so the grid points on its two sides suffice. The
    one on the side that the condition is about comes first: with it the condition is right for
    every number of so few decimals, in the training rows or not.
    """
    exact = Decimal(cut)
    first = 0 if abs(cut) < _SCIENTIFIC else -exact.adjusted()
    last = max(first, 17 - exact.adjusted()) if cut else 330
    for decimals in range(first, last + 1):
        step = Decimal((0, (1,), -decimals))
        floor = exact.quantize(step, rounding=ROUND_FLOOR, context=_EXACT)
        if float(_EXACT.add(floor, step)) <= cut:
            floor = _EXACT.add(floor, step)
        sides = [float(floor), float(_EXACT.add(floor, step))]
        for side in reversed(sides) if upwards else sides:
            if fits(side):
                return side
    return otherwise
