"""Sets of item pairs and what can be counted over them without listing them."""

from .pair_set import LevelPairs, ListedPairs, PairSet
from .queries import query_codes

__all__ = ["LevelPairs", "ListedPairs", "PairSet", "query_codes"]
