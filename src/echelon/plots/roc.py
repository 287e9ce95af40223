"""ROC curves of ordered labels, for each threshold on their scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from .._utils.types import EstimatorLike, LabelsLike, MatrixLike, VectorLike
from ..metrics import RocCurve, auc_score, roc_curve
from ..metrics._labels import require_length
from ..ordinal.arrays import check_weights, read_numbers
from ..ordinal.labels import read_scale
from . import _style as style
from ._reading import classes_of, name_of, threshold_scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: most names in the legend
_MOST_NAMES = 10


class ROCDisplay:
    """ROC curves of the questions whether a label lies above each threshold.

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

        An ordinal classifier is judged at each threshold by its margin there, or by P(y > k) where
        it has no margins; a ranker by its one score, at each level of the labels. Queries are not
        looked at: all rows are compared.

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
        display : ROCDisplay

        Examples
        --------
        >>> from echelon import ProportionalOdds
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> display = ROCDisplay.from_estimator(ProportionalOdds().fit(X, y), X, y)
        >>> display.areas["> 5"] > 0.95
        True
        """
        classes = classes_of(estimator, y)
        return cls.from_predictions(
            y,
            threshold_scores(estimator, X, classes),
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
        scores : array-like of shape (n,) or (n, K−1)
            One score for all thresholds, or one for each, such as margins or P(y > k).
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            A title.
        ax : matplotlib axes, optional

        Returns
        -------
        display : ROCDisplay
        """
        scale, codes = read_scale(y_true, classes, name="y_true")
        values, levels = read_numbers(scores, "scores"), scale.classes.tolist()
        require_length(len(values), len(codes), "scores")
        weights = check_weights(sample_weight, len(codes))
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
        if not curves:
            raise ValueError("y_true must hold at least two different labels; found one.")
        return cls(curves, areas, name=name).plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return 4.3, 4.2

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves with their areas.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : ROCDisplay
            This object.
        """
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="both")
        ax.plot((0, 1), (0, 1), color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
        n = len(self.curves)
        colors = style.class_colors(n) if n > 1 else [style.SECOND]
        self.line_ = {}
        for (key, curve), color in zip(self.curves.items(), colors, strict=True):
            self.line_[key] = ax.plot(
                curve.false_positive_rate,
                curve.true_positive_rate,
                color=color,
                linewidth=1.5 if n <= _MOST_NAMES else 1.0,
            )[0]
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.01)
        self._write_areas()
        style.name_axes(ax, "false positive rate", "true positive rate", self.name)
        return self

    def _write_areas(self) -> None:
        keys = list(self.curves)
        shown = [keys[i] for i in style.thinned(len(keys), _MOST_NAMES, 1.0)]
        legend = self.ax_.legend(
            [self.line_[key] for key in shown],
            [f"{style.shortened(key, 20)}   {self.areas[key]:.3f}" for key in shown],
            title="AUC" if len(shown) == len(keys) else f"AUC of {len(shown)} of {len(keys)}",
            loc="lower right",
            fontsize=style.SMALL,
            title_fontsize=style.SMALL,
            labelcolor=style.INK,
            frameon=False,
            alignment="right",
        )
        style.plain_legend(legend)
