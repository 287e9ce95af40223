"""The ordinal decision stump and the ordinal decision tree."""

from .stump import ORStump
from .tree import ORTree

__all__ = ["ORStump", "ORTree"]
