"""Published tables as data: TOML files beside this module, one per table, figures as printed.

A file states where the figures come from, what the number after ± is, the protocol, and for
every data set and measure one figure per column. A column is a model's name in `models`, or any
other name where the figures are published only.

A file may also state ``quoted`` (how the figures are known, "as printed" by default), a
``tolerance`` (when ours is called within the published figure), ``notes`` for the page, ``duels``
(the pairs of columns to compare on the same splits, all by default), ``comparison`` (the columns
to compare over all data sets by their ranks), and ``measured_under``: columns whose cells are
those of another table with the same protocol and sizes, so that one fit serves both. A data set
with a ``generator``, a function of `echelon.datasets`, is drawn anew for every split; a
``[protocol]`` with ``splits`` has the labels and splits of a published collection.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from .errors import ReproductionError
from .protocol import Protocol

SPREADS = ("sd", "se", "none")
_FIGURE = re.compile(r"^(?P<mean>\d+\.?\d*)(?:\s*±\s*(?P<spread>\d+\.?\d*))?\s*(?P<mark>[*†])?$")


@dataclass(frozen=True)
class Figure:
    """One printed figure: the mean, the number after ± if there is one, and the text itself."""

    printed: str
    mean: float
    spread: float | None

    @classmethod
    def parse(cls, printed: str) -> Figure:
        """Read a figure such as ``"0.777 ± 0.068 *"``."""
        match = _FIGURE.match(printed)
        if match is None:
            raise ReproductionError(f"{printed!r} is not a figure like '0.777 ± 0.068 *'.")
        spread = match["spread"]
        return cls(printed, float(match["mean"]), None if spread is None else float(spread))


@dataclass(frozen=True)
class Tolerance:
    """How much above a published mean still agrees with it: the larger of the two."""

    standard_errors: float
    least: float


@dataclass(frozen=True)
class PublishedSet:
    """A row of a table: the data set, its sizes as printed, and figures[measure][column].

    `generator` names the function of `echelon.datasets` that draws the rows of every split; None
    for a benchmark set, whose rows are split.
    """

    name: str
    label: str
    inputs: int
    training: int
    test: int
    figures: Mapping[str, Mapping[str, Figure]]
    generator: str | None = None


@dataclass(frozen=True)
class Table:
    """A published table with the protocol that its figures were measured under."""

    name: str
    title: str
    source: str
    spread: str
    trials: int
    columns: tuple[str, ...]
    measures: tuple[str, ...]
    protocol: Protocol
    sets: Mapping[str, PublishedSet]
    tolerance: Tolerance | None = None
    notes: tuple[str, ...] = ()
    duels: tuple[tuple[str, str], ...] | None = None
    comparison: tuple[str, ...] = ()
    measured_under: Mapping[str, str] = field(default_factory=dict)
    quoted: str = "as printed"

    def home(self, column: str) -> str:
        """Name of the table that the cells of a column are kept under."""
        return self.measured_under.get(column, self.name)

    @property
    def has_figures(self) -> bool:
        """Whether any figure is published; the source at hand may have lost them."""
        return any(figures for entry in self.sets.values() for figures in entry.figures.values())

    def figure(self, set_name: str, measure: str, column: str) -> Figure | None:
        """The published figure, or None where the table has none."""
        return self.sets[set_name].figures.get(measure, {}).get(column)

    def select(self, names: list[str] | None) -> list[PublishedSet]:
        """Sets of the table by name, in the table's order; all of them for None."""
        unknown = sorted(set(names or ()) - set(self.sets))
        if unknown:
            raise ReproductionError(
                f"{self.name} has no data set {unknown[0]!r}; it has {', '.join(self.sets)}."
            )
        return [entry for name, entry in self.sets.items() if names is None or name in names]


def list_tables() -> list[str]:
    """Names of the published tables that can be reproduced.

    Examples
    --------
    >>> list_tables()[:4]
    ['cg05-table2', 'cg05-table3', 'cg05-table4', 'ck07-table1']
    """
    folder = resources.files(__package__) / "tables"
    return sorted(
        entry.name.removesuffix(".toml")
        for entry in folder.iterdir()
        if entry.name.endswith(".toml")
    )


def read_table(name: str) -> Table:
    """Read a published table.

    Examples
    --------
    >>> table = read_table("ck07-table2")
    >>> table.figure("abalone", "absolute", "IMC").printed
    '1.361 ± 0.013'
    """
    if name not in list_tables():
        raise ReproductionError(
            f"There is no table {name!r}; there are {', '.join(list_tables())}."
        )
    text = (resources.files(__package__) / "tables" / f"{name}.toml").read_text("utf-8")
    return parse_table(name, tomllib.loads(text))


def parse_table(name: str, content: Mapping[str, Any]) -> Table:
    """Make a table of what its TOML file holds."""
    if content["spread"] not in SPREADS:
        raise ReproductionError(
            f"spread of {name} must be one of {', '.join(SPREADS)}; found {content['spread']!r}."
        )
    measures = tuple(content["measures"])
    tolerance = content.get("tolerance")
    return Table(
        name=name,
        title=content["title"],
        source=content["source"],
        spread=content["spread"],
        trials=content["trials"],
        columns=tuple(content["columns"]),
        measures=measures,
        protocol=Protocol(**content["protocol"]),
        sets={key: _parse_set(key, entry, measures) for key, entry in content["sets"].items()},
        tolerance=None if tolerance is None else Tolerance(**tolerance),
        notes=tuple(content.get("notes", ())),
        duels=_parse_duels(name, content),
        comparison=_parse_columns(name, "comparison", content, content.get("comparison", ())),
        measured_under=content.get("measured_under", {}),
        quoted=content.get("quoted", Table.quoted),
    )


def _parse_set(name: str, entry: Mapping[str, Any], measures: tuple[str, ...]) -> PublishedSet:
    figures = {
        measure: {column: Figure.parse(text) for column, text in entry[measure].items()}
        for measure in measures
        if measure in entry
    }
    sizes = {field: entry[field] for field in ("label", "inputs", "training", "test")}
    return PublishedSet(name=name, figures=figures, generator=entry.get("generator"), **sizes)


def _parse_duels(name: str, content: Mapping[str, Any]) -> tuple[tuple[str, str], ...] | None:
    if "duels" not in content:
        return None
    duels = tuple((first, second) for first, second in content["duels"])
    _parse_columns(name, "duels", content, [column for duel in duels for column in duel])
    return duels


def _parse_columns(
    name: str, key: str, content: Mapping[str, Any], columns: Sequence[str]
) -> tuple[str, ...]:
    unknown = sorted(set(columns) - set(content["columns"]))
    if unknown:
        raise ReproductionError(f"{key} of {name} names {unknown[0]!r}, which is no column.")
    return tuple(columns)
