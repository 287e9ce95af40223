"""Pictures as bytes, the same for the same drawing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal

from .style import require_pyplot

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas


def render(
    name: str,
    size: tuple[float, float],
    draw: Callable[[Canvas], None],
    *,
    format: str = "svg",
    layout: Literal["constrained"] | None = "constrained",
    settings: Mapping[Any, Any] | None = None,
) -> bytes:
    """Draw on an empty figure of some inches; the same name and drawing give the same bytes."""
    require_pyplot()
    import matplotlib
    from matplotlib.figure import Figure as Canvas

    content = BytesIO()
    fixed: Any = {"svg.hashsalt": name, "svg.fonttype": "none"}
    with matplotlib.rc_context({**fixed, **(settings or {})}):
        canvas = Canvas(figsize=size, layout=layout)
        draw(canvas)
        if format == "svg":
            # Only images within the drawing have pixels; few keep the file small.
            canvas.savefig(content, format=format, dpi=36, metadata={"Date": None})
        else:
            canvas.savefig(content, format=format, dpi=120)
    return content.getvalue()
