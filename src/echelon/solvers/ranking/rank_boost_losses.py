"""Losses over pairs that RankBoost descends, and the weights that they give the pairs.

With the exponential loss the weight of a pair after scores f is D ∝ c·exp(−(f_winner − f_loser)).
For pairs that follow from labels, c = s_q·w_i·w_j, it is a product of u_i = w_i·e^{−f_i} and v_j =
w_j·e^{f_j}, so sums over pairs are sums over *segments*, the runs of rows of one query and one
level ([MRT18] 10.5.1 for two levels, exercise 10.8 for more): a round costs O(n + segments)
whatever the number of pairs. Factors are divided by the greatest of their segment, and segments
meet only through differences of the logarithms, so nothing overflows. Stated pairs have a weight
each.

The logistic loss gives weights that are no such products; it sweeps the rows by their scores.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy.special import logsumexp

from ..._native._rank_stumps import pair_masses, segment_factors, step_rows, sum_classes
from ..._utils.types import Index, Matrix, Vector
from ...pairs.losses import pair_loss
from ...pairs.misranking import misranked
from ...pairs.pair_set import LevelPairs, ListedPairs, PairSet, laid_out_rows
from .rank_boost_steps import FewLine, Line, LogisticLine, ManyLine
from .rank_boost_stumps import Answers, FewAnswers

# Factors are computed anew from the scores when the steps since then could have changed them by
# more than e to this, or after so many steps, as products of many factors gather rounding.
_MOST_DRIFT = 50.0
_MOST_STEPS = 64
# An edge so close to one may be that of a base ranker without any error.
_ALMOST_PERFECT = 1.0 - 1e-9


class ExponentialPairs:
    """Scores, and the weights of pairs that they imply.

    Parameters
    ----------
    pairs : PairSet
        Not empty.

    Attributes
    ----------
    rows : ndarray of shape (m,)
        Rows that take part in a pair: those of implied pairs by segment, then the others. All else
        is in this order.
    scores : ndarray of shape (m,)
    weights : ndarray of shape (m,)
        π: share of the pairs that a row wins less share of those that it loses.
    log_total : float
        ln F.
    """

    def __init__(self, pairs: PairSet) -> None:
        self.rows, place = laid_out_rows(pairs)
        self.scores = np.zeros(len(self.rows))
        self.weights = np.empty(len(self.rows))
        self._implied = None if pairs.implied is None else _Factors(pairs.implied)
        self._listed = None if pairs.listed is None else _Stated(pairs.listed, place)
        self.log_total = float(np.log(pairs.total_weight))
        self._refresh()

    def along(self, answers: Answers) -> FewLine | ManyLine:
        """Z along a base ranker."""
        if not isinstance(answers, FewAnswers):
            return ManyLine(self.weights, answers.of_rows, self.moments)
        masses = np.zeros((len(answers.values), len(answers.values)))
        upper = lower = None
        if self._implied is not None:
            upper, lower = self._implied.class_sums(answers)
            masses += self._implied.masses(upper, lower, self.log_total)
        if self._listed is not None:
            masses += self._listed.masses(answers)
        # The total is one but for rounding.
        return FewLine(masses / masses.sum(), answers.values, upper, lower)

    def moments(self, h: Vector, step: float) -> Matrix:
        """Sums over pairs of D·e^{−step·(h_i − h_j)}·h_i^a·h_j^b, a and b from 0 to 2."""
        moments = np.zeros((3, 3))
        if self._implied is not None:
            moments += self._implied.moments(h, step, self.log_total)
        if self._listed is not None:
            moments += self._listed.moments(h, step)
        return moments

    def move(self, answers: Answers, line: Line, step: float) -> None:
        """Add a step along a base ranker to the scores."""
        shrink = line.at(step)[0]
        self.log_total += float(np.log(shrink))
        self._drift += step * line.spread
        self._n_steps += 1
        late = self._drift > _MOST_DRIFT or self._n_steps >= _MOST_STEPS
        if late or not isinstance(answers, FewAnswers) or not isinstance(line, FewLine):
            self.scores += step * answers.of_rows
            self._refresh()
            return
        if self._implied is not None and line.upper is not None and line.lower is not None:
            sums = line.upper @ np.exp(-step * line.values), line.lower @ np.exp(step * line.values)
            upper, lower = self._implied.factors(*sums, self.log_total)
            self._implied.step(answers, step, upper, lower, self.scores, self.weights)
        first = 0 if self._implied is None else self._implied.size
        if first < len(self.rows):
            self.scores[first:] += step * answers.of_rows[first:]
            self.weights[first:] = 0.0
        if self._listed is not None:
            self._listed.step(answers.of_rows, step, shrink)
            self._listed.add_weights(self.weights)

    def _refresh(self) -> None:
        """All factors and weights from the scores."""
        self._drift, self._n_steps = 0.0, 0
        logs = []
        self.weights[:] = 0.0
        if self._implied is not None:
            logs.append(self._implied.refresh(self.scores, self.log_total))
        if self._listed is not None:
            logs.append(self._listed.log_total(self.scores))
        self.log_total = float(logsumexp(logs))
        if self._implied is not None:
            self._implied.weigh(self.log_total, self.weights)
        if self._listed is not None:
            self._listed.refresh(self.scores, self.log_total)
            self._listed.add_weights(self.weights)


class _Factors:
    """Implied pairs as factors u and v of the rows."""

    def __init__(self, pairs: LevelPairs) -> None:
        self.size = len(pairs.rows)
        self._starts, self._queries = pairs.starts, pairs.queries
        # Weights near one, whatever their unit; pairs carry it.
        unit = float(pairs.weights.mean())
        self._unit_weights = None if np.ptp(pairs.weights) == 0.0 else pairs.weights / unit
        self._log_scales = np.log(pairs.scales) + 2.0 * np.log(unit)
        self._wins = np.ones(pairs.n_segments, dtype=np.uint8)
        self._wins[self._queries[:-1]] = 0
        self._loses = np.ones(pairs.n_segments, dtype=np.uint8)
        self._loses[self._queries[1:] - 1] = 0
        self._u, self._v = np.empty(self.size), np.empty(self.size)

    def refresh(self, scores: Vector, log_total: float) -> float:
        """Factors from the scores; the logarithm of the loss, which is about `log_total`."""
        f = scores[: self.size]
        starts = self._starts[:-1]
        sizes = np.diff(self._starts)
        self._low = np.minimum.reduceat(f, starts)
        self._high = np.maximum.reduceat(f, starts)
        for factors, sign, offset in ((self._u, -1.0, self._low), (self._v, 1.0, self._high)):
            factors[:] = np.repeat(offset, sizes)
            factors -= f
            factors *= -sign
            np.exp(factors, out=factors)
            if self._unit_weights is not None:
                factors *= self._unit_weights
        self._upper = np.add.reduceat(self._u, starts)[:, None]
        self._lower = np.add.reduceat(self._v, starts)[:, None]
        share = self.masses(self._upper, self._lower, log_total)[0, 0]
        return log_total + float(np.log(share)) if share > 0.0 else -np.inf

    def weigh(self, log_total: float, weights: Vector) -> None:
        """π of the rows, with the factors as refreshed."""
        upper, lower = self.factors(self._upper[:, 0], self._lower[:, 0], log_total)
        sizes = np.diff(self._starts)
        weights[: self.size] = self._u * np.repeat(upper, sizes)
        weights[: self.size] -= self._v * np.repeat(lower, sizes)

    def class_sums(self, answers: FewAnswers) -> tuple[Matrix, Matrix]:
        """Sums of u and of v by segment and class of the answers."""
        upper = np.empty((len(self._wins), len(answers.values)))
        lower = np.empty_like(upper)
        sum_classes(
            answers.codes, answers.classes, self._starts, self._wins, self._loses,
            self._u, self._v, upper, lower,
        )  # fmt: skip
        return upper, lower

    def masses(self, upper: Matrix, lower: Matrix, log_total: float) -> Matrix:
        """Sums over all pairs of segments, as shares of e^log_total."""
        masses = np.empty((upper.shape[1], upper.shape[1]))
        pair_masses(
            upper, lower, self._queries, self._log_scales, self._low, self._high, log_total, masses
        )
        return masses

    def factors(self, upper: Vector, lower: Vector, log_total: float) -> tuple[Vector, Vector]:
        """What turns u and v into the weights of a row's pairs, by segment."""
        winners, losers = np.empty(len(upper)), np.empty(len(upper))
        segment_factors(
            upper[:, None], lower[:, None], self._queries, self._log_scales,
            self._low, self._high, log_total, winners, losers,
        )  # fmt: skip
        return winners, losers

    def step(
        self,
        answers: FewAnswers,
        step: float,
        upper: Vector,
        lower: Vector,
        scores: Vector,
        weights: Vector,
    ) -> None:
        """New scores, factors and weights of the rows."""
        step_rows(
            answers.codes, answers.classes, step * answers.values, self._starts,
            self._wins, self._loses, upper, lower, scores, self._u, self._v, weights,
        )  # fmt: skip

    def moments(self, h: Vector, step: float, log_total: float) -> Matrix:
        """Moments of h over the pairs after a step."""
        h = h[: self.size]
        starts = self._starts[:-1]
        sums = []
        for factors, sign in ((self._u, -1.0), (self._v, 1.0)):
            moved = factors * np.exp(sign * step * h)
            powers = (moved, moved * h, moved * h * h)
            sums.append(np.stack([np.add.reduceat(power, starts) for power in powers], axis=1))
        return self.masses(sums[0], sums[1], log_total)


class _Stated:
    """Stated pairs with a weight each."""

    def __init__(self, pairs: ListedPairs, place: Index) -> None:
        self._winners, self._losers = place[pairs.winners], place[pairs.losers]
        self._log_weights = np.log(pairs.weights)

    def log_total(self, scores: Vector) -> float:
        """Logarithm of the loss."""
        return float(logsumexp(self._exponents(scores)))

    def refresh(self, scores: Vector, log_total: float) -> None:
        """Weights from the scores."""
        self._weights = np.exp(self._exponents(scores) - log_total)

    def add_weights(self, weights: Vector) -> None:
        """Add to π of the rows."""
        weights += np.bincount(self._winners, self._weights, len(weights))
        weights -= np.bincount(self._losers, self._weights, len(weights))

    def masses(self, answers: FewAnswers) -> Matrix:
        """Weight of the pairs for every two classes."""
        A = len(answers.values)
        classes = answers.row_classes
        both = classes[self._winners].astype(np.intp) * A + classes[self._losers]
        return np.asarray(np.bincount(both, self._weights, A * A).reshape(A, A))

    def moments(self, h: Vector, step: float) -> Matrix:
        """Moments of h over the pairs after a step."""
        winner, loser = h[self._winners], h[self._losers]
        moved = self._weights * np.exp(-step * (winner - loser))
        powers = np.arange(3)[:, None]
        return np.asarray((moved * winner**powers) @ (loser**powers).T)

    def step(self, h: Vector, step: float, shrink: float) -> None:
        """Weights after a step that leaves `shrink` of the loss."""
        self._weights *= np.exp(-step * (h[self._winners] - h[self._losers])) / shrink

    def _exponents(self, scores: Vector) -> Vector:
        return np.asarray(self._log_weights - (scores[self._winners] - scores[self._losers]))


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
        return LogisticLine(edge, float(np.ptp(values)), gain, partial(self.share_at, h))

    def share_at(self, h: Vector, step: float) -> tuple[float, float, float]:
        """Share of the loss that is left after a step along h, and its two derivatives."""
        point = self._loss.at(self._all_scores + step * h)
        slope, curvature = float(point.gradient @ h), float(h @ point.curvature(h))
        return point.value / self.loss, slope / self.loss, curvature / self.loss

    def move(self, answers: Answers, line: Line, step: float) -> None:
        """Add a step along a base ranker to the scores."""
        self.scores += step * answers.of_rows
        self._refresh()

    def _refresh(self) -> None:
        self._all_scores[self.rows] = self.scores
        point = self._loss.at(self._all_scores)
        self.loss = point.value
        self.weights = -point.gradient[self.rows] / point.slope


#: A loss over pairs, and the scores of the rows that take part in them.
PairObjective = ExponentialPairs | LogisticPairs
