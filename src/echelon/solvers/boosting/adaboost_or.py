"""AdaBoost.OR, [LL09] algorithm 2, on the reduced form of the costs.

The state is the matrix V of signed threshold weights, whose absolute values are the binary weights
ŵ of lemma 2; the costs of the paper are its reverse reduction, so both forms are one. Round t has

    r_t from the learner, given V
    ε_t = Σ |V|·[r_t on the wrong side] / Σ |V|
    v_t = η·½ ln((1 − ε_t)/ε_t)
    |V| ← |V|·e^{±v_t}/Z_t,  + on wrong sides,  Z_t = (1 − ε_t)·e^{−v_t} + ε_t·e^{v_t}

with learning rate η (1 in the paper). Dividing by Z_t leaves Σ|V| as it was, so nothing overflows,
and only ratios of costs matter. The training cost of the weighted median of r_1 … r_t, as a share
of the cost Σ (c[1] + c[K]) of both ends, is at most Π Z; for η = 1 that is Π √(1 − 4γ²), theorem 6.

It ends at ε_t = 0, where the last ranker gets more weight than all before it together and the bound
is zero, and at ε_t ≥ ½ (up to rounding), where the round is dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._native._stumps import scale_sides, weigh_votes
from ..._utils.types import Codes, Matrix
from ...ordinal.reduction import side_matrix

Learner = Callable[[Matrix], tuple[Any, Codes]]

# Rows that one thread handles at a time: sums over them do not depend on the number of threads.
_CHUNK = 2**16
# A smaller edge γ changes the bound by less than rounding does.
_LEAST_EDGE = 1e-8


@dataclass(frozen=True)
class Round:
    """One round: the ranker, its error ε and weight v, and the bound Π Z up to here."""

    ranker: Any
    error: float
    weight: float
    bound: float


def boost(
    learn: Learner,
    V: Matrix,
    *,
    n_rounds: int,
    learning_rate: float = 1.0,
    n_threads: int = 1,
) -> Iterator[Round]:
    """Rounds of boosting, one after another.

    Parameters
    ----------
    learn : callable
        Gives a ranker and its ranks of the rows for signed weights V.
    V : ndarray of shape (n, K−1)
        Signed threshold weights of the rows, not all zero; changed in place.
    n_rounds : int
        Most rounds.
    learning_rate : float
        η.
    n_threads : int
        Threads over rows.
    """
    bound, votes_before = 1.0, 0.0
    sides = _Sides(V, n_threads)
    for _ in range(n_rounds):
        ranker, ranks = learn(V)
        ranks = np.ascontiguousarray(ranks, dtype=np.intp)
        error = sides.error(ranks)
        if error >= 0.5 - _LEAST_EDGE:
            return
        if error == 0.0:
            yield Round(ranker, 0.0, 1.0 + votes_before, 0.0)
            return
        weight = learning_rate * 0.5 * float(np.log((1.0 - error) / error))
        shrink = (1.0 - error) * np.exp(-weight) + error * np.exp(weight)
        bound *= float(shrink)
        votes_before += weight
        yield Round(ranker, error, weight, bound)
        sides.scale(ranks, np.exp(weight) / shrink, np.exp(-weight) / shrink)
        del ranks  # before the learner makes the next


def share_of_wrong_sides(V: Matrix, ranks: Codes) -> float:
    """ε: the weight on the wrong side of the ranks as a share of all; 0 if there is no weight."""
    return _Sides(V, 1).error(np.ascontiguousarray(ranks, dtype=np.intp))


class _Sides:
    """Passes over the rows of V in chunks, by as many threads as asked."""

    def __init__(self, V: Matrix, n_threads: int) -> None:
        self._V = V
        levels = np.arange(V.shape[1] + 1)
        self._table = side_matrix(levels, len(levels)).astype(np.float64)
        self._chunks = [slice(at, at + _CHUNK) for at in range(0, len(V), _CHUNK)]
        threads = min(n_threads, len(self._chunks))
        self._map = ThreadPoolExecutor(threads).map if threads > 1 else map

    def error(self, ranks: Codes) -> float:
        """Share of the weight that lies on the wrong side."""

        def weigh(rows: slice) -> Any:
            weighed = np.empty(2)
            weigh_votes(self._V[rows], ranks[rows], self._table, weighed)
            return weighed

        wrong, total = sum(self._map(weigh, self._chunks))
        return float(wrong / total) if total > 0.0 else 0.0

    def scale(self, ranks: Codes, wrong: float, right: float) -> None:
        """Multiply the weights of wrong and of right sides."""

        def change(rows: slice) -> None:
            scale_sides(self._V[rows], ranks[rows], self._table, wrong, right)

        list(self._map(change, self._chunks))
