"""Gaussian processes for ordered labels from their definitions: dense inverses, sums, quadrature.

f ~ N(0, Σ) and P(y = k | f) = F((b_k − f)/σ) − F((b_{k−1} − f)/σ), [CG05] section 2, with codes
0 … K−1, the K−1 thresholds b and weights w on the rows. Nothing here knows of the package.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtr
from scipy.stats import logistic, multivariate_normal, norm

# Quadrature by the trapezoidal rule over twelve standard deviations, which converges faster than
# any power of the step for integrands like these.
NODES = np.linspace(-12.0, 12.0, 2401)
MASSES = norm.pdf(NODES) * (NODES[1] - NODES[0])


@dataclass(frozen=True)
class Task:
    """What the evidence is a function of, with the link "probit" or "logit"."""

    covariance: np.ndarray
    codes: np.ndarray
    thresholds: np.ndarray
    noise: float
    link: str = "probit"
    weights: np.ndarray | None = None

    @property
    def w(self):
        return np.ones(len(self.codes)) if self.weights is None else np.asarray(self.weights)

    @property
    def lower(self):
        return np.concatenate([[-np.inf], self.thresholds])[self.codes]

    @property
    def upper(self):
        return np.concatenate([self.thresholds, [np.inf]])[self.codes]

    def without_weightless_rows(self):
        keep = self.w > 0.0
        return Task(
            self.covariance[np.ix_(keep, keep)],
            self.codes[keep],
            self.thresholds,
            self.noise,
            self.link,
            self.w[keep],
        )


@dataclass(frozen=True)
class Posterior:
    """An approximation of the posterior: log evidence, mean and covariance of f at the rows.

    At an input with covariances k to the rows the mean is k·dual, and k·precision·k is how far the
    variance falls below the prior's.
    """

    log_evidence: float
    mean: np.ndarray
    covariance: np.ndarray
    dual: np.ndarray
    precision: np.ndarray

    def predict(self, cross, prior_variance):
        variance = prior_variance - np.einsum("ij,jk,ik->i", cross, self.precision, cross)
        return cross @ self.dual, variance


# ------------------------------------------------------------------------------------ likelihood


def density(link, z):
    return norm.pdf(z) if link == "probit" else logistic.pdf(z)


def density_slope(link, z):
    finite = np.where(np.isfinite(z), z, 0.0)
    ratio = -finite if link == "probit" else -np.tanh(0.5 * finite)
    return np.where(np.isfinite(z), density(link, finite) * ratio, 0.0)


def interval_probability(link, lower, upper):
    """F(upper) − F(lower), of the mirror image where both ends lie above zero."""
    cdf = ndtr if link == "probit" else expit
    flip = lower > 0.0
    low, high = np.where(flip, -upper, lower), np.where(flip, -lower, upper)
    return cdf(high) - cdf(low)


def likelihood(task, f):
    """P(y_i | f) for every row; f has a value for each row, or a row of values."""
    lower = task.lower.reshape((-1,) + (1,) * (np.ndim(f) - 1))
    upper = task.upper.reshape(lower.shape)
    return interval_probability(task.link, (lower - f) / task.noise, (upper - f) / task.noise)


def log_likelihood_derivatives(task, f):
    """ln P(y_i | f_i) with its first and second derivatives in f_i, times the weights."""
    u, v = (task.upper - f) / task.noise, (task.lower - f) / task.noise
    p = likelihood(task, f)
    first = -(density(task.link, u) - density(task.link, v)) / (task.noise * p)
    second = density_slope(task.link, u) - density_slope(task.link, v)
    second = second / (task.noise**2 * p) - first**2
    return task.w * np.log(p), task.w * first, task.w * second


def probabilities(link, mean, variance, thresholds, noise):
    """∫ P(y = k | f) N(f; mean, variance) df for every row and class."""
    edges = np.concatenate([[-np.inf], thresholds, [np.inf]])
    found = np.empty((len(mean), len(edges) - 1))
    for i in range(len(mean)):
        f = mean[i] + np.sqrt(variance[i]) * NODES
        for k in range(len(edges) - 1):
            inside = interval_probability(link, (edges[k] - f) / noise, (edges[k + 1] - f) / noise)
            found[i, k] = MASSES @ inside
    return found


# ---------------------------------------------------------------------------------------- exact


def exact_log_evidence_probit(task):
    """The probability that f plus Gaussian noise falls into the box of thresholds; n ≤ 5."""
    cov = task.covariance + task.noise**2 * np.eye(len(task.codes))
    noisy = multivariate_normal(cov=cov, seed=0)
    # Older releases take these of an object, not as arguments.
    noisy.maxpts, noisy.abseps, noisy.releps = 200_000, 1e-7, 1e-7
    return float(np.log(noisy.cdf(task.upper, lower_limit=task.lower)))


def exact_log_evidence(task):
    """By quadrature over f = L·z with Σ = LLᵀ, any link and weights; n ≤ 2."""
    factor = np.linalg.cholesky(task.covariance)
    coarse, masses = NODES[::6], MASSES[::6] * 6.0
    z = np.meshgrid(*[coarse] * len(task.codes), indexing="ij")
    f = np.tensordot(factor, np.array(z), axes=1)
    w = task.w.reshape((-1,) + (1,) * len(task.codes))
    integrand = np.prod(likelihood(task, f) ** w, axis=0)
    for _ in task.codes:
        integrand = integrand @ masses
    return float(np.log(integrand))


# --------------------------------------------------------------------------------------- Laplace


def laplace(task, tol=1e-11):
    """[CG05] section 3.1: the mode by Newton's method with halved steps, then the evidence.

    With g = ∇ ln P and Λ = −∇∇ ln P at the mode f = Σg; written without Σ⁻¹, so that equal rows
    are allowed.
    """
    n = len(task.codes)
    covariance, eye = task.covariance, np.eye(n)

    def objective(a):
        return log_likelihood_derivatives(task, covariance @ a)[0].sum() - 0.5 * a @ covariance @ a

    a = np.zeros(n)
    for _ in range(500):
        f = covariance @ a
        _, g, h = log_likelihood_derivatives(task, f)
        # (Σ⁻¹ + Λ)⁻¹(Λf + g) = Σ(I + ΛΣ)⁻¹(Λf + g)
        step = np.linalg.inv(eye - h[:, None] * covariance) @ (g - h * f) - a
        size = 1.0
        while size > 1e-6 and not objective(a + size * step) >= objective(a):
            size *= 0.5
        a = a + size * step
        # Where no step improves the objective, only rounding is left.
        if size < 1e-6 or np.abs(covariance @ step).max() < tol * (1.0 + np.abs(f).max()):
            break
    f = covariance @ a
    value, g, h = log_likelihood_derivatives(task, f)
    root = np.linalg.inv(eye - h[:, None] * covariance)
    _, log_det = np.linalg.slogdet(eye - covariance * h)
    return Posterior(
        float(value.sum() - 0.5 * f @ g - 0.5 * log_det), f, covariance @ root, g, root * -h
    )


def binary_laplace(covariance, labels, offset, noise, cross, prior_variance, link="probit"):
    """Gaussian process classification with labels ±1 and P(label | f) = F(label·(f − offset)/σ).

    Rasmussen and Williams' book, algorithms 3.1 and 3.2. Returns the log evidence, and means,
    variances and probabilities of the label +1 at new inputs.
    """
    n = len(labels)
    f = np.zeros(n)
    for _ in range(100):
        gradient, curvature = _binary_derivatives(link, labels, f - offset, noise)
        root = np.sqrt(curvature)
        L = np.linalg.cholesky(np.eye(n) + root[:, None] * covariance * root)
        b = curvature * f + gradient
        inner = np.linalg.solve(L, root * (covariance @ b))
        a = b - root * np.linalg.solve(L.T, inner)
        f = covariance @ a
    gradient, curvature = _binary_derivatives(link, labels, f - offset, noise)
    root = np.sqrt(curvature)
    L = np.linalg.cholesky(np.eye(n) + root[:, None] * covariance * root)
    z = labels * (f - offset) / noise
    log_p = norm.logcdf(z) if link == "probit" else logistic.logcdf(z)
    evidence = log_p.sum() - 0.5 * a @ f - np.log(np.diag(L)).sum()
    mean = cross @ gradient
    v = np.linalg.solve(L, root[:, None] * cross.T)
    variance = prior_variance - (v**2).sum(axis=0)
    above = probabilities(link, mean, variance, np.array([offset]), noise)[:, 1]
    return float(evidence), mean, variance, above


def _binary_derivatives(link, labels, f, noise):
    z = labels * f / noise
    if link == "logit":
        p = expit(f / noise)
        return ((labels + 1.0) / 2.0 - p) / noise, p * (1.0 - p) / noise**2
    ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
    return labels * ratio / noise, (ratio**2 + z * ratio) / noise**2


# ------------------------------------------------------------------------------------------- EP


def tilted_moments(task, i, mean, variance, power=1.0):
    """ln Z, mean and variance of P(y_i | f)^power N(f; mean, variance), by quadrature."""
    f = mean + np.sqrt(variance) * NODES
    lower, upper = (task.lower[i] - f) / task.noise, (task.upper[i] - f) / task.noise
    mass = MASSES * interval_probability(task.link, lower, upper) ** power
    Z = mass.sum()
    first = mass @ f / Z
    return np.log(Z), first, mass @ (f - first) ** 2 / Z


def tilted_moments_probit(task, i, mean, variance):
    """The same for Gaussian noise and power one, in the closed form of [CG05] appendix B."""
    scale = np.sqrt(variance + task.noise**2)
    z1, z2 = (task.upper[i] - mean) / scale, (task.lower[i] - mean) / scale
    Z = interval_probability("probit", z2, z1)
    alpha = -(norm.pdf(z1) - norm.pdf(z2)) / (scale * Z)
    slopes = density_slope("probit", z1) - density_slope("probit", z2)
    upsilon = alpha**2 - slopes / (scale**2 * Z)
    return np.log(Z), mean + variance * alpha, variance - variance**2 * upsilon


def expectation_propagation(task, sweeps=2000, tol=1e-12):
    """[CG05] appendix B: one site after another, the posterior kept by rank-one updates.

    A row has a site s·exp(−½p(f − m)²) for its likelihood to the power of its weight.
    """
    n = len(task.codes)
    p, m, log_s = np.zeros(n), np.zeros(n), np.zeros(n)
    A, h = task.covariance.copy(), np.zeros(n)
    for _ in range(sweeps):
        before = np.concatenate([p, p * m])
        for i in range(n):
            cavity, centre = _cavity(A[i, i], h[i], p[i], m[i])
            new_p, new_m, _ = _site(task, i, centre, cavity)
            change, shift = new_p - p[i], new_p * new_m - p[i] * m[i]
            column, mean = A[:, i].copy(), h[i]
            A = A - np.outer(column, column) * change / (1.0 + change * column[i])
            h = h + column * (shift - change * mean) / (1.0 + change * column[i])
            p[i], m[i] = new_p, new_m
        if np.abs(np.concatenate([p, p * m]) - before).max() < tol * (1.0 + np.abs(before).max()):
            break
    for i in range(n):
        log_s[i] = _site(task, i, *_cavity(A[i, i], h[i], p[i], m[i])[::-1])[2]
    return _gather_sites(task.covariance, p, m, log_s)


def _cavity(variance, mean, p, m):
    cavity = variance / (1.0 - variance * p)
    return cavity, mean + cavity * p * (mean - m)


def _site(task, i, centre, cavity):
    """(p, m, ln s) of the site that has the moments of the tilted distribution."""
    if task.link == "probit" and task.w[i] == 1.0:
        log_z, mean, variance = tilted_moments_probit(task, i, centre, cavity)
    else:
        log_z, mean, variance = tilted_moments(task, i, centre, cavity, task.w[i])
    alpha, upsilon = (mean - centre) / cavity, (cavity - variance) / cavity**2
    p = upsilon / (1.0 - cavity * upsilon)
    log_s = log_z + 0.5 * np.log1p(cavity * p) + alpha**2 / (2.0 * upsilon)
    return p, centre + alpha / upsilon, log_s


def _gather_sites(covariance, p, m, log_s):
    """∫ N(f; 0, Σ) Π t_i(f_i) df and the Gaussian that it is the integral of, with Π = diag(p)."""
    eye = np.eye(len(p))
    inverse = np.linalg.inv(eye + p[:, None] * covariance)
    A = covariance @ inverse
    _, log_det = np.linalg.slogdet(eye + p[:, None] * covariance)
    b = p * m @ A @ (p * m) - p @ m**2
    # (Σ + Π⁻¹)⁻¹ = (I + ΠΣ)⁻¹Π
    precision = inverse * p
    evidence = log_s.sum() - 0.5 * log_det + 0.5 * b
    return Posterior(float(evidence), A @ (p * m), A, precision @ m, precision)


# ---------------------------------------------------------------------------------------- bound


def variational_bound(task, mean, covariance):
    """[CG05] section 3.2: E_q ln P(D | f) − KL(q ‖ N(0, Σ)) for q = N(mean, covariance)."""
    expected = 0.0
    for i in range(len(mean)):
        f = mean[i] + np.sqrt(covariance[i, i]) * NODES
        lower, upper = (task.lower[i] - f) / task.noise, (task.upper[i] - f) / task.noise
        inside = np.maximum(interval_probability(task.link, lower, upper), 1e-300)
        expected += task.w[i] * (MASSES @ np.log(inside))
    inverse = np.linalg.inv(task.covariance)
    _, log_prior = np.linalg.slogdet(task.covariance)
    _, log_posterior = np.linalg.slogdet(covariance)
    divergence = np.trace(inverse @ covariance) + mean @ inverse @ mean - len(mean)
    return float(expected - 0.5 * (divergence + log_prior - log_posterior))


# ------------------------------------------------------------------------------------- gradients


def central_gradient(function, theta, step=1e-3):
    """Gradient by central differences of fourth order."""
    theta = np.asarray(theta, dtype=float)
    gradient = np.empty_like(theta)
    for j in range(len(theta)):
        unit = np.zeros_like(theta)
        unit[j] = step
        near = function(theta + unit) - function(theta - unit)
        far = function(theta + 2.0 * unit) - function(theta - 2.0 * unit)
        gradient[j] = (8.0 * near - far) / (12.0 * step)
    return gradient


def unpack(kernel, theta):
    """(kernel, σ, b) of θ = (kernel.theta, ln σ, b_1, ln Δ_2, …)."""
    p = len(kernel.theta)
    thresholds = np.cumsum(np.concatenate([theta[p + 1 : p + 2], np.exp(theta[p + 2 :])]))
    return kernel.clone_with_theta(theta[:p]), float(np.exp(theta[p])), thresholds


def task_of(kernel, theta, X, codes, link="probit", weights=None):
    """The task at hyperparameters θ of a kernel in scikit-learn's form."""
    at, noise, thresholds = unpack(kernel, theta)
    return Task(at(X), np.asarray(codes), thresholds, noise, link, weights)
