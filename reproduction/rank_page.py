"""Ranks over data sets on the page of a table: tables, a sentence and a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from echelon.plots import CriticalDifferenceDisplay
from echelon.plots.style import render

from .markdown import markdown_table
from .published import Table
from .ranking import Ranking
from .verdicts import LEVEL, p_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

RANKING_HEADINGS = ("Figures", "Data sets", "Friedman χ²", "p", "Iman–Davenport F", "p", "CD")
#: inches above each diagram
_TITLE = 0.3


def ranking_cells(ranking: Ranking) -> list[str]:
    """Text of the tests over data sets, a string for each of `RANKING_HEADINGS`."""
    friedman = ranking.friedman
    f_statistic = friedman.f_statistic
    return [
        ranking.origin,
        str(len(ranking.sets)),
        f"{friedman.statistic:.3f}",
        p_text(friedman.p),
        "∞" if math.isinf(f_statistic) else f"{f_statistic:.3f}",
        p_text(friedman.f_p),
        f"{ranking.nemenyi.critical_difference:.3f}",
    ]


def rank_cells(rankings: list[Ranking]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Headings and text of the average ranks, a line per model."""
    headings = ("Model", *(f"Average rank, {ranking.origin.lower()}" for ranking in rankings))
    rows = [
        [name, *(f"{ranking.friedman.average_ranks[place]:.3f}" for ranking in rankings)]
        for place, name in enumerate(rankings[0].friedman.names)
    ]
    return headings, rows


def ranking_lines(table: Table, rankings: list[Ranking], file: str) -> list[str]:
    """The part of a page that compares all columns over data sets; nothing without rankings."""
    if not rankings:
        return []
    lines = [
        "",
        "All models over the data sets: average ranks (1 is best), Friedman's test, and Nemenyi's "
        f"critical difference CD of average ranks, with level {LEVEL}:",
        "",
        *markdown_table(RANKING_HEADINGS, [ranking_cells(ranking) for ranking in rankings]),
        "",
        *markdown_table(*rank_cells(rankings)),
        "",
        f"![Average ranks and critical difference]({file})",
    ]
    for ranking in rankings:
        lines += ["", _groups(ranking)]
        if len(ranking.sets) < len(table.sets):
            lines[-1] += f" The data sets are {', '.join(ranking.sets)}."
    return lines


def ranking_picture(file: str, rankings: list[Ranking], format: str = "svg") -> bytes:
    """The critical-difference diagrams of some rankings, one below the other."""
    displays = [CriticalDifferenceDisplay(ranking.nemenyi) for ranking in rankings]
    heights = [display.size[1] + _TITLE for display in displays]
    size = max(display.size[0] for display in displays), sum(heights)

    def draw(canvas: Canvas) -> None:
        bottom = size[1]
        for ranking, display, height in zip(rankings, displays, heights, strict=True):
            bottom -= height
            axes = canvas.add_axes(
                (0.01, bottom / size[1], 0.98, (height - _TITLE) / size[1]), label=ranking.origin
            )
            display.plot(ax=axes)
            axes.set_title(f"{ranking.origin}, {len(ranking.sets)} data sets", fontsize=10)

    return render(file, size, draw, format=format, layout=None)


def _groups(ranking: Ranking) -> str:
    groups = ranking.nemenyi.groups
    if not groups:
        return f"{ranking.origin}: all models differ significantly from each other."
    texts = "; ".join(", ".join(group) for group in groups)
    return f"{ranking.origin}: no significant difference among {texts}."
