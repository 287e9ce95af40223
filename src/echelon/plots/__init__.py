"""Pictures of results, in the manner of scikit-learn's displays; they need the ``plot`` extra."""

from .critical_difference import CriticalDifferenceDisplay

__all__ = ["CriticalDifferenceDisplay"]
