"""The picture of a plot and the page that shows it; nothing on either is typed by hand."""

from __future__ import annotations

from echelon.plots.style import render

from ..markdown import markdown_table
from ..runner import versions
from .catalogue import Plot
from .exhibit import Exhibit


def picture(plot: Plot, exhibit: Exhibit, format: str = "svg") -> bytes:
    """Draw an exhibit; the same exhibit gives the same bytes."""
    return render(plot.name, exhibit.size, exhibit.draw, format=format)


def plot_page(plot: Plot, exhibit: Exhibit, effort: str) -> str:
    """The page: what is shown, how it was measured, the picture and the figures."""
    chosen = f" --effort {effort}" if plot.effort else ""
    lines = [
        f"# {plot.source}: {plot.title}",
        "",
        "This page and its picture are written by `python -m reproduction`; do not edit them.",
        "",
        "```console",
        f"$ python -m reproduction {plot.name}{chosen}",
        "```",
        "",
        f"![{plot.title}]({plot.name}.svg)",
        "",
        plot.published,
        "",
        f"Ours: {exhibit.setting}",
        "",
    ]
    for sheet in exhibit.sheets():
        lines += [sheet.caption, "", *markdown_table(sheet.headings, sheet.rows), ""]
    lines += [f"- {name}: {about}" for name, about in exhibit.notes(plot)]
    used = ", ".join(f"{name} {number}" for name, number in sorted(versions().items()))
    return "\n".join([*lines, f"- computed with {used}"]) + "\n"
