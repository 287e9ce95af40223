"""What was compared, what came out, and how far to trust it, on one screen."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...metrics.measures import MEASURES, Measure, known_measures
from ...model_selection import LeaderboardRow
from ..content import Findings, Section, Text, Tile, Tiles, count, number, percent
from ..facts import Facts
from .comparison import compared, verdict

TRAINED_ON_THESE = (
    "These are the rows that the model was fitted to: figures on them tend to be better than on "
    "others."
)


def summary(facts: Facts) -> Section:
    """The verdict in words and the few figures to remember."""
    compares = facts.board is not None and facts.board.rows
    texts = (verdict(facts.board) if compares else "", _beside_median(facts))
    parts: list[Any] = [Text(text) for text in texts if text]
    tiles = _tiles(facts)
    if tiles:
        parts.append(Tiles(tiles))
    serious = [] if facts.profile is None else facts.profile.warnings
    items = [(found.severity, found.text) for found in serious if found.severity == "high"]
    if facts.study is not None and facts.study.is_prefit and facts.study.is_training:
        items.insert(0, ("high", TRAINED_ON_THESE))
    if items:
        parts.append(Findings(items))
    return Section("summary", "Summary", _lead(facts), parts)


def _lead(facts: Facts) -> str:
    parts = []
    if facts.board is not None and facts.board.rows:
        parts.append(f"{compared(facts.board)}.")
    if facts.rows is not None:
        labels = facts.rows.labels
        parts.append(
            f"{count(len(facts.rows), 'row')}, {count(len(labels), 'label')} of "
            f"“{facts.target}” from {labels[0]} to {labels[-1]}."
        )
    if facts.study is not None:
        parts.append(f"Figures below are of {facts.name} on {facts.study.how}.")
    if not parts:
        parts.append(f"{facts.name}, a model of “{facts.target}”, as it was trained.")
    return " ".join(parts)


def _tiles(facts: Facts) -> list[Tile]:
    study = facts.study
    if study is not None and study.entry is not None and not study.is_prefit:
        return _board_tiles(facts.board, study.entry)
    if study is None and facts.board is not None and facts.board.rows:
        return _board_tiles(facts.board, facts.board.best)
    if study is None:
        return _trained_tiles(facts.trained)
    totals = study.quality.totals
    kappa = number(totals["quadratic_weighted_kappa"])
    tiles = [
        Tile(number(totals["mean_absolute_error"]), "ranks", "Mean absolute error", "per row"),
        Tile(percent(totals["accuracy"], 1), "", "Exactly right", "of rows"),
        Tile(percent(totals["within_one"], 1), "", "Right or one rank off", "of rows"),
        Tile(kappa, "", "Quadratic weighted kappa", "1 is perfect"),
    ]
    if not study.settings.is_absolute:
        mean = number(study.mean(study.costs))
        tiles.insert(0, Tile(mean, "per row", "Mean cost", study.settings.cost_words))
    return tiles


def _trained_tiles(trained: Any) -> list[Tile]:
    """Figures that a trained model carries, where there are no rows to measure on."""
    found = {} if trained is None else trained.metrics
    return [
        _tile(measure, found[measure.key], "by cross-validation")
        for measure in known_measures(found)
        if measure.needs != "intervals" and np.isfinite(found[measure.key])
    ]


def _board_tiles(board: Any, row: LeaderboardRow) -> list[Tile]:
    """Figures of a model as the leaderboard has them."""
    tiles = []
    for measure in (MEASURES[key] for key in board.measures):
        found = row.summary(measure.key)
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
    study = facts.study
    if study is None:
        return ""
    held = study.held_out
    costs = np.average(study.cost_matrix[held.truth], axis=0, weights=held.weights)
    label = int(np.argmin(costs))
    if not costs[label] > 0:
        return ""
    mean = study.mean(study.costs)
    saved = 1.0 - mean / costs[label]
    unit = " ranks" if study.settings.is_absolute else ""
    words = (
        f"Always predicting {study.rows.labels[label]} would cost "
        f"{number(float(costs[label]))}{unit} per row; {facts.name} costs {number(mean)}{unit}, "
    )
    if abs(saved) < 0.005:
        return words + "the same."
    return words + f"{percent(abs(saved))} {'less' if saved > 0 else 'more'}."
