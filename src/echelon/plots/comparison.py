"""Models side by side: a measure with its standard error, and Demšar's diagram of average ranks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from ..metrics import NemenyiResult, Summary, nemenyi_test
from ..metrics.measures import known_measures
from . import style
from .display import Display
from .style import ACCENT, FAINT, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..model_selection import Leaderboard

_FONT_SIZE = 9.5
_LEAST_FONT_SIZE = 5.0
#: inches: a name, a bar, the axis with the critical difference above it, the axis' width
_NAME, _STEP, _HEAD, _WIDTH = 0.25, 0.13, 0.80, 4.2
#: most of the width that the names on both sides may take together
_NAMES_SHARE = 0.66


class CriticalDifferenceDisplay(Display):
    """Average ranks of models over data sets, with bars over groups that do not differ.

    The axis runs from the worst rank on the left to the best on the right. Models under the same
    bar do not differ significantly by Nemenyi's test. `from_scores` makes it.

    Parameters
    ----------
    result : NemenyiResult
        What `echelon.metrics.nemenyi_test` gives.

    Attributes
    ----------
    ax_ : matplotlib axes
    figure_ : matplotlib figure
    """

    def __init__(self, result: NemenyiResult) -> None:
        self.result = result

    @classmethod
    def from_scores(
        cls,
        scores: npt.ArrayLike,
        names: Sequence[str] | None = None,
        *,
        alpha: float = 0.05,
        lower_is_better: bool = True,
        ax: Axes | None = None,
    ) -> Self:
        """Rank the models on every data set, compare all pairs, and draw.

        Parameters
        ----------
        scores : array-like or data frame of shape (n_sets, n_models)
        names : sequence of str, optional
            Names of the models, in place of the frame's columns.
        alpha : float
            Level of the test over all pairs.
        lower_is_better : bool
            True for errors.
        ax : matplotlib axes, optional
            Where to draw; a new figure that fits by default.

        Returns
        -------
        display : CriticalDifferenceDisplay

        Examples
        --------
        >>> errors = [[0.10, 0.14, 0.20], [0.31, 0.30, 0.44], [0.22, 0.25, 0.27]]
        >>> display = CriticalDifferenceDisplay.from_scores(errors, names=["A", "B", "C"])
        >>> display.result.groups
        (('A', 'B', 'C'),)
        """
        result = nemenyi_test(scores, names=names, alpha=alpha, lower_is_better=lower_is_better)
        return cls(result).plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of axes that the diagram fits."""
        sketch = _Sketch.of(self.result)
        longest = [
            max(len(label.text) for label in sketch.labels if label.side == side)
            for side in (-1, 1)
        ]
        return _WIDTH + 0.085 * sum(longest), _HEAD + sketch.depth

    def _draw(self, ax: Axes | None) -> None:
        """Draw the diagram; names are sized to the axes as they are now."""
        sketch = _Sketch.of(self.result)
        if ax is None:
            ax = style.require_pyplot().figure(figsize=self.size).add_axes((0.01, 0.01, 0.98, 0.98))
        self.ax_, self.figure_ = ax, ax.figure
        ax.axis("off")
        ax.set_ylim(-sketch.depth, _HEAD)
        self._set_width(sketch)
        self._draw_axis()
        self._draw_critical_difference()
        for label in sketch.labels:
            self._draw_model(label)
        for low, high, y in sketch.bars:
            # Short ends beyond the ranks, so that a bar over equal ranks can be seen.
            room = 0.02 * (self.result.n_models - 1)
            ends = (low - room, high + room)
            ax.plot(ends, (y, y), color=ACCENT, linewidth=3.2, solid_capstyle="round", zorder=3)

    def _set_width(self, sketch: _Sketch) -> None:
        """Leave room for the names beside the axis of ranks; smaller ones if they are long."""
        ax, last = self.ax_, self.result.n_models
        width = ax.get_window_extent().width
        self._font_size = _FONT_SIZE
        left, right = (self._names_width(sketch, side) for side in (-1, 1))
        if left + right > _NAMES_SHARE * width:
            smaller = _FONT_SIZE * _NAMES_SHARE * width / (left + right)
            self._font_size = max(smaller, _LEAST_FONT_SIZE)
            left, right = (self._names_width(sketch, side) for side in (-1, 1))
        unit = max(width - left - right, 0.2 * width) / (last - 1)
        ax.set_xlim(last + left / unit, 1 - right / unit)
        # Numbers of two digits need about 16 points.
        self._tick_step = math.ceil(16.0 * ax.figure.dpi / 72.0 / unit)

    def _names_width(self, sketch: _Sketch, side: int) -> float:
        """Pixels that the names of one side take, and a little more."""
        from matplotlib.textpath import TextPath

        # A dollar sign would start a formula; an S is about as wide.
        texts = [label.text.replace("$", "S") for label in sketch.labels if label.side == side]
        points = max(
            TextPath((0, 0), text, size=self._font_size).get_extents().width for text in texts
        )
        # A viewer of the picture may have a wider font.
        return (1.08 * points + 1.6 * self._font_size) * self.ax_.figure.dpi / 72.0

    def _draw_axis(self) -> None:
        last = self.result.n_models
        self.ax_.plot((1, last), (0, 0), color=INK, linewidth=1.1)
        for tick in range(1, last + 1):
            self.ax_.plot((tick, tick), (0, 0.06), color=INK, linewidth=1.1)
        for tick in range(1, last + 1, self._tick_step):
            self.ax_.text(tick, 0.09, str(tick), ha="center", va="bottom", fontsize=9, color=INK)

    def _draw_critical_difference(self) -> None:
        """From the left end of the axis, or the whole axis if the difference is longer."""
        last, difference = self.result.n_models, self.result.critical_difference
        y, end = 0.46, max(last - difference, 1)
        self.ax_.plot((last, end), (y, y), color=INK, linewidth=1.6)
        for x in (last, end) if end > 1 else (last,):
            self.ax_.plot((x, x), (y - 0.05, y + 0.05), color=INK, linewidth=1.6)
        if end == 1:
            self.ax_.plot(1, y, marker=">", color=INK, markersize=5, clip_on=False)
        self.ax_.text(
            last, y + 0.08, f"CD = {difference:.2f}", ha="left", va="bottom", fontsize=9, color=INK
        )

    def _draw_model(self, label: _Label) -> None:
        end = 1 if label.side > 0 else self.result.n_models
        y = -label.depth
        self.ax_.plot(
            (label.rank, label.rank, end), (0, y, y), color=FAINT, linewidth=0.9, zorder=2
        )
        move = (0.5 * self._font_size * label.side, 0.0)
        side = "left" if label.side > 0 else "right"
        style.write(self.ax_, label.text, (end, y), move=move, size=self._font_size, ha=side)


@dataclass(frozen=True)
class _Label:
    """A model's name and rank, the side it is on (1 right, −1 left), its depth in inches."""

    text: str
    rank: float
    side: int
    depth: float


@dataclass(frozen=True)
class _Sketch:
    """Where everything goes: labels, bars (low rank, high rank, y), depth below the axis."""

    labels: list[_Label]
    bars: list[tuple[float, float, float]]
    depth: float

    @classmethod
    def of(cls, result: NemenyiResult) -> _Sketch:
        ranks = dict(zip(result.names, result.average_ranks.tolist(), strict=True))
        spans = [(ranks[group[0]], ranks[group[-1]]) for group in result.groups]
        levels = _levels(spans, room=0.1 * (result.n_models - 1))
        bars = [
            (low, high, -_STEP * (level + 1.2))
            for (low, high), level in zip(spans, levels, strict=True)
        ]
        top = _STEP * (max(levels, default=-1) + 2.4) + 0.4 * _NAME
        order = sorted(result.names, key=lambda name: ranks[name])
        right = math.ceil(len(order) / 2)
        places = [
            *((name, 1, row) for row, name in enumerate(order[:right])),
            *((name, -1, row) for row, name in enumerate(reversed(order[right:]))),
        ]
        labels = [
            _Label(f"{name} ({ranks[name]:.2f})", ranks[name], side, top + _NAME * row)
            for name, side, row in places
        ]
        return cls(labels, bars, top + _NAME * (right - 0.4))


def _levels(spans: list[tuple[float, float]], room: float) -> list[int]:
    """First level at which each bar overlaps none before it."""
    ends: list[float] = []
    levels = []
    for low, high in spans:
        level = next((i for i, end in enumerate(ends) if end + room < low), len(ends))
        ends[level : level + 1] = [high]
        levels.append(level)
    return levels


class LeaderboardDisplay(Display):
    """A mark per model at the mean over folds, with a standard error to both sides.

    The best model and those that are not known to be worse have full marks, others empty ones.

    Parameters
    ----------
    leaderboard : Leaderboard
        Rows with ``model`` and ``folds``, best first, as `echelon.model_selection` makes it.
    measure : str, optional
        Key of ``folds``; by default what the leaderboard is ranked by.

    Attributes
    ----------
    summaries : dict from str to Summary
        Mean and spread of each model over the folds that were run.
    leaders : list of str
        The best model and those that are not known to be worse.
    ax_, figure_ : matplotlib axes and figure
    marks_ : dict from str to matplotlib line
    """

    def __init__(self, leaderboard: Leaderboard, *, measure: str | None = None) -> None:
        self.measure = measure or leaderboard.measure
        self.summaries: dict[str, Summary] = {}
        for row in leaderboard.rows:
            require_choice("measure", self.measure, tuple(row.folds))
            values = np.asarray(row.folds[self.measure], dtype=np.float64)
            values = values[np.isfinite(values)]
            if len(values):
                self.summaries[row.model] = Summary.of(values.tolist())
        if not self.summaries:
            raise ValueError(f"leaderboard must have a model with figures for {self.measure!r}.")
        self.leaders = list(leaderboard.contenders)

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, style.bar_height(len(self.summaries), head=0.9)

    def _draw(self, ax: Axes | None) -> None:
        """Draw the marks, in the order of the leaderboard."""
        ax = self._draw_rows(ax, list(self.summaries), most=30)
        self.marks_ = {}
        for place, (model, found) in enumerate(self.summaries.items()):
            led = model in self.leaders
            color = style.ACCENT if model == self.leaders[0] else style.INK if led else style.FAINT
            fill, error = color if led else style.PAPER, np.nan_to_num(found.se)
            ax.hlines(place, found.mean - error, found.mean + error, color=color, linewidth=1.6)
            (self.marks_[model],) = ax.plot(
                found.mean, place, marker="o", markersize=6, color=color, markerfacecolor=fill
            )
        heading = next((m.heading for m in known_measures([self.measure])), self.measure)
        full = "full marks: the best, and what is not known to be worse"
        style.name_axes(ax, f"{heading} ± standard error\n({full})")
