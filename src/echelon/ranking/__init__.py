"""Rankers: support vectors, boosting, perceptrons, linear programs, and preferences."""

from .linear_rank_svm import LinearRankSVM
from .linear_rankers import MarginLPRanker, RankPerceptron
from .online_rank_svm import OnlineRankSVM
from .preference import (
    BudgetExceeded,
    Judge,
    PreferenceRanker,
    quicksort,
    rank_by_preference,
    sort_by_degree,
)
from .rank_boost import RankBoost
from .rank_svm import RankSVM

__all__ = [
    "BudgetExceeded",
    "Judge",
    "LinearRankSVM",
    "MarginLPRanker",
    "OnlineRankSVM",
    "PreferenceRanker",
    "RankBoost",
    "RankPerceptron",
    "RankSVM",
    "quicksort",
    "rank_by_preference",
    "sort_by_degree",
]
