"""Linear ranking support vector machine, beside scikit-survival's for survival times."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 50
LEVELS = 5


class Data(NamedTuple):
    """Inputs, levels 0 … 4, queries, and C for the sum of the loss over all pairs."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None
    C: float


def build(n: int, scale: float = 1.0, rows_per_query: int | None = None) -> Data:
    """Rows with a noisy linear score cut into levels of about equal size."""
    rng = np.random.default_rng(10)
    X = rng.normal(size=(n, FEATURES))
    latent = X @ rng.normal(scale=0.3, size=FEATURES) + rng.logistic(size=n)
    X *= scale
    y = np.searchsorted(np.quantile(latent, np.arange(1, LEVELS) / LEVELS), latent)
    qid = None if rows_per_query is None else rng.permutation(n) // rows_per_query
    # Pairs of different levels are 4/5 of n²/2: the loss weighs n times its mean.
    return Data(X, y, qid, 2.5 / n)


def ours(data: Data) -> Any:
    from echelon import LinearRankSVM

    return LinearRankSVM(data.C, normalize=False).fit(data.X, data.y, qid=data.qid)


def ours_hinge(data: Data) -> Any:
    from echelon import LinearRankSVM

    model = LinearRankSVM(data.C, normalize=False, loss="hinge")
    return model.fit(data.X, data.y, qid=data.qid)


def survival_svm(data: Data) -> Any:
    """Uncensored, ranking alone; α/2 is its name for C."""
    time = 1.0 + data.y
    event = np.array(list(zip(np.ones(len(time), bool), time, strict=True)), dtype="?,f8")
    model = _with_tied_times()(alpha=2.0 * data.C, rank_ratio=1.0, max_iter=100, tol=1e-6)
    return model.fit(data.X, event)


@lru_cache(maxsize=1)
def _with_tied_times() -> type:
    """The peer puts rows of equal time in a random order and ranks them too; here they are equal.

    With one rank for each time, its trees count pairs of different levels alone, which is our
    problem.
    """
    from sksurv.svm import FastSurvivalSVM

    class TiedTimes(FastSurvivalSVM):
        def _create_optimizer(self, X: Any, y: Any, status: Any) -> Any:
            times, _ = y
            ranks = np.unique(times, return_inverse=True)[1]
            return super()._create_optimizer(X, (times, ranks), status)

    return TiedTimes


def objective(data: Data, coef: np.ndarray) -> float:
    """½‖w‖² + C Σ max(0, 1 − margin)², by sorted scores of every two levels."""
    scores = data.X @ coef
    total = 0.0
    levels = [np.sort(scores[data.y == level]) for level in range(LEVELS)]
    for low in range(LEVELS):
        sums = np.concatenate(
            [np.zeros((1, 2)), np.cumsum(np.c_[levels[low], levels[low] ** 2], 0)]
        )
        for high in range(low + 1, LEVELS):
            # Rows of the lower level whose score exceeds the winner's less one.
            t = 1.0 - levels[high]
            first = np.searchsorted(levels[low], -t)
            linear, square = (sums[-1] - sums[first]).T
            total += float(np.sum((len(levels[low]) - first) * t**2 + 2.0 * t * linear + square))
    return 0.5 * float(coef @ coef) + data.C * total


def agreement(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Both objectives by one function: how far the peer's lies above ours, and our certificate."""
    at_mine = objective(data, mine.coef_)
    return {
        "their objective / ours - 1": objective(data, theirs.coef_) / at_mine - 1.0,
        "ours as reported / as evaluated - 1": mine.objective_ / at_mine - 1.0,
        "relative gap": mine.duality_gap_ / mine.objective_,
    }


CASES = (
    Case(
        "linear_rank_svm/fit",
        sizes=(100_000,),
        quick_sizes=(2_000,),
        build=build,
        ours=ours,
        peers=(
            Peer(
                "scikit-survival FastSurvivalSVM",
                "sksurv",
                survival_svm,
                target=1.0 / 20.0,
                agreement=agreement,
            ),
        ),
        rounds=2,
    ),
    Case(
        "linear_rank_svm/features_times_1000",
        sizes=(100_000,),
        quick_sizes=(5_000,),
        build=lambda n: build(n, 1000.0),
        ours=ours,
        rounds=3,
    ),
    Case(
        "linear_rank_svm/queries_of_20",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=lambda n: build(n, rows_per_query=20),
        ours=ours,
        rounds=3,
    ),
    Case(
        "linear_rank_svm/hinge",
        sizes=(100_000,),
        quick_sizes=(5_000,),
        build=build,
        ours=ours_hinge,
        rounds=3,
    ),
    Case(
        "linear_rank_svm/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(5_000, 50_000),
        build=build,
        ours=ours,
        rounds=3,
        scaling=True,
        memory=True,
        exponent_target=1.15,
        # Three times X in all, of which X itself is one.
        memory_target=lambda n: 2.0 * 8.0 * n * FEATURES,
    ),
)
