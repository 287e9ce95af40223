"""Echelon: models, metrics and data for ordered labels and rankings.

The public names are imported on first use, so ``import echelon`` itself loads
neither scikit-learn nor any data-frame or plotting library.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "AdaBoostOR": "boosting",
    "BudgetExceeded": "preference",
    "GPOR": "gaussian_process",
    "Judge": "preference",
    "LinearARD": "gp_kernels",
    "LinearRankSVM": "linear_rank_svm",
    "LinearSVOR": "linear_svm",
    "LowRankImputer": "imputation",
    "MarginLPRanker": "linear_rankers",
    "ORBoost": "orboost",
    "ORStump": "stumps",
    "ORTree": "trees",
    "OnlineRankSVM": "online_rank_svm",
    "OrdinalBagging": "bagging",
    "OrdinalReduction": "meta",
    "PRank": "prank",
    "PairSet": "pairs",
    "PearsonKernel": "gp_kernels",
    "PreferenceRanker": "preference",
    "ProportionalOdds": "linear",
    "RankBoost": "rank_boost",
    "RankPerceptron": "linear_rankers",
    "RankRules": "rules",
    "RankSVM": "rank_svm",
    "RoundedRegressor": "meta",
    "SVOR": "svm",
    "ThresholdedRanker": "thresholded",
    "quicksort": "preference",
    "rank_by_preference": "preference",
    "sort_by_degree": "preference",
}
_ROOMS = ("datasets", "metrics", "model_selection", "plots", "reproduction")

__all__ = [*_HOMES, *_ROOMS]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"echelon.{_HOMES[name]}"), name)
    if name in _ROOMS:
        return import_module(f"echelon.{name}")
    if name == "__version__":
        from importlib.metadata import version

        return version("echelon")
    raise AttributeError(f"module 'echelon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
