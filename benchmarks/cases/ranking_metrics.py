"""Ranking metrics on a million rows in ten thousand queries, beside a loop over the queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

ROWS_PER_QUERY = 100
#: At least fifty times as fast as scikit-learn's metric called once per query.
TARGET = 1 / 50


class Data(NamedTuple):
    """Five labels, two labels, scores and query of each row, and where the queries start."""

    grades: np.ndarray
    clicks: np.ndarray
    scores: np.ndarray
    qid: np.ndarray
    starts: np.ndarray


def build(n: int) -> Data:
    """Queries of uneven size; scores that follow the labels, some of them tied."""
    rng = np.random.default_rng(11)
    n_queries = n // ROWS_PER_QUERY
    sizes = 2 + rng.multinomial(n - 2 * n_queries, np.full(n_queries, 1 / n_queries))
    grades = rng.integers(0, 5, size=n)
    scores = np.round(grades + 2.0 * rng.normal(size=n), 2)
    clicks = grades > 2
    starts = np.concatenate([[0], np.cumsum(sizes)])
    clicks[starts[:-1]], clicks[starts[:-1] + 1] = True, False
    return Data(grades, clicks, scores, np.repeat(np.arange(n_queries), sizes), starts)


def mean_over_queries(labels: str, metric: Callable[[Any, Any], float], data: Data) -> float:
    y = getattr(data, labels)
    return float(
        np.mean(
            [
                metric(y[first:last], data.scores[first:last])
                for first, last in zip(data.starts[:-1], data.starts[1:], strict=True)
            ]
        )
    )


def sklearn_ndcg(data: Data) -> float:
    from sklearn.metrics import ndcg_score

    return mean_over_queries("grades", lambda y, s: ndcg_score(y[None], s[None]), data)


def sklearn_auc(data: Data) -> float:
    from sklearn.metrics import roc_auc_score

    return mean_over_queries("clicks", roc_auc_score, data)


def numpy_misranking(data: Data) -> float:
    def share_of_errors(y: np.ndarray, s: np.ndarray) -> float:
        better = y[:, None] > y
        margin = s[:, None] - s
        errors = (margin[better] < 0).sum() + 0.5 * (margin[better] == 0).sum()
        return errors / better.sum()

    return mean_over_queries("grades", share_of_errors, data)


def sklearn_misranking(data: Data) -> float:
    return 1.0 - sklearn_auc(data)


def difference(_: Data, mine: float, theirs: float) -> dict[str, float]:
    return {"value": mine, "difference": abs(mine - theirs)}


def _case(name: str, metric: str, labels: str, peer: Peer, **options: Any) -> Case:
    def ours(data: Data) -> float:
        from echelon.metrics import ranking

        return getattr(ranking, metric)(getattr(data, labels), data.scores, qid=data.qid, **options)

    return Case(
        f"ranking_metrics/{name}",
        sizes=(1_000_000,),
        quick_sizes=(100_000,),
        build=build,
        ours=ours,
        peers=(peer,),
        rounds=3,
    )


def _loop(name: str, requires: str, run: Callable[[Data], float], target: float | None) -> Peer:
    return Peer(f"{name} per query", requires, run, target=target, agreement=difference)


CASES = (
    _case(
        "ndcg", "ndcg_score", "grades",
        _loop("scikit-learn ndcg_score", "sklearn", sklearn_ndcg, TARGET),
    ),
    _case(
        "auc", "auc_score", "clicks",
        _loop("scikit-learn roc_auc_score", "sklearn", sklearn_auc, TARGET), average="queries",
    ),
    _case(
        "misranking", "misranking_loss", "clicks",
        _loop("1 − scikit-learn roc_auc_score", "sklearn", sklearn_misranking, TARGET),
        average="queries",
    ),
    # scikit-learn has no such metric for more than two labels.
    _case(
        "misranking_grades", "misranking_loss", "grades",
        _loop("all pairs in NumPy", "numpy", numpy_misranking, None), average="queries",
    ),
)  # fmt: skip
