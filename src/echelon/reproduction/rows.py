"""Measured cells beside published figures: the rows that a terminal or a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from echelon.metrics.comparison import Summary

from .models import get_model, list_models
from .protocol import PROTOCOL_VERSION
from .published import Figure, PublishedSet, Table
from .store import TUNING_SPLIT, Cell
from .verdicts import Verdict, against_published, between_models


@dataclass(frozen=True)
class Row:
    """One model on one data set by one measure; `verdict` is against the published figure."""

    entry: PublishedSet
    model: str
    measure: str
    published: Figure | None
    ours: Summary
    verdict: Verdict | None
    seconds: float


@dataclass(frozen=True)
class Duel:
    """Two models on the splits of a data set that both have; the verdict is on the first."""

    entry: PublishedSet
    measure: str
    first: str
    second: str
    difference: Summary
    verdict: Verdict


def current(cells: Iterable[Cell], table: Table, effort: str) -> list[Cell]:
    """Cells of a table and effort, tunings left out, that today's code would not measure anew."""
    known = set(list_models())
    return [
        cell
        for cell in cells
        if cell.key.table == table.name
        and cell.key.effort == effort
        and cell.key.split != TUNING_SPLIT
        and cell.key.protocol == PROTOCOL_VERSION
        and cell.key.model in known
        and cell.key.revision == get_model(cell.key.model).revision
        and cell.key.set in table.sets
    ]


def make_rows(table: Table, cells: list[Cell]) -> list[Row]:
    """Rows in the order measure, data set, column of the table."""
    return [
        row
        for measure in table.measures
        for entry in table.sets.values()
        for model in _models(table, cells)
        for row in _row(table, entry, model, measure, _select(cells, entry, model))
    ]


def make_duels(table: Table, cells: list[Cell]) -> list[Duel]:
    """Comparisons of every two models on the splits that both have, two splits at least."""
    return [
        duel
        for measure in table.measures
        for entry in table.sets.values()
        for first, second in combinations(_models(table, cells), 2)
        for duel in _duel(entry, measure, first, second, cells)
    ]


def _models(table: Table, cells: list[Cell]) -> list[str]:
    found = {cell.key.model for cell in cells}
    return [m for m in table.columns if m in found] + sorted(found - set(table.columns))


def _select(cells: list[Cell], entry: PublishedSet, model: str) -> list[Cell]:
    return sorted(
        (c for c in cells if c.key.set == entry.name and c.key.model == model),
        key=lambda cell: cell.key.split,
    )


def _row(
    table: Table, entry: PublishedSet, model: str, measure: str, cells: list[Cell]
) -> Iterator[Row]:
    if not cells:
        return
    ours = Summary.of([cell.errors[measure] for cell in cells])
    figure = table.figure(entry.name, measure, model)
    verdict = None
    if figure is not None:
        verdict = against_published(ours, figure, table.spread, table.trials)
    seconds = sum(cell.seconds for cell in cells) / len(cells)
    yield Row(entry, model, measure, figure, ours, verdict, seconds)


def _duel(
    entry: PublishedSet, measure: str, first: str, second: str, cells: list[Cell]
) -> Iterator[Duel]:
    left = {c.key.split: c.errors[measure] for c in _select(cells, entry, first)}
    right = {c.key.split: c.errors[measure] for c in _select(cells, entry, second)}
    common = sorted(left.keys() & right.keys())
    if len(common) < 2:
        return
    a, b = [left[s] for s in common], [right[s] for s in common]
    difference, verdict = between_models(a, b, training=entry.training, test=entry.test)
    yield Duel(entry, measure, first, second, difference, verdict)
