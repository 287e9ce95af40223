"""What a report is made of, before it becomes HTML: sections of tables, figures and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..inspection.table import shown_value


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    Parameters
    ----------
    text : str
        What is read.
    key : float, str or None
        What the column is sorted by; None stands last.
    note : str
        A second, smaller line.
    marks : sequence of str
        Short remarks beside the text.
    share : float, optional
        Length of a bar, from 0 to 1.
    span : tuple of float, optional
        Low end, middle and high end of an interval, from 0 to 1.
    heat : float, optional
        Strength of the ground, from 0 to 1.
    kind : str
        A class of the style sheet.
    """

    text: str
    key: float | str | None = None
    note: str = ""
    marks: tuple[str, ...] = ()
    share: float | None = None
    span: tuple[float, float, float] | None = None
    heat: float | None = None
    kind: str = ""


@dataclass(frozen=True)
class Column:
    """A column's title, whether it holds figures, and how it is first sorted."""

    title: str
    number: bool = True
    about: str = ""
    sorted: str = ""


class Part:
    """Something that a section shows; the page has a template for each kind."""

    @property
    def kind(self) -> str:
        """The name of the kind."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Table(Part):
    """A table whose first cells name the rows; `groups` are headings over columns."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False
    note: str = ""
    groups: Sequence[tuple[str, int]] = ()
    style: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture as SVG with a name, a description and the figures behind it."""

    name: str
    title: str
    description: str
    svg: Any
    numbers: Table | None = None
    wide: bool = False


@dataclass(frozen=True)
class Items(Part):
    """Several things of one kind, maybe with a heading."""

    items: Sequence[Any]
    title: str = ""


class Figures(Items):
    """Pictures side by side where there is room."""


@dataclass(frozen=True)
class Tile:
    """One figure to remember: its value, its unit, what it is, a remark."""

    value: str
    unit: str
    label: str
    note: str = ""


class Tiles(Items):
    """The few figures to remember."""


@dataclass(frozen=True)
class Text(Part):
    """A paragraph."""

    text: str


class Findings(Items):
    """Remarks, each after its severity: "high", "medium" or "low"."""


class Answers(Items):
    """Questions that a reader has, each with its answer in sentences."""


class Sentences(Items):
    """Sentences in order, each with short figures beside it."""


@dataclass(frozen=True)
class Term:
    """What one input adds to a row's score; `share` is its length beside the longest."""

    name: str
    value: str
    amount: str
    share: float
    raises: bool


@dataclass(frozen=True)
class RowCard:
    """Why one row got its label."""

    title: str
    sentence: str
    terms: Sequence[Term]
    rules: Sequence[str] = ()


class RowCards(Items):
    """Rows of one kind with their explanations."""


class Pairs(Items):
    """Names and values, such as settings."""


@dataclass(frozen=True)
class Section:
    """A part of the report: what to see in it, in one sentence, and the parts that show it."""

    key: str
    title: str
    lead: str
    parts: Sequence[Part] = field(default_factory=tuple)


def table(
    caption: str,
    columns: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    sortable: bool = False,
    **more: Any,
) -> Table:
    """A table of which words and whole numbers, and titles without more, are given as they are.

    The first column holds words where it is given by its title.
    """

    def cell(content: Any) -> Cell:
        if isinstance(content, Cell):
            return content
        text = content if isinstance(content, str) else f"{content:,}"
        return Cell(text, key=content if sortable else None)

    described = [
        Column(column, number=place > 0) if isinstance(column, str) else column
        for place, column in enumerate(columns)
    ]
    return Table(caption, described, [[cell(c) for c in row] for row in rows], sortable, **more)


def number(value: float, digits: int = 3, *, signed: bool = False) -> str:
    """A figure with a fixed number of digits, and a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    text = text.replace("-", "−") if float(text.replace(",", "")) else f"{0:.{digits}f}"
    return f"+{text}" if signed and value > 0 else text


def percent(share: float, digits: int = 0) -> str:
    """A share as percent, and a dash where there is none."""
    return "–" if not math.isfinite(share) else f"{100 * share:.{digits}f} %"


def short(value: float) -> str:
    """A figure of any size with about three digits; years and their like without separators."""
    if isinstance(value, float) and not math.isfinite(value):
        return "–"
    size = abs(value)
    if (float(value).is_integer() and size < 1e6) or 1e3 <= size < 1e6:
        text = f"{value:.0f}" if size < 1e4 else f"{value:,.0f}"
    else:
        text = f"{value:.3g}"
    return text.replace("-", "−")


def amount(rows: float) -> str:
    """A sum of weights, which are whole numbers where nobody has given weights."""
    whole = abs(rows - round(rows)) < 1e-9 * max(1.0, abs(rows))
    return f"{rows:,.0f}" if whole else f"{rows:,.1f}"


def amount_cell(rows: float, **more: Any) -> Cell:
    """A cell that holds such a sum and is sorted by it."""
    return Cell(amount(rows), key=float(rows), **more)


def shown(value: Any) -> str:
    """A value of any kind as a reader would write it."""
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return short(float(value)) if is_number and np.isfinite(value) else shown_value(value)


def count(n: int, thing: str, things: str = "") -> str:
    """A number with its noun: "1 row", "2,000 rows"."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def listed(words: Sequence[str], most: int = 6) -> str:
    """Words as a list in a sentence: "a, b and c"."""
    words = list(words)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} others"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def figure_cell(value: float, digits: int = 3, *, signed: bool = False, **more: Any) -> Cell:
    """A cell that holds a figure and is sorted by it."""
    key = float(value) if value is not None and math.isfinite(value) else None
    return Cell(number(value, digits, signed=signed), key=key, **more)


def percent_cell(share: float, digits: int = 0, **more: Any) -> Cell:
    """A cell that holds a share as percent and is sorted by it."""
    return Cell(percent(share, digits), key=share if math.isfinite(share) else None, **more)
