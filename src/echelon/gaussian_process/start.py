"""From the parameters of a Gaussian process and its data to where the search starts."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    KernelOperator,
    WhiteKernel,
)

from .._utils.messages import require_choice
from .._utils.types import Codes, Index, Matrix, Vector
from ..ordinal.arrays import LARGEST_SEED, finite_vector
from ..solvers.gp.evidence import Evidence
from .kernels import LinearARD, PearsonKernel
from .objective import EvidenceObjective, Maximum, published_thresholds

#: Bounds on length scales and relevances, as multiples of the start: a feature without relevance
#: goes to the upper one or the lower one.
_LENGTH_BOUNDS = (1e-3, 1e5)
_RELEVANCE_BOUNDS = (1e-5, 1e5)
_LEAST_SCALE = 1e-100
_NAMES = ("rbf", "rbf_ard", "linear_ard", "pearson")
#: Rows per inducing point that k-means looks at.
_ROWS_PER_POINT = 50
_KMEANS_ROUNDS = 25
#: Standard deviation of a column, or its inverse, from which on its scale is worth a warning.
_FAR = 30.0
#: Log evidence above that of the classes' shares alone which shows that inputs matter.
_GAIN = 1e-2


def make_kernel(kernel: Any, X: Matrix, weights: Vector) -> Kernel:
    """A fresh copy of a kernel, or one by name with the starting values of [CG05].

    Kernels by name start from the scale of the inputs: κ is 1/d for inputs of unit variance.
    """
    if isinstance(kernel, Kernel):
        return clone(kernel)
    require_choice("kernel", kernel, (None, *_NAMES), "a kernel of sklearn.gaussian_process")
    if kernel == "pearson":
        return PearsonKernel()
    scale = np.sqrt(X.shape[1]) * _deviations(X, weights)
    if scale.min() < _LEAST_SCALE:
        raise ValueError(
            f"X must have columns that vary by {_LEAST_SCALE:g} or more, so that squares are not "
            f"zero; found {scale.min():.2g}: scale the inputs, for instance by StandardScaler."
        )
    if kernel == "linear_ard":
        return LinearARD(scale**-2.0, np.outer(scale**-2.0, _RELEVANCE_BOUNDS))
    if kernel == "rbf_ard":
        return RBF(scale, np.outer(scale, _LENGTH_BOUNDS))
    common = float(np.sqrt(np.mean(scale**2)))
    return RBF(common, (common * _LENGTH_BOUNDS[0], common * _LENGTH_BOUNDS[1]))


def _deviations(X: Matrix, weights: Vector) -> Vector:
    """Standard deviation of each column; where it is zero, that of the others taken together."""
    # Scaled by the largest entry, so that squares do not overflow.
    size = np.abs(X).max(axis=0)
    size[size == 0.0] = 1.0
    scaled = X / size
    centred = scaled - np.average(scaled, axis=0, weights=weights)
    deviations = size * np.sqrt(np.average(centred**2, axis=0, weights=weights))
    varies = deviations > 1e-12 * size
    largest = float(deviations.max()) or 1.0
    common = (
        largest * np.sqrt(np.mean((deviations[varies] / largest) ** 2)) if varies.any() else 1.0
    )
    return np.where(varies, deviations, common)


def accepts_missing(kernel: Any) -> bool:
    """Whether a kernel is defined for rows with missing entries."""
    if isinstance(kernel, KernelOperator):
        return accepts_missing(kernel.k1) and accepts_missing(kernel.k2)
    if isinstance(kernel, str):
        return kernel == "pearson"
    return isinstance(kernel, PearsonKernel | ConstantKernel | WhiteKernel)


def gather_rows(
    kernel: Kernel, X: Matrix, codes: Codes, weights: Vector
) -> tuple[Matrix, Codes, Vector]:
    """Distinct pairs of row and label with their total weights, in ascending order.

    Rows that are equal have one latent value, unless the kernel has noise of its own: then they
    are left as they are.
    """
    one = X[:1]
    # Both may differ by rounding where there is no noise.
    if not np.isclose(kernel.diag(one)[0], kernel(one, one)[0, 0], rtol=1e-9, atol=0.0):
        return X, codes, weights
    first, mass = _distinct(np.column_stack([X, codes]), weights)
    return X[first], codes[first], mass


def _distinct(rows: Matrix, weights: Vector) -> tuple[Index, Vector]:
    """Where each distinct row stands first, in ascending order of rows, and its total weight."""
    # Infinity is no input, so it can stand for a missing entry, which equals nothing.
    keys = np.where(np.isnan(rows), np.inf, rows)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, np.asarray(np.bincount(place.ravel(), weights), dtype=np.float64)


def choose_inducing(
    X: Matrix, weights: Vector, n_inducing: int, rng: np.random.RandomState
) -> Matrix:
    """Centres of weighted k-means, or rows drawn by weight where entries are missing."""
    first, mass = _distinct(X, weights)
    distinct = X[first]
    if len(distinct) <= n_inducing:
        return distinct
    if np.isnan(X).any():
        chosen = rng.choice(len(distinct), n_inducing, replace=False, p=mass / mass.sum())
        return distinct[chosen]
    n_seen = min(len(distinct), _ROWS_PER_POINT * n_inducing)
    seen = rng.choice(len(distinct), n_seen, replace=False)
    seed = int(rng.randint(LARGEST_SEED))
    means = KMeans(n_inducing, n_init=1, max_iter=_KMEANS_ROUNDS, random_state=seed)
    with warnings.catch_warnings():
        # Of centres that coincide, which do no harm here.
        warnings.simplefilter("ignore", ConvergenceWarning)
        means.fit(distinct[seen], sample_weight=mass[seen])
    return np.asarray(means.cluster_centers_)


def convergence_warnings(
    objective: EvidenceObjective, maximum: Maximum, evidence: Evidence, gradient_norm: float
) -> list[str]:
    """Sentences about what a fit should be warned of."""
    found = []
    if _learned_nothing(objective, maximum, evidence):
        deviations = _deviations(objective.X, objective.weights)
        if deviations.min() < 1.0 / _FAR or deviations.max() > _FAR:
            found.append(
                "The evidence is no better than that of the classes' shares without any inputs, "
                f"whose columns have standard deviations from {deviations.min():.2g} to "
                f"{deviations.max():.2g}; scale them, for instance by StandardScaler."
            )
    if not maximum.converged:
        found.append(
            f"The search for hyperparameters stopped after {maximum.n_iter} iterations with a "
            f"gradient of {gradient_norm:.2g}; raise max_iter or scale the inputs."
        )
    if not evidence.converged:
        found.append(
            f"The inference stopped after {evidence.n_iter} steps with a residual of "
            f"{evidence.residual:.2g}, so probabilities are less accurate than usual; raise "
            "the lower end of noise_bounds."
        )
    return found


def _learned_nothing(objective: EvidenceObjective, maximum: Maximum, evidence: Evidence) -> bool:
    """Whether a stationary kernel explains no more than the shares of the classes do."""
    kernel = objective.hyperparameters.with_theta(maximum.theta).kernel
    if objective.criterion == "bound" or not kernel.is_stationary():
        return False
    mass = np.bincount(objective.codes, objective.weights)
    shares = float(mass @ np.log(mass / mass.sum()))
    return evidence.log_evidence <= shares + _GAIN


def first_thresholds(thresholds: Any, observed: Codes, n_classes: int) -> Vector:
    """Thresholds between observed classes: those given at the top of each, or the published."""
    if thresholds is None:
        return published_thresholds(len(observed))
    values = finite_vector(thresholds, n_classes - 1, "thresholds")[observed[:-1]]
    if (np.diff(values) <= 0).any():
        raise ValueError(f"thresholds must ascend; found {values.tolist()}.")
    return values


def read_noise_bounds(bounds: Any) -> tuple[float, float] | None:
    """Least and greatest noise, None where it is fixed."""
    if isinstance(bounds, str) and bounds == "fixed":
        return None
    try:
        values = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (2,) or not 0.0 < values[0] < values[1] < np.inf:
        raise ValueError(
            f"noise_bounds must be 'fixed' or two ascending positive numbers; found {bounds!r}."
        )
    return float(values[0]), float(values[1])
