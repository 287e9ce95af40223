"""The rules of an ensemble: how important they are, whom they cover, and what they do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import EstimatorLike
from ..ordinal.arrays import require_count
from . import style
from .display import Display
from .reading import model_with, name_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LETTERS = 44


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
        ax = self._draw_rows(ax, [_text(rule) for rule in self.rules_], most=_LETTERS)
        covered = [rule.coverage for rule in self.rules_]
        colors = [style.SECOND if rule.response > 0 else style.ACCENT for rule in self.rules_]
        self.bars_ = ax.barh(np.arange(n), covered, height=0.6, color=colors, alpha=0.75)
        ax.set_xlim(0.0, max(1.04 * max(covered), 1e-3))
        ax.xaxis.set_major_formatter(lambda value, _: f"{100 * value:.3g} %")
        for i, rule in enumerate(self.rules_):
            added = f"{rule.response:+.2f}".replace("-", "−")
            style.write(ax, added, (1.0, i), move=(34, 0), right_of_axes=True, ha="right")
        style.write(
            ax,
            "adds",
            (1.0, -0.6),
            move=(34, 6),
            color=style.FAINT,
            right_of_axes=True,
            ha="right",
        )
        left = "" if n == len(self.rules) else f"\n({n} of {len(self.rules)} rules, by importance)"
        style.name_axes(ax, f"rows covered{left}", title=self.name)


def _text(rule: Any) -> str:
    threshold = getattr(rule, "threshold", None)
    words = rule.text()
    return words if threshold is None else f"above {rule.labels[threshold]}: {words}"
