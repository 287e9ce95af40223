"""The types that a model file may hold besides those that skops trusts anyway.

Loading builds an object of a listed type and sets its attributes; none of these runs what it is
given. Functions are not listed, so no file can name one to be called. The numbers inside are not
checked: a file that someone made up can give wrong predictions or crash a native loop, as can any
model file, but it cannot run code.
"""

from __future__ import annotations

_OWN = {
    "gaussian_process.objective": ["Hyperparameters"],
    "rules.columns": ["InputColumns"],
    "rules.ensemble": ["Levels", "RuleEnsemble"],
    "rules.names": ["Naming"],
    "ensemble.bagging": ["OrdinalBagging"],
    "ensemble.adaboost_or": ["AdaBoostOR"],
    "meta.calibration": ["OrdinalCalibrator"],
    "meta.conformal": ["ConformalOrdinal"],
    "gaussian_process.gpor": ["GPOR"],
    "gaussian_process.kernels": ["LinearARD", "PearsonKernel"],
    "gaussian_process.imputation": ["LowRankImputer"],
    "kernels.functions": ["Gaussian", "Linear", "Pearson", "Polynomial", "Precomputed", "Sigmoid"],
    "linear.proportional_odds": ["ProportionalOdds"],
    "ranking.linear_rank_svm": ["LinearRankSVM"],
    "ranking.margin_lp": ["MarginLPRanker"],
    "ranking.rank_perceptron": ["RankPerceptron"],
    "linear.linear_svor": ["LinearSVOR"],
    "meta.reduction": ["OrdinalReduction"],
    "meta.rounded": ["RoundedRegressor"],
    "ranking.online_rank_svm": ["OnlineRankSVM"],
    "ensemble.orboost": ["ORBoost"],
    "ordinal.likelihoods": ["CLogLog", "Cauchit", "LogLog", "Logit", "Probit"],
    "linear.prank": ["PRank"],
    "ranking.preference_ranker": ["PreferenceRanker"],
    "ranking.rank_boost": ["RankBoost"],
    "ranking.rank_svm": ["RankSVM"],
    "rules.rank_rules": ["RankRules"],
    "solvers.linear.calibration": ["Calibration"],
    "solvers.gp.prediction": ["DensePredictor", "SparsePredictor"],
    "solvers.ranking.online_rank_svm": ["DescentState"],
    "solvers.boosting.ordinal_tree": ["OrdinalTree"],
    "solvers.linear.prank": ["PerceptronState"],
    "solvers.ranking.rank_boost_stumps": ["RankStump", "StepTable"],
    "solvers.ranking.rank_perceptron": ["PairPerceptron"],
    "solvers.rules.bodies": ["Interval", "Membership"],
    "solvers.rules.tables": ["RuleTable"],
    "solvers.boosting.stump_tables": ["FeatureTable"],
    "solvers.boosting.stumps": ["Stump"],
    "solvers.boosting.weak_linear": ["LinearMember"],
    "solvers.boosting.weak_stumps": ["StumpMember"],
    "tree.stump": ["ORStump"],
    "svm.svor": ["SVOR"],
    "meta.thresholded": ["ThresholdedRanker"],
    "tree.tree": ["ORTree"],
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
