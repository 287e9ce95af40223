"""Kernels: Gram blocks k(x_i, y_j) from plain arrays, by products of matrices.

A kernel is a frozen set of parameters with ``block(X, Y)`` and ``diagonal(X)``. Everything is
NumPy and SciPy; learning a kernel's parameters, and keeping its rows, is the business of others.
"""

from .factory import KERNELS, get_kernel, parameter_names, resolve_gamma
from .functions import (
    Function,
    Gaussian,
    Kernel,
    KernelFunction,
    Linear,
    Pearson,
    Polynomial,
    Precomputed,
    Sigmoid,
)

__all__ = [
    "KERNELS",
    "Function",
    "Gaussian",
    "Kernel",
    "KernelFunction",
    "Linear",
    "Pearson",
    "Polynomial",
    "Precomputed",
    "Sigmoid",
    "get_kernel",
    "parameter_names",
    "resolve_gamma",
]
