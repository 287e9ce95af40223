"""The sections of a report in their order; each gives None where it has nothing to show."""

from __future__ import annotations

from collections.abc import Callable

from ..content import Section
from ..facts import Facts
from ..study import Study
from .appendix import appendix
from .coefficients import coefficients
from .comparison import critical_difference, leaderboard
from .data import data
from .errors import by_class, confusion
from .inputs import effects, importance, rows, rules, words
from .probabilities import calibration, intervals, latent
from .summary import summary
from .training import learning, rounds

__all__ = ["SECTIONS", "appendix"]

Maker = Callable[[Facts], Section | None]


def _of_model(make: Callable[[Study], Section | None]) -> Maker:
    """A section about a model on labelled rows, which is missing without either."""
    return lambda facts: None if facts.study is None else make(facts.study)


SECTIONS: dict[str, Maker] = {
    "summary": summary,
    "data": data,
    "leaderboard": leaderboard,
    "critical-difference": critical_difference,
    "confusion": _of_model(confusion),
    "by-class": _of_model(by_class),
    "latent": _of_model(latent),
    "calibration": _of_model(calibration),
    "intervals": _of_model(intervals),
    "coefficients": _of_model(coefficients),
    "importance": _of_model(importance),
    "effects": _of_model(effects),
    "words": _of_model(words),
    "rules": _of_model(rules),
    "rows": _of_model(rows),
    "learning": _of_model(learning),
    "rounds": _of_model(rounds),
}
