"""How much worse predictions become without each input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..ordinal.arrays import require_count
from . import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ImportanceDisplay:
    """Inputs by the rise of the mean cost when their values are shuffled, the largest first.

    Parameters
    ----------
    importance : object
        What `echelon.inspection.ordinal_importance` gives: ``features``, ``mean`` and ``sd`` of the
        rise, and ``baseline``, the mean cost without shuffling.
    measure : str
        What rises.
    most : int, default=15
        Most inputs to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    features_ : list of str
        The inputs drawn, from the top.
    bars_ : matplotlib bar container
    """

    def __init__(self, importance: Any, *, measure: str = "mean cost", most: int = 15) -> None:
        require_count("most", most)
        self.importance = importance
        self.measure, self.most = measure, most

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        n = min(self.most, len(self.importance.features))
        return style.WIDTH, style.bar_height(n, head=0.9)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the bars, with one standard deviation over the repeats.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : ImportanceDisplay
            This object.
        """
        mean = np.asarray(self.importance.mean, dtype=np.float64)
        sd = np.asarray(self.importance.sd, dtype=np.float64)
        order = np.argsort(-mean, kind="stable")[: self.most]
        n = len(order)
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="x", left=False)
        self.features_ = [str(self.importance.features[i]) for i in order]
        self.bars_ = ax.barh(np.arange(n), mean[order], height=0.62, color=style.SECOND, alpha=0.8)
        ax.hlines(
            np.arange(n), (mean - sd)[order], (mean + sd)[order], color=style.INK, linewidth=1.1
        )
        ax.axvline(0.0, color=style.FAINT, linewidth=0.9)
        ax.set_ylim(n - 0.4, -0.6)
        style.name_ticks(ax.yaxis, range(n), self.features_, most=26)
        left = "" if n == len(mean) else f"; {n} of {len(mean)} inputs"
        start = f"from {self.importance.baseline:.3f}{left}"
        style.name_axes(ax, f"rise of the {self.measure} when shuffled\n({start})")
        return self
