"""Choosing models and parameters with scikit-learn's cross-validation."""

from .coarse_to_fine import CoarseToFineSearchCV
from .leaderboard import Leaderboard, LeaderboardRow, compare_models, default_models
from .preparation import mixed_columns
from .query_splits import PairKFold, QueryKFold, QueryShuffleSplit
from .ranking import RankerValidation, cross_validate_ranker

__all__ = [
    "CoarseToFineSearchCV",
    "Leaderboard",
    "LeaderboardRow",
    "PairKFold",
    "QueryKFold",
    "QueryShuffleSplit",
    "RankerValidation",
    "compare_models",
    "cross_validate_ranker",
    "default_models",
    "mixed_columns",
]
