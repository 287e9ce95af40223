"""Metrics of rankings by query, their summaries, and tests between rankers.

Every metric takes labels, scores and ``qid``, the query of each row, in any order, and is computed
for all queries at once.
"""

from ..scorers import RankingScorer, get_ranking_scorer, make_ranking_scorer, ranking_scorer_names
from .auc import RocCurve, auc_score, multipartite_auc, roc_curve
from .auc_intervals import (
    AUCComparison,
    AUCInterval,
    auc_confidence_interval,
    auc_deviation,
    auc_deviation_probability,
    compare_auc,
)
from .emphasis import check_emphasis, preference_loss, weighted_misranking
from .first_hit import expected_reciprocal_rank, hit_rate, mean_reciprocal_rank, reciprocal_rank
from .gains import PRESETS, Conventions
from .misranking import (
    kendall_tau_by_query,
    misranking_loss,
    pairwise_accuracy,
    stated_misranking_loss,
)
from .retrieval import (
    average_precision,
    dcg,
    mean_average_precision,
    ndcg_score,
    precision_at,
    recall_at,
)
from .significance import RankerComparison, compare_query_scores, compare_rankers, per_query
from .summary import QueryScores

__all__ = [
    "PRESETS",
    "AUCComparison",
    "AUCInterval",
    "Conventions",
    "QueryScores",
    "RankerComparison",
    "RankingScorer",
    "RocCurve",
    "auc_confidence_interval",
    "auc_deviation",
    "auc_deviation_probability",
    "auc_score",
    "average_precision",
    "check_emphasis",
    "compare_auc",
    "compare_query_scores",
    "compare_rankers",
    "dcg",
    "expected_reciprocal_rank",
    "get_ranking_scorer",
    "hit_rate",
    "kendall_tau_by_query",
    "make_ranking_scorer",
    "mean_average_precision",
    "mean_reciprocal_rank",
    "misranking_loss",
    "multipartite_auc",
    "ndcg_score",
    "pairwise_accuracy",
    "per_query",
    "precision_at",
    "preference_loss",
    "ranking_scorer_names",
    "recall_at",
    "reciprocal_rank",
    "roc_curve",
    "stated_misranking_loss",
    "weighted_misranking",
]
