"""Anderson's acceleration of a fixed-point iteration x ← g(x).

From the last points x_j and their errors e_j = g(x_j) − x_j it takes the combination of points with
weights that add up to one and the least error, as if g were affine, and steps from there by the
combined error. On an affine map with m distinct rates it needs m + 1 steps.
"""

from __future__ import annotations

import numpy as np

from ..._utils.types import Vector

#: Relative ridge of the least-squares problem, against collinear errors.
_RIDGE = 1e-10


class Anderson:
    """Memory of an iteration: the last `memory` points; `patience` of them before it acts."""

    def __init__(self, memory: int, patience: int = 2) -> None:
        self.memory = memory
        self.patience = patience
        self.points: list[Vector] = []
        self.errors: list[Vector] = []

    def next(self, point: Vector, error: Vector, scale: Vector, length: float) -> Vector:
        """Where to evaluate the map next.

        Parameters
        ----------
        point, error : array of shape (p,)
            x and g(x) − x.
        scale : array of shape (p,)
            Factor of each entry in the size of an error.
        length : float
            Share of the combined error to step by.
        """
        self.points.append(point)
        self.errors.append(error)
        del self.points[: -self.memory], self.errors[: -self.memory]
        if len(self.points) < self.patience:
            return np.asarray(point + length * error)
        steps = np.diff(self.points, axis=0)
        changes = np.diff(self.errors, axis=0)
        scaled = changes * scale
        normal = scaled @ scaled.T
        normal.flat[:: len(normal) + 1] += _RIDGE * np.trace(normal)
        weights = np.linalg.solve(normal, scaled @ (error * scale))
        return np.asarray(point + length * error - weights @ (steps + length * changes))
