"""Margin bounds for ranking, section 10.2 and corollary 10.4 of [MRT18], and what goes into them.

A bound has three parts: the empirical margin loss of the training pairs, the complexity of the
class that the ranker came from, and a term for the confidence.
"""

from .margin_bounds import (
    MarginBound,
    ensemble_margin_bound,
    kernel_margin_bound,
    margin_bound,
    rank_boost_margin_bound,
)
from .margin_loss import (
    boosting_margin_loss_bound,
    boosting_rounds,
    margin_loss,
    margin_loss_curve,
)
from .rademacher import (
    RademacherEstimate,
    kernel_rademacher,
    kernel_rademacher_bound,
    stump_rademacher,
    stump_rademacher_bound,
)

__all__ = [
    "MarginBound",
    "RademacherEstimate",
    "boosting_margin_loss_bound",
    "boosting_rounds",
    "ensemble_margin_bound",
    "kernel_margin_bound",
    "kernel_rademacher",
    "kernel_rademacher_bound",
    "margin_bound",
    "margin_loss",
    "margin_loss_curve",
    "rank_boost_margin_bound",
    "stump_rademacher",
    "stump_rademacher_bound",
]
