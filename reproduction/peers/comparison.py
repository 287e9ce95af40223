"""A comparison: models, measures, and a value of each for every unit that was held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from echelon._utils.types import Array
from echelon.metrics.significance import Summary, two_sided_p

from ..verdicts import LEVEL, p_text

Tell = Callable[[str], None]


@dataclass(frozen=True)
class Measure:
    """A measure by its name on the page, and whether more of it is better."""

    name: str
    greater_is_better: bool = True


@dataclass(frozen=True)
class Entry:
    """A model with its values for each measure, one per unit, and how it was made."""

    name: str
    about: str
    values: Mapping[str, Array]
    seconds: float


@dataclass(frozen=True)
class PeerComparison:
    """Entries on the same held-out units; the first of them is the peer to compare with.

    `variance_factor` is what the variance of a mean difference is multiplied by: one for
    independent units, more for overlapping splits (Nadeau and Bengio, 2003).
    """

    title: str
    setting: str
    unit: str
    measures: tuple[Measure, ...]
    entries: tuple[Entry, ...]
    variance_factor: float = 1.0

    @property
    def headings(self) -> tuple[str, ...]:
        """Headings of the table of this comparison."""
        peer = self.entries[0].name
        names = tuple(measure.name for measure in self.measures)
        return ("Model", *names, f"{names[0]} less {peer}'s", "p", "seconds")

    def rows(self) -> list[list[str]]:
        """A line of the table for each entry."""
        return [self._row(entry) for entry in self.entries]

    def finding(self) -> str:
        """What the first measure says of every entry against the peer, in a sentence."""
        peer, *others = self.entries
        verdicts = [f"{entry.name} {self._verdict(entry)}" for entry in others]
        return f"By {self.measures[0].name}, against {peer.name}: {'; '.join(verdicts)}."

    def difference(self, entry: Entry) -> tuple[Summary, float]:
        """Of the first measure, entry less peer, unit by unit, and its two-sided p."""
        key = self.measures[0].name
        found = Summary.of((entry.values[key] - self.entries[0].values[key]).tolist())
        error = found.se * float(np.sqrt(self.variance_factor))
        return found, two_sided_p(found.mean, error, found.n - 1)

    def _row(self, entry: Entry) -> list[str]:
        figures = [_figure(Summary.of(entry.values[m.name].tolist())) for m in self.measures]
        if entry is self.entries[0]:
            return [entry.name, *figures, "", "", f"{entry.seconds:.1f}"]
        found, p = self.difference(entry)
        shown = f"{found.mean:+.4f} ± {found.se:.4f}"
        return [entry.name, *figures, shown, p_text(p), f"{entry.seconds:.1f}"]

    def _verdict(self, entry: Entry) -> str:
        found, p = self.difference(entry)
        shown = p_text(p)
        bound = f"p < {shown[1:]}" if shown.startswith("<") else f"p = {shown}"
        figures = f"({found.mean:+.4f}, {bound})"
        if p >= LEVEL:
            return f"is not significantly different {figures}"
        better = (found.mean > 0) == self.measures[0].greater_is_better
        return f"is {'better' if better else 'worse'} {figures}"


def _figure(summary: Summary) -> str:
    return f"{summary.mean:.4f} ± {summary.se:.4f}"


#: Comparisons by name: functions of the settings of a plot and of ``tell``.
Measurement = Callable[..., PeerComparison]
COMPARISONS: dict[str, Measurement] = {}


def register_comparison(name: str) -> Callable[[Measurement], Measurement]:
    """Register the decorated function as a comparison."""

    def keep(function: Measurement) -> Measurement:
        COMPARISONS[name] = function
        return function

    return keep
