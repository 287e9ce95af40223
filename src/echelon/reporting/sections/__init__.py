"""The sections of a report in their order; each gives None where it has nothing to show."""

from collections.abc import Callable

from ..content import Section
from ..facts import Facts
from .appendix import appendix
from .comparison import critical_difference, leaderboard
from .data import data
from .errors import by_class, confusion
from .inputs import effects, importance, rows, rules
from .probabilities import calibration, intervals, latent
from .summary import summary
from .training import learning, rounds

__all__ = ["SECTIONS", "appendix"]

SECTIONS: dict[str, Callable[[Facts], Section | None]] = {
    "summary": summary,
    "data": data,
    "leaderboard": leaderboard,
    "critical-difference": critical_difference,
    "confusion": confusion,
    "by-class": by_class,
    "latent": latent,
    "calibration": calibration,
    "intervals": intervals,
    "importance": importance,
    "effects": effects,
    "rules": rules,
    "rows": rows,
    "learning": learning,
    "rounds": rounds,
}
