"""Anderson's acceleration of a fixed-point iteration x ← g(x).

From the last points x_j and their errors e_j = g(x_j) − x_j it takes the combination of points with
weights that add up to one and the least error, as if g were affine, and steps from there by the
combined error. On an affine map with m distinct rates it needs m + 1 steps.

The posterior is approximated by the prior times Gaussian sites exp(ν_i f_i − ½τ_i f_i²), one for
the likelihood P(y_i|f_i)^w_i of each row with its weight, so the posterior covariance is A = (Σ⁻¹ +
T)⁻¹ with T = diag(τ) and the mean h = Aν. Taking one site out leaves the cavity

    λ = A_ii/(1 − A_ii τ_i),   μ = λ(h_i/A_ii − ν_i),

and with ln Z_i = ln ∫ P(y_i|f)^w_i N(f; μ, λ) df, α = ∂ln Z_i/∂μ and υ = −∂²ln Z_i/∂μ², the site
that matches the moments of the tilted distribution is

    τ = υ/(1 − λυ),   ν = (α + υμ)/(1 − λυ).

All sites are renewed at once from one Cholesky factor, with damping when that does not settle, and
one after the other when damping does not help. The certificate is the largest mismatch of moments:
|tilted mean − h_i|/√A_ii and |tilted variance/A_ii − 1|. The log evidence

    Σ [ln Z_i + ½ λ_i a_i² + ½ ln(λ_i/A_ii)] − ½aᵀh − ½ln|I + ΣT|,   a = Σ⁻¹h = ν − Th,

is stationary in the sites where moments match, so its gradient is explicit: ½(aaᵀ − R) in Σ, and
Σ ∂ln Z_i/∂φ in a parameter φ of the likelihood. The bound that [CG05] maximises instead is

    Σ w_i E_q[ln P(y_i|f_i)] − KL(q‖prior),   KL = ½(hᵀa − Σ T_i A_ii + ln|I + ΣT|),

whose gradient is taken, as there, with q held fixed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.types import Vector
from ...ordinal.gaussian_intervals import TiltedTerms, expected_terms, tilted_terms
from .evidence import Evidence, Gradient, OrdinalLikelihood, RowGradient
from .laplace import solve_laplace
from .prior import DenseFactor, DensePrior, Factor, Prior, add_outer

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


#: Sweeps that the acceleration remembers.
_MEMORY = 8
#: A mismatch that grows by more than this brings back the best sites, with shorter steps.
_GROWTH = 3.0
#: Mismatch of sites that are worth starting from.
_NEAR = 1.0
#: Newton steps towards the mode, to start from there.
_MODE_STEPS = 20


@dataclass(frozen=True)
class Sites:
    """Natural parameters of one site of every row."""

    precision: Vector
    shift: Vector


@dataclass(frozen=True)
class _Sweep:
    """The posterior of given sites, and the sites that its tilted distributions ask for."""

    sites: Sites
    factor: Factor
    a: Vector
    mean: Vector
    variances: Vector
    tilted: TiltedTerms
    target: Sites
    residual: float


@dataclass(frozen=True)
class _Propagation:
    """What all sweeps share."""

    prior: Prior
    likelihood: OrdinalLikelihood

    def first_sweep(self, start: Sites | None) -> _Sweep:
        """From sites of an earlier solution if they nearly match, else around the mode."""
        if start is not None:
            sweep = self.sweep(start)
            if sweep.residual < _NEAR:
                return sweep
            # A factor is as large as the prior, and is of no use any more.
            del sweep
        mode = solve_laplace(self.prior, self.likelihood, max_iter=_MODE_STEPS).mean
        terms = self.likelihood.at(mode)
        return self.sweep(Sites(terms.curvature, terms.curvature * mode + terms.gradient))

    def sweep(self, sites: Sites) -> _Sweep:
        factor = self.prior.factor(sites.precision)
        a = factor.shrink_shift(sites.shift)
        mean = self.prior.multiply(a)
        variances = factor.posterior_variances()
        tilted, target, residual = self.tilt(sites, mean, variances)
        return _Sweep(sites, factor, a, mean, variances, tilted, target, float(residual.max()))

    def tilt(
        self, sites: Sites, mean: Vector, variances: Vector, rows: slice = slice(None)
    ) -> tuple[TiltedTerms, Sites, Vector]:
        """Tilted terms of some rows, the sites that match their moments, and the mismatch."""
        ratio = _cavity_ratio(sites, variances)
        cavity_variance = variances * ratio
        cavity_mean = ratio * (mean - variances * sites.shift)
        tilted = tilted_terms(
            self.likelihood.link,
            cavity_mean,
            cavity_variance,
            self.likelihood.lower[rows],
            self.likelihood.upper[rows],
            self.likelihood.noise,
            self.likelihood.weights[rows],
        )
        left = 1.0 - cavity_variance * tilted.curvature
        target = Sites(
            tilted.curvature / left,
            (tilted.d_mean + tilted.curvature * cavity_mean) / left,
        )
        with np.errstate(divide="ignore", invalid="ignore"):
            drift = (cavity_mean + cavity_variance * tilted.d_mean - mean) / np.sqrt(variances)
            spread = ratio * left - 1.0
        # A row without prior variance has nothing to match.
        mismatch = np.where(variances > 0.0, np.maximum(np.abs(drift), np.abs(spread)), 0.0)
        return tilted, target, mismatch


def solve_ep(
    prior: Prior,
    likelihood: OrdinalLikelihood,
    *,
    start: Sites | None = None,
    objective: str = "evidence",
    tol: float = 1e-6,
    max_iter: int = 100,
    patience: int = 8,
) -> Evidence:
    """Sites whose moments match, and the evidence or the variational bound at them.

    Parameters
    ----------
    prior, likelihood
    start : Sites, optional
        Those of an earlier solution.
    objective : {"evidence", "bound"}
    tol : float
        Largest mismatch of moments to leave.
    max_iter : int
        Most sweeps over all sites at once; a tenth as many one by one may follow.
    patience : int
        Times that a growing mismatch may shorten the steps before sites are renewed one by one.
    """
    propagation = _Propagation(prior, likelihood)
    sweep, n_iter = _together(propagation, propagation.first_sweep(start), tol, max_iter, patience)
    # One by one needs the posterior covariance in full, which a sparse prior is there to avoid.
    if sweep.residual > tol and isinstance(prior, DensePrior):
        best = sweep.sites, sweep.residual
        # A factor is as large as the prior, and the passes need room.
        del sweep
        sweep, n_more = _one_by_one(propagation, prior, *best, tol, max_iter // 10)
        n_iter += n_more
    value, rows = (_log_evidence if objective == "evidence" else _bound)(likelihood, sweep)
    slopes = rows.combine(likelihood.codes, len(likelihood.thresholds))
    return Evidence(
        log_evidence=value,
        a=sweep.a,
        mean=sweep.mean,
        factor=sweep.factor,
        residual=sweep.residual,
        converged=sweep.residual <= tol,
        n_iter=n_iter,
        start=sweep.sites,
        gradient=lambda variances: Gradient(np.zeros(len(variances)), slopes),
    )


def _together(
    propagation: _Propagation, sweep: _Sweep, tol: float, max_iter: int, patience: int
) -> tuple[_Sweep, int]:
    """Renew all sites at once, with acceleration, by shorter steps when the mismatch grows."""
    # Only the sites of the best sweep are kept: a factor is as large as the prior.
    best, least = sweep.sites, sweep.residual
    length, failures, n_iter = 1.0, 0, 0
    mixing = Anderson(_MEMORY)
    while sweep.residual > tol and n_iter < max_iter and failures < patience:
        sweep = propagation.sweep(_mixed(mixing, sweep, length))
        n_iter += 1
        if sweep.residual < least:
            best, least = sweep.sites, sweep.residual
        elif sweep.residual > _GROWTH * least:
            sweep, length, failures = propagation.sweep(best), 0.5 * length, failures + 1
            mixing = Anderson(_MEMORY, patience=_MEMORY // 2)
    return (sweep if sweep.residual <= least else propagation.sweep(best)), n_iter


def _one_by_one(
    propagation: _Propagation,
    prior: DensePrior,
    sites: Sites,
    residual: float,
    tol: float,
    max_iter: int,
) -> tuple[_Sweep, int]:
    """Renew one site after the other; the best sweep."""
    best, least, n_iter = sites, residual, 0
    while least > tol and n_iter < max_iter:
        sites = _sequential_pass(propagation, prior, sites)
        residual = propagation.sweep(sites).residual
        n_iter += 1
        if residual < least:
            best, least = sites, residual
    return propagation.sweep(best), n_iter


def _sequential_pass(propagation: _Propagation, prior: DensePrior, sites: Sites) -> Sites:
    """Each site with the posterior of all others as they are by then, by rank-one updates."""
    precision, shift = sites.precision.copy(), sites.shift.copy()
    A = DenseFactor(prior, precision).posterior_covariance()
    mean = A @ shift
    for i in range(len(precision)):
        row = slice(i, i + 1)
        column = A[:, i].copy()
        old = Sites(precision[row], shift[row])
        _, new, _ = propagation.tilt(old, mean[row], np.maximum(column[row], 0.0), row)
        change = float(new.precision[0] - precision[i])
        push = float(new.shift[0] - shift[i])
        scale = 1.0 / (1.0 + change * column[i])
        mean += column * ((push - change * mean[i]) * scale)
        add_outer(A.T, column, column, -change * scale)
        precision[i], shift[i] = new.precision[0], new.shift[0]
    return Sites(precision, shift)


def _cavity_ratio(sites: Sites, variances: Vector) -> Vector:
    """λ/A = 1/(1 − Aτ), where Aτ may reach one by rounding."""
    left = 1.0 - variances * sites.precision
    return np.asarray(1.0 / np.maximum(left, np.finfo(np.float64).eps))


def _mixed(mixing: Anderson, sweep: _Sweep, length: float) -> Sites:
    """Sites to look at next; precisions stay positive."""
    sites, target = sweep.sites, sweep.target
    point = np.concatenate([sites.precision, sites.shift])
    error = np.concatenate([target.precision - sites.precision, target.shift - sites.shift])
    scale = np.concatenate([sweep.variances, np.sqrt(sweep.variances)])
    moved = mixing.next(point, error, scale, length)
    precision, shift = np.split(moved, 2)
    return Sites(np.maximum(precision, 0.0), shift)


def _log_evidence(likelihood: OrdinalLikelihood, sweep: _Sweep) -> tuple[float, RowGradient]:
    a, A, tilted = sweep.a, sweep.variances, sweep.tilted
    ratio = _cavity_ratio(sweep.sites, A)
    rows = tilted.log_z + 0.5 * ratio * A * a**2 + 0.5 * np.log(ratio)
    value = float(rows.sum()) - 0.5 * float(a @ sweep.mean) - 0.5 * sweep.factor.log_det
    return value, RowGradient(tilted.d_lower, tilted.d_upper, tilted.d_log_noise)


def _bound(likelihood: OrdinalLikelihood, sweep: _Sweep) -> tuple[float, RowGradient]:
    expected = expected_terms(
        likelihood.link,
        sweep.mean,
        sweep.variances,
        likelihood.lower,
        likelihood.upper,
        likelihood.noise,
    )
    divergence = float(sweep.mean @ sweep.a) + sweep.factor.log_det
    divergence -= float(sweep.factor.precision @ sweep.variances)
    w = likelihood.weights
    rows = RowGradient(w * expected.d_lower, w * expected.d_upper, w * expected.d_log_noise)
    return float(w @ expected.value) - 0.5 * divergence, rows
