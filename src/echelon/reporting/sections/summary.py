"""What was asked, what decides, how good, how sure and what to watch, on one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...inspection import Effect
from ...metrics.measures import MEASURES, Measure, known_measures
from ...model_selection import LeaderboardRow
from ..content import (
    Answers,
    Findings,
    Section,
    Tile,
    Tiles,
    count,
    number,
    percent,
    shown,
)
from ..facts import Facts
from ..study import Study
from .comparison import compared, verdict
from .probabilities import short_classes, short_words

_MOST_DECIDING = 4
#: saving beside the best single label below which a model is hardly better, in shares and in
#: standard errors
_HARDLY, _CLEAR = 0.05, 2.0
_FEW_ROWS, _FEW_GROUPS = 100, 20
TRAINED_ON_THESE = (
    "These are the rows that the model was fitted to: figures on them tend to be better than on "
    "others."
)

Watched = Iterator[tuple[str, str]]


def summary(facts: Facts) -> Section:
    """The answers in plain words, the few figures to remember, and what to watch."""
    parts: list[Any] = []
    answers = [(question, answer) for question, ask in _ASKED if (answer := ask(facts))]
    if answers:
        parts.append(Answers(answers))
    tiles = _tiles(facts)
    if tiles:
        parts.append(Tiles(tiles))
    items = list(dict.fromkeys(_watched(facts)))
    if items:
        parts.append(Findings(items, "What to watch"))
    return Section("summary", "Summary", _lead(facts), parts)


def _lead(facts: Facts) -> str:
    study = facts.study
    if study is not None:
        mean = number(study.held_out.mean(study.costs))
        unit = "ranks off on average" if study.settings.is_absolute else "of cost on average"
        return f"{facts.name} predicts “{facts.target}” with {mean} {unit}, on {study.how}."
    if facts.board is not None and facts.board.rows:
        return f"{compared(facts.board)}."
    return f"{facts.name}, a model of “{facts.target}”, as it was trained."


def _asked(facts: Facts) -> str:
    """What was to be predicted from what, and which models were tried."""
    parts = []
    if facts.rows is not None and facts.profile is not None:
        labels, of = facts.rows.labels, f" of {facts.source}" if facts.source else ""
        parts.append(
            f"To predict “{facts.target}”, one of {count(len(labels), 'label')} from {labels[0]} "
            f"to {labels[-1]}, from {count(len(facts.profile.columns), 'column')}{of}; there are "
            f"{count(len(facts.rows), 'labelled row')}."
        )
    if facts.board is not None and facts.board.rows:
        models = "" if facts.study is None else f"Compared: {compared(facts.board)}. "
        parts.append(f"{models}{verdict(facts.board)}")
    return " ".join(parts)


def _decides(facts: Facts) -> str:
    """The most important columns and which way they work."""
    study = facts.study
    if study is None:
        return ""
    try:
        found, effects = study.importance, {e.feature: e for e in study.effects}
    except Exception:  # the sections on inputs say what went wrong
        return ""
    clear = found.mean > np.maximum(2.0 * np.nan_to_num(found.sd), 1e-12)
    names = [found.features[j] for j in found.order if clear[j]]
    if not names:
        return (
            "No column by itself: shuffling any single one raises the mean cost by no more than "
            "chance does."
        )
    texts = {study.rows.called(name) for name, kind in study.rows.kinds.items() if kind == "text"}
    told = [
        f"{name} (by its words)" if name in texts else f"{name}{_way(effects.get(name))}"
        for name in names[:_MOST_DECIDING]
    ]
    rest = len(names) - len(told)
    more = f" {count(rest, 'other column')} matter{'s' if rest == 1 else ''} too." if rest else ""
    return f"Most of all {'; then '.join(told)}.{more}"


def _way(effect: Effect | None) -> str:
    """Which way a column works, in brackets."""
    if effect is None or not effect.span > 0.0:
        return ""
    if effect.kind == "category":
        most, least = (shown(effect.values[int(f(effect.expected_rank))]) for f in _ENDS)
        return f" (highest for {most}, lowest for {least})"
    what = "later dates" if effect.kind == "date" else "higher values"
    ways = {"up": f"{what} give higher labels", "down": f"{what} give lower labels"}
    return f" ({ways.get(effect.direction, 'up and down along its values')})"


_ENDS: tuple[Callable[[Any], Any], ...] = (np.argmax, np.argmin)


def _good(facts: Facts) -> str:
    """How far off predictions are, beside the scale and beside one label for every row."""
    study = facts.study
    if study is None:
        return ""
    held, K = study.held_out, len(study.rows.labels)
    far = np.abs(held.truth - held.codes)
    text = (
        f"A prediction is {number(held.mean(far))} ranks off on average, on a scale of {K} labels; "
        f"{percent(held.mean(far == 0), 1)} are exactly right, {percent(held.mean(far <= 1), 1)} "
        "right or one rank off."
    )
    return " ".join(filter(None, [text, _beside_median(facts, study)]))


def _beside_median(facts: Facts, study: Study) -> str:
    """How the model stands beside one label for every row."""
    label, constant, mean = _constant(study)
    if not constant > 0:
        return ""
    saved = 1.0 - mean / constant
    unit = " ranks" if study.settings.is_absolute else ""
    words = (
        f"Always predicting {study.rows.labels[label]}, the best single label, would cost "
        f"{number(constant)}{unit} per row; {facts.name} costs {number(mean)}{unit}, "
    )
    if abs(saved) < 0.005:
        return words + "the same."
    return words + f"{percent(abs(saved))} {'less' if saved > 0 else 'more'}."


def _constant(study: Study) -> tuple[int, float, float]:
    """The best single label, what it costs, and what the model costs."""
    held = study.held_out
    costs = [held.mean(column) for column in study.cost_matrix[held.truth].T]
    label = int(np.argmin(costs))
    return label, costs[label], held.mean(study.costs)


def _sure(facts: Facts) -> str:
    """How the figures came about, and how far they may be off."""
    study = facts.study
    if study is None:
        return ""
    parts = [f"Figures are of {study.how}."]
    if study.evaluated is not None:
        board, row = study.evaluated
        parts[0] = f"No row was predicted by a model that was fitted to it ({study.how})."
        error = row.summary(board.measure).se
        if np.isfinite(error):
            parts.append(
                f"The standard error of the {MEASURES[board.measure].heading} is {number(error)}, "
                "from fold to fold."
            )
    parts += [*_design_words(study), _interval_words(study)]
    return " ".join(filter(None, parts))


def _design_words(study: Study) -> Iterator[str]:
    design, rows = study.rows.design, study.rows
    if design.groups is not None:
        n = count(len(np.unique(design.groups)), "group")
        name = rows.role("group", "the group column")
        held = study.evaluated is not None
        yield f"Whole groups of {name} were held out, {n}." if held else f"There are {n} of {name}."
    if design.times is not None and study.evaluated is not None:
        yield "Later rows were predicted from earlier ones."
    if design.weights is not None:
        weight = rows.role("weight", "the weights given")
        yield f"Every figure of the model is weighted by {weight}."


def _interval_words(study: Study) -> str:
    ends = study.interval_ends
    if ends is None or not ends.known.any():
        return ""
    known, wanted = ends.known, ends.confidence
    covered, width = (ends.held.mean(found[known], known) for found in (ends.inside, ends.width))
    meant = "" if wanted is None else f" meant to hold {percent(wanted)} of the labels"
    return (
        f"Prediction intervals{meant} hold {percent(covered, 1)} of them and are "
        f"{number(width, 2)} labels wide on average."
    )


def _watched(facts: Facts) -> Watched:
    """What a reader should be careful of, each with its severity."""
    study = facts.study
    if study is not None:
        yield from _watched_model(facts, study)
    if facts.profile is not None:
        serious = (found for found in facts.profile.warnings if found.severity == "high")
        yield from ((found.severity, found.text) for found in serious)
    yield from (("medium", text) for text in facts.suspicions)


def _watched_model(facts: Facts, study: Study) -> Watched:
    if study.is_prefit and study.is_training:
        mae = None if facts.trained is None else facts.trained.metrics.get("mae")
        beside = (
            "" if mae is None else f" Cross-validated, its mean absolute error is {number(mae)}."
        )
        yield "high", f"{TRAINED_ON_THESE}{beside}"
    label, constant, mean = _constant(study)
    error = np.nan if study.evaluated is None else _error(study)
    if constant > 0 and constant - mean < max(_HARDLY * constant, _CLEAR * np.nan_to_num(error)):
        yield (
            "high",
            f"The model is hardly better than predicting {study.rows.labels[label]} for every row, "
            "if at all.",
        )
    poor = short_classes(study)
    if poor:
        yield "high", short_words(poor)
    n = len(study.rows)
    if n < _FEW_ROWS:
        yield "medium", f"There are only {count(n, 'row')}: every figure may be far off by chance."
    groups = study.rows.design.groups
    if groups is not None and len(np.unique(groups)) < _FEW_GROUPS:
        n = len(np.unique(groups))
        yield "medium", f"There are only {count(n, 'group')}: figures for new groups are uncertain."


def _error(study: Study) -> float:
    """Standard error of the mean cost over folds."""
    held, costs = study.held_out, study.costs
    folds = [
        held.mean(costs[own], own) for own in (held.fold == fold for fold in np.unique(held.fold))
    ]
    return float(np.std(folds, ddof=1) / np.sqrt(len(folds))) if len(folds) > 1 else np.nan


_ASKED: tuple[tuple[str, Callable[[Facts], str]], ...] = (
    ("What was asked", _asked),
    ("What decides", _decides),
    ("How good", _good),
    ("How sure", _sure),
)


def _tiles(facts: Facts) -> list[Tile]:
    study = facts.study
    if study is not None and study.evaluated is not None:
        board, row = study.evaluated
        tiles = _board_tiles(board, row)
        if "cost" in board.measures or study.settings.is_absolute:
            return tiles
        return [_cost_tile(study), *tiles]
    if study is None:
        if facts.board is not None and facts.board.rows:
            return _board_tiles(facts.board, facts.board.best)
        return _trained_tiles(facts.trained)
    totals = study.quality.totals
    kappa = number(totals["quadratic_weighted_kappa"])
    tiles = [
        Tile(number(totals["mean_absolute_error"]), "ranks", "Mean absolute error", "per row"),
        Tile(percent(totals["accuracy"], 1), "", "Exactly right", "of rows"),
        Tile(percent(totals["within_one"], 1), "", "Right or one rank off", "of rows"),
        Tile(kappa, "", "Quadratic weighted kappa", "1 is perfect"),
    ]
    return tiles if study.settings.is_absolute else [_cost_tile(study), *tiles]


def _cost_tile(study: Study) -> Tile:
    mean = number(study.held_out.mean(study.costs))
    return Tile(mean, "per row", "Mean cost", study.settings.cost_words)


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
