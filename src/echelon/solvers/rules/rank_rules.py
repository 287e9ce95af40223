"""Boosting of rules: draw rows, grow a body, find its response on all rows, step.

A round of [DK09]: the body is grown on a share ζ of the rows drawn without replacement, the
response α is found on all rows, and the score changes by ν·α on the rows that the body covers. As α
descends the loss on all rows, the loss never rises, whatever rows were drawn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..._native._rule_rows import weigh_classes
from ..._utils.types import Codes, Matrix, Vector
from .bodies import Body, covers
from .losses import RuleLoss
from .search import Inside, RuleSearch

# Draws in a row that may give no rule before boosting ends.
_MOST_FAILED_DRAWS = 20


@dataclass(frozen=True)
class RuleRound:
    """One rule.

    Parameters
    ----------
    body : Body
    response : float
        ν·α, what the rule adds to the score.
    class_weights : ndarray of shape (K,)
        Weight of the rows that the body covers, by class.
    loss : float
        Mean loss afterwards.
    thresholds : ndarray of shape (K−1,)
        Of the score afterwards.
    """

    body: Body
    response: float
    class_weights: Vector
    loss: float
    thresholds: Vector


class ClassWeights:
    """The weight of the rows that a rule covers, by class.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Class of each row, 0 … K−1.
    n_classes : int
        K.
    weights : ndarray of shape (n,)
        Of the rows.
    """

    def __init__(self, codes: Codes, n_classes: int, weights: Vector) -> None:
        self._classes, self._n_classes = codes.astype(np.int32), n_classes
        self._weights = weights

    def __call__(self, inside: Inside) -> Vector:
        """Weights of the classes among the rows inside."""
        covered = np.empty(self._n_classes)
        weigh_classes(inside, self._classes, self._weights, covered)
        return covered


def boost_rules(
    loss: RuleLoss,
    search: RuleSearch,
    weigh: ClassWeights,
    *,
    n_rules: int,
    shrinkage: float,
    subsample: float,
    rng: np.random.Generator,
) -> Iterator[RuleRound]:
    """Rules one by one, fewer than asked for once none can be found that changes anything.

    Parameters
    ----------
    loss : RuleLoss
    search : RuleSearch
        Over the rows of the loss.
    weigh : ClassWeights
        Of the rows of the loss.
    n_rules : int
    shrinkage : float
        ν.
    subsample : float
        ζ.
    rng : Generator
    """
    n = len(loss.scores)
    n_drawn = max(1, round(subsample * n))
    failed = made = 0
    while made < n_rules and failed < (_MOST_FAILED_DRAWS if n_drawn < n else 1):
        found = search.find(loss.terms(), _draw(n, n_drawn, rng))
        inside = None if found is None else search.cover(found)
        step = 0.0 if inside is None else shrinkage * loss.response(inside)
        if found is None or inside is None or step == 0.0:
            failed += 1
            continue
        loss.step(inside, step)
        failed, made = 0, made + 1
        yield RuleRound(found.body, step, weigh(inside), loss.value, loss.thresholds)


def replay(
    loss: RuleLoss, bodies: Sequence[Body], responses: Vector, X: Matrix, weigh: ClassWeights
) -> Iterator[RuleRound]:
    """The rounds of given rules, one after another, as if boosting had found them.

    Parameters
    ----------
    loss : RuleLoss
        Of the rows X, at the score 0.
    bodies : sequence of Body
    responses : ndarray of shape (M,)
    X : ndarray of shape (n, d)
    weigh : ClassWeights
        Of these rows.
    """
    for body, response in zip(bodies, responses.tolist(), strict=True):
        inside = covers(body, X).astype(np.uint8)
        loss.step(inside, response)
        yield RuleRound(body, response, weigh(inside), loss.value, loss.thresholds)


def _draw(n: int, n_drawn: int, rng: np.random.Generator) -> Inside:
    if n_drawn == n:
        return np.ones(n, dtype=np.uint8)
    drawn = np.zeros(n, dtype=np.uint8)
    drawn[rng.permutation(n)[:n_drawn]] = 1
    return drawn
