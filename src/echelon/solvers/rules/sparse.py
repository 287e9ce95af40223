"""Few rules that do nearly the work of many: selection by an L1 penalty, then a refit.

For the coverage Φ (n rows, M rules) of an ensemble and a convex loss L of scores, the path of

    min_a  L(Φa) + λ·Σ_j p_j·|a_j| + ½ρ·Σ_j p_j²·a_j²,   p_j = √(cov_j(1 − cov_j)),

is followed from the λ that keeps no rule to the first that would keep too many; p makes the penalty
fair to rules of any coverage (Friedman and Popescu, 2008). The rules of the largest set that is
small enough are then fitted with λ = 0 to all rows. The ridge ρ is so small that it matters only
where responses are not determined or would be infinite, as when a rule makes no error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.types import Codes, Index, Mask, Vector
from .l1_newton import Bytes, RuleProblem, newton, solve, violation
from .refit_losses import RefitLoss

# λ falls by this factor along the path, down to this share of the λ that keeps nothing.
_RATIO = 0.7
_LEAST_SHARE = 1e-4
# How often λ is halved (in its logarithm) to come nearer to the number of rules asked for.
_BISECTIONS = 12
# ln L below this is a perfect fit, and nothing is left to select for.
_PERFECT = -30.0


@dataclass(frozen=True)
class SparseFit:
    """Responses of few rules.

    Parameters
    ----------
    responses : ndarray of shape (M,)
        Zero for all rules but those kept.
    kept : ndarray
        The rules kept, ascending.
    penalty : float
        λ of the selection; 0 if all rules that differ were kept.
    selection_violation, refit_violation : float
        The most by which a slope in p_j·a_j violates the conditions of the optimum, over all rules
        in the selection and over the kept rules in the refit.
    """

    responses: Vector
    kept: Index
    penalty: float
    selection_violation: float
    refit_violation: float


def sparse_refit(
    coverage: Mask | Bytes,
    loss: RefitLoss,
    start: Vector,
    n_keep: int,
    *,
    ridge: float = 1e-4,
    tol: float = 1e-8,
    max_rows: int = 20_000,
    seed: int = 0,
) -> SparseFit:
    """Responses of at most `n_keep` rules that nearly minimise a loss.

    Parameters
    ----------
    coverage : ndarray of bool or uint8, shape (n, M)
        Which rows each rule covers.
    loss : RefitLoss
        A loss of the scores of the n rows.
    start : ndarray of shape (M,)
        Responses to start from.
    n_keep : int
        Most rules to keep. Rules that cover all rows or none, and all but the first of rules that
        cover the same rows or just the others, are never kept; if no more than `n_keep` are left,
        all of them are.
    ridge : float, default=1e-4
        ρ.
    tol : float, default=1e-8
        Largest violation of the optimality conditions.
    max_rows : int, default=20,000
        Rows that take part in the selection: the same share of each level, and one at least.
    seed : int, default=0
        Seed of their draw.

    Returns
    -------
    fit : SparseFit

    Examples
    --------
    >>> from echelon.solvers.rules.refit_losses import LogPairLoss
    >>> coverage = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 1], [1, 1]], dtype=bool)
    >>> loss = LogPairLoss(np.array([0, 0, 1, 1, 1, 0]), 2, np.ones(6))
    >>> fit = sparse_refit(coverage, loss, np.zeros(2), 1)
    >>> fit.kept, fit.responses.round(3)
    (array([0]), array([0.693, 0.   ]))
    """
    _check(coverage, loss, start, n_keep)
    weighted = np.flatnonzero(loss.weights > 0.0)
    if len(weighted) < len(loss.weights):
        coverage, loss = coverage[weighted], loss.take(weighted, np.ones(len(weighted)))
    stages = loss.stages()
    first = start
    if n_keep >= coverage.shape[1]:
        kept, penalty, selection_violation = _distinct(_dense(coverage)), 0.0, 0.0
    else:
        rows, times = _draw(loss.codes, max_rows, seed)
        drawn = len(rows) < len(loss.codes)
        sample, few = _dense(coverage[rows] if drawn else coverage), loss.take(rows, times)
        kept, penalty, selection_violation = _select(sample, few.stages()[0], n_keep, ridge, tol)
        if drawn:
            # Near the solution, few steps over all rows are left.
            first = start.copy()
            first[kept] = _refit(sample[:, kept], few.stages(), start[kept], ridge, tol)[0]
            stages = stages[-2:]
    columns = _dense(coverage[:, kept])
    responses = np.zeros(coverage.shape[1])
    responses[kept], refit_violation = _refit(columns, stages, first[kept], ridge, tol)
    return SparseFit(responses, kept, penalty, selection_violation, refit_violation)


def _check(coverage: Mask | Bytes, loss: RefitLoss, start: Vector, n_keep: int) -> None:
    n = len(loss.codes)
    if coverage.ndim != 2 or coverage.shape[0] != n:
        raise ValueError(f"coverage must have {n} rows, as the loss; found {coverage.shape}.")
    if start.shape != (coverage.shape[1],):
        raise ValueError(
            f"start must hold a response for each of {coverage.shape[1]} rules; "
            f"found shape {start.shape}."
        )
    if n_keep < 1:
        raise ValueError(f"n_keep must be at least 1; found {n_keep}.")


# -------------------------------------------------------------------------------------- selection


def _draw(codes: Codes, max_rows: int, seed: int) -> tuple[Index, Vector]:
    """Rows at random, by level, and how many rows of its level each of them stands for."""
    n = len(codes)
    if n <= max_rows:
        return np.arange(n), np.ones(n)
    rng = np.random.default_rng(seed)
    rows, times = [], []
    for level in np.unique(codes):
        all_of_it = np.flatnonzero(codes == level)
        size = max(1, max_rows * len(all_of_it) // n)
        rows.append(rng.choice(all_of_it, size, replace=False))
        times.append(np.full(size, len(all_of_it) / size))
    chosen = np.concatenate(rows)
    order = np.argsort(chosen)
    return chosen[order], np.concatenate(times)[order]


def _distinct(columns: Bytes) -> Index:
    """The first of all rules that split the rows alike, without those that do not split them."""
    packed = np.packbits(columns ^ columns[:1], axis=0)
    first: dict[bytes, int] = {bytes(len(packed)): -1}
    for j in range(packed.shape[1]):
        first.setdefault(packed[:, j].tobytes(), j)
    return np.array([j for j in first.values() if j >= 0], dtype=np.intp)


def _select(
    sample: Bytes, loss: RefitLoss, n_keep: int, ridge: float, tol: float
) -> tuple[Index, float, float]:
    """The rules of the largest set on the path that is small enough, its λ and its violation."""
    distinct = _distinct(sample)
    if len(distinct) <= n_keep:
        return distinct, 0.0, 0.0
    problem = RuleProblem.of(np.asfortranarray(sample[:, distinct]), loss, ridge)
    b, penalty = _path(problem, n_keep, tol)
    left = violation(b, problem.at(b)[1], penalty)
    # Several rules can enter together, and then the strongest are kept.
    chosen = np.sort(np.argsort(-np.abs(b), kind="stable")[:n_keep])
    return distinct[chosen[b[chosen] != 0.0]], penalty, float(left.max())


def _path(problem: RuleProblem, n_keep: int, tol: float) -> tuple[Vector, float]:
    """Solution with the most rules up to `n_keep`, and its λ; with more only if none has fewer."""
    b = np.zeros(len(problem.deviations))
    top = float(np.abs(problem.at(b)[1]).max())
    penalty = top
    while penalty > _LEAST_SHARE * top:
        following = solve(problem, b, _RATIO * penalty, tol)
        if np.count_nonzero(following) > n_keep:
            return _bisect(problem, b, penalty, following, n_keep, tol)
        b, penalty = following, _RATIO * penalty
        if np.count_nonzero(b) == n_keep or problem.at(b)[0] < _PERFECT:
            break
    return b, penalty


def _bisect(
    problem: RuleProblem, b: Vector, penalty: float, beyond: Vector, n_keep: int, tol: float
) -> tuple[Vector, float]:
    """Between a λ that keeps too few rules, or none, and one that keeps too many."""
    low, high = _RATIO * penalty, penalty
    for _ in range(_BISECTIONS):
        if np.count_nonzero(b) == n_keep:
            break
        middle = float(np.sqrt(low * high))
        found = solve(problem, b, middle, tol)
        if np.count_nonzero(found) > n_keep:
            low, beyond = middle, found
        else:
            high = middle
            if np.count_nonzero(found) >= np.count_nonzero(b):
                b, penalty = found, middle
    return (b, penalty) if b.any() else (beyond, low)


def _refit(
    columns: Bytes, stages: tuple[RefitLoss, ...], start: Vector, ridge: float, tol: float
) -> tuple[Vector, float]:
    """Responses of least loss, solved stage by stage, and their violation."""
    if not columns.shape[1]:
        return start, 0.0
    for stage in stages:
        problem = RuleProblem.of(columns, stage, ridge)
        b = newton(problem, start * problem.deviations, 0.0, tol)
        start = b / problem.deviations
    return start, float(violation(b, problem.at(b)[1], 0.0).max())


def _dense(coverage: Mask | Bytes) -> Bytes:
    """Coverage as bytes 0 and 1, a rule after another."""
    return np.asfortranarray(coverage != 0).view(np.uint8)
