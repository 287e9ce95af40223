"""How the error falls with the rounds of an ensemble and with more rows, and predictions move."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.messages import require_choice
from .._utils.types import (
    ClassesLike,
    EstimatorLike,
    KeysLike,
    LabelsLike,
    MatrixLike,
    Vector,
    VectorLike,
)
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

    from ..inspection import Effect, LearningCurve


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
        held_out : tuple (X, y) or, for rankers, (X, y, qid), optional
            Other rows. By default the errors on rows that the ensemble itself has held out.
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
            other = errors(model, inputs, y_other, more[0] if more else None, None)
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


#: share of the height that the histogram of the input takes at the bottom
_STRIP = 0.1


class EffectDisplay(Display):
    """Mean prediction over the rows as one input takes each of some values.

    Parameters
    ----------
    effect : object
        What `echelon.inspection.feature_effects` gives for an input: ``feature``, ``kind``
        ("number", "date" or "category"), ``values``, ``expected_rank``, ``cumulative`` of shape
        (p, K−1), the mean of P(y ≤ k), or None, ``histogram`` (edges and counts, or positions of
        categories and counts) or None, and, if it has them, ``unit`` and ``classes``.
    classes : sequence, optional
        The labels from lowest to highest, in place of those of `effect`.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    line_ : list of matplotlib lines
        One for the expected rank, or one per threshold.
    """

    def __init__(self, effect: Effect, *, classes: ClassesLike | None = None) -> None:
        self.effect = effect
        known = getattr(effect, "classes", None) if classes is None else classes
        self.classes = None if known is None else list(known)

    def _size(self) -> tuple[float, float]:
        return 3.4, 2.5

    def plot(self, ax: Axes | None = None, *, response: str = "expected_rank") -> Self:
        """Draw the effect.

        Parameters
        ----------
        ax : matplotlib axes, optional
        response : {"expected_rank", "cumulative"}, default="expected_rank"
            The expected rank, or the probabilities of all classes, one above the other.

        Returns
        -------
        display : EffectDisplay
            This object.
        """
        require_choice("response", response, ("expected_rank", "cumulative"))
        if response == "cumulative" and self.effect.cumulative is None:
            raise ValueError(
                "response must be 'expected_rank': the model gives no class probabilities."
            )
        ax = self._start(ax, grid="y")
        if response == "cumulative":
            self._draw_cumulative()
        else:
            self._draw_expected_rank()
        self._draw_histogram()
        style.name_axes(ax, x=style.shortened(self.effect.feature, 40))
        return self

    @property
    def _is_number(self) -> bool:
        return self.effect.kind != "category"

    def _places(self) -> Any:
        values = self.effect.values
        if self.effect.kind == "date":
            return np.asarray(values, dtype="datetime64[s]").astype(np.float64) / 86_400.0
        if self._is_number:
            return np.asarray(values, dtype=np.float64)
        return np.arange(len(values), dtype=np.float64)

    def _draw_expected_rank(self) -> None:
        heights = np.asarray(self.effect.expected_rank, dtype=np.float64)
        form = "-" if self._is_number else "o"
        self.line_ = self.ax_.plot(
            self._places(), heights, form, color=style.SECOND, linewidth=1.6, markersize=6
        )
        self._set_heights(heights)
        is_score = getattr(self.effect, "unit", "ranks") == "score"
        style.name_axes(self.ax_, y="mean score" if is_score else "expected rank")

    def _draw_cumulative(self) -> None:
        """Areas, or bars, of the class probabilities on top of each other."""
        below = np.asarray(self.effect.cumulative, dtype=np.float64)
        edges = np.column_stack([np.zeros(len(below)), below, np.ones(len(below))])
        at, n = self._places(), edges.shape[1] - 1
        self.line_ = []
        for k, color in enumerate(style.class_colors(n)):
            low, high = edges[:, k], edges[:, k + 1]
            if self._is_number:
                self.ax_.fill_between(at, low, high, facecolor=color, alpha=0.6, linewidth=0)
            else:
                self.ax_.bar(at, high - low, 0.7, bottom=low, color=color, alpha=0.6)
            if k < n - 1 and self._is_number:
                self.line_ += self.ax_.plot(at, high, color=color, linewidth=1.2)
        self.ax_.set_ylim(-_STRIP / (1 - _STRIP), 1.0)
        self._set_width()
        self._name_classes(edges[-1], n)
        style.name_axes(self.ax_, y="share of each class")

    def _name_classes(self, edges: Any, n: int) -> None:
        labels = range(n) if self.classes is None else self.classes
        shown = style.thinned(n, 0.9 * style.points(self.ax_)[1], 1.25 * style.SMALL)
        style.label_ends(
            self.ax_,
            self.ax_.get_xlim()[1],
            [float(edges[k] + edges[k + 1]) / 2 for k in shown],
            [style.shortened(labels[k], 12) for k in shown],
            [style.INK] * len(shown),
        )

    def _set_heights(self, heights: Any) -> None:
        low, high = float(np.nanmin(heights)), float(np.nanmax(heights))
        # A change of less than a tenth of a rank should look small.
        room = max(high - low, 0.1)
        middle = 0.5 * (low + high)
        low, high = middle - 0.58 * room, middle + 0.58 * room
        self.ax_.set_ylim(low - 2.0 * _STRIP * (high - low), high)
        self._set_width()

    def _set_width(self) -> None:
        at = self._places()
        if not self._is_number:
            self.ax_.set_xlim(-0.6, len(at) - 0.4)
            style.name_ticks(self.ax_.xaxis, at, self.effect.values, most=14)
            return
        self.ax_.set_xlim(at[0], at[-1] if at[-1] > at[0] else at[0] + 1.0)
        if self.effect.kind == "date":
            ends = np.linspace(at[0], at[-1], 3)
            days = (ends * 86_400).astype("datetime64[s]").astype("datetime64[D]")
            self.ax_.set_xticks(ends, labels=[str(day) for day in days])

    def _draw_histogram(self) -> None:
        """Where the rows lie, as a faint strip at the bottom."""
        if self.effect.histogram is None:
            return
        at, counts = (np.asarray(part, dtype=np.float64) for part in self.effect.histogram)
        if not counts.max(initial=0.0) > 0:
            return
        edges = at if self._is_number else np.r_[at - 0.3, at[-1:] + 0.7]
        limits = (*self.ax_.get_xlim(), *self.ax_.get_ylim())
        low, high = limits[2:]
        heights = _STRIP * (high - low) * counts / counts.max()
        widths = np.diff(edges) if self._is_number else 0.6
        look: Any = {"align": "edge", "color": style.FAINT, "alpha": 0.45, "linewidth": 0}
        self.ax_.bar(edges[:-1], heights, widths, low, **look)
        self.ax_.set_xlim(*limits[:2])
        self.ax_.set_ylim(low, high)
