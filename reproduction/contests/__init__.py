"""Rankers beside those that users have, on real data in one run.

Rooms: `contest` (what a contest gives), `peers` (the others' models), `queries` (graded documents
by query), `bipartite` (positives above negatives), `matches` (who beats whom).
"""

from .contest import CONTESTS, Contest, Entrant, Measure, register_contest

__all__ = ["CONTESTS", "Contest", "Entrant", "Measure", "register_contest"]
