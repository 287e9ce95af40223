"""Regions of the unit square that an ensemble gives each rank, after some numbers of rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from echelon._utils.types import Array
from echelon.datasets import make_quadratic_ordinal
from echelon.metrics import mean_absolute_rank_error

from ..errors import ReproductionError
from ..models import Problem, get_model
from .exhibit import Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


#: cells of the grid along each side
_CELLS = 240
#: from the lowest rank to the highest, light enough for the points to stand out
_FILLS = ("#F7FBFF", "#D6E5F4", "#A6CAE6", "#6BA3D0")
_POINTS: tuple[dict[str, Any], ...] = (
    {"marker": "o", "markerfacecolor": "white"},
    {"marker": "^", "markerfacecolor": "#F6C141"},
    {"marker": "s", "markerfacecolor": "#E8601C"},
    {"marker": "D", "markerfacecolor": "#72190E"},
)


@dataclass(frozen=True)
class Curves:
    """The true boundaries x₂ = height + curvature·(x₁ − ½)²."""

    curvature: float
    heights: Sequence[float]

    def ordinates(self, x: Array) -> Array:
        """x₂ of every curve, a row each."""
        return np.add.outer(self.heights, self.curvature * (x - 0.5) ** 2)

    def ranks(self, X: Array) -> npt.NDArray[np.intp]:
        """One plus the number of curves below each point."""
        return np.asarray(1 + (X[:, 1] > self.ordinates(X[:, 0])).sum(axis=0), dtype=np.intp)


@dataclass(frozen=True)
class Stage:
    """The ensemble after some rounds: ranks on the grid, and its mean costs."""

    rounds: int
    ranks: npt.NDArray[np.intp]
    training_cost: float
    test_cost: float


@dataclass(frozen=True)
class Regions(Exhibit):
    """Rows with their ranks, the true boundaries, and a stage per number of rounds."""

    model: str
    X: Array
    y: npt.NDArray[np.intp]
    curves: Curves
    stages: list[Stage]
    setting: str

    size: ClassVar[tuple[float, float]] = (10.0, 3.7)

    def sheets(self) -> list[Sheet]:
        """Costs after every number of rounds that is drawn."""
        rows = [
            [f"{stage.rounds:,}", f"{stage.training_cost:.3f}", f"{stage.test_cost:.3f}"]
            for stage in self.stages
        ]
        headings = ("Rounds T", "Training cost", "Test cost")
        return [Sheet("Mean absolute error of the ranks:", headings, rows)]

    def draw(self, canvas: Canvas) -> None:
        """A panel per stage, side by side."""
        plots = canvas.subplots(1, len(self.stages), sharex=True, sharey=True, squeeze=False)[0]
        for axes, stage in zip(plots, self.stages, strict=True):
            self._draw_panel(axes, stage)
        plots[0].set_ylabel("x₂")
        canvas.legend(
            handles=self._legend(), loc="outside lower center", ncols=5, frameon=False, fontsize=9
        )

    def _draw_panel(self, axes: Axes, stage: Stage) -> None:
        from matplotlib.colors import ListedColormap

        axes.imshow(
            stage.ranks,
            extent=(0.0, 1.0, 0.0, 1.0),
            origin="lower",
            interpolation="none",
            cmap=ListedColormap(_FILLS),
            vmin=0.5,
            vmax=len(_FILLS) + 0.5,
        )
        for rank, mark in enumerate(_POINTS, start=1):
            points = self.X[self.y == rank]
            axes.plot(*points.T, linestyle="none", **_point_style(mark))
        x = np.linspace(0.0, 1.0, 101)
        for curve in self.curves.ordinates(x):
            axes.plot(x, curve, color="black", linewidth=1.3, zorder=3)
        axes.set(xlim=(0.0, 1.0), ylim=(0.0, 1.0), xlabel="x₁", xticks=[0, 0.5, 1])
        axes.set_yticks([0, 0.5, 1])
        axes.set_title(
            f"T = {stage.rounds:,}\ntraining {stage.training_cost:.3f}, test {stage.test_cost:.3f}",
            fontsize=10,
        )

    def _legend(self) -> list[Any]:
        from matplotlib.lines import Line2D
        from matplotlib.patches import Patch

        points = [
            Line2D([], [], linestyle="none", label=f"rank {rank}", **_point_style(mark))
            for rank, mark in enumerate(_POINTS, start=1)
        ]
        fills = [
            Patch(facecolor=fill, edgecolor="0.6", linewidth=0.6, label=f"predicted {rank}")
            for rank, fill in enumerate(_FILLS, start=1)
        ]
        line = Line2D([], [], color="black", linewidth=1.3, label="true boundary")
        pairs = [handle for pair in zip(points, fills, strict=True) for handle in pair]
        return [*pairs, line]


@register_kind("regions")
def measure_regions(
    *,
    models: list[str],
    rows: int,
    test_rows: int,
    rounds: list[int],
    seed: int,
    curves: dict[str, Any],
    tell: Tell,
) -> Regions:
    """Fit one ensemble and look at it after each of some numbers of rounds."""
    (name,) = models
    truth = Curves(**curves)
    X, y = make_quadratic_ordinal(rows, random_state=seed)
    X_test, y_test = make_quadratic_ordinal(test_rows, random_state=seed + 1)
    classes = tuple(range(1, len(truth.heights) + 2))
    tell(f"fitting {name}")
    model = get_model(name).build(Problem(classes, seed)).fit(X, y)
    tell("predicting after every round")
    course = zip(*(model.staged_predict(part) for part in (X, X_test, _grid())), strict=True)
    stages = [
        Stage(
            number,
            np.asarray(on_grid, dtype=np.intp).reshape(_CELLS, _CELLS),
            mean_absolute_rank_error(y, on_training, classes=classes),
            mean_absolute_rank_error(y_test, on_test, classes=classes),
        )
        for number, (on_training, on_test, on_grid) in enumerate(course, start=1)
        if number in rounds
    ]
    if len(stages) < len(rounds):
        raise ReproductionError(f"{name} ended before the {rounds[len(stages)]:,} rounds to draw.")
    setting = (
        f"{rows:,} points uniform on the unit square, ranks without noise; the test cost is over "
        f"{test_rows:,} more. One ensemble is fitted and its rankers of the first T rounds vote."
    )
    return Regions(name, X, y, truth, stages, setting)


def _grid() -> Array:
    """Midpoints of the cells, the lowest line first."""
    middle = (np.arange(_CELLS) + 0.5) / _CELLS
    return np.stack([part.ravel() for part in np.meshgrid(middle, middle)], axis=1)


def _point_style(mark: dict[str, Any]) -> dict[str, Any]:
    return {"markersize": 2.6, "markeredgecolor": "0.2", "markeredgewidth": 0.35, **mark}
