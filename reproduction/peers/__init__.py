"""Rankers beside those that users have, on real data in one run.

Modules: `comparison` (what a comparison gives), `lambda_rank` (LightGBM as a ranker),
`queries` (graded documents by query), `bipartite` (positives above negatives), `matches` (who
beats whom).
"""

from .comparison import COMPARISONS, Entry, Measure, PeerComparison, register_comparison

__all__ = ["COMPARISONS", "Entry", "Measure", "PeerComparison", "register_comparison"]
