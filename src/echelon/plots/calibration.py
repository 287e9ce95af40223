"""Whether labels lie above each threshold as often as the probabilities say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.choices import require_choice
from .._utils.types import EstimatorLike, LabelsLike, MatrixLike, VectorLike
from ..metrics._labels import read_probabilities
from ..ordinal.arrays import require_count
from ..ordinal.labels import read_scale
from ..ordinal.reduction import exceedance
from . import _style as style
from ._calibration_bins import CalibrationBins, calibration_bins
from ._reading import classes_of, name_of, probabilities_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most curves in one picture
_MOST_CURVES = 12


class CumulativeCalibrationDisplay:
    """Observed against predicted frequency of labels above each threshold, a panel for each.

    A curve on the diagonal is calibrated; below it the probabilities of high labels are too large.
    Bands are Wilson's intervals; bars at the bottom show the share of the rows in each bin.

    Parameters
    ----------
    curves : mapping from str to CalibrationBins
        For each event, such as "> fair", its bins.
    by : {"threshold", "class"}
        What the events are: labels above a class, or equal to it.
    confidence : float
        Level of the bands.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    panels_ : dict from str to matplotlib axes
        One per curve drawn.
    line_ : list of matplotlib lines
        One per curve drawn.
    """

    def __init__(
        self,
        curves: dict[str, CalibrationBins],
        *,
        by: str = "threshold",
        confidence: float = 0.9,
        name: str | None = None,
    ) -> None:
        self.curves = dict(curves)
        self.by, self.confidence, self.name = by, confidence, name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike,
        *,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Take class probabilities from a fitted estimator and draw.

        Parameters
        ----------
        estimator : fitted estimator with ``predict_proba``
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            True labels.
        name : str, optional
            Name for the title; the estimator's class by default.
        **options
            Keyword arguments of `from_predictions`.

        Returns
        -------
        display : CumulativeCalibrationDisplay
        """
        options.setdefault("classes", classes_of(estimator, y))
        proba = probabilities_of(estimator, X, options["classes"])
        return cls.from_predictions(y, proba, name=name_of(estimator, name), **options)

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        proba: Any,
        *,
        classes: LabelsLike | None = None,
        sample_weight: VectorLike | None = None,
        by: str = "threshold",
        n_bins: int = 10,
        strategy: str = "uniform",
        confidence: float = 0.9,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw probabilities that are known.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        proba : array-like of shape (n, K)
            Class probabilities, from the lowest class to the highest.
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        by : {"threshold", "class"}, default="threshold"
            Curves for P(y > k), or for P(y = k).
        n_bins : int, default=10
        strategy : {"uniform", "quantile"}, default="uniform"
            Bins of equal width, or of about equal numbers of rows.
        confidence : float, default=0.9
            Level of the bands.
        name : str, optional
            A title.
        ax : matplotlib axes, optional

        Returns
        -------
        display : CumulativeCalibrationDisplay

        Examples
        --------
        >>> proba = [[0.8, 0.2], [0.8, 0.2], [0.3, 0.7], [0.3, 0.7]]
        >>> display = CumulativeCalibrationDisplay.from_predictions([1, 2, 2, 2], proba, n_bins=2)
        >>> display.curves["> 1"].observed
        array([0.5, 1. ])
        """
        require_choice("by", by, ("threshold", "class"))
        require_choice("strategy", strategy, ("uniform", "quantile"))
        require_count("n_bins", n_bins)
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1; found {confidence!r}.")
        classes = read_scale(y_true, classes, name="y_true")[0].classes
        codes, p, weights = read_probabilities(y_true, proba, classes, sample_weight)
        settings = {"n_bins": n_bins, "strategy": strategy, "confidence": confidence}
        labels = list(classes)
        if by == "class":
            curves = {
                str(label): calibration_bins(codes == k, p[:, k], weights, **settings)
                for k, label in enumerate(labels)
            }
        else:
            above = exceedance(p)
            curves = {
                f"> {label}": calibration_bins(codes > k, above[:, k], weights, **settings)
                for k, label in enumerate(labels[:-1])
            }
        return cls(curves, by=by, confidence=confidence, name=name).plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        rows, columns = self._shape(len(self._chosen(None)))
        if columns == 1:
            return 3.6, 3.4
        return style.WIDTH, 0.75 + (4.6 / columns + 0.2) * rows

    @staticmethod
    def _shape(n: int) -> tuple[int, int]:
        columns = n if n <= 3 else 2 if n == 4 else 3 if n <= 9 else 4
        return math.ceil(n / columns), columns

    def plot(self, ax: Axes | None = None, *, curves: Sequence[str] | None = None) -> Self:
        """Draw a panel per curve within the axes.

        Parameters
        ----------
        ax : matplotlib axes, optional
        curves : sequence of str, optional
            Names of the curves to draw; by default all, or twelve in equal steps of more.

        Returns
        -------
        display : CumulativeCalibrationDisplay
            This object.
        """
        drawn = self._chosen(curves)
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        rows, columns = self._shape(len(drawn))
        every = style.panels(ax, rows, columns, head=0.0 if len(drawn) == 1 else 15.0)
        for empty in every[len(drawn) :]:
            empty.remove()
        self.panels_ = dict(zip(drawn, every, strict=False))
        self.line_ = [self._draw(panel, key) for key, panel in self.panels_.items()]
        self._name_panels(rows, columns)
        return self

    def _chosen(self, curves: Sequence[str] | None) -> list[str]:
        known = list(self.curves)
        if curves is None:
            if len(known) <= _MOST_CURVES:
                return known
            at = np.linspace(0, len(known) - 1, _MOST_CURVES).round().astype(int)
            return [known[i] for i in at]
        unknown = [key for key in curves if key not in self.curves]
        if unknown:
            raise ValueError(f"curves must name some of {known}; found {unknown[0]!r}.")
        return list(curves)

    def _draw(self, panel: Axes, key: str) -> Any:
        bins = self.curves[key]
        style.dress(panel, grid="both")
        panel.set_xlim(-0.04, 1.04)
        panel.set_ylim(-0.04, 1.04)
        panel.plot((0, 1), (0, 1), color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
        share = bins.counts / bins.counts.sum()
        panel.vlines(
            bins.predicted, -0.04, 0.3 * share - 0.04, color=style.FAINT, linewidth=3, alpha=0.5
        )
        panel.fill_between(
            bins.predicted, bins.low, bins.high, facecolor=style.SECOND, alpha=0.2, linewidth=0
        )
        panel.vlines(bins.predicted, bins.low, bins.high, color=style.SECOND, linewidth=0.8)
        return panel.plot(
            bins.predicted, bins.observed, color=style.SECOND, linewidth=1.3, marker="o", ms=3.5
        )[0]

    def _name_panels(self, rows: int, columns: int) -> None:
        n = len(self.panels_)
        letters = int(style.points(self.ax_)[0] / columns / style.text_width("x")) - 1
        for i, (key, panel) in enumerate(self.panels_.items()):
            if n > 1:
                words = style.shortened(key, max(letters, 4))
                style.write(panel, words, (-0.04, 1.04), move=(0, 2), va="bottom")
            ticks = ("0", "0.5", "1")
            below, beside = i + columns < n, i % columns > 0
            panel.set_xticks((0, 0.5, 1), labels=("", "", "") if below else ticks)
            panel.set_yticks((0, 0.5, 1), labels=("", "", "") if beside else ticks)
        self._name_whole(n)

    def _name_whole(self, n: int) -> None:
        """Names of both axes once for all panels, and the title above them."""
        event = "y > k" if self.by == "threshold" else "y = k"
        if n == 1:
            only = style.shortened(next(iter(self.panels_)), 18)
            event = f"y {only}" if self.by == "threshold" else f"y = {only}"
        title = self.name
        if n < len(self.curves):
            few = f"{n} of {len(self.curves)} curves"
            title = few if title is None else f"{title} ({few})"
        ax = self.ax_
        style.name_panels(ax, f"predicted probability that {event}", "observed share", title)
