"""The ordinal decision stump and the ordinal decision tree."""

from .tree import ORStump, ORTree

__all__ = ["ORStump", "ORTree"]
