"""Every public estimator with drawn parameters, small enough for many cases in a minute."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import echelon as e
from echelon.model_selection import CoarseToFineSearchCV

Draw = Callable[[Any], Any]


class _Dice:
    """Draws for parameters."""

    def __init__(self, rng: np.random.Generator) -> None:
        self.rng = rng

    def one(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def power(self, low: float, high: float) -> float:
        return float(10.0 ** self.rng.uniform(low, high))

    @property
    def cost(self) -> str:
        return str(self.one("absolute", "absolute", "squared", "zero_one"))

    @property
    def balance(self) -> str | None:
        return self.one(None, None, None, "balanced")

    @property
    def kernel(self) -> dict[str, Any]:
        kind = self.one("rbf", "rbf", "linear", "poly", "sigmoid", "pearson")
        return {"kernel": kind, "gamma": self.one("scale", "auto", self.power(-3, 2))}

    def ordinal(self) -> Any:
        """A model for a meta estimator."""
        return self.one(
            None,
            e.ORStump(),
            e.ORTree(3, random_state=0),
            e.ProportionalOdds(alpha=0.1),
            e.LinearSVOR(max_iter=50),
            e.SVOR(),
            e.PRank(20, random_state=0),
            GaussianNB(),
            DecisionTreeClassifier(max_depth=3, random_state=0),
        )

    def ranker(self) -> Any:
        return self.one(None, e.RankBoost(5), e.LinearRankSVM(), e.RankSVM(), Ridge())


def _svor(x: _Dice) -> Any:
    return e.SVOR(
        x.power(-4, 6),
        constraints=x.one("implicit", "explicit", "none"),
        **x.kernel,
        degree=x.one(1, 2, 3),
        coef0=x.one(0.0, 1.0),
        cost=x.cost,
        class_weight=x.balance,
        probability=x.one(False, False, False, True),
        cache_size=x.one(200.0, 0.005),
        random_state=0,
    )


def _svor_penalised(x: _Dice) -> Any:
    return e.SVOR(x.power(-4, 4), **x.kernel, regularize_thresholds=x.one(True, "offset"))


DRAWS: dict[str, Draw] = {
    "GPOR": lambda x: e.GPOR(
        inference=x.one("ep", "laplace"),
        likelihood=x.one("probit", "logit"),
        cost=x.cost,
        noise=x.power(-2, 2),
        n_inducing=x.one(None, None, 3),
        class_weight=x.balance,
        max_iter=x.one(2, 5),
        random_state=0,
    ),
    "SVOR": lambda x: (_svor if x.rng.random() < 0.7 else _svor_penalised)(x),
    "AdaBoostOR": lambda x: e.AdaBoostOR(
        x.one(None, None, x.ordinal()),
        4,
        cost=x.cost,
        learning_rate=x.one(0.3, 1.0),
        conversion=x.one("auto", "auto", "resample", "weight"),
        n_iter_no_change=x.one(None, None, 2),
        class_weight=x.balance,
        random_state=0,
    ),
    "ConformalOrdinal": lambda x: e.ConformalOrdinal(
        x.ordinal(),
        x.one(0.5, 0.9, 0.99),
        method=x.one("split", "cross"),
        per_class=x.one(False, True),
        cv=2,
        random_state=0,
    ),
    "LinearRankSVM": lambda x: e.LinearRankSVM(
        x.power(-4, 6),
        loss=x.one("squared_hinge", "hinge"),
        normalize=x.one(True, False),
        query_weighting=x.one("pairs", "queries"),
        max_iter=100,
    ),
    "LinearSVOR": lambda x: e.LinearSVOR(
        x.power(-4, 6),
        constraints=x.one("implicit", "explicit"),
        loss=x.one("squared_hinge", "hinge", "logistic", "exponential"),
        cost=x.cost,
        class_weight=x.balance,
        max_iter=100,
    ),
    "LowRankImputer": lambda x: e.LowRankImputer(x.one(1, 2, 5), max_iter=50),
    "MarginLPRanker": lambda x: e.MarginLPRanker(
        x.one(0.0, 0.1, 0.8), norm=x.one("l1", "linf"), max_iter=100
    ),
    "ORBoost": lambda x: e.ORBoost(
        8,
        variant=x.one("all", "left_right", "pairs"),
        base=x.one("perceptron", "sigmoid", "stump"),
        learning_rate=x.one(0.3, 1.0),
        cost=x.cost,
        search_steps=5,
        n_iter_no_change=x.one(None, None, 2),
        class_weight=x.balance,
        random_state=0,
    ),
    "ORStump": lambda x: e.ORStump(x.one(None, 2, 9), cost=x.cost, class_weight=x.balance),
    "ORTree": lambda x: e.ORTree(
        x.one(None, 2),
        criterion=x.one("gini", "cost"),
        min_samples_leaf=x.one(1, 3),
        min_weight_fraction_leaf=x.one(0.0, 0.2),
        max_features=x.one(None, "sqrt"),
        max_bins=x.one(None, 5),
        cost=x.cost,
        class_weight=x.balance,
        random_state=0,
    ),
    "OnlineRankSVM": lambda x: e.OnlineRankSVM(
        x.power(-6, 1),
        loss=x.one("hinge", "squared_hinge"),
        n_epochs=3,
        averaged=x.one(True, False),
        random_state=0,
    ),
    "OrdinalBagging": lambda x: e.OrdinalBagging(
        x.one(None, x.ordinal()),
        4,
        max_samples=x.one(1.0, 0.5),
        bootstrap=x.one(True, False),
        max_features=x.one(1.0, 0.5),
        cost=x.cost,
        class_weight=x.balance,
        random_state=0,
    ),
    "OrdinalCalibrator": lambda x: e.OrdinalCalibrator(
        x.ordinal(),
        method=x.one("cumulative_link", "isotonic"),
        cv=x.one(2, 3),
        decision=x.one("cost", "inner"),
        cost=x.cost,
        random_state=0,
    ),
    "OrdinalReduction": lambda x: e.OrdinalReduction(
        x.one(
            None,
            LogisticRegression(max_iter=50),
            GaussianNB(),
            DecisionTreeClassifier(max_depth=2, random_state=0),
        ),
        mode=x.one("separate", "joint"),
        cost=x.cost,
    ),
    "OrdinalStack": lambda x: e.OrdinalStack(
        [("first", x.ordinal()), ("second", e.ProportionalOdds(alpha=0.1))],
        weights=x.one(None, [0.3, 0.7], [0.0, 1.0]),
        cost=x.cost,
    ),
    "PRank": lambda x: e.PRank(
        30,
        averaged=x.one(True, False),
        pocket=x.one(True, False),
        cost=x.cost,
        class_weight=x.balance,
        random_state=0,
    ),
    "PreferenceRanker": lambda x: e.PreferenceRanker(
        x.one(None, GaussianNB()),
        features=x.one("difference", "concatenation"),
        method=x.one("quicksort", "degree"),
        decide=x.one("majority", "sample"),
        max_pairs=200,
        random_state=0,
    ),
    "ProportionalOdds": lambda x: e.ProportionalOdds(
        x.one("logit", "probit", "cloglog", "loglog", "cauchit"),
        alpha=x.one(0.0, 0.0, x.power(-8, 4)),
        cost=x.cost,
        class_weight=x.balance,
    ),
    "RankBoost": lambda x: e.RankBoost(
        8,
        step=(step := x.one("exact", "exact", "book")),
        loss="exponential" if step == "book" else x.one("logistic", "smooth_margin"),
        max_bins=x.one(None, 255, 4),
        learning_rate=x.one(0.3, 1.0),
        missing=x.one("best_side", "abstain"),
        n_iter_no_change=x.one(None, None, 2),
        random_state=0,
    ),
    "RankPerceptron": lambda x: e.RankPerceptron(5, averaged=x.one(True, False), random_state=0),
    "RankRules": lambda x: e.RankRules(
        8,
        loss=x.one("rank", "absolute", "threshold", "binary"),
        technique=x.one(None, None, "simultaneous", "gradient", "constant_step"),
        shrinkage=x.one(0.1, 1.0),
        subsample=x.one(0.5, 1.0),
        beta=x.one(0.01, 0.2),
        max_bins=x.one(None, 4),
        n_iter_no_change=x.one(None, None, 2),
        class_weight=x.balance,
        random_state=0,
    ),
    "RankSVM": lambda x: e.RankSVM(
        x.power(-4, 6),
        **x.kernel,
        coef0=x.one(0.0, 1.0),
        n_components=x.one(None, None, 3),
        loss=x.one("squared_hinge", "hinge"),
        solver=x.one("auto", "primal", "dual"),
        normalize=x.one(True, False),
        max_iter=50,
        random_state=0,
    ),
    "RoundedRegressor": lambda x: e.RoundedRegressor(
        x.one(None, Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0))
    ),
    "ThresholdedRanker": lambda x: e.ThresholdedRanker(
        x.ranker(),
        thresholds=x.one("cost", "exponential"),
        cost=x.cost,
        cv=x.one(None, 2),
        class_weight=x.balance,
    ),
    "CoarseToFineSearchCV": lambda x: CoarseToFineSearchCV(
        *x.one((e.ProportionalOdds(), {"alpha": [0.01, 1.0]}), (e.SVOR(), {"C": [0.1, 10.0]})),
        fine_points=2,
        cv=2,
    ),
}


def draw_estimator(name: str, rng: np.random.Generator) -> Any:
    """One of the estimators with drawn parameters."""
    return DRAWS[name](_Dice(rng))
