"""Labelled rows that were checked, and what wrong labels cost on each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.types import Codes, Matrix, Vector
from .costs import (
    check_sample_costs,
    cost_matrix,
    mean_weights_by_class,
    require_v_shaped,
    threshold_weights,
)
from .labels import OrdinalScale
from .reduction import signed_weights


@dataclass(frozen=True)
class OrdinalData:
    """Validated training data: inputs, codes on a scale, and one weight per row.

    ``weighted`` tells whether the weights were asked for, by row or by class. Where a ``cost`` and
    a ``sample_cost`` are taken, the latter holds rows of their own and goes first.

    Examples
    --------
    >>> scale = OrdinalScale(np.array(["low", "mid", "high"]))
    >>> data = OrdinalData(np.zeros((2, 1)), np.array([0, 2]), scale, np.array([1.0, 2.0]))
    >>> data.costs("absolute")
    array([[0., 1., 2.],
           [2., 1., 0.]])
    >>> data.signed_weights("absolute")
    array([[-1., -1.],
           [ 2.,  2.]])
    """

    X: Any
    codes: Codes
    scale: OrdinalScale
    sample_weight: Vector
    weighted: bool = False

    @property
    def n_classes(self) -> int:
        """Number of levels K of the scale."""
        return self.scale.n_classes

    def costs(self, cost: Any, sample_cost: Any = None) -> Matrix:
        """V-shaped costs of every example, (n, K), without the sample weights."""
        if sample_cost is None:
            matrix = cost_matrix(cost, self.n_classes)
            require_v_shaped(matrix)
            return matrix[self.codes]
        costs = check_sample_costs(sample_cost, self.codes, self.n_classes)
        require_v_shaped(costs, self.codes, name="sample_cost")
        return costs

    def link_weights(self, cost: Any, sample_cost: Any = None) -> Matrix:
        """Threshold weights by class, which tilt the probabilities that a learner sees, (K, K−1).

        They follow from the cost, or are means over the rows with costs of their own.
        """
        if sample_cost is None:
            return threshold_weights(cost_matrix(cost, self.n_classes))
        weights = threshold_weights(self.costs(cost, sample_cost))
        return mean_weights_by_class(weights, self.codes, self.sample_weight, self.n_classes)

    def signed_weights(self, cost: Any, sample_cost: Any = None) -> Matrix:
        """Signed threshold weights V of every example times its sample weight, (n, K−1)."""
        if sample_cost is None:
            # Signs and steps by class first: the n×K costs would take as much memory again.
            matrix = cost_matrix(cost, self.n_classes)
            require_v_shaped(matrix)
            levels = np.arange(self.n_classes)
            signed = signed_weights(levels, threshold_weights(matrix))[self.codes]
        else:
            costs = self.costs(cost, sample_cost)
            signed = signed_weights(self.codes, threshold_weights(costs))
        signed *= self.sample_weight[:, None]
        return signed


def class_factors(class_weight: Any, codes: Codes, scale: OrdinalScale, weights: Vector) -> Vector:
    """Factor for each class: the user's, 1 where none is given, or inverse to its total weight."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        mass = np.bincount(codes, weights, minlength=scale.n_classes)
        present = mass > 0
        return np.where(present, mass.sum() / (present.sum() * np.where(present, mass, 1.0)), 0.0)
    if not isinstance(class_weight, dict):
        raise ValueError(
            f"class_weight must be None, 'balanced' or a dict from label to weight; found "
            f"{class_weight!r}."
        )
    factors = np.ones(scale.n_classes)
    factors[scale.encode(list(class_weight), name="class_weight")] = list(class_weight.values())
    if not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError("class_weight must hold finite numbers that are not negative.")
    return factors
