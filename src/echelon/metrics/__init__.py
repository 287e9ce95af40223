"""Metrics of ordered labels and of rankings, and scorers for scikit-learn's model selection.

Every metric of labels takes labels of any ordered type and two keyword arguments: ``classes``, the
labels from lowest to highest, and ``sample_weight``, in which an integer weight equals repeated
rows. Metrics of rankings take scores and queries, see `echelon.metrics.ranking`; bounds on the
error of rankers are in `echelon.metrics.bounds`. What each measure is called and needs stands in
`echelon.metrics.measures`.
"""

from . import bounds as bounds
from . import ranking as _ranking
from .agreement import (
    concordance_index,
    kendall_tau_b,
    linear_weighted_kappa,
    quadratic_weighted_kappa,
    spearman_correlation,
    weighted_kappa,
)
from .error import (
    macro_mean_absolute_error,
    maximum_mean_absolute_error,
    mean_absolute_rank_error,
    mean_cost,
    within_one_accuracy,
    zero_one_error,
)
from .probability import ordinal_log_loss, ranked_probability_score
from .ranking import *  # noqa: F403 - listed there
from .report import OrdinalReport, ordinal_report
from .scorers import OrdinalScorer, cost_scorer, get_scorer, scorer_names
from .significance import (
    FriedmanResult,
    NemenyiResult,
    Summary,
    average_ranks,
    corrected_resampled_t_test,
    friedman_test,
    nemenyi_critical_difference,
    nemenyi_test,
)

__all__ = [
    "FriedmanResult",
    "NemenyiResult",
    "OrdinalReport",
    "OrdinalScorer",
    "Summary",
    "average_ranks",
    "concordance_index",
    "corrected_resampled_t_test",
    "cost_scorer",
    "friedman_test",
    "get_scorer",
    "kendall_tau_b",
    "linear_weighted_kappa",
    "macro_mean_absolute_error",
    "maximum_mean_absolute_error",
    "mean_absolute_rank_error",
    "mean_cost",
    "nemenyi_critical_difference",
    "nemenyi_test",
    "ordinal_log_loss",
    "ordinal_report",
    "quadratic_weighted_kappa",
    "ranked_probability_score",
    "scorer_names",
    "spearman_correlation",
    "weighted_kappa",
    "within_one_accuracy",
    "zero_one_error",
    *_ranking.__all__,
]
