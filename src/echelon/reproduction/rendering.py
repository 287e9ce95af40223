"""Rows as text: cells of a table for the terminal, and the page of a table in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable

from echelon.metrics.comparison import Summary

from .markdown import markdown_table
from .measures import MEASURES
from .models import get_model
from .protocol import QUICK_ROWS
from .published import Table
from .rows import Duel, Row, current, make_duels, make_rows
from .runner import EFFORTS
from .store import Cell
from .verdicts import LEVEL, Verdict

ROW_HEADINGS = ("Data set", "Model", "Published", "Ours", "SE", "n", "Verdict", "p")
DUEL_HEADINGS = ("Data set", "Models", "Difference", "SE", "n", "Verdict", "p")

_SPREADS = {
    "sd": "mean ± standard deviation",
    "se": "mean ± standard error",
    "none": "mean",
}
_PAPER = "Parameters are tuned on the training part of every split, as in the paper."
_QUICK = (
    "Parameters are tuned once per data set, on the first training part, at most "
    f"{QUICK_ROWS:,} rows. Rows of that part are test rows of the other splits, so these figures "
    "can be optimistic{but}: a first look, not a claim."
)


def row_cells(row: Row) -> list[str]:
    """Text of a row, a string for each of `ROW_HEADINGS`."""
    return [
        row.entry.label,
        row.model,
        row.published.printed if row.published else "–",
        _mean_and_spread(row.ours),
        _number(row.ours.se, 4),
        str(row.ours.n),
        *_verdict(row.verdict),
    ]


def duel_cells(duel: Duel) -> list[str]:
    """Text of a comparison of two models, a string for each of `DUEL_HEADINGS`."""
    return [
        duel.entry.label,
        f"{duel.first} − {duel.second}",
        f"{duel.difference.mean:+.3f}",
        _number(duel.difference.se, 4),
        str(duel.difference.n),
        *_verdict(duel.verdict),
    ]


def markdown_page(table: Table, cells: Iterable[Cell]) -> str:
    """The page of a table: every effort that has been measured, nothing typed by hand."""
    cells = list(cells)
    lines = [
        f"# {table.source}: {table.title}",
        "",
        "This page is written by `echelon reproduce`; do not edit it. How to read it, and what "
        "the protocol is: [README](README.md).",
        "",
        f"Published: {_SPREADS[table.spread]} over {table.trials} splits, as printed. Ours: mean ± "
        "standard deviation over n random splits of the same sizes, and SE, the standard error of "
        "that mean. The verdict on ours against the published mean is by Welch's t test with level "
        f"{LEVEL} and two-sided p; lower errors are better.",
        "",
    ]
    for effort in reversed(EFFORTS):
        measured = current(cells, table, effort)
        if measured:
            lines += _effort_section(table, effort, measured)
    return "\n".join(lines).rstrip() + "\n"


def _effort_section(table: Table, effort: str, cells: list[Cell]) -> list[str]:
    models = sorted({cell.key.model for cell in cells})
    lines = [f"## Effort `{effort}`", "", _tuning(table, effort, cells), ""]
    lines += ["```console", f"$ {_command(table, effort, cells)}", "```", ""]
    lines += [f"- {name}: {get_model(name).about}" for name in models]
    lines += [f"- computed with {text}" for text in _versions(cells)]
    rows, duels = make_rows(table, cells), make_duels(table, cells)
    for measure in table.measures:
        lines += ["", f"### {MEASURES[measure].heading}", ""]
        shown = [row_cells(row) for row in rows if row.measure == measure]
        lines += markdown_table(ROW_HEADINGS, shown)
        against = [duel_cells(duel) for duel in duels if duel.measure == measure]
        if against:
            lines += [
                "",
                "Our models on the same splits; the verdict is on the first of the two, by the "
                "corrected resampled t test:",
                "",
                *markdown_table(DUEL_HEADINGS, against),
            ]
    return [*lines, ""]


def _tuning(table: Table, effort: str, cells: list[Cell]) -> str:
    if effort == "paper":
        return _PAPER
    measured = {cell.key.set for cell in cells}
    large = [
        entry.label
        for entry in table.sets.values()
        if entry.name in measured and entry.training > QUICK_ROWS
    ]
    but = f"; those of {', '.join(large)}, tuned on fewer rows than are fitted, can be worse"
    return _QUICK.format(but=but if large else "")


def _command(table: Table, effort: str, cells: list[Cell]) -> str:
    measured = {cell.key.set for cell in cells}
    sets = [name for name in table.sets if name in measured]
    chosen = "" if len(sets) == len(table.sets) else f" --sets {','.join(sets)}"
    splits = 1 + max(cell.key.split for cell in cells)
    return f"echelon reproduce {table.name}{chosen} --splits {splits} --effort {effort}"


def _versions(cells: list[Cell]) -> list[str]:
    texts = {", ".join(f"{name} {v}" for name, v in sorted(c.versions.items())) for c in cells}
    return sorted(texts)


def _mean_and_spread(summary: Summary) -> str:
    if math.isnan(summary.sd):
        return _number(summary.mean, 3)
    return f"{summary.mean:.3f} ± {summary.sd:.3f}"


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _verdict(verdict: Verdict | None) -> list[str]:
    if verdict is None:
        return ["–", "–"]
    small = not math.isnan(verdict.p) and verdict.p < 0.001
    return [verdict.word, "<0.001" if small else _number(verdict.p, 3)]
