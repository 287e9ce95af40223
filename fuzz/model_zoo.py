"""Small saved models of every kind, each with rows and the answers that it gave before saving."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

import echelon
from echelon.model_selection.preparation import prepare
from echelon.model_selection.roster import candidates
from echelon.tables import Schema
from echelon.trained import TrainedModel

WORDS = ["low", "mid", "high"]
_SETTINGS: dict[str, dict[str, Any]] = {
    "AdaBoostOR": {"n_estimators": 5},
    "GPOR": {"inference": "laplace", "max_iter": 5},
    "ORBoost": {"n_estimators": 5, "random_state": 0},
    "OnlineRankSVM": {"random_state": 0},
    "OrdinalBagging": {"n_estimators": 4, "max_features": 0.5, "random_state": 0},
    "PRank": {"n_epochs": 5, "random_state": 0},
    "PreferenceRanker": {"random_state": 0},
    "RankBoost": {"n_estimators": 5},
    "RankPerceptron": {"random_state": 0},
    "RankRules": {"n_rules": 8, "random_state": 0},
    "SVOR": {"probability": True, "random_state": 0},
}
_SMALL = {"n_estimators": 4, "n_rules": 8, "max_iter": 4, "num_leaves": 4}


@dataclass(frozen=True)
class Specimen:
    """A model's file, rows for it, and its answers to them."""

    name: str
    content: bytes
    rows: pd.DataFrame
    answers: pd.DataFrame


def _table(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "age": rng.integers(18, 80, n).astype(float),
            "sold": rng.random(n) < 0.5,
            "colour": rng.choice(["red", "green", "blue"], n),
        }
    )
    frame.loc[frame.index % 9 == 4, "age"] = np.nan
    frame.loc[frame.index % 11 == 5, "colour"] = None
    return frame


def _labels(frame: pd.DataFrame) -> np.ndarray:
    score = frame["size"] + 0.8 * (frame["colour"] == "red") + 0.3 * frame["sold"]
    return np.digitize(score, np.quantile(score, [0.35, 0.7]))


@cache
def factories() -> dict[str, Callable[[], Any]]:
    """Every estimator that a model file can hold, unfitted."""
    found: dict[str, Callable[[], Any]] = {}
    for name in echelon.__all__:
        kind = getattr(echelon, name)
        if isinstance(kind, type) and hasattr(kind, "fit") and hasattr(kind, "predict"):
            found[name] = partial(kind, **_SETTINGS.get(name, {}))
    found["ORBoost of stumps"] = lambda: echelon.ORBoost(5, base="stump")
    found["RankRules by threshold"] = lambda: echelon.RankRules(5, loss="binary", random_state=0)
    found["OrdinalCalibrator isotonic"] = lambda: echelon.OrdinalCalibrator(
        echelon.ORTree(max_depth=3), method="isotonic", cv=2
    )
    for name in (
        "ExtraTrees calibrated",
        "LightGBM calibrated",
        "OrdinalReduction LightGBM",
        "OrdinalReduction logistic",
        "median label",
    ):
        if name in candidates():
            found[name] = partial(_smaller, candidates()[name].estimator)
    return found


def _smaller(estimator: Any) -> Any:
    small = {
        key: _SMALL[last]
        for key in estimator.get_params()
        if (last := key.rpartition("__")[2]) in _SMALL
    }
    return estimator.set_params(**small)


@cache
def specimen(name: str) -> Specimen:
    """The file of a fitted model, made once in a process."""
    frame = _table(70, 0)
    codes, schema = _labels(frame), Schema.of(frame)
    model = factories()[name]()
    ranks = not hasattr(model, "classes_") and "classes" not in model.get_params()
    y = codes if ranks else np.array(WORDS)[codes]
    if not ranks:
        model.set_params(classes=WORDS)
    intervals = None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = schema.apply(frame)
        pipeline = Pipeline([("prepare", prepare(schema)), ("model", model)])
        if name == "LinearSVOR":
            intervals = echelon.ConformalOrdinal(pipeline, classes=WORDS, random_state=0)
            intervals.fit(rows, y)
        trained = TrainedModel(
            pipeline.fit(rows, y),
            schema,
            [] if ranks else WORDS,
            "y",
            name,
            task="ranking" if ranks else "ordinal",
            intervals=intervals,
            extra={"rows": 70},
        )
        asked = _table(12, 1)
        answers = trained.predict_frame(asked)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.echelon"
            trained.save(path)
            return Specimen(name, path.read_bytes(), asked, answers)
