"""Support vector ordinal regression beside the authors' C code, which skordinal wraps.

Both solve the same dual with the same Gaussian kernel and tolerance. The peer does not tell its
multipliers α, only the coefficients β = Σ Zα, so the agreement gives it the benefit of the doubt:
its objective is put at a value that no α with these coefficients can beat.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer, Skip

FEATURES = 8
CLASSES = 10
CACHE = 500  # megabytes
SETTINGS: dict[str, Any] = {"C": 10.0, "gamma": 1.0 / FEATURES, "tol": 1e-3}


class Data(NamedTuple):
    """Inputs and codes 0 … K−1."""

    X: np.ndarray
    y: np.ndarray


def synthetic(n: int) -> Data:
    """A smooth latent score with noise, cut into classes of equal size."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, FEATURES))
    signal = X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] * X[:, 3]
    score = signal + 0.5 * rng.normal(size=n)
    return Data(X, np.digitize(score, np.quantile(score, np.arange(1, CLASSES) / CLASSES)))


def california(n: int) -> Data:
    """Rows of California housing at random, standardised."""
    from echelon.datasets import fetch_benchmark

    try:
        X, y = fetch_benchmark("cal_housing", bins=CLASSES, download=False, return_X_y=True)
    except FileNotFoundError as missing:
        raise Skip("cal_housing is in no data folder") from missing
    rows = np.random.default_rng(0).permutation(len(y))[:n]
    chosen = X[rows]
    return Data((chosen - chosen.mean(axis=0)) / chosen.std(axis=0), y[rows] - 1)


def ours(constraints: str, data: Data) -> Any:
    from echelon import SVOR

    return SVOR(constraints=constraints, cache_size=CACHE, **SETTINGS).fit(data.X, data.y)


def skordinal(constraints: str, data: Data) -> Any:
    from skordinal.classifiers import SVOR

    return SVOR(constraints=constraints, **SETTINGS).fit(data.X, data.y)


def objectives(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Dual objectives, to be minimised; a difference of at most zero means ours is no worse."""
    peer = best_objective(data, theirs.constraints, theirs.model_["alpha"], theirs.thresholds_)
    own = float(mine.objective_)
    return {"dual ours": own, "peer at best": peer, "difference": (own - peer) / abs(peer)}


def best_objective(data: Data, constraints: str, beta: Any, thresholds: np.ndarray) -> float:
    """Lower bound of ½βᵀKβ − Σα over the feasible α with Σ_k Z_ik α_ik = β_i.

    By duality of linear programmes every ascending b bounds Σα by the sum over i of the minimum
    over g of Σ_k C·W_ik·max(0, 1 − Z_ik(g − b_k)) + β_i·g. That is piecewise linear in g, with
    corners at b_k + Z_ik; at the thresholds of a good solution the bound is tight.
    """
    beta = np.asarray(beta, dtype=np.float64)
    k = np.arange(CLASSES - 1)
    codes = data.y[:, None]
    sides = np.where(codes > k, 1.0, -1.0)
    boxes = np.full(sides.shape, SETTINGS["C"])
    if constraints == "explicit":
        boxes[(k != codes) & (k != codes - 1)] = 0.0
    lowest = np.full(len(beta), np.inf)
    for corner in (thresholds + sides).T:
        hinge = np.maximum(0.0, 1.0 - sides * (corner[:, None] - thresholds))
        np.minimum(lowest, (boxes * hinge).sum(axis=1) + beta * corner, out=lowest)
    return float(0.5 * squared_norm(data.X, beta) - lowest.sum())


def squared_norm(X: np.ndarray, beta: np.ndarray, rows: int = 1000) -> float:
    """βᵀKβ with the exact Gaussian kernel, some rows at a time."""
    from scipy.spatial.distance import cdist

    used = np.flatnonzero(beta)
    X, beta = X[used], beta[used]
    total = 0.0
    for first in range(0, len(X), rows):
        part = slice(first, first + rows)
        block = np.exp(-SETTINGS["gamma"] * cdist(X[part], X, "sqeuclidean"))
        total += float(beta[part] @ (block @ beta))
    return total


def memory_target(n: int) -> float:
    """Bytes: the cache, 100 for every row and class, and a copy of the data."""
    return CACHE * 1e6 + 100.0 * n * CLASSES + 8.0 * n * FEATURES


def _beside_the_authors(
    constraints: str, source: str, build: Callable[[int], Data], target: float
) -> Case:
    peer = Peer(
        "skordinal SVOR",
        "skordinal.classifiers",
        partial(skordinal, constraints),
        target=target,
        agreement=objectives,
    )
    return Case(
        f"svor/{constraints}/{source}",
        sizes=(5_000, 10_000),
        quick_sizes=(1_000,),
        build=build,
        ours=partial(ours, constraints),
        peers=(peer,),
        rounds=2,
    )


CASES = (
    _beside_the_authors("implicit", "synthetic", synthetic, target=1 / 20),
    _beside_the_authors("implicit", "california", california, target=1 / 20),
    _beside_the_authors("explicit", "synthetic", synthetic, target=1 / 8),
    _beside_the_authors("explicit", "california", california, target=1 / 8),
    Case(
        "svor/scaling",
        sizes=(1_000, 2_000, 5_000, 10_000, 20_000),
        quick_sizes=(500, 1_000, 2_000),
        build=synthetic,
        ours=partial(ours, "implicit"),
        rounds=2,
        scaling=True,
        exponent_target=2.1,
    ),
    Case(
        "svor/memory",
        sizes=(50_000,),
        quick_sizes=(2_000,),
        build=synthetic,
        ours=partial(ours, "implicit"),
        rounds=1,
        memory=True,
        memory_target=memory_target,
    ),
)
