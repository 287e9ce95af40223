"""Dual problems of support vector ordinal regression, and what must hold of their solutions."""

from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from echelon.kernels.cache import GramRows
from echelon.ordinal.costs import adjacent_weights, cost_matrix, threshold_weights
from echelon.solvers.svor import dual as threshold_dual
from echelon.solvers.svor.dual import Coupling

BUILDERS = {
    "implicit": threshold_dual.implicit,
    "explicit": threshold_dual.explicit,
    "none": threshold_dual.unordered,
    "ridge": threshold_dual.penalised,
    "offset": threshold_dual.penalised_around_offset,
}
#: each formulation with every kind of weights that it is used with
FORMULATIONS = [
    *(
        (form, cost)
        for form in ("implicit", "ridge", "offset")
        for cost in ("absolute", "squared", "zero_one", "v_shaped", "per_row")
    ),
    ("explicit", "adjacent"),
    ("none", "adjacent"),
]
INPUTS = ("scattered", "lattice", "line", "one_point")


class Problem(NamedTuple):
    """A dual problem and its kernel matrix."""

    dual: threshold_dual.ThresholdDual
    gram: np.ndarray


def make_problem(form, cost, *, n, K, C, seed, inputs="scattered", levels=None):
    """Random problem; ``levels`` are the classes that have examples, by default any."""
    rng = np.random.default_rng(seed)
    levels = np.arange(K) if levels is None else np.asarray(levels)
    # The first two examples make sure of two classes.
    ends = levels[[0, -1]]
    codes = np.concatenate([ends, rng.choice(levels, size=n - 2)])
    weights = _weights(cost, codes, K, rng) * rng.choice([0.5, 1.0, 1.0, 2.0], size=(n, 1))
    return Problem(BUILDERS[form](codes, C * weights), _gram(inputs, n, rng))


def _weights(cost, codes, K, rng):
    if cost == "adjacent":
        return adjacent_weights(K)[codes]
    if cost == "v_shaped":
        # Any steps that are not negative make a V; some are zero.
        return rng.choice([0.0, 0.3, 1.0, 2.5], size=(K, K - 1))[codes]
    if cost == "per_row":
        return rng.choice([0.0, 0.3, 1.0, 2.5], size=(len(codes), K - 1))
    return threshold_weights(cost_matrix(cost, K))[codes]


def _gram(inputs, n, rng):
    if inputs == "line":  # a matrix of rank one, with ties
        X = rng.integers(-3, 4, size=(n, 1)).astype(float)
        return X @ X.T
    X = rng.normal(size=(n, 2))
    if inputs == "lattice":  # many rows equal, whatever their labels
        X = np.round(X)
    elif inputs == "one_point":
        X = np.zeros((n, 2))
    return np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))


@st.composite
def problems(draw, most_rows=40, most_classes=30, least_c=-3.0, most_c=3.0):
    """Problems of every formulation, with ties, tiny and missing classes, and any C."""
    form, cost = draw(st.sampled_from(FORMULATIONS))
    K = draw(st.one_of(st.integers(2, min(6, most_classes)), st.integers(2, most_classes)))
    levels = draw(
        st.one_of(
            st.none(),
            st.lists(st.integers(0, K - 1), min_size=2, max_size=K, unique=True).map(sorted),
        )
    )
    return make_problem(
        form,
        cost,
        n=draw(st.integers(3, most_rows)),
        K=K,
        C=10.0 ** draw(st.floats(least_c, most_c)),
        seed=draw(st.integers(0, 2**32 - 1)),
        inputs=draw(st.sampled_from(INPUTS)),
        levels=levels,
    )


class FewRows(GramRows):
    """A source that holds few rows at a time, so that working sets are as small."""

    def __init__(self, gram, capacity):
        super().__init__(gram)
        self._capacity = min(capacity, len(gram))

    @property
    def capacity(self):
        return self._capacity

    def restrict(self, index):
        return FewRows(self.block(index), self._capacity)


def sides(dual):
    return np.where(dual.codes > np.arange(len(dual.upper))[:, None], 1.0, -1.0)


def threshold_sums(dual, alpha):
    """d_k."""
    return (sides(dual) * alpha).sum(axis=1)


def infeasibility(dual, alpha):
    """Largest violation of a constraint, as a part of the boxes' sum."""
    sums = threshold_sums(dual, alpha)
    worst = [0.0, (-alpha).max(), (alpha - dual.upper).max()]
    if dual.coupling == Coupling.SEPARATE:
        worst.append(np.abs(sums).max())
    if dual.coupling in (Coupling.ORDERED, Coupling.COMMON):
        worst.append(abs(sums.sum()))
    if dual.coupling == Coupling.ORDERED:
        worst.append(np.cumsum(sums).max())
    return max(worst) / max(dual.upper.sum(), 1e-300)


def dual_value(dual, gram, alpha):
    """½ βᵀKβ − Σα [+ ½Σd²]."""
    beta = (sides(dual) * alpha).sum(axis=0)
    value = 0.5 * beta @ gram @ beta - alpha.sum()
    if dual.coupling in (Coupling.COMMON, Coupling.RIDGE):
        value += 0.5 * np.sum(threshold_sums(dual, alpha) ** 2)
    return value


def primal_value(dual, gram, beta, thresholds):
    """½‖f‖² + Σ U·max(0, 1 − Z(f − b)) [+ ½Σb²] [+ ½Σ(b − mean b)²], example by example."""
    f = gram @ beta
    value = 0.5 * beta @ f
    for k, b in enumerate(thresholds):
        for i in np.flatnonzero(dual.upper[k]):
            z = 1.0 if dual.codes[i] > k else -1.0
            value += dual.upper[k, i] * max(0.0, 1.0 - z * (f[i] - b))
    if dual.coupling == Coupling.RIDGE:
        value += 0.5 * np.sum(thresholds**2)
    if dual.coupling == Coupling.COMMON:
        value += 0.5 * np.sum((thresholds - thresholds.mean()) ** 2)
    return value


def kkt_gap(dual, gram, alpha):
    """Largest decrease per unit step along any allowed exchange of two multipliers.

    Multiplier a may rise in its threshold's sum while b falls if that keeps the couplings: within
    one threshold, between any two, or, under the order, if b's threshold does not lie above a's
    or every link on the way has room.
    """
    sums = threshold_sums(dual, alpha)
    z = sides(dual)
    v = gram @ (z * alpha).sum(axis=0) - z
    if dual.coupling in (Coupling.COMMON, Coupling.RIDGE):
        v = v + sums[:, None]
    inside, above = alpha < dual.upper, alpha > 0.0
    rises = np.where(z > 0, inside, above) & (dual.upper > 0.0)
    falls = np.where(z > 0, above, inside) & (dual.upper > 0.0)
    up = np.where(rises, v, np.inf).min(axis=1)
    low = np.where(falls, v, -np.inf).max(axis=1)
    if dual.coupling == Coupling.RIDGE:
        return max(0.0, (-up).max(), low.max())
    links = -np.cumsum(sums)[:-1]
    tied = links > 1e-11 * dual.upper.sum()
    worst = 0.0
    for k in range(len(up)):
        for j in range(len(up)):
            allowed = dual.coupling == Coupling.COMMON or j == k
            if dual.coupling == Coupling.ORDERED:
                allowed = j <= k or tied[k:j].all()
            if allowed:
                worst = max(worst, low[j] - up[k])
    return worst
