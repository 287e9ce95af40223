"""A user's program over the public names, which type checkers must find without a fault.

It is not run: `test_user_script.py` has mypy and pyright read it.
"""

from pathlib import Path

import numpy as np

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
    ORStump,
    ORTree,
    PairSet,
    PRank,
    PreferenceRanker,
    ProportionalOdds,
    RankBoost,
    RankPerceptron,
    RankRules,
    RankSVM,
    RoundedRegressor,
    ThresholdedRanker,
    TrainedModel,
    load_model,
    metrics,
    report,
    to_onnx,
)
from echelon.datasets import load_swd
from echelon.linear import ProportionalOdds as SameProportionalOdds
from echelon.model_selection import QueryKFold, compare_models
from echelon.plots import OrdinalConfusionDisplay
from echelon.tree import ORTree as SameTree

X = np.random.default_rng(0).normal(size=(60, 3))
y = np.arange(60) % 4
qid = np.arange(60) % 5
words = [["poor", "fair", "good", "great"][code] for code in y]


def ordered_labels() -> float:
    """Fit every ordinal estimator; `fit` gives the estimator's own type back."""
    svor: SVOR = SVOR(C=10.0, kernel="rbf", cost="squared").fit(X, y)
    odds: SameProportionalOdds = ProportionalOdds("probit", alpha=0.5).fit(X, y, np.ones(60))
    process: GPOR = GPOR(random_state=0).fit(X, y)
    linear: LinearSVOR = LinearSVOR(C=0.1).fit(X.tolist(), y.tolist())
    perceptron: PRank = PRank(n_epochs=20, random_state=0).fit(X, y)
    tree: SameTree = ORTree(max_depth=3).fit(X, y)
    stump: ORStump = ORStump().fit(X, y)
    boosted: AdaBoostOR = AdaBoostOR(n_estimators=10).fit(X, y)
    thresholded: ORBoost = ORBoost(30, random_state=0).fit(X, y)
    bagged: OrdinalBagging = OrdinalBagging(tree, n_estimators=15).fit(X, y)
    rules: RankRules = RankRules(n_rules=30).fit(X, words)
    reduced: OrdinalReduction = OrdinalReduction().fit(X, y)
    rounded: RoundedRegressor = RoundedRegressor().fit(X, y)
    calibrated: OrdinalCalibrator = OrdinalCalibrator(boosted).fit(X, y)
    sets: ConformalOrdinal = ConformalOrdinal(odds, confidence=0.9).fit(X, y)
    models = [svor, odds, process, linear, perceptron, tree, stump, boosted, thresholded]
    wrapped = [bagged, rules, reduced, rounded, calibrated, sets]
    probabilities = odds.predict_proba(X)
    lower, upper = sets.predict_interval(X)
    margins = svor.decision_function(X)
    scores = svor.predict_latent(X)
    print(probabilities.sum(axis=1), lower, upper, margins.shape, scores.mean(), svor.thresholds_)
    params: dict[str, object] = svor.set_params(C=1.0).get_params()
    total = sum(model.score(X, y) for model in [*models, *wrapped])
    return total + len(params) + metrics.mean_absolute_rank_error(y, svor.predict(X))


def rankings() -> float:
    """Fit every ranker by labels in queries or by pairs."""
    linear: LinearRankSVM = LinearRankSVM(C=1.0).fit(X, y, qid=qid)
    kernel: RankSVM = RankSVM().fit(X, pairs=[[0, 1], [2, 3]])
    boosted: RankBoost = RankBoost(20).fit(X, y, qid=qid)
    online: OnlineRankSVM = OnlineRankSVM(random_state=0).fit(X, y, qid=qid)
    perceptron: RankPerceptron = RankPerceptron(random_state=0).fit(X, y, qid=qid)
    program: MarginLPRanker = MarginLPRanker(0.9).fit(X, y, qid=qid)
    preference: PreferenceRanker = PreferenceRanker(random_state=0).fit(X, y, qid=qid)
    classifier: ThresholdedRanker = ThresholdedRanker(boosted).fit(X, y)
    pairs = PairSet.from_pairs([[0, 1]], 60)
    print(linear.rank(X, qid, top_k=3), kernel.fit(X, pairs=pairs), classifier.predict(X))
    rankers = [linear, boosted, online, perceptron, program, preference]
    return sum(ranker.score(X, y, qid) for ranker in rankers)


def product(model: SVOR, path: Path) -> str:
    """Compare, load, report, draw and export."""
    data, target = load_swd(return_X_y=True)
    leaderboard = compare_models({"svor": model}, data, target, folds=3, repeats=1)
    folds = list(QueryKFold(3).split(X, y, qid))
    OrdinalConfusionDisplay.from_predictions(y, model.predict(X))
    to_onnx(model)
    report(model, X, y, path=path / "report.html")
    trained: TrainedModel = load_model(path / "model.echelon")
    trained.save(path / "copy.echelon")
    return f"{leaderboard} {len(folds)} {echelon.__version__}"
