"""Choosing models and parameters with scikit-learn's cross-validation."""

from .coarse_to_fine import CoarseToFineSearchCV
from .leaderboard import Leaderboard, LeaderboardRow, compare_models, default_models
from .preparation import mixed_columns

__all__ = [
    "CoarseToFineSearchCV",
    "Leaderboard",
    "LeaderboardRow",
    "compare_models",
    "default_models",
    "mixed_columns",
]
