"""Every metric on a million rows, beside a peer where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

CLASSES = 5


class Data(NamedTuple):
    """Labels, predictions, scores without ties and class probabilities of the same rows."""

    truth: np.ndarray
    predicted: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray


def build(n: int) -> Data:
    """Predictions that are right more often than not, and near when they are wrong."""
    rng = np.random.default_rng(9)
    truth = rng.integers(0, CLASSES, size=n)
    scores = truth + rng.normal(size=n)
    predicted = np.clip(np.rint(scores), 0, CLASSES - 1).astype(truth.dtype)
    closeness = np.exp(-np.abs(scores[:, None] - np.arange(CLASSES)))
    return Data(truth, predicted, scores, closeness / closeness.sum(axis=1, keepdims=True))


def kappa(weights: str) -> Callable[[Data], float]:
    def run(data: Data) -> float:
        from sklearn.metrics import cohen_kappa_score

        return cohen_kappa_score(data.truth, data.predicted, weights=weights)

    return run


def scipy_kendall(data: Data) -> float:
    from scipy.stats import kendalltau

    return kendalltau(data.truth, data.predicted).statistic


def scipy_spearman(data: Data) -> float:
    from scipy.stats import spearmanr

    return spearmanr(data.truth, data.predicted).statistic


def sklearn_absolute_error(data: Data) -> float:
    from sklearn.metrics import mean_absolute_error

    return mean_absolute_error(data.truth, data.predicted)


def sklearn_zero_one(data: Data) -> float:
    from sklearn.metrics import zero_one_loss

    return zero_one_loss(data.truth, data.predicted)


def sklearn_log_loss(data: Data) -> float:
    from sklearn.metrics import log_loss

    return log_loss(data.truth, data.probabilities)


def sksurv_concordance(data: Data) -> float:
    from sksurv.metrics import concordance_index_censored

    events = np.ones(len(data.truth), dtype=bool)
    # Survival counts a high risk as right for an early event, so the scores change sign.
    return concordance_index_censored(events, data.truth, -data.scores)[0]


def difference(_: Data, mine: float, theirs: float) -> dict[str, float]:
    return {"value": mine, "difference": abs(mine - theirs)}


#: metric -> what it takes beside the labels
METRICS = {
    "mean_absolute_rank_error": "predicted",
    "macro_mean_absolute_error": "predicted",
    "maximum_mean_absolute_error": "predicted",
    "mean_cost": "predicted",
    "zero_one_error": "predicted",
    "within_one_accuracy": "predicted",
    "weighted_kappa": "predicted",
    "quadratic_weighted_kappa": "predicted",
    "linear_weighted_kappa": "predicted",
    "kendall_tau_b": "predicted",
    "spearman_correlation": "predicted",
    "concordance_index": "scores",
    "ranked_probability_score": "probabilities",
    "ordinal_log_loss": "probabilities",
    "ordinal_report": "predicted",
}
PEERS = {
    "mean_absolute_rank_error": Peer(
        "scikit-learn mean_absolute_error", "sklearn", sklearn_absolute_error, agreement=difference
    ),
    "zero_one_error": Peer(
        "scikit-learn zero_one_loss", "sklearn", sklearn_zero_one, agreement=difference
    ),
    "quadratic_weighted_kappa": Peer(
        "scikit-learn cohen_kappa_score", "sklearn", kappa("quadratic"), agreement=difference
    ),
    "linear_weighted_kappa": Peer(
        "scikit-learn cohen_kappa_score", "sklearn", kappa("linear"), agreement=difference
    ),
    "kendall_tau_b": Peer("scipy kendalltau", "scipy.stats", scipy_kendall, agreement=difference),
    "spearman_correlation": Peer(
        "scipy spearmanr", "scipy.stats", scipy_spearman, agreement=difference
    ),
    "ordinal_log_loss": Peer(
        "scikit-learn log_loss", "sklearn", sklearn_log_loss, agreement=difference
    ),
    # It compares every pair, so a million rows are out of its reach.
    "concordance_index": Peer(
        "scikit-survival concordance_index_censored",
        "sksurv.metrics",
        sksurv_concordance,
        agreement=difference,
        largest=5_000,
    ),
}


def _case(name: str) -> Case:
    def ours(data: Data) -> Any:
        from echelon import metrics

        return getattr(metrics, name)(data.truth, getattr(data, METRICS[name]))

    peer = PEERS.get(name)
    small = (peer.largest,) if peer is not None and peer.largest is not None else ()
    return Case(
        f"metrics/{name}",
        sizes=(*small, 1_000_000),
        quick_sizes=(*small, 100_000),
        build=build,
        ours=ours,
        peers=(peer,) if peer is not None else (),
        rounds=5,
    )


CASES = tuple(_case(name) for name in METRICS)
