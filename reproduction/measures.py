"""What is measured of a fit, and on which part. Every measure is an error: lower is better.

A measure of probabilities is of those models alone that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from echelon.metrics import mean_absolute_rank_error, zero_one_error

from .protocol import Split

Part = Literal["training", "test"]
Output = Literal["predict", "predict_proba"]


@dataclass(frozen=True)
class Measure:
    """A measure's heading, function ``error(y_true, output, classes=...)`` and part of a split.

    `output` is the method of the estimator whose result is measured.
    """

    heading: str
    error: Callable[..., float]
    part: Part = "test"
    output: Output = "predict"


def negative_log_likelihood(
    y_true: npt.NDArray[Any], probabilities: npt.NDArray[np.float64], *, classes: Sequence[Any]
) -> float:
    """Mean of −ln P(y) over the rows, a column of probabilities for each of `classes`.

    A probability that underflows counts as the smallest positive double, so that one row cannot
    make the mean infinite.

    Examples
    --------
    >>> import numpy as np
    >>> P = np.array([[0.5, 0.5, 0.0], [0.25, 0.5, 0.25]])
    >>> round(negative_log_likelihood(np.array([1, 2]), P, classes=(1, 2, 3)), 4)
    0.6931
    """
    columns = np.searchsorted(np.asarray(classes), y_true)
    chosen = np.asarray(probabilities)[np.arange(len(columns)), columns]
    return float(-np.log(np.maximum(chosen, np.finfo(np.float64).tiny)).mean())


MEASURES = {
    "zero_one": Measure("Mean zero-one error", zero_one_error),
    "absolute": Measure("Mean absolute error", mean_absolute_rank_error),
    "training_absolute": Measure(
        "Mean absolute error on the training part", mean_absolute_rank_error, "training"
    ),
    "negative_log_likelihood": Measure(
        "Mean negative log likelihood", negative_log_likelihood, output="predict_proba"
    ),
}


def measure_all(
    names: Sequence[str], fitted: Any, split: Split, classes: Sequence[Any]
) -> dict[str, float]:
    """Every named measure of a fitted estimator that it has the output for.

    An output on a part that no measure asks for is not computed.
    """
    truth = {"training": split.y_train, "test": split.y_test}
    inputs = {"training": split.X_train, "test": split.X_test}
    measures = {name: MEASURES[name] for name in names if hasattr(fitted, MEASURES[name].output)}
    wanted = {(measure.output, measure.part) for measure in measures.values()}
    outputs = {(method, part): getattr(fitted, method)(inputs[part]) for method, part in wanted}
    return {
        name: float(
            measure.error(
                truth[measure.part], outputs[measure.output, measure.part], classes=classes
            )
        )
        for name, measure in measures.items()
    }
