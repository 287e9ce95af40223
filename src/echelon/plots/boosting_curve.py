"""How the error of an ensemble falls with its rounds, and the bound that proves it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import EstimatorLike, KeysLike, LabelsLike, MatrixLike, Vector, VectorLike
from ..base.validation import class_factors
from ..metrics import misranking_loss
from ..ordinal.arrays import check_weights
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import OrdinalScale
from ..ordinal.relevance import read_relevance
from . import _style as style
from ._reading import name_of, opened

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class BoostingCurveDisplay:
    """Training error, its bound and the error on other rows after every round.

    Parameters
    ----------
    training : array-like of shape (T,)
        Error on the training rows after each round.
    bound : array-like of shape (T,), optional
        What the training error cannot exceed.
    held_out : array-like, optional
        Error on other rows after each round; it may have more rounds than were kept.
    measure : str
        What the error is.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : dict from {"training", "bound", "held out"} to matplotlib line
    """

    def __init__(
        self,
        training: Any,
        bound: Any = None,
        held_out: Any = None,
        *,
        measure: str = "mean cost",
        name: str | None = None,
    ) -> None:
        self.training = np.asarray(training, dtype=np.float64)
        self.bound = None if bound is None else np.asarray(bound, dtype=np.float64)
        self.held_out = None if held_out is None else np.asarray(held_out, dtype=np.float64)
        self.measure, self.name = measure, name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        X: MatrixLike,
        y: LabelsLike,
        *,
        qid: KeysLike | None = None,
        sample_weight: VectorLike | None = None,
        held_out: tuple[Any, ...] | None = None,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Go through the rounds of a fitted ensemble and draw.

        Parameters
        ----------
        estimator : fitted AdaBoostOR, ORBoost, RankRules, RankBoost, or pipeline that ends in one
        X, y : array-likes
            The training rows and their labels.
        qid : sequence of shape (n,), optional
            Queries of the training rows, for rankers.
        sample_weight : array-like of shape (n,), optional
            The weights that the ensemble was fitted with.
        held_out : tuple (X, y) or, for rankers, (X, y, qid), optional
            Other rows. By default the errors on rows that the ensemble itself has held out.
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : BoostingCurveDisplay
            Errors are mean costs, or shares of the pairs in wrong order or level. There is a bound
            where the model has one for all rows: theorem 6 of [LL09] for ``AdaBoostOR``, the loss
            of ``ORBoost`` with ``variant="all"``, theorem 10.3 of [MRT18] for ``RankBoost``; not
            after early stopping, when it speaks of a part of the rows.

        Examples
        --------
        >>> from echelon import AdaBoostOR
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> model = AdaBoostOR(n_estimators=30).fit(X, y)
        >>> display = BoostingCurveDisplay.from_estimator(model, X, y)
        >>> bool((display.training <= display.bound).all())
        True
        """
        found = opened(estimator, X, "staged_predict")
        if found is None:
            raise ValueError(
                "estimator must be an ensemble with staged_predict, such as AdaBoostOR or "
                f"RankBoost; found {type(estimator).__name__}."
            )
        model, rows = found
        curves = _RankerCurves(model) if not hasattr(model, "classes_") else _LabelCurves(model)
        weights = curves.weights(y, sample_weight)
        training = curves.errors(rows, y, qid, weights)
        bound = None
        if getattr(model, "n_iter_no_change", None) is None:
            bound = curves.bound(y, weights)
        if held_out is None:
            other = curves.own_held_out()
        else:
            X_other, y_other, *more = held_out
            inputs = opened(estimator, X_other, "staged_predict")[1]
            other = curves.errors(inputs, y_other, more[0] if more else None, None)
        return cls(
            training, bound, other, measure=curves.measure, name=name_of(estimator, name)
        ).plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return style.WIDTH, 3.3

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the curves by round.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : BoostingCurveDisplay
            This object.
        """
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="y")
        ax.xaxis.get_major_locator().set_params(integer=True)
        parts = {
            "bound": (self.bound, style.FAINT, (0, (4, 2))),
            "training": (self.training, style.SECOND, "solid"),
            "held out": (self.held_out, style.ACCENT, "solid"),
        }
        drawn = {key: part for key, part in parts.items() if part[0] is not None}
        self.line_ = {
            key: ax.plot(
                np.arange(1, len(values) + 1), values, color=color, linestyle=dashes, linewidth=1.5
            )[0]
            for key, (values, color, dashes) in drawn.items()
        }
        self._set_heights()
        last = max(len(values) for values, *_ in drawn.values())
        ax.set_xlim(1, max(last, 2))
        top = ax.get_ylim()[1]
        ends = [min(float(values[-1]), top) for values, *_ in drawn.values()]
        colors = [color for _, color, _ in drawn.values()]
        style.label_ends(ax, ax.get_xlim()[1], ends, list(drawn), colors)
        style.name_axes(ax, "round", self.measure, self.name)
        return self

    def _set_heights(self) -> None:
        """A bound that is far away must not flatten the errors."""
        errors = [self.training] if self.held_out is None else [self.training, self.held_out]
        top = 1.1 * max(float(np.max(part)) for part in errors)
        if self.bound is not None:
            top = max(top, min(1.1 * float(np.max(self.bound)), 2.0 * top))
        self.ax_.set_ylim(0.0, top or 1.0)


class _LabelCurves:
    """Mean costs of an ordinal ensemble."""

    measure = "mean cost"

    def __init__(self, model: Any) -> None:
        self.model = model

    def weights(self, y: Any, sample_weight: Any) -> Vector:
        """Weights of the rows, by which the ensemble counts costs."""
        scale = OrdinalScale(self.model.classes_)
        codes = scale.encode(y)
        given = check_weights(sample_weight, len(codes))
        by_class = getattr(self.model, "class_weight", None)
        if by_class is None:
            return given
        return given * class_factors(by_class, codes, scale, given)[codes]

    def errors(self, X: Any, y: Any, qid: Any, weights: Vector | None) -> Vector:
        if qid is not None:
            raise ValueError("qid must be None for ordinal classifiers; found queries.")
        return -np.array(list(self.model.staged_score(X, y, sample_weight=weights)))

    def bound(self, y: Any, weights: Vector) -> Vector | None:
        model = self.model
        if hasattr(model, "bound_"):
            codes = OrdinalScale(model.classes_).encode(y)
            cost = cost_matrix(model.cost, len(model.classes_))
            ends = cost[codes, 0] + cost[codes, -1]
            return np.asarray(model.bound_ * np.average(ends, weights=weights))
        if getattr(model, "variant", None) == "all":
            return np.asarray(model.loss_)
        return None

    def own_held_out(self) -> Vector | None:
        return getattr(self.model, "validation_costs_", None)


class _RankerCurves:
    """Shares of the pairs that a ranking ensemble has in wrong order or level."""

    measure = "pairs in wrong order or level"

    def __init__(self, model: Any) -> None:
        self.model = model

    def weights(self, y: Any, sample_weight: Any) -> Vector:
        return check_weights(sample_weight, len(read_relevance(y)))

    def errors(self, X: Any, y: Any, qid: Any, weights: Vector | None) -> Vector:
        relevance = read_relevance(y)
        return np.array(
            [
                misranking_loss(relevance, scores, qid=qid, sample_weight=weights, ties="error")
                for scores in self.model.staged_predict(X)
            ]
        )

    def bound(self, y: Any, weights: Vector) -> Vector | None:
        return getattr(self.model, "bound_", None)

    def own_held_out(self) -> Vector | None:
        # Held-out scores are of the measure that the ranker was asked for, not of pairs.
        return None
