"""The types that a model file may hold, and the names that it gives to those of this package.

A file names a type of this package by a stable name, such as "echelon.rules.RuleEnsemble", which
stays when the class moves to another module: then its line in `OWN_TYPES` changes and every file is
still read. Types of other packages are named by their modules, as skops does.

Only listed types are ever built from a file. Loading makes an object of such a type and sets its
attributes; none of these runs what it is given. Functions are not listed, so no file can name one
to be called. The numbers inside are not checked: a file that someone made up can give wrong
predictions or crash a native loop, as can any model file, but it cannot run code.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: where the class of each stable name is now; a name in use is never given to another class
OWN_TYPES: dict[str, str] = {
    "echelon.AdaBoostOR": "echelon.ensemble.adaboost_or.AdaBoostOR",
    "echelon.ConformalOrdinal": "echelon.meta.conformal.ConformalOrdinal",
    "echelon.GPOR": "echelon.gaussian_process.gpor.GPOR",
    "echelon.LinearARD": "echelon.gaussian_process.kernels.LinearARD",
    "echelon.LinearRankSVM": "echelon.ranking.linear_rank_svm.LinearRankSVM",
    "echelon.LinearSVOR": "echelon.linear.linear_svor.LinearSVOR",
    "echelon.LowRankImputer": "echelon.gaussian_process.imputation.LowRankImputer",
    "echelon.MarginLPRanker": "echelon.ranking.margin_lp.MarginLPRanker",
    "echelon.ORBoost": "echelon.ensemble.orboost.ORBoost",
    "echelon.ORStump": "echelon.tree.stump.ORStump",
    "echelon.ORTree": "echelon.tree.tree.ORTree",
    "echelon.OnlineRankSVM": "echelon.ranking.online_rank_svm.OnlineRankSVM",
    "echelon.OrdinalBagging": "echelon.ensemble.bagging.OrdinalBagging",
    "echelon.OrdinalCalibrator": "echelon.meta.calibration.OrdinalCalibrator",
    "echelon.OrdinalReduction": "echelon.meta.reduction.OrdinalReduction",
    "echelon.PRank": "echelon.linear.prank.PRank",
    "echelon.PearsonKernel": "echelon.gaussian_process.kernels.PearsonKernel",
    "echelon.PreferenceRanker": "echelon.ranking.preference_ranker.PreferenceRanker",
    "echelon.ProportionalOdds": "echelon.linear.proportional_odds.ProportionalOdds",
    "echelon.RankBoost": "echelon.ranking.rank_boost.RankBoost",
    "echelon.RankPerceptron": "echelon.ranking.rank_perceptron.RankPerceptron",
    "echelon.RankRules": "echelon.rules.rank_rules.RankRules",
    "echelon.RankSVM": "echelon.ranking.rank_svm.RankSVM",
    "echelon.RoundedRegressor": "echelon.meta.rounded.RoundedRegressor",
    "echelon.SVOR": "echelon.svm.svor.SVOR",
    "echelon.ThresholdedRanker": "echelon.meta.thresholded.ThresholdedRanker",
    "echelon.ensemble.LinearMember": "echelon.solvers.boosting.weak_learners.LinearMember",
    "echelon.ensemble.StepTable": "echelon.solvers.boosting.stumps.StepTable",
    "echelon.ensemble.StumpMember": "echelon.solvers.boosting.weak_learners.StumpMember",
    "echelon.gp.DensePredictor": "echelon.solvers.gp.evidence.DensePredictor",
    "echelon.gp.Hyperparameters": "echelon.gaussian_process.objective.Hyperparameters",
    "echelon.gp.SparsePredictor": "echelon.solvers.gp.evidence.SparsePredictor",
    "echelon.kernels.Gaussian": "echelon.kernels.functions.Gaussian",
    "echelon.kernels.Linear": "echelon.kernels.functions.Linear",
    "echelon.kernels.Pearson": "echelon.kernels.functions.Pearson",
    "echelon.kernels.Polynomial": "echelon.kernels.functions.Polynomial",
    "echelon.kernels.Precomputed": "echelon.kernels.functions.Precomputed",
    "echelon.kernels.Sigmoid": "echelon.kernels.functions.Sigmoid",
    "echelon.linear.Calibration": "echelon.solvers.linear.calibration.Calibration",
    "echelon.linear.PerceptronState": "echelon.solvers.linear.prank.PerceptronState",
    "echelon.ordinal.CLogLog": "echelon.ordinal.likelihoods.CLogLog",
    "echelon.ordinal.Cauchit": "echelon.ordinal.likelihoods.Cauchit",
    "echelon.ordinal.LogLog": "echelon.ordinal.likelihoods.LogLog",
    "echelon.ordinal.Logit": "echelon.ordinal.likelihoods.Logit",
    "echelon.ordinal.Probit": "echelon.ordinal.likelihoods.Probit",
    "echelon.ranking.DescentState": "echelon.solvers.ranking.online.DescentState",
    "echelon.ranking.PairPerceptron": "echelon.solvers.ranking.online.PairPerceptron",
    "echelon.ranking.RankStump": "echelon.solvers.ranking.rank_boost_stumps.RankStump",
    "echelon.rules.InputColumns": "echelon.rules.columns.InputColumns",
    "echelon.rules.Interval": "echelon.solvers.rules.bodies.Interval",
    "echelon.rules.Levels": "echelon.rules.ensemble.Levels",
    "echelon.rules.Membership": "echelon.solvers.rules.bodies.Membership",
    "echelon.rules.RuleEnsemble": "echelon.rules.ensemble.RuleEnsemble",
    "echelon.rules.RuleTable": "echelon.solvers.rules.bodies.RuleTable",
    "echelon.tree.OrdinalTree": "echelon.solvers.boosting.ordinal_tree.OrdinalTree",
    "echelon.tree.Stump": "echelon.solvers.boosting.stumps.Stump",
}

_FOREIGN = {
    "collections": ["OrderedDict"],
    "lightgbm.basic": ["Booster"],
    "lightgbm.sklearn": ["LGBMRegressor"],
    "numpy": ["dtype"],
    "sklearn._loss.link": ["IdentityLink", "Interval"],
    "sklearn._loss.loss": ["HalfSquaredError"],
    "sklearn.ensemble._hist_gradient_boosting.binning": ["_BinMapper"],
    "sklearn.ensemble._hist_gradient_boosting.predictor": ["TreePredictor"],
    "sklearn.gaussian_process.kernels": [
        "ConstantKernel",
        "DotProduct",
        "Matern",
        "Product",
        "RBF",
        "RationalQuadratic",
        "Sum",
        "WhiteKernel",
    ],
    "sklearn.tree._tree": ["Tree"],
}

_FOREIGN_NAMES = frozenset(
    f"{module}.{kind}" for module, kinds in _FOREIGN.items() for kind in kinds
)


class UnknownTypeError(LookupError):
    """A type that no model here is made of; the text is its name."""


def is_trusted(path: str) -> bool:
    """Whether a type, by its module and name, is one that models here are made of."""
    return path in _FOREIGN_NAMES or path in OWN_TYPES.values()


def name_types(schema: Any) -> None:
    """Give the types of this package their stable names, throughout a schema of skops."""
    stable = {path: name for name, path in OWN_TYPES.items()}
    for node, path in _typed_nodes(schema):
        _set_type(node, stable.get(path, path))


def find_types(schema: Any) -> None:
    """Put the present modules in place of stable names, throughout a schema of skops."""
    for node, name in _typed_nodes(schema):
        if not name.startswith("echelon."):
            continue
        if name not in OWN_TYPES:
            raise UnknownTypeError(name)
        _set_type(node, OWN_TYPES[name])


def _typed_nodes(schema: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Every part of a schema that names a type, and that name."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            waiting += part.values()
            module, kind = part.get("__module__"), part.get("__class__")
            if isinstance(module, str) and isinstance(kind, str):
                yield part, f"{module}.{kind}"
        elif isinstance(part, list):
            waiting += part


def _set_type(node: dict[str, Any], name: str) -> None:
    node["__module__"], _, node["__class__"] = name.rpartition(".")
