"""Cost matrices on ordered labels, their shape, and the decisions they imply.

C[y, r] is what predicting code r costs when the truth is y. A cost is *V-shaped* when it never
falls as r moves away from y, and *convex* when its steps never shrink ([LL09] section 2.1).
The *threshold weights* W[i, k] = |C[y_i, k+1] − C[y_i, k]| are what the cost charges for being
on the wrong side of threshold k; for V-shaped costs C[y, r] = Σ_k W[y, k]·[k lies between y and r].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._utils.entries import require_moderate
from .._utils.messages import require_choice
from .._utils.types import Codes, Matrix, Vector
from .arrays import read_numbers

COSTS = ("absolute", "squared", "zero_one")


def cost_matrix(cost: str | npt.ArrayLike, n_classes: int) -> Matrix:
    """Cost matrix by name, or the user's own after a check of its diagonal and signs.

    Parameters
    ----------
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K)
        Row y, column r: the cost of predicting r when the truth is y.
    n_classes : int
        K.

    Examples
    --------
    >>> cost_matrix("absolute", 3)
    array([[0., 1., 2.],
           [1., 0., 1.],
           [2., 1., 0.]])
    """
    if not isinstance(cost, str):
        return check_cost_matrix(cost, n_classes)
    require_choice("cost", cost, COSTS, "a matrix")
    codes = np.arange(n_classes, dtype=np.float64)
    distance = np.abs(codes[:, None] - codes)
    if cost == "absolute":
        return distance
    if cost == "squared":
        return distance**2
    return (distance > 0).astype(np.float64)


def check_cost_matrix(cost: npt.ArrayLike, n_classes: int) -> Matrix:
    """Return the user's cost matrix as floats, or say what is wrong with it."""
    matrix = read_numbers(cost, "cost")
    if matrix.shape != (n_classes, n_classes):
        raise ValueError(
            f"cost must have one row and one column per class, so shape ({n_classes}, {n_classes});"
            f" found {matrix.shape}."
        )
    if not np.isfinite(matrix).all() or (matrix < 0).any():
        raise ValueError("cost must hold finite numbers that are not negative.")
    require_moderate(matrix, "cost")
    if np.diagonal(matrix).any():
        row = int(np.flatnonzero(np.diagonal(matrix))[0])
        raise ValueError(
            f"cost must be zero on its diagonal, where the prediction is right; found "
            f"{matrix[row, row]:g} for class {row}."
        )
    return matrix


def require_v_shaped(costs: Matrix, codes: Codes | None = None, *, name: str = "cost") -> None:
    """Raise an error that names the first row whose cost falls away from its own class."""
    own = np.arange(len(costs)) if codes is None else codes
    steps = np.diff(costs, axis=1)
    outward = np.where(np.arange(steps.shape[1]) >= own[:, None], steps, -steps)
    dents = np.argwhere(outward < 0)
    if len(dents):
        row, column = dents[0]
        raise ValueError(
            f"{name} must be V-shaped, never falling as the prediction moves away from the truth; "
            f"row {row} falls between columns {column} and {column + 1}."
        )


def check_sample_costs(sample_cost: npt.ArrayLike, codes: Codes, n_classes: int) -> Matrix:
    """Costs per example, n×K: finite, not negative, zero at the example's own class."""
    costs = read_numbers(sample_cost, "sample_cost")
    if costs.shape != (len(codes), n_classes):
        raise ValueError(
            f"sample_cost must have shape ({len(codes)}, {n_classes}), a row per example and a "
            f"column per class; found {costs.shape}."
        )
    if not np.isfinite(costs).all() or (costs < 0).any():
        raise ValueError("sample_cost must hold finite numbers that are not negative.")
    require_moderate(costs, "sample_cost")
    if costs[np.arange(len(codes)), codes].any():
        raise ValueError("sample_cost must be zero where the prediction is right.")
    return costs


def threshold_weights(costs: Matrix) -> Matrix:
    """W = |C[·, k+1] − C[·, k]|, for a cost matrix (a row per class) or costs per example."""
    return np.abs(np.diff(costs, axis=1))


def mean_weights_by_class(
    weights: Matrix, codes: Codes, sample_weight: Vector, n_classes: int
) -> Matrix:
    """Mean threshold weights of the rows of each class, (K, K−1); ones for a class without rows.

    Examples
    --------
    >>> W = np.array([[1.0], [3.0], [5.0]])
    >>> mean_weights_by_class(W, np.array([0, 0, 2]), np.array([1.0, 3.0, 1.0]), 3)
    array([[2.5],
           [1. ],
           [5. ]])
    """
    means = np.ones((n_classes, weights.shape[1]))
    for level in np.unique(codes[sample_weight > 0.0]):
        rows = codes == level
        means[level] = np.average(weights[rows], axis=0, weights=sample_weight[rows])
    return means


def adjacent_weights(n_classes: int) -> Matrix:
    """W of shape (K, K−1) that is 1 at the two thresholds next to each class and 0 elsewhere.

    Examples
    --------
    >>> adjacent_weights(3)
    array([[1., 0.],
           [1., 1.],
           [0., 1.]])
    """
    return np.eye(n_classes, n_classes - 1) + np.eye(n_classes, n_classes - 1, -1)


def minimum_cost_codes(probabilities: Matrix, cost: Matrix) -> Codes:
    """Code with the least expected cost for each row of class probabilities.

    Among equals the lowest code wins. Under the absolute cost this is the median.
    """
    return np.asarray(np.argmin(probabilities @ cost, axis=1), dtype=np.intp)
