"""Latent scores of two inputs as contours, with the thresholds of each model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.preprocessing import StandardScaler

from echelon import datasets
from echelon._utils.types import Array
from echelon.metrics import zero_one_error

from ..models import Problem, fixed, get_model
from ..protocol import fetch
from .exhibit import BLUE, VERMILION, Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


#: points of the grid along each input
_POINTS = 31
_MARGIN = 0.08
#: how the rows of a label are drawn, by the name that a plot's file gives
_MARKS: dict[str, dict[str, Any]] = {
    "circle": {"marker": "o", "markerfacecolor": "white", "markersize": 7},
    "dot": {"marker": "o", "markerfacecolor": "black", "markersize": 4},
    "square": {"marker": "s", "markerfacecolor": "white", "markersize": 6},
    "cross": {"marker": "x", "markersize": 6, "markeredgewidth": 1.6},
}
_LINES: tuple[dict[str, Any], ...] = (
    {"colors": BLUE, "linewidths": 3.2, "linestyles": "solid"},
    {"colors": VERMILION, "linewidths": 1.8, "linestyles": "dashed"},
)


@dataclass(frozen=True)
class Panel:
    """One model: its thresholds, scores on the grid, and what is known of the fit, by heading.

    Thresholds that differ by no more than `tol` are called equal.
    """

    model: str
    thresholds: Array
    scores: Array
    tol: float
    facts: Mapping[str, str]

    @property
    def order(self) -> str:
        """Whether the thresholds ascend, by more than the tolerance of the fit."""
        step = np.diff(self.thresholds).min()
        if abs(step) <= self.tol:
            return "equal"
        return "ordered" if step > 0.0 else "disordered"


@dataclass(frozen=True)
class Sample:
    """Rows in their own units, the grid's axes, and a panel per model; a line of the picture."""

    name: str
    X: Array
    codes: npt.NDArray[np.intp]
    axes: tuple[Array, Array]
    panels: list[Panel]


@dataclass(frozen=True)
class Contours(Exhibit):
    """Samples with the same labels and inputs, a line of panels for each."""

    samples: list[Sample]
    labels: Mapping[str, str]
    input_names: list[str]
    setting: str

    @property
    def size(self) -> tuple[float, float]:
        """Inches; a line of panels is as high as before, whatever their number."""
        return (10.0, 0.6 + 3.5 * len(self.samples))

    def sheets(self) -> list[Sheet]:
        """Thresholds of every model, and what is known of its fit."""
        first = self.samples[0].panels[0]
        numbers = [f"b{_subscript(k)}" for k in range(1, len(first.thresholds) + 1)]
        rows = [
            [
                *([sample.name] if len(self.samples) > 1 else []),
                panel.model,
                *(_number(value) for value in panel.thresholds),
                panel.order,
                *panel.facts.values(),
            ]
            for sample in self.samples
            for panel in sample.panels
        ]
        lead = ("Sample", "Model") if len(self.samples) > 1 else ("Model",)
        return [Sheet("Thresholds:", (*lead, *numbers, "Thresholds", *first.facts), rows)]

    def draw(self, canvas: Canvas) -> None:
        """A panel per model, side by side, a line of them per sample."""
        shape = (len(self.samples), len(self.samples[0].panels))
        plots = canvas.subplots(*shape, sharex=True, sharey=True, squeeze=False)
        for line, sample in zip(plots, self.samples, strict=True):
            for axes, panel in zip(line, sample.panels, strict=True):
                self._draw_panel(axes, sample, panel)
            line[0].set_ylabel(self.input_names[1])
        plots[-1][shape[1] // 2].set_xlabel(self.input_names[0])
        canvas.legend(
            handles=self._legend(), loc="outside lower center", ncols=5, frameon=False, fontsize=9
        )

    def _draw_panel(self, axes: Axes, sample: Sample, panel: Panel) -> None:
        grid = (*sample.axes, panel.scores)
        # A filled contour in its place would make the file several times as large.
        axes.imshow(
            panel.scores,
            extent=(*sample.axes[0][[0, -1]], *sample.axes[1][[0, -1]]),
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
        for code, mark in enumerate(self.labels.values()):
            points = sample.X[sample.codes == code]
            axes.plot(*points.T, linestyle="none", **_mark_style(mark), zorder=3)
        values = ", ".join(
            f"b{_subscript(k)} = {_number(value)}"
            for k, value in enumerate(panel.thresholds, start=1)
        )
        title = f"{panel.model}: {panel.order} thresholds"
        if len(self.samples) > 1:
            title = f"{panel.model}, {sample.name}"
        axes.set_title(f"{title}\n{values}", fontsize=10)

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D

        marks = [
            Line2D([], [], linestyle="none", label=name, **_mark_style(mark))
            for name, mark in self.labels.items()
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
    marks: list[str],
    input_names: list[str],
    models: list[str],
    C: float,
    kappa: float,
    tell: Tell,
) -> Contours:
    """Fit each machine to the rows with one of three labels and evaluate it on a grid."""
    X, y = fetch(set, return_X_y=True)
    kept = np.isin(y, labels)
    X, y = np.asarray(X, dtype=np.float64)[kept], np.asarray(y)[kept]
    problem = Problem(tuple(labels), 0)
    estimators = {name: fixed(name, problem, C=C, kappa=kappa) for name in models}
    sample = _fit_sample(set, X, y, labels, estimators, _machine_facts, tell)
    tol = sample.panels[0].tol
    setting = (
        f"{len(y)} rows of {set}; inputs standardised; Gaussian kernel with κ = {kappa:g}, "
        f"C = {C:g}. Thresholds that differ by no more than the tolerance of the fit, "
        f"{tol:g}, are called equal."
    )
    return Contours([sample], dict(zip(label_names, marks, strict=True)), input_names, setting)


@register_kind("drawn contours")
def measure_drawn_contours(
    *,
    generator: str,
    noises: list[str],
    rows: int,
    test_rows: int,
    label_names: list[str],
    marks: list[str],
    input_names: list[str],
    models: list[str],
    seed: int,
    tell: Tell,
) -> Contours:
    """Fit each model, tuned, to rows drawn at each noise level and evaluate it on a grid."""
    draw, labels = getattr(datasets, generator), list(range(1, len(label_names) + 1))
    samples, least = [], []
    for noise in noises:
        X, y = draw(rows, noise=noise, random_state=seed)
        test = draw(test_rows, noise=noise, random_state=seed + 1, return_truth=True)
        estimators = {name: get_model(name).build(Problem(tuple(labels), 0)) for name in models}
        facts = _tuned_facts(StandardScaler().fit(X), *test[:2])
        samples.append(_fit_sample(f"{noise} noise", X, y, labels, estimators, facts, tell))
        least.append(1.0 - test[2].probabilities.max(axis=1).mean())
    errors = " and ".join(f"{value:.3f}" for value in least)
    setting = (
        f"{rows} rows of `{generator}` at {' and '.join(noises)} noise; inputs standardised; "
        f"Gaussian kernel. Zero-one errors are over {test_rows:,} more rows; the least that any "
        f"model can expect on them is {errors}. Latent scores have a scale of their own in every "
        "panel."
    )
    return Contours(samples, dict(zip(label_names, marks, strict=True)), input_names, setting)


def _fit_sample(
    name: str,
    X: Array,
    y: npt.NDArray[Any],
    labels: list[Any],
    estimators: Mapping[str, Any],
    describe: Callable[[Any], dict[str, str]],
    tell: Tell,
) -> Sample:
    """Fit every estimator to standardised rows and evaluate it on a grid over them."""
    axes = _axis(X[:, 0]), _axis(X[:, 1])
    scaler = StandardScaler().fit(X)
    grid = scaler.transform(np.stack([part.ravel() for part in np.meshgrid(*axes)], axis=1))
    panels = []
    for title, estimator in estimators.items():
        tell(f"fitting {title} to {name}")
        fitted = estimator.fit(scaler.transform(X), y)
        model = getattr(fitted, "best_estimator_", fitted)
        scores = model.predict_latent(grid).reshape(_POINTS, _POINTS)
        tol = getattr(model, "tol", 0.0)
        panels.append(Panel(title, model.thresholds_, scores, tol, describe(model)))
    codes = np.array([labels.index(label) for label in y.tolist()], dtype=np.intp)
    return Sample(name, X, codes, axes, panels)


def _machine_facts(model: Any) -> dict[str, str]:
    return {"KKT gap": f"{model.kkt_gap_:.1e}"}


def _tuned_facts(
    scaler: StandardScaler, X_test: Array, y_test: npt.NDArray[np.intp]
) -> Callable[[Any], dict[str, str]]:
    """What is said of a tuned model: its parameters, how exact its fit is, and its test error."""

    def describe(model: Any) -> dict[str, str]:
        if hasattr(model, "kkt_gap_"):
            parameters = f"κ = {2.0 * model.gamma:.3g}, C = {model.C:.3g}"
            fit = f"KKT gap {model.kkt_gap_:.1e}"
        else:
            kappa = float(model.kernel_.length_scale) ** -2
            parameters = f"κ = {kappa:.3g}, σ = {model.noise_:.3g}"
            evidence = _number(model.log_marginal_likelihood_value_)
            fit = f"log evidence {evidence}, gradient {model.gradient_norm_:.1e}"
        error = zero_one_error(y_test, model.predict(scaler.transform(X_test)))
        return {"Parameters": parameters, "Fit": fit, "Zero-one error": f"{error:.3f}"}

    return describe


def _mark_style(name: str) -> dict[str, Any]:
    return {"markeredgecolor": "black", **_MARKS[name]}


def _axis(values: Array) -> Array:
    """Equal steps over the range of an input and a little beyond."""
    low, high = values.min(), values.max()
    room = _MARGIN * (high - low)
    return np.linspace(low - room, high + room, _POINTS)


def _subscript(number: int) -> str:
    return str(number).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def _number(value: float) -> str:
    return f"{value:.3f}".replace("-", "−")
