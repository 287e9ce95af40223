"""Linear support vector ordinal regression, beside one binary fit of scikit-learn's LinearSVC."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 50
CLASSES = 5


class Data(NamedTuple):
    """Inputs, codes 0 … K−1, and whether a code lies above the lower half."""

    X: np.ndarray
    y: np.ndarray
    is_high: np.ndarray


def build(n: int, scale: float = 1.0) -> Data:
    """Rows with a noisy linear score cut into classes of about equal size."""
    rng = np.random.default_rng(50)
    X = rng.normal(size=(n, FEATURES))
    latent = X @ rng.normal(scale=0.3, size=FEATURES) + rng.logistic(size=n)
    X *= scale
    y = np.searchsorted(np.quantile(latent, np.arange(1, CLASSES) / CLASSES), latent)
    return Data(X, y, y >= CLASSES // 2)


def ours(data: Data) -> Any:
    from echelon import LinearSVOR

    return LinearSVOR().fit(data.X, data.y)


def ours_hinge(data: Data) -> Any:
    from echelon import LinearSVOR

    return LinearSVOR(loss="hinge").fit(data.X, data.y)


def linear_svc(data: Data) -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC().fit(data.X, data.is_high)


def certificate(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """How near to the optimum ours is; the peer solves another, smaller problem."""
    return {
        "relative gap": mine.duality_gap_ / (1.0 + mine.objective_),
        "steps ours": float(mine.n_iter_),
        "peer": float(theirs.n_iter_),
    }


def _case(name: str, run: Any, scale: float, target: float | None) -> Case:
    return Case(
        f"linear_svor/{name}",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=lambda n: build(n, scale),
        ours=run,
        peers=(
            Peer(
                "scikit-learn LinearSVC, two classes",
                "sklearn",
                linear_svc,
                target=target,
                agreement=certificate,
            ),
        ),
        rounds=3,
        memory=scale == 1.0,
    )


CASES = (
    _case("fit", ours, 1.0, target=2.0),
    _case("features_times_100", ours, 100.0, target=2.0),
    _case("features_times_1000", ours, 1000.0, target=2.0),
    _case("hinge", ours_hinge, 1.0, target=None),
    Case(
        "linear_svor/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(5_000, 50_000),
        build=build,
        ours=ours,
        rounds=3,
        scaling=True,
        memory=True,
    ),
)
