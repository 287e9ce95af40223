"""What is measured of a fit, and on which part. Every measure is an error: lower is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from echelon.metrics import mean_absolute_rank_error, zero_one_error

from .protocol import Split

Part = Literal["training", "test"]


@dataclass(frozen=True)
class Measure:
    """A measure's heading, function ``error(y_true, y_pred, classes=...)`` and part of a split."""

    heading: str
    error: Callable[..., float]
    part: Part = "test"


MEASURES = {
    "zero_one": Measure("Mean zero-one error", zero_one_error),
    "absolute": Measure("Mean absolute error", mean_absolute_rank_error),
    "training_absolute": Measure(
        "Mean absolute error on the training part", mean_absolute_rank_error, "training"
    ),
}


def measure_all(
    names: Sequence[str], fitted: Any, split: Split, classes: Sequence[Any]
) -> dict[str, float]:
    """Every named measure of a fitted estimator; a part that none asks for is not predicted."""
    truth = {"training": split.y_train, "test": split.y_test}
    inputs = {"training": split.X_train, "test": split.X_test}
    measures = {name: MEASURES[name] for name in names}
    wanted = {measure.part for measure in measures.values()}
    predicted = {part: fitted.predict(inputs[part]) for part in wanted}
    return {
        name: float(measure.error(truth[measure.part], predicted[measure.part], classes=classes))
        for name, measure in measures.items()
    }
