"""Words, figures and small pictures for texts about rules.

A cut is written as people would: as the shortest decimal that parts the training values alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from html import escape
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from .._utils.types import Matrix, Vector
from ..solvers.rules.bodies import Body, Interval

# From here on, floats have no digits after the point, and repr writes them with an exponent.
_SCIENTIFIC = 1e16

# Enough digits for the exact value of any float.
_EXACT = Context(prec=1100)

_WIDTH, _HEIGHT = 60, 18


# ------------------------------------------------------------------------------------------ words


def amount(value: float) -> str:
    """Size of a change, to two digits.

    Examples
    --------
    >>> [amount(x) for x in (0.4136, -0.0312, 1.0, 12.6)]
    ['0.41', '0.031', '1.0', '13']
    """
    size = abs(value)
    if size >= 9.95:
        return f"{size:.0f}"
    return f"{size:#.2g}"


def signed(value: float) -> str:
    """A change with its sign, to two digits.

    Examples
    --------
    >>> signed(-0.0312), signed(0.4136)
    ('-0.031', '+0.41')
    """
    return ("-" if value < 0 else "+") + amount(value)


def percent(share: float) -> str:
    """A share as percent, never rounded to nothing or to all.

    Examples
    --------
    >>> [percent(x) for x in (0.18, 0.034, 0.0004, 0.9962, 1.0)]
    ['18 %', '3.4 %', '0.04 %', '99.6 %', '100 %']
    """
    figure = 100.0 * share
    if figure < 9.95:
        return f"{figure:.2g} %"
    return f"{figure:.3g} %" if 99.0 < figure < 100.0 else f"{figure:.0f} %"


def wrapped(text: str, width: int, indent: int = 0) -> str:
    """Text in lines, those after the first indented; numbers keep their signs and percents.

    Examples
    --------
    >>> print(wrapped("It covers 47 % of rows", width=12))
    It covers
    47 % of rows
    """
    # textwrap does not break at this space.
    joined = text.replace(" %", "\N{NO-BREAK SPACE}%")
    lines = fill(
        joined,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace("\N{NO-BREAK SPACE}%", " %")


def level(values: Sequence[float]) -> list[str]:
    """Points on the scale of scores, with as few decimals as keep different ones apart.

    Examples
    --------
    >>> level([-0.8, 0.3012, 0.3049])
    ['-0.800', '0.301', '0.305']
    """
    distinct = len({value for value in values if np.isfinite(value)})
    for decimals in range(2, 17):
        texts = [f"{value:.{decimals}f}" for value in values]
        if len({text for text in texts if "inf" not in text}) == distinct:
            break
    return texts


def category(value: Any) -> str:
    """Name of a category; in quotes where it would blur a list.

    Examples
    --------
    >>> [category(x) for x in ("red", True, 2.0, "one, two", "")]
    ['red', 'true', '2', '"one, two"', '""']
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    text = plain_number(float(value)) if isinstance(value, float | np.floating) else str(value)
    blurred = not text or text != text.strip() or any(mark in text for mark in ',;"\n')
    return '"' + text.replace('"', '\\"') + '"' if blurred else text


def listing(names: Sequence[str], most: int | None = None) -> str:
    """Names with commas, the first of them if there are many.

    Examples
    --------
    >>> listing(["a", "b", "c", "d"], most=2)
    'a, b, … (4 in all)'
    """
    if most is None or len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])}, … ({len(names)} in all)"


def typical(shares: Vector, labels: Sequence[str]) -> str:
    """The labels between the quartiles; nothing if there are no rows.

    Examples
    --------
    >>> typical(np.array([0.1, 0.3, 0.5, 0.1]), ["1", "2", "3", "4"])
    '2 to 3'
    """
    if not shares.sum() > 0:
        return ""
    heights = np.cumsum(shares) / shares.sum()
    # Rounding must not push a quartile that lies on a step to the next label.
    low, high = (int(np.argmax(heights >= quartile - 1e-12)) for quartile in (0.25, 0.75))
    return labels[low] if low == high else f"{labels[low]} to {labels[high]}"


def score_ranges(
    thresholds: Vector, labels: Sequence[str], scores: Sequence[float] = ()
) -> list[tuple[str, str]]:
    """Each label with its range of the score in words, "never" if it has none.

    The figures have decimals enough to tell `scores` from the thresholds.

    Examples
    --------
    >>> score_ranges(np.array([-0.8, 0.3, 0.3]), ["poor", "fair", "good", "best"])
    [('poor', 'up to -0.80'), ('fair', 'above -0.80, up to 0.30'), ('good', 'never'), \
('best', 'above 0.30')]
    """
    # Decoding counts the thresholds below the score, so their order does not matter.
    limits = [-np.inf, *np.sort(thresholds).tolist(), np.inf]
    texts = level([*limits, *scores])
    ranges = []
    for k, label in enumerate(labels):
        parts = [f"above {texts[k]}"] if limits[k] > -np.inf else []
        parts += [f"up to {texts[k + 1]}"] if limits[k + 1] < np.inf else []
        empty = limits[k] >= limits[k + 1]
        ranges.append((label, "never" if empty else ", ".join(parts) or "always"))
    return ranges


# ------------------------------------------------------------------------------------------- cuts


class ShownCut(NamedTuple):
    """A cut c in two ways: x ≤ c reads "at most `most`", and x > c reads "at least `least`"."""

    most: str
    least: str


#: The neighbouring training values of cuts, by feature and then by cut.
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


def cut_gaps(
    X: Matrix, bodies: Iterable[Body], categories: Sequence[object] | None = None
) -> dict[int, dict[float, tuple[float, float]]]:
    """Neighbouring training values of every cut that bodies of rules use.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The training inputs; NaN where missing.
    bodies : iterable of Body
    categories : sequence of length d, optional
        None for every input that is a number; cuts of the others have no gaps.

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
        if categories is not None and categories[feature] is not None:
            continue
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


# --------------------------------------------------------------------------------------- pictures


def bar(share: float) -> str:
    """A share from 0 to 1 as its percent and a bar."""
    filled = _WIDTH * min(max(share, 0.0), 1.0)
    outline = (
        f'<rect x="0.5" y="0.5" width="{_WIDTH - 1}" height="{_HEIGHT - 1}" fill="none" '
        'stroke="currentColor" stroke-opacity="0.35"/>'
    )
    drawn = _svg(outline + _block(0, 0, filled, _HEIGHT), percent(share))
    return f'<span style="white-space:nowrap;">{percent(share)}&nbsp;{drawn}</span>'


def histogram(shares: Vector, labels: Sequence[str]) -> str:
    """Shares of the classes from lowest to highest as columns; hovering shows the figures."""
    width = _WIDTH / len(shares)
    top = max(float(shares.max()), 1e-300)
    blocks = [
        f"<g><title>{escape(label)}: {percent(share)}</title>"
        f'<rect x="{j * width:.1f}" y="0" width="{width:.1f}" height="{_HEIGHT}" fill="none" '
        'pointer-events="all"/>'
        + _block(j * width + 0.5, _HEIGHT * (1 - share / top), width - 1, _HEIGHT * share / top)
        + "</g>"
        for j, (share, label) in enumerate(zip(shares.tolist(), labels, strict=True))
    ]
    ground = _block(0, _HEIGHT - 0.5, _WIDTH, 0.5)
    pairs = zip(labels, shares.tolist(), strict=True)
    words = ", ".join(f"{label}: {percent(share)}" for label, share in pairs)
    return _svg("".join(blocks) + ground, words)


def _svg(content: str, words: str) -> str:
    return (
        f'<svg width="{_WIDTH}" height="{_HEIGHT}" style="vertical-align:middle;" role="img" '
        f'aria-label="{escape(words, quote=True)}">{content}</svg>'
    )


def _block(x: float, y: float, width: float, height: float) -> str:
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{height:.1f}" '
        'fill="currentColor" fill-opacity="0.6"/>'
    )
