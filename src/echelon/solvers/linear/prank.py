"""The perceptron for ordered classes of Crammer and Singer (PRank), online and over many epochs.

A model is a direction w and thresholds b_0 ≤ … ≤ b_{K−2}; an example lies above threshold k if
w·x > b_k. An example of class y has sides Z_k = +1 for k < y and −1 for k ≥ y. When it is
presented, every k with Z_k·(w·x − b_k) ≤ 0 is wrong, and for each of them w moves by Z_k·x and b_k
by −Z_k. From zero the thresholds are whole numbers, and they ascend after every step: where b_k
rises by one and b_{k+1} does not, w·x lies between them, so they were at least one apart; and where
b_{k+1} falls and b_k does not, likewise.

Over many epochs the examples are drawn at random, by the most that each can cost, as [LL09] section
5.2 makes PRank cost-sensitive. A perceptron never settles on data that it cannot separate, so the
best model seen is kept in a *pocket*, by its cost on all rows: the ratchet of Gallant (1990).

Rows are put in an order of their own, by their projection on a fixed direction, and equal rows of
one class are merged. So the outcome depends neither on the order of the rows nor on whether a row
is repeated or has a greater weight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..._native._prank import Perceptron, draw_rows, row_scores
from ..._utils.state import require_state
from ..._utils.types import Codes, Index, Mask, Matrix, Vector

Progress = Callable[[int, float], None]

# Draws between two returns to Python: some hundredths of a second.
_BLOCK = 1 << 18
# Cells per row of the table that starts the search for a drawn row.
_CELLS = 4


@dataclass(frozen=True)
class FlatRows:
    """Rows end to end: entries ``starts[i] … starts[i+1]−1`` of ``values`` are row i.

    ``columns`` names their columns; it is empty for dense rows.
    """

    values: Vector
    columns: Index
    starts: Index
    n_columns: int

    @classmethod
    def of(cls, X: Any) -> FlatRows:
        """Lay out an array, or a CSR matrix in canonical form."""
        n, d = X.shape
        if sp.issparse(X):
            columns, starts = X.indices.astype(np.intp), X.indptr.astype(np.intp)
            return cls(np.ascontiguousarray(X.data, dtype=np.float64), columns, starts, d)
        values = np.ascontiguousarray(X, dtype=np.float64).ravel()
        return cls(values, np.empty(0, dtype=np.intp), np.arange(n + 1, dtype=np.intp) * d, d)

    def perceptron(self, codes: Codes, costs: Matrix, averaged: bool) -> Any:
        """A perceptron at zero that learns from these rows."""
        return Perceptron(
            self.values, self.columns, self.starts, codes, costs, self.n_columns, averaged
        )

    def scores(self, w: Vector) -> Vector:
        """x_i·w of every row, to the same bits for equal rows, dense or sparse."""
        return np.asarray(row_scores(self.values, self.columns, self.starts, w))


@dataclass(frozen=True)
class PRankProblem:
    """Distinct examples: rows, classes, costs (n, K) times weights, and the mass to draw them by.

    ``active`` are the columns of X that vary; the rows have only these, since the thresholds do
    what a constant column could.
    """

    rows: FlatRows
    codes: Codes
    costs: Matrix
    masses: Vector
    active: Index


@dataclass(frozen=True)
class PerceptronState:
    """A perceptron at rest: what it needs to go on learning.

    The moments are w₀ + Σ_t t·Δw_t over the ``n_presented`` examples that an average counts.
    """

    coef: Vector
    thresholds: Vector
    moment_coef: Vector
    moment_thresholds: Vector
    n_presented: int

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, do not fit together."""
        pairs = ((self.coef, self.moment_coef), (self.thresholds, self.moment_thresholds))
        for pair in pairs:
            alike = all(isinstance(v, np.ndarray) and v.shape == pair[0].shape for v in pair)
            vectors = alike and pair[0].ndim == 1 and all(v.dtype == np.float64 for v in pair)
            require_state(vectors and np.isfinite(pair).all(), "its moments are of other sizes")
        require_state(type(self.n_presented) is int and self.n_presented >= 0, "no examples")

    @classmethod
    def fresh(cls, coef: Vector, thresholds: Vector) -> PerceptronState:
        """Begin an average at the given model."""
        return cls(coef, thresholds, coef, thresholds, 0)

    def model(self, averaged: bool) -> tuple[Vector, Vector]:
        """Direction and thresholds, or their averages over the examples presented."""
        T = self.n_presented
        if not averaged or T == 0:
            return self.coef, self.thresholds
        return (
            _average(self.coef, self.moment_coef, T),
            _average(self.thresholds, self.moment_thresholds, T),
        )


@dataclass(frozen=True)
class PRankResult:
    """Model on the active columns, its total cost on the examples, and where learning stopped."""

    coef: Vector
    thresholds: Vector
    total_cost: float
    n_epochs: int
    state: PerceptronState


def prank_problem(X: Any, codes: Codes, costs: Matrix, weights: Vector) -> PRankProblem:
    """Weigh, sort and merge examples; those without weight or cost are left out.

    Parameters
    ----------
    X : ndarray or CSR matrix of shape (n, d)
    codes : ndarray of shape (n,)
    costs : ndarray of shape (n, K)
        Cost of each rank for each example.
    weights : ndarray of shape (n,)
    """
    masses = costs.max(axis=1) * weights
    drawn = np.flatnonzero(masses > 0.0)
    X = X[drawn]
    active = np.flatnonzero(_varies(X))
    X, codes = X[:, active], codes[drawn]
    if sp.issparse(X):
        X.sum_duplicates()
        X.eliminate_zeros()
    direction = np.random.default_rng(0).normal(size=max(1, len(active)))
    keys = FlatRows.of(X).scores(direction)
    order = np.lexsort((codes, keys))
    X, codes, keys, drawn = X[order], codes[order], keys[order], drawn[order]
    fresh = np.ones(len(order), dtype=np.bool_)
    alike = 1 + np.flatnonzero((keys[1:] == keys[:-1]) & (codes[1:] == codes[:-1]))
    fresh[alike] = _differ(X[alike], X[alike - 1])
    first = np.flatnonzero(fresh)
    if len(first) == 0:
        return PRankProblem(FlatRows.of(X), codes, costs[:0], masses[:0], active)
    return PRankProblem(
        rows=FlatRows.of(X[first]),
        codes=np.ascontiguousarray(codes[first], dtype=np.intp),
        costs=np.add.reduceat(costs[drawn] * weights[drawn, None], first, axis=0),
        masses=np.add.reduceat(masses[drawn], first),
        active=active,
    )


def solve_prank(
    problem: PRankProblem,
    *,
    n_epochs: int,
    averaged: bool,
    pocket: bool,
    rng: np.random.Generator,
    progress: Progress | None = None,
) -> PRankResult:
    """Learn for many epochs of as many random draws as there are distinct examples.

    Parameters
    ----------
    problem : PRankProblem
    n_epochs : int
        Most epochs; learning stops earlier at a model without cost.
    averaged : bool
        Whether to average models over the examples presented.
    pocket : bool
        Whether to keep the best of the constant models and one candidate per epoch: of the models
        of the epoch the one that answered the longest run of examples rightly, or their average.
        Otherwise the result is the last model, or the average over all epochs.
    rng : numpy.random.Generator
    progress : callable, optional
        Called after every epoch with its number and the least cost known.

    Notes
    -----
    The pocket counts a score that equals a threshold as wrong on either side, so that turning the
    scale of labels around turns the result around. ``total_cost`` is that of the model's answers.
    """
    kept, best = _constant_model(problem)
    if len(problem.codes) == 0:
        return PRankResult(kept.coef, kept.thresholds, 0.0, 0, kept)
    learner = problem.rows.perceptron(problem.codes, problem.costs, averaged)
    sampler = _Sampler(problem.masses, rng)
    epoch = 0
    while epoch < n_epochs and best > 0.0:
        epoch += 1
        mistakes = learner.n_mistakes
        if pocket:
            learner.begin_window()
        for rows in sampler.epoch():
            learner.present(rows)
        if pocket or learner.n_mistakes == mistakes:
            cost = learner.total_cost(*_candidate(learner, averaged, pocket), best)
            if cost < best:
                best, kept = cost, _rest(learner, averaged, pocket)
        if progress is not None:
            progress(epoch, best)
    state = kept if pocket or best == 0.0 else _rest(learner, averaged, pocket)
    coef, thresholds = state.model(averaged)
    return PRankResult(coef, thresholds, _cost_of(problem, coef, thresholds), epoch, state)


def learn_online(
    X: Any,
    codes: Codes,
    costs: Matrix,
    repeats: Index,
    state: PerceptronState,
    *,
    averaged: bool,
) -> tuple[PerceptronState, int, float]:
    """Present rows in their order, each ``repeats[i]`` times.

    Returns the new state, the number of mistakes and the sum of their costs; a score that equals a
    threshold counts as wrong on either side.
    """
    learner = FlatRows.of(X).perceptron(codes, costs, averaged)
    moments = state.moment_coef, state.moment_thresholds
    learner.load(state.coef, state.thresholds, *moments, state.n_presented)
    ends = np.cumsum(repeats)
    for start in range(0, int(ends[-1]), _BLOCK):
        block = np.arange(start, min(start + _BLOCK, int(ends[-1])), dtype=np.intp)
        learner.present(np.searchsorted(ends, block, side="right"))
    # Without an average no moments were kept, and one that is asked for later starts here.
    after = _state(learner) if averaged else PerceptronState.fresh(*map(np.copy, learner.current))
    return after, int(learner.n_mistakes), float(learner.cost_of_mistakes)


class _Sampler:
    """Random rows with probability proportional to their masses, by inversion."""

    def __init__(self, masses: Vector, rng: np.random.Generator) -> None:
        self._cumulative = np.cumsum(masses)
        cells = np.arange(_CELLS * len(masses)) / (_CELLS * len(masses))
        guide = np.searchsorted(self._cumulative, cells * self._cumulative[-1], side="right")
        self._guide = np.minimum(guide, len(masses) - 1).astype(np.intc)
        self._rng = rng
        self._rows = np.empty(min(len(masses), _BLOCK), dtype=np.intp)

    def epoch(self) -> Iterator[Index]:
        left = len(self._cumulative)
        while left > 0:
            rows = self._rows[:left]
            draw_rows(self._rng.random(len(rows)), self._cumulative, self._guide, rows)
            yield rows
            left -= len(rows)


def _state(learner: Any) -> PerceptronState:
    coef, thresholds, moment_coef, moment_thresholds = map(
        np.copy, learner.current + learner.moments
    )
    return PerceptronState(coef, thresholds, moment_coef, moment_thresholds, learner.n_presented)


def _average(last: Vector, moment: Vector, n_presented: int) -> Vector:
    return np.asarray(((n_presented + 1) * last - moment) / n_presented)


def _candidate(learner: Any, averaged: bool, pocket: bool) -> tuple[Vector, ...]:
    """Direction and thresholds to judge at the end of an epoch, without copies where it can be."""
    if averaged:
        pairs = zip(learner.current, learner.moments, strict=True)
        return tuple(_average(last, moment, learner.n_presented) for last, moment in pairs)
    return tuple(learner.longest_run if pocket else learner.current)


def _rest(learner: Any, averaged: bool, pocket: bool) -> PerceptronState:
    """What to keep of a perceptron so that it can go on from its candidate."""
    if pocket and not averaged:
        return PerceptronState.fresh(*map(np.copy, learner.longest_run))
    return _state(learner)


def _constant_model(problem: PRankProblem) -> tuple[PerceptronState, float]:
    """The rank with the least cost for all examples, the middle one among equals."""
    n_classes = problem.costs.shape[1]
    costs = problem.costs.sum(axis=0)
    equals = np.flatnonzero(costs == costs.min())
    rank = equals[len(equals) // 2]
    thresholds = np.where(np.arange(n_classes - 1) < rank, -1.0, 1.0)
    return PerceptronState.fresh(np.zeros(len(problem.active)), thresholds), float(costs[rank])


def _cost_of(problem: PRankProblem, coef: Vector, thresholds: Vector) -> float:
    # A direction of length zero has no first entry to point at.
    scores = problem.rows.scores(coef if len(coef) else np.zeros(1))
    ranks = np.searchsorted(thresholds, scores, side="left")
    return float(problem.costs[np.arange(len(ranks)), ranks].sum())


def _varies(X: Any) -> Mask:
    if X.shape[0] == 0:
        return np.zeros(X.shape[1], dtype=np.bool_)
    if sp.issparse(X):
        return np.asarray(X.max(axis=0).toarray() != X.min(axis=0).toarray()).ravel()
    return np.asarray(X.max(axis=0) != X.min(axis=0))


def _differ(A: Any, B: Any) -> Mask:
    """Which rows of two equal shapes differ."""
    if sp.issparse(A):
        return np.asarray(np.diff((A != B).tocsr().indptr) > 0)
    return np.asarray((A != B).any(axis=1))
