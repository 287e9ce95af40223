"""Pictures of results, in the manner of scikit-learn's displays; they need the ``plot`` extra."""

from .boosting_curve import BoostingCurveDisplay
from .calibration import CumulativeCalibrationDisplay
from .confusion import OrdinalConfusionDisplay
from .critical_difference import CriticalDifferenceDisplay
from .decision_boundary import DecisionBoundaryDisplay
from .effect import EffectDisplay
from .importance import ImportanceDisplay
from .latent import LatentDisplay
from .leaderboard import LeaderboardDisplay
from .learning_curve import LearningCurveDisplay
from .margins import MarginDistributionDisplay
from .pairwise_roc import PairwiseROCDisplay
from .relevance import RelevanceDisplay
from .roc import ROCDisplay
from .rule_coverage import RuleCoverageDisplay

__all__ = [
    "BoostingCurveDisplay",
    "CriticalDifferenceDisplay",
    "CumulativeCalibrationDisplay",
    "DecisionBoundaryDisplay",
    "EffectDisplay",
    "ImportanceDisplay",
    "LatentDisplay",
    "LeaderboardDisplay",
    "LearningCurveDisplay",
    "MarginDistributionDisplay",
    "OrdinalConfusionDisplay",
    "PairwiseROCDisplay",
    "ROCDisplay",
    "RelevanceDisplay",
    "RuleCoverageDisplay",
]
