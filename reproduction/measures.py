"""What is measured of a fit, and on which part. Every measure is an error: lower is better.

A measure of probabilities is of those models alone that have them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from echelon.metrics.measures import MEASURES as TABLE
from echelon.metrics.measures import Measure

from .protocol import Split

Part = Literal["training", "test"]


@dataclass(frozen=True)
class PartMeasure:
    """A measure of the package's table on a part of a split.

    `largest_loss` gives the largest loss of a row for a number of classes; None if it has no bound.
    """

    measure: Measure
    part: Part = "test"
    largest_loss: Callable[[int], float | None] = lambda n_classes: None

    @property
    def heading(self) -> str:
        """Its name on a page."""
        name = self.measure.heading
        where = "" if self.part == "test" else f" on the {self.part} part"
        return f"{name[0].upper()}{name[1:]}{where}"

    @property
    def output(self) -> str:
        """The method of an estimator whose result is measured."""
        return "predict_proba" if self.measure.needs == "probabilities" else "predict"


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


_LIKELIHOOD = replace(
    TABLE["log_loss"], function=negative_log_likelihood, heading="mean negative log likelihood"
)
#: By the names that the papers' tables use here.
MEASURES = {
    "zero_one": PartMeasure(TABLE["zero_one"], largest_loss=lambda n_classes: 1.0),
    "absolute": PartMeasure(TABLE["mae"], largest_loss=lambda n_classes: n_classes - 1.0),
    "training_absolute": PartMeasure(TABLE["mae"], "training"),
    "negative_log_likelihood": PartMeasure(_LIKELIHOOD),
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
            measure.measure.function(
                truth[measure.part], outputs[measure.output, measure.part], classes=classes
            )
        )
        for name, measure in measures.items()
    }
