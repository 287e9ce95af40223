"""From the parameters of a Gaussian process and its data to where the search starts."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.gaussian_process.kernels import (
    RBF,
    ConstantKernel,
    Kernel,
    KernelOperator,
    WhiteKernel,
)
from threadpoolctl import threadpool_limits

from ._gp_objective import EvidenceObjective, Hyperparameters, published_thresholds
from .gp_kernels import LinearARD, PearsonKernel
from .ordinal.arrays import LARGEST_SEED, finite_vector, require_count, require_positive
from .ordinal.labels import Codes

Vector = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.float64]

#: Bounds on length scales: a feature without relevance goes to the upper one.
_LENGTH_BOUNDS = (1e-3, 1e5)
_NAMES = ("rbf", "rbf_ard", "linear_ard", "pearson")
_CHOICES = {
    "inference": ("laplace", "ep"),
    "likelihood": ("probit", "logit"),
    "objective": ("evidence", "bound"),
}
#: Rows per inducing point that k-means looks at.
_ROWS_PER_POINT = 50
_KMEANS_ROUNDS = 25
#: Operations of a Cholesky factor that is worth more than one thread, times three.
_MANY_OPERATIONS = 10**9


def check_settings(model: Any) -> None:
    """Raise unless the parameters that are not arrays make sense."""
    for name, choices in _CHOICES.items():
        if getattr(model, name) not in choices:
            raise ValueError(
                f"{name} must be one of {', '.join(choices)}; found {getattr(model, name)!r}."
            )
    if model.objective == "bound" and model.inference != "ep":
        raise ValueError("objective='bound' needs inference='ep'; found 'laplace'.")
    if not (
        model.optimizer is None or model.optimizer == "fmin_l_bfgs_b" or callable(model.optimizer)
    ):
        raise ValueError(
            f"optimizer must be 'fmin_l_bfgs_b', a function or None; found {model.optimizer!r}."
        )
    require_positive("noise", model.noise)
    require_count("max_iter", model.max_iter)
    require_count("n_restarts_optimizer", model.n_restarts_optimizer, least=0)
    if model.n_inducing is not None:
        require_count("n_inducing", model.n_inducing)


def make_kernel(kernel: Any, n_features: int) -> Kernel:
    """A fresh copy of a kernel, or one by name with the starting values of [CG05]."""
    if isinstance(kernel, Kernel):
        return clone(kernel)
    if kernel is None or (isinstance(kernel, str) and kernel in _NAMES):
        length = np.sqrt(n_features)
        if kernel == "rbf_ard":
            return RBF(np.full(n_features, length), _LENGTH_BOUNDS)
        if kernel == "linear_ard":
            return LinearARD(np.full(n_features, 1.0 / n_features))
        return PearsonKernel() if kernel == "pearson" else RBF(length, _LENGTH_BOUNDS)
    raise ValueError(
        f"kernel must be None, one of {', '.join(_NAMES)}, or a kernel of "
        f"sklearn.gaussian_process; found {kernel!r}."
    )


def accepts_missing(kernel: Any) -> bool:
    """Whether a kernel is defined for rows with missing entries."""
    if isinstance(kernel, KernelOperator):
        return accepts_missing(kernel.k1) and accepts_missing(kernel.k2)
    if isinstance(kernel, str):
        return kernel == "pearson"
    return isinstance(kernel, PearsonKernel | ConstantKernel | WhiteKernel)


def first_hyperparameters(
    model: Any, n_features: int, observed: Codes, n_classes: int
) -> Hyperparameters:
    """Hyperparameters of the first start."""
    return Hyperparameters(
        kernel=make_kernel(model.kernel, n_features),
        noise=float(model.noise),
        thresholds=_first_thresholds(model.thresholds, observed, n_classes),
        noise_bounds=_read_noise_bounds(model.noise_bounds),
    )


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
    # Infinity is no input, so it can stand for a missing entry, which equals nothing.
    keys = np.column_stack([np.where(np.isnan(X), np.inf, X), codes])
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return X[first], codes[first], np.bincount(place.ravel(), weights)


def suitable_threads(objective: EvidenceObjective) -> threadpool_limits:
    """One thread of linear algebra where matrices are so small that more would be in the way."""
    n = len(objective.codes)
    kept = n if objective.inducing is None else len(objective.inducing)
    return threadpool_limits(1 if n * kept**2 < _MANY_OPERATIONS else None, "blas")


def choose_inducing(
    X: Matrix, weights: Vector, n_inducing: int, rng: np.random.RandomState
) -> Matrix:
    """Centres of weighted k-means, or rows drawn by weight where entries are missing."""
    keys = np.where(np.isnan(X), np.inf, X)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    distinct, mass = X[first], np.bincount(place.ravel(), weights)
    if len(distinct) <= n_inducing:
        return distinct
    if np.isnan(X).any():
        chosen = rng.choice(len(distinct), n_inducing, replace=False, p=mass / mass.sum())
        return distinct[chosen]
    n_seen = min(len(distinct), _ROWS_PER_POINT * n_inducing)
    seen = rng.choice(len(distinct), n_seen, replace=False)
    means = KMeans(
        n_inducing,
        n_init=1,
        max_iter=_KMEANS_ROUNDS,
        random_state=int(rng.randint(LARGEST_SEED)),
    ).fit(distinct[seen], sample_weight=mass[seen])
    return np.asarray(means.cluster_centers_)


def _first_thresholds(thresholds: Any, observed: Codes, n_classes: int) -> Vector:
    """Thresholds between observed classes: those given at the top of each, or the published."""
    if thresholds is None:
        return published_thresholds(len(observed))
    values = finite_vector(thresholds, n_classes - 1, "thresholds")[observed[:-1]]
    if (np.diff(values) <= 0).any():
        raise ValueError(f"thresholds must ascend; found {values.tolist()}.")
    return values


def _read_noise_bounds(bounds: Any) -> tuple[float, float] | None:
    if isinstance(bounds, str) and bounds == "fixed":
        return None
    values = np.asarray(bounds, dtype=np.float64) if not isinstance(bounds, str) else np.zeros(0)
    if values.shape != (2,) or not 0.0 < values[0] < values[1] < np.inf:
        raise ValueError(
            f"noise_bounds must be 'fixed' or two ascending positive numbers; found {bounds!r}."
        )
    return float(values[0]), float(values[1])
