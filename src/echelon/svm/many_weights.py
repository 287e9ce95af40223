"""An `SVOR` asked for many signed weights on the same rows, as boosting does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._utils.types import Codes, Matrix
from ..base.validation import OrdinalData
from ..ordinal.reduction import decode
from ..ordinal.thresholds import margins
from ..solvers.svor.dual import ThresholdDual
from ..solvers.svor.smo import DualSolution, scaled_start
from .problem import Task, build_dual, prepare_task, require_implicit


class SignedMachines:
    """Machines for signed weights V, whose sizes are the boxes of the dual problem over C.

    Kernel rows are shared, and a machine that differs from the last in C alone starts from its
    solution. C is read at every call.

    Parameters
    ----------
    model : SVOR
    data : OrdinalData
    """

    def __init__(self, model: Any, data: OrdinalData) -> None:
        require_implicit(model, "boosting by costs")
        self._model = model
        self._task = prepare_task(model, data, np.ones((len(data.codes), data.n_classes - 1)))
        self._last: tuple[ThresholdDual, DualSolution] | None = None

    def __call__(self, V: Matrix) -> tuple[tuple[Task, ThresholdDual, DualSolution], Codes]:
        """Task, dual problem and solution, and the ranks of all rows."""
        task = replace(self._task, unit_boxes=np.abs(V[self._task.rows]))
        dual = build_dual(self._model, task)
        start = None if self._last is None else scaled_start(dual, *self._last)
        solution = self._model._solve(task, dual, start)
        self._last = dual, solution
        ranks = np.zeros(len(V), dtype=np.intp)
        ranks[task.rows] = decode(margins(solution.scores, solution.thresholds))
        return (task, dual, solution), ranks
