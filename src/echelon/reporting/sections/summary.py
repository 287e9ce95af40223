"""What was compared, what came out, and how far to trust it, on one screen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...metrics.measures import MEASURES, Measure, known_measures
from ..content import Findings, Section, Text, Tile, Tiles, count, number, percent
from ..facts import Facts
from .comparison import compared, verdict


def summary(facts: Facts) -> Section:
    """The verdict in words and the few figures to remember."""
    parts: list[Any] = [Text(text) for text in (_verdict(facts), _beside_median(facts)) if text]
    tiles = _tiles(facts)
    if tiles:
        parts.append(Tiles(tiles))
    serious = [] if facts.profile is None else facts.profile.warnings
    items = [(found.severity, found.text) for found in serious if found.severity == "high"]
    if items:
        parts.append(Findings(items))
    return Section("summary", "Summary", _lead(facts), parts)


def _lead(facts: Facts) -> str:
    parts = []
    if facts.board is not None and facts.board.rows:
        parts.append(f"{compared(facts.board)}.")
    if facts.has_rows:
        scale = f"{facts.labels[0]} to {facts.labels[-1]}"
        parts.append(
            f"{count(facts.n_rows, 'row')}, {count(len(facts.labels), 'label')} of "
            f"“{facts.target}” from {scale}."
        )
    if facts.held_out is not None:
        parts.append(f"Figures below are of {facts.name} on {facts.how}.")
    if not parts:
        parts.append(f"{facts.name}, a model of “{facts.target}”, as it was trained.")
    return " ".join(parts)


def _verdict(facts: Facts) -> str:
    return "" if facts.board is None or not facts.board.rows else verdict(facts.board)


def _tiles(facts: Facts) -> list[Tile]:
    if facts.held_out is None and facts.board is not None and facts.board.rows:
        return _board_tiles(facts.board)
    if facts.held_out is None:
        return _trained_tiles(facts.trained)
    totals = facts.quality.totals
    tiles = [
        Tile(number(totals["mean_absolute_error"]), "ranks", "Mean absolute error", "per row"),
        Tile(percent(totals["accuracy"], 1), "", "Exactly right", "of rows"),
        Tile(percent(totals["within_one"], 1), "", "Right or one rank off", "of rows"),
        Tile(
            number(totals["quadratic_weighted_kappa"]),
            "",
            "Quadratic weighted kappa",
            "1 is perfect",
        ),
    ]
    if facts.cost != "absolute" if isinstance(facts.cost, str) else True:
        tiles.insert(0, Tile(number(facts.mean_cost), "per row", "Mean cost", facts.cost_words))
    return tiles


def _trained_tiles(trained: Any) -> list[Tile]:
    """Figures that a trained model carries, where there are no rows to measure on."""
    found = {} if trained is None else trained.metrics
    return [
        _tile(measure, found[measure.key], "by cross-validation")
        for measure in known_measures(found)
        if measure.needs != "intervals" and np.isfinite(found[measure.key])
    ]


def _board_tiles(board: Any) -> list[Tile]:
    """Figures of the best model, from the leaderboard alone."""
    tiles = []
    for measure in (MEASURES[key] for key in board.measures):
        found = board.best.summary(measure.key)
        if np.isfinite(found.mean):
            error = "" if np.isnan(found.se) else f"± {_value(measure, found.se)} s.e."
            tiles.append(_tile(measure, found.mean, error))
    return tiles


def _tile(measure: Measure, value: float, about: str) -> Tile:
    unit = "" if measure.unit == "%" else measure.unit
    heading = measure.heading[0].upper() + measure.heading[1:]
    return Tile(_value(measure, value), unit, heading, about)


def _value(measure: Measure, value: float) -> str:
    return percent(value, 1) if measure.unit == "%" else number(value)


def _beside_median(facts: Facts) -> str:
    """How the model stands beside one label for every row."""
    if facts.held_out is None:
        return ""
    costs = facts.cost_matrix[facts.codes].mean(axis=0)
    label = int(np.argmin(costs))
    if not costs[label] > 0:
        return ""
    saved = 1.0 - facts.mean_cost / costs[label]
    unit = " ranks" if isinstance(facts.cost, str) and facts.cost == "absolute" else ""
    words = (
        f"Always predicting {facts.labels[label]} would cost {number(float(costs[label]))}{unit} "
        f"per row; {facts.name} costs {number(facts.mean_cost)}{unit}, "
    )
    if abs(saved) < 0.005:
        return words + "the same."
    return words + f"{percent(abs(saved))} {'less' if saved > 0 else 'more'}."
