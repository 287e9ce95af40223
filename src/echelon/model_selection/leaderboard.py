"""Models compared by cross-validation on the same splits."""

from __future__ import annotations

import csv
import io
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RepeatedStratifiedKFold, cross_validate
from sklearn.svm import SVR

from .._text import aligned
from ..bagging import OrdinalBagging
from ..boosting import AdaBoostOR
from ..gaussian_process import GPOR
from ..linear import ProportionalOdds
from ..linear_svm import LinearSVOR
from ..meta import OrdinalReduction, RoundedRegressor
from ..metrics import get_scorer
from ..metrics.comparison import Summary
from ..ordinal.labels import read_scale
from ..prank import PRank
from ..rules import RankRules
from ..svm import SVOR
from ..trees import ORTree

MEASURES = {
    "mae": "neg_mean_absolute_rank_error",
    "zero_one": "neg_zero_one_error",
    "qwk": "quadratic_weighted_kappa",
    "rps": "neg_ranked_probability_score",
}
_HEADINGS = {"mae": "MAE", "zero_one": "zero-one", "qwk": "QWK", "rps": "RPS"}


@dataclass(frozen=True)
class LeaderboardRow:
    """A model's figures: a value per fold for each measure, and seconds per fit."""

    model: str
    folds: Mapping[str, Any]
    fit_seconds: float

    def summary(self, measure: str) -> Summary:
        """Mean and spread over folds; NaN where the model lacks what the measure needs."""
        return Summary.of(self.folds[measure])

    def mean(self, measure: str) -> float:
        """Mean over folds."""
        return self.summary(measure).mean


@dataclass(frozen=True)
class Leaderboard:
    """Rows sorted by mean absolute rank error, best first; ``str()`` is an aligned table."""

    rows: tuple[LeaderboardRow, ...]

    def records(self) -> list[dict[str, Any]]:
        """A flat dictionary per model: means, standard errors, seconds."""
        return [
            {
                "model": row.model,
                **{
                    key: value
                    for measure in MEASURES
                    for key, value in (
                        (measure, row.mean(measure)),
                        (f"{measure}_se", row.summary(measure).se),
                    )
                },
                "fit_seconds": row.fit_seconds,
            }
            for row in self.rows
        ]

    def lines(self) -> list[list[str]]:
        """Heading and rows as text cells."""
        head = ["model", *_HEADINGS.values(), "fit s"]
        return [head, *(_cells(row) for row in self.rows)]

    def to_csv(self) -> str:
        """Records as comma-separated text."""
        text = io.StringIO()
        records = self.records()
        writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
        return text.getvalue()

    def to_json(self) -> str:
        """Records as JSON, with null where a figure does not exist."""
        records = [
            {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in record.items()}
            for record in self.records()
        ]
        return json.dumps(records, indent=2) + "\n"

    def to_markdown(self) -> str:
        """Table in Markdown."""
        head, *rows = self.lines()
        rule = ["---", *["---:"] * (len(head) - 1)]
        return "".join(f"| {' | '.join(line)} |\n" for line in (head, rule, *rows))

    def __str__(self) -> str:
        return "\n".join(aligned(self.lines(), gap=" "))


def _cells(row: LeaderboardRow) -> list[str]:
    figures = []
    for measure in MEASURES:
        found = row.summary(measure)
        figures.append("–" if math.isnan(found.mean) else f"{found.mean:.3f}±{found.se:.3f}")
    return [row.model, *figures, f"{row.fit_seconds:.2f}"]


def default_models(random_state: int = 0) -> dict[str, Any]:
    """Models for a first look at ordered labels, and outsiders to measure them against.

    Parameters
    ----------
    random_state : int
        Seed of the models that draw numbers.
    """
    forest = RandomForestClassifier(100, min_samples_leaf=5, random_state=random_state)
    trees = ORTree(max_features=0.5, min_samples_leaf=5)
    boosting = HistGradientBoostingRegressor(random_state=random_state)
    return {
        "ProportionalOdds logit": ProportionalOdds(alpha=1.0),
        "ProportionalOdds probit": ProportionalOdds("probit", alpha=1.0),
        "ProportionalOdds cloglog": ProportionalOdds("cloglog", alpha=1.0),
        "SVOR implicit": SVOR(),
        "SVOR explicit": SVOR(constraints="explicit"),
        "LinearSVOR": LinearSVOR(),
        "AdaBoostOR stumps": AdaBoostOR(learning_rate=0.3, random_state=random_state),
        "OrdinalBagging trees": OrdinalBagging(trees, random_state=random_state),
        "RankRules": RankRules(200, max_conditions=2, random_state=random_state),
        "GPOR": GPOR(cost="absolute", n_inducing=200, random_state=random_state),
        "PRank": PRank(200, random_state=random_state),
        "OrdinalReduction logistic": OrdinalReduction(LogisticRegression()),
        "OrdinalReduction forest": OrdinalReduction(forest),
        "RoundedRegressor ridge": RoundedRegressor(Ridge()),
        "RoundedRegressor SVR": RoundedRegressor(SVR()),
        "RoundedRegressor boosting": RoundedRegressor(boosting),
        "median label": RoundedRegressor(DummyRegressor(strategy="median")),
    }


def compare_models(
    models: Mapping[str, Any],
    X: Any,
    y: Any,
    *,
    classes: Any = None,
    folds: int = 5,
    repeats: int = 2,
    n_jobs: int | None = None,
    random_state: int = 0,
    on_row: Callable[[LeaderboardRow], None] | None = None,
) -> Leaderboard:
    """Cross-validate models on the same repeated stratified folds.

    Parameters
    ----------
    models : mapping from name to estimator
        Ordinal estimators, or pipelines that end in one.
    X : array-like or data frame of shape (n, d)
    y : array-like of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    folds, repeats : int
        Folds of each cross-validation, and cross-validations.
    n_jobs : int, optional
        Processes, as in joblib.
    random_state : int
        Seed of the folds.
    on_row : callable, optional
        Called with each finished row, to show progress.

    Returns
    -------
    leaderboard : Leaderboard

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> board = compare_models({"odds": ProportionalOdds(alpha=1.0)}, X, y, repeats=1)
    >>> board.rows[0].mean("mae") < 0.4
    True
    """
    if not models:
        raise ValueError("models must name at least one model.")
    scale, codes = read_scale(y, classes)
    splits = _splits(codes, folds, repeats, random_state)
    rows = []
    for name, model in models.items():
        row = _cross_validate(name, _with_classes(model, scale.classes), X, y, splits, n_jobs)
        rows.append(row)
        if on_row is not None:
            on_row(row)
    return Leaderboard(tuple(sorted(rows, key=lambda row: row.mean("mae"))))


def _splits(codes: Any, folds: int, repeats: int, random_state: int) -> list[Any]:
    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=random_state)
    with warnings.catch_warnings():
        # Classes smaller than the number of folds are missing from some; the scale covers that.
        warnings.filterwarnings("ignore", message="The least populated class")
        return list(splitter.split(np.zeros(len(codes)), codes))


def _with_classes(model: Any, classes: Any) -> Any:
    """Clone that knows the whole scale, also where a training fold lacks a class."""
    model = clone(model)
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "classes"]
    return model.set_params(**{name: list(classes) for name in names})


def _cross_validate(
    name: str, model: Any, X: Any, y: Any, splits: list[Any], n_jobs: int | None
) -> LeaderboardRow:
    measures = {
        measure: get_scorer(scorer)
        for measure, scorer in MEASURES.items()
        if measure != "rps" or hasattr(model, "predict_proba")
    }
    found = cross_validate(
        model, X, y, cv=splits, scoring=measures, n_jobs=n_jobs, error_score="raise"
    )
    folds = {
        measure: (-1.0 if MEASURES[measure].startswith("neg_") else 1.0) * found[f"test_{measure}"]
        for measure in measures
    }
    folds.setdefault("rps", np.full(len(splits), np.nan))
    return LeaderboardRow(name, folds, float(found["fit_time"].mean()))
