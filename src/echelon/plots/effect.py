"""How the prediction changes with one input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.messages import require_choice
from .._utils.types import ClassesLike
from ..ordinal.labels import counted_from
from . import style
from .display import Display

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..inspection import Effect

#: share of the height that the histogram of the input takes at the bottom
_STRIP = 0.1
_FEWEST_TICKS = 3


class EffectDisplay(Display):
    """Mean prediction over the rows as one input takes each of some values.

    Parameters
    ----------
    effect : object
        What `echelon.inspection.feature_effects` gives for an input: ``feature``, ``kind``
        ("number", "date" or "category"), ``values``, ``expected_rank``, ``cumulative`` of shape
        (p, K−1), the mean of P(y ≤ k), or None, ``histogram`` (edges and counts, or positions of
        categories and counts) or None, and, if it has them, ``unit``, ``classes`` and
        ``linear_width``, for an axis that is logarithmic beyond.
    classes : sequence, optional
        The labels from lowest to highest, in place of those of `effect`.
    heights : tuple of two floats, optional
        Ends of the vertical axis in units of ``expected_rank``, so that effects can be compared.

    Notes
    -----
    Labels that are whole numbers one after another are counted as they are: an expected label of 3
    is a 3. Others are counted from 1. Where `effect` has an ``error``, a band shows two of them.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : list of matplotlib lines
        One for the expected rank, or one per threshold.
    """

    def __init__(
        self,
        effect: Effect,
        *,
        classes: ClassesLike | None = None,
        heights: tuple[float, float] | None = None,
    ) -> None:
        self.effect, self.heights = effect, heights
        known = getattr(effect, "classes", None) if classes is None else classes
        self.classes = None if known is None else list(known)

    def _size(self) -> tuple[float, float]:
        return 3.4, 2.5

    def plot(self, ax: Axes | None = None, *, response: str = "expected_rank") -> Self:
        """Draw the effect.

        Parameters
        ----------
        ax : matplotlib axes, optional
        response : {"expected_rank", "cumulative"}, default="expected_rank"
            The expected rank, or the probabilities of all classes, one above the other.

        Returns
        -------
        display : EffectDisplay
            This object.
        """
        require_choice("response", response, ("expected_rank", "cumulative"))
        if response == "cumulative" and self.effect.cumulative is None:
            raise ValueError(
                "response must be 'expected_rank': the model gives no class probabilities."
            )
        ax = self._start(ax, grid="y")
        if response == "cumulative":
            self._draw_cumulative()
        else:
            self._draw_expected_rank()
        self._draw_histogram()
        style.name_axes(ax, x=style.shortened(self.effect.feature, 40))
        return self

    @property
    def _is_number(self) -> bool:
        return self.effect.kind != "category"

    def _places(self) -> Any:
        values = self.effect.values
        if self.effect.kind == "date":
            return np.asarray(values, dtype="datetime64[s]").astype(np.float64) / 86_400.0
        if self._is_number:
            return np.asarray(values, dtype=np.float64)
        return np.arange(len(values), dtype=np.float64)

    def _draw_expected_rank(self) -> None:
        is_score = getattr(self.effect, "unit", "ranks") == "score"
        known = self.classes is not None and not is_score
        first, name = counted_from(self.classes or []) if known else (0, "expected rank")
        heights = first + np.asarray(self.effect.expected_rank, dtype=np.float64)
        error = getattr(self.effect, "error", None)
        at, reach = self._places(), 0.0 if error is None else 2.0 * np.asarray(error)
        look: Any = {"color": style.SECOND, "alpha": style.FILL, "linewidth": 0}
        if error is not None and self._is_number:
            self.ax_.fill_between(at, heights - reach, heights + reach, **look)
        elif error is not None:
            self.ax_.vlines(at, heights - reach, heights + reach, color=style.SECOND, linewidth=1.1)
        form = "-" if self._is_number else "o"
        self.line_ = self.ax_.plot(
            at, heights, form, color=style.SECOND, linewidth=1.6, markersize=6
        )
        ends = np.concatenate([heights - reach, heights + reach])
        self._set_heights(ends if self.heights is None else first + np.asarray(self.heights))
        style.name_axes(self.ax_, y="mean score" if is_score else name)

    def _draw_cumulative(self) -> None:
        """Areas, or bars, of the class probabilities on top of each other."""
        below = np.asarray(self.effect.cumulative, dtype=np.float64)
        edges = np.column_stack([np.zeros(len(below)), below, np.ones(len(below))])
        at, n = self._places(), edges.shape[1] - 1
        self.line_ = []
        for k, color in enumerate(style.class_colors(n)):
            low, high = edges[:, k], edges[:, k + 1]
            if self._is_number:
                self.ax_.fill_between(at, low, high, facecolor=color, alpha=0.6, linewidth=0)
            else:
                self.ax_.bar(at, high - low, 0.7, bottom=low, color=color, alpha=0.6)
            if k < n - 1 and self._is_number:
                self.line_ += self.ax_.plot(at, high, color=color, linewidth=1.2)
        self.ax_.set_ylim(-_STRIP / (1 - _STRIP), 1.0)
        self._set_width()
        self._name_classes(edges[-1], n)
        style.name_axes(self.ax_, y="share of each class")

    def _name_classes(self, edges: Any, n: int) -> None:
        labels = range(n) if self.classes is None else self.classes
        shown = style.thinned(n, 0.9 * style.points(self.ax_)[1], 1.25 * style.SMALL)
        style.label_ends(
            self.ax_,
            self.ax_.get_xlim()[1],
            [float(edges[k] + edges[k + 1]) / 2 for k in shown],
            style.kept_apart([labels[k] for k in shown], 12),
            [style.INK] * len(shown),
        )

    def _set_heights(self, heights: Any) -> None:
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        # A change of less than a tenth of a rank should look small.
        room = max(high - low, 0.1)
        middle = 0.5 * (low + high)
        low, high = middle - 0.58 * room, middle + 0.58 * room
        self.ax_.set_ylim(low - 2.0 * _STRIP * (high - low), high)
        self._set_width()

    def _set_width(self) -> None:
        at = self._places()
        width = getattr(self.effect, "linear_width", None)
        if width is not None:
            self.ax_.set_xscale("asinh", linear_width=width)
        if not self._is_number:
            self.ax_.set_xlim(-0.6, len(at) - 0.4)
            style.name_ticks(self.ax_.xaxis, at, self.effect.values, most=14)
            return
        self.ax_.set_xlim(at[0], at[-1] if at[-1] > at[0] else at[0] + 1.0)
        if width is not None:
            # Powers of ten within the linear part would stand on top of the zero.
            ticks = self.ax_.get_xticks()
            ticks = ticks[(ticks == 0.0) | (np.abs(ticks) > 0.5 * width)]
            if ((at[0] <= ticks) & (ticks <= at[-1])).sum() < _FEWEST_TICKS:
                # Too few powers of ten to read a value from.
                some = np.unique(at[[0, len(at) // 2, -1]])
                self.ax_.set_xticks(some, labels=[f"{value:.3g}" for value in some])
                self.ax_.minorticks_off()
            else:
                self.ax_.set_xticks(ticks)
            self.ax_.set_xlim(at[0], at[-1])
        if self.effect.kind == "date":
            ends = np.linspace(at[0], at[-1], 3)
            days = (ends * 86_400).astype("datetime64[s]").astype("datetime64[D]")
            self.ax_.set_xticks(ends, labels=[str(day) for day in days])

    def _draw_histogram(self) -> None:
        """Where the rows lie, as a faint strip at the bottom."""
        if self.effect.histogram is None:
            return
        at, counts = (np.asarray(part, dtype=np.float64) for part in self.effect.histogram)
        if not counts.max(initial=0.0) > 0:
            return
        edges = at if self._is_number else np.r_[at - 0.3, at[-1:] + 0.7]
        limits = (*self.ax_.get_xlim(), *self.ax_.get_ylim())
        low, high = limits[2:]
        heights = _STRIP * (high - low) * counts / counts.max()
        widths = np.diff(edges) if self._is_number else 0.6
        look: Any = {"align": "edge", "color": style.FAINT, "alpha": 0.45, "linewidth": 0}
        self.ax_.bar(edges[:-1], heights, widths, low, **look)
        self.ax_.set_xlim(*limits[:2])
        self.ax_.set_ylim(low, high)
