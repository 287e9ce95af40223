"""How well one score tells every two classes apart."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from .._utils.types import EstimatorLike, LabelsLike, MatrixLike, VectorLike
from ..metrics import RocCurve, auc_score, multipartite_auc, roc_curve
from ..metrics._labels import read_scores
from ..ordinal.labels import read_scale
from . import _style as style
from ._reading import classes_of, latent_of, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most classes with curves in the cells, and with numbers
_MOST_CURVES, _MOST_NUMBERS = 7, 12


class PairwiseROCDisplay:
    """How well one score tells every two classes apart: a ROC curve and its area for each pair.

    Parameters
    ----------
    areas : ndarray of shape (K, K)
        ``areas[i, j]``, i < j: share of the pairs of a row of class i and one of class j in which
        the latter has the higher score; NaN elsewhere and where a class has no rows.
    curves : mapping from (int, int) to RocCurve
        Curves of pairs of classes i < j.
    classes : sequence of length K
        The labels from lowest to highest.
    mean : float
        Mean of the areas, which is `multipartite_auc`.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    cells_ : dict from (int, int) to matplotlib patch
    line_ : dict from (int, int) to matplotlib line
        Empty for many classes.
    """

    def __init__(
        self,
        areas: Any,
        curves: Mapping[tuple[int, int], RocCurve],
        classes: LabelsLike,
        *,
        mean: float,
        name: str | None = None,
    ) -> None:
        self.areas = np.asarray(areas, dtype=np.float64)
        self.curves = dict(curves)
        self.classes = list(classes)
        self.mean, self.name = mean, name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike,
        *,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Score rows with a fitted estimator and draw.

        The score is the latent one, the mean margin, the expected rank or a ranker's score, as in
        `LatentDisplay`.

        Parameters
        ----------
        estimator : fitted ordinal classifier, ranker, or pipeline that ends in one
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            True labels.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : PairwiseROCDisplay
        """
        classes = classes_of(estimator, y)
        return cls.from_predictions(
            y,
            latent_of(estimator, X, classes).scores,
            classes=classes,
            sample_weight=sample_weight,
            name=name_of(estimator, name),
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        *,
        classes: LabelsLike | None = None,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw scores that are known.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        scores : array-like of shape (n,)
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            A title.
        ax : matplotlib axes, optional

        Returns
        -------
        display : PairwiseROCDisplay

        Examples
        --------
        >>> display = PairwiseROCDisplay.from_predictions([1, 1, 2, 3], [0.1, 0.5, 0.4, 0.9])
        >>> display.areas[0]
        array([nan, 0.5, 1. ])
        """
        levels = read_scale(y_true, classes, name="y_true")[0].classes.tolist()
        codes, values, weights = read_scores(y_true, scores, levels, sample_weight)
        areas, curves = np.full((len(levels), len(levels)), np.nan), {}
        for i, j in combinations(range(len(levels)), 2):
            rows = (codes == i) | (codes == j)
            if len(np.unique(codes[rows])) == 2:
                parts = codes[rows], values[rows]
                curves[i, j] = roc_curve(*parts, sample_weight=weights[rows])
                areas[i, j] = auc_score(*parts, sample_weight=weights[rows])
        if not curves:
            raise ValueError("y_true must hold at least two different labels; found one.")
        mean = multipartite_auc(codes, values, sample_weight=weights)
        return cls(areas, curves, levels, mean=mean, name=name).plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        side = min(max(0.75 * (len(self.classes) - 1), 2.4), 4.4)
        return side + 1.3, side + 0.9

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a cell for every two classes.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : PairwiseROCDisplay
            This object.
        """
        n = len(self.classes)
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, left=False, bottom=False)
        ax.set_xlim(0.5, n - 0.5)
        ax.set_ylim(n - 1.5, -0.5)
        self.cells_, self.line_ = {}, {}
        for i, j in self.curves:
            self._draw_cell(i, j)
        style.name_ticks(ax.xaxis, range(1, n), self.classes[1:])
        style.name_ticks(ax.yaxis, range(n - 1), self.classes[:-1])
        mean = f"mean AUC {self.mean:.3f}"
        title = mean if self.name is None else f"{self.name}: {mean}"
        style.name_axes(ax, "higher class", "lower class", title)
        return self

    def _draw_cell(self, i: int, j: int) -> None:
        from matplotlib.patches import Rectangle

        n, area, curve = len(self.classes), self.areas[i, j], self.curves[i, j]
        half = 0.46 if n <= _MOST_NUMBERS else 0.5
        cell = Rectangle((j - half, i - half), 2 * half, 2 * half, linewidth=0)
        cell.set_facecolor(style.SECOND if area >= 0.5 else style.ACCENT)
        cell.set_alpha(0.5 * abs(2.0 * area - 1.0) + 0.04)
        self.cells_[i, j] = self.ax_.add_patch(cell)
        if n <= _MOST_CURVES:
            self.line_[i, j] = self.ax_.plot(
                j - half + 2 * half * curve.false_positive_rate,
                i + half - 2 * half * curve.true_positive_rate,
                color=style.SECOND,
                linewidth=1.3,
            )[0]
        if n <= _MOST_NUMBERS:
            low = n <= _MOST_CURVES
            at = (j + half - 0.05, i + half - 0.05) if low else (j, i)
            options = {"ha": "right", "va": "bottom"} if low else {"ha": "center"}
            style.write(self.ax_, f"{area:.2f}".replace("0.", "."), at, **options)
