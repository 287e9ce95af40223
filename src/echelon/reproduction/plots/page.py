"""The picture of a plot and the page that shows it; nothing on either is typed by hand."""

from __future__ import annotations

from io import BytesIO

from ..errors import ReproductionError
from ..markdown import markdown_table
from ..models import get_model
from ..runner import versions
from .catalogue import Plot
from .exhibit import Exhibit


def require_matplotlib() -> None:
    """Raise a `ReproductionError` that names the extra if matplotlib is absent."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ReproductionError(
            "Plots need matplotlib; install it with the plot extra: pip install 'echelon[plot]'."
        ) from error


def picture(plot: Plot, exhibit: Exhibit, format: str = "svg") -> bytes:
    """Draw an exhibit; the same exhibit gives the same bytes."""
    require_matplotlib()
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    content = BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": plot.name, "svg.fonttype": "none"}):
        canvas = Canvas(figsize=exhibit.size, layout="constrained")
        exhibit.draw(canvas)
        if format == "svg":
            # Only images within the drawing have pixels; few keep the file small.
            canvas.savefig(content, format=format, dpi=36, metadata={"Date": None})
        else:
            canvas.savefig(content, format=format, dpi=120)
    return content.getvalue()


def plot_page(plot: Plot, exhibit: Exhibit, effort: str) -> str:
    """The page: what is shown, how it was measured, the picture and the figures."""
    chosen = f" --effort {effort}" if plot.effort else ""
    lines = [
        f"# {plot.source}: {plot.title}",
        "",
        "This page and its picture are written by `echelon reproduce`; do not edit them.",
        "",
        "```console",
        f"$ echelon reproduce {plot.name}{chosen}",
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
    lines += [f"- {name}: {get_model(name).about}" for name in plot.settings["models"]]
    used = ", ".join(f"{name} {number}" for name, number in sorted(versions().items()))
    return "\n".join([*lines, f"- computed with {used}"]) + "\n"
