"""What matters to a model: importance of inputs, relevance, coverage of rules."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import EstimatorLike, VectorLike
from ..gaussian_process.covariance import relevance
from ..ordinal.arrays import require_count
from . import style as style
from .display import Display, feature_names, model_with, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..inspection import Importance

#: ratio of relevances beyond which the axis counts powers of ten
_RANGE = 50.0


class RelevanceDisplay(Display):
    """Relevance κ of each input under a kernel with one parameter per input, the largest first.

    Parameters
    ----------
    relevances : array-like of shape (d,)
        Squares of inverse length scales, or weights of a linear kernel; not negative.
    features : sequence of str
        Names of the inputs.
    evidence : float, optional
        Logarithm of the marginal likelihood, for the title.
    most : int, default=25
        Most inputs to draw.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    features_ : list of str
        The inputs drawn, from the top.
    ax_, figure_ : matplotlib axes and figure
    marks_ : matplotlib line
    """

    def __init__(
        self,
        relevances: VectorLike,
        features: Sequence[str],
        *,
        evidence: float | None = None,
        most: int = 25,
        name: str | None = None,
    ) -> None:
        require_count("most", most)
        self.relevances = np.asarray(relevances, dtype=np.float64)
        self.features = [str(feature) for feature in features]
        if len(self.features) != len(self.relevances):
            raise ValueError(
                f"features must name the {len(self.relevances)} inputs; found "
                f"{len(self.features)} names."
            )
        self.evidence, self.most, self.name = evidence, most, name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        most: int = 25,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the relevances that a fitted model has learned.

        Parameters
        ----------
        estimator : fitted GPOR, scikit-learn Gaussian process, or pipeline that ends in one
            With a kernel that has a parameter per input, such as "rbf_ard" or ``LinearARD``.
        most : int, default=25
            Most inputs to draw.
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : RelevanceDisplay

        Examples
        --------
        >>> from echelon import GPOR
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> model = GPOR("rbf_ard").fit(X[:80], y[:80])
        >>> RelevanceDisplay.from_estimator(model).features_[0]
        'x3'
        """
        wanted = (
            "a fitted Gaussian process whose kernel has a parameter for each input, such as "
            "GPOR('rbf_ard')"
        )
        model, _ = model_with(estimator, None, "kernel_", wanted)
        values = relevance(model.kernel_, model.n_features_in_)
        if values is None:
            raise ValueError(f"estimator must be {wanted}; found {type(estimator).__name__}.")
        display = cls(
            values,
            feature_names(estimator, len(values)),
            evidence=getattr(model, "log_marginal_likelihood_value_", None),
            most=most,
            name=name_of(estimator, name),
        )
        return display.plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return style.WIDTH, style.bar_height(min(self.most, len(self.features)), head=0.95)

    def _draw(self, ax: Axes | None) -> None:
        """Draw a mark per input; on an axis of powers of ten if relevances differ much."""
        order = np.argsort(-self.relevances, kind="stable")[: self.most]
        n, values = len(order), self.relevances[order]
        places = np.arange(n)
        self.features_ = [self.features[i] for i in order]
        ax = self._draw_rows(ax, self.features_, most=28)
        start = self._set_scale(values)
        ax.hlines(places, start, values, color=style.SECOND, linewidth=1.2, alpha=0.5)
        ends = np.maximum(values, start)
        (self.marks_,) = ax.plot(
            ends, places, "o", markersize=6, color=style.SECOND, clip_on=False, zorder=3
        )
        left = "" if n == len(self.features) else f" ({n} of {len(self.features)} inputs)"
        parts = [self.name]
        if self.evidence is not None:
            parts.append(f"log evidence {self.evidence:.1f}".replace("-", "−"))
        title = ", ".join(part for part in parts if part)
        style.name_axes(ax, f"relevance κ{left}", title=title or None)

    def _set_scale(self, values: Any) -> float:
        """Choose the axis; where lines begin."""
        largest = float(values.max(initial=0.0)) or 1.0
        if not values.min(initial=np.inf) < largest / _RANGE:
            self.ax_.set_xlim(0.0, 1.06 * largest)
            return 0.0
        # What is smaller by more than eight powers of ten is as good as nothing.
        least = max(float(values[values > 0].min()), 1e-8 * largest)
        start = 10.0 ** np.floor(np.log10(least) - 0.2)
        self.ax_.set_xscale("log")
        self.ax_.set_xlim(start, 2.0 * largest)
        self.ax_.xaxis.set_major_formatter(lambda value, _: style.power_of_ten(value))
        self.ax_.minorticks_off()
        return float(start)


class ImportanceDisplay(Display):
    """Inputs by the rise of the mean cost when their values are shuffled, the largest first.

    Parameters
    ----------
    importance : object
        What `echelon.inspection.ordinal_importance` gives: ``features``, ``mean`` and ``sd`` of the
        rise, and ``baseline``, the mean cost without shuffling, which is not shown if it is NaN.
    measure : str
        What rises.
    most : int, default=15
        Most inputs to draw.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    features_ : list of str
        The inputs drawn, from the top.
    bars_ : matplotlib bar container
    """

    def __init__(
        self, importance: Importance, *, measure: str = "mean cost", most: int = 15
    ) -> None:
        require_count("most", most)
        self.importance = importance
        self.measure, self.most = measure, most

    def _size(self) -> tuple[float, float]:
        n = min(self.most, len(self.importance.features))
        return style.WIDTH, style.bar_height(n, head=0.9)

    def _draw(self, ax: Axes | None) -> None:
        """Draw the bars, with one standard deviation over the repeats."""
        mean = np.asarray(self.importance.mean, dtype=np.float64)
        sd = np.asarray(self.importance.sd, dtype=np.float64)
        order = np.argsort(-mean, kind="stable")[: self.most]
        n = len(order)
        self.features_ = [str(self.importance.features[i]) for i in order]
        ax = self._draw_rows(ax, self.features_, most=26)
        self.bars_ = ax.barh(np.arange(n), mean[order], height=0.62, color=style.SECOND, alpha=0.8)
        ax.hlines(
            np.arange(n), (mean - sd)[order], (mean + sd)[order], color=style.INK, linewidth=1.1
        )
        ax.axvline(0.0, color=style.FAINT, linewidth=0.9)
        left = "" if n == len(mean) else f"; {n} of {len(mean)} inputs"
        known = np.isfinite(self.importance.baseline)
        start = f"from {self.importance.baseline:.3f}{left}" if known else left.removeprefix("; ")
        about = f"rise of the {self.measure} when shuffled"
        style.name_axes(ax, f"{about}\n({start})" if start else about)


class RuleCoverageDisplay(Display):
    """Rules by importance, with the share of the rows that they cover and what they add.

    Blue bars belong to rules that raise the score, orange ones to rules that lower it; the number
    at the right is what a rule adds.

    Parameters
    ----------
    rules : sequence of Rule
        What ``RankRules.rules_`` holds: ``text()``, ``response``, ``coverage``, ``importance``,
        ``threshold`` and ``labels``.
    most : int, default=12
        Most rules to draw.
    name : str, optional
        Name of the model, for the title.

    Attributes
    ----------
    rules_ : list of Rule
        The rules drawn, from the top.
    ax_, figure_ : matplotlib axes and figure
    bars_ : matplotlib bar container
    """

    def __init__(self, rules: Sequence[Any], *, most: int = 12, name: str | None = None) -> None:
        require_count("most", most)
        if not len(rules):
            raise ValueError("rules must hold at least one rule; found none.")
        self.rules = list(rules)
        order = np.argsort([-rule.importance for rule in self.rules], kind="stable")[:most]
        self.rules_ = [self.rules[i] for i in order]
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator: EstimatorLike,
        *,
        most: int = 12,
        name: str | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rules of a fitted model.

        Parameters
        ----------
        estimator : fitted RankRules, or pipeline that ends in one
        most : int, default=12
            Most rules to draw.
        name : str, optional
            Name for the title; the estimator's class by default.
        ax : matplotlib axes, optional

        Returns
        -------
        display : RuleCoverageDisplay

        Examples
        --------
        >>> from echelon import RankRules
        >>> from echelon.datasets import load_esl
        >>> X, y = load_esl(return_X_y=True)
        >>> model = RankRules(20, random_state=0).fit(X, y)
        >>> len(RuleCoverageDisplay.from_estimator(model, most=5).bars_)
        5
        """
        wanted = "fitted and have rules_, as RankRules has"
        model, _ = model_with(estimator, None, "rules_", wanted)
        return cls(model.rules_, most=most, name=name_of(estimator, name)).plot(ax=ax)

    def _size(self) -> tuple[float, float]:
        return style.WIDTH + 0.8, style.bar_height(len(self.rules_), row=0.36, head=0.95)

    def _draw(self, ax: Axes | None) -> None:
        """Draw a bar per rule, the most important at the top."""
        n = len(self.rules_)
        ax = self._draw_rows(ax, [_text(rule) for rule in self.rules_], most=44)
        covered = [rule.coverage for rule in self.rules_]
        colors = [style.SECOND if rule.response > 0 else style.ACCENT for rule in self.rules_]
        self.bars_ = ax.barh(np.arange(n), covered, height=0.6, color=colors, alpha=0.75)
        ax.set_xlim(0.0, max(1.04 * max(covered), 1e-3))
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        beside = partial(style.write, ax, right_of_axes=True, ha="right")
        for i, rule in enumerate(self.rules_):
            beside(f"{rule.response:+.2f}".replace("-", "−"), (1.0, i), move=(34, 0))
        beside("adds", (1.0, -0.6), move=(34, 6), color=style.FAINT)
        left = "" if n == len(self.rules) else f"\n({n} of {len(self.rules)} rules, by importance)"
        style.name_axes(ax, f"rows covered{left}", title=self.name)


def _text(rule: Any) -> str:
    threshold = getattr(rule, "threshold", None)
    words = rule.text()
    return words if threshold is None else f"above {rule.labels[threshold]}: {words}"
