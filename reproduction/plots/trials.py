"""Errors of a model over repeated trials, for the plots that show their spread."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from echelon._utils.types import Array

from ..measures import MEASURES, measure_all
from ..models import Problem, get_model
from ..protocol import Split

#: what is measured in every trial
TRIAL_MEASURES = ("absolute", "zero_one")


@dataclass(frozen=True)
class Trials:
    """Errors of one model, an array over trials for each measure."""

    model: str
    errors: Mapping[str, Array]

    @property
    def short(self) -> str:
        """The model without its kernel, as in ``MAP``."""
        return self.model.partition(" (")[0]

    def text(self, measure: str) -> str:
        """Mean and standard deviation."""
        values = self.errors[measure]
        if len(values) < 2:
            return f"{values.mean():.3f}"
        return f"{values.mean():.3f} ± {values.std(ddof=1):.3f}"


def run_trials(name: str, splits: list[Split], classes: tuple[Any, ...]) -> Trials:
    """Fit a model to the training part of every split and measure it on the test part."""
    found = []
    for index, split in enumerate(splits):
        model = get_model(name).build(Problem(classes, index))
        model.fit(split.X_train, split.y_train)
        found.append(measure_all(TRIAL_MEASURES, model, split, classes))
    errors = {key: np.array([trial[key] for trial in found]) for key in TRIAL_MEASURES}
    return Trials(name, errors)


def heading(measure: str) -> str:
    """Name of a measure as it stands within a sentence or beside an axis."""
    title = MEASURES[measure].heading
    return title[0].lower() + title[1:]
