"""Rankers: support vectors, boosting, perceptrons, linear programs, and preferences."""

from ..pairs.preference_order import BudgetExceeded, quicksort, sort_by_degree
from .linear_rank_svm import LinearRankSVM
from .margin_lp import MarginLPRanker
from .online_rank_svm import OnlineRankSVM
from .preference_oracle import PreferenceOracle, rank_by_preference
from .preference_ranker import PreferenceRanker
from .rank_boost import RankBoost
from .rank_perceptron import RankPerceptron
from .rank_svm import RankSVM

__all__ = [
    "BudgetExceeded",
    "LinearRankSVM",
    "MarginLPRanker",
    "OnlineRankSVM",
    "PreferenceOracle",
    "PreferenceRanker",
    "RankBoost",
    "RankPerceptron",
    "RankSVM",
    "quicksort",
    "rank_by_preference",
    "sort_by_degree",
]
