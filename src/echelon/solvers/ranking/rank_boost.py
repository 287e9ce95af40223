"""Rounds of RankBoost, [MRT18] figures 10.1 and 10.2, and its relatives.

A round finds the base ranker h of largest edge r = ε⁺ − ε⁻ under the weights D of the pairs, which
is the steepest coordinate of the loss, goes a step α along it, and gives the pairs new weights.
Losses differ in D and in the steps:

- exponential    F = Σ c·e^{−m}, m = f(winner) − f(loser): RankBoost;
- logistic       Σ c·ln(1 + e^{−m}): the same descent on another loss;
- smooth margin  RankBoost while F ≥ 1, that is until G = −ln F/‖α‖₁ is positive, and from there
                 on coordinate ascent on G, as of Rudin, Cortes, Mohri and Schapire (2005).

A loss ends at the share Π Z of where it began, and so does a bound on the share of pairs in wrong
order or level: all three losses are at least the loss at zero wherever m ≤ 0.

It ends early at a base ranker without edge, whose round is dropped, and at one that puts all pairs
in order, which gets more weight than all before it together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..._utils.types import Vector
from ...pairs.losses import SMOOTH_LOSSES
from ...pairs.pair_set import PairSet
from .rank_boost_losses import ExponentialPairs, LogisticPairs, PairObjective
from .rank_boost_steps import Line, book_step, exact_step, margin_step
from .rank_boost_stumps import Answers

LOSSES = (*SMOOTH_LOSSES, "smooth_margin")
STEPS = ("exact", "book")

# A base ranker gives itself and its answers for the rows, for weights π of the rows.
Learner = Callable[[Vector], tuple[Any, Answers]]
StepRule = Callable[[Line], float]

# A smaller edge changes the loss by less than rounding does.
_LEAST_EDGE = 1e-8


@dataclass(frozen=True)
class Round:
    """One round.

    Parameters
    ----------
    ranker : object
        The base ranker.
    weight : float
        α; negative where a base ranker of the user ranks the wrong way round.
    edge : float
        ε⁺ − ε⁻ under the weights before the round, not negative.
    normalizer : float
        Z: share of the loss that is left.
    """

    ranker: Any
    weight: float
    edge: float
    normalizer: float


def objective(loss: str, pairs: PairSet) -> PairObjective:
    """The loss over these pairs at scores of zero."""
    if loss == "logistic":
        return LogisticPairs(pairs)
    return ExponentialPairs(_with_mean_weight_one(pairs) if loss == "smooth_margin" else pairs)


def _with_mean_weight_one(pairs: PairSet) -> PairSet:
    """The pairs with a mean weight of one at least, so that F ≥ 1 at scores of zero.

    The smooth margin is no bound of margins, and infinite at first, where F begins below one.
    """
    factor = pairs.n_pairs / pairs.total_weight
    if factor <= 1.0:
        return pairs
    implied, listed = pairs.implied, pairs.listed
    if implied is not None:
        implied = replace(implied, scales=factor * implied.scales)
    if listed is not None:
        listed = replace(listed, weights=factor * listed.weights)
    return PairSet(pairs.n_items, implied, listed)


def boost(
    learn: Learner,
    state: PairObjective,
    *,
    n_rounds: int,
    loss: str = "exponential",
    step: str = "exact",
    learning_rate: float = 1.0,
) -> Iterator[Round]:
    """Rounds of boosting, one after another.

    Parameters
    ----------
    learn : callable
        Gives a base ranker and its answers for weights π of ``state.rows``.
    state : PairObjective
        Of ``objective``; changed in place.
    n_rounds : int
        Most rounds.
    loss : {"exponential", "logistic", "smooth_margin"}
    step : {"exact", "book"}
    learning_rate : float
        Factor of every step.
    """
    norm = reach = 0.0
    rule: StepRule = book_step if step == "book" else exact_step
    for _ in range(n_rounds):
        # No edge exceeds half of this sum times the spread of h; all weights may be zero.
        if np.abs(state.weights).sum() <= 2.0 * _LEAST_EDGE:
            return
        ranker, answers = learn(state.weights)
        line = state.along(answers)
        sign = 1.0
        if line.edge < 0.0:
            sign, answers = -1.0, answers.negated()
            line = state.along(answers)
        edge = line.edge
        if edge <= _LEAST_EDGE * line.spread or edge == 0.0:
            return
        if line.least_gain > 0.0:
            last = (1.0 + reach) / line.least_gain
            yield Round(ranker, sign * last, edge, line.at(last)[0])
            return
        by_margin = loss == "smooth_margin" and state.log_total < 0.0
        exact = margin_step(line, state.log_total, norm) if by_margin else rule(line)
        length = learning_rate * exact
        if length <= 0.0:
            return
        yield Round(ranker, sign * length, edge, line.at(length)[0])
        state.move(answers, line, length)
        norm += length
        reach += length * line.spread
