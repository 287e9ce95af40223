"""Every public estimator, found by looking, and the instances that contracts run on."""

import inspect

from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import echelon
from echelon import (
    GPOR,
    SVOR,
    AdaBoostOR,
    ConformalOrdinal,
    LinearRankSVM,
    LinearSVOR,
    MarginLPRanker,
    OnlineRankSVM,
    ORBoost,
    OrdinalBagging,
    OrdinalCalibrator,
    OrdinalReduction,
    OrdinalStack,
    ORStump,
    ORTree,
    PRank,
    PreferenceRanker,
    ProportionalOdds,
    RankBoost,
    RankPerceptron,
    RankRules,
    RankSVM,
    RoundedRegressor,
    ThresholdedRanker,
)
from echelon.base.mixins import OrdinalClassifierMixin, RankerMixin
from echelon.model_selection import CoarseToFineSearchCV, TextTerms

# Where an estimator cannot be made without arguments, or where the contracts need other ones: they
# compare fits, which takes a seed, and few steps of a perceptron.
REQUIRED = {
    ConformalOrdinal: lambda: ConformalOrdinal(random_state=0),
    ORBoost: lambda: ORBoost(n_estimators=30, random_state=0),
    OnlineRankSVM: lambda: OnlineRankSVM(random_state=0),
    OrdinalBagging: lambda: OrdinalBagging(n_estimators=15, random_state=0),
    PRank: lambda: PRank(n_epochs=20, random_state=0),
    PreferenceRanker: lambda: PreferenceRanker(random_state=0),
    RankBoost: lambda: RankBoost(20),
    RankPerceptron: lambda: RankPerceptron(random_state=0),
    RankRules: lambda: RankRules(n_rules=30, random_state=0),
    ThresholdedRanker: lambda: ThresholdedRanker(RankBoost(30)),
    CoarseToFineSearchCV: lambda: CoarseToFineSearchCV(
        LogisticRegression(), {"C": [0.1, 1.0]}, fine_points=3, cv=2, error_score="raise"
    ),
}
# Instances besides the first one, where another setting takes another path through the code.
VARIANTS = {
    AdaBoostOR: [
        AdaBoostOR(SVOR(C=0.1, tol=1e-9), 3),
        AdaBoostOR(LinearSVOR(C=0.1), 3, learning_rate=0.5),
    ],
    ConformalOrdinal: [
        ConformalOrdinal(method="cross", random_state=0),
        ConformalOrdinal(AdaBoostOR(n_estimators=10), 0.7, per_class=True, random_state=0),
    ],
    GPOR: [
        GPOR(inference="laplace", likelihood="logit"),
        GPOR("rbf_ard", inference="laplace", cost="absolute"),
        GPOR(n_inducing=15, inference="laplace", random_state=0),
    ],
    LinearRankSVM: [LinearRankSVM(tol=1e-12), LinearRankSVM(loss="hinge")],
    LinearSVOR: [LinearSVOR(constraints="explicit", loss="hinge")],
    MarginLPRanker: [MarginLPRanker(0.9, norm="linf")],
    OnlineRankSVM: [OnlineRankSVM(loss="squared_hinge", random_state=0)],
    ORBoost: [
        ORBoost(30, base="stump", max_bins=32),
        ORBoost(30, variant="pairs", base="sigmoid", random_state=0),
        ORBoost(30, variant="left_right", learning_rate=0.5, random_state=0),
    ],
    ORStump: [ORStump(max_bins=32)],
    ORTree: [ORTree(4, criterion="cost", max_bins=20), ORTree(max_features="sqrt", random_state=0)],
    OrdinalBagging: [
        OrdinalBagging(ORTree(min_weight_fraction_leaf=0.001), 3, bootstrap=False),
        OrdinalBagging(ProportionalOdds(), 3, bootstrap=False),
    ],
    OrdinalCalibrator: [
        OrdinalCalibrator(AdaBoostOR(n_estimators=10), method="isotonic"),
        OrdinalCalibrator(decision="inner"),
        OrdinalCalibrator(RoundedRegressor(), method="isotonic", cost="zero_one"),
    ],
    OrdinalStack: [
        OrdinalStack(
            [("a", ProportionalOdds(alpha=1.0)), ("b", ProportionalOdds("probit", alpha=0.1))],
            weights=[1, 3],
        )
    ],
    PRank: [
        PRank(n_epochs=20, averaged=False, random_state=0),
        PRank(n_epochs=20, averaged=False, pocket=False, random_state=0),
    ],
    PreferenceRanker: [
        PreferenceRanker(DecisionTreeClassifier(max_depth=3), method="degree", random_state=0)
    ],
    ProportionalOdds: [ProportionalOdds("probit", alpha=0.5)],
    OrdinalReduction: [OrdinalReduction(mode="joint")],
    RankBoost: [
        RankBoost(20, loss="logistic", max_bins=None),
        RankBoost(10, loss="smooth_margin", missing="abstain"),
        RankBoost(5, step="book"),
    ],
    RankPerceptron: [RankPerceptron(averaged=False, random_state=0)],
    RankRules: [
        RankRules(30, subsample=1.0, pair_weight="once", max_bins=32),
        RankRules(30, loss="threshold", technique="constant_step", subsample=1.0),
        RankRules(10, loss="binary", technique="gradient", subsample=1.0),
        RankRules(30, loss="absolute", technique="gradient_boosting", shrinkage=0.3, subsample=1.0),
    ],
    RankSVM: [
        RankSVM(loss="hinge"),
        RankSVM(n_components=10, random_state=0),
    ],
    SVOR: [
        SVOR(constraints="explicit", tol=1e-9),
        SVOR(regularize_thresholds=True, tol=1e-9),
        SVOR(regularize_thresholds="offset", tol=1e-9),
        SVOR(kernel="linear", tol=1e-9),
        SVOR(probability=True, random_state=0),
    ],
    ThresholdedRanker: [ThresholdedRanker(RankBoost(30), thresholds="exponential")],
}

# Rankers that draw pairs, or see them one after the other.
DRAWS_PAIRS = (OnlineRankSVM, RankPerceptron)


def public_estimators():
    """All estimator classes of numbers among the public names of the package and its packages."""
    names = [getattr(echelon, name) for name in echelon.__all__]
    packages = [thing for thing in names if inspect.ismodule(thing)]
    names += [getattr(package, name) for package in packages for name in package.__all__]
    found = [m for m in names if inspect.isclass(m) and issubclass(m, BaseEstimator)]
    return [m for m in found if m is not TextTerms]


def instances():
    """One instance of every public estimator, and its variants."""
    return [
        instance
        for cls in public_estimators()
        for instance in [REQUIRED.get(cls, cls)(), *VARIANTS.get(cls, [])]
    ]


def ordinal_instances():
    return [i for i in instances() if isinstance(i, OrdinalClassifierMixin)]


def ranker_instances():
    return [i for i in instances() if isinstance(i, RankerMixin)]


def draws_pairs(ranker):
    """Whether a fit draws pairs or rows, and others from a list of the same pairs."""
    return isinstance(ranker, DRAWS_PAIRS) or draws_by_place(ranker)


def draws_by_place(ranker):
    """Whether a fit draws by the places of rows, so that their order has an effect."""
    places = getattr(ranker, "n_components", None) is not None
    return places or isinstance(ranker, PreferenceRanker)


def label(instance):
    """Short name of an instance for test ids."""
    return repr(instance).replace("\n", "").replace(" ", "")
