"""Echelon: models, metrics and data for ordered labels and rankings.

The public names are imported on first use, so ``import echelon`` itself loads
neither scikit-learn nor any data-frame or plotting library.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import (
        datasets,
        export,
        inspection,
        metrics,
        model_selection,
        plots,
        reporting,
        tables,
        trained,
    )
    from .ensemble import AdaBoostOR, ORBoost, OrdinalBagging
    from .export import to_onnx
    from .gaussian_process import GPOR, LinearARD, LowRankImputer, PearsonKernel
    from .linear import LinearSVOR, PRank, ProportionalOdds
    from .meta import (
        ConformalOrdinal,
        CoverageWarning,
        OrdinalCalibrator,
        OrdinalReduction,
        OrdinalStack,
        RoundedRegressor,
        ThresholdedRanker,
    )
    from .pairs import PairSet
    from .ranking import (
        BudgetExceeded,
        LinearRankSVM,
        MarginLPRanker,
        OnlineRankSVM,
        PreferenceOracle,
        PreferenceRanker,
        RankBoost,
        RankPerceptron,
        RankSVM,
        quicksort,
        rank_by_preference,
        sort_by_degree,
    )
    from .reporting import report
    from .rules import RankRules
    from .svm import SVOR
    from .trained import ModelFileError, TrainedModel, load_model, train
    from .tree import ORStump, ORTree

    __version__: str

__all__ = [
    "GPOR",
    "SVOR",
    "AdaBoostOR",
    "BudgetExceeded",
    "ConformalOrdinal",
    "CoverageWarning",
    "LinearARD",
    "LinearRankSVM",
    "LinearSVOR",
    "LowRankImputer",
    "MarginLPRanker",
    "ModelFileError",
    "ORBoost",
    "ORStump",
    "ORTree",
    "OnlineRankSVM",
    "OrdinalBagging",
    "OrdinalCalibrator",
    "OrdinalReduction",
    "OrdinalStack",
    "PRank",
    "PairSet",
    "PearsonKernel",
    "PreferenceOracle",
    "PreferenceRanker",
    "ProportionalOdds",
    "RankBoost",
    "RankPerceptron",
    "RankRules",
    "RankSVM",
    "RoundedRegressor",
    "ThresholdedRanker",
    "TrainedModel",
    "datasets",
    "export",
    "inspection",
    "load_model",
    "metrics",
    "model_selection",
    "plots",
    "quicksort",
    "rank_by_preference",
    "report",
    "reporting",
    "sort_by_degree",
    "tables",
    "to_onnx",
    "train",
    "trained",
]

_HOMES = {
    "ensemble": ("AdaBoostOR", "ORBoost", "OrdinalBagging"),
    "export": ("to_onnx",),
    "gaussian_process": ("GPOR", "LinearARD", "LowRankImputer", "PearsonKernel"),
    "linear": ("LinearSVOR", "PRank", "ProportionalOdds"),
    "meta": (
        "ConformalOrdinal",
        "CoverageWarning",
        "OrdinalCalibrator",
        "OrdinalReduction",
        "OrdinalStack",
        "RoundedRegressor",
        "ThresholdedRanker",
    ),
    "pairs": ("PairSet",),
    "ranking": (
        "BudgetExceeded",
        "LinearRankSVM",
        "MarginLPRanker",
        "OnlineRankSVM",
        "PreferenceOracle",
        "PreferenceRanker",
        "RankBoost",
        "RankPerceptron",
        "RankSVM",
        "quicksort",
        "rank_by_preference",
        "sort_by_degree",
    ),
    "reporting": ("report",),
    "rules": ("RankRules",),
    "svm": ("SVOR",),
    "trained": ("ModelFileError", "TrainedModel", "load_model", "train"),
    "tree": ("ORStump", "ORTree"),
}
_PACKAGE_OF = {name: package for package, names in _HOMES.items() for name in names}


# A type checker that sees this function would accept any name.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        if name in _PACKAGE_OF:
            return getattr(import_module(f"echelon.{_PACKAGE_OF[name]}"), name)
        if name in __all__:
            return import_module(f"echelon.{name}")
        if name == "__version__":
            from importlib.metadata import version

            return version("echelon")
        raise AttributeError(f"module 'echelon' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
