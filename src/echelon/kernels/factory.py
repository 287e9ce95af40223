"""From a name and parameters, as users give them, to a kernel."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from .._utils.messages import require_choice
from .._utils.types import Index, Vector
from .functions import Function, Gaussian, Kernel, Linear, Pearson, Polynomial, Precomputed, Sigmoid
from .rows import Rows, read_rows

KERNELS: dict[str, type[Any]] = {
    "linear": Linear,
    "polynomial": Polynomial,
    "gaussian": Gaussian,
    "sigmoid": Sigmoid,
    "pearson": Pearson,
    "precomputed": Precomputed,
}
_OTHERS = ("a function of X and Y", "a Kernel")
# Single precision ends near 3e38, and differences of values take some of it.
_LARGEST_VALUE = 1e30
# scikit-learn's names for two of them.
_ALIASES = {"poly": "polynomial", "rbf": "gaussian"}


def get_kernel(kernel: Any, X: Rows | None = None, **params: Any) -> Kernel:
    """Kernel by its name, from a function, or as it is.

    Parameters
    ----------
    kernel : str, callable or Kernel
        One of the keys of ``KERNELS``; ``"rbf"`` and ``"poly"`` stand for Gaussian and
        polynomial. A function takes X and Y and gives an array of shape (n, m).
    X : array-like or sparse matrix of shape (n, d), optional
        Training inputs that ``gamma`` is resolved from, see `resolve_gamma`.
    **params
        The kernel's parameters. ``gamma``, where the kernel has one, is ``"scale"`` by default.

    Examples
    --------
    >>> get_kernel("polynomial", degree=2, gamma=1.0)
    Polynomial(degree=2, gamma=1.0, coef0=0.0)
    >>> get_kernel("gaussian", np.array([[0.0, 4.0], [0.0, 4.0]]))
    Gaussian(gamma=0.125)
    """
    accepted = parameter_names(kernel)
    for name in params:
        if name not in accepted:
            raise ValueError(
                f"{name} is not a parameter of this kernel; found kernel={kernel!r}, which takes "
                f"{', '.join(accepted) or 'none'}."
            )
    if not isinstance(kernel, str):
        return kernel if _is_kernel(kernel) else Function(kernel)
    if "gamma" in accepted:
        params["gamma"] = resolve_gamma(params.get("gamma", "scale"), X)
    made: Kernel = _kernel_class(kernel)(**params)
    return made


def parameter_names(kernel: Any) -> tuple[str, ...]:
    """Names that `get_kernel` accepts with a kernel: none unless it is given by name.

    Examples
    --------
    >>> parameter_names("sigmoid")
    ('gamma', 'coef0')
    """
    if isinstance(kernel, str):
        return tuple(field.name for field in fields(_kernel_class(kernel)))
    if not _is_kernel(kernel) and not callable(kernel):
        require_choice("kernel", kernel, KERNELS, *_OTHERS)
    return ()


def make_kernel(model: Any, X: Any, weights: Vector, **stated: Any) -> Kernel:
    """Kernel of a model's attributes, or of stated ones; gamma is found from X where it says so."""
    known = [name for name in parameter_names(model.kernel) if hasattr(model, name)]
    params = {name: getattr(model, name) for name in known} | stated
    if "gamma" in params:
        params["gamma"] = resolve_gamma(params["gamma"], X, weights)
    kernel = get_kernel(model.kernel, X, **params)
    if isinstance(kernel, Precomputed) and X.shape[0] != X.shape[1]:
        raise ValueError(
            "X must be a square matrix of kernel values for kernel='precomputed'; found one of "
            f"shape {X.shape}."
        )
    _require_moderate(kernel, X)
    return kernel


def _require_moderate(kernel: Kernel, X: Any) -> None:
    """Raise where values of the kernel, which rows hold in single precision, are out of range."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = X if isinstance(kernel, Precomputed) else kernel.diagonal(X)
        largest = float(np.abs(values).max(initial=0.0))
    if not largest <= _LARGEST_VALUE:
        raise ValueError(
            f"X must give kernel values of at most {_LARGEST_VALUE:g}; found {largest:g}: scale "
            "the inputs, for example with StandardScaler."
        )


def take_inputs(kernel: Kernel, inputs: Any, rows: Index, columns: Index) -> Any:
    """Some rows of the inputs, and some columns where they are kernel values."""
    return inputs[np.ix_(rows, columns)] if isinstance(kernel, Precomputed) else inputs[rows]


def resolve_gamma(
    gamma: str | npt.ArrayLike,
    X: Rows | None = None,
    weights: Vector | None = None,
) -> Any:
    """γ as a number, or as it is when it is not a name.

    Parameters
    ----------
    gamma : {"scale", "auto"}, float or array-like of shape (d,)
        ``"scale"`` is 1 / (d·v) with v the variance of all entries of X taken together, or 1 when
        X is constant; ``"auto"`` is 1 / d. Both are scikit-learn's definitions.
    X : array-like or sparse matrix of shape (n, d), optional
        Needed for the two names.
    weights : ndarray of shape (n,), optional
        How often each row counts in the variance; once by default.

    Examples
    --------
    >>> resolve_gamma("auto", np.eye(4))
    0.25
    """
    if not isinstance(gamma, str):
        return gamma
    require_choice("gamma", gamma, ("scale", "auto"), "a number", "one per feature")
    if X is None:
        raise ValueError(f"gamma must be a number where there is no X; found {gamma!r}.")
    rows = read_rows(X)
    if gamma == "auto":
        return 1.0 / rows.shape[1]
    variance = _variance(rows) if weights is None else _weighted_variance(rows, weights)
    return 1.0 / (rows.shape[1] * variance) if variance > 0 else 1.0


def _variance(X: Rows) -> float:
    if not sp.issparse(X):
        return float(X.var())
    if not X.has_canonical_format:
        # An entry stored in two parts would count as two; the user's own matrix stays as it is.
        X = X.copy()
        X.sum_duplicates()
    size = X.shape[0] * X.shape[1]
    mean = X.sum() / size
    return float((np.sum((X.data - mean) ** 2) + (size - X.nnz) * mean**2) / size)


def _weighted_variance(X: Rows, weights: Vector) -> float:
    """Variance of all entries, each row counted by its weight."""
    counted = np.flatnonzero(weights > 0.0)
    if len(counted) < len(weights):
        X, weights = X[counted], weights[counted]
    if (weights == weights[0]).all():
        return _variance(X)
    share = weights / weights.sum()
    mean = share @ np.asarray(X.mean(axis=1)).ravel()
    if sp.issparse(X):
        # Shifted by its mean it would be dense.
        square = share @ np.asarray(X.multiply(X).mean(axis=1)).ravel()
        return float(max(0.0, square - mean**2))
    return float(share @ ((X - mean) ** 2).mean(axis=1)) if np.ptp(X) > 0.0 else 0.0


def _kernel_class(name: str) -> type[Any]:
    name = _ALIASES.get(name, name)
    require_choice("kernel", name, KERNELS, *_OTHERS)
    return KERNELS[name]


def _is_kernel(kernel: Any) -> bool:
    return isinstance(kernel, Kernel) and not isinstance(kernel, type)
