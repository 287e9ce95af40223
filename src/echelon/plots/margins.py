"""How far from its thresholds, or from each other in pairs, rows lie on the right side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
import numpy.typing as npt

from .._utils.types import (
    ClassesLike,
    EstimatorLike,
    KeysLike,
    LabelsLike,
    MatrixLike,
    Vector,
    VectorLike,
)
from ..base.reading import without_infinity
from ..base.wrappers import inner_estimator, known_inputs
from ..metrics._labels import require_length
from ..metrics.scorers import ranking_scores
from ..ordinal.arrays import check_weights, read_numbers
from ..ordinal.labels import read_relevance, read_scale
from ..ordinal.reduction import side_matrix
from ..pairs.pair_set import PairSet
from ..solvers.ranking.pair_draws import PairSampler
from . import style
from .display import Display, classes_of, labelling_model, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes


#: most pairs that are listed; of more, as many are drawn
_MOST_PAIRS = 200_000
_POINTS = 400


class MarginDistributionDisplay(Display):
    """Share of the rows, or of the pairs, with at most each margin.

    The curve's height at zero is the share in the wrong place. Several models come into one
    picture by passing ``ax=display.ax_``.

    Parameters
    ----------
    margins : array-like of shape (m,)
    weights : array-like of shape (m,), optional
    of : {"rows", "pairs"}
        What has the margins.
    name : str, optional
        Name of the model.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : matplotlib line
    """

    def __init__(
        self,
        margins: VectorLike,
        weights: VectorLike | None = None,
        *,
        of: str = "rows",
        name: str | None = None,
    ) -> None:
        values = read_numbers(margins, "margins").ravel()
        if np.isnan(values).any():
            raise ValueError(f"margins must not hold NaN; found {np.isnan(values).sum()}.")
        given = check_weights(weights, len(values))
        order = np.argsort(values, kind="stable")
        self.margins, self.weights = values[order], given[order]
        self.of, self.name = of, name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Take margins from a fitted estimator and draw.

        The margin of a row under an ordinal classifier is the least over the thresholds of its
        margin there, positive on the right side. A ranker has margins of pairs: score of the row
        with the higher label minus score of the other. Both are divided by the standard deviation
        of the classifier's mean margins, or of the ranker's scores, so that models can be compared.

        Parameters
        ----------
        estimator : fitted ordinal classifier with margins, ranker, or pipeline that ends in one
        X : array-like of shape (n, d)
        y : array-like of shape (n,)
            True labels.
        qid : sequence of shape (n,), optional
            Queries of a ranker's rows; pairs are those within a query.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            Name of the curve; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : MarginDistributionDisplay

        Examples
        --------
        >>> from echelon import ProportionalOdds
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> model = ProportionalOdds().fit(X, y)
        >>> display = MarginDistributionDisplay.from_estimator(model, X, y)
        >>> bool(abs(display.share_up_to(0.0) - (model.predict(X) != y).mean()) < 1e-9)
        True
        """
        label = name_of(estimator, name)
        model, X = labelling_model(estimator, classes_of(estimator, y)), known_inputs(estimator, X)
        if model is None:
            scores = ranking_scores(inner_estimator(estimator), X)
            scores /= _spread(scores)
            return cls.from_scores(
                y, scores, qid=qid, sample_weight=sample_weight, name=label, ax=ax
            )
        margins = model.margins(X)
        if margins is None:
            raise ValueError(
                f"estimator must be a ranker or have decision_function with margins; found {label}."
            )
        return cls.from_predictions(
            y,
            margins / _spread(without_infinity(margins).mean(axis=1)),
            classes=model.scale.classes,
            sample_weight=sample_weight,
            name=label,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: LabelsLike,
        margins: MatrixLike,
        *,
        classes: ClassesLike | None = None,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw margins at the thresholds that are known.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            True labels.
        margins : array-like of shape (n, K−1), or (n,) for two classes
            Positive where a label is held to lie above a threshold.
        classes : sequence, optional
            The labels from lowest to highest; by default read from `y_true`.
        sample_weight : array-like of shape (n,), optional
        name : str, optional
            Name of the curve.
        ax : matplotlib axes, optional

        Returns
        -------
        display : MarginDistributionDisplay
        """
        scale, codes = read_scale(y_true, classes, name="y_true")
        G = read_numbers(margins, "margins")
        require_length(len(G), len(codes), "margins")
        G = G.reshape(len(G), -1)
        if G.shape[1] != scale.n_classes - 1:
            raise ValueError(
                f"margins must have a column for each of the {scale.n_classes - 1} thresholds; "
                f"found {G.shape[1]}."
            )
        least = (side_matrix(codes, scale.n_classes) * G).min(axis=1)
        weights = check_weights(sample_weight, len(codes))
        return cls(least, weights, of="rows", name=name).plot(ax=ax)

    @classmethod
    def from_scores(
        cls,
        y_true: LabelsLike,
        scores: npt.ArrayLike,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the differences of scores over pairs of rows with different labels.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels, higher is better.
        scores : array-like of shape (n,)
        qid : sequence of shape (n,), optional
            Query of each row; pairs are those within a query.
        sample_weight : array-like of shape (n,), optional
            A pair weighs the product of the weights of its rows.
        name : str, optional
            Name of the curve.
        ax : matplotlib axes, optional

        Returns
        -------
        display : MarginDistributionDisplay
            Of more than 200,000 pairs, so many are drawn by their weights, always the same.
        """
        values = read_numbers(scores, "scores")
        weights = None if sample_weight is None else check_weights(sample_weight, len(values))
        pairs = PairSet.from_labels(read_relevance(y_true), qid, weights)
        if not pairs.total_weight > 0:
            raise ValueError("y_true must hold two different labels within a query; found none.")
        if pairs.n_pairs <= _MOST_PAIRS:
            listed = pairs.to_listed()
            winners, losers, weights = listed.winners, listed.losers, listed.weights
        else:
            sampler = PairSampler(pairs, values[:, None])
            winners, losers = sampler.draw(_MOST_PAIRS, np.random.default_rng(0))
            weights = np.ones(_MOST_PAIRS)
        return cls(values[winners] - values[losers], weights, of="pairs", name=name).plot(ax=ax)

    def share_up_to(self, margin: float) -> float:
        """Share of the weight with at most this margin."""
        upto = np.searchsorted(self.margins, margin, side="right")
        return float(self.weights[:upto].sum() / self.weights.sum())

    def _draw(self, ax: Axes | None) -> None:
        """Draw the curve, and its name beside those of curves that are there already."""
        ax = self._start(ax, grid="y")
        # Lines without a name for the legend have one that begins so.
        before = [line for line in ax.lines if not str(line.get_label()).startswith("_")]
        if not before:
            ax.axvline(0.0, color=style.FAINT, linewidth=0.9, linestyle=(0, (4, 2)))
        self.line_ = ax.plot(
            *self._curve(),
            color=style.SERIES[len(before) % len(style.SERIES)],
            linewidth=1.6,
            drawstyle="steps-post",
            label=self.name or self.of,
        )[0]
        ax.set_ylim(0.0, 1.02)
        if before:
            style.legend(ax, loc="upper left", handlelength=1.6)
        style.name_axes(
            ax, "margin, in standard deviations of the score", f"share of {self.of} up to it"
        )

    def _curve(self) -> tuple[Vector, Vector]:
        """The distribution at some hundred of its own points, without the far tails."""
        reached = np.cumsum(self.weights) / self.weights.sum()
        at = np.unique(np.searchsorted(reached, np.linspace(0.001, 0.999, _POINTS)))
        # A step is drawn in full: the last row with this margin has its height.
        at = np.unique(np.searchsorted(self.margins, self.margins[at], side="right") - 1)
        return self.margins[at], reached[at]


def _spread(scores: Vector) -> float:
    spread = float(np.std(scores[np.isfinite(scores)]))
    return spread if spread > 0 else 1.0
