"""Gains and discounts of retrieval measures, and the presets of other packages.

NDCG is the sum of gain × discount over positions 1 … k, divided by that of the best order.

======== ==================== ======================= ======================== ===================
preset   gain of label l      discount at position p  rows of equal score      no relevant row
======== ==================== ======================= ======================== ===================
sklearn  l                    1 / log2(1 + p)         average over orders      0
trec     l                    1 / log2(1 + p)         falling document id      0
lightgbm 2^l − 1              1 / log2(1 + p)         as passed                1
xgboost  2^l − 1              1 / log2(1 + p)         as passed                1
letor    2^l − 1              1, 1, then 1 / log2(p)  as passed                0
======== ==================== ======================= ======================== ===================

Average precision is Σ over relevant positions p ≤ k of (relevant rows at 1 … p) / p, divided by all
relevant rows (sklearn, trec, letor) or by the lesser of those and k (lightgbm, xgboost). A row is
relevant if its label is above 0, in LightGBM above 0.5. scikit-learn knows no k and gives rows of
equal score the precision behind the last of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.messages import require_choice
from ..._utils.types import Codes, Vector
from ...ordinal.arrays import read_numbers, require_count

Gain = str | Callable[[Vector], Any] | Mapping[float, float] | Sequence[float]
Discount = str | Callable[[Vector], Any]


_DISCOUNTS: dict[str, Callable[[Vector], Vector]] = {
    "log2": lambda p: 1.0 / np.log2(1.0 + p),
    "letor": lambda p: 1.0 / np.log2(np.maximum(p, 2.0)),
    "reciprocal": lambda p: 1.0 / p,
}


def gains_of(relevance: Vector, gain: Gain) -> Vector:
    """Gain of each row.

    Parameters
    ----------
    relevance : ndarray of shape (n,)
    gain : {"linear", "exponential"}, callable, mapping or sequence
        The label itself; 2^label − 1; a function of an array of labels; a gain by label; or the
        gains of labels 0, 1, 2 and so on.

    Returns
    -------
    gains : ndarray of shape (n,)
        Finite, none negative.

    Examples
    --------
    >>> gains_of(np.array([0.0, 1.0, 3.0]), "exponential")
    array([0., 1., 7.])
    """
    if isinstance(gain, str):
        gains = _named_gain(relevance, gain)
    elif callable(gain):
        gains = read_numbers(gain(relevance), "gain")
        if gains.shape != relevance.shape:
            raise ValueError(
                f"gain must return one number per label; found shape {gains.shape} for "
                f"{len(relevance)} labels."
            )
    else:
        gains = _tabled_gain(relevance, gain)
    bad = ~np.isfinite(gains) | (gains < 0)
    if bad.any():
        raise ValueError(
            "gains must be finite numbers, none negative; found "
            f"{gains[bad][0]:g} for label {relevance[bad][0]:g}."
        )
    return gains


def discounts_of(positions: int, k: int | None, discount: Discount) -> Vector:
    """Factor of the gain at positions 1, 2, … , 0 behind position k.

    Parameters
    ----------
    positions : int
        How many.
    k : int, optional
    discount : {"log2", "letor", "reciprocal"} or callable
        1/log2(1 + p); 1 at p = 1 and 1/log2(p) behind it, which leaves p = 2 undiscounted too; 1/p;
        or a function of an array of positions from 1, which must not rise.

    Returns
    -------
    factors : ndarray of shape (positions,)

    Examples
    --------
    >>> discounts_of(4, 3, "reciprocal").round(2)
    array([1.  , 0.5 , 0.33, 0.  ])
    """
    p = np.arange(1.0, positions + 1.0)
    if callable(discount):
        factors = read_numbers(discount(p), "discount")
        _check_discounts(factors, p)
    else:
        require_choice("discount", discount, _DISCOUNTS, "a function of positions")
        factors = _DISCOUNTS[discount](p)
    return np.where(within(positions, k), factors, 0.0)


def within(positions: int, k: int | None) -> Vector:
    """Ones at positions 1 … k and zeros behind."""
    factors = np.ones(positions)
    if k is not None:
        require_count("k", k)
        factors[k:] = 0.0
    return factors


def _named_gain(relevance: Vector, gain: str) -> Vector:
    require_choice("gain", gain, ("linear", "exponential"), "a function of labels", "a table")
    if relevance.min() < 0:
        raise ValueError(
            f"y_true must not be negative with gain={gain!r}; found {relevance.min():g}."
        )
    if gain == "linear":
        return relevance
    with np.errstate(over="ignore"):
        return np.exp2(relevance) - 1.0


def _tabled_gain(relevance: Vector, gain: Any) -> Vector:
    if isinstance(gain, Mapping):
        labels, gains = read_numbers([*gain], "gain"), read_numbers([*gain.values()], "gain")
    else:
        gains = read_numbers(gain, "gain")
        if gains.ndim != 1:
            raise ValueError(f"gain must be one column of numbers; found shape {gains.shape}.")
        labels = np.arange(float(len(gains)))
    order: Codes = np.argsort(labels)
    at = np.minimum(np.searchsorted(labels[order], relevance), max(len(labels) - 1, 0))
    unknown = np.ones(len(relevance), bool) if not len(labels) else labels[order][at] != relevance
    if unknown.any():
        raise ValueError(
            f"gain must name every label of y_true; found none for {relevance[unknown][0]:g}."
        )
    return gains[order][at]


def _check_discounts(factors: Vector, p: Vector) -> None:
    if factors.shape != p.shape or not np.isfinite(factors).all() or (factors < 0).any():
        raise ValueError(
            f"discount must return a finite number, not negative, for each of {len(p)} positions; "
            f"found shape {factors.shape}"
            f"{'' if factors.shape != p.shape else ' with a negative or infinite entry'}."
        )
    if (np.diff(factors) > 0).any():
        raise ValueError(
            "discount must not rise from a position to the next, or the ideal order would not be "
            "that of falling gains; found one that does."
        )


@dataclass(frozen=True)
class Conventions:
    """What a ranking metric leaves open, settled.

    Parameters
    ----------
    gain : {"linear", "exponential"}
        What a label is worth.
    discount : {"log2", "letor", "reciprocal"}
        How much of it a position keeps.
    ties : {"average", "input", "best", "worst", "doc_id"}
        How rows of equal score are taken.
    empty : float or "skip"
        Value of a query without relevant rows.
    threshold : float
        Rows with a label above it are relevant.
    divide_by : {"relevant", "reachable"}
        Whether average precision and recall divide by all relevant rows or by those that k
        positions can hold.
    average_precision_ties : str
        As `ties`, and "together".
    """

    gain: str
    discount: str
    ties: str
    empty: float | str
    threshold: float
    divide_by: str
    average_precision_ties: str


PRESETS: dict[str, Conventions] = {
    "sklearn": Conventions("linear", "log2", "average", 0.0, 0.0, "relevant", "together"),
    "trec": Conventions("linear", "log2", "doc_id", 0.0, 0.0, "relevant", "doc_id"),
    "lightgbm": Conventions("exponential", "log2", "input", 1.0, 0.5, "reachable", "input"),
    "xgboost": Conventions("exponential", "log2", "input", 1.0, 0.0, "reachable", "input"),
    "letor": Conventions("exponential", "letor", "input", 0.0, 0.0, "relevant", "input"),
}

#: Where no preset is named.
DEFAULTS = Conventions("linear", "log2", "average", 0.0, 0.0, "relevant", "average")


def conventions(preset: str | None, **given: Any) -> Conventions:
    """Conventions of a preset, or the defaults, with those that were given in their place.

    Examples
    --------
    >>> conventions("lightgbm", gain="linear", ties=None).gain
    'linear'
    """
    if preset is not None:
        require_choice("preset", preset, PRESETS)
    base = DEFAULTS if preset is None else PRESETS[preset]
    settled = {name: value for name, value in given.items() if value is not None}
    if "ties" in settled:
        settled["average_precision_ties"] = settled["ties"]
    return replace(base, **settled)
