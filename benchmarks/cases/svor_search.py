"""The search of [CK07] section 4.3 for SVOR, beside scikit-learn's search over the same points."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 8
CLASSES = 5


class Data(NamedTuple):
    """Inputs, codes 0 … K−1, and the points that the search goes through."""

    X: np.ndarray
    y: np.ndarray
    points: list[dict[str, Any]]


def build(n: int) -> Data:
    """Rows with a smooth noisy score cut into classes of about equal size."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(n, FEATURES))
    latent = 2.0 * np.sin(X @ rng.normal(size=FEATURES) / 2.0) + 0.3 * X[:, 0] * X[:, 1]
    latent += rng.normal(scale=0.5, size=n)
    y = np.searchsorted(np.quantile(latent, np.arange(1, CLASSES) / CLASSES), latent)
    # Which fine points there are depends on the best coarse one.
    return Data(X, y, _search(X, y, 1).cv_results_["params"])


def _folds() -> Any:
    from sklearn.model_selection import KFold

    return KFold(5, shuffle=True, random_state=0)


def _search(X: np.ndarray, y: np.ndarray, n_jobs: int) -> Any:
    from echelon import SVOR
    from echelon.model_selection import CoarseToFineSearchCV

    decades = np.logspace(-3, 3, 7)
    grid = {"C": decades, "gamma": 0.5 * decades}
    return CoarseToFineSearchCV(SVOR(), grid, cv=_folds(), n_jobs=n_jobs).fit(X, y)


def _grid_search(data: Data, n_jobs: int) -> Any:
    from sklearn.model_selection import GridSearchCV

    from echelon import SVOR

    grid = [{name: [value] for name, value in point.items()} for point in data.points]
    return GridSearchCV(SVOR(), grid, cv=_folds(), n_jobs=n_jobs).fit(data.X, data.y)


def scores(_: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Best mean score of both, and the largest difference at a point."""
    column = "mean_test_score"
    difference = np.abs(mine.cv_results_[column] - theirs.cv_results_[column])
    return {
        "best score ours": float(mine.best_score_),
        "peer": float(theirs.best_score_),
        "largest difference": float(difference.max()),
    }


def _case(name: str, n_jobs: int) -> Case:
    return Case(
        f"svor_search/{name}",
        sizes=(1_000,),
        quick_sizes=(200,),
        build=build,
        ours=lambda data: _search(data.X, data.y, n_jobs),
        peers=(
            Peer(
                "scikit-learn GridSearchCV",
                "sklearn",
                lambda data: _grid_search(data, n_jobs),
                target=0.2,
                agreement=scores,
            ),
        ),
        rounds=1,
    )


CASES = (_case("one_process", 1), _case("two_processes", 2))
