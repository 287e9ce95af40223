"""Maximum likelihood of the proportional odds model, beside three other packages."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

FEATURES = 20
CLASSES = 5


class Data(NamedTuple):
    """Inputs and codes 0 … K−1."""

    X: np.ndarray
    y: np.ndarray


def build(n: int) -> Data:
    """Rows drawn from a proportional odds model, with classes of about equal size."""
    rng = np.random.default_rng(20)
    X = rng.normal(size=(n, FEATURES))
    latent = X @ rng.normal(scale=0.5, size=FEATURES) + rng.logistic(size=n)
    cuts = np.quantile(latent, np.arange(1, CLASSES) / CLASSES)
    return Data(X, np.searchsorted(cuts, latent))


def ours(data: Data) -> Any:
    from echelon import ProportionalOdds

    return ProportionalOdds().fit(data.X, data.y)


def statsmodels(data: Data) -> Any:
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    return OrderedModel(data.y, data.X, distr="logit").fit(method="bfgs", disp=False)


def mord(data: Data) -> Any:
    from mord import LogisticAT

    return LogisticAT(alpha=0).fit(data.X, data.y)


def skordinal(data: Data) -> Any:
    from skordinal.classifiers import POM

    return POM().fit(data.X, data.y)


def log_likelihoods(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Of both fits, from the probabilities that each gives to the observed classes."""
    own = _log_likelihood(mine.predict_proba(data.X), data.y)
    other = _log_likelihood(_probabilities(theirs, data.X), data.y)
    return {"log-likelihood ours": own, "peer": other, "difference": own - other}


def _probabilities(model: Any, X: np.ndarray) -> np.ndarray:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))
    return np.asarray(model.predict(X))


def _log_likelihood(probabilities: np.ndarray, y: np.ndarray) -> float:
    return float(np.log(probabilities[np.arange(len(y)), y]).sum())


CASES = (
    Case(
        "proportional_odds/fit",
        sizes=(10_000,),
        quick_sizes=(2_000,),
        build=build,
        ours=ours,
        peers=(
            Peer(
                "statsmodels OrderedModel",
                "statsmodels.miscmodels.ordinal_model",
                statsmodels,
                target=0.1,
                agreement=log_likelihoods,
            ),
            # It minimises the all-threshold logistic loss, so its likelihood is lower by nature.
            Peer("mord LogisticAT", "mord", mord, agreement=log_likelihoods),
            Peer("skordinal POM", "skordinal.classifiers", skordinal, agreement=log_likelihoods),
        ),
        rounds=5,
        memory=True,
    ),
    Case(
        "proportional_odds/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(10_000, 100_000),
        build=build,
        ours=ours,
        rounds=5,
        scaling=True,
        memory=True,
    ),
)
