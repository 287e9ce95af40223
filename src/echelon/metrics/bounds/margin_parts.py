"""What margin bounds are made of: the empirical margin loss, and Rademacher complexities.

The margin loss of pairs counts those that are misranked, or ranked right by less than ρ.

ℜ̂_S(H) = (1/m)·E_σ sup_{h ∈ H} Σ σ_i·h(x_i) over random signs σ: how well the class follows noise on
the rows of S. Each class here has a closed bound, and an estimate that draws signs and computes the
supremum exactly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.types import Matrix, Vector
from ...ordinal.arrays import (
    check_weights,
    finite_vector,
    read_numbers,
    require_count,
    require_positive,
)
from ...pairs.losses import pair_loss
from ...pairs.misranking import misranked
from ...pairs.pair_set import PairSet
from ..ranking.misranking import moderate
from ..ranking.queries import read_label_column
from ..ranking.summary import blocks


def margin_loss(
    y_true: Any, y_score: Any, rho: float, *, qid: Any = None, sample_weight: Any = None
) -> float:
    """Empirical margin loss (10.3): the mean over pairs of Φ_ρ(margin).

    Parameters
    ----------
    y_true : array-like of shape (n,), or PairSet
        Labels, higher is better, whose pairs are those of one query; or any set of pairs.
    y_score : array-like of shape (n,)
        Finite scores. The margin of a pair is the score of its better row less that of the other.
    rho : float
        ρ > 0. Φ_ρ(u) is 1 up to u = 0, falls to 0 at u = ρ and stays there.
    qid : sequence of shape (n,), optional
        Query of each row; for labels only.
    sample_weight : array-like of shape (n,), optional
        A pair weighs the product of the weights of its rows; for labels only.

    Returns
    -------
    loss : float
        From 0 to 1, and at least the misranking loss with ties as errors; NaN, without a warning,
        if there is no pair.

    Notes
    -----
    Φ_ρ(u) = (max(0, ρ − u) − max(0, −u))/ρ, so it is the difference of two hinge losses, each in
    O(n log n).

    Examples
    --------
    >>> margin_loss([1, 1, 0], [0.25, 2.0, 0.0], rho=1.0)
    0.375
    """
    return float(margin_loss_curve(y_true, y_score, [rho], qid=qid, sample_weight=sample_weight)[0])


def margin_loss_curve(
    y_true: Any, y_score: Any, rhos: npt.ArrayLike, *, qid: Any = None, sample_weight: Any = None
) -> Vector:
    """Empirical margin loss at several ρ.

    Parameters
    ----------
    y_true, y_score, qid, sample_weight
        As in `margin_loss`.
    rhos : array-like of shape (r,)
        Margins ρ > 0.

    Returns
    -------
    losses : ndarray of shape (r,)
        They do not fall as ρ grows.

    Examples
    --------
    >>> margin_loss_curve([1, 1, 0], [0.25, 2.0, 0.0], [0.25, 1.0, 4.0])
    array([0.     , 0.375  , 0.71875])
    """
    margins = np.atleast_1d(read_numbers(rhos, "rhos"))
    for rho in margins.tolist():
        require_positive("rho", rho)
    pairs = _read_pairs(y_true, qid, sample_weight)
    scores = finite_vector(y_score, pairs.n_items, "y_score")
    total = pairs.total_weight
    if not total > 0:
        return np.full(len(margins), math.nan)
    totals = misranked(pairs, scores)
    errors = (totals.tied + totals.discordant) / total
    contradicted = pair_loss("hinge", pairs, 0.0).at(scores).value
    losses = np.empty(len(margins))
    for place, rho in enumerate(margins.tolist()):
        point = pair_loss("hinge", pairs, rho).at(scores)
        if not math.isfinite(point.value):
            raise ValueError("Differences of y_score must have a finite sum; found an overflow.")
        # The difference is rounded where ρ is small beside the scores, but the weights of the pairs
        # with margins up to 0 and below ρ are not, and the loss lies between them, (10.4).
        loss = (point.value - contradicted) / (rho * total)
        losses[place] = min(max(loss, errors), max(point.slope / total, errors), 1.0)
    return losses


def boosting_margin_loss_bound(
    normalizers: npt.ArrayLike, steps: npt.ArrayLike, rho: float
) -> float:
    """Bound on the empirical margin loss of RankBoost's f/‖α‖₁ from its rounds; exercise 10.3.

    Parameters
    ----------
    normalizers : array-like of shape (T,)
        Z of each round, as `boosting_rounds` gives them from ε⁺ and ε⁻.
    steps : array-like of shape (T,)
        α of each round, of any sign.
    rho : float
        ρ ≥ 0; for zero it is the bound ΠZ on the empirical error.

    Returns
    -------
    bound : float
        min(1, exp(ρ‖α‖₁)·ΠZ).

    Notes
    -----
    Φ_ρ(u/‖α‖₁) ≤ 1[u ≤ ρ‖α‖₁] ≤ exp(ρ‖α‖₁ − u), and the mean of exp(−u) over the pairs is ΠZ by
    (10.12). With the book's steps it is Π (ε⁺/ε⁻)^{ρ/2}·(ε⁰ + 2√(ε⁺ε⁻)).

    Examples
    --------
    >>> Z, alpha = boosting_rounds([0.8, 0.7], [0.1, 0.1])
    >>> round(boosting_margin_loss_bound(Z, alpha, rho=0.1), 4)
    0.5936
    """
    Z = read_numbers(normalizers, "normalizers").reshape(-1)
    alpha = finite_vector(steps, len(Z), "steps")
    if not (np.isfinite(Z) & (Z >= 0)).all():
        raise ValueError("normalizers must be finite and not negative; found others.")
    if not 0.0 <= rho < math.inf:
        raise ValueError(f"rho must be a finite number from 0; found {rho!r}.")
    with np.errstate(divide="ignore"):
        logarithm = rho * np.abs(alpha).sum() + np.log(Z).sum()
    return math.exp(min(0.0, float(logarithm)))


def boosting_rounds(
    errors_plus: npt.ArrayLike, errors_minus: npt.ArrayLike
) -> tuple[Vector, Vector]:
    """Z and the book's step α of each round of RankBoost from its ε⁺ and ε⁻.

    Parameters
    ----------
    errors_plus, errors_minus : array-like of shape (T,)
        Weight of the pairs that the round's base ranker puts in right and in wrong order, positive.

    Returns
    -------
    normalizers, steps : ndarray of shape (T,)
        ε⁰ + 2√(ε⁺ε⁻) and ½·ln(ε⁺/ε⁻).

    Examples
    --------
    >>> boosting_rounds([0.4], [0.1])[0].round(12)
    array([0.9])
    """
    plus, minus = (read_numbers(e, "errors").reshape(-1) for e in (errors_plus, errors_minus))
    if (
        plus.shape != minus.shape
        or not ((plus > 0) & (minus > 0) & (plus + minus < 1 + 1e-9)).all()
    ):
        raise ValueError(
            "errors_plus and errors_minus must be as many positive numbers whose sums are at most "
            "1; found others."
        )
    zero = np.maximum(1.0 - plus - minus, 0.0)
    return zero + 2.0 * np.sqrt(plus * minus), 0.5 * np.log(plus / minus)


def _read_pairs(y_true: Any, qid: Any, sample_weight: Any) -> PairSet:
    if isinstance(y_true, PairSet):
        if qid is not None or sample_weight is not None:
            raise ValueError("qid and sample_weight go with labels; found a PairSet with one.")
        return y_true
    labels = read_label_column(y_true)
    return PairSet.from_labels(labels, qid, moderate(check_weights(sample_weight, len(labels))))


@dataclass(frozen=True)
class RademacherEstimate:
    """Mean of the supremum over drawn signs.

    Parameters
    ----------
    value : float
    standard_error : float
        Of `value` over the draws; NaN for a single one.
    n_draws : int
    """

    value: float
    standard_error: float
    n_draws: int


def kernel_rademacher_bound(diagonal: npt.ArrayLike, norm: float) -> float:
    """Bound Λ√(Σ K(x_i, x_i))/m for x ↦ w·Φ(x) with ‖w‖ ≤ Λ.

    Parameters
    ----------
    diagonal : array-like of shape (m,)
        K(x_i, x_i).
    norm : float
        Λ.

    Returns
    -------
    bound : float

    Examples
    --------
    >>> kernel_rademacher_bound(np.ones(100), 2.0)
    0.2
    """
    values = read_numbers(diagonal, "diagonal")
    if values.ndim != 1 or not len(values) or not np.isfinite(values).all() or (values < 0).any():
        raise ValueError(
            "diagonal must be one or more finite numbers, none negative; found others or shape "
            f"{values.shape}."
        )
    require_positive("norm", norm)
    return norm * math.sqrt(float(values.sum())) / len(values)


def kernel_rademacher(
    K: npt.ArrayLike, norm: float, *, n_draws: int = 200, random_state: Any = None
) -> RademacherEstimate:
    """Complexity of x ↦ w·Φ(x) with ‖w‖ ≤ Λ on m rows, by drawn signs.

    Parameters
    ----------
    K : array-like of shape (m, m)
        Kernel matrix of the rows, positive semi-definite.
    norm : float
        Λ.
    n_draws : int, default=200
    random_state : int or Generator, optional

    Returns
    -------
    estimate : RademacherEstimate
        The supremum for signs σ is (Λ/m)·√(σᵀKσ). Its mean is at most `kernel_rademacher_bound`.

    Examples
    --------
    >>> estimate = kernel_rademacher(np.eye(100), 2.0, random_state=0)
    >>> round(estimate.value, 12)
    0.2
    """
    gram = read_numbers(K, "K")
    square = gram.ndim == 2 and gram.shape[0] == gram.shape[1] > 0
    if not square or not np.isfinite(gram).all() or (gram.diagonal() < 0).any():
        raise ValueError(
            "K must be a square matrix of finite numbers with a diagonal that is not negative; "
            f"found shape {gram.shape}{' with others' if square else ''}."
        )
    require_positive("norm", norm)
    m = len(gram)
    suprema = [
        np.sqrt(np.maximum(np.einsum("ij,ij->j", signs, gram @ signs), 0.0))
        for signs in _drawn_signs(m, n_draws, random_state)
    ]
    return _estimate(norm * np.concatenate(suprema) / m)


def stump_rademacher_bound(X: npt.ArrayLike) -> float:
    """Massart's bound for the base rankers [x_j > θ] and [x_j ≤ θ] on m rows.

    Parameters
    ----------
    X : array-like of shape (m, d)
        NaN is a missing value, for which a base ranker says 0, ½ or 1.

    Returns
    -------
    bound : float
        √(ln N/(2m)) for N answers that the class can give on these rows.

    Notes
    -----
    With h = (1 + s)/2, s between −1 and 1, the constant part vanishes in expectation and
    ℜ̂(H) = ½ℜ̂(S), for which Massart's lemma gives √m·√(2 ln N)/m. N is at most Σ_j 2v_j for v_j
    distinct values of feature j, twice that where some are missing: ½ lies between 0 and 1 and adds
    nothing to a supremum.

    Examples
    --------
    >>> round(stump_rademacher_bound(np.arange(100.0)[:, None]), 4)
    0.1628
    """
    table = _inputs(X)
    count = 0
    for column in table.T:
        held = column[~np.isnan(column)]
        # v − 1 cuts in two directions, and the two constants.
        patterns = 2 * max(len(np.unique(held)), 1)
        count += patterns * (1 if len(held) == len(column) else 2)
    return math.sqrt(math.log(count) / (2.0 * len(table)))


def stump_rademacher(
    X: npt.ArrayLike, *, n_draws: int = 200, random_state: Any = None
) -> RademacherEstimate:
    """Complexity of the base rankers [x_j > θ] and [x_j ≤ θ] on m rows, by drawn signs.

    Parameters
    ----------
    X : array-like of shape (m, d)
        NaN is a missing value, for which a base ranker says 0, ½ or 1, whichever suits the signs.
    n_draws : int, default=200
    random_state : int or Generator, optional

    Returns
    -------
    estimate : RademacherEstimate
        Its mean is at most `stump_rademacher_bound`. As 1 − h belongs to the class with h, it is
        also that of the convex hull of the class, the normalised ensembles of corollary 10.4.

    Notes
    -----
    O(m·d) for each draw after one sort of every feature: the sums of signs below all thresholds are
    running sums.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> estimate = stump_rademacher(X, random_state=0)
    >>> 0.03 < estimate.value < stump_rademacher_bound(X)
    True
    """
    table = _inputs(X)
    orders = [_thresholds(column) for column in table.T]
    suprema = [
        np.max([_largest(signs, *order) for order in orders], axis=0)
        for signs in _drawn_signs(len(table), n_draws, random_state)
    ]
    return _estimate(np.concatenate(suprema) / len(table))


def _thresholds(column: Vector) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Rows with a value in ascending order, and the last place of each distinct value."""
    order = np.argsort(column, kind="stable")
    order = order[: len(order) - int(np.isnan(column).sum())]
    values = column[order]
    return order, np.flatnonzero(np.r_[values[1:] != values[:-1], True][: len(values)])


def _largest(signs: Matrix, order: npt.NDArray[np.intp], ends: npt.NDArray[np.intp]) -> Vector:
    """Largest Σ σ·h over the base rankers of one feature, for each column of signs."""
    sums = np.cumsum(signs[order], axis=0)
    total = signs.sum(axis=0)
    if not len(ends):
        return np.maximum(total, 0.0)
    below, held = sums[ends], sums[-1]
    best = np.maximum(np.maximum(below, held - below).max(axis=0), np.maximum(held, 0.0))
    return best + np.maximum(total - held, 0.0)


def _drawn_signs(m: int, n_draws: int, random_state: Any) -> Iterator[Matrix]:
    """Columns of random signs, as many at a time as memory bears."""
    require_count("n_draws", n_draws)
    rng = np.random.default_rng(random_state)
    for count in blocks(n_draws, m):
        yield np.where(rng.integers(0, 2, size=(m, count), dtype=np.int8), 1.0, -1.0)


def _inputs(X: npt.ArrayLike) -> Matrix:
    table = read_numbers(X, "X")
    if table.ndim != 2 or not table.size or np.isinf(table).any():
        raise ValueError(
            "X must be a table of finite or missing numbers with a row and a column at least; "
            f"found shape {table.shape}{' with infinity' if np.isinf(table).any() else ''}."
        )
    return table


def _estimate(suprema: Vector) -> RademacherEstimate:
    n = len(suprema)
    error = float(suprema.std(ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return RademacherEstimate(float(suprema.mean()), error, n)
