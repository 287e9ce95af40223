"""Parts of a Gaussian process's kernel: values, and weighted sums of derivatives.

A part stands for one of scikit-learn's kernels, or for a sum, product or power of parts. Where
scikit-learn lists the derivatives of all entries, n×m×p numbers, a part gives their weighted sums,
by products of matrices where the kernel allows it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist
from sklearn.gaussian_process import kernels as scikit
from sklearn.gaussian_process.kernels import Kernel

from .._utils.types import Array
from ..kernels.rows import shift_rows, squared_norms
from .kernels import LinearARD, PearsonKernel

#: entries of a block: a number where they are all the same
Values = Array | float

# From this squared length of scaled rows on, inner products lose too many digits of distances.
_LONG = 1e5
# Entries of scikit-learn's gradients that are held at a time.
_LISTED = 1 << 20


class Part:
    """A kernel k with p free parameters θ, on a block of rows X and Y; Y = None stands for Y = X.

    By default values are the kernel's own, and all derivatives are ``slope``. Sums of derivatives
    are only asked for where p > 0.
    """

    def __init__(self, kernel: Kernel, slope: float = 0.0) -> None:
        self.kernel = kernel
        self.slope = slope
        self.n_free = int(kernel.n_dims)

    def values(self, X: Array, Y: Array | None) -> Values:
        """k(x_i, y_j): a new array, or a number where all are the same."""
        return np.asarray(self.kernel(X, Y))

    def diagonal(self, X: Array) -> Values:
        """k(x_i, x_i)."""
        return np.asarray(self.kernel.diag(X))

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        """Σ_ij weights_ij ∂k(x_i, y_j)/∂θ, where `values` are the kernel's if they are known."""
        return np.full(self.n_free, self.slope * weights.sum())

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        """Σ_i weights_i ∂k(x_i, x_i)/∂θ."""
        return np.full(self.n_free, self.slope * weights.sum())

    def relevance(self, n_features: int) -> Array | None:
        """κ_v of every feature, if the kernel has as many as there are features."""
        return None


class Constant(Part):
    """k = c, with θ = ln c."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, float(kernel.constant_value))

    def values(self, X: Array, Y: Array | None) -> Values:
        return self.slope

    def diagonal(self, X: Array) -> Values:
        return self.slope


class White(Part):
    """Noise that a row shares with itself alone: a block has it only where Y is not given."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, float(kernel.noise_level))

    def values(self, X: Array, Y: Array | None) -> Values:
        return 0.0 if Y is not None else np.diag(np.full(len(X), self.slope))

    def diagonal(self, X: Array) -> Values:
        return self.slope

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        return np.full(self.n_free, 0.0 if Y is not None else self.slope * np.trace(weights))


class Stationary(Part):
    """What RBF and Matern share: k depends on r = ‖(x − y)/ℓ‖ alone, and is 1 at r = 0.

    With g(r) = −k′(r)/r, ∂k/∂ ln ℓ_v = g (x_v − y_v)²/ℓ_v². The sum over all i, j of a weight
    times a square of differences takes one product of matrices for all features.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.length_scale = np.squeeze(np.asarray(kernel.length_scale, dtype=np.float64))
        self.per_feature = bool(kernel.anisotropic)

    def diagonal(self, X: Array) -> Values:
        return 1.0

    def relevance(self, n_features: int) -> Array | None:
        return _one_per_feature(self.length_scale**-2.0, n_features)

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        left, right = self._scaled(X, Y)
        slopes = self._weighted_slopes(left, right, weights, values)
        sums = _sums_of_squared_differences(slopes, left, right)
        return sums if self.per_feature else sums.sum(keepdims=True)

    def _weighted_slopes(
        self, left: Array, right: Array, weights: Array, values: Values | None
    ) -> Array:
        """Weight times g of every entry, as a new array."""
        raise NotImplementedError

    def _scaled(self, X: Array, Y: Array | None) -> tuple[Array, Array]:
        """Rows over the length scales, about their centre; one object twice where Y is None."""
        left, right = shift_rows(X, X if Y is None else Y)
        if self.length_scale.ndim and len(self.length_scale) != X.shape[1]:
            raise ValueError(
                f"length_scale must be one number or one per feature, {X.shape[1]}; found "
                f"{len(self.length_scale)} of them."
            )
        scaled = right / self.length_scale
        return (scaled if left is right else left / self.length_scale), scaled


class Gaussian(Stationary):
    """k = exp(−r²/2), which is RBF and Matern with an infinite ν; g = k."""

    def values(self, X: Array, Y: Array | None) -> Values:
        return _gaussian(*self._scaled(X, Y))

    def _weighted_slopes(
        self, left: Array, right: Array, weights: Array, values: Values | None
    ) -> Array:
        if values is not None:
            return weights * values
        slopes = _gaussian(left, right)
        slopes *= weights
        return slopes


class Matern(Stationary):
    """k of ν = 1/2, 3/2 or 5/2, from distances that are taken directly.

    The square root leaves too few digits of short distances that come from inner products.
    """

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.twice_nu = round(2.0 * kernel.nu)

    def values(self, X: Array, Y: Array | None) -> Values:
        s = cdist(*self._scaled(X, Y))
        s *= math.sqrt(self.twice_nu)
        decay = np.asarray(np.exp(-s))
        if self.twice_nu == 1:
            return decay
        decay *= 1.0 + s if self.twice_nu == 3 else 1.0 + s + s * s / 3.0
        return decay

    def _weighted_slopes(
        self, left: Array, right: Array, weights: Array, values: Values | None
    ) -> Array:
        r = cdist(left, right)
        slopes = np.asarray(np.exp(r * -math.sqrt(self.twice_nu)))
        if self.twice_nu == 1:
            # At distances this short the sums of squares have no digits left for a steep slope to
            # multiply, and what it would give, r e⁻ʳ, is nought anyway.
            r[r <= 1e-8 * math.sqrt(_longest(left, right))] = 1.0
            slopes /= r
        elif self.twice_nu == 3:
            slopes *= 3.0
        else:
            slopes *= (1.0 + math.sqrt(5.0) * r) * (5.0 / 3.0)
        slopes *= weights
        return slopes


class Linear(Part):
    """k = Σ_v κ_v x_v y_v, with θ = ln κ."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.per_feature = bool(kernel.anisotropic)

    def relevance(self, n_features: int) -> Array | None:
        return _one_per_feature(self.kernel.relevance, n_features)

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        sums = np.einsum("iv,iv->v", X, weights @ (X if Y is None else Y))
        return self._by_parameter(sums)

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        return self._by_parameter(weights @ (X * X))

    def _by_parameter(self, sums: Array) -> Array:
        sums = sums * np.squeeze(self.kernel.relevance)
        return sums if self.per_feature else sums.sum(keepdims=True)


class Dot(Part):
    """k = σ₀² + ⟨x, y⟩, with θ = ln σ₀."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel, 2.0 * float(kernel.sigma_0) ** 2)

    def values(self, X: Array, Y: Array | None) -> Values:
        products = np.asarray(X @ (X if Y is None else Y).T)
        products += 0.5 * self.slope
        return products


class Scaled(Part):
    """A kernel whose only parameter is a factor of all values, with θ its logarithm."""

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        values = self.values(X, Y) if values is None else values
        return np.array([np.sum(weights * values)])

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        return np.full(self.n_free, np.sum(weights * self.diagonal(X)))


class Other(Part):
    """Any kernel, by the derivatives that it lists itself, for few rows at a time."""

    def values(self, X: Array, Y: Array | None) -> Values:
        return np.array(self.kernel(X, Y), dtype=np.float64)

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        total = np.zeros(self.n_free)
        m = len(X) if Y is None else len(Y)
        for rows in self._pieces(len(X)):
            for columns in self._pieces(m):
                part = weights[rows, columns]
                if Y is None and rows == columns:
                    gradient = self.kernel(X[rows], eval_gradient=True)[1]
                else:
                    right = X[columns] if Y is None else Y[columns]
                    gradient = self._gradient_between(X[rows], right)
                total += np.einsum("ij,ijp->p", part, gradient)
        return total

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        total = np.zeros(self.n_free)
        for rows in self._pieces(len(X)):
            gradient = self.kernel(X[rows], eval_gradient=True)[1]
            total += np.einsum("i,iip->p", weights[rows], gradient)
        return total

    def _gradient_between(self, X: Array, Y: Array) -> Array:
        """Derivatives between two sets of rows, which kernels only list for one set."""
        gradient = self.kernel(np.concatenate([X, Y]), eval_gradient=True)[1]
        return np.asarray(gradient[: len(X), len(X) :])

    def _pieces(self, n: int) -> Iterator[slice]:
        step = max(1, math.isqrt(_LISTED // (4 * self.n_free)))
        for start in range(0, n, step):
            yield slice(start, min(start + step, n))


class Pair(Part):
    """A sum or product of two parts."""

    operation: np.ufunc

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.first, self.second = part_of(kernel.k1), part_of(kernel.k2)
        self.free = [part for part in (self.first, self.second) if part.n_free]

    def relevance(self, n_features: int) -> Array | None:
        found = [part.relevance(n_features) for part in (self.first, self.second)]
        known = [kappa for kappa in found if kappa is not None]
        return np.sum(known, axis=0) if known else None

    def values(self, X: Array, Y: Array | None) -> Values:
        return _joined(self.operation, self.first.values(X, Y), self.second.values(X, Y))

    def diagonal(self, X: Array) -> Values:
        both: Values = self.operation(self.first.diagonal(X), self.second.diagonal(X))
        return both


class Sum(Pair):
    """k = k₁ + k₂."""

    operation = np.add

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        return np.concatenate([part.contract(X, Y, weights, None) for part in self.free])

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        return np.concatenate([part.contract_diagonal(X, weights) for part in self.free])


class Product(Pair):
    """k = k₁·k₂."""

    operation = np.multiply

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        a, b = self._factors(X, Y, values)
        by_first = _contract_times(self.first, X, Y, weights, a, b)
        return np.concatenate([by_first, _contract_times(self.second, X, Y, weights, b, a)])

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        pairs = (self.first, self.second), (self.second, self.first)
        return np.concatenate(
            [a.contract_diagonal(X, weights * b.diagonal(X)) for a, b in pairs if a.n_free]
        )

    def _factors(self, X: Array, Y: Array | None, product: Values | None) -> tuple[Values, Values]:
        """Values of both parts, by division where the product is known and one is a number."""
        if product is not None and isinstance(self.first, Constant) and self.first.slope:
            return self.first.slope, product / self.first.slope
        if product is not None and isinstance(self.second, Constant) and self.second.slope:
            return product / self.second.slope, self.second.slope
        return self.first.values(X, Y), self.second.values(X, Y)


class Power(Part):
    """A part to the power of a number."""

    def __init__(self, kernel: Kernel) -> None:
        super().__init__(kernel)
        self.base = part_of(kernel.kernel)
        self.exponent = float(kernel.exponent)

    def values(self, X: Array, Y: Array | None) -> Values:
        return self.base.values(X, Y) ** self.exponent

    def diagonal(self, X: Array) -> Values:
        return self.base.diagonal(X) ** self.exponent

    def relevance(self, n_features: int) -> Array | None:
        return self.base.relevance(n_features)

    def contract(self, X: Array, Y: Array | None, weights: Array, values: Values | None) -> Array:
        base = self.base.values(X, Y)
        return _contract_times(self.base, X, Y, weights, base, self._slope(base))

    def contract_diagonal(self, X: Array, weights: Array) -> Array:
        return self.base.contract_diagonal(X, weights * self._slope(self.base.diagonal(X)))

    def _slope(self, base: Values) -> Values:
        return self.exponent * base ** (self.exponent - 1)


def _one_per_feature(relevance: npt.ArrayLike, n_features: int) -> Array | None:
    # A kernel of one feature forgets whether its parameter came in an array: the count decides.
    values = np.array(relevance, dtype=np.float64, ndmin=1)
    return values if len(values) == n_features else None


def _gaussian(left: Array, right: Array) -> Array:
    """exp(−‖x_i − y_j‖²/2): exactly one for equal rows, exactly symmetric where left is right.

    The exponents are one product of matrices, with the squared lengths in columns of their own.
    """
    if _longest(left, right) > _LONG:
        exponents = cdist(left, right, "sqeuclidean")
        exponents *= -0.5
        return np.asarray(np.exp(exponents, out=exponents))
    # Squared lengths that are shorter by the rounding error of the sum put the exponents of equal
    # rows above zero, whence they are cut off.
    shrink = -0.5 * (1.0 - 4.0 * (left.shape[1] + 4) * np.finfo(np.float64).eps)
    a, b = shrink * squared_norms(left), shrink * squared_norms(right)
    both = np.column_stack([right, np.ones(len(right)), b])
    exponents = np.column_stack([left, a, np.ones(len(left))]) @ both.T
    if left is right:
        exponents = np.minimum(exponents, exponents.T)
    np.minimum(exponents, 0.0, out=exponents)
    return np.asarray(np.exp(exponents, out=exponents))


def _longest(left: Array, right: Array) -> float:
    """Largest squared length of a row."""
    return max(float(squared_norms(rows).max(initial=0.0)) for rows in (left, right))


def _sums_of_squared_differences(S: Array, X: Array, Y: Array) -> Array:
    """Σ_ij S_ij (x_iv − y_jv)² for every column v."""
    by_rows, by_columns = S.sum(axis=1), S.sum(axis=0)
    crossed = np.einsum("iv,iv->v", X, S @ Y)
    return np.asarray(by_rows @ (X * X) + by_columns @ (Y * Y) - 2.0 * crossed)


def _contract_times(
    part: Part, X: Array, Y: Array | None, weights: Array, values: Values, factor: Values
) -> Array:
    """Weighted sum of a part's derivatives where another factor multiplies the weights."""
    if not part.n_free:
        return np.empty(0)
    if isinstance(factor, np.ndarray):
        if isinstance(part, Constant):
            return np.array([part.slope * np.einsum("ij,ij->", weights, factor)])
        return part.contract(X, Y, weights * factor, values)
    return factor * part.contract(X, Y, weights, values)


def _joined(operation: np.ufunc, a: Values, b: Values) -> Values:
    """Sum or product in place, where one of both is an array."""
    if not isinstance(a, np.ndarray):
        a, b = b, a
    joined: Values = operation(a, b, out=a if isinstance(a, np.ndarray) else None)
    return joined


def part_of(kernel: Kernel) -> Part:
    """The part of a kernel; a subclass may do otherwise than its class, so it is `Other`."""
    kind = type(kernel)
    if kind is scikit.Matern:
        known = {0.5: Matern, 1.5: Matern, 2.5: Matern, np.inf: Gaussian}
        return known.get(kernel.nu, Other)(kernel)
    return _PARTS.get(kind, Other)(kernel)


_PARTS: dict[type, type[Part]] = {
    scikit.Sum: Sum,
    scikit.Product: Product,
    scikit.Exponentiation: Power,
    scikit.ConstantKernel: Constant,
    scikit.WhiteKernel: White,
    scikit.RBF: Gaussian,
    scikit.DotProduct: Dot,
    LinearARD: Linear,
    PearsonKernel: Scaled,
}
