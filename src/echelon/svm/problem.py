"""The dual problem of an `SVOR`, and many of them on the same rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.messages import require_choice
from .._utils.types import Codes, Index, Matrix, Vector
from ..kernels import Kernel
from ..kernels.cache import RowSource
from ..kernels.factory import take_inputs
from ..ordinal.costs import adjacent_weights
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import decode
from ..ordinal.thresholds import all_levels, margins
from ..solvers.svor import dual as threshold_dual
from ..solvers.svor.dual import Solved, ThresholdDual

if TYPE_CHECKING:
    from .svor import SVOR

_DUALS = {
    "implicit": threshold_dual.implicit,
    "explicit": threshold_dual.explicit,
    "none": threshold_dual.unordered,
}


@dataclass(frozen=True)
class Problem:
    """Validated data, the rows of positive weight, and what depends on their inputs.

    ``unit_boxes`` is the weight of each row at each threshold, to be multiplied by C.
    """

    data: OrdinalData
    rows: Index
    inputs: Any
    kernel: Kernel
    source: RowSource
    unit_boxes: Matrix

    @property
    def codes(self) -> Codes:
        """Codes of the rows."""
        return self.data.codes[self.rows]

    def take(self, rows: Index, columns: Index) -> Any:
        """Some of the rows' inputs, or a block of them where they are kernel values."""
        return take_inputs(self.kernel, self.inputs, rows, columns)


@dataclass(frozen=True)
class Formulation:
    """At which thresholds errors count, and what keeps the thresholds in order."""

    constraints: str
    regularize_thresholds: bool | str

    def __post_init__(self) -> None:
        require_choice("constraints", self.constraints, _DUALS)
        penalty = self.regularize_thresholds
        require_choice("regularize_thresholds", penalty, (False, True, "offset"))
        if penalty and self.constraints != "implicit":
            raise ValueError(
                "regularize_thresholds needs constraints='implicit'; found "
                f"constraints={self.constraints!r}."
            )

    def require_implicit(self, what: str) -> None:
        """Raise where costs of rows would be left out of account."""
        if self.constraints != "implicit":
            raise ValueError(
                f"{what} needs constraints='implicit'; found constraints={self.constraints!r}, "
                "which counts errors at the two thresholds next to a label alike."
            )

    def weights_without_costs(self, data: OrdinalData) -> Matrix:
        """W of shape (n, K−1) where constraints are not implicit."""
        if self.constraints == "explicit":
            return adjacent_weights(data.n_classes)[data.codes]
        observed = np.unique(data.codes[data.sample_weight > 0.0])
        return _weights_between(observed, data.n_classes)[data.codes]

    def dual(self, codes: Codes, boxes: Matrix) -> ThresholdDual:
        """The dual problem."""
        if self.regularize_thresholds == "offset":
            return threshold_dual.penalised_around_offset(codes, boxes)
        if self.regularize_thresholds:
            return threshold_dual.penalised(codes, boxes)
        return _DUALS[self.constraints](codes, boxes)

    def all_thresholds(self, dual: ThresholdDual, thresholds: Vector, n_classes: int) -> Vector:
        """Thresholds of all levels as the user is to see them."""
        if self.constraints == "none":
            observed = np.unique(dual.codes)
            return all_levels(thresholds[observed[:-1]], observed, n_classes)
        # Penalised thresholds can cross within `tol`, or where the cost is not convex. Decoding
        # counts the thresholds below a score, so putting them in order changes no prediction.
        return np.sort(thresholds) if dual.penalised else thresholds


def _weights_between(observed: Codes, n_classes: int) -> Matrix:
    """W of the form without order: each class counts at one threshold towards each neighbour.

    Between two observed classes with others missing between them the lowest threshold does the
    work of all, which nothing would otherwise hold together.
    """
    weights = np.zeros((n_classes, n_classes - 1))
    weights[observed[:-1], observed[:-1]] = 1.0
    weights[observed[1:], observed[:-1]] = 1.0
    return weights


class SignedMachines:
    """Machines for signed weights V, whose sizes are the boxes of the dual problem over C.

    Kernel rows are shared, and a machine that differs from the last in C alone starts from its
    solution. C is read at every call.

    Parameters
    ----------
    model : SVOR
    data : OrdinalData
    """

    def __init__(self, model: SVOR, data: OrdinalData) -> None:
        model._formulation().require_implicit("boosting by costs")
        self._model = model
        self._problem = model._prepare(data, np.ones((len(data.codes), data.n_classes - 1)))
        self._last: Solved | None = None

    def __call__(self, V: Matrix) -> tuple[tuple[Problem, Solved], Codes]:
        """Problem, dual problem and solution, and the ranks of all rows."""
        problem = replace(self._problem, unit_boxes=np.abs(V[self._problem.rows]))
        self._last = self._model._solve(problem, self._last)
        solution = self._last[1]
        ranks = np.zeros(len(V), dtype=np.intp)
        ranks[problem.rows] = decode(margins(solution.scores, solution.thresholds))
        return (problem, self._last), ranks
