"""The empirical margin loss of pairs: misranked, or ranked right by less than ρ."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._utils.types import Vector
from ...ordinal.arrays import (
    check_weights,
    finite_vector,
    moderate_weights,
    read_numbers,
    require_positive,
)
from ...pairs.losses import pair_loss
from ...pairs.misranking import misranked
from ...pairs.pair_set import PairSet
from ..ranking.queries import read_label_column


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
    return PairSet.from_labels(
        labels, qid, moderate_weights(check_weights(sample_weight, len(labels)))
    )
