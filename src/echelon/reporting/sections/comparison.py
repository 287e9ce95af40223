"""Models beside each other: the leaderboard and the critical-difference diagram."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ...metrics.measures import MEASURES
from ...plots import CriticalDifferenceDisplay
from ..content import (
    Cell,
    Column,
    Figures,
    Findings,
    Section,
    Table,
    count,
    figure_cell,
    listed,
    number,
    table,
)
from ..facts import Facts
from ..pictures import draw

_VERDICTS = ("equivalent", "undecided", "worse")


def verdict(board: Any) -> str:
    """Which model is best, and how the others compare with it, in words."""
    best, measure = board.best, board.measure
    found = best.summary(measure)
    unit = f" {MEASURES[measure].unit}".rstrip()
    folds = "on one fold" if found.n == 1 else f"mean ± standard error over {found.n} folds"
    text = (
        f"{best.model} has the best {MEASURES[measure].heading}, "
        f"{_with_error(found, measure)}{unit} ({folds})"
    )
    return f"{text}; {_verdicts(board)}." if board.comparisons else f"{text}."


def _verdicts(board: Any) -> str:
    """How the other models compare with the best, at the level of all of them together."""
    others = [row.model for row in board.rows[1:]]
    if all(board.comparisons[model].reason for model in others):
        return "there are too few folds or rows to compare the other models with it"
    found = {v: [m for m in board.with_verdict(v) if m in others] for v in _VERDICTS}
    if len(found["worse"]) == len(others):
        which = "the other model is" if len(others) == 1 else "all others are"
        return f"{which} worse, at the 5 % level for all models together"
    parts = []
    if found["equivalent"]:
        verb = "is" if len(found["equivalent"]) == 1 else "are"
        parts.append(
            f"{listed(found['equivalent'])} {verb} equivalent to it (within "
            f"{100 * board.margin:.3g} %)"
        )
    if found["undecided"]:
        parts.append(
            f"for {count(len(found['undecided']), 'other model')} the rows do not decide whether "
            "they are as good"
        )
    if found["worse"]:
        parts.append(f"{len(found['worse'])} {'is' if len(found['worse']) == 1 else 'are'} worse")
    return listed(parts)


def compared(board: Any) -> str:
    """How many models on how many folds, which need not be as many as were planned."""
    least, most = (end(row.n_folds for row in board.rows) for end in (min, max))
    models = count(len(board.rows), "model")
    planned = max(board.planned, most)
    if least == planned:
        return f"{models} on the same {count(planned, 'fold')}"
    done = f"{least}" if least == most else f"{least} to {most}"
    alike = ", the same ones" if len(board.rows) > 1 else ""
    alike += "" if least == most else " as far as they go"
    return f"{models} on {done} of {planned} planned folds{alike}"


def leaderboard(facts: Facts) -> Section | None:
    """All models with their figures, to be sorted by any of them."""
    board = facts.board
    if board is None or not board.rows:
        return None
    scales = {measure: _limits(board, measure) for measure in board.measures}
    rows = [_row(board, place, scales) for place in range(len(board.rows))]
    about = "with the settings that the search chose most often"
    columns = [Column("Model", number=False, about=about)]
    columns += [_column(measure, board.measure) for measure in scales]
    if board.comparisons:
        columns[2:2] = [
            Column(
                "Difference", about="how much worse than the best of the others, with its interval"
            )
        ]
    columns += [Column("Fit, s", about="mean seconds of one fit"), Column("Folds")]
    note = (
        "Mean ± standard error over folds; the bar shows the same between the lowest and the "
        "highest of all models."
    )
    if board.comparisons:
        note += (
            " The difference is how much worse a model is than the best of the others, with a 95 % "
            "interval that holds for all models at once and allows for training parts that overlap "
            "and for the choice of the best on the same folds. A model is equivalent if no other "
            f"is better by more than {board.margin_:.2g}, {100 * board.margin:.3g} % of the best "
            "figure; worse if its interval is above zero; better than all others if it is below "
            "zero; else the rows do not decide."
        )
    note = " ".join([note, *(f"{listed(who)}: {what}" for what, who in board.notes.items())])
    lead = (
        f"{compared(board)}, best {MEASURES[board.measure].heading} first; a click on a heading "
        "sorts by it."
    )
    parts: list[Any] = [
        Table("Models, best first", columns, rows, sortable=True, note=note, style="board")
    ]
    if board.failures:
        items = [("medium", f"{model}: {why}") for model, why in board.failures.items()]
        parts.append(Findings(items))
    return Section("leaderboard", "Leaderboard", lead, parts)


def critical_difference(facts: Facts) -> Section | None:
    """Average ranks over folds with Nemenyi's critical difference."""
    board = facts.board
    if board is None or not board.rows:
        return None
    names, figures = board.scores()
    if len(names) < 3 or len(figures) < 2:
        return None
    result = board.nemenyi()
    display = CriticalDifferenceDisplay(result)
    ranks = sorted(zip(result.average_ranks.tolist(), result.names, strict=True))
    numbers = table(
        "Average rank of each model over folds",
        ["Model", "Average rank"],
        [[name, figure_cell(rank, 2)] for rank, name in ranks],
    )
    lead = (
        "Average place over folds, best on the right: models under one bar differ by less than "
        f"{number(result.critical_difference, 2)} places. Folds share training rows, so take it as "
        "a summary of places; the differences of the leaderboard are the test."
    )
    figure = draw(
        "figure-critical-difference",
        "Average ranks and the critical difference",
        f"{ranks[0][1]} has the best average rank, {number(ranks[0][0], 2)}; "
        f"models under one of {count(len(result.groups), 'bar')} do not differ significantly.",
        display,
        size=display.size,
        numbers=numbers,
        wide=True,
        bare=True,
    )
    return Section("critical-difference", "Critical difference", lead, [Figures([figure])])


def _settings(settings: Mapping[str, Any]) -> str:
    """Settings in a line, without the names of the steps that they belong to."""
    values = {
        key.rpartition("__")[2]: f"{value:.4g}" if isinstance(value, float) else str(value)
        for key, value in settings.items()
    }
    return ", ".join(f"{key} = {value}" for key, value in values.items())


def _limits(board: Any, measure: str) -> tuple[float, float]:
    """Lowest and highest end of mean ± standard error over all models."""
    found = [row.summary(measure) for row in board.rows if measure in row.folds]
    reach = [(s.mean, 0.0 if math.isnan(s.se) else s.se) for s in found if math.isfinite(s.mean)]
    return min(mean - se for mean, se in reach), max(mean + se for mean, se in reach)


def _column(measure: str, order: str) -> Column:
    found = MEASURES[measure]
    direction = "descending" if found.greater_is_better else "ascending"
    title = f"{found.short}, {found.unit}" if found.unit else found.short
    title = title[0].upper() + title[1:]
    return Column(title, about=found.about, sorted=direction if measure == order else "")


def _row(board: Any, place: int, scales: Mapping[str, tuple[float, float]]) -> list[Cell]:
    row = board.rows[place]
    done, planned = row.n_folds, max(board.planned, row.n_folds)
    first, *others = (_figure(row, measure, *limits) for measure, limits in scales.items())
    found = board.comparisons.get(row.model)
    marks = (*(["best"] if place == 0 else []), *([found.verdict] if found else []))
    return [
        Cell(row.model, key=row.model, marks=marks, note=_settings(row.usual_settings)),
        first,
        *([_difference(found, board.measure)] if found else []),
        *others,
        figure_cell(row.fit_seconds, 2),
        Cell(f"{done}" if done == planned else f"{done} of {planned}", key=done),
    ]


def _difference(found: Any, measure: str) -> Cell:
    """Difference to the best of the others and its interval."""
    if math.isnan(found.difference):
        return Cell("–")
    scale, places = (100, 1) if MEASURES[measure].unit == "%" else (1, 3)
    middle, low, high = (
        number(scale * value, places) for value in (found.difference, found.low, found.high)
    )
    return Cell(middle, key=found.difference, note=f"{low} to {high}")


def _figure(row: Any, measure: str, low: float, high: float) -> Cell:
    found = row.summary(measure) if measure in row.folds else None
    if found is None or not math.isfinite(found.mean):
        return Cell("–")
    error = 0.0 if math.isnan(found.se) else found.se
    ends = (found.mean - error, found.mean, found.mean + error)
    first, middle, last = ((x - low) / (high - low) if high > low else 0.5 for x in ends)
    return Cell(_with_error(found, measure), key=found.mean, span=(first, middle, last))


def _with_error(found: Any, measure: str) -> str:
    """Mean ± standard error."""
    if MEASURES[measure].unit == "%":
        error = "" if math.isnan(found.se) else f" ± {100 * found.se:.1f}"
        return f"{100 * found.mean:.1f}{error}"
    return number(found.mean) + ("" if math.isnan(found.se) else f" ± {number(found.se)}")
