"""RankRules beside LightGBM's trees, which have as many members, and beside itself.

A tree of LightGBM has 31 leaves and is fitted to ranks as numbers; a rule is a single path, but the
loss behind it has a term for every pair of rows. Both use two threads.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer, Skip
from .adaboost_or import Data

THREADS = 2
BINS = 255
LEAVES = 31
CLASSES = 10
FEATURES = 20
# Enough to tell the seconds of a rule from those of the start, for data of every size.
FEW_RULES = 20


def paper(n: int) -> Data:
    """The artificial data of [DK09] section 4.1."""
    from echelon.datasets import make_nonlinear_ordinal

    X, y = make_nonlinear_ordinal(n + 5_000, 15, random_state=0)
    return Data(X[:n], y[:n] - 1, X[n:], y[n:] - 1)


def california(n: int) -> Data:
    """Rows of California housing at random, in ten classes."""
    from echelon.datasets import fetch_benchmark

    try:
        X, y = fetch_benchmark("cal_housing", bins=CLASSES, download=False, return_X_y=True)
    except FileNotFoundError as missing:
        raise Skip("cal_housing is in no data folder; set ECHELON_DATA") from missing
    rows = np.random.default_rng(0).permutation(len(y))
    train, test = rows[:n], rows[n:]
    return Data(X[train], y[train] - 1, X[test], y[test] - 1)


def score(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Inputs, and a noisy score of some of them."""
    rng = np.random.default_rng(18)
    X = rng.normal(size=(n, FEATURES))
    noise = 0.5 * rng.normal(size=n)
    return X, X[:, 0] + np.sin(2.0 * X[:, 1]) + 0.5 * X[:, 2] ** 2 + noise


def cut(scores: np.ndarray, n_classes: int) -> np.ndarray:
    """Classes of equal size."""
    return np.digitize(scores, np.quantile(scores, np.arange(1, n_classes) / n_classes))


def synthetic(n: int) -> Data:
    """Rows of `score` in ten classes."""
    X, scores = score(n)
    y = cut(scores, CLASSES)
    return Data(X, y, X[:1000], y[:1000])


class Cuts(NamedTuple):
    """The same rows in many classes and in few."""

    X: np.ndarray
    many: np.ndarray
    few: np.ndarray


def many_and_few(n: int) -> Cuts:
    X, scores = score(n)
    return Cuts(X, cut(scores, 30), cut(scores, 5))


class Trained(NamedTuple):
    """A model and rows for it."""

    model: Any
    rows: np.ndarray


def trained(n: int) -> Trained:
    rng = np.random.default_rng(19)
    model = ours(synthetic(10_000), rules=500, max_bins=BINS)
    return Trained(model, rng.normal(size=(n, FEATURES)))


def fit(X: np.ndarray, y: np.ndarray, *, rules: int, max_bins: int | None, subsample: float) -> Any:
    from echelon import RankRules

    model = RankRules(
        rules,
        technique="simultaneous",
        shrinkage=0.1,
        subsample=subsample,
        max_bins=max_bins,
        n_jobs=THREADS,
        random_state=0,
    )
    return model.fit(X, y)


def ours(data: Data, *, rules: int, max_bins: int | None = None, subsample: float = 0.5) -> Any:
    return fit(data.X, data.y, rules=rules, max_bins=max_bins, subsample=subsample)


def in_many_classes(max_bins: int | None, data: Cuts) -> Any:
    return fit(data.X, data.many, rules=100, max_bins=max_bins, subsample=0.5)


def in_few_classes(max_bins: int | None, data: Cuts) -> Any:
    return fit(data.X, data.few, rules=100, max_bins=max_bins, subsample=0.5)


def lightgbm(trees: int, data: Data) -> Any:
    import lightgbm

    settings = {
        "objective": "regression",
        "num_leaves": LEAVES,
        "num_threads": THREADS,
        "verbosity": -1,
    }
    return lightgbm.train(settings, lightgbm.Dataset(data.X, data.y), trees)


def absolute_errors(data: Data, mine: Any, theirs: Any) -> dict[str, float]:
    """Mean absolute error of the ranks on the test part; the peer's numbers are rounded."""
    rounded = np.clip(np.rint(theirs.predict(data.X_test)), 0, data.y.max())
    return {
        "MAE ours": float(np.abs(mine.predict(data.X_test) - data.y_test).mean()),
        "peer": float(np.abs(rounded - data.y_test).mean()),
    }


def predict(data: Trained) -> Any:
    return data.model.predict(data.rows)


def memory_target(n: int) -> float:
    """Bytes: twice the binned data, and 64 for every row."""
    return 2.0 * n * FEATURES + 64.0 * n


def _beside_lightgbm(
    name: str, n: int, quick: int, build: Any, rules: int, target: float, **settings: Any
) -> Case:
    peer = Peer(
        "LightGBM",
        "lightgbm",
        partial(lightgbm, rules),
        agreement=absolute_errors,
        target=target,
    )
    return Case(
        f"rank_rules/{name}",
        sizes=(n,),
        quick_sizes=(quick,),
        build=build,
        ours=partial(ours, rules=rules, **settings),
        peers=(peer,),
        rounds=3,
    )


def _many_classes(name: str, max_bins: int | None) -> Case:
    few = partial(in_few_classes, max_bins)
    same = Peer("ours with 5 classes", "echelon", few, target=4.0)
    return Case(
        f"rank_rules/30_classes_{name}",
        sizes=(5_000,),
        quick_sizes=(500,),
        build=many_and_few,
        ours=partial(in_many_classes, max_bins),
        peers=(same,),
        rounds=3,
    )


_FEW_BINNED = partial(ours, rules=FEW_RULES, max_bins=BINS)

CASES = (
    _beside_lightgbm("paper", 1_000, 200, paper, 1_000, 2.0, subsample=0.25),
    _beside_lightgbm("california_exact", 5_000, 500, california, 500, 5.0),
    _beside_lightgbm("california_binned", 5_000, 500, california, 500, 2.0, max_bins=BINS),
    _many_classes("exact", None),
    _many_classes("binned", BINS),
    Case(
        "rank_rules/scaling",
        sizes=(10_000, 100_000, 1_000_000),
        quick_sizes=(2_000, 20_000),
        build=synthetic,
        ours=_FEW_BINNED,
        rounds=2,
        scaling=True,
        exponent_target=1.1,
    ),
    Case(
        "rank_rules/memory",
        sizes=(100_000, 1_000_000),
        quick_sizes=(20_000,),
        build=synthetic,
        ours=_FEW_BINNED,
        rounds=1,
        memory=True,
        memory_target=memory_target,
    ),
    Case(
        "rank_rules/predict",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=trained,
        ours=predict,
        rounds=3,
    ),
)
