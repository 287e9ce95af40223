"""All models of a table over all its data sets: ranks, Friedman's test and Nemenyi's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from echelon.metrics import FriedmanResult, NemenyiResult, friedman_test, nemenyi_test

from .measures import MEASURES
from .published import PublishedSet, Table
from .store import Cell
from .verdicts import LEVEL


@dataclass(frozen=True)
class Ranking:
    """The columns of a comparison by a measure, over the data sets that have them all.

    `origin` says whose figures are ranked: "Published" or "Ours".
    """

    measure: str
    origin: str
    sets: tuple[str, ...]
    friedman: FriedmanResult
    nemenyi: NemenyiResult


def make_rankings(table: Table, cells: list[Cell]) -> list[Ranking]:
    """Published figures and ours, ranked; for measures on the test part, with two sets at least.

    Ours on a data set is the mean over the splits that all columns have.
    """
    return [
        ranking
        for measure in table.measures
        if table.comparison and MEASURES[measure].part == "test"
        for origin, figures in (
            ("Published", _published(table, measure)),
            ("Ours", _measured(table, measure, cells)),
        )
        for ranking in _rank(table, measure, origin, figures)
    ]


def _rank(
    table: Table, measure: str, origin: str, figures: dict[str, list[float]]
) -> Iterator[Ranking]:
    if len(figures) < 2:
        return
    scores = np.array(list(figures.values()))
    names = table.comparison
    yield Ranking(
        measure,
        origin,
        tuple(figures),
        friedman_test(scores, names=names),
        nemenyi_test(scores, names=names, alpha=LEVEL),
    )


def _published(table: Table, measure: str) -> dict[str, list[float]]:
    """Figures by label of the data set, of sets that have them all."""
    found = {}
    for entry in table.sets.values():
        figures = [table.figure(entry.name, measure, column) for column in table.comparison]
        known = [figure.mean for figure in figures if figure is not None]
        if len(known) == len(figures):
            found[entry.label] = known
    return found


def _measured(table: Table, measure: str, cells: list[Cell]) -> dict[str, list[float]]:
    found = {}
    for entry in table.sets.values():
        columns = [_by_split(entry, column, measure, cells) for column in table.comparison]
        common = set.intersection(*(set(errors) for errors in columns))
        if common:
            found[entry.label] = [
                float(np.mean([errors[split] for split in sorted(common)])) for errors in columns
            ]
    return found


def _by_split(entry: PublishedSet, model: str, measure: str, cells: list[Cell]) -> dict[int, float]:
    return {
        cell.key.split: cell.errors[measure]
        for cell in cells
        if cell.key.set == entry.name and cell.key.model == model
    }
