"""Small fits and answers of the estimators whose work is done by native loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from echelon import (
    SVOR,
    AdaBoostOR,
    LinearRankSVM,
    ORBoost,
    OrdinalBagging,
    ORStump,
    ORTree,
    PRank,
    RankBoost,
    RankRules,
    RankSVM,
)
from fuzz.campaign import ANSWERED, REFUSED, Case, not_finite

Rng = np.random.Generator


def _pick(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


MODELS: dict[str, Callable[[Rng], Any]] = {
    "ORStump": lambda rng: ORStump(max_bins=_pick(rng, None, 8)),
    "ORTree": lambda rng: ORTree(
        criterion=_pick(rng, "gini", "cost"),
        max_bins=_pick(rng, None, 8),
        max_features=_pick(rng, None, "sqrt"),
        random_state=0,
    ),
    "AdaBoostOR": lambda rng: AdaBoostOR(
        _pick(rng, None, ORTree(2)), n_estimators=5, n_jobs=_pick(rng, 1, 2)
    ),
    "ORBoost": lambda rng: ORBoost(
        5, base=_pick(rng, "stump", "perceptron", "sigmoid"), random_state=0
    ),
    "OrdinalBagging": lambda rng: OrdinalBagging(n_estimators=3, random_state=0),
    "PRank": lambda rng: PRank(n_epochs=3, random_state=0),
    "RankRules": lambda rng: RankRules(
        5,
        loss=_pick(rng, "rank", "threshold", "binary", "absolute"),
        max_bins=_pick(rng, None, 8),
        n_jobs=_pick(rng, 1, 3),
        random_state=0,
    ),
    "SVOR": lambda rng: SVOR(constraints=_pick(rng, "explicit", "implicit"), max_iter=2000),
    "RankBoost": lambda rng: RankBoost(5, n_jobs=_pick(rng, 1, 2)),
    "LinearRankSVM": lambda rng: LinearRankSVM(loss=_pick(rng, "squared_hinge", "hinge")),
    "RankSVM": lambda rng: RankSVM(),
}
METHODS = ("predict", "decision_function", "predict_latent", "predict_proba")
WITH_MISSING = {"ORStump", "ORTree", "RankRules", "RankBoost", "OrdinalBagging"}


def case(rng: Rng) -> Case:
    """Fit one of the models to few rows with ties, copies and perhaps missing values."""
    name = _pick(rng, *MODELS)
    X, y, qid = _data(rng, missing=name in WITH_MISSING)
    model = MODELS[name](rng)
    try:
        model.fit(X, y, **({"qid": qid} if hasattr(model, "rank") else {}))
        answers = {m: getattr(model, m)(X) for m in METHODS if hasattr(model, m)}
    except ValueError as error:
        return Case(f"{name} on native loops", REFUSED, str(error))
    bad = [method for method, answer in answers.items() if not_finite(method, answer)]
    return Case(f"{name} on native loops", "not finite" if bad else ANSWERED, ", ".join(bad))


def _data(rng: Rng, *, missing: bool) -> tuple[Any, Any, Any]:
    n, d, K = int(rng.integers(12, 90)), int(rng.integers(1, 5)), int(rng.integers(2, 6))
    X = rng.standard_normal((n, d)).round(int(rng.integers(0, 6)))
    if rng.random() < 0.3:
        X = np.hstack([X, X])
    y = rng.permutation(np.arange(n) % K)
    if missing and rng.random() < 0.4:
        X[rng.random(X.shape) < 0.15] = np.nan
    return X, y, np.sort(rng.integers(0, 3, n))
