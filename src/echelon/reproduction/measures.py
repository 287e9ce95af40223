"""What is measured on a test part. Every measure is an error: lower is better."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from echelon.metrics import mean_absolute_rank_error, zero_one_error


@dataclass(frozen=True)
class Measure:
    """A measure's heading and function ``error(y_true, y_pred, classes=...)``."""

    heading: str
    error: Callable[..., float]


MEASURES = {
    "zero_one": Measure("Mean zero-one error", zero_one_error),
    "absolute": Measure("Mean absolute error", mean_absolute_rank_error),
}


def measure_all(
    names: Sequence[str], y_true: Any, y_pred: Any, classes: Sequence[Any]
) -> dict[str, float]:
    """Every named measure of a prediction."""
    return {name: float(MEASURES[name].error(y_true, y_pred, classes=classes)) for name in names}
