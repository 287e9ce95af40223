"""Rows as text: cells of a table for the terminal, and the page of a table in Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterable

from echelon.metrics.significance import Summary

from .markdown import markdown_table
from .measures import MEASURES
from .models import get_model, list_models
from .protocol import QUICK_ROWS
from .published import Table, Tolerance
from .rank_page import ranking_lines, ranking_picture
from .ranking import make_rankings
from .rows import Duel, Row, Tally, current, make_duels, make_rows, make_tallies
from .runner import EFFORTS
from .store import ANY_EFFORT, Cell
from .verdicts import LEVEL, Verdict, p_text

DUEL_HEADINGS = ("Data set", "Models", "Difference", "SE", "n", "Verdict", "p")
TALLY_HEADINGS = ("Model", "Within", "Not within")

_ROW_HEADINGS = ("Data set", "Model", "Published", "Ours", "SE", "n", "Verdict", "p")
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
_UNTUNED = "Nothing to tune, and so the same under every effort"
_CORRECTED = "corrected resampled t test"
_PAIRED = "paired t test, as every split draws rows of its own"
_PUBLISHED_ONLY = "published only; no model is registered under this name."


def row_headings(table: Table) -> tuple[str, ...]:
    """Headings of the rows of a table."""
    return _ROW_HEADINGS if table.tolerance is None else (*_ROW_HEADINGS, "Within")


def row_cells(table: Table, row: Row) -> list[str]:
    """Text of a row, a string for each of `row_headings`."""
    within = {None: "–", True: "yes", False: "no"}[row.within]
    return [
        row.entry.label,
        row.model,
        row.published.printed if row.published else "–",
        *_measured(row.ours),
        *_verdict(row.verdict),
        *([] if table.tolerance is None else [within]),
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


def tally_cells(tally: Tally) -> list[str]:
    """Text of a count of agreements, a string for each of `TALLY_HEADINGS`."""
    figures = len(tally.within) + len(tally.beyond)
    return [tally.model, f"{len(tally.within)} of {figures}", ", ".join(tally.beyond) or "–"]


def page_files(table: Table, cells: Iterable[Cell]) -> dict[str, bytes]:
    """The page of a table and its pictures, by the names of their files."""
    cells = list(cells)
    files = {f"{table.name}.md": markdown_page(table, cells).encode("utf-8")}
    for effort in _efforts(table, cells):
        rankings = make_rankings(table, current(cells, table, effort))
        for measure in dict.fromkeys(ranking.measure for ranking in rankings):
            file = _picture_file(table, measure, effort)
            files[file] = ranking_picture(file, [r for r in rankings if r.measure == measure])
    return files


def markdown_page(table: Table, cells: Iterable[Cell]) -> str:
    """The page of a table: every effort that has been measured, nothing typed by hand."""
    cells = list(cells)
    lines = [
        f"# {table.source}: {table.title}",
        "",
        "This page is written by `python -m reproduction`; do not edit it. How to read it, and "
        "what the protocol is: [README](README.md).",
        "",
        _describe_figures(table),
        "",
    ]
    if table.tolerance is not None:
        lines += [_describe_tolerance(table.tolerance), ""]
    for note in table.notes:
        lines += [note, ""]
    for effort in _efforts(table, cells):
        lines += _section(table, effort, current(cells, table, effort))
    return "\n".join(lines).rstrip() + "\n"


def _efforts(table: Table, cells: list[Cell]) -> list[str]:
    """Efforts with a section: those of tuned cells, or one of its own if nothing is tuned."""
    tuned = {
        cell.key.effort
        for effort in EFFORTS
        for cell in current(cells, table, effort)
        if cell.key.effort != ANY_EFFORT
    }
    if tuned:
        return [effort for effort in reversed(EFFORTS) if effort in tuned]
    return [ANY_EFFORT] if current(cells, table, ANY_EFFORT) else []


def _section(table: Table, effort: str, cells: list[Cell]) -> list[str]:
    heading = "Measured" if effort == ANY_EFFORT else f"Effort `{effort}`"
    lines = [f"## {heading}", "", " ".join(_tuning(table, effort, cells)), ""]
    lines += ["```console", *(f"$ {text}" for text in _commands(table, cells)), "```", ""]
    models = sorted({cell.key.model for cell in cells})
    lines += [f"- {name}: {get_model(name).about}" for name in models]
    unbuilt = [name for name in table.columns if name not in list_models()]
    lines += [f"- {name}: {_PUBLISHED_ONLY}" for name in unbuilt]
    lines += [f"- computed with {text}" for text in _versions(cells)]
    rankings = make_rankings(table, cells)
    for measure in table.measures:
        lines += _figures(table, measure, cells)
        ranked = [ranking for ranking in rankings if ranking.measure == measure]
        lines += ranking_lines(table, ranked, _picture_file(table, measure, effort))
    return [*lines, ""]


def _figures(table: Table, measure: str, cells: list[Cell]) -> list[str]:
    """The figures by one measure: rows, agreements and duels; nothing where no model has any."""
    rows = [row for row in make_rows(table, cells) if row.measure == measure]
    if not rows:
        return []
    lines = ["", f"### {MEASURES[measure].heading}", ""]
    lines += markdown_table(row_headings(table), [row_cells(table, row) for row in rows])
    counts = [tally_cells(tally) for tally in make_tallies(rows)]
    if counts:
        lines += ["", "Data sets on which ours is within the published figure, as above:", ""]
        lines += markdown_table(TALLY_HEADINGS, counts)
    duels = make_duels(table, cells)
    against = [duel_cells(duel) for duel in duels if duel.measure == measure]
    if against:
        drawn = any(entry.generator for entry in table.sets.values())
        lines += [
            "",
            "Our models on the same splits; the verdict is on the first of the two, by the "
            f"{_PAIRED if drawn else _CORRECTED}:",
            "",
            *markdown_table(DUEL_HEADINGS, against),
        ]
    return lines


def _picture_file(table: Table, measure: str, effort: str) -> str:
    return f"{table.name}-{measure}-{effort}.svg"


def _describe_figures(table: Table) -> str:
    """What the numbers on the page are."""
    kind = "published splits" if table.protocol.splits else "random splits of the same sizes"
    ours = f"Ours: mean ± standard deviation over n {kind}, and SE, the standard error of that mean"
    if not table.has_figures:
        return f"{ours}; lower errors are better."
    return (
        f"Published: {_SPREADS[table.spread]} over {table.trials} splits, {table.quoted}. {ours}. "
        "The verdict on ours against the published mean is by Welch's t test with level "
        f"{LEVEL} and two-sided p; lower errors are better."
    )


def _describe_tolerance(tolerance: Tolerance) -> str:
    return (
        "Within: whether ours is lower than the published mean, or higher by no more than "
        f"{tolerance.standard_errors:g} published standard errors or {tolerance.least:g}, the "
        "larger of both."
    )


def _tuning(table: Table, effort: str, cells: list[Cell]) -> list[str]:
    tuned = {cell.key.set for cell in cells if cell.key.effort != ANY_EFFORT}
    texts = []
    if effort == "paper":
        texts.append(_PAPER)
    elif effort == "quick":
        large = [
            entry.label
            for entry in table.sets.values()
            if entry.name in tuned and entry.training > QUICK_ROWS
        ]
        but = f"; those of {', '.join(large)}, tuned on fewer rows than are fitted, can be worse"
        texts.append(_QUICK.format(but=but if large else ""))
    untuned = sorted({cell.key.model for cell in cells if cell.key.effort == ANY_EFFORT})
    if untuned:
        texts.append(f"{_UNTUNED}: {', '.join(untuned)}.")
    return texts


def _commands(table: Table, cells: list[Cell]) -> list[str]:
    """A command for the table itself, and one for each table that it has columns from."""
    homes = dict.fromkeys([table.name, *table.measured_under.values()])
    groups = [(home, [cell for cell in cells if cell.key.table == home]) for home in homes]
    return [_command(table, home, group) for home, group in groups if group]


def _command(table: Table, home: str, cells: list[Cell]) -> str:
    text = f"python -m reproduction {home}"
    if home != table.name:
        text += f" --models {','.join(sorted({cell.key.model for cell in cells}))}"
    measured = {cell.key.set for cell in cells}
    # The table that a column comes from may have more sets.
    if home != table.name or len(measured) < len(table.sets):
        text += f" --sets {','.join(name for name in table.sets if name in measured)}"
    text += f" --splits {1 + max(cell.key.split for cell in cells)}"
    efforts = {cell.key.effort for cell in cells} - {ANY_EFFORT}
    return text + "".join(f" --effort {effort}" for effort in efforts)


def _versions(cells: list[Cell]) -> list[str]:
    texts = {", ".join(f"{name} {v}" for name, v in sorted(c.versions.items())) for c in cells}
    return sorted(texts)


def _measured(summary: Summary | None) -> list[str]:
    """Mean and spread, standard error, number of splits."""
    if summary is None:
        return ["not measured", "–", "–"]
    mean = _number(summary.mean, 3)
    if not math.isnan(summary.sd):
        mean += f" ± {summary.sd:.3f}"
    return [mean, _number(summary.se, 4), str(summary.n)]


def _number(value: float, digits: int) -> str:
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _verdict(verdict: Verdict | None) -> list[str]:
    if verdict is None:
        return ["–", "–"]
    return [verdict.word, p_text(verdict.p)]
