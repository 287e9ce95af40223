"""All models of the leaderboard on many data sets: which to choose."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from echelon.datasets import fetch_benchmark, list_benchmarks
from echelon.metrics import NemenyiResult, nemenyi_test
from echelon.model_selection import Leaderboard, candidates, run_contest
from echelon.plots import CriticalDifferenceDisplay

from ..store import default_folder
from ..verdicts import LEVEL
from .catalogue import Plot
from .exhibit import Exhibit, Sheet, Tell, register_kind

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

#: Classes of a regression set, of about equal frequency.
_BINS = 5


@dataclass(frozen=True)
class SetResult:
    """A data set, its size, and the leaderboard on it."""

    name: str
    rows: int
    inputs: int
    classes: int
    board: Leaderboard

    def mean(self, model: str, measure: str = "mae") -> float:
        """Mean over the folds of a model."""
        return next(row.mean(measure) for row in self.board.rows if row.model == model)

    def seconds(self, model: str) -> float:
        """Mean time of a fit."""
        return next(row.fit_seconds for row in self.board.rows if row.model == model)

    @property
    def leaders(self) -> tuple[str, ...]:
        """The best model and those that are not known to be worse."""
        return self.board.contenders


@dataclass(frozen=True)
class Rosters(Exhibit):
    """Leaderboards on several data sets, and average ranks over them."""

    results: tuple[SetResult, ...]
    setting: str

    @property
    def models(self) -> tuple[str, ...]:
        """Models that have folds on every set, the best average rank first."""
        boards = [{row.model for row in result.board.rows} for result in self.results]
        common = [name for name in candidates() if all(name in board for board in boards)]
        ranks = _ranks(self.results, common).average_ranks
        return tuple(name for _, name in sorted(zip(ranks, common, strict=True)))

    @property
    def ranking(self) -> NemenyiResult:
        """Average ranks by the absolute error, with the critical difference."""
        return _ranks(self.results, self.models)

    @property
    def size(self) -> tuple[float, float]:
        """As high as there are models."""
        return CriticalDifferenceDisplay(self.ranking).size

    def sheets(self) -> list[Sheet]:
        """Models over all sets, then sets, then all figures."""
        return [self._summary(), self._sets(), self._figures()]

    def notes(self, plot: Plot) -> list[tuple[str, str]]:
        """What every model is."""
        roster = candidates()
        return [(name, roster[name].about) for name in self.models]

    def draw(self, canvas: Canvas) -> None:
        """The critical-difference diagram over the data sets."""
        CriticalDifferenceDisplay(self.ranking).plot(ax=canvas.subplots())

    def _summary(self) -> Sheet:
        rank_of = dict(zip(self.ranking.names, self.ranking.average_ranks, strict=True))
        rows = [
            [
                name,
                f"{rank_of[name]:.1f}",
                f"{sum(name in result.leaders for result in self.results)}",
                f"{self._excess(name, 'mae'):.0%}",
                _share(self._excess(name, "rps")),
                f"{np.median([result.seconds(name) for result in self.results]):.2g}",
            ]
            for name in self.models
        ]
        headings = (
            "Model",
            "average rank",
            f"best or not known to be worse, of {len(self.results)}",
            "MAE above the best",
            "RPS above the best",
            "seconds per fit",
        )
        caption = (
            f"Over {len(self.results)} data sets: average rank by mean absolute error of ranks; "
            "sets on which the model is the best or not known to be worse (95 % intervals of all "
            "differences at once); median over the sets of how far its error lies above the least "
            "one; median time of a fit with chosen settings:"
        )
        return Sheet(caption, headings, rows)

    def _excess(self, model: str, measure: str) -> float:
        """Median over sets of the error relative to the least one; NaN without the measure."""
        found = []
        for result in self.results:
            least = np.nanmin([row.mean(measure) for row in result.board.rows])
            found.append(result.mean(model, measure) / least - 1.0)
        return float(np.median(found))

    def _sets(self) -> Sheet:
        rows = [
            [
                result.name,
                str(result.rows),
                str(result.inputs),
                str(result.classes),
                result.board.best.model,
                f"{result.board.best.mean(result.board.measure):.3f}",
                ", ".join(result.leaders[1:]) or "none",
            ]
            for result in self.results
        ]
        headings = ("Set", "rows", "inputs", "classes", "best", "MAE", "not known to be worse")
        return Sheet("The sets and their best models:", headings, rows)

    def _figures(self) -> Sheet:
        rows = [
            [name, *(f"{result.mean(name):.3f}" for result in self.results)] for name in self.models
        ]
        headings = ("Model", *(result.name for result in self.results))
        return Sheet("Mean absolute error of ranks, mean over folds:", headings, rows)


@register_kind("roster")
def measure_roster(
    *, sets: Sequence[str], seconds: float, folds: int, repeats: int, jobs: int, tell: Tell
) -> Rosters:
    """Run the leaderboard on every set; finished folds are kept and never run twice."""
    folder = default_folder() / "roster"
    folder.mkdir(parents=True, exist_ok=True)
    regression = set(list_benchmarks("regression"))
    results = []
    for name in sets:
        tell(name)
        bunch = fetch_benchmark(name, bins=_BINS, as_frame=True)
        board = run_contest(
            bunch.data,
            bunch.target,
            budget=seconds,
            folds=folds,
            repeats=repeats,
            racing=False,
            n_jobs=jobs,
            store=folder / f"{name}.jsonl",
        )
        shown = f"{name}, {_BINS} bins" if name in regression else name
        rows, inputs = bunch.data.shape
        results.append(SetResult(shown, rows, inputs, len(bunch.classes), board))
    setting = (
        f"{repeats} × {folds} stratified folds, the same for all models, within {seconds:.0f} s "
        f"for a set; settings are searched on the training part of each fold. Sets with bins are "
        f"regression sets, cut into {_BINS} classes of about equal frequency."
    )
    return Rosters(tuple(results), setting)


def _ranks(results: Sequence[SetResult], models: Sequence[str]) -> NemenyiResult:
    table = np.array([[result.mean(model) for model in models] for result in results])
    return nemenyi_test(table, names=models, alpha=LEVEL, lower_is_better=True)


def _share(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.0%}"
