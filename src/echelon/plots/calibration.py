"""Whether labels lie above each threshold as often as the probabilities say."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from .._utils.messages import require_choice
from .._utils.types import ClassesLike, Index, LabelsLike, MatrixLike, Vector, VectorLike
from ..metrics._labels import read_probabilities, require_fraction
from ..ordinal.arrays import require_count
from ..ordinal.labels import read_scale
from ..ordinal.reduction import exceedance
from . import style
from .display import RowsDisplay, probabilities_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most curves in one picture
_MOST_CURVES = 12


class CumulativeCalibrationDisplay(RowsDisplay):
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
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        return {"proba": probabilities_of(estimator, X, classes)}

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        proba: MatrixLike,
        *,
        classes: ClassesLike | None = None,
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
        require_fraction("confidence", confidence)
        classes = read_scale(y_true, classes, name="y_true")[0].classes
        codes, p, weights = read_probabilities(y_true, proba, classes, sample_weight)
        labels = [str(label) for label in classes]
        if by == "class":
            events = {label: (codes == k, p[:, k]) for k, label in enumerate(labels)}
        else:
            above = exceedance(p)
            events = {f"> {x}": (codes > k, above[:, k]) for k, x in enumerate(labels[:-1])}
        curves = {
            event: calibration_bins(
                *rows, weights, n_bins=n_bins, strategy=strategy, confidence=confidence
            )
            for event, rows in events.items()
        }
        return cls(curves, by=by, confidence=confidence, name=name).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
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
        ax = self._start(ax)
        rows, columns = self._shape(len(drawn))
        every = style.panels(ax, rows, columns, head=0.0 if len(drawn) == 1 else 15.0)
        for empty in every[len(drawn) :]:
            empty.remove()
        self.panels_ = dict(zip(drawn, every, strict=False))
        self.line_ = [self._draw_curve(panel, key) for key, panel in self.panels_.items()]
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

    def _draw_curve(self, panel: Axes, key: str) -> Any:
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


@dataclass(frozen=True)
class CalibrationBins:
    """Bins that have rows, by rising probability.

    Parameters
    ----------
    predicted, observed : ndarray
        Mean probability, and share of rows with the event.
    low, high : ndarray
        Wilson's interval for the share.
    counts : ndarray
        Weight of the rows.
    """

    predicted: Vector
    observed: Vector
    low: Vector
    high: Vector
    counts: Vector


def calibration_bins(
    happened: npt.ArrayLike,
    probability: npt.ArrayLike,
    weights: npt.ArrayLike | None = None,
    *,
    n_bins: int = 10,
    strategy: str = "quantile",
    confidence: float = 0.9,
) -> CalibrationBins:
    """Put rows into bins of their probability.

    Parameters
    ----------
    happened : array-like of shape (n,)
        Whether the event happened.
    probability : array-like of shape (n,)
    weights : array-like of shape (n,), optional
    n_bins : int
    strategy : {"quantile", "uniform"}
        Bins of about equal numbers of rows, with equal probabilities in one bin, or of equal width.
    confidence : float
        Level of the intervals. With weights they rest on (Σw)²/Σw² rows.

    Returns
    -------
    bins : CalibrationBins

    Examples
    --------
    >>> bins = calibration_bins([0, 1, 0, 1], [0.1, 0.2, 0.8, 0.9], n_bins=2)
    >>> bins.predicted, bins.observed, bins.counts
    (array([0.15, 0.85]), array([0.5, 0.5]), array([2., 2.]))
    """
    p = np.asarray(probability, dtype=np.float64)
    y = np.asarray(happened, dtype=np.float64)
    w = np.ones(len(p)) if weights is None else np.asarray(weights, dtype=np.float64)
    inner = np.arange(1, n_bins) / n_bins
    edges = _quantiles(p, w, inner) if strategy == "quantile" else inner
    number = np.searchsorted(edges, p, side="left")
    total, squares = (_sums(number, part, n_bins) for part in (w, w * w))
    has = total > 0
    total, squares = total[has], squares[has]
    predicted, observed = (_sums(number, w * part, n_bins)[has] / total for part in (p, y))
    low, high = wilson_interval(observed, total**2 / squares, confidence)
    return CalibrationBins(predicted, observed, low, high, total)


def wilson_interval(share: Vector, n: Vector, confidence: float) -> tuple[Vector, Vector]:
    """Wilson's interval for the probability behind a share of n independent rows.

    Examples
    --------
    >>> low, high = wilson_interval(np.array([0.5]), np.array([10.0]), 0.95)
    >>> low.round(4), high.round(4)
    (array([0.2366]), array([0.7634]))
    """
    z = float(ndtri(0.5 + 0.5 * confidence))
    centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n)
    half = z * np.sqrt(share * (1.0 - share) / n + (z / (2.0 * n)) ** 2) / (1.0 + z * z / n)
    # Rounding must not leave the share, or the unit interval, outside.
    return np.minimum(np.maximum(centre - half, 0.0), share), np.maximum(
        np.minimum(centre + half, 1.0), share
    )


def _sums(number: Index, weights: Vector, n_bins: int) -> Vector:
    return np.bincount(number, weights, minlength=n_bins).astype(np.float64)


def _quantiles(p: Vector, w: Vector, levels: Vector) -> Vector:
    """Least probabilities below or at which shares of the weight lie."""
    order = np.argsort(p, kind="stable")
    reached = np.cumsum(w[order])
    found = np.searchsorted(reached, levels * reached[-1] * (1.0 - 1e-12))
    return p[order][np.minimum(found, len(p) - 1)]
