"""Documents graded for queries: tuned rankers and LightGBM's lambdarank on held-out queries."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon.datasets import fetch_ranking
from echelon.metrics import (
    expected_reciprocal_rank,
    make_ranking_scorer,
    misranking_loss,
    ndcg_score,
    per_query,
)
from echelon.model_selection import QueryKFold, cross_validate_ranker
from echelon.ranking.linear_rank_svm import LinearRankSVM
from echelon.ranking.rank_boost import RankBoost
from echelon.ranking.rank_svm import RankSVM

from .comparison import Entry, Measure, PeerComparison, Tell, register_comparison
from .lambda_rank import LambdaRank, lightgbm_version

MEASURES = (
    Measure("NDCG@5"),
    Measure("NDCG@10"),
    Measure("ERR"),
    Measure("misranking", greater_is_better=False),
)


@dataclass(frozen=True)
class Candidate:
    """A ranker, what it is, and the grid that it is tuned over."""

    name: str
    about: str
    model: Any
    grid: Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Judged:
    """Documents with their grades and queries."""

    X: npt.NDArray[np.float64]
    y: npt.NDArray[Any]
    qid: npt.NDArray[Any]


@register_comparison("queries")
def measure_queries(*, folds: int, tell: Tell) -> PeerComparison:
    """The lambdarank example of LightGBM, training and test queries as published."""
    train, test = _load()
    entries = []
    for candidate in _candidates():
        tell(f"Graded documents: {candidate.name}")
        start = time.perf_counter()
        model, chosen = _tuned(candidate, train, folds)
        seconds = time.perf_counter() - start
        about = f"{candidate.about}; chosen {_words(chosen)}"
        entries.append(Entry(candidate.name, about, _values(model, test), seconds))
    sizes = [f"{len(set(p.qid.tolist()))} queries, {len(p.y)} documents" for p in (train, test)]
    setting = (
        f"lambdarank_example, {train.X.shape[1]} inputs, grades 0 to 4; training {sizes[0]}; test "
        f"{sizes[1]}. Every model is tuned by {folds} folds of training queries for NDCG@5 (gain "
        "2^grade − 1, as LightGBM has it); seconds are for tuning and the last fit."
    )
    return PeerComparison("Graded documents", setting, "query", MEASURES, tuple(entries))


def _load() -> tuple[Judged, Judged]:
    bunch = fetch_ranking("lambdarank_example")
    X, y, qid = np.asarray(bunch.data, float), np.asarray(bunch.target), np.asarray(bunch.qid)
    training = np.asarray(bunch.train)
    parts = (training, ~training)
    first, second = (Judged(X[part], y[part], qid[part]) for part in parts)
    return first, second


def _candidates() -> list[Candidate]:
    linear, kernel = (
        make_pipeline(StandardScaler(), model) for model in (LinearRankSVM(), RankSVM())
    )
    return [
        Candidate(
            "LambdaRank",
            f"lambdarank of LightGBM {lightgbm_version()}",
            LambdaRank(),
            {
                "n_estimators": [50, 100, 200],
                "num_leaves": [4, 15, 31],
                "learning_rate": [0.03, 0.1],
                "min_child_samples": [20, 50],
            },
        ),
        Candidate(
            "RankBoost",
            "thresholds in both directions",
            RankBoost(),
            {
                "n_estimators": [50, 100, 200, 400],
                "learning_rate": [0.1, 0.3, 1.0],
                "loss": ["exponential", "logistic"],
            },
        ),
        Candidate(
            "LinearRankSVM",
            "standardised inputs",
            linear,
            {"linearranksvm__C": np.logspace(-5, 2, 8).tolist()},
        ),
        Candidate(
            "RankSVM",
            "Gaussian kernel, standardised inputs",
            kernel,
            {"ranksvm__C": np.logspace(-3, 2, 6).tolist(), "ranksvm__gamma": [1e-4, 1e-3, 1e-2]},
        ),
    ]


def _tuned(candidate: Candidate, train: Judged, folds: int) -> tuple[Any, dict[str, Any]]:
    """The candidate with the best mean over folds, fitted to all training queries."""
    scoring = make_ranking_scorer(ndcg_score, k=5, preset="lightgbm")
    cv = QueryKFold(folds, shuffle=True, random_state=0)
    points = [
        dict(zip(candidate.grid, point, strict=True)) for point in product(*candidate.grid.values())
    ]
    means = [
        cross_validate_ranker(
            clone(candidate.model).set_params(**point),
            train.X,
            train.y,
            qid=train.qid,
            cv=cv,
            scoring={"ndcg": scoring},
        )
        .summary("ndcg")
        .mean
        for point in points
    ]
    best = points[int(np.argmax(means))]
    model = clone(candidate.model).set_params(**best)
    return _fit(model, train), best


def _fit(model: Any, part: Judged) -> Any:
    if hasattr(model, "steps"):
        return model.fit(part.X, part.y, **{f"{model.steps[-1][0]}__qid": part.qid})
    return model.fit(part.X, part.y, qid=part.qid)


def _values(model: Any, test: Judged) -> dict[str, npt.NDArray[np.float64]]:
    """A value of every measure for every test query."""
    scores = model.predict(test.X)

    def by_query(metric: Any, **options: Any) -> npt.NDArray[np.float64]:
        return per_query(metric, test.y, scores, qid=test.qid, **options).values

    return {
        "NDCG@5": by_query(ndcg_score, k=5, preset="lightgbm"),
        "NDCG@10": by_query(ndcg_score, k=10, preset="lightgbm"),
        "ERR": by_query(expected_reciprocal_rank),
        "misranking": by_query(misranking_loss),
    }


def _words(chosen: dict[str, Any]) -> str:
    shown = {key.rpartition("__")[2]: value for key, value in chosen.items()}
    return ", ".join(
        f"{key} = {value:g}" if isinstance(value, float) else f"{key} = {value}"
        for key, value in shown.items()
    )
