"""What displays share: axes, construction from estimators and predictions, names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import names_or_numbers
from .._utils.types import EstimatorLike, LabelsLike, Matrix, MatrixLike, Vector, VectorLike
from ..base.reading import FittedModel, label_order
from ..base.wrappers import (
    final_estimator,
    inner_estimator,
    known_classes,
    known_inputs,
    last_step,
    opened,
    output_names,
)
from ..metrics.scorers import ranking_scores
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank
from . import style as style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure


class Picture:
    """Something to be drawn on axes of a size that fits it."""

    ax_: Axes
    figure_: Figure | SubFigure

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return self._size()

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, 3.3

    def _start(
        self,
        ax: Axes | None,
        *,
        grid: style.Grid | None = None,
        left: bool = True,
        bottom: bool = True,
    ) -> Axes:
        """Keep the axes given, or those of a new figure that fits, and dress them."""
        if ax is None:
            ax = style.require_pyplot().subplots(figsize=self.size, layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid=grid, left=left, bottom=bottom)
        return ax


class Display(Picture):
    """A picture that needs nothing but axes to be drawn."""

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the picture.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; those of a new figure that fits by default.

        Returns
        -------
        display : object
            This object.
        """
        self._draw(ax)
        return self

    def _draw(self, ax: Axes | None) -> None:
        raise NotImplementedError

    def _draw_rows(self, ax: Axes | None, names: list[str], most: int) -> Axes:
        """Axes for a chart with a named row for each thing, the first at the top."""
        ax = self._start(ax, grid="x", left=False)
        ax.set_ylim(len(names) - 0.4, -0.6)
        style.name_ticks(ax.yaxis, range(len(names)), names, most=most)
        return ax


class RowsDisplay(Display):
    """A display of labelled rows and what a model predicts for them."""

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
        **options: Any,
    ) -> Self:
        """Predict for labelled rows with a fitted estimator and draw.

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
        **options
            Other keyword arguments of `from_predictions`.

        Returns
        -------
        display : object
        """
        options.setdefault("classes", classes_of(estimator, y))
        return cls.from_predictions(
            y,
            **cls._predictions(estimator, X, options["classes"]),
            sample_weight=sample_weight,
            name=name_of(estimator, name),
            ax=ax,
            **options,
        )

    @classmethod
    def from_predictions(cls, *args: Any, **options: Any) -> Self:
        """Draw predictions that are known."""
        raise NotImplementedError

    @classmethod
    def _predictions(cls, estimator: Any, X: Any, classes: Any) -> dict[str, Any]:
        """What `from_predictions` is told of the rows, by the name of its parameter."""
        raise NotImplementedError


def name_of(estimator: Any, name: str | None = None) -> str:
    """What to call an estimator: the name given, its own, or its class at the end of a pipeline."""
    if name is not None:
        return name
    own = getattr(estimator, "name", None)
    return own if isinstance(own, str) else type(final_estimator(estimator)).__name__


def classes_of(estimator: Any, y: Any = None) -> npt.NDArray[Any] | None:
    """Labels from lowest to highest, by the type of `y` or as far as the estimator knows them."""
    known = known_classes(estimator)
    return None if known is None else label_order(known, None, y)


def labelling_model(estimator: Any, classes: Any = None) -> FittedModel | None:
    """The estimator on an ordered scale, its own by default; None for a ranker or regressor."""
    estimator = inner_estimator(estimator)
    if not is_classifier(estimator):
        return None
    check_is_fitted(estimator)
    order = label_order(known_classes(estimator), classes)
    return None if order is None else FittedModel(estimator, OrdinalScale(order))


def probabilities_of(estimator: Any, X: Any, classes: Any = None) -> Matrix:
    """Class probabilities in the order of the classes; an estimator without them is refused."""
    model = labelling_model(estimator, classes)
    found = None if model is None else model.probabilities(known_inputs(estimator, X))
    if found is None:
        raise ValueError(
            f"estimator must have predict_proba; {name_of(estimator)} has not, and "
            "OrdinalCalibrator gives probabilities to any model."
        )
    return found


@dataclass(frozen=True)
class Latent:
    """One score per row, thresholds on its scale where there are any, and what the score is."""

    scores: Vector
    thresholds: Vector | None
    name: str


def latent_of(estimator: Any, X: Any, classes: Any = None) -> Latent:
    """The latent score of a threshold model; else the mean margin, expected rank or score."""
    found = opened(estimator, X, "predict_latent")
    if found is not None:
        scores, thresholds = found[0].predict_latent(found[1]), found[0].thresholds_
        return Latent(np.asarray(scores), np.asarray(thresholds), "latent score f(x)")
    model, inputs = labelling_model(estimator, classes), known_inputs(estimator, X)
    if model is None:
        return Latent(ranking_scores(inner_estimator(estimator), inputs), None, "score")
    margins = model.finite_margins(inputs)
    if margins is None:
        ranks = expected_rank(probabilities_of(estimator, X, classes))
        return Latent(ranks, None, "expected rank, from 0")
    if margins.shape[1] == 1:
        return Latent(margins[:, 0], np.zeros(1), "margin")
    return Latent(margins.mean(axis=1), None, "mean margin over thresholds")


def threshold_scores(estimator: Any, X: Any, classes: Any = None) -> npt.NDArray[np.float64]:
    """Margins at the thresholds, or P(y > k); the one score of a ranker."""
    model = labelling_model(estimator, classes)
    if model is None:
        return latent_of(estimator, X).scores
    return model.threshold_scores(known_inputs(estimator, X))


def model_with(estimator: Any, X: Any, attribute: str, wanted: str) -> tuple[Any, Any]:
    """The outermost model that has an attribute, and the rows it sees; others are refused."""
    found = opened(estimator, X, attribute)
    if found is None:
        raise ValueError(f"estimator must be {wanted}; found {type(estimator).__name__}.")
    return found


def feature_names(estimator: Any, n: int) -> list[str]:
    """Names of the inputs of the model at the end of an estimator; x0, x1, … where it has none."""
    before, last = last_step(estimator)
    names = getattr(last, "feature_names_in_", None)
    names = output_names(before) if names is None else names
    return names_or_numbers(names, n)
