"""The types that a model file may hold, and the names that it gives them.

A file names a type of this package by a stable name, such as "echelon.rules.RuleEnsemble", which
stays when the class moves to another module: then its line in `OWN_TYPES` changes and every file is
still read. Types of scikit-learn have their public names there.

Only listed types are ever built from a file, each from its attributes. None of them opens a file,
imports or runs what an attribute names; those whose prediction is native code that follows indices
are checked in `echelon.trained.forms` or by their own ``check_state``. Functions are not listed, so
no file can name one to be called.
"""

from __future__ import annotations

from importlib import import_module

#: where the class of each stable name is now; a name in use is never given to another class
OWN_TYPES: dict[str, str] = {
    "echelon.AdaBoostOR": "echelon.ensemble.adaboost_or.AdaBoostOR",
    "echelon.ConformalOrdinal": "echelon.meta.conformal.ConformalOrdinal",
    "echelon.GPOR": "echelon.gaussian_process.gpor.GPOR",
    "echelon.JoinedColumns": "echelon.model_selection.joined_columns.JoinedColumns",
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
    "echelon.OrdinalStack": "echelon.meta.stack.OrdinalStack",
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
    "echelon.TextTerms": "echelon.model_selection.text_terms.TextTerms",
    "echelon.ThresholdedRanker": "echelon.meta.thresholded.ThresholdedRanker",
    "echelon.ensemble.ConstantRanker": "echelon.ensemble.cost_learner.ConstantRanker",
    "echelon.ensemble.LinearMember": "echelon.solvers.boosting.weak_learners.LinearMember",
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
    "echelon.preparation.LevelCodes": "echelon.base.scores.LevelCodes",
    "echelon.preparation.TailScores": "echelon.base.scores.TailScores",
    "echelon.ranking.DescentState": "echelon.solvers.ranking.online.DescentState",
    "echelon.ranking.PairPerceptron": "echelon.solvers.ranking.online.PairPerceptron",
    "echelon.ranking.StreamRows": "echelon.ranking.online_rank_svm.StreamRows",
    "echelon.rules.InputColumns": "echelon.rules.columns.InputColumns",
    "echelon.rules.Interval": "echelon.solvers.rules.bodies.Interval",
    "echelon.rules.Levels": "echelon.rules.ensemble.Levels",
    "echelon.rules.Membership": "echelon.solvers.rules.bodies.Membership",
    "echelon.rules.Pruning": "echelon.rules.ensemble.Pruning",
    "echelon.rules.RuleEnsemble": "echelon.rules.ensemble.RuleEnsemble",
    "echelon.tree.OrdinalTree": "echelon.solvers.boosting.ordinal_tree.OrdinalTree",
    "echelon.tree.Stump": "echelon.solvers.boosting.stumps.Stump",
}

_SCIKIT_LEARN = {
    "compose": ["ColumnTransformer"],
    "decomposition": ["PCA", "TruncatedSVD"],
    "discriminant_analysis": ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "dummy": ["DummyClassifier", "DummyRegressor"],
    "ensemble": [
        "BaggingClassifier",
        "BaggingRegressor",
        "ExtraTreesClassifier",
        "ExtraTreesRegressor",
        "HistGradientBoostingClassifier",
        "HistGradientBoostingRegressor",
        "RandomForestClassifier",
        "RandomForestRegressor",
    ],
    "feature_selection": ["VarianceThreshold"],
    "frozen": ["FrozenEstimator"],
    "gaussian_process": ["GaussianProcessRegressor"],
    "gaussian_process.kernels": [
        "ConstantKernel",
        "DotProduct",
        "Matern",
        "Product",
        "RBF",
        "RationalQuadratic",
        "Sum",
        "WhiteKernel",
    ],
    "impute": ["MissingIndicator", "SimpleImputer"],
    "kernel_ridge": ["KernelRidge"],
    "linear_model": [
        "ARDRegression",
        "BayesianRidge",
        "ElasticNet",
        "ElasticNetCV",
        "HuberRegressor",
        "Lasso",
        "LassoCV",
        "LinearRegression",
        "LogisticRegression",
        "LogisticRegressionCV",
        "Ridge",
        "RidgeCV",
        "RidgeClassifier",
    ],
    "naive_bayes": ["GaussianNB"],
    "pipeline": ["FeatureUnion", "Pipeline"],
    "preprocessing": [
        "LabelBinarizer",
        "LabelEncoder",
        "MaxAbsScaler",
        "MinMaxScaler",
        "Normalizer",
        "OneHotEncoder",
        "OrdinalEncoder",
        "PowerTransformer",
        "QuantileTransformer",
        "RobustScaler",
        "StandardScaler",
    ],
    "svm": ["LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "SVC", "SVR"],
    "tree": [
        "DecisionTreeClassifier",
        "DecisionTreeRegressor",
        "ExtraTreeClassifier",
        "ExtraTreeRegressor",
    ],
}

#: types whose native code follows what they hold; `echelon.trained.forms` takes them apart
TAKEN_APART = {
    "lightgbm.LGBMClassifier": "lightgbm.sklearn.LGBMClassifier",
    "lightgbm.LGBMRegressor": "lightgbm.sklearn.LGBMRegressor",
    "sklearn.ensemble.BinMapper": "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble.TreePredictor": (
        "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    ),
    "sklearn.tree.Tree": "sklearn.tree._tree.Tree",
}

FOREIGN_NAMES = frozenset(
    {f"sklearn.{module}.{kind}" for module, kinds in _SCIKIT_LEARN.items() for kind in kinds}
    | set(TAKEN_APART)
)


class UnknownTypeError(LookupError):
    """A type that no model here is made of; the text is its name."""


def name_of(kind: type) -> str:
    """The name that files give to a type."""
    path = f"{kind.__module__}.{kind.__qualname__}"
    for names in (OWN_TYPES, TAKEN_APART):
        for name, home in names.items():
            if home == path:
                return name
    parts = kind.__module__.split(".")
    name = ".".join([*parts[: _first_private(parts)], kind.__qualname__])
    if name not in FOREIGN_NAMES:
        raise UnknownTypeError(path)
    return name


def _first_private(parts: list[str]) -> int:
    return next((i for i, part in enumerate(parts) if part.startswith("_")), len(parts))


def require_known(name: str) -> None:
    """Raise `UnknownTypeError` for a name that is not listed; nothing is imported for this."""
    if name not in OWN_TYPES and name not in FOREIGN_NAMES:
        raise UnknownTypeError(name)


def find_type(name: str) -> type:
    """The type of a listed name."""
    require_known(name)
    module, _, kind = OWN_TYPES.get(name, TAKEN_APART.get(name, name)).rpartition(".")
    found: type = getattr(import_module(module), kind)
    return found
