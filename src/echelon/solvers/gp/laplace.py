"""Laplace's approximation of the posterior over latent values, [CG05] section 3.1.

The mode minimises the convex function

    ψ(f) = −Σ w_i ℓ(y_i, f_i) + ½ fᵀΣ⁻¹f.

Newton's method works in a = Σ⁻¹f, so that Σ is never inverted: with the gradient g and the
curvature W of the log-likelihood at f, the full step leads to a′ = (I − RΣ)(Wf + g), R = (Σ +
W⁻¹)⁻¹. Steps are halved until ψ falls enough. The Newton decrement, (g − a)ᵀΔf, is twice the
distance to the minimum to second order and certifies the mode.

    ln P(D|θ) ≈ Σ w ℓ − ½ aᵀf − ½ ln|I + ΣW|.

Its gradient has a part with f fixed and one through f, which moves with θ: with
s_i = −½ A_ii ∂W_i/∂f_i and r = (I − RΣ)s,

    ∂/∂θ = tr(M·∂Σ/∂θ),   M = ½(aaᵀ − R) + ½(raᵀ + arᵀ),

and for a parameter φ of the likelihood Σ w ∂ℓ/∂φ − ½ Σ A_ii ∂W_i/∂φ + (Σr)ᵀ∂g/∂φ.
"""

from __future__ import annotations

import numpy as np

from ..._utils.types import Vector
from .evidence import Evidence, Gradient, LatentTerms, OrdinalLikelihood
from .prior import Factor, Prior

_TOLERANCE = 1e-19
#: A decrement that rounding may leave where no step improves the objective any more.
_ROUNDING = 1e-9
_ARMIJO = 1e-4
_HALVINGS = 30


def solve_laplace(
    prior: Prior,
    likelihood: OrdinalLikelihood,
    *,
    start: Vector | None = None,
    max_iter: int = 100,
) -> Evidence:
    """Mode, evidence and what its gradient needs.

    Parameters
    ----------
    prior, likelihood
    start : array of shape (n,), optional
        The vector a of an earlier solution; taken if it beats zero.
    max_iter : int
    """
    a, f = _start(prior, likelihood, start)
    terms = likelihood.at(f)
    objective = 0.5 * float(a @ f) - terms.value
    n_iter = 0
    while True:
        factor = prior.factor(terms.curvature)
        g = terms.gradient
        b = factor.precision * f + g
        step = factor.shrink_shift(b) - a
        step_f = prior.multiply(step)
        decrement = max(float((g - a) @ step_f), 0.0)
        if decrement <= _TOLERANCE * max(1.0, abs(objective)) or n_iter == max_iter:
            break
        if decrement <= _ROUNDING * max(1.0, abs(objective)):
            # ψ hardly falls any more, but ln|I + ΣW| still moves to first order.
            length = 1.0
        else:
            length = _line_search(likelihood, a, f, step, step_f, objective, decrement)
        if length == 0.0:
            break
        a, f = a + length * step, f + length * step_f
        terms = likelihood.at(f)
        objective = 0.5 * float(a @ f) - terms.value
        n_iter += 1
    return Evidence(
        log_evidence=-objective - 0.5 * factor.log_det,
        a=a,
        mean=f,
        factor=factor,
        residual=decrement,
        converged=decrement <= _ROUNDING * max(1.0, abs(objective)),
        n_iter=n_iter,
        start=a,
        gradient=lambda variances: _gradient(prior, terms, factor, variances),
    )


def _start(
    prior: Prior, likelihood: OrdinalLikelihood, start: Vector | None
) -> tuple[Vector, Vector]:
    zero = np.zeros(len(likelihood.codes))
    if start is None:
        return zero, zero
    f = prior.multiply(start)
    value = 0.5 * float(start @ f) - likelihood.at(f).value
    return (start, f) if value < -likelihood.at(zero).value else (zero, zero)


def _line_search(
    likelihood: OrdinalLikelihood,
    a: Vector,
    f: Vector,
    step: Vector,
    step_f: Vector,
    objective: float,
    decrement: float,
) -> float:
    """Longest of the steps 1, ½, ¼, … that lowers ψ enough; 0 if none does."""
    linear, quadratic = float(a @ step_f), float(step @ step_f)
    prior_term = 0.5 * float(a @ f)
    length = 1.0
    for _ in range(_HALVINGS):
        moved = prior_term + length * linear + 0.5 * length**2 * quadratic
        value = moved - likelihood.at(f + length * step_f).value
        if value <= objective - _ARMIJO * length * decrement:
            return length
        length *= 0.5
    return 0.0


def _gradient(prior: Prior, terms: LatentTerms, factor: Factor, variances: Vector) -> Gradient:
    s = -0.5 * variances * terms.curvature_slope
    r = factor.shrink_shift(s)
    return Gradient(r, terms.parameters(prior.multiply(r), -0.5 * variances))
