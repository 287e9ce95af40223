"""Errors against the number of inputs that are kept, the most relevant ones by evidence."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from ..models import Problem, get_model
from ..protocol import Population, Protocol, Source, Split, draw_split, load_splits
from .exhibit import BLUE, VERMILION, Exhibit, Sheet, Tell, register_kind
from .trials import TRIAL_MEASURES, Trials, heading, run_trials

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_COLOURS = {"absolute": BLUE, "zero_one": VERMILION}
_FILLS = {"absolute": "#BBD9EA", "zero_one": "#F4CDB5"}
#: width of a box on the axis of log2
_WIDTH = 0.34


@dataclass(frozen=True)
class Stage:
    """The models with some number of inputs of one set."""

    label: str
    kept: int
    trials: list[Trials]


@dataclass(frozen=True)
class Selection(Exhibit):
    """All stages, from all inputs to one; models are in the same order in each."""

    stages: list[Stage]
    setting: str

    size: ClassVar[tuple[float, float]] = (10.0, 8.6)

    def sheets(self) -> list[Sheet]:
        """A table of errors for every measure."""
        models = [trials.short for trials in self.stages[0].trials]
        return [
            Sheet(
                f"{heading(measure).capitalize()}, mean ± standard deviation over the trials:",
                ("Set", "Inputs kept", *models),
                [
                    [stage.label, str(stage.kept), *(t.text(measure) for t in stage.trials)]
                    for stage in self.stages
                ],
            )
            for measure in TRIAL_MEASURES
        ]

    def draw(self, canvas: Canvas) -> None:
        """A line per set, a panel per model."""
        labels = list(dict.fromkeys(stage.label for stage in self.stages))
        models = [trials.short for trials in self.stages[0].trials]
        plots = canvas.subplots(len(labels), len(models), sharey="row", squeeze=False)
        for line, label in zip(plots, labels, strict=True):
            stages = [stage for stage in self.stages if stage.label == label]
            for place, axes in enumerate(line):
                _draw_boxes(axes, stages, place)
                axes.set_ylim(0.0, _top(stages))
                axes.set_title(f"{label}, {models[place]}", fontsize=10)
            line[0].set_ylabel("error")
        for axes in plots[-1]:
            axes.set_xlabel("inputs kept")
        canvas.legend(
            handles=_legend(), loc="outside lower center", ncols=2, frameon=False, fontsize=9
        )


@register_kind("selection")
def measure_selection(
    *,
    models: list[str],
    sets: Mapping[str, Mapping[str, Any]],
    trials: int,
    seed: int,
    tell: Tell,
) -> Selection:
    """Rank the inputs by the first model, and run the others on the best of them."""
    ranker, *others = models
    stages, facts, unfinished = [], [], 0
    for name, options in sets.items():
        source, label, training = _source(name, options), options["label"], options["training"]
        splits = [draw_split(source, training, seed=seed, index=i) for i in range(trials)]
        tell(f"{label}: ranking the inputs, {trials} times")
        rankers = [_fit_ranker(ranker, s, source.classes, i) for i, s in enumerate(splits)]
        orders = [model.select_features(model.n_features_in_) for model in rankers]
        unfinished += sum(not model.converged_ for model in rankers)
        inputs = splits[0].X_train.shape[1]
        facts.append(f"{label}: {inputs} inputs, {training} training rows, {options['about']}")
        for kept in _numbers(inputs):
            tell(f"{label}: {kept} inputs")
            parts = [_keep(s, order[:kept]) for s, order in zip(splits, orders, strict=True)]
            found = [run_trials(model, parts, source.classes) for model in others]
            stages.append(Stage(label, kept, found))
    setting = (
        f"{'; '.join(facts)}. In each of {trials} trials the inputs, standardised by the training "
        f"part, are ranked on that part by {ranker}; the models then have the most relevant of "
        f"them and a linear kernel. Of the {trials * len(sets)} searches for relevances, "
        f"{unfinished} ended at their limit of iterations."
    )
    return Selection(stages, setting)


def _source(name: str, options: Mapping[str, Any]) -> Source:
    """Published splits of a set, or a distribution to draw from."""
    if "generator" not in options:
        return load_splits(name, Protocol(options["bins"], splits=options["splits"]))
    drawn = options["options"]
    classes = tuple(range(1, drawn["n_classes"] + 1))
    return Population(options["generator"], options["test"], classes, drawn)


def _fit_ranker(name: str, split: Split, classes: tuple[Any, ...], seed: int) -> Any:
    """A model with a relevance for each input."""
    with warnings.catch_warnings():
        # The page counts the searches that ended early; the ranking is there all the same.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return get_model(name).build(Problem(classes, seed)).fit(split.X_train, split.y_train)


def _keep(split: Split, columns: npt.NDArray[np.intp]) -> Split:
    return replace(split, X_train=split.X_train[:, columns], X_test=split.X_test[:, columns])


def _numbers(inputs: int) -> list[int]:
    """All inputs, and the powers of two below their number.

    Examples
    --------
    >>> _numbers(27)
    [27, 16, 8, 4, 2, 1]
    """
    powers = [2**k for k in range(inputs.bit_length()) if 2**k < inputs]
    return [inputs, *reversed(powers)]


def _draw_boxes(axes: Axes, stages: list[Stage], place: int) -> None:
    """A box from the mean less the standard deviation to the mean plus it, a rung at the mean."""
    from matplotlib.patches import Rectangle

    centres = np.log2([stage.kept for stage in stages])
    for shift, measure in zip((-0.5, 0.5), TRIAL_MEASURES, strict=True):
        colour = _COLOURS[measure]
        errors = [stage.trials[place].errors[measure] for stage in stages]
        means = np.array([values.mean() for values in errors])
        spreads = np.array([_spread(values) for values in errors])
        left = centres + (shift - 0.5) * _WIDTH
        for x, mean, spread in zip(left, means, spreads, strict=True):
            axes.add_patch(
                Rectangle((x, mean - spread), _WIDTH, 2 * spread, facecolor=_FILLS[measure])
            )
        axes.hlines(means, left, left + _WIDTH, colors=colour, linewidth=2.0)
        axes.plot(left + _WIDTH / 2, means, color=colour, linewidth=0.7, alpha=0.7)
    axes.set_xticks(centres, [str(stage.kept) for stage in stages], fontsize=8)
    axes.set_xlim(centres.min() - 2 * _WIDTH, centres.max() + 2 * _WIDTH)
    axes.grid(axis="y", color="0.9", linewidth=0.8)


def _top(stages: list[Stage]) -> float:
    """Upper end of the axis that the panels of a set share."""
    return 1.05 * max(
        float(values.mean()) + _spread(values)
        for stage in stages
        for trials in stage.trials
        for values in trials.errors.values()
    )


def _spread(values: npt.NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def _legend() -> list[Any]:
    from matplotlib.patches import Patch

    return [
        Patch(facecolor=_FILLS[measure], edgecolor=colour, label=heading(measure))
        for measure, colour in _COLOURS.items()
    ]
