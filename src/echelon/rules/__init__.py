"""RankRules, and its rules as text, tables and explanations."""

from .rank_rules import RankRules

__all__ = ["RankRules"]
