"""Positives above negatives: RankBoost beside AdaBoost, by the AUC of held-out rows."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon.datasets import fetch_ranking
from echelon.metrics import auc_score
from echelon.ranking.linear_rank_svm import LinearRankSVM
from echelon.ranking.rank_boost import RankBoost

from .comparison import Entry, Measure, PeerComparison, Tell, register_comparison

MEASURES = (Measure("AUC"), Measure("training AUC"))


@register_comparison("bipartite")
def measure_bipartite(*, splits: int, rounds: int, tell: Tell) -> PeerComparison:
    """Spambase, random halves."""
    bunch = fetch_ranking("spambase")
    X, y = np.asarray(bunch.data, dtype=np.float64), np.asarray(bunch.target)
    parts = StratifiedShuffleSplit(splits, test_size=0.5, random_state=0)
    pairs = list(parts.split(X, y))
    entries = []
    for name, about, model in _models(rounds):
        tell(f"Spambase: {name}")
        start = time.perf_counter()
        found = np.array([_measure(model, X, y, train, test) for train, test in pairs])
        values = {measure.name: found[:, k] for k, measure in enumerate(MEASURES)}
        entries.append(Entry(name, about, values, (time.perf_counter() - start) / splits))
    setting = (
        f"spambase, {len(y)} rows, {X.shape[1]} inputs, {int(y.sum())} positives; {splits} random "
        "halves with the same shares of both classes. Seconds are for one split."
    )
    return PeerComparison("Spam", setting, "split", MEASURES, tuple(entries), 1.0 + splits)


def _models(rounds: int) -> list[tuple[str, str, Any]]:
    linear = make_pipeline(StandardScaler(), LinearRankSVM())
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
    return [
        (
            "AdaBoost",
            f"scikit-learn's AdaBoostClassifier, {rounds} stumps",
            AdaBoostClassifier(n_estimators=rounds, random_state=0),
        ),
        (
            "RankBoost",
            f"{rounds} thresholds, exact search and step",
            RankBoost(rounds, max_bins=None),
        ),
        (
            "RankBoost, book's step",
            "the same with the step of figure 10.2 as printed",
            RankBoost(rounds, step="book", max_bins=None),
        ),
        (
            "RankBoost, logistic",
            "the same with the logistic pair loss",
            RankBoost(rounds, loss="logistic", max_bins=None),
        ),
        ("LinearRankSVM", "standardised inputs, default C", linear),
        ("Logistic regression", "scikit-learn's, standardised inputs, default C", logistic),
    ]


def _measure(model: Any, X: Any, y: Any, train: Any, test: Any) -> tuple[float, float]:
    model.fit(X[train], y[train])
    scores = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    return auc_score(y[test], scores[test]), auc_score(y[train], scores[train])
