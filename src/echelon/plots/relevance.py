"""Which inputs a Gaussian process has found relevant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import EstimatorLike
from ..gaussian_process.covariance import relevance
from ..ordinal.arrays import require_count
from . import _style as style
from ._reading import feature_names, name_of, opened

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: ratio of relevances beyond which the axis counts powers of ten
_RANGE = 50.0


class RelevanceDisplay:
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
        relevances: Any,
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
        found = opened(estimator, None, "kernel_")
        values = None
        if found is not None:
            values = relevance(found[0].kernel_, found[0].n_features_in_)
        if values is None:
            raise ValueError(
                "estimator must be a fitted Gaussian process whose kernel has a parameter for each "
                f"input, such as GPOR('rbf_ard'); found {type(estimator).__name__}."
            )
        display = cls(
            values,
            feature_names(estimator, len(values)),
            evidence=getattr(found[0], "log_marginal_likelihood_value_", None),
            most=most,
            name=name_of(estimator, name),
        )
        return display.plot(ax=ax)

    @property
    def size(self) -> tuple[float, float]:
        """Width and height, in inches, of a figure that the picture fits."""
        return style.WIDTH, style.bar_height(min(self.most, len(self.features)), head=0.95)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw a mark per input; on an axis of powers of ten if relevances differ much.

        Parameters
        ----------
        ax : matplotlib axes, optional

        Returns
        -------
        display : RelevanceDisplay
            This object.
        """
        order = np.argsort(-self.relevances, kind="stable")[: self.most]
        n, values = len(order), self.relevances[order]
        ax = style.new_axes(ax, self.size)
        self.ax_, self.figure_ = ax, ax.figure
        style.dress(ax, grid="x", left=False)
        self.features_ = [self.features[i] for i in order]
        start = self._set_scale(values)
        ax.hlines(np.arange(n), start, values, color=style.SECOND, linewidth=1.2, alpha=0.5)
        self.marks_ = ax.plot(
            np.maximum(values, start),
            np.arange(n),
            "o",
            markersize=6,
            color=style.SECOND,
            clip_on=False,
            zorder=3,
        )[0]
        ax.set_ylim(n - 0.4, -0.6)
        style.name_ticks(ax.yaxis, range(n), self.features_, most=28)
        left = "" if n == len(self.features) else f" ({n} of {len(self.features)} inputs)"
        parts = [self.name]
        if self.evidence is not None:
            parts.append(f"log evidence {self.evidence:.1f}".replace("-", "−"))
        title = ", ".join(part for part in parts if part)
        style.name_axes(ax, f"relevance κ{left}", title=title or None)
        return self

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
