"""Latent scores of two inputs as contours, with the thresholds of each model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from ..models import Problem, fixed
from ..protocol import fetch
from .exhibit import BLUE, VERMILION, Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

Array = npt.NDArray[np.float64]

#: points of the grid along each input
_POINTS = 31
_MARGIN = 0.08
#: open circle, dot, open square, as in [CK07]
_MARKS: tuple[dict[str, Any], ...] = (
    {"marker": "o", "markerfacecolor": "white", "markersize": 7},
    {"marker": "o", "markerfacecolor": "black", "markersize": 4},
    {"marker": "s", "markerfacecolor": "white", "markersize": 6},
)
_LINES: tuple[dict[str, Any], ...] = (
    {"colors": BLUE, "linewidths": 3.2, "linestyles": "solid"},
    {"colors": VERMILION, "linewidths": 1.8, "linestyles": "dashed"},
)


@dataclass(frozen=True)
class Panel:
    """One model: its thresholds, scores on the grid and the accuracy of both."""

    model: str
    thresholds: Array
    scores: Array
    tol: float
    kkt_gap: float

    @property
    def order(self) -> str:
        """Whether the thresholds ascend, by more than the tolerance of the fit."""
        step = np.diff(self.thresholds).min()
        if abs(step) <= self.tol:
            return "equal"
        return "ordered" if step > 0.0 else "disordered"


@dataclass(frozen=True)
class Contours(Exhibit):
    """Rows in their own units, the grid's axes, and a panel per model."""

    X: Array
    codes: npt.NDArray[np.intp]
    axes: tuple[Array, Array]
    panels: list[Panel]
    label_names: list[str]
    input_names: list[str]
    setting: str

    size: ClassVar[tuple[float, float]] = (10.0, 4.1)

    def sheets(self) -> list[Sheet]:
        """Thresholds of every model."""
        numbers = [f"b{_subscript(k)}" for k in range(1, len(self.panels[0].thresholds) + 1)]
        rows = [
            [
                panel.model,
                *(_number(value) for value in panel.thresholds),
                panel.order,
                f"{panel.kkt_gap:.1e}",
            ]
            for panel in self.panels
        ]
        headings = ("Model", *numbers, "Thresholds", "KKT gap")
        return [Sheet("Thresholds:", headings, rows)]

    def draw(self, canvas: Canvas) -> None:
        """A panel per model, side by side."""
        plots = canvas.subplots(1, len(self.panels), sharex=True, sharey=True, squeeze=False)[0]
        for axes, panel in zip(plots, self.panels, strict=True):
            self._draw_panel(axes, panel)
        plots[0].set_ylabel(self.input_names[1])
        plots[len(plots) // 2].set_xlabel(self.input_names[0])
        canvas.legend(
            handles=self._legend(), loc="outside lower center", ncols=5, frameon=False, fontsize=9
        )

    def _draw_panel(self, axes: Axes, panel: Panel) -> None:
        grid = (*self.axes, panel.scores)
        # A filled contour in its place would make the file several times as large.
        axes.imshow(
            panel.scores,
            extent=(*self.axes[0][[0, -1]], *self.axes[1][[0, -1]]),
            origin="lower",
            aspect="auto",
            interpolation="bilinear",
            cmap="Greys",
            alpha=0.3,
        )
        lines = axes.contour(*grid, levels=9, colors="0.55", linewidths=0.6, linestyles="solid")
        axes.clabel(lines, fontsize=6.5, fmt="%.2g", colors="0.25")
        for value, style in zip(panel.thresholds, _LINES, strict=False):
            axes.contour(*grid, levels=[value], **style)
        for code, mark in enumerate(_MARKS[: len(self.label_names)]):
            points = self.X[self.codes == code]
            axes.plot(*points.T, linestyle="none", markeredgecolor="black", zorder=3, **mark)
        values = ", ".join(
            f"b{_subscript(k)} = {_number(value)}"
            for k, value in enumerate(panel.thresholds, start=1)
        )
        axes.set_title(f"{panel.model}: {panel.order} thresholds\n{values}", fontsize=10)

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], linestyle="none", markeredgecolor="black", label=name, **mark)
            for name, mark in zip(self.label_names, _MARKS, strict=False)
        ]
        lines = [
            Line2D(
                [],
                [],
                color=style["colors"],
                linewidth=style["linewidths"],
                linestyle=style["linestyles"],
                label=f"threshold b{_subscript(k)}",
            )
            for k, style in enumerate(_LINES, start=1)
        ]
        return [*marks, *lines]


@register_kind("contours")
def measure_contours(
    *,
    set: str,
    labels: list[Any],
    label_names: list[str],
    input_names: list[str],
    models: list[str],
    C: float,
    kappa: float,
    tell: Tell,
) -> Contours:
    """Fit each model to the rows with one of three labels and evaluate it on a grid."""
    X, y = fetch(set, return_X_y=True)
    kept = np.isin(y, labels)
    X, y = np.asarray(X, dtype=np.float64)[kept], np.asarray(y)[kept]
    axes = _axis(X[:, 0]), _axis(X[:, 1])
    scaler = StandardScaler().fit(X)
    grid = np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1)
    panels = []
    for name in models:
        tell(f"fitting {name}")
        model = fixed(name, Problem(tuple(labels), 0), C=C, kappa=kappa)
        model.fit(scaler.transform(X), y)
        scores = model.predict_latent(scaler.transform(grid)).reshape(_POINTS, _POINTS)
        panels.append(Panel(name, model.thresholds_, scores, model.tol, model.kkt_gap_))
    setting = (
        f"{len(y)} rows of {set}; inputs standardised; Gaussian kernel with κ = {kappa:g}, "
        f"C = {C:g}. Thresholds that differ by no more than the tolerance of the fit, "
        f"{panels[0].tol:g}, are called equal."
    )
    codes = np.array([labels.index(label) for label in y.tolist()], dtype=np.intp)
    return Contours(X, codes, axes, panels, label_names, input_names, setting)


def _axis(values: Array) -> Array:
    """Equal steps over the range of an input and a little beyond."""
    low, high = values.min(), values.max()
    room = _MARGIN * (high - low)
    return np.linspace(low - room, high + room, _POINTS)


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
