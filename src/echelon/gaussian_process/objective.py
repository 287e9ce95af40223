"""The log evidence of a Gaussian process for ordered labels as a function of its hyperparameters.

θ = (the kernel's theta, ln σ unless it is fixed, b_1, ln Δ_2, …, ln Δ_{K−1}), [CG05] appendix A.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.special import ndtri
from sklearn.gaussian_process.kernels import Kernel

from .._utils.types import Codes, Index, Matrix, Vector
from ..ordinal.arrays import finite_vector
from ..ordinal.likelihoods import Link
from ..ordinal.thresholds import chain_to_free, from_free, to_free
from ..solvers.gp.ep import Sites, solve_ep
from ..solvers.gp.evidence import (
    Evidence,
    OrdinalLikelihood,
    ParameterGradient,
    dense_sensitivity,
    sparse_sensitivity,
)
from ..solvers.gp.laplace import solve_laplace
from ..solvers.gp.prior import DenseFactor, DensePrior, Prior, SparsePrior
from .covariance import contract, contract_diagonal, covariance

#: A function from θ to the log density of a prior on it, and its gradient.
HyperPrior = Callable[[Vector], tuple[float, Vector]]

#: Least and greatest distance of neighbouring thresholds.
_STEP_BOUNDS = np.log([1e-6, 1e6])
#: Standard deviation of random starts around the first one, on the log scale.
_START_SPREAD = 1.0
_LEAST_SHARE = 1e-3
#: Mismatch of moments that may stay where expectation propagation only checks Laplace's evidence.
_CHECK_TOLERANCE = 1e-2


@dataclass(frozen=True)
class Hyperparameters:
    """Kernel, noise and thresholds; `noise_bounds` None keeps the noise as it is."""

    kernel: Kernel
    noise: float
    thresholds: Vector
    noise_bounds: tuple[float, float] | None

    @property
    def theta(self) -> Vector:
        """All of them that are free, as one vector."""
        noise = [] if self.noise_bounds is None else [np.log(self.noise)]
        return np.concatenate([self.kernel.theta, noise, to_free(self.thresholds)])

    @property
    def bounds(self) -> Matrix:
        """Lower and upper bound of every entry of `theta`, (p, 2)."""
        kernel = np.asarray(self.kernel.bounds, dtype=np.float64).reshape(-1, 2)
        noise = np.empty((0, 2)) if self.noise_bounds is None else np.log([self.noise_bounds])
        steps = np.tile(_STEP_BOUNDS, (len(self.thresholds) - 1, 1))
        return np.concatenate([kernel, noise, [[-np.inf, np.inf]], steps])

    def with_theta(self, theta: Vector) -> Hyperparameters:
        """Hyperparameters of another vector."""
        n_scales, noise = self.kernel.n_dims, self.noise
        kernel = self.kernel.clone_with_theta(theta[:n_scales])
        if self.noise_bounds is not None:
            noise, n_scales = float(np.exp(theta[n_scales])), n_scales + 1
        return replace(self, kernel=kernel, noise=noise, thresholds=from_free(theta[n_scales:]))

    def chain(self, by_kernel: Vector, by_likelihood: ParameterGradient) -> Vector:
        """Gradient in `theta` of its parts."""
        noise = [] if self.noise_bounds is None else [by_likelihood.log_noise]
        free = chain_to_free(by_likelihood.thresholds, to_free(self.thresholds))
        return np.concatenate([by_kernel, noise, free])


@dataclass
class EvidenceObjective:
    """Log evidence of the rows; each evaluation starts from the solution of the last one.

    `inducing` None means the full prior. `codes` are the places of the observed classes.
    `tolerance` is the mismatch of moments that expectation propagation may leave.
    """

    hyperparameters: Hyperparameters
    X: Matrix
    inducing: Matrix | None
    codes: Codes
    weights: Vector
    link: Link
    inference: str
    criterion: str
    hyper_prior: HyperPrior | None
    tolerance: float = 1e-6
    start: Any = None
    n_evaluations: int = 0

    def part(self, rows: Index) -> EvidenceObjective:
        """The objective of some of the rows."""
        return replace(
            self, X=self.X[rows], codes=self.codes[rows], weights=self.weights[rows], start=None
        )

    def infer(self, theta: Vector) -> Evidence:
        """Approximate the posterior under θ."""
        setting = self.hyperparameters.with_theta(theta)
        likelihood, prior = self._likelihood(setting), self._prior(setting.kernel)
        if self.inference == "laplace":
            evidence = solve_laplace(prior, likelihood, start=self.start)
        else:
            evidence = solve_ep(
                prior,
                likelihood,
                start=self.start,
                objective=self.criterion,
                tol=self.tolerance,
            )
        self.start = evidence.start if evidence.converged else None
        return evidence

    def laplace_gap(self, theta: Vector) -> float:
        """Laplace's log evidence less that of expectation propagation; NaN where that fails."""
        mode = self.infer(theta)
        prior, precision, claimed = mode.factor.prior, mode.factor.precision, mode.log_evidence
        start = Sites(precision, precision * mode.mean + mode.a)
        # A factor is as large as the prior, and is of no use any more.
        del mode
        likelihood = self._likelihood(self.hyperparameters.with_theta(theta))
        try:
            checked = solve_ep(prior, likelihood, start=start, tol=_CHECK_TOLERANCE)
        except np.linalg.LinAlgError:
            return np.nan
        return claimed - checked.log_evidence

    def value(self, theta: Vector) -> float:
        """Log evidence, and log prior of θ if there is one."""
        value = self.infer(theta).log_evidence
        return value if self.hyper_prior is None else value + self.hyper_prior(theta)[0]

    def value_and_gradient(self, theta: Vector) -> tuple[float, Vector]:
        """The same with its gradient in θ."""
        self.n_evaluations += 1
        return self.differentiate(theta, self.infer(theta))

    def differentiate(self, theta: Vector, evidence: Evidence) -> tuple[float, Vector]:
        """Value and gradient from an inference under θ."""
        setting = self.hyperparameters.with_theta(theta)
        by_kernel, by_likelihood = self._slopes(setting.kernel, evidence)
        value, gradient = evidence.log_evidence, setting.chain(by_kernel, by_likelihood)
        if self.hyper_prior is not None:
            log_density, slope = self.hyper_prior(theta)
            value, gradient = value + log_density, gradient + slope
        return value, gradient

    def _likelihood(self, setting: Hyperparameters) -> OrdinalLikelihood:
        return OrdinalLikelihood(
            self.link, self.codes, setting.thresholds, setting.noise, self.weights
        )

    def _prior(self, kernel: Kernel) -> Prior:
        if self.inducing is None:
            return DensePrior(covariance(kernel, self.X))
        # With themselves as other rows, inducing points have none of the kernel's own noise.
        return SparsePrior(
            covariance(kernel, self.inducing, self.inducing),
            covariance(kernel, self.X, self.inducing).T,
            kernel.diag(self.X),
        )

    def _slopes(self, kernel: Kernel, evidence: Evidence) -> tuple[Vector, ParameterGradient]:
        """Derivatives in the kernel's theta and in the likelihood's parameters."""
        factor = evidence.factor
        if isinstance(factor, DenseFactor):
            M, by_likelihood = dense_sensitivity(evidence, factor)
            covariances = factor.prior.covariance
            return contract(kernel, self.X, None, M.T, matrix=covariances), by_likelihood
        parts, by_likelihood = sparse_sensitivity(evidence, factor)
        by_kernel = contract(kernel, self.inducing, self.inducing, parts.inducing)
        by_kernel += contract(kernel, self.X, self.inducing, parts.cross.T)
        return by_kernel + contract_diagonal(kernel, self.X, parts.variances), by_likelihood


def published_thresholds(n_classes: int) -> Vector:
    """Thresholds that [CG05] starts from: b_1 = −1 and steps of 2/K.

    Examples
    --------
    >>> published_thresholds(4)
    array([-1. , -0.5,  0. ])
    """
    return -1.0 + 2.0 / n_classes * np.arange(n_classes - 1, dtype=np.float64)


def random_theta(
    hyperparameters: Hyperparameters,
    codes: Codes,
    weights: Vector,
    rng: np.random.RandomState,
) -> Vector:
    """Draw a start: kernel and noise near the first one, thresholds at the classes' quantiles."""
    mass = np.bincount(codes, weights)
    # A least share keeps thresholds beside rare classes apart and in range.
    shares = np.maximum(mass / mass.sum(), _LEAST_SHARE)
    quantiles = np.cumsum(shares)[:-1] / shares.sum()
    first = replace(hyperparameters, thresholds=ndtri(quantiles))
    theta = first.theta
    n_scales = len(theta) - len(quantiles)
    theta[:n_scales] += _START_SPREAD * rng.standard_normal(n_scales)
    bounds = hyperparameters.bounds
    return np.clip(theta, bounds[:, 0], bounds[:, 1])


ValueAndGradient = Callable[[Vector], tuple[float, Vector]]

#: Largest entry of the projected gradient that a maximum may have, per unit of |value| above one.
_FLAT = 1e-3
_GRADIENT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Maximum:
    """Best point found, and its value as the search saw it; NaN where there was no search."""

    theta: Vector
    value: float
    n_iter: int
    converged: bool


def maximise(
    objective: ValueAndGradient,
    starts: list[Vector],
    bounds: Matrix,
    optimizer: Any,
    max_iter: int,
    tol: float,
) -> Maximum:
    """Best of the maxima from several starts.

    L-BFGS-B stops when an iteration gains less than `tol` of the value. `optimizer` is
    "fmin_l_bfgs_b" or a function of an objective to minimise, the start and the bounds that returns
    the best point and its value, as scikit-learn has it.
    """
    if isinstance(optimizer, str):
        found = [_lbfgs(objective, start, bounds, max_iter, tol) for start in starts]
    else:
        found = [_users_search(objective, start, bounds, optimizer) for start in starts]
    return max(found, key=lambda maximum: maximum.value)


def projected_norm(theta: Vector, gradient: Vector, bounds: Matrix) -> float:
    """Largest entry of the gradient of an ascent that may not leave the bounds."""
    step = np.clip(theta + gradient, bounds[:, 0], bounds[:, 1]) - theta
    return float(np.abs(step).max(initial=0.0))


def _lbfgs(
    objective: ValueAndGradient, start: Vector, bounds: Matrix, max_iter: int, tol: float
) -> Maximum:
    worst: float | None = None

    def negative(theta: Vector) -> tuple[float, Vector]:
        nonlocal worst
        try:
            value, gradient = objective(theta)
        except np.linalg.LinAlgError:
            # Past the start, hyperparameters that defy arithmetic are only worse than the others.
            if worst is None:
                raise
            return worst + 1e3 * (1.0 + abs(worst)), np.zeros(len(theta))
        worst = -value if worst is None else max(worst, -value)
        return -value, -gradient

    result = minimize(
        negative,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": max_iter, "ftol": tol, "gtol": _GRADIENT_TOLERANCE},
    )
    norm = projected_norm(result.x, -result.jac, bounds)
    converged = bool(result.success) or norm <= _FLAT * max(1.0, abs(float(result.fun)))
    return Maximum(result.x, -float(result.fun), int(result.nit), converged)


def _users_search(
    objective: ValueAndGradient, start: Vector, bounds: Matrix, optimizer: Any
) -> Maximum:
    n_calls = 0

    def negative(theta: Vector, eval_gradient: bool = True) -> Any:
        nonlocal n_calls
        n_calls += 1
        value, gradient = objective(np.asarray(theta, dtype=np.float64))
        return (-value, -gradient) if eval_gradient else -value

    theta, _ = optimizer(negative, start, bounds=bounds)
    theta = finite_vector(theta, len(start), "The theta that optimizer returns")
    # A search of the user's own is converged when it says so by returning.
    return Maximum(theta, objective(theta)[0], n_calls, True)
