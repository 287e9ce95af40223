"""Errors against the number of rules, time against rows and coverage of rules, by technique."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from echelon._utils.types import Array

from ..models import Problem, get_model
from ..protocol import Population, Split, draw_split
from .exhibit import (
    BLUE,
    GREEN,
    ORANGE,
    PURPLE,
    SKY,
    VERMILION,
    Exhibit,
    Sheet,
    Tell,
    register_kind,
)
from .timing import fit_seconds, machine, power_law, seconds_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


_COLOURS = (BLUE, GREEN, SKY, PURPLE, VERMILION, ORANGE)
#: numbers of rules whose errors are on the page
_CHECKPOINTS = (10, 50, 100, 200, 500, 1000)
#: equal parts of the rounds whose coverage is on the page
_PARTS = 4
#: rounds before this one do not decide how far up the errors are drawn
_SETTLED = 30


@dataclass(frozen=True)
class Variant:
    """One model: test error and rows on the smaller side of the rule, a figure per round."""

    model: str
    regularised: bool
    errors: Array
    coverage: Array

    @property
    def label(self) -> str:
        """The technique alone, as in ``CS 0.1``."""
        return self.model.removeprefix("RankRules ").partition(" (")[0]


@dataclass(frozen=True)
class Course:
    """CPU seconds with one share of rows per rule, a figure per size."""

    subsample: float
    sizes: list[int]
    seconds: list[float]


@dataclass(frozen=True)
class Techniques(Exhibit):
    """All variants and the courses of time; `window` rounds are averaged in the last panel."""

    variants: list[Variant]
    courses: list[Course]
    window: int
    setting: str

    size: ClassVar[tuple[float, float]] = (10.0, 8.0)

    def sheets(self) -> list[Sheet]:
        """Errors, seconds and coverage."""
        return [self._errors(), self._seconds(), self._coverage()]

    def draw(self, canvas: Canvas) -> None:
        """Errors without and with regularisation, time, coverage."""
        (plain, regularised), (time, coverage) = canvas.subplots(2, 2)
        self._draw_errors(plain, [v for v in self.variants if not v.regularised], "Unregularised")
        self._draw_errors(regularised, self._regularised, "Regularised")
        self._draw_time(time)
        self._draw_coverage(coverage)

    @property
    def _regularised(self) -> list[Variant]:
        return [variant for variant in self.variants if variant.regularised]

    def _errors(self) -> Sheet:
        rounds = [m for m in _CHECKPOINTS if m <= len(self.variants[0].errors)]
        rows = [
            [
                variant.model,
                *(f"{variant.errors[m - 1]:.3f}" for m in rounds),
                f"{variant.errors.min():.3f}",
                f"{int(variant.errors.argmin()) + 1:,}",
            ]
            for variant in self.variants
        ]
        headings = ("Model", *(f"M = {m:,}" for m in rounds), "Lowest", "at M")
        return Sheet("Mean absolute error on the test part after M rules:", headings, rows)

    def _seconds(self) -> Sheet:
        headings = ("Rows", *(f"ζ = {course.subsample:g}" for course in self.courses))
        rows = [
            [f"{n:,}", *(seconds_text(course.seconds[place]) for course in self.courses)]
            for place, n in enumerate(self.courses[0].sizes)
        ]
        slopes = [power_law(course.sizes, course.seconds)[0] for course in self.courses]
        rows.append(["slope", *(f"{slope:.2f}" for slope in slopes)])
        caption = "CPU seconds of a fit, and slopes of log seconds on log rows by least squares:"
        return Sheet(caption, headings, rows)

    def _coverage(self) -> Sheet:
        bounds = np.linspace(0, len(self.variants[0].coverage), _PARTS + 1).astype(int)
        parts = list(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        rows = [
            [variant.model, *(f"{variant.coverage[low:high].mean():.1f}" for low, high in parts)]
            for variant in self._regularised
        ]
        headings = ("Model", *(f"rules {low + 1:,} to {high:,}" for low, high in parts))
        caption = "Rows that a rule covers or leaves out, whichever are fewer, mean over rules:"
        return Sheet(caption, headings, rows)

    def _draw_errors(self, axes: Axes, variants: list[Variant], title: str) -> None:
        for variant, colour in zip(variants, _COLOURS, strict=False):
            _draw_curve(axes, variant.errors, colour, variant.label)
        settled = np.array([variant.errors[_SETTLED:] for variant in self.variants])
        everything = np.array([variant.errors for variant in self.variants])
        top = settled.max() if settled.size else everything.max()
        axes.set_ylim(everything.min() - 0.03, top + 0.03)
        axes.set(title=title, xlabel="rules M", ylabel="mean absolute error")
        _finish(axes)

    def _draw_time(self, axes: Axes) -> None:
        for course, colour in zip(self.courses, _COLOURS[::4], strict=False):
            slope, _ = power_law(course.sizes, course.seconds)
            label = f"ζ = {course.subsample:g}, slope {slope:.2f}"
            axes.plot(
                course.sizes, course.seconds, color=colour, marker="o", markersize=4, label=label
            )
        axes.set(title="Computing time", xlabel="training rows N", ylabel="CPU seconds")
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        _finish(axes)

    def _draw_coverage(self, axes: Axes) -> None:
        for variant, colour in zip(self._regularised, _COLOURS, strict=False):
            _draw_curve(axes, smooth(variant.coverage, self.window), colour, variant.label)
        axes.set(
            title="Coverage of regularised rules, smoothed",
            xlabel="rule m",
            ylabel="rows covered or left out",
        )
        axes.set_ylim(bottom=0)
        _finish(axes)


@register_kind("techniques")
def measure_techniques(
    *,
    models: list[str],
    generator: str,
    classes: int,
    rows: int,
    test_rows: int,
    repeats: int,
    timed: str,
    subsamples: list[float],
    sizes: list[int],
    window: int,
    seed: int,
    tell: Tell,
) -> Techniques:
    """Fit every model to fresh data some times, and one model to data of growing size."""
    population = Population(generator, test_rows, tuple(range(1, classes + 1)))
    splits = [draw_split(population, rows, seed=seed, index=index) for index in range(repeats)]
    variants = []
    for name in models:
        tell(f"fitting {name}, {repeats} times")
        variants.append(_follow(name, population, splits))
    larger = [draw_split(population, n, seed=seed, index=repeats + i) for i, n in enumerate(sizes)]
    courses = []
    for share in subsamples:
        model = get_model(timed).build(Problem(population.classes, 0)).set_params(subsample=share)
        model.fit(larger[0].X_train, larger[0].y_train)  # imports are not to be timed
        tell(f"timing {timed} with ζ = {share:g}")
        courses.append(Course(share, sizes, [fit_seconds(model, split) for split in larger]))
    setting = (
        f"Errors and coverage are means over {repeats} draws of {rows:,} training and "
        f"{test_rows:,} test rows of `{generator}`. The seconds are CPU seconds of {timed} in "
        f"one thread, on {machine()}. The curves of coverage are running means over {window} rules."
    )
    return Techniques(variants, courses, window, setting)


def _follow(name: str, population: Population, splits: list[Split]) -> Variant:
    """Errors and coverage of one model after every round, means over the splits."""
    errors, coverage, regularised = [], [], False
    for index, split in enumerate(splits):
        model = get_model(name).build(Problem(population.classes, index))
        regularised = model.shrinkage < 1.0 or model.subsample < 1.0
        model.fit(split.X_train, split.y_train)
        # The labels are ranks.
        course = [np.abs(y - split.y_test).mean() for y in model.staged_predict(split.X_test)]
        errors.append(_fill(course, model.n_rules))
        share = np.asarray(model.coverages_)
        fewer = len(split.y_train) * np.minimum(share, 1.0 - share)
        coverage.append(_fill(fewer, model.n_rules))
    return Variant(name, regularised, np.mean(errors, axis=0), np.mean(coverage, axis=0))


def _fill(values: Sequence[float] | Array, length: int) -> Array:
    """A figure per round; an ensemble that ended early stays as it is."""
    return np.pad(np.asarray(values, dtype=np.float64), (0, length - len(values)), mode="edge")


def smooth(values: Array, window: int) -> Array:
    """Mean over the values within half a window, fewer towards the ends.

    Examples
    --------
    >>> smooth(np.array([1.0, 3.0, 5.0, 7.0]), 3).tolist()
    [2.0, 3.0, 5.0, 6.0]
    """
    half = window // 2
    sums = np.concatenate([[0.0], np.cumsum(values)])
    places = np.arange(len(values))
    low, high = np.maximum(places - half, 0), np.minimum(places + half + 1, len(values))
    return np.asarray((sums[high] - sums[low]) / (high - low))


def _draw_curve(axes: Axes, values: Array, colour: str, label: str) -> None:
    # Every fifth round of the later ones, to keep the file small.
    places = np.arange(len(values))
    shown = places[(places < 100) | (places % 5 == 4)]
    axes.plot(shown + 1, values[shown], color=colour, linewidth=1.3, label=label)


def _finish(axes: Any) -> None:
    axes.grid(color="0.9", linewidth=0.8)
    axes.legend(frameon=False, fontsize=9, ncols=2)
