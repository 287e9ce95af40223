"""A contest: models, measures, and a value of each for every unit that was held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from echelon._utils.types import Array
from echelon.metrics.comparison import Summary, two_sided_p

from ..verdicts import LEVEL, p_text

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Measure:
    """A measure by its name on the page, and whether more of it is better."""

    name: str
    greater_is_better: bool = True


@dataclass(frozen=True)
class Entrant:
    """A model with its values for each measure, one per unit, and how it was made."""

    name: str
    about: str
    values: Mapping[str, Array]
    seconds: float


@dataclass(frozen=True)
class Contest:
    """Entrants on the same held-out units; the first of them is the peer to compare with.

    `variance_factor` is what the variance of a mean difference is multiplied by: one for
    independent units, more for overlapping splits (Nadeau and Bengio, 2003).
    """

    title: str
    setting: str
    unit: str
    measures: tuple[Measure, ...]
    entrants: tuple[Entrant, ...]
    variance_factor: float = 1.0

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of the table of this contest."""
        peer = self.entrants[0].name
        names = tuple(measure.name for measure in self.measures)
        return ("Model", *names, f"{names[0]} less {peer}'s", "p", "seconds")

    def rows(self) -> list[list[str]]:
        """A line of the table for each entrant."""
        return [self._row(entrant) for entrant in self.entrants]

    def finding(self) -> str:
        """What the first measure says of every entrant against the peer, in a sentence."""
        peer, *others = self.entrants
        verdicts = [f"{entrant.name} {self._verdict(entrant)}" for entrant in others]
        return f"By {self.measures[0].name}, against {peer.name}: {'; '.join(verdicts)}."

    def difference(self, entrant: Entrant) -> tuple[Summary, float]:
        """Of the first measure, entrant less peer, unit by unit, and its two-sided p."""
        key = self.measures[0].name
        found = Summary.of((entrant.values[key] - self.entrants[0].values[key]).tolist())
        error = found.se * float(np.sqrt(self.variance_factor))
        return found, two_sided_p(found.mean, error, found.n - 1)

    def _row(self, entrant: Entrant) -> list[str]:
        figures = [_figure(Summary.of(entrant.values[m.name].tolist())) for m in self.measures]
        if entrant is self.entrants[0]:
            return [entrant.name, *figures, "", "", f"{entrant.seconds:.1f}"]
        found, p = self.difference(entrant)
        shown = f"{found.mean:+.4f} ± {found.se:.4f}"
        return [entrant.name, *figures, shown, p_text(p), f"{entrant.seconds:.1f}"]

    def _verdict(self, entrant: Entrant) -> str:
        found, p = self.difference(entrant)
        shown = p_text(p)
        bound = f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"
        figures = f"({found.mean:+.4f}, {bound})"
        if p >= LEVEL:
            return f"is not significantly different {figures}"
        better = (found.mean > 0) == self.measures[0].greater_is_better
        return f"is {'better' if better else 'worse'} {figures}"


def _figure(summary: Summary) -> str:
    return f"{summary.mean:.4f} ± {summary.se:.4f}"


#: Contests by name: functions of the settings of a plot and of ``tell``.
CONTESTS: dict[str, Callable[..., Contest]] = {}


def register_contest(name: str) -> Callable[[Callable[..., Contest]], Callable[..., Contest]]:
    """Register the decorated function as a contest."""

    def keep(function: Callable[..., Contest]) -> Callable[..., Contest]:
        CONTESTS[name] = function
        return function

    return keep
