"""Measured cells beside published figures: the rows that a terminal or a page shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations

from echelon.metrics.significance import Summary

from .measures import MEASURES
from .models import get_model, list_models
from .protocol import PROTOCOL_VERSION
from .published import Figure, PublishedSet, Table
from .store import ANY_EFFORT, TUNING_SPLIT, Cell
from .verdicts import Verdict, against_published, between_models, is_within


@dataclass(frozen=True)
class Row:
    """One model on one data set by one measure.

    `verdict` is against the published figure, and `within` is whether ours agrees with it by the
    table's tolerance; both are None where there is nothing to compare. `ours` is None where the
    figure is published only.
    """

    entry: PublishedSet
    model: str
    measure: str
    published: Figure | None
    ours: Summary | None = None
    verdict: Verdict | None = None
    within: bool | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class Duel:
    """Two models on the splits of a data set that both have; the verdict is on the first."""

    entry: PublishedSet
    measure: str
    first: str
    second: str
    difference: Summary
    verdict: Verdict


@dataclass(frozen=True)
class Tally:
    """Data sets on which a model is within the tolerance by a measure, and those on which not."""

    measure: str
    model: str
    within: tuple[str, ...]
    beyond: tuple[str, ...]


def current(cells: Iterable[Cell], table: Table, effort: str) -> list[Cell]:
    """Cells of a table and effort, tunings left out, that today's code would not measure anew.

    Cells of models that have nothing to tune belong to every effort.
    """
    known = set(list_models())
    return [
        cell
        for cell in cells
        if cell.key.table == table.home(cell.key.model)
        and cell.key.effort in (effort, ANY_EFFORT)
        and cell.key.split != TUNING_SPLIT
        and cell.key.protocol == PROTOCOL_VERSION
        and cell.key.model in known
        and cell.key.revision == get_model(cell.key.model).revision
        and cell.key.set in table.sets
    ]


def make_rows(table: Table, cells: list[Cell]) -> list[Row]:
    """Rows in the order measure, data set, column of the table.

    A data set of which anything was measured has all its published figures, and a row without
    ours where that column was not measured.
    """
    measured = {cell.key.set for cell in cells}
    return [
        row
        for measure in table.measures
        for entry in table.sets.values()
        if entry.name in measured
        for model in (*table.columns, *_extra_models(table, cells))
        for row in _row(table, entry, model, measure, _select(cells, entry, model, measure))
    ]


def make_tallies(rows: list[Row]) -> list[Tally]:
    """How often each model is within the tolerance, by measure; none without a tolerance."""
    judged: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.within is not None:
            judged.setdefault((row.measure, row.model), []).append(row)
    return [
        Tally(
            measure,
            model,
            tuple(row.entry.label for row in group if row.within),
            tuple(row.entry.label for row in group if not row.within),
        )
        for (measure, model), group in judged.items()
    ]


def make_duels(table: Table, cells: list[Cell]) -> list[Duel]:
    """Comparisons of two models on the splits that both have, two splits at least.

    All pairs of models, or those that the table states. Only of measures on the test part, which
    the corrected test is for.
    """
    pairs = table.duels or tuple(combinations(_models(table, cells), 2))
    return [
        duel
        for measure in table.measures
        if MEASURES[measure].part == "test"
        for entry in table.sets.values()
        for first, second in pairs
        for duel in _duel(table, entry, measure, (first, second), cells)
    ]


def _models(table: Table, cells: list[Cell]) -> list[str]:
    found = {cell.key.model for cell in cells}
    return [m for m in table.columns if m in found] + _extra_models(table, cells)


def _extra_models(table: Table, cells: list[Cell]) -> list[str]:
    """Measured models that are no column of the table."""
    return sorted({cell.key.model for cell in cells} - set(table.columns))


def _select(cells: list[Cell], entry: PublishedSet, model: str, measure: str) -> list[Cell]:
    """Cells of a model on a data set that have the measure, which not every model has."""
    return sorted(
        (
            c
            for c in cells
            if c.key.set == entry.name and c.key.model == model and measure in c.errors
        ),
        key=lambda cell: cell.key.split,
    )


def _row(
    table: Table, entry: PublishedSet, model: str, measure: str, cells: list[Cell]
) -> Iterator[Row]:
    figure = table.figure(entry.name, measure, model)
    if not cells:
        if figure is not None:
            yield Row(entry, model, measure, figure)
        return
    ours = Summary.of([cell.errors[measure] for cell in cells])
    verdict = within = None
    if figure is not None:
        verdict = against_published(ours, figure, table.spread, table.trials)
        if table.tolerance is not None:
            within = is_within(ours, figure, table.spread, table.trials, table.tolerance)
    seconds = sum(cell.seconds for cell in cells) / len(cells)
    yield Row(entry, model, measure, figure, ours, verdict, within, seconds)


def _duel(
    table: Table, entry: PublishedSet, measure: str, models: tuple[str, str], cells: list[Cell]
) -> Iterator[Duel]:
    first, second = models
    left = {c.key.split: c.errors[measure] for c in _select(cells, entry, first, measure)}
    right = {c.key.split: c.errors[measure] for c in _select(cells, entry, second, measure)}
    common = sorted(left.keys() & right.keys())
    if len(common) < 2:
        return
    a, b = [left[s] for s in common], [right[s] for s in common]
    # Splits that draw rows of their own do not overlap, which is what the correction is for.
    test = entry.test if entry.generator is None else 0
    difference, verdict = between_models(
        a,
        b,
        training=entry.training,
        test=test,
        largest_loss=MEASURES[measure].largest_loss(table.protocol.bins),
    )
    yield Duel(entry, measure, first, second, difference, verdict)
