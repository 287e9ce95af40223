"""From the parameters of an `SVOR` and its data to a dual problem."""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._utils.types import Matrix, Vector
from ..base.kernel_machine import make_kernel, take_inputs
from ..base.validation import OrdinalData, read_costs, validate_ordinal_fit
from ..kernels import Kernel
from ..kernels.cache import RowSource, row_source
from ..ordinal.arrays import require_positive
from ..ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from ..ordinal.thresholds import all_levels
from ..solvers.svor import dual as threshold_dual
from ..solvers.svor.dual import ThresholdDual

_CONSTRAINTS = ("implicit", "explicit", "none")


@dataclass(frozen=True)
class Task:
    """Validated data, the rows of positive weight, and what depends on their inputs.

    ``unit_boxes`` is the weight of each row at each threshold, to be multiplied by C.
    """

    data: OrdinalData
    rows: npt.NDArray[np.intp]
    inputs: Any
    kernel: Kernel
    source: RowSource
    unit_boxes: Matrix

    @property
    def codes(self) -> npt.NDArray[np.intp]:
        """Codes of the rows."""
        return self.data.codes[self.rows]

    def take(self, rows: Any, columns: Any) -> Any:
        """Some of the rows' inputs, or a block of them where they are kernel values."""
        return take_inputs(self.kernel, self.inputs, rows, columns)


def read_task(
    model: Any, X: Any, y: Any, sample_weight: Any, sample_cost: Any, shared: Task | None = None
) -> Task:
    """Everything but C; with ``shared``, what depends on the inputs alone is taken from it."""
    data = validate_ordinal_fit(model, X, y, sample_weight)
    return prepare_task(model, data, _threshold_weights(model, data, sample_cost), shared)


def prepare_task(
    model: Any, data: OrdinalData, weights: Matrix, shared: Task | None = None
) -> Task:
    """Task for validated data and threshold weights W of every row, (n, K−1)."""
    check_parameters(model)
    rows = np.flatnonzero(data.sample_weight > 0.0)
    boxes = data.sample_weight[rows, None] * weights[rows]
    if shared is not None:
        return replace(shared, data=data, unit_boxes=boxes)
    # Another order of entries would round the kernel differently.
    inputs = data.X if sp.issparse(data.X) else np.ascontiguousarray(data.X)
    kernel = make_kernel(model, inputs, data.sample_weight, **_stated_gamma(model))
    if len(rows) < len(data.codes):
        inputs = take_inputs(kernel, inputs, rows, rows)
    source = row_source(kernel, inputs, model.cache_size)
    return Task(data, rows, inputs, kernel, source, boxes)


def build_dual(model: Any, task: Task) -> ThresholdDual:
    """The dual problem of the model's formulation and C."""
    build = {
        "explicit": threshold_dual.explicit,
        "none": threshold_dual.unordered,
        "implicit": threshold_dual.implicit,
    }[model.constraints]
    if model.regularize_thresholds == "offset":
        build = threshold_dual.penalised_around_offset
    elif model.regularize_thresholds:
        build = threshold_dual.penalised
    return build(task.codes, model.C * task.unit_boxes)


def all_thresholds(model: Any, task: Task, dual: ThresholdDual, thresholds: Vector) -> Vector:
    """Thresholds of all levels as the user is to see them."""
    if model.constraints == "none":
        observed = np.unique(dual.codes)
        return all_levels(thresholds[observed[:-1]], observed, task.data.n_classes)
    # Penalised thresholds can cross within `tol`, or where the cost is not convex. Decoding
    # counts the thresholds below a score, so putting them in order changes no prediction.
    return np.sort(thresholds) if dual.penalised else thresholds


def check_parameters(model: Any) -> None:
    """Raise a sentence for a parameter that is not accepted."""
    for name in ("C", "tol", "cache_size"):
        require_positive(name, getattr(model, name))
    if not isinstance(model.max_iter, Integral):
        raise ValueError(f"max_iter must be an integer, -1 for no limit; found {model.max_iter!r}.")
    if model.constraints not in _CONSTRAINTS:
        raise ValueError(
            f"constraints must be one of {', '.join(_CONSTRAINTS)}; found {model.constraints!r}."
        )
    if model.regularize_thresholds not in (False, True, "offset"):
        raise ValueError(
            "regularize_thresholds must be False, True or 'offset'; found "
            f"{model.regularize_thresholds!r}."
        )
    if model.regularize_thresholds and model.constraints != "implicit":
        raise ValueError(
            "regularize_thresholds needs constraints='implicit'; found "
            f"constraints={model.constraints!r}."
        )


def require_implicit(model: Any, what: str) -> None:
    """Raise where costs of rows would be left out of account."""
    if model.constraints != "implicit":
        raise ValueError(
            f"{what} needs constraints='implicit'; found constraints={model.constraints!r}, which "
            "counts errors at the two thresholds next to a label alike."
        )


def _stated_gamma(model: Any) -> dict[str, float]:
    """Gamma where `kappa` states it."""
    if model.kappa is None:
        return {}
    gaussian = isinstance(model.kernel, str) and model.kernel in ("rbf", "gaussian")
    if not gaussian or not (isinstance(model.gamma, str) and model.gamma == "scale"):
        raise ValueError(
            "kappa stands for gamma = kappa / 2 of the Gaussian kernel; found it beside "
            f"gamma={model.gamma!r} and kernel={model.kernel!r}."
        )
    require_positive("kappa", model.kappa)
    return {"gamma": 0.5 * model.kappa}


def _threshold_weights(model: Any, data: OrdinalData, sample_cost: Any) -> Matrix:
    """W of shape (n, K−1)."""
    cost_matrix(model.cost, data.n_classes)
    if model.constraints == "implicit":
        return threshold_weights(read_costs(model, data, sample_cost))
    if sample_cost is not None:
        require_implicit(model, "sample_cost")
    if model.constraints == "explicit":
        return adjacent_weights(data.n_classes)[data.codes]
    observed = np.unique(data.codes[data.sample_weight > 0.0])
    return _weights_between(observed, data.n_classes)[data.codes]


def _weights_between(observed: npt.NDArray[np.intp], n_classes: int) -> Matrix:
    """W of the form without order: each class counts at one threshold towards each neighbour.

    Between two observed classes with others missing between them the lowest threshold does the
    work of all, which nothing would otherwise hold together.
    """
    weights = np.zeros((n_classes, n_classes - 1))
    weights[observed[:-1], observed[:-1]] = 1.0
    weights[observed[1:], observed[:-1]] = 1.0
    return weights
