"""Where the rows of each class lie on the latent score, and the thresholds between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from scipy.stats import gaussian_kde

from .._utils.types import ClassesLike, LabelsLike, Vector, VectorLike
from ..metrics._labels import read_scores
from ..ordinal.labels import read_scale
from . import style
from .display import RowsDisplay, latent_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes


#: fewer rows than this are drawn one by one
_LEAST_ROWS = 5
_POINTS = 256
#: height of a density, in units of the distance of two classes
_RISE = 0.86


class LatentDisplay(RowsDisplay):
    """Densities of the latent score by class, one above the other, with the thresholds.

    A model is good where each density lies between the thresholds of its class. Models
    without a latent score are shown by their mean margin over the thresholds or their expected
    rank, and rankers by their score; the axis says which. `from_estimator` and `from_predictions`
    make it.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    codes : ndarray of shape (n,)
        Positions of the true labels in `classes`.
    classes : sequence of length K
        The labels from lowest to highest.
    thresholds : array-like of shape (K−1,), optional
        On the scale of the scores; infinite ones are not drawn.
    sample_weight : array-like of shape (n,), optional
    score_name : str
        What the score is.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    densities : list of ndarray or None
        Kernel density estimate of each class at `grid`, with Scott's bandwidth; None for a class
        with too few different scores for one, whose rows are drawn one by one.
    grid : ndarray
    ax_, figure_ : matplotlib axes and figure
    density_artists_ : list
        A filled area or a line of marks per class that has rows.
    threshold_lines_ : list of matplotlib lines

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> display = LatentDisplay.from_estimator(ProportionalOdds().fit(X, y), X, y)
    >>> len(display.threshold_lines_)
    8
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        codes: npt.ArrayLike,
        classes: ClassesLike,
        thresholds: npt.ArrayLike | None = None,
        *,
        sample_weight: VectorLike | None = None,
        score_name: str = "latent score f(x)",
        name: str | None = None,
    ) -> None:
        self.scores = np.asarray(scores, dtype=np.float64)
        self.codes = np.asarray(codes, dtype=np.intp)
        self.classes = list(classes)
        b = np.asarray([] if thresholds is None else thresholds, dtype=np.float64)
        self.thresholds = b.flatten()
        n = len(self.scores)
        self.sample_weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight)
        self.score_name, self.name = score_name, name
        self.grid = self._make_grid()
        self.densities = [self._density(k) for k in range(len(self.classes))]

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        found = latent_of(estimator, X, classes)
        return {
            "scores": found.scores,
            "thresholds": found.thresholds,
            "score_name": found.name,
        }

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        thresholds: npt.ArrayLike | None = None,
        *,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
        score_name: str = "latent score f(x)",
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw scores that are known.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        scores : array-like of shape (n,)
        thresholds : array-like of shape (K−1,), optional
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        score_name, name : str, optional
            What the score is, and a title.
        ax : matplotlib axes, optional

        Returns
        -------
        display : LatentDisplay
        """
        classes = read_scale(y_true, classes, name="y_true")[0].classes
        codes, values, weights = read_scores(y_true, scores, classes, sample_weight)
        display = cls(
            values,
            codes,
            classes,
            thresholds,
            sample_weight=weights,
            score_name=score_name,
            name=name,
        )
        return display.plot(ax=ax)

    def _make_grid(self) -> Vector:
        """Equal steps over scores and thresholds; far outliers do not squeeze the rest."""
        finite = self.scores[np.isfinite(self.scores)]
        if not len(finite):
            raise ValueError("scores must hold at least one finite number; found none.")
        low, high = np.quantile(finite, [0.002, 0.998])
        b = self.thresholds[np.isfinite(self.thresholds)]
        low, high = min([low, *b.tolist()]), max([high, *b.tolist()])
        room = 0.05 * (high - low) or 1.0
        return np.linspace(low - room, high + room, _POINTS)

    def _density(self, k: int) -> Vector | None:
        rows = (self.codes == k) & np.isfinite(self.scores) & (self.sample_weight > 0)
        values = self.scores[rows]
        if len(values) < _LEAST_ROWS or np.ptp(values) <= 1e-9 * max(1.0, np.abs(values).max()):
            return None
        return gaussian_kde(values, weights=self.sample_weight[rows])(self.grid)

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, 0.9 + 0.36 * min(max(len(self.classes), 3), 16)

    def _draw(self, ax: Axes | None) -> None:
        """Draw a line of the picture per class, the lowest at the bottom."""
        n_classes = len(self.classes)
        ax = self._start(ax, left=False)
        ax.set_xlim(self.grid[0], self.grid[-1])
        ax.set_ylim(-0.25, n_classes + 0.35)
        self._draw_thresholds()
        self.density_artists_: list[Artist] = []
        for k, color in enumerate(style.class_colors(n_classes)):
            self._draw_class(k, color)
        style.name_ticks(ax.yaxis, np.arange(0.2, n_classes), self.classes)
        style.name_axes(ax, self.score_name, title=self.name)
        self._write_counts()

    def _draw_thresholds(self) -> None:
        ax, top = self.ax_, len(self.classes) + 0.05
        drawn = [(k, b) for k, b in enumerate(self.thresholds.tolist(), 1) if np.isfinite(b)]
        self.threshold_lines_ = [
            ax.plot((b, b), (-0.25, top), color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))[
                0
            ]
            for _, b in drawn
        ]
        unit = (self.grid[-1] - self.grid[0]) / max(style.points(ax)[0], 1.0)
        last = -np.inf
        for k, b in drawn:
            if b - last >= 18.0 * unit:
                label = style.subscript("b", k)
                style.write(
                    ax, label, (b, top), move=(0, 1), color=style.FAINT, ha="center", va="bottom"
                )
                last = b

    def _draw_class(self, k: int, color: str) -> None:
        ax, density, above = self.ax_, self.densities[k], 10 + 2 * (len(self.classes) - k)
        ax.plot(self.grid[[0, -1]], (k, k), color=style.GRID, linewidth=0.7, zorder=above)
        if density is not None:
            heights = k + _RISE * density / max(density.max(), 1e-300)
            area = ax.fill_between(
                self.grid, k, heights, facecolor=color, alpha=0.55, linewidth=0, zorder=above
            )
            ax.plot(self.grid, heights, color=color, linewidth=1.3, zorder=above + 1)
            self.density_artists_.append(area)
            return
        values = self.scores[self.codes == k]
        if len(values):
            look: Any = {"markersize": 8, "markeredgewidth": 1.4, "zorder": above + 1}
            heights = np.full(len(values), k + 0.14)
            self.density_artists_ += ax.plot(values, heights, "|", color=color, **look)

    def _write_counts(self) -> None:
        """How many rows each class has, at the right."""
        ax, n_classes = self.ax_, len(self.classes)
        counts = np.bincount(self.codes, self.sample_weight, minlength=n_classes)
        _, height = style.points(ax)
        shown = style.thinned(n_classes, height, 1.3 * style.SMALL)
        for k in shown:
            text = f"{counts[k]:,.6g}" if k < shown[-1] else f"n = {counts[k]:,.6g}"
            style.write(
                ax, text, (1.0, k + 0.2), move=(4, 0), color=style.FAINT, right_of_axes=True
            )
