"""Ordinal models made from others: reduced, rounded, thresholded, calibrated, mixed, conformal."""

from .calibration import OrdinalCalibrator
from .conformal import ConformalOrdinal, CoverageWarning
from .reduction import OrdinalReduction
from .rounded import RoundedRegressor
from .stack import OrdinalStack
from .thresholded import ThresholdedRanker

__all__ = [
    "ConformalOrdinal",
    "CoverageWarning",
    "OrdinalCalibrator",
    "OrdinalReduction",
    "OrdinalStack",
    "RoundedRegressor",
    "ThresholdedRanker",
]
