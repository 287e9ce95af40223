"""The logistic loss over pairs, and the weights that it gives them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.types import Vector
from ...pairs.losses import misranked, pair_loss
from ...pairs.pair_rows import laid_out_rows
from ...pairs.pair_set import PairSet
from .rank_boost_lines import Line
from .rank_boost_stumps import Answers, FewAnswers

# An edge so close to one may be that of a base ranker without any error.
_ALMOST_PERFECT = 1.0 - 1e-9


@dataclass(frozen=True)
class LogisticLine:
    """The logistic loss along a base ranker."""

    pairs: LogisticPairs
    h: Vector
    edge: float
    spread: float
    least_gain: float

    def at(self, step: float) -> tuple[float, float, float]:
        """Share of the loss that is left, and its two derivatives."""
        return self.pairs.share_at(self.h, step)


class LogisticPairs:
    """Scores, and the logistic loss Σ c·ln(1 + e^{−(f_winner − f_loser)}) over pairs.

    Its weights are D ∝ c/(1 + e^{f_winner − f_loser}), which is no product of factors of rows.
    Parameters and attributes are those of `ExponentialPairs`.
    """

    def __init__(self, pairs: PairSet) -> None:
        self.rows, _ = laid_out_rows(pairs)
        self.scores = np.zeros(len(self.rows))
        self._pairs = pairs
        self._loss = pair_loss("logistic", pairs)
        self._all_scores = np.zeros(pairs.n_items)
        self._refresh()

    @property
    def log_total(self) -> float:
        """Logarithm of the loss."""
        return float(np.log(self.loss))

    def along(self, answers: Answers) -> LogisticLine:
        """The loss along a base ranker."""
        h = np.zeros(self._pairs.n_items)
        h[self.rows] = answers.of_rows
        edge = float(self.weights @ answers.of_rows)
        values = answers.values if isinstance(answers, FewAnswers) else answers.of_rows
        gain = -np.inf
        if isinstance(answers, FewAnswers) and edge > _ALMOST_PERFECT * float(np.ptp(values)):
            totals = misranked(self._pairs, h)
            if totals.tied == totals.discordant == 0.0:
                gain = float(np.diff(np.unique(values)).min())
        return LogisticLine(self, h, edge, float(np.ptp(values)), gain)

    def share_at(self, h: Vector, step: float) -> tuple[float, float, float]:
        """Share of the loss that is left after a step along h, and its two derivatives."""
        point = self._loss.at(self._all_scores + step * h)
        slope, bend = float(point.gradient @ h), float(h @ point.curvature(h))
        return point.value / self.loss, slope / self.loss, bend / self.loss

    def move(self, answers: Answers, line: Line, step: float) -> None:
        """Add a step along a base ranker to the scores."""
        self.scores += step * answers.of_rows
        self._refresh()

    def _refresh(self) -> None:
        self._all_scores[self.rows] = self.scores
        point = self._loss.at(self._all_scores)
        self.loss = point.value
        self.weights = -point.gradient[self.rows] / point.slope
