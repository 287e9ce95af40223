"""Pictures of results, in the manner of scikit-learn's displays; they need the ``plot`` extra."""

from .calibration import CumulativeCalibrationDisplay
from .comparison import CriticalDifferenceDisplay, LeaderboardDisplay
from .confusion import OrdinalConfusionDisplay
from .curves import BoostingCurveDisplay, LearningCurveDisplay
from .decision_boundary import DecisionBoundaryDisplay
from .effect import EffectDisplay
from .importance import ImportanceDisplay, RelevanceDisplay, RuleCoverageDisplay
from .latent import LatentDisplay
from .margins import MarginDistributionDisplay
from .roc import PairwiseROCDisplay, ROCDisplay

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
