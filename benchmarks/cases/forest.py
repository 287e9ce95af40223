"""Ordinal forests beside scikit-learn's, on real ratings: time, and error on rows held out.

Both grow 100 trees on 70 % of the rows of each split and predict the rest, in one thread.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer, Skip

TREES = 100
SHARE = 0.7


class Data(NamedTuple):
    """Inputs, codes 0 … K−1, and the rows of each split in random order."""

    X: np.ndarray
    y: np.ndarray
    splits: list[np.ndarray]


def build(name: str, n_splits: int, n: int) -> Data:
    """As many random rows of a set as asked for, or all."""
    from echelon.datasets import fetch_benchmark

    try:
        found = fetch_benchmark(name, download=False)
    except FileNotFoundError as missing:
        raise Skip(f"{name} is in no data folder; set ECHELON_DATA") from missing
    ranks = {label: code for code, label in enumerate(found.classes.tolist())}
    rows = np.random.default_rng(0).permutation(len(found.target))[:n]
    y = np.array([ranks[label] for label in found.target.tolist()])[rows]
    splits = [np.random.default_rng(seed).permutation(len(y)) for seed in range(n_splits)]
    return Data(found.data[rows], y, splits)


def ours(data: Data) -> float:
    from echelon import OrdinalBagging

    return mean_error(lambda seed: OrdinalBagging(n_estimators=TREES, random_state=seed), data)


def random_forest(data: Data) -> float:
    from sklearn.ensemble import RandomForestClassifier

    return mean_error(lambda seed: RandomForestClassifier(TREES, random_state=seed), data)


def mean_error(make: Any, data: Data) -> float:
    """Mean absolute error of ranks over the held-out rows of all splits."""
    errors = []
    for seed, rows in enumerate(data.splits):
        train, test = np.split(rows, [int(SHARE * len(rows))])
        model = make(seed).fit(data.X[train], data.y[train])
        errors.append(np.abs(model.predict(data.X[test]) - data.y[test]).mean())
    return float(np.mean(errors))


def errors(data: Data, mine: float, theirs: float) -> dict[str, float]:
    """What both err on rows held out."""
    return {"mean absolute error ours": mine, "peer": theirs}


def _case(name: str, n: int, n_splits: int = 10) -> Case:
    return Case(
        f"forest/{name}",
        sizes=(n,),
        quick_sizes=(200,),
        build=partial(build, name, n_splits),
        ours=ours,
        peers=(
            Peer(
                "scikit-learn RandomForestClassifier",
                "sklearn",
                random_forest,
                target=1.0,
                agreement=errors,
            ),
        ),
        rounds=3,
    )


CASES = (
    _case("winequality_red", 1_599),
    _case("LEV", 1_000),
    _case("ERA", 1_000),
    _case("car", 1_728),
    _case("cal_housing", 20_640, n_splits=1),
)
