"""Bounds on the misranking of new pairs by the margins of the pairs learnt from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.types import Codes, Matrix
from ...ordinal.arrays import finite_vector, require_count, require_positive
from ...pairs.pair_set import PairSet
from .._labels import require_fraction
from .margin_loss import margin_loss
from .rademacher import stump_rademacher, stump_rademacher_bound


@dataclass(frozen=True)
class MarginBound:
    """A bound on the probability to misrank a new pair, with ties as errors, in its parts.

    Parameters
    ----------
    empirical : float
        Margin loss of the pairs learnt from.
    complexity : float
        Part of the class of rankers; falls as ρ grows.
    confidence : float
        Part of the probability δ that the bound fails.
    uniformity : float
        Price of having chosen ρ after seeing the pairs; zero for a ρ fixed before.
    rho, delta : float
    n_pairs : int
        Independent pairs learnt from.
    """

    empirical: float
    complexity: float
    confidence: float
    uniformity: float
    rho: float
    delta: float
    n_pairs: int

    @property
    def total(self) -> float:
        """The bound; one or more says nothing."""
        return self.empirical + self.complexity + self.confidence + self.uniformity


def margin_bound(
    empirical: float,
    rademacher: tuple[float, float],
    rho: float,
    n_pairs: int,
    *,
    delta: float = 0.05,
    estimated: bool = True,
    rho_max: float | None = None,
) -> MarginBound:
    """Margin bounds (10.5) and (10.6) for a class of scoring functions.

    Parameters
    ----------
    empirical : float
        Empirical margin loss at ρ, from `margin_loss`.
    rademacher : tuple of two floats
        Rademacher complexity of the class on the first and on the second elements of the pairs.
    rho : float
        ρ > 0.
    n_pairs : int
        m, the number of independent pairs. The theorem is about pairs drawn independently. For all
        pairs of m⁺ independent positives and m⁻ negatives take min(m⁺, m⁻), see Notes.
    delta : float, default=0.05
        Probability that the bound fails.
    estimated : bool, default=True
        True for complexities of the sample, bound (10.6); False for their expectations over
        samples, bound (10.5).
    rho_max : float, optional
        Where ρ was chosen after seeing the pairs: an upper limit of ρ that was not. The bound then
        holds for all ρ in (0, rho_max] at once.

    Returns
    -------
    bound : MarginBound

    Notes
    -----
    R ≤ R̂_ρ + (2/ρ)(ℜ₁ + ℜ₂) + √(ln(1/δ)/2m), or + 3√(ln(2/δ)/2m) if estimated.

    All ρ at once (exercise 10.1): use the bound at ρ_k = rho_max/2^k, k = 1, 2 …, with
    δ_k = δ/(2k²), which sum to less than δ. For ρ in (ρ_k, 2ρ_k], R̂ at ρ_k is at most R̂_ρ,
    1/ρ_k ≤ 2/ρ, and k is at most log2(2·rho_max/ρ). So 2/ρ becomes 4/ρ, ln(1/δ) becomes
    ln(2/δ) + 2 ln k, and as the root of a sum is at most the sum of the roots, the price is
    √(ln log2(2·rho_max/ρ)/m), three times that if estimated.

    All pairs of two samples are dependent. Their mean loss is the mean over all ways to give each
    row of the smaller sample a partner of its own, and such a matching has min(m⁺, m⁻) independent
    pairs. The largest deviation over the class is at most the mean of those of the matchings, and
    the exponential is convex, so (10.5) holds with that m and complexities of samples of that size,
    and (10.6) with the complexities on the rows of one matching made without looking at them.

    Examples
    --------
    >>> bound = margin_bound(0.05, (0.01, 0.01), rho=0.5, n_pairs=10000)
    >>> round(bound.complexity, 3), round(bound.confidence, 3), round(bound.total, 3)
    (0.08, 0.041, 0.171)
    """
    _check(empirical, rho, n_pairs, delta, rho_max)
    first, second = finite_vector(rademacher, 2, "rademacher").tolist()
    if min(first, second) < 0.0:
        raise ValueError(f"rademacher must not be negative; found {min(first, second)}.")
    complexities = first + second
    # Both bounds spend δ on one event; the estimated one on two, in three terms.
    factor, events = (3.0, 2.0) if estimated else (1.0, 1.0)
    uniformity = 0.0
    if rho_max is not None:
        events *= 2.0
        complexities *= 2.0
        uniformity = factor * math.sqrt(math.log(math.log2(2.0 * rho_max / rho)) / n_pairs)
    return MarginBound(
        empirical=float(empirical),
        complexity=2.0 / rho * complexities,
        confidence=factor * math.sqrt(math.log(events / delta) / (2.0 * n_pairs)),
        uniformity=uniformity,
        rho=float(rho),
        delta=float(delta),
        n_pairs=int(n_pairs),
    )


def kernel_margin_bound(
    empirical: float,
    radius: float,
    norm: float,
    rho: float,
    n_pairs: int,
    *,
    delta: float = 0.05,
    rho_max: float | None = None,
) -> MarginBound:
    """Margin bound (10.7) for x ↦ w·Φ(x) with ‖w‖ ≤ Λ.

    Parameters
    ----------
    empirical : float
        Empirical margin loss at ρ, from `margin_loss`.
    radius : float
        r, with r² no less than K(x, x) for every possible x; 1 for the Gaussian kernel.
    norm : float
        Λ, a bound on ‖w‖ that does not depend on the pairs.
    rho, n_pairs, delta, rho_max
        As in `margin_bound`.

    Returns
    -------
    bound : MarginBound
        R ≤ R̂_ρ + 4√(r²Λ²/(ρ²m)) + √(ln(1/δ)/2m). The chapter prints r for sup K(x, x); its square
        root is what the proof needs.

    Examples
    --------
    >>> round(kernel_margin_bound(0.05, 1.0, 2.0, rho=1.0, n_pairs=10000).total, 3)
    0.142
    """
    require_count("n_pairs", n_pairs)
    require_positive("radius", radius)
    require_positive("norm", norm)
    each = radius * norm / math.sqrt(n_pairs)
    return margin_bound(
        empirical, (each, each), rho, n_pairs, delta=delta, estimated=False, rho_max=rho_max
    )


def ensemble_margin_bound(
    y_score: npt.ArrayLike,
    alpha_norm: float,
    pairs: PairSet,
    rademacher: tuple[float, float],
    rho: float,
    *,
    n_pairs: int | None = None,
    delta: float = 0.05,
    estimated: bool = True,
    rho_max: float | None = None,
) -> MarginBound:
    """Corollary 10.4 for an ensemble f = Σ α_t h_t, such as RankBoost's: (10.18) and (10.19).

    Parameters
    ----------
    y_score : array-like of shape (n,)
        f of the rows learnt from.
    alpha_norm : float
        ‖α‖₁.
    pairs : PairSet
        Pairs learnt from, of equal weights.
    rademacher : tuple of two floats
        Complexity of the base rankers on the first and the second elements of the pairs, such as
        `stump_rademacher`. The class must be closed under h ↦ −h, or contain 1 − h with every h,
        if an α is negative.
    rho : float
        ρ in the margins of f/‖α‖₁, which lie between −1 and 1 for base rankers from 0 to 1.
    n_pairs : int, optional
        Independent pairs, see `margin_bound`. By default the number of stated pairs, or the rows
        of the rarer label where pairs come from two labels of one query; it must be given for
        others.
    delta, estimated, rho_max
        As in `margin_bound`.

    Returns
    -------
    bound : MarginBound

    Examples
    --------
    >>> pairs = PairSet.from_pairs([[0, 1], [2, 3]], 4)
    >>> bound = ensemble_margin_bound([3.0, 1.0, 2.5, 2.0], 2.0, pairs, (0.1, 0.1), rho=0.5)
    >>> bound.empirical, bound.n_pairs
    (0.25, 2)
    """
    require_positive("alpha_norm", alpha_norm)
    _refuse_weights(pairs)
    m = len(matched_rows(pairs)[0]) if n_pairs is None else n_pairs
    scores = finite_vector(y_score, pairs.n_items, "y_score") / alpha_norm
    empirical = margin_loss(pairs, scores, rho)
    return margin_bound(
        empirical, rademacher, rho, m, delta=delta, estimated=estimated, rho_max=rho_max
    )


def rank_boost_margin_bound(
    ranker: Any,
    X: npt.ArrayLike,
    pairs: PairSet,
    rho: float,
    *,
    delta: float = 0.05,
    rho_max: float | None = None,
    n_draws: int = 200,
    random_state: Any = None,
) -> MarginBound:
    """Corollary 10.4, (10.18), for a fitted RankBoost of threshold rankers.

    Parameters
    ----------
    ranker : RankBoost
        Fitted, with its own base rankers.
    X : array-like of shape (n, d)
        The rows learnt from.
    pairs : PairSet
        The pairs learnt from: stated ones, or those of two labels in one query, of equal weights.
    rho, delta, rho_max
        As in `margin_bound`.
    n_draws, random_state
        For `stump_rademacher`. The complexity is its value and three standard errors more, or
        `stump_rademacher_bound` if that is less.

    Returns
    -------
    bound : MarginBound

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> X = np.arange(6.0)[:, None]
    >>> ranker = SimpleNamespace(
    ...     estimator_weights_=[1.5], thresholds_=[2.5], predict=lambda X: 1.5 * (X[:, 0] > 2.5)
    ... )
    >>> pairs = PairSet.from_labels([0, 0, 0, 1, 1, 1])
    >>> rank_boost_margin_bound(ranker, X, pairs, rho=0.5, random_state=0).empirical
    0.0
    """
    if not hasattr(ranker, "thresholds_"):
        raise ValueError("ranker must be a fitted RankBoost of threshold rankers; found another.")
    if not isinstance(pairs, PairSet):
        raise ValueError(f"pairs must be a PairSet; found {type(pairs).__name__}.")
    table = np.asarray(X, dtype=np.float64)
    norm = float(np.abs(np.asarray(ranker.estimator_weights_)).sum())
    rng = np.random.default_rng(random_state)
    first, second = (_stump_complexity(table[r], n_draws, rng) for r in matched_rows(pairs))
    return ensemble_margin_bound(
        ranker.predict(X), norm, pairs, (first, second), rho, delta=delta, rho_max=rho_max
    )


def _stump_complexity(rows: Matrix, n_draws: int, rng: np.random.Generator) -> float:
    estimate = stump_rademacher(rows, n_draws=n_draws, random_state=rng)
    bound = stump_rademacher_bound(rows)
    # A single draw has no standard error, and then the bound is all there is.
    cautious = estimate.value + 3.0 * estimate.standard_error
    return bound if math.isnan(cautious) else min(bound, cautious)


def matched_rows(pairs: PairSet) -> tuple[Codes, Codes]:
    """Winners and losers of independent pairs, m of the bounds, where the pairs themselves tell."""
    listed, implied = pairs.listed, pairs.implied
    if listed is not None and implied is None:
        return listed.winners, listed.losers
    if implied is None or listed is not None or implied.n_segments != 2:
        raise ValueError(
            "The number of independent pairs is known for stated pairs and for two labels in one "
            f"query, not for these ({pairs.kind}); give n_pairs to ensemble_margin_bound."
        )
    _, middle, _ = implied.starts.tolist()
    losers, winners = implied.rows[:middle], implied.rows[middle:]
    m = min(len(losers), len(winners))
    return winners[:m], losers[:m]


def _refuse_weights(pairs: PairSet) -> None:
    weights = [] if pairs.listed is None else [pairs.listed.weights]
    if pairs.implied is not None:
        weights += [pairs.implied.weights, pairs.implied.scales]
    if any((part != part[0]).any() for part in weights):
        raise ValueError("pairs must have equal weights; found different ones.")


def _check(empirical: float, rho: float, n_pairs: int, delta: float, rho_max: float | None) -> None:
    if not 0.0 <= empirical <= 1.0:
        raise ValueError(f"empirical must lie from 0 to 1; found {empirical!r}.")
    require_positive("rho", rho)
    require_count("n_pairs", n_pairs)
    require_fraction("delta", delta)
    if rho_max is not None and not rho <= rho_max < math.inf:
        raise ValueError(f"rho_max must be finite and no less than rho, {rho}; found {rho_max!r}.")
