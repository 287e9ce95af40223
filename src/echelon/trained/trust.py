"""The types that a model file may hold besides those that skops trusts anyway.

Loading builds an object of a listed type and sets its attributes; none of these runs what it is
given. Functions are not listed, so no file can name one to be called. The numbers inside are not
checked: a file that someone made up can give wrong predictions or crash a native loop, as can any
model file, but it cannot run code.
"""

from __future__ import annotations

_OWN = {
    "_gp_objective": ["Hyperparameters"],
    "_nominal": ["InputColumns"],
    "_rule_ensemble": ["Levels", "RuleEnsemble"],
    "_rule_names": ["Naming"],
    "bagging": ["OrdinalBagging"],
    "boosting": ["AdaBoostOR"],
    "calibration": ["OrdinalCalibrator"],
    "conformal": ["ConformalOrdinal"],
    "gaussian_process": ["GPOR"],
    "gp_kernels": ["LinearARD", "PearsonKernel"],
    "imputation": ["LowRankImputer"],
    "kernels.functions": ["Gaussian", "Linear", "Pearson", "Polynomial", "Precomputed", "Sigmoid"],
    "linear": ["ProportionalOdds"],
    "linear_rank_svm": ["LinearRankSVM"],
    "linear_rankers": ["MarginLPRanker", "RankPerceptron"],
    "linear_svm": ["LinearSVOR"],
    "meta": ["OrdinalReduction", "RoundedRegressor"],
    "online_rank_svm": ["OnlineRankSVM"],
    "orboost": ["ORBoost"],
    "ordinal.likelihoods": ["CLogLog", "Cauchit", "LogLog", "Logit", "Probit"],
    "prank": ["PRank"],
    "preference": ["PreferenceRanker"],
    "rank_boost": ["RankBoost"],
    "rank_svm": ["RankSVM"],
    "rules": ["RankRules"],
    "solvers.calibration": ["Calibration"],
    "solvers.gp_prediction": ["DensePredictor", "SparsePredictor"],
    "solvers.online_rank_svm": ["DescentState"],
    "solvers.ordinal_tree": ["OrdinalTree"],
    "solvers.prank": ["PerceptronState"],
    "solvers.rank_boost_stumps": ["RankStump", "StepTable"],
    "solvers.rank_perceptron": ["PairPerceptron"],
    "solvers.rule_bodies": ["Interval", "Membership"],
    "solvers.rule_tables": ["RuleTable"],
    "solvers.stump_tables": ["FeatureTable"],
    "solvers.stumps": ["Stump"],
    "solvers.weak_linear": ["LinearMember"],
    "solvers.weak_stumps": ["StumpMember"],
    "stumps": ["ORStump"],
    "svm": ["SVOR"],
    "thresholded": ["ThresholdedRanker"],
    "trees": ["ORTree"],
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


def _names(types: dict[str, list[str]], prefix: str = "") -> set[str]:
    return {f"{prefix}{module}.{name}" for module, names in types.items() for name in names}


TRUSTED = frozenset(_names(_OWN, "echelon.") | _names(_FOREIGN))


def is_trusted(name: str) -> bool:
    """Whether a type, by its module and name, is one that models here are made of."""
    return name in TRUSTED
