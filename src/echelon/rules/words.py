"""Words and figures for texts about rules."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import Any

import numpy as np
import numpy.typing as npt

from .cuts import plain_number


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


def typical(shares: npt.NDArray[np.float64], labels: Sequence[str]) -> str:
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
