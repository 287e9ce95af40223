"""Displays as SVG inside a page: their inks become variables of the page, their text stays text."""

from __future__ import annotations

import re
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..plots import style
from ..plots.display import Display
from ..plots.style import render
from .content import Figure, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: inches of a figure, few enough for its text to be read on a phone
WIDTH = 4.3

_SETTINGS: dict[Any, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "axes.formatter.use_mathtext": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}
_INKS = {
    style.INK: "var(--ink)",
    style.FAINT: "var(--faint)",
    style.GRID: "var(--grid)",
    style.PAPER: "var(--paper)",
    "#000000": "var(--ink)",
    **{color: f"var(--series-{i})" for i, color in enumerate(style.SERIES)},
}
_COLOR = re.compile(r"#[0-9a-fA-F]{6}\b")
_FAMILY = re.compile(r"(font(?:-family)?:[^;]*?)'[^']*'(?:, [^;,]+)*")
_REFERENCE = re.compile(r"(?:url\()?#([\w.-]+)\)?")
_POINTERS = ("href", "clip-path", "mask")
#: what XML 1.0 cannot hold
_ILLEGAL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DROPPED = {"metadata", "style", "title"}


def draw(
    name: str,
    title: str,
    description: str,
    plot: Display | Callable[[Axes], Any],
    *,
    size: tuple[float, float] = (WIDTH, 2.8),
    numbers: Table | Callable[[Any], Table] | None = None,
    wide: bool = False,
    bare: bool = False,
) -> Figure:
    """A figure of the report.

    Parameters
    ----------
    name : str
        Its id on the page, and the start of all ids inside it.
    title, description : str
        What is shown, and what is to be seen, for eyes and for screen readers.
    plot : Display or callable
        A display, or what is called with matplotlib axes to draw on.
    size : tuple of float
        Inches.
    numbers : Table or callable, optional
        The figures behind the picture, maybe as a function of what `plot` gives.
    wide : bool
        Whether the figure stands alone in its row.
    bare : bool
        Axes that fill the picture, for displays that place everything themselves.

    Returns
    -------
    figure : Figure
    """
    drawn: list[Any] = []
    show = plot.plot if isinstance(plot, Display) else plot

    def fill(canvas: Canvas) -> None:
        axes = canvas.add_axes((0.01, 0.01, 0.98, 0.98)) if bare else canvas.subplots()
        drawn.append(show(axes))

    layout: Any = None if bare else "constrained"
    with warnings.catch_warnings():
        # The reader's own fonts draw letters that matplotlib's font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        content = render("echelon", size, fill, layout=layout, settings=_SETTINGS)
    svg = themed(content.decode(), name, title, description)
    table = numbers(drawn[0]) if callable(numbers) else numbers
    return Figure(name, title, description, svg, table, wide)


def themed(text: str, name: str, title: str, description: str) -> Any:
    """SVG to stand inside a page: named, with ids of its own and the page's inks and fonts."""
    from markupsafe import Markup

    body = _ILLEGAL.sub("\ufffd", text[text.index("<svg") :])
    # Without a document type nothing can be expanded, and text of users is escaped already.
    root = ET.fromstring(body)
    _strip(root)
    wanted = {target for element in root.iter() for target in _targets(element)}
    for element in root.iter():
        _rename(element, name, wanted)
        _repaint(element)
    for attribute in ("width", "height", "version"):
        root.attrib.pop(attribute, None)
    labels = {"title": title, "desc": description}
    for place, (tag, words) in enumerate(labels.items()):
        label = ET.Element(tag, {"id": f"{name}-{tag}"})
        label.text = words
        root.insert(place, label)
    root.set("role", "img")
    root.set("aria-labelledby", f"{name}-title")
    root.set("aria-describedby", f"{name}-desc")
    return Markup(ET.tostring(root, encoding="unicode"))


def _strip(element: ET.Element) -> None:
    """Take off namespaces, which HTML knows without being told, and what is not drawn."""
    element.tag = element.tag.rpartition("}")[2]
    for key in list(element.attrib):
        element.attrib[key.rpartition("}")[2]] = element.attrib.pop(key)
    for child in list(element):
        if child.tag.rpartition("}")[2] in _DROPPED:
            element.remove(child)
        else:
            _strip(child)


def _targets(element: ET.Element) -> list[str]:
    """Ids that an element refers to."""
    values = [element.get(key, "") for key in _POINTERS]
    return [found.group(1) for found in map(_REFERENCE.fullmatch, values) if found]


def _rename(element: ET.Element, name: str, wanted: set[str]) -> None:
    own = element.attrib.pop("id", None)
    if own in wanted:
        element.set("id", f"{name}-{own}")
    for key in _POINTERS:
        value = element.get(key, "")
        if _REFERENCE.fullmatch(value):
            element.set(key, value.replace("#", f"#{name}-", 1))


def _repaint(element: ET.Element) -> None:
    is_text = element.tag in ("text", "tspan")
    for key in ("style", "fill", "stroke"):
        value = element.get(key)
        if value is None:
            continue
        inked = _COLOR.sub(lambda found: _ink(found.group(0), is_text), value)
        element.set(key, _FAMILY.sub(r"\1var(--sans)", inked))


def _ink(color: str, is_text: bool) -> str:
    """The page's ink for a colour; colours of classes are lightened for a dark ground."""
    known = _INKS.get(color.lower())
    if known is not None:
        return known
    if is_text:
        return f"color-mix(in srgb, {color.lower()} 45%, var(--ink))"
    return f"color-mix(in srgb, {color.lower()} var(--keep), #ffffff)"
