"""An `SVOR` fitted to many signed weights of the same rows, as boosting does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from .._utils.types import Codes, Matrix
from ..base.validation import OrdinalData
from ..ordinal.reduction import decode
from ..ordinal.thresholds import margins
from ..solvers.svor.warm_start import Solved
from .problem import Problem

if TYPE_CHECKING:
    from .svor import SVOR


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
        model._check_parameters().require_implicit("boosting by costs")
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
