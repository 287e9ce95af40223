"""Linear models of ordered labels: cumulative links, support vectors, the perceptron."""

from .linear_svor import LinearSVOR
from .prank import PRank
from .proportional_odds import ProportionalOdds, SeparationWarning

__all__ = ["LinearSVOR", "PRank", "ProportionalOdds", "SeparationWarning"]
