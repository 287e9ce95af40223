"""Rankers beside their peers: a table and a panel for every comparison."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from echelon.metrics.significance import Summary

from ..errors import ReproductionError
from ..peers import COMPARISONS, PeerComparison
from ..verdicts import LEVEL
from .catalogue import Plot
from .exhibit import BLUE, VERMILION, Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class PeerComparisons(Exhibit):
    """All comparisons of a plot."""

    comparisons: tuple[PeerComparison, ...]
    setting: str

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are entries."""
        entries = sum(len(comparison.entries) for comparison in self.comparisons)
        return 8.0, 1.2 * len(self.comparisons) + 0.3 * entries

    def sheets(self) -> list[Sheet]:
        """What is found, then a table for every comparison."""
        findings = [[comparison.title, comparison.finding()] for comparison in self.comparisons]
        summary = Sheet(f"What is found (level {LEVEL}):", ("Comparison", "Finding"), findings)
        return [summary, *(self._sheet(comparison) for comparison in self.comparisons)]

    def notes(self, plot: Plot) -> list[tuple[str, str]]:
        """Every entry and how it was made."""
        return [
            (f"{comparison.title}, {entry.name}", entry.about)
            for comparison in self.comparisons
            for entry in comparison.entries
        ]

    def draw(self, canvas: Canvas) -> None:
        """A panel per comparison: means of the first measure with 95 % intervals."""
        heights = [len(comparison.entries) + 1.5 for comparison in self.comparisons]
        plots = canvas.subplots(
            len(self.comparisons), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes, comparison in zip(plots[:, 0], self.comparisons, strict=True):
            _draw(axes, comparison)

    @staticmethod
    def _sheet(comparison: PeerComparison) -> Sheet:
        caption = (
            f"**{comparison.title}**: {comparison.setting} Mean ± standard error, a value for "
            f"every {comparison.unit}:"
        )
        return Sheet(caption, comparison.headings, comparison.rows())


@register_kind("peers")
def measure_comparisons(
    *, comparisons: Mapping[str, Mapping[str, Any]], tell: Tell
) -> PeerComparisons:
    """Run every comparison that the settings name."""
    from ..peers import bipartite, matches, queries  # noqa: F401 - they register themselves

    unknown = sorted(set(comparisons) - set(COMPARISONS))
    if unknown:
        raise ReproductionError(
            f"There is no comparison {unknown[0]!r}; there are {', '.join(sorted(COMPARISONS))}."
        )
    found = tuple(COMPARISONS[name](tell=tell, **options) for name, options in comparisons.items())
    setting = (
        "all models of a comparison are tuned, fitted and measured in the same run on the same "
        "parts; p is two-sided, of the mean difference to the first model, paired by the unit."
    )
    return PeerComparisons(found, setting)


def _draw(axes: Axes, comparison: PeerComparison) -> None:
    key = comparison.measures[0]
    found = [Summary.of(entry.values[key.name].tolist()) for entry in comparison.entries]
    heights = np.arange(len(found))[::-1]
    means = [summary.mean for summary in found]
    errors = [1.96 * summary.se for summary in found]
    colours = [VERMILION, *([BLUE] * (len(found) - 1))]
    axes.hlines(
        heights,
        np.subtract(means, errors),
        np.add(means, errors),
        colors=colours,
        linewidth=2.0,
    )
    axes.scatter(means, heights, c=colours, s=28, zorder=3)
    axes.axvline(means[0], color="0.8", linewidth=0.8, zorder=0)
    axes.set_yticks(heights, [entry.name for entry in comparison.entries], fontsize=9)
    axes.set_ylim(-0.6, len(found) - 0.4)
    arrow = "→ better" if key.greater_is_better else "← better"
    axes.set_title(f"{comparison.title}: {key.name} ({arrow})", fontsize=10, loc="left")
    axes.tick_params(axis="x", labelsize=8)
    axes.margins(x=0.08)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
