"""Gram blocks beside scikit-learn's pairwise kernels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..registry import Case, Peer

FEATURES = 20


def build(n: int) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(n, FEATURES))


def _case(name: str, peer: str, **params: Any) -> Case:
    def ours(X: np.ndarray) -> np.ndarray:
        from echelon.kernels import get_kernel

        return get_kernel(name, **params).block(X)

    def theirs(X: np.ndarray) -> np.ndarray:
        from sklearn.metrics import pairwise

        function: Callable[..., np.ndarray] = getattr(pairwise, peer)
        return function(X, **params)

    return Case(
        f"kernels/{name}",
        sizes=(2_000,),
        quick_sizes=(500,),
        build=build,
        ours=ours,
        peers=(Peer(f"scikit-learn {peer}", "sklearn", theirs, agreement=largest_difference),),
    )


def largest_difference(_: Any, mine: np.ndarray, theirs: np.ndarray) -> dict[str, float]:
    """Largest difference of an entry, relative to the largest entry."""
    return {"difference": float(np.abs(mine - theirs).max() / np.abs(theirs).max())}


CASES = (
    _case("gaussian", "rbf_kernel", gamma=0.05),
    _case("polynomial", "polynomial_kernel", degree=3, gamma=0.05, coef0=1.0),
)
