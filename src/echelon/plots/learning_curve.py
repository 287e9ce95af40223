"""How predictions become better with more rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from . import _style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class LearningCurveDisplay:
    """Mean cost on training and held-out rows by the number of training rows.

    Parameters
    ----------
    curve : object
        What `echelon.inspection.learning_curve` gives: ``sizes``, and ``train_mean``,
        ``train_sd``, ``test_mean`` and ``test_sd`` at each.
    measure : str
        What the figures are.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : dict from {"training", "held out"} to matplotlib line
    """

    def __init__(self, curve: Any, *, measure: str = "mean cost", name: str | None = None) -> None:
        self.curve = curve
        self.measure, self.name = measure, name

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return style.WIDTH, 3.2

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw both curves with one standard deviation over the folds.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : LearningCurveDisplay
            This object.
        """
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="y")
        ax.xaxis.get_major_locator().set_params(integer=True)
        sizes = np.asarray(self.curve.sizes, dtype=np.float64)
        self.line_, ends = {}, []
        parts = (("training", "train", style.FAINT), ("held out", "test", style.SECOND))
        for label, part, color in parts:
            mean, sd = (
                np.asarray(getattr(self.curve, f"{part}_{figure}"), dtype=np.float64)
                for figure in ("mean", "sd")
            )
            ax.fill_between(
                sizes, mean - sd, mean + sd, facecolor=color, alpha=style.FILL, linewidth=0
            )
            self.line_[label] = ax.plot(
                sizes, mean, color=color, linewidth=1.6, marker="o", markersize=4
            )[0]
            ends.append(float(mean[-1]))
        ax.set_ylim(*ax.get_ylim())
        style.label_ends(
            ax, sizes[-1], ends, [label for label, *_ in parts], [color for *_, color in parts]
        )
        style.name_axes(ax, "training rows", self.measure, self.name)
        return self
