"""Models side by side: mean and standard error of a measure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..metrics import Summary
from ..metrics.measures import known_measures
from . import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LeaderboardDisplay:
    """A mark per model at the mean over folds, with a standard error to both sides.

    The best model and those not significantly different from it have full marks, the others empty
    ones.

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
        The best model and those not significantly different from it.
    ax_, figure_ : matplotlib axes and figure
    marks_ : dict from str to matplotlib line
    """

    def __init__(self, leaderboard: Any, *, measure: str | None = None) -> None:
        self.measure = measure or getattr(leaderboard, "measure", "mae")
        self.summaries: dict[str, Summary] = {}
        for row in leaderboard.rows:
            if self.measure not in row.folds:
                raise ValueError(
                    f"measure must be one of {', '.join(row.folds)}; found {self.measure!r}."
                )
            values = np.asarray(row.folds[self.measure], dtype=np.float64)
            values = values[np.isfinite(values)]
            if len(values):
                self.summaries[row.model] = Summary.of(values.tolist())
        if not self.summaries:
            raise ValueError(f"leaderboard must have a model with figures for {self.measure!r}.")
        self.leaders = self._leaders(leaderboard)

    def _leaders(self, leaderboard: Any) -> list[str]:
        best = getattr(leaderboard, "best", None)
        best = getattr(best, "model", best) or next(iter(self.summaries))
        others = getattr(leaderboard, "undistinguished", ())
        alike = [getattr(other, "model", other) for other in others]
        return [best, *(model for model in alike if model != best)]

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return style.WIDTH, style.bar_height(len(self.summaries), head=0.9)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the marks, in the order of the leaderboard.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : LeaderboardDisplay
            This object.
        """
        n = len(self.summaries)
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="x", left=False)
        ax.set_ylim(n - 0.4, -0.6)
        self.marks_ = {}
        for place, (model, found) in enumerate(self.summaries.items()):
            led = model in self.leaders
            color = style.ACCENT if model == self.leaders[0] else style.INK if led else style.FAINT
            ax.hlines(
                place,
                found.mean - np.nan_to_num(found.se),
                found.mean + np.nan_to_num(found.se),
                color=color,
                linewidth=1.6,
            )
            self.marks_[model] = ax.plot(
                found.mean,
                place,
                marker="o",
                markersize=6,
                color=color,
                markerfacecolor=color if led else style.PAPER,
            )[0]
        style.name_ticks(ax.yaxis, range(n), list(self.summaries), most=30)
        heading = next((m.heading for m in known_measures([self.measure])), self.measure)
        style.name_axes(
            ax,
            f"{heading} ± standard error\n(full marks: not significantly different from the best)",
        )
        return self
