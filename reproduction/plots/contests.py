"""Rankers beside their peers: a table and a panel for every contest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from echelon.metrics.significance import Summary

from ..contests import CONTESTS, Contest
from ..errors import ReproductionError
from ..verdicts import LEVEL
from .catalogue import Plot
from .exhibit import BLUE, VERMILION, Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


@dataclass(frozen=True)
class Contests(Exhibit):
    """All contests of a plot."""

    contests: tuple[Contest, ...]
    setting: str

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are entrants."""
        return (8.0, 1.2 * len(self.contests) + 0.3 * sum(len(c.entrants) for c in self.contests))

    def sheets(self) -> list[Sheet]:
        """What is found, then a table for every contest."""
        findings = [[contest.title, contest.finding()] for contest in self.contests]
        summary = Sheet(f"What is found (level {LEVEL}):", ("Contest", "Finding"), findings)
        return [summary, *(self._sheet(contest) for contest in self.contests)]

    def notes(self, plot: Plot) -> list[tuple[str, str]]:
        """Every entrant and how it was made."""
        return [
            (f"{contest.title}, {entrant.name}", entrant.about)
            for contest in self.contests
            for entrant in contest.entrants
        ]

    def draw(self, canvas: Canvas) -> None:
        """A panel per contest: means of the first measure with 95 % intervals."""
        heights = [len(contest.entrants) + 1.5 for contest in self.contests]
        plots = canvas.subplots(
            len(self.contests), 1, squeeze=False, gridspec_kw={"height_ratios": heights}
        )
        for axes, contest in zip(plots[:, 0], self.contests, strict=True):
            _draw(axes, contest)

    @staticmethod
    def _sheet(contest: Contest) -> Sheet:
        caption = (
            f"**{contest.title}**: {contest.setting} Mean ± standard error, a value for every "
            f"{contest.unit}:"
        )
        return Sheet(caption, contest.headings, contest.rows())


@register_kind("contests")
def measure_contests(*, contests: Mapping[str, Mapping[str, Any]], tell: Tell) -> Contests:
    """Run every contest that the settings name."""
    from ..contests import bipartite, matches, queries  # noqa: F401 - they register themselves

    unknown = sorted(set(contests) - set(CONTESTS))
    if unknown:
        raise ReproductionError(
            f"There is no contest {unknown[0]!r}; there are {', '.join(sorted(CONTESTS))}."
        )
    found = tuple(CONTESTS[name](tell=tell, **options) for name, options in contests.items())
    setting = (
        "all models of a contest are tuned, fitted and measured in the same run on the same parts; "
        "p is two-sided, of the mean difference to the first model, paired by the unit."
    )
    return Contests(found, setting)


def _draw(axes: Axes, contest: Contest) -> None:
    key = contest.measures[0]
    found = [Summary.of(entrant.values[key.name].tolist()) for entrant in contest.entrants]
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
    axes.set_yticks(heights, [entrant.name for entrant in contest.entrants], fontsize=9)
    axes.set_ylim(-0.6, len(found) - 0.4)
    arrow = "→ better" if key.greater_is_better else "← better"
    axes.set_title(f"{contest.title}: {key.name} ({arrow})", fontsize=10, loc="left")
    axes.tick_params(axis="x", labelsize=8)
    axes.margins(x=0.08)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
