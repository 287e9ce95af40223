"""Echelon: models, metrics and data for ordered labels and rankings.

The public names are imported on first use, so ``import echelon`` itself loads
neither scikit-learn nor any data-frame or plotting library.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "AdaBoostOR": "boosting",
    "BudgetExceeded": "preference",
    "ConformalOrdinal": "conformal",
    "CoverageWarning": "conformal",
    "GPOR": "gaussian_process",
    "Judge": "preference",
    "LinearARD": "gp_kernels",
    "LinearRankSVM": "linear_rank_svm",
    "LinearSVOR": "linear_svm",
    "LowRankImputer": "imputation",
    "MarginLPRanker": "linear_rankers",
    "ModelFileError": "trained",
    "ORBoost": "orboost",
    "ORStump": "stumps",
    "ORTree": "trees",
    "OnlineRankSVM": "online_rank_svm",
    "OrdinalBagging": "bagging",
    "OrdinalCalibrator": "calibration",
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
    "TrainedModel": "trained",
    "load_model": "trained",
    "quicksort": "preference",
    "rank_by_preference": "preference",
    "report": "reporting",
    "sort_by_degree": "preference",
    "to_onnx": "export",
    "train": "trained",
}
_ROOMS = (
    "datasets",
    "export",
    "inspection",
    "metrics",
    "model_selection",
    "plots",
    "reporting",
    "reproduction",
    "tables",
    "trained",
)

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
