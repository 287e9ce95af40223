"""Choosing models and parameters with scikit-learn's cross-validation."""

from .coarse_to_fine import CoarseToFineSearchCV
from .contest import compare_models, run_contest
from .experiment_run import ContestProgress
from .leaderboard import Leaderboard, LeaderboardRow
from .preparation import candidate_pipeline, mixed_columns, prepare, tune
from .ranker_validation import RankerValidation, cross_validate_ranker
from .roster import Candidate, candidates, default_models, find_candidate
from .splitters import PairKFold, QueryKFold, QueryShuffleSplit
from .text_terms import TextTerms

__all__ = [
    "Candidate",
    "CoarseToFineSearchCV",
    "ContestProgress",
    "Leaderboard",
    "LeaderboardRow",
    "PairKFold",
    "QueryKFold",
    "QueryShuffleSplit",
    "RankerValidation",
    "TextTerms",
    "candidate_pipeline",
    "candidates",
    "compare_models",
    "cross_validate_ranker",
    "default_models",
    "find_candidate",
    "mixed_columns",
    "prepare",
    "run_contest",
    "tune",
]
