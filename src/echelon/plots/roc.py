"""ROC curves of ordered labels: for each threshold on their scale, and for every two classes."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from .._utils.types import ClassesLike, LabelsLike, VectorLike
from ..metrics import RocCurve, auc_score, multipartite_auc, roc_curve
from ..metrics._labels import read_scores, require_length
from ..ordinal.arrays import check_weights, read_numbers
from ..ordinal.labels import read_scale
from . import style
from .display import RowsDisplay, latent_of, threshold_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

#: most names in the legend
_MOST_NAMES = 10


class _ScoresDisplay(RowsDisplay):
    """A display of labels and scores."""

    curves: dict[Any, RocCurve]

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        *,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw scores that are known.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        scores : array-like of shape (n,) or, for `ROCDisplay`, (n, K−1)
            One score per row, or one for each threshold, such as margins or P(y > k).
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            A title.
        ax : matplotlib axes, optional

        Returns
        -------
        display : object
        """
        display = cls._of(y_true, scores, classes, sample_weight, name)
        if not display.curves:
            raise ValueError("y_true must hold at least two different labels; found one.")
        return display.plot(ax=ax)

    @classmethod
    def _of(cls, y_true: Any, scores: Any, classes: Any, weight: Any, name: str | None) -> Self:
        raise NotImplementedError


class ROCDisplay(_ScoresDisplay):
    """ROC curves of the questions whether a label lies above each threshold.

    `from_estimator` judges an ordinal classifier at each threshold by its margin there, or by
    P(y > k) where it has no margins, and a ranker by its one score, at each level of the labels.
    Queries are not looked at: all rows are compared.

    Parameters
    ----------
    curves : mapping from str to RocCurve
        For each question, such as "> fair", its curve.
    areas : mapping from str to float
        Areas under the curves.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : dict from str to matplotlib line

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> display = ROCDisplay.from_estimator(ProportionalOdds().fit(X, y), X, y)
    >>> display.areas["> 5"] > 0.95
    True
    """

    def __init__(
        self,
        curves: Mapping[str, RocCurve],
        areas: Mapping[str, float],
        *,
        name: str | None = None,
    ) -> None:
        self.curves, self.areas = dict(curves), dict(areas)
        self.name = name

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        return {"scores": threshold_scores(estimator, X, classes)}

    @classmethod
    def _of(cls, y_true: Any, scores: Any, classes: Any, weight: Any, name: str | None) -> Self:
        scale, codes = read_scale(y_true, classes, name="y_true")
        values, levels = read_numbers(scores, "scores"), scale.classes.tolist()
        require_length(len(values), len(codes), "scores")
        weights = check_weights(weight, len(codes))
        if values.ndim == 1:
            values = np.broadcast_to(values[:, None], (len(values), len(levels) - 1))
        if values.shape[1] != len(levels) - 1:
            raise ValueError(
                f"scores must have a column for each of the {len(levels) - 1} thresholds, or be "
                f"one number per row; found shape {values.shape}."
            )
        curves, areas = {}, {}
        for k, label in enumerate(levels[:-1]):
            above = codes > k
            if len(np.unique(above[weights > 0])) == 2:
                parts = above.astype(int), values[:, k]
                curves[f"> {label}"] = roc_curve(*parts, sample_weight=weights)
                areas[f"> {label}"] = auc_score(*parts, sample_weight=weights)
        return cls(curves, areas, name=name)

    def _size(self) -> tuple[float, float]:
        return 4.3, 4.2

    def _draw(self, ax: Axes | None) -> None:
        """Draw the curves with their areas."""
        ax = self._start(ax, grid="both")
        ax.plot((0, 1), (0, 1), color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
        n = len(self.curves)
        colors = style.class_colors(n) if n > 1 else [style.SECOND]
        width = 1.5 if n <= _MOST_NAMES else 1.0
        self.line_ = {}
        for (key, curve), color in zip(self.curves.items(), colors, strict=True):
            rates = curve.false_positive_rate, curve.true_positive_rate
            (self.line_[key],) = ax.plot(*rates, color=color, linewidth=width)
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.01)
        self._write_areas()
        style.name_axes(ax, "false positive rate", "true positive rate", self.name)

    def _write_areas(self) -> None:
        keys = list(self.curves)
        shown = [keys[i] for i in style.thinned(len(keys), _MOST_NAMES, 1.0)]
        names = style.kept_apart(shown, 20)
        style.legend(
            self.ax_,
            [self.line_[key] for key in shown],
            [f"{name}   {self.areas[key]:.3f}" for key, name in zip(shown, names, strict=True)],
            title="AUC" if len(shown) == len(keys) else f"AUC of {len(shown)} of {len(keys)}",
            loc="lower right",
            title_fontsize=style.SMALL,
            alignment="right",
        )


#: most classes with curves in the cells, and with numbers
_MOST_CURVES, _MOST_NUMBERS = 7, 12


class PairwiseROCDisplay(_ScoresDisplay):
    """How well one score separates every two classes: a ROC curve and its area for each pair.

    The score of `from_estimator` is the latent one, the mean margin, the expected rank or a
    ranker's score, as in `LatentDisplay`.

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

    Examples
    --------
    >>> display = PairwiseROCDisplay.from_predictions([1, 1, 2, 3], [0.1, 0.5, 0.4, 0.9])
    >>> display.areas[0]
    array([nan, 0.5, 1. ])
    """

    def __init__(
        self,
        areas: npt.ArrayLike,
        curves: Mapping[tuple[int, int], RocCurve],
        classes: ClassesLike,
        *,
        mean: float,
        name: str | None = None,
    ) -> None:
        self.areas = np.asarray(areas, dtype=np.float64)
        self.curves = dict(curves)
        self.classes = list(classes)
        self.mean, self.name = mean, name

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        return {"scores": latent_of(estimator, X, classes).scores}

    @classmethod
    def _of(cls, y_true: Any, scores: Any, classes: Any, weight: Any, name: str | None) -> Self:
        levels = read_scale(y_true, classes, name="y_true")[0].classes.tolist()
        codes, values, weights = read_scores(y_true, scores, levels, weight)
        areas, curves = np.full((len(levels), len(levels)), np.nan), {}
        for i, j in combinations(range(len(levels)), 2):
            rows = (codes == i) | (codes == j)
            if len(np.unique(codes[rows])) == 2:
                parts = codes[rows], values[rows]
                curves[i, j] = roc_curve(*parts, sample_weight=weights[rows])
                areas[i, j] = auc_score(*parts, sample_weight=weights[rows])
        mean = multipartite_auc(codes, values, sample_weight=weights)
        return cls(areas, curves, levels, mean=mean, name=name)

    def _size(self) -> tuple[float, float]:
        side = min(max(0.75 * (len(self.classes) - 1), 2.4), 4.4)
        return side + 1.3, side + 0.9

    def _draw(self, ax: Axes | None) -> None:
        """Draw a cell for every two classes."""
        n = len(self.classes)
        ax = self._start(ax, left=False, bottom=False)
        ax.set_xlim(0.5, n - 0.5)
        ax.set_ylim(n - 1.5, -0.5)
        self.cells_: dict[tuple[int, int], Patch] = {}
        self.line_: dict[tuple[int, int], Line2D] = {}
        for i, j in self.curves:
            self._draw_cell(i, j)
        style.name_ticks(ax.xaxis, range(1, n), self.classes[1:])
        style.name_ticks(ax.yaxis, range(n - 1), self.classes[:-1])
        mean = f"mean AUC {self.mean:.3f}"
        title = mean if self.name is None else f"{self.name}: {mean}"
        style.name_axes(ax, "higher class", "lower class", title)

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
            sides = ("right", "bottom") if low else ("center", "center")
            text = f"{area:.2f}".replace("0.", ".")
            style.write(self.ax_, text, at, ha=sides[0], va=sides[1])
