"""Why a model predicts what it does, how well it does out of sample, and what its table is like.

Every function takes a fitted ordinal estimator, a scikit-learn pipeline that ends in one, a
classifier of scikit-learn whose classes are in order, or a trained model, and inputs as that model
takes them: data frames of mixed columns, or arrays.
"""

from ..model_selection.holdout import Holdout
from .effects import Effect, feature_effects
from .evaluation import Evaluation, Figure, evaluate_model, evaluate_predictions
from .holdout import LearningCurve, holdout_predictions, learning_curve
from .importance import Importance, ordinal_importance
from .profile import ColumnProfile, Finding, Profile, profile_table
from .raw_rules import rule_sentences
from .rows import RowExplanation, Term, explain_rows
from .words import WordEffect, word_effects

__all__ = [
    "ColumnProfile",
    "Effect",
    "Evaluation",
    "Figure",
    "Finding",
    "Holdout",
    "Importance",
    "LearningCurve",
    "Profile",
    "RowExplanation",
    "Term",
    "WordEffect",
    "evaluate_model",
    "evaluate_predictions",
    "explain_rows",
    "feature_effects",
    "holdout_predictions",
    "learning_curve",
    "ordinal_importance",
    "profile_table",
    "rule_sentences",
    "word_effects",
]
