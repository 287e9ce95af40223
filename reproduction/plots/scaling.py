"""Training time against the number of rows, on logarithmic scales, with the slopes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from ..models import Problem, fixed
from ..protocol import Protocol, draw_split, load
from .exhibit import BLUE, GREEN, VERMILION, Exhibit, Sheet, Tell, register_kind
from .timing import fit_seconds, machine, power_law, seconds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

#: Sizes from here on have a slope of their own, as fixed costs flatten the small ones.
_LARGE = 1000
_STYLES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), ("black", "D"))


@dataclass(frozen=True)
class Course:
    """CPU seconds of one model with one number of classes, a figure per size."""

    model: str
    bins: int
    sizes: list[int]
    seconds: list[float]

    def line(self, smallest: int = 0) -> tuple[float, float]:
        """Slope and intercept of ln seconds on ln size, by least squares; NaN for one size."""
        return power_law(self.sizes, self.seconds, smallest)


@dataclass(frozen=True)
class Scaling(Exhibit):
    """A course per model and number of classes."""

    courses: list[Course]
    setting: str

    size: ClassVar[tuple[float, float]] = (10.0, 4.4)

    def sheets(self) -> list[Sheet]:
        """Slopes and costs, then every measurement."""
        largest = self.courses[0].sizes[-1]
        first, fewest = self.courses[0].model, min(course.bins for course in self.courses)
        rows = [
            [
                course.model,
                str(course.bins),
                _decimals(course.line()[0]),
                _decimals(course.line(_LARGE)[0]),
                seconds_text(course.seconds[-1]),
                _decimals(course.seconds[-1] / self._find(first, course.bins).seconds[-1]),
                _decimals(course.seconds[-1] / self._find(course.model, fewest).seconds[-1]),
            ]
            for course in self.courses
        ]
        headings = (
            "Model",
            "Bins",
            "Slope",
            f"Slope from {_LARGE:,} rows",
            f"Seconds at {largest:,}",
            f"times {first}",
            f"times {fewest} bins",
        )
        caption = (
            "Slopes of log seconds on log rows by least squares, and costs at the largest size:"
        )
        return [Sheet(caption, headings, rows), self._every_measurement()]

    def draw(self, canvas: Canvas) -> None:
        """A panel per number of classes."""
        bins = sorted({course.bins for course in self.courses})
        plots = canvas.subplots(1, len(bins), sharex=True, sharey=True, squeeze=False)[0]
        for axes, number in zip(plots, bins, strict=True):
            chosen = [course for course in self.courses if course.bins == number]
            for course, style in zip(chosen, _STYLES, strict=False):
                _draw_course(axes, course, *style)
            axes.set_title(f"{number} bins", fontsize=11)
            axes.set_xscale("log")
            axes.set_yscale("log")
            axes.set_xlabel("training rows")
            axes.grid(which="major", color="0.88", linewidth=0.8)
            axes.legend(frameon=False, fontsize=9, loc="upper left")
        plots[0].set_ylabel("CPU seconds")

    def _find(self, model: str, bins: int) -> Course:
        return next(c for c in self.courses if (c.model, c.bins) == (model, bins))

    def _every_measurement(self) -> Sheet:
        headings = ("Rows", *(f"{c.model}, {c.bins} bins" for c in self.courses))
        rows = [
            [f"{n:,}", *(seconds_text(course.seconds[place]) for course in self.courses)]
            for place, n in enumerate(self.courses[0].sizes)
        ]
        return Sheet("CPU seconds of every fit:", headings, rows)


@register_kind("scaling")
def measure_scaling(
    *,
    set: str,
    models: list[str],
    bins: list[int],
    smallest: int,
    largest: int,
    sizes: int,
    repeats: int,
    C: float,
    kappa: float,
    seed: int,
    tell: Tell,
) -> Scaling:
    """Time every model on random selections of the rows, with sizes in equal ratios."""
    steps = np.unique(np.round(np.geomspace(smallest, largest, sizes)).astype(int)).tolist()
    courses = []
    for number in bins:
        data = load(set, Protocol(number, seed))
        splits = [draw_split(data, n, seed=seed, index=i) for i, n in enumerate(steps)]
        for name in models:
            model = fixed(name, Problem(data.classes, 0), C=C, kappa=kappa)
            model.fit(splits[0].X_train, splits[0].y_train)  # imports are not to be timed
            seconds = []
            for n, split in zip(steps, splits, strict=True):
                tell(f"{name}, {number} bins, {n} rows")
                seconds.append(min(fit_seconds(model, split) for _ in range(repeats)))
            courses.append(Course(name, number, steps, seconds))
    times = "one fit" if repeats == 1 else f"the fastest of {repeats} fits"
    setting = (
        f"Rows drawn at random from {set}, {len(steps)} sizes from {steps[0]:,} to {steps[-1]:,}; "
        f"equal-frequency bins; inputs standardised; Gaussian kernel with κ = {kappa:g}, "
        f"C = {C:g}. CPU seconds of {times} in one thread, on {machine()}."
    )
    return Scaling(courses, setting)


def _draw_course(axes: Axes, course: Course, colour: str, marker: str) -> None:
    slope, intercept = course.line()
    label = f"{course.model}, slope {slope:.2f}"
    axes.plot(
        course.sizes,
        course.seconds,
        color=colour,
        marker=marker,
        markersize=4.5,
        linestyle="none",
        label=label,
    )
    ends = np.array([course.sizes[0], course.sizes[-1]], dtype=np.float64)
    axes.plot(ends, np.exp(intercept) * ends**slope, color=colour, linewidth=1.1, alpha=0.8)


def _decimals(value: float) -> str:
    return "–" if np.isnan(value) else f"{value:.2f}"
