"""How the error falls with the rounds of an ensemble, and with more rows."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import EstimatorLike, KeysLike, LabelsLike, MatrixLike, Vector, VectorLike
from ..metrics import misranking_loss
from ..ordinal.arrays import check_weights
from ..ordinal.costs import cost_matrix
from ..ordinal.data import class_factors
from ..ordinal.labels import OrdinalScale, read_relevance
from . import style
from .display import Display, model_with, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

    from ..inspection import LearningCurve


class BoostingCurveDisplay(Display):
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
        training: VectorLike,
        bound: VectorLike | None = None,
        held_out: VectorLike | None = None,
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
        held_out : tuple (X, y), optional
            Other rows, with their queries for rankers or else their weights after them. By
            default the errors on rows that the ensemble itself has held out.
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : BoostingCurveDisplay
            Errors are mean costs, or shares of the pairs in wrong order or tied. There is a bound
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
        wanted = "an ensemble with staged_predict, such as AdaBoostOR or RankBoost"
        model, rows = model_with(estimator, X, "staged_predict", wanted)
        ranks = not hasattr(model, "classes_")
        weights = _row_weights(model, y, sample_weight)
        errors = _misranked_shares if ranks else _mean_costs
        training, bound = errors(model, rows, y, qid, weights), None
        if getattr(model, "n_iter_no_change", None) is None:
            bound = getattr(model, "bound_", None) if ranks else _cost_bound(model, y, weights)
        if held_out is None:
            # Held-out scores of a ranker are of the measure that it was asked for, not of pairs.
            other = None if ranks else getattr(model, "validation_costs_", None)
        else:
            X_other, y_other, *more = held_out
            _, inputs = model_with(estimator, X_other, "staged_predict", wanted)
            beside = more[0] if more else None
            known = (beside, None) if ranks else (None, beside)
            other = errors(model, inputs, y_other, *known)
        measure = "pairs in wrong order or tied" if ranks else "mean cost"
        name = name_of(estimator, name)
        return cls(training, bound, other, measure=measure, name=name).plot(ax=ax)

    def _draw(self, ax: Axes | None) -> None:
        """Draw the curves by round."""
        ax = self._start(ax, grid="y")
        style.whole_ticks(ax)
        parts = {
            "bound": (self.bound, style.FAINT, (0, (4, 2))),
            "training": (self.training, style.SECOND, "solid"),
            "held out": (self.held_out, style.ACCENT, "solid"),
        }
        self.line_: dict[str, Line2D] = {}
        ends, colors = [], []
        for key, (values, color, dashes) in parts.items():
            if values is not None:
                at = np.arange(1, len(values) + 1)
                (self.line_[key],) = ax.plot(
                    at, values, color=color, linestyle=dashes, linewidth=1.5
                )
                ends.append(float(values[-1]))
                colors.append(color)
        self._set_heights()
        last = max(np.size(line.get_xdata()) for line in self.line_.values())
        ax.set_xlim(1, max(last, 2))
        top = ax.get_ylim()[1]
        ends = [min(end, top) for end in ends]
        style.label_ends(ax, ax.get_xlim()[1], ends, list(self.line_), colors)
        style.name_axes(ax, "round", self.measure, self.name)

    def _set_heights(self) -> None:
        """A bound that is far away must not flatten the errors."""
        errors = [self.training] if self.held_out is None else [self.training, self.held_out]
        top = 1.1 * max(float(np.max(part)) for part in errors)
        if self.bound is not None:
            top = max(top, min(1.1 * float(np.max(self.bound)), 2.0 * top))
        self.ax_.set_ylim(0.0, top or 1.0)


def _row_weights(model: Any, y: Any, sample_weight: Any) -> Vector:
    """Weights of the rows, by which an ordinal ensemble counts costs, or a ranking one pairs."""
    if not hasattr(model, "classes_"):
        return check_weights(sample_weight, len(read_relevance(y)))
    scale = OrdinalScale(model.classes_)
    codes = scale.encode(y)
    given = check_weights(sample_weight, len(codes))
    by_class = getattr(model, "class_weight", None)
    return (
        given if by_class is None else given * class_factors(by_class, codes, scale, given)[codes]
    )


def _mean_costs(model: Any, X: Any, y: Any, qid: Any, weights: Vector | None) -> Vector:
    if qid is not None:
        raise ValueError("qid must be None for ordinal classifiers; found queries.")
    return -np.array(list(model.staged_score(X, y, sample_weight=weights)))


def _cost_bound(model: Any, y: Any, weights: Vector) -> Vector | None:
    if hasattr(model, "bound_"):
        codes = OrdinalScale(model.classes_).encode(y)
        cost = cost_matrix(model.cost, len(model.classes_))
        ends = cost[codes, 0] + cost[codes, -1]
        return np.asarray(model.bound_ * np.average(ends, weights=weights))
    return np.asarray(model.loss_) if getattr(model, "variant", None) == "all" else None


def _misranked_shares(model: Any, X: Any, y: Any, qid: Any, weights: Vector | None) -> Vector:
    """Shares of the pairs that a ranking ensemble has in wrong order or tied."""
    told = partial(misranking_loss, qid=qid, sample_weight=weights, ties="error")
    relevance = read_relevance(y)
    return np.array([told(relevance, scores) for scores in model.staged_predict(X)])


class LearningCurveDisplay(Display):
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

    def __init__(
        self, curve: LearningCurve, *, measure: str = "mean cost", name: str | None = None
    ) -> None:
        self.curve = curve
        self.measure, self.name = measure, name

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, 3.2

    def _draw(self, ax: Axes | None) -> None:
        """Draw both curves with one standard deviation over the folds."""
        ax = self._start(ax, grid="y")
        style.whole_ticks(ax)
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
