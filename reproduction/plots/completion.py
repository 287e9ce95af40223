"""Errors on ratings with missing entries against training size, by what is done about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from echelon._utils.types import Array
from echelon.gaussian_process.imputation import LowRankImputer
from echelon.metrics.significance import Summary

from ..protocol import Split
from ..ratings import RatingProblem, rating_problem, read_ratings
from .exhibit import BLUE, GREEN, VERMILION, Exhibit, Sheet, Tell, register_kind
from .trials import TRIAL_MEASURES, Trials, heading, run_trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_COLOURS = (VERMILION, BLUE, GREEN)
_FILLS = ("#F4CDB5", "#BBD9EA", "#B8E2D5")
#: width of the boxes of one training size, of the space that they have
_WIDTH = 0.75
_MEAN, _LOW_RANK = "mean imputation", "low-rank completion"


@dataclass(frozen=True)
class Case:
    """The models on one set of ratings with one training size, completed in one way."""

    label: str
    completion: str
    training: int
    trials: list[Trials]


@dataclass(frozen=True)
class Completion(Exhibit):
    """All cases; models are in the same order in each."""

    cases: list[Case]
    setting: str

    size: ClassVar[tuple[float, float]] = (11.0, 6.4)

    def sheets(self) -> list[Sheet]:
        """What completion does, then the errors of all cases."""
        return [self._gains(), *(self._errors(measure) for measure in TRIAL_MEASURES)]

    def draw(self, canvas: Canvas) -> None:
        """A column per set and completion, a line per measure."""
        groups = list(dict.fromkeys((case.label, case.completion) for case in self.cases))
        plots = canvas.subplots(
            len(TRIAL_MEASURES), len(groups), sharex="col", sharey=False, squeeze=False
        )
        for line, measure in zip(plots, TRIAL_MEASURES, strict=True):
            for axes, (label, completion) in zip(line, groups, strict=True):
                chosen = [c for c in self.cases if (c.label, c.completion) == (label, completion)]
                _draw_boxes(axes, chosen, measure)
                axes.set_ylim(*self._range(label, measure))
            line[0].set_ylabel(heading(measure))
        for axes, (label, completion) in zip(plots[0], groups, strict=True):
            axes.set_title(f"{label}\n{completion}", fontsize=10)
        for axes in plots[-1]:
            axes.set_xlabel("training items")
        canvas.legend(
            handles=self._legend(), loc="outside lower center", ncols=3, frameon=False, fontsize=9
        )

    def _range(self, label: str, measure: str) -> tuple[float, float]:
        """The same limits for both completions of a set, so that they can be compared."""
        values = np.concatenate(
            [t.errors[measure] for c in self.cases if c.label == label for t in c.trials]
        )
        room = 0.05 * max(float(np.ptp(values)), 1e-3)
        return float(values.min()) - room, float(values.max()) + room

    def _legend(self) -> list[Any]:
        from matplotlib.patches import Patch

        return [
            Patch(facecolor=fill, edgecolor=colour, label=trials.short)
            for trials, colour, fill in zip(self.cases[0].trials, _COLOURS, _FILLS, strict=True)
        ]

    def _gains(self) -> Sheet:
        """Error after low-rank completion less that after mean imputation, trial by trial."""
        rows = []
        for case in (c for c in self.cases if c.completion == _MEAN):
            other = next(
                c
                for c in self.cases
                if (c.label, c.completion, c.training) == (case.label, _LOW_RANK, case.training)
            )
            for before, after in zip(case.trials, other.trials, strict=True):
                differences = [
                    Summary.of((after.errors[measure] - before.errors[measure]).tolist())
                    for measure in TRIAL_MEASURES
                ]
                texts = [_signed(value) for value in differences]
                rows.append([case.label, str(case.training), before.short, *texts])
        caption = (
            "Error after low-rank completion less that after mean imputation on the same trials, "
            "mean ± standard error; below zero, completion helps:"
        )
        titles = [f"Difference of {heading(measure)}" for measure in TRIAL_MEASURES]
        return Sheet(caption, ("Ratings", "Training items", "Model", *titles), rows)

    def _errors(self, measure: str) -> Sheet:
        rows = [
            [
                case.label,
                case.completion,
                str(case.training),
                *(trials.text(measure) for trials in case.trials),
            ]
            for case in self.cases
        ]
        models = [trials.short for trials in self.cases[0].trials]
        caption = f"{heading(measure).capitalize()}, mean ± standard deviation over the trials:"
        return Sheet(caption, ("Ratings", "Missing entries", "Training items", *models), rows)


@register_kind("completion")
def measure_completion(
    *,
    models: list[str],
    sets: Mapping[str, Mapping[str, Any]],
    rank: int,
    sizes: list[int],
    trials: int,
    seed: int,
    tell: Tell,
) -> Completion:
    """Run the models on ratings whose missing entries are filled in two ways."""
    cases, facts = [], []
    for name, options in sets.items():
        ratings = read_ratings(name)
        chosen = {key: options[key] for key in ("inputs", "choice", "cuts")}
        problem = rating_problem(ratings, **chosen, seed=seed)
        label = options["label"]
        facts.append(_describe(label, problem))
        for completion, X in _completions(problem.X, rank).items():
            for size in sizes:
                tell(f"{label}, {completion}, {size} training items")
                splits = [_split(X, problem, size, [seed, trial]) for trial in range(trials)]
                found = [run_trials(model, splits, problem.classes) for model in models]
                cases.append(Case(label, completion, size, found))
    setting = (
        f"{'; '.join(facts)}. Missing ratings have the mean of their item, the z-score 0, or are "
        f"filled by `LowRankImputer` with {rank} components, which sees all inputs and no label. "
        "The kernel is the Pearson correlation of two items over the other users. "
        f"{trials} random choices of every number of training items; all others are tested."
    )
    return Completion(cases, setting)


def _describe(label: str, problem: RatingProblem) -> str:
    rows, inputs = problem.X.shape
    constant = np.abs(problem.y - np.median(problem.y)).mean()
    return (
        f"{label}: user {problem.user} on {rows} items, {len(problem.classes)} ranks, from "
        f"{inputs} other users, {100 * problem.observed:.0f}% of whose ratings are there; the "
        f"median rank of all items has a mean absolute error of {constant:.3f}"
    )


def _completions(X: Array, rank: int) -> dict[str, Array]:
    """Inputs by what is done about gaps; the Pearson kernel takes a gap for the row's mean."""
    return {_MEAN: X, _LOW_RANK: LowRankImputer(rank).fit_transform(X)}


def _split(X: Array, problem: RatingProblem, training: int, seed: list[int]) -> Split:
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[:training], order[training:]
    return Split(X[train], problem.y[train], X[test], problem.y[test])


def _draw_boxes(axes: Axes, cases: list[Case], measure: str) -> None:
    """The models side by side at every training size."""
    number = len(cases[0].trials)
    step = _WIDTH / number
    for place in range(number):
        colour = _COLOURS[place]
        offset = (place - (number - 1) / 2) * step
        axes.boxplot(
            [case.trials[place].errors[measure] for case in cases],
            positions=np.arange(len(cases)) + offset,
            widths=0.85 * step,
            manage_ticks=False,
            patch_artist=True,
            boxprops={"facecolor": _FILLS[place], "edgecolor": colour},
            medianprops={"color": "black"},
            whiskerprops={"color": colour},
            capprops={"color": colour},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": colour},
        )
    axes.set_xticks(range(len(cases)), [str(case.training) for case in cases])
    axes.grid(axis="y", color="0.9", linewidth=0.8)


def _signed(difference: Summary) -> str:
    text = f"{difference.mean:+.3f}".replace("-", "−")
    return text if np.isnan(difference.se) else f"{text} ± {difference.se:.3f}"
