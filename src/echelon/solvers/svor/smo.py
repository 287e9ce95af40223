"""Sequential minimal optimisation for the dual problems of `threshold_dual`.

Decomposition in blocks: a working set of examples, the worst violators and those of the previous
set that are free, is optimised by pair steps with second-order selection inside the processor's
cache; then the scores of all examples are brought up to date with one pass over the working set's
kernel rows. Examples far from every kink of their loss are left out for a while (shrinking), and
when the free multipliers are few enough a Newton step balances all of them at once. Problems that
are stiff, with boxes or kernel values so large that pair steps would crawl, are approached through
smaller boxes.

Kernel rows may be rounded to single precision. Before the engine stops it computes the scores of
all examples anew in double precision and looks at the optimality conditions there; where they do
not hold, it goes on from the corrected scores. So the certificate never rests on rounded rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from ..._native._smo import SNAP, add_rows, gather, solve_block, violations
from ..._utils.types import Index, Matrix, Vector
from ...kernels.cache import RowSource
from .dual import (
    Bounds,
    DualSolution,
    Iterate,
    ThresholdDual,
    coefficients,
    dual_objective,
    kkt_bounds,
    links,
    primal_objective,
    ray_start,
    thresholds_of,
    worst_exchange,
)
from .free_newton import free_multipliers, newton_step

Progress = Callable[[int, float], None]

_LARGEST_BLOCK = 1024
# A block is solved to this part of the violation that it was chosen for.
_BLOCK_PRECISION = 0.2
_MOST_STEPS_PER_EXAMPLE = 100
# Box times squared distance up to which a problem is solved at once; how many times larger the
# boxes become from stage to stage beyond it; and the gap at which a stage ends.
_SOFT = 300.0
_STAGE_FACTOR = 4.0
_STAGE_PRECISION = 0.01
# Cost of a Newton step per cubed free multiplier, in pair steps times the size of their block.
_NEWTON_PRICE = 0.04
# Ratio of boxes up to which stages multiply all of them, and of boxes to the multipliers of a start
# up to which it is used at once.
_ALIKE = 1e9
_START_FACTOR = 1e4
# A gap that has not fallen by a tenth while blocks could have held every example so many times is
# left as it is. Data of moderate scale need up to 7.
_IDLE_ROUNDS = 10
# From this many examples on, every so many blocks, examples are left out that are farther from a
# kink of their loss than the gap, and than this distance, if at most this part of them stays.
_SHRINK_FROM = 3000
_SHRINK_EVERY = 10
_SHRINK_DISTANCE = 0.01
_SHRINK_BELOW = 0.7


def solve_threshold_dual(
    dual: ThresholdDual,
    source: RowSource,
    *,
    start: Matrix | None = None,
    tol: float = 1e-3,
    max_steps: int | None = None,
    progress: Progress | None = None,
) -> DualSolution:
    """Minimise a dual problem.

    Parameters
    ----------
    dual : ThresholdDual
    source : RowSource
        Kernel matrix of the examples.
    start : ndarray of shape (K−1, n), optional
        Feasible multipliers to start from.
    tol : float
        Largest violation of the optimality conditions to leave.
    max_steps : int, optional
        Number of pair steps after which to stop.
    progress : callable, optional
        Called with the number of steps and the gap after each block.
    """
    engine = _Engine(source, tol, max_steps, progress)
    best: DualSolution | None = None
    for boxes in _ascending_boxes(dual, source, start):
        part = replace(dual, upper=boxes)
        if best is not None:
            start = ray_start(part, best)
        raised = boxes < dual.upper
        point = engine.run(part, _starting_point(part, source, start), is_last=not raised.any())
        is_last = not (raised & (point.alpha >= boxes)).any()
        if is_last and raised.any():
            # No multiplier is held by a bound that would still be moved.
            point = engine.run(part, point, is_last=True)
        solution = _certify(dual, part, point, engine)
        if best is None or engine.has_met_goal or solution.duality_gap < best.duality_gap:
            best = solution
        if is_last or not engine.has_met_goal:
            break
    assert best is not None
    return best


def _ascending_boxes(
    dual: ThresholdDual, source: RowSource, start: Matrix | None
) -> Iterator[Matrix]:
    """Boxes of the problems that lead to this one, whose own boxes are the last.

    The number of pair steps grows with the product of the boxes and the squared distances that the
    kernel makes. So the problem is first solved, roughly, with boxes for which that product is
    moderate, and each solution is the start for boxes that are several times larger. Boxes that
    are too far apart for one factor come later than the others.
    """
    largest = float(dual.upper.max())
    if start is None:
        least = float(dual.upper.min(initial=largest, where=dual.upper > 0.0))
        alike = np.minimum(dual.upper, _ALIKE * least)
        n_stages = _n_stages(float(alike.max()) * _spread(dual, source) / _SOFT)
        for stage in range(n_stages, 0, -1):
            yield alike / _STAGE_FACTOR**stage
        first = _ALIKE * least
    else:
        first = _START_FACTOR * float(start.max())
    for stage in range(_n_stages(largest / first) if first > 0.0 else 0, 0, -1):
        yield np.minimum(dual.upper, largest / _STAGE_FACTOR**stage)
    yield dual.upper


def _n_stages(ratio: float) -> int:
    return int(np.ceil(np.log(max(1.0, ratio)) / np.log(_STAGE_FACTOR)))


def _spread(dual: ThresholdDual, source: RowSource) -> float:
    """Mean squared distance of examples from their mean in the kernel's space, from a sample.

    From zero where thresholds are penalised, whose squares count as one more dimension.
    """
    if dual.penalised:
        return float(source.diagonal.mean()) + 1.0
    n = len(source.diagonal)
    sample = np.unique(np.linspace(0, n - 1, min(n, 200)).astype(np.intp))
    return float(source.diagonal.mean() - source.block(sample).mean())


def _certify(
    dual: ThresholdDual, part: ThresholdDual, point: Iterate, engine: _Engine
) -> DualSolution:
    """A solution of a problem with smaller boxes, ``part``, as one of the whole problem."""
    thresholds = thresholds_of(part, point, kkt_bounds(part, point))
    gap = kkt_bounds(dual, point).gap
    objective = dual_objective(dual, point)
    return DualSolution(
        alpha=point.alpha,
        coef=coefficients(dual, point.alpha),
        scores=point.scores,
        thresholds=thresholds,
        objective=objective,
        kkt_gap=gap,
        duality_gap=max(0.0, primal_objective(dual, point, thresholds) + objective),
        n_steps=engine.n_steps,
        converged=gap <= engine.tol,
    )


def _starting_point(dual: ThresholdDual, source: RowSource, start: Matrix | None) -> Iterate:
    if start is None:
        return Iterate.zero(dual)
    alpha = snap(start, dual.upper)
    return Iterate.at(dual, alpha, source.times(coefficients(dual, alpha)))


class _Engine:
    def __init__(
        self, source: RowSource, tol: float, max_steps: int | None, progress: Progress | None
    ) -> None:
        self.source = source
        self.tol = tol
        self.max_steps = np.inf if max_steps is None else max_steps
        self.progress = progress
        self.n_steps = 0
        self.has_met_goal = False

    def run(self, dual: ThresholdDual, point: Iterate, is_last: bool) -> Iterate:
        """Descend, check all examples in double precision, go on while the check fails.

        After two checks in a row that found no smaller gap the rest is taken for rounding.
        """
        best, patience = np.inf, 2
        self._goal = self.tol if is_last else max(self.tol, _STAGE_PRECISION)
        while patience:
            self._descend(dual, self.source, point, shrink=best > 10.0 * self._goal)
            point.scores = self.source.times(coefficients(dual, point.alpha))
            gap = kkt_bounds(dual, point).gap
            self.has_met_goal = gap <= self._goal
            if self.has_met_goal or self.n_steps >= self.max_steps:
                break
            patience = 2 if gap < 0.9 * best else patience - 1
            best = min(best, gap)
        return point

    def _descend(
        self, dual: ThresholdDual, source: RowSource, point: Iterate, *, shrink: bool
    ) -> None:
        """Improve a point in place until its gap is small or nothing moves."""
        blocks = _Blocks(dual, source)
        newton = _NewtonSchedule()
        progress = _ProgressWatch(_IDLE_ROUNDS * len(dual.codes) / blocks.size)
        shrink, n_blocks = shrink and len(dual.codes) >= _SHRINK_FROM, 0
        while self.n_steps < self.max_steps:
            limits = kkt_bounds(dual, point)
            if self.progress is not None:
                self.progress(self.n_steps, limits.gap)
            if limits.gap <= self._goal or progress.has_ended(limits.gap):
                return
            if newton.is_due(dual, point) and _balance(dual, source, point):
                continue
            steps = blocks.improve(point, limits, self._goal, self.max_steps - self.n_steps)
            self.n_steps += steps
            newton.work += steps * blocks.size
            if not steps:
                return
            n_blocks += 1
            if shrink and n_blocks % _SHRINK_EVERY == 0:
                staying = _staying(dual, point)
                if staying is not None:
                    self._descend_without_the_rest(dual, source, point, staying)
                    return

    def _descend_without_the_rest(
        self, dual: ThresholdDual, source: RowSource, point: Iterate, staying: Index
    ) -> None:
        """Go on with some of the examples; the scores of the others are out of date after it."""
        part = Iterate(
            np.ascontiguousarray(point.alpha[:, staying]),
            point.scores[staying],
            point.sums,
            point.link,
        )
        self._descend(dual.restrict(staying), source.restrict(staying), part, shrink=True)
        point.alpha[:, staying] = part.alpha
        point.sums, point.link = part.sums, part.link


def _balance(dual: ThresholdDual, source: RowSource, point: Iterate) -> bool:
    """Newton step on the free multipliers, in place; False if they are too many or it fails."""
    k, i = free_multipliers(dual, point)
    if not 1 < len(k) <= source.largest_block:
        return False
    p = newton_step(dual, point, source.block(i), k, i)
    if p is None:
        return False
    side = np.where(dual.codes[i] > k, 1.0, -1.0)
    moved = point.alpha[k, i] + side * p
    point.alpha[k, i] = snap(moved, dual.upper[k, i])
    np.add.at(point.sums, k, p)
    point.link = links(dual, point.sums)
    update_scores(source, point.scores, i, p)
    return True


def snap(alpha: Matrix, upper: Matrix) -> Matrix:
    """Put multipliers on the bounds that they miss by no more than rounding."""
    near = SNAP * upper
    return np.where(alpha < near, 0.0, np.where(alpha > upper - near, upper, alpha))


def _staying(dual: ThresholdDual, point: Iterate) -> Index | None:
    """Examples within reach of a kink of their loss; None unless enough others can be left out.

    An example whose multipliers are all at bounds, and would stay there if the violations
    moved its score by as much as the gap, is out of reach.
    """
    limits = kkt_bounds(dual, point)
    as_up, as_low = _violations(dual, point, limits)
    within = np.maximum(as_up, as_low) > -max(limits.gap, _SHRINK_DISTANCE)
    if within.mean() > _SHRINK_BELOW:
        return None
    return np.flatnonzero(within)


class _ProgressWatch:
    """Notices when the gap no longer falls, because rounding is all that is left of it."""

    def __init__(self, most_idle_blocks: float) -> None:
        self._least = np.inf
        self._idle = 0
        self._most_idle = most_idle_blocks

    def has_ended(self, gap: float) -> bool:
        self._idle = self._idle + 1 if gap > 0.9 * self._least else 0
        self._least = min(self._least, gap)
        return self._idle > self._most_idle


class _NewtonSchedule:
    """When to try a Newton step: when pair steps since the last one have cost as much as it will.

    A pair step costs a multiple of the block's size, a Newton step one of the cube of the number
    of free multipliers.
    """

    def __init__(self) -> None:
        self.work = 0

    def is_due(self, dual: ThresholdDual, point: Iterate) -> bool:
        n_free = int(np.count_nonzero((point.alpha > 0.0) & (point.alpha < dual.upper)))
        if self.work < _NEWTON_PRICE * n_free**3:
            return False
        self.work = 0
        return n_free > 1


class _Blocks:
    """Chooses working sets and optimises them."""

    def __init__(self, dual: ThresholdDual, source: RowSource) -> None:
        self.dual = dual
        self.source = source
        n = len(dual.codes)
        self.size = int(min(n, _LARGEST_BLOCK, max(64, 16 * np.sqrt(n)), source.capacity))
        self.previous = np.empty(0, dtype=np.intp)

    def improve(self, point: Iterate, limits: Bounds, tol: float, most_steps: float) -> int:
        """One working set, in place; returns the number of steps."""
        steps = self._improve(point, limits, tol, most_steps)
        if not steps:
            # The violators may have been of thresholds that cannot exchange with each other.
            self.previous = self.previous[:0]
            worst = worst_exchange(self.dual, point, limits)
            steps = self._improve(point, worst, tol, most_steps)
        return steps

    def _improve(self, point: Iterate, limits: Bounds, tol: float, most_steps: float) -> int:
        self.previous = self._choose(point, limits, tol)
        chosen = self.previous[np.argsort(self.dual.codes[self.previous], kind="stable")]
        dual = self.dual.restrict(chosen)
        rows, slots = self.source.rows(chosen)
        block = np.empty((len(chosen), len(chosen)), dtype=np.float32)
        gather(rows, slots, chosen, block)
        alpha = np.ascontiguousarray(point.alpha[:, chosen])
        before = coefficients(dual, alpha)
        first, last = _ranges(dual)
        steps: int = solve_block(
            block,
            self.source.diagonal[chosen],
            point.scores[chosen],
            alpha,
            dual.upper,
            dual.codes,
            first,
            last,
            point.sums,
            point.link,
            dual.coupling,
            max(0.5 * tol, _BLOCK_PRECISION * limits.gap),
            int(min(most_steps, _MOST_STEPS_PER_EXAMPLE * len(chosen))),
        )
        point.alpha[:, chosen] = alpha
        changes = coefficients(dual, alpha) - before
        moved = np.flatnonzero(changes)
        add_rows(rows, slots[moved], changes[moved], point.scores)
        return steps

    def _choose(self, point: Iterate, limits: Bounds, tol: float) -> Index:
        """Worst violators, half as up and half as low variables, and the best of the last set."""
        n = len(self.dual.codes)
        if self.size >= n:
            return np.arange(n)
        as_up, as_low = _violations(self.dual, point, limits)
        room = self.size if not len(self.previous) else self.size // 2
        as_up[self.previous] = -np.inf
        ups = _greatest(as_up, room // 2, 0.5 * tol)
        as_low[self.previous] = -np.inf
        as_low[ups] = -np.inf
        lows = _greatest(as_low, room // 2, 0.5 * tol)
        kept = self._keep(point, self.size - len(ups) - len(lows))
        return np.concatenate([kept, ups, lows])

    def _keep(self, point: Iterate, room: int) -> Index:
        if len(self.previous) <= room:
            return self.previous
        alpha = point.alpha[:, self.previous]
        free = ((alpha > 0.0) & (alpha < self.dual.upper[:, self.previous])).any(axis=0)
        newest_last = np.argsort(free, kind="stable")
        return self.previous[np.sort(newest_last[len(newest_last) - room :])]


def _violations(dual: ThresholdDual, point: Iterate, limits: Bounds) -> tuple[Vector, Vector]:
    """How far each example violates optimality, as an up and as a low variable."""
    n = len(dual.codes)
    as_up, as_low = np.empty(n), np.empty(n)
    violations(
        point.scores,
        point.alpha,
        dual.upper,
        dual.codes,
        limits.shift,
        limits.low_for_up,
        limits.up_for_low,
        as_up,
        as_low,
    )
    return as_up, as_low


def _greatest(values: Vector, count: int, above: float) -> Index:
    """Places of the greatest values, at most ``count`` of them, that exceed a bound."""
    if count < len(values):
        places = np.argpartition(values, -count)[len(values) - count :]
    else:
        places = np.arange(len(values))
    return places[values[places] > above]


def _ranges(dual: ThresholdDual) -> tuple[Index, Index]:
    """First and last example, plus one, with a box at each threshold; codes ascend."""
    used = dual.upper > 0.0
    any_used = used.any(axis=1)
    n = used.shape[1]
    first = np.where(any_used, used.argmax(axis=1), 0).astype(np.intp)
    last = np.where(any_used, n - used[:, ::-1].argmax(axis=1), 0).astype(np.intp)
    return first, last


def update_scores(source: RowSource, scores: Vector, index: Index, steps: Vector) -> None:
    """Add K[:, index]·steps to the scores, as many rows at a time as the source holds."""
    examples, place = np.unique(index, return_inverse=True)
    totals = np.bincount(place, steps, minlength=len(examples))
    for first in range(0, len(examples), source.capacity):
        part = slice(first, first + source.capacity)
        rows, slots = source.rows(examples[part])
        add_rows(rows, slots, totals[part], scores)
