"""Conventions of other programs, as data.

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

from dataclasses import dataclass, fields
from typing import Any

from ..._utils.choices import require_choice


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
    settled = {field.name: getattr(base, field.name) for field in fields(base)}
    settled |= {name: value for name, value in given.items() if value is not None}
    if given.get("ties") is not None:
        settled["average_precision_ties"] = given["ties"]
    return Conventions(**settled)
