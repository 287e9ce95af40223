"""What a report is made of, before it becomes HTML: sections of tables, figures and sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar


class LeftOutError(Exception):
    """Why a section that could be made is not made, in a sentence."""


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


@dataclass(frozen=True)
class Table:
    """A table whose first cells name the rows; `groups` are headings over columns."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    sortable: bool = False
    note: str = ""
    groups: Sequence[tuple[str, int]] = ()
    style: str = ""
    kind: ClassVar[str] = "table"


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
class Figures:
    """Pictures side by side where there is room."""

    items: Sequence[Figure]
    kind: ClassVar[str] = "figures"


@dataclass(frozen=True)
class Tile:
    """One figure to remember: its value, its unit, what it is, a remark."""

    value: str
    unit: str
    label: str
    note: str = ""


@dataclass(frozen=True)
class Tiles:
    """The few figures to remember."""

    items: Sequence[Tile]
    kind: ClassVar[str] = "tiles"


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: ClassVar[str] = "text"


@dataclass(frozen=True)
class Findings:
    """Remarks on the data, each with a severity: "high", "medium" or "low"."""

    items: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "findings"


@dataclass(frozen=True)
class Sentences:
    """Sentences in order, each with short figures beside it."""

    items: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "sentences"


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


@dataclass(frozen=True)
class RowCards:
    """Rows of one kind with their explanations."""

    title: str
    items: Sequence[RowCard]
    kind: ClassVar[str] = "rows"


@dataclass(frozen=True)
class Pairs:
    """Names and values, such as settings."""

    title: str
    items: Sequence[tuple[str, str]]
    kind: ClassVar[str] = "pairs"


Part = Table | Figures | Tiles | Text | Findings | Sentences | RowCards | Pairs


@dataclass(frozen=True)
class Section:
    """A part of the report: what to see in it, in one sentence, and the parts that show it."""

    key: str
    title: str
    lead: str
    parts: Sequence[Part] = field(default_factory=tuple)


def number(value: float, digits: int = 3) -> str:
    """A figure with a fixed number of digits, and a dash where there is none."""
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else f"{0:.{digits}f}"


def percent(share: float, digits: int = 0) -> str:
    """A share as percent, and a dash where there is none."""
    return "–" if not math.isfinite(share) else f"{100 * share:.{digits}f} %"


def short(value: float) -> str:
    """A figure of any size with about three digits."""
    if isinstance(value, float) and not math.isfinite(value):
        return "–"
    if float(value).is_integer() and abs(value) < 1e6:
        return f"{value:,.0f}".replace("-", "−")
    text = f"{value:,.0f}" if 1e3 <= abs(value) < 1e6 else f"{value:.3g}"
    return text.replace("-", "−")


def count(n: int, thing: str, things: str = "") -> str:
    """A number with its noun: "1 row", "2,000 rows"."""
    return f"{n:,} {thing if n == 1 else things or thing + 's'}"


def listed(words: Sequence[str], most: int = 6) -> str:
    """Words as a list in a sentence: "a, b and c"."""
    words = list(words)
    if len(words) > most:
        words = [*words[: most - 1], f"{len(words) - most + 1} others"]
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1]


def figure_cell(value: float, digits: int = 3, **more: Any) -> Cell:
    """A cell that holds a figure and is sorted by it."""
    exists = value is not None and math.isfinite(value)
    return Cell(number(value, digits), key=float(value) if exists else None, **more)


def percent_cell(share: float, digits: int = 0, **more: Any) -> Cell:
    """A cell that holds a share as percent and is sorted by it."""
    return Cell(percent(share, digits), key=share if math.isfinite(share) else None, **more)
