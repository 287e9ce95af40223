"""Gaussian processes, fitted by their evidence: the columns of [CG05] tables 2 to 4."""

from __future__ import annotations

from typing import Any

from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from echelon.gaussian_process.gpor import GPOR
from echelon.gaussian_process.kernels import LinearARD
from echelon.meta import RoundedRegressor

from .registry import Problem, register_model

#: Random starting points of the regression beside the first; its evidence has poor optima.
_REGRESSION_RESTARTS = 4


@register_model("MAP", revision=2)
def laplace_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, Laplace approximation, isotropic Gaussian kernel."""
    return _process("laplace", problem)


@register_model("EP", revision=2)
def propagated_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, expectation propagation, isotropic Gaussian kernel."""
    return _process("ep", problem)


@register_model("EP (median)", revision=2)
def median_process(problem: Problem) -> GPOR:
    """The same as EP, but it predicts the label of least expected absolute error."""
    return _process("ep", problem, cost="absolute")


@register_model("MAP (linear)")
def linear_laplace_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, Laplace approximation, linear kernel."""
    return _linear_process("laplace", problem)


@register_model("EP (linear)")
def linear_propagated_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, expectation propagation, linear kernel."""
    return _linear_process("ep", problem)


@register_model("MAP (Pearson)")
def pearson_laplace_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, Laplace approximation, correlation of ratings."""
    return _process("laplace", problem, kernel="pearson", noise_bounds="fixed")


@register_model("EP (Pearson)")
def pearson_propagated_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, expectation propagation, correlation of ratings."""
    return _process("ep", problem, kernel="pearson", noise_bounds="fixed")


@register_model("ARD")
def relevance_process(problem: Problem) -> GPOR:
    """Gaussian process for ordered labels, linear kernel with a relevance for each input."""
    return _process("laplace", problem, kernel="linear_ard", noise_bounds="fixed")


def _linear_process(inference: str, problem: Problem) -> GPOR:
    return _process(inference, problem, kernel=LinearARD(1.0), noise_bounds="fixed")


def _process(inference: str, problem: Problem, **options: Any) -> GPOR:
    """A process; the noise of kernels with a factor is fixed, as their factor does the same."""
    return GPOR(inference=inference, classes=problem.classes, random_state=problem.seed, **options)


@register_model("GPR")
def rounded_process(problem: Problem) -> RoundedRegressor:
    """Gaussian process regression on the ranks, Gaussian kernel, rounded to the nearest rank."""
    kernel = ConstantKernel(1.0, (1e-3, 1e3)) * RBF(3.0, (1e-2, 1e4))
    regressor = GaussianProcessRegressor(
        kernel + WhiteKernel(0.1, (1e-6, 1e2)),
        normalize_y=True,
        n_restarts_optimizer=_REGRESSION_RESTARTS,
        random_state=problem.seed,
    )
    return RoundedRegressor(regressor, classes=problem.classes)
