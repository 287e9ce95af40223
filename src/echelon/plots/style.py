"""Pictures as bytes, the same for the same drawing.

A picture uses no colour that is not named here, so that a page can exchange them for those of its
theme. Fills are these colours with an opacity, so that text of colour INK reads on light and dark.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from io import BytesIO
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from .._utils.packages import require_extra
from .._utils.types import Vector

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure as Canvas
    from matplotlib.text import Text


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


Grid: TypeAlias = Literal["both", "x", "y"]
"""Lines across which axes."""

INK = "#262626"
FAINT = "#737373"
GRID = "#d9d9d9"
PAPER = "#ffffff"
#: what a picture is about, and what stands beside it
ACCENT = "#d55e00"
SECOND = "#0072b2"
#: lines of different things, in the order of use
SERIES = (SECOND, ACCENT, "#009e73", "#cc79a7", "#b08a00", "#5b6ee1")
#: from the lowest class to the highest: ever lighter, and from blue to yellow, which people who
#: confuse red and green can distinguish
RAMP = ("#2a559f", "#7c6cb6", "#b96f9f", "#d9806a", "#dba93a")

FONT = 9.0
SMALL = 8.0
#: an opacity of fills under text
FILL = 0.22
#: width of a letter and distance of lines, in units of the font size
_LETTER, _LINE = 0.62, 1.25
WIDTH = 5.2
#: share of the axes that is left when a layout has made room for texts around them
_KEPT = 0.84


def require_pyplot() -> Any:
    """Matplotlib's pyplot; a sentence that names the extra where it is not installed."""
    require_extra("Plots need", "plot", "matplotlib")
    import matplotlib.pyplot as plt

    return plt


def dress(ax: Axes, *, grid: Grid | None = None, left: bool = True, bottom: bool = True) -> None:
    """Leave on the axes only what is read: the lower and left line, and a faint grid."""
    for side, shown in (("top", False), ("right", False), ("left", left), ("bottom", bottom)):
        ax.spines[side].set_visible(shown)
        ax.spines[side].set_color(FAINT)
    ax.tick_params(colors=FAINT, labelcolor=INK, labelsize=SMALL)
    ax.tick_params(axis="y", left=left)
    ax.tick_params(axis="x", bottom=bottom)
    ax.set_axisbelow(True)
    if grid is not None:
        ax.grid(True, axis=grid, color=GRID, linewidth=0.7)


def name_axes(
    ax: Axes, x: str | None = None, y: str | None = None, title: str | None = None
) -> None:
    """Names of the axes and a title, in the ink and sizes of all displays."""
    if x is not None:
        ax.set_xlabel(x, color=INK, fontsize=FONT, parse_math=False)
    if y is not None:
        ax.set_ylabel(y, color=INK, fontsize=FONT, parse_math=False)
    if title is not None:
        ax.set_title(title, color=INK, fontsize=FONT + 1, loc="left", parse_math=False)


def write(
    ax: Axes,
    text: str,
    at: tuple[float, float],
    *,
    move: tuple[float, float] = (0.0, 0.0),
    color: str = INK,
    size: float = SMALL,
    right_of_axes: bool = False,
    **options: Any,
) -> Text:
    """Put a text at some point of the data, or beside it, `move` points away; never a formula."""
    return ax.annotate(
        text,
        at,
        xycoords=("axes fraction", "data") if right_of_axes else "data",
        xytext=move,
        textcoords="offset points",
        fontsize=size,
        color=color,
        annotation_clip=False,
        parse_math=False,
        **{"va": "center", **options},
    )


def subscript(letter: str, number: int) -> str:
    """A letter with a number below the line.

    Examples
    --------
    >>> subscript("b", 12)
    'b₁₂'
    """
    return letter + str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def power_of_ten(value: float) -> str:
    """A power of ten as text.

    Examples
    --------
    >>> power_of_ten(1e-3)
    '10⁻³'
    """
    power = str(round(math.log10(value)))
    return "10" + power.translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def class_colors(n: int) -> list[str]:
    """A colour for each of n classes, from the lowest to the highest.

    Examples
    --------
    >>> class_colors(2)
    ['#2a559f', '#dba93a']
    """
    anchors = np.array([[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in RAMP], dtype=float)
    at = np.linspace(0.0, len(RAMP) - 1.0, n)
    mixed = np.column_stack([np.interp(at, np.arange(len(RAMP)), part) for part in anchors.T])
    return [f"#{r:02x}{g:02x}{b:02x}" for r, g, b in mixed.round().astype(int).tolist()]


def shortened(text: Any, most: int = 18, end: int | None = None) -> str:
    """A text of at most some letters, from its beginning and its end, which tell names apart.

    `end` is how many letters come from its end, a third of all by default.

    Examples
    --------
    >>> shortened("somewhat satisfied", 10)
    'somewh…ied'
    """
    words = str(text)
    if len(words) <= most:
        return words
    end = max((most - 1) // 3, 1) if end is None else end
    return f"{words[: most - 1 - end].rstrip()}…{words[-end:].lstrip()}"


def kept_apart(
    texts: Sequence[Any], most: int, cut: Callable[[str, int], str] | None = None
) -> list[str]:
    """Texts shortened to at most some letters, or to more where two would look alike.

    Without a function `cut` that shortens a text to a size, more letters of the end are tried.

    Examples
    --------
    >>> kept_apart(["rather satisfied", "rather dissatisfied"], 10)
    ['rather s…ied', 'rather d…ied']
    """
    names = [str(text) for text in texts]
    for size in range(most, max(map(len, names), default=0)):
        ends = range(max((size - 1) // 3, 1), max(size - 1, 2))
        tried = [partial(shortened, end=end) for end in ends] if cut is None else [cut]
        for cut_one in tried:
            found = [cut_one(name, size) for name in names]
            if len(set(found)) == len(set(names)):
                return found
    return names


def text_width(text: str, size: float = SMALL) -> float:
    """About how many points wide a text is."""
    return _LETTER * size * max(map(len, text.split("\n")))


def points(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points, with room for what a layout may still take away."""
    box = ax.get_window_extent()
    figure = ax.figure
    kept = 72.0 / figure.dpi * (1.0 if figure.get_layout_engine() is None else _KEPT)
    return kept * box.width, kept * box.height


def thinned(n: int, room: float, each: float) -> npt.NDArray[np.intp]:
    """Which of n labels in equal steps to show where one takes `each` of the room.

    Examples
    --------
    >>> thinned(5, room=100.0, each=20.0), thinned(5, room=100.0, each=45.0)
    (array([0, 1, 2, 3, 4]), array([0, 3]))
    """
    step = max(1, math.ceil(n * each / max(room, 1.0)))
    return np.arange(0, n, step)


def name_ticks(
    axis: Axis, positions: Sequence[float] | Vector, texts: Sequence[Any], most: int = 18
) -> None:
    """Ticks with texts: on several lines, upright, shortened or thinned out where they must be."""
    names = [str(text) for text in texts]
    ax = axis.axes
    across = axis is ax.xaxis
    low, high = sorted(ax.get_xlim() if across else ax.get_ylim())
    step = (max(positions) - min(positions)) / max(len(names) - 1, 1) or 1.0
    each = points(ax)[0 if across else 1] * step / max(high - low, 1e-9)
    upright = False
    if across:
        names, upright = _across(names, int((each - 0.6 * SMALL) / (_LETTER * SMALL)), most)
        taken = _LINE * SMALL if upright else max(map(text_width, names)) + 0.6 * SMALL
    else:
        fit = max(1, min(int(each / (_LINE * SMALL)), 3))
        names = kept_apart(names, most, lambda text, width: lines(text, width, fit))
        taken = _LINE * SMALL
    shown = thinned(len(names), each * len(names), taken)
    turn = 90 if upright and max(map(len, names)) > 2 else 0
    axis.set_ticks(
        [positions[i] for i in shown],
        labels=[names[i] for i in shown],
        rotation=turn,
        parse_math=False,
    )


def _across(names: list[str], letters: int, most: int) -> tuple[list[str], bool]:
    """Labels below an axis with room for some letters each, and whether they stand upright."""
    longest = max(len(word) for name in names for word in name.split() or [""])
    if max(map(len, names)) <= letters or letters >= max(longest, 8):
        broken = [lines(name, max(letters, 1)) for name in names]
        if len(set(broken)) == len(set(names)):
            return broken, False
    return kept_apart(names, most), True


def whole_ticks(ax: Axes) -> None:
    """Put ticks of the lower axis at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 2.5, 5, 10], integer=True))


def lines(text: Any, width: int, most: int = 3) -> str:
    r"""A text broken into at most some lines of some letters, shortened if it must be.

    Examples
    --------
    >>> lines("neither satisfied nor dissatisfied", 12, 2)
    'neither\nsatis…isfied'
    """
    for letters in range(len(str(text)), width, -1):
        parts = textwrap.wrap(shortened(text, letters), width, break_long_words=False)
        if len(parts) <= most and max(map(len, parts)) <= width:
            return "\n".join(parts)
    return shortened(text, width)


def spread(
    values: npt.ArrayLike, gap: float, low: float = -math.inf, high: float = math.inf
) -> npt.NDArray[np.float64]:
    """Values moved as little as they must to be at least `gap` apart, in order and within bounds.

    Examples
    --------
    >>> spread([0.0, 0.1, 5.0], 1.0), spread([0.0, 0.1, 5.0], 1.0, low=0.0)
    (array([-0.45,  0.55,  5.  ]), array([0., 1., 5.]))
    """
    wanted = np.asarray(values, dtype=np.float64)
    order = np.argsort(wanted, kind="stable")
    steps = gap * np.arange(len(wanted))
    placed = np.empty(len(wanted))
    if len(wanted):
        # Least squares under "at least gap apart" is an increasing fit of values less steps.
        fitted = isotonic_regression(wanted[order] - steps)
        placed[order] = np.clip(fitted, low, max(high - steps[-1], low)) + steps
    return placed


def label_ends(
    ax: Axes, x: float, heights: Sequence[float], texts: Sequence[str], colors: Sequence[str]
) -> list[Any]:
    """Names of lines at the right of their ends, moved apart where they would collide."""
    _, height = points(ax)
    low, high = ax.get_ylim()
    unit = (high - low) / max(height, 1.0)
    placed = spread(heights, _LINE * SMALL * unit, low, high)
    return [
        write(ax, text, (x, end), move=(5.0, (at - end) / unit), color=color)
        for end, at, text, color in zip(heights, placed.tolist(), texts, colors, strict=True)
    ]


def panels(ax: Axes, rows: int, columns: int, *, gap: float = 0.1, head: float = 0.0) -> list[Axes]:
    """Small axes within the axes, row by row from the top.

    `gap` between two columns is in units of a panel's width, `head` above each row in points.
    """
    ax.axis("off")
    above = head / max(points(ax)[1], 1.0)
    width = 1.0 / (columns + gap * (columns - 1))
    height = 1.0 / rows - above
    return [
        ax.inset_axes((j * width * (1 + gap), 1.0 - (i + 1) / rows, width, height))
        for i in range(rows)
        for j in range(columns)
    ]


def name_panels(ax: Axes, x: str, y: str, title: str | None = None) -> None:
    """Names of the axes of all panels within the axes, and a title."""
    options: dict[str, Any] = {
        "xycoords": "axes fraction",
        "textcoords": "offset points",
        "fontsize": FONT,
        "color": INK,
        "parse_math": False,
    }
    ax.annotate(x, (0.5, 0.0), xytext=(0, -18), ha="center", va="top", **options)
    ax.annotate(y, (0.0, 0.5), xytext=(-26, 0), ha="right", va="center", rotation=90, **options)
    name_axes(ax, title=title)


def bar_height(n: int, row: float = 0.24, head: float = 0.75) -> float:
    """Inches for n rows of a chart and its axis."""
    return head + row * n


def legend(ax: Axes, *handles_and_labels: Any, **options: Any) -> None:
    """A legend without a frame, whose names are plain text and never formulas."""
    made = ax.legend(*handles_and_labels, frameon=False, fontsize=SMALL, labelcolor=INK, **options)
    for text in (*made.get_texts(), made.get_title()):
        text.set_parse_math(False)
        text.set_color(INK)
