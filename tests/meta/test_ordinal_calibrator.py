import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from support.data import ordinal_data

from echelon import (
    AdaBoostOR,
    LinearRankSVM,
    LinearSVOR,
    ORStump,
    ProportionalOdds,
    RankBoost,
    RoundedRegressor,
    ThresholdedRanker,
)
from echelon.base.nested import fresh
from echelon.meta.calibration import OrdinalCalibrator
from echelon.metrics import ordinal_log_loss, ranked_probability_score
from echelon.ordinal.costs import cost_matrix, minimum_cost_codes
from echelon.ordinal.reduction import exceedance_to_probabilities
from echelon.solvers.linear.calibration import (
    IsotonicCalibration,
    calibrate_isotonic,
    isotonic_exceedance,
    isotonic_thresholds,
)

METHODS = ["cumulative_link", "isotonic"]
WORDS = np.array(["poor", "fair", "good", "great"])
INSIDES = {
    "latent": LinearSVOR(),
    "margins": AdaBoostOR(n_estimators=5),
    "infinite margins": ORStump(),
    "chances": RandomForestClassifier(10, random_state=0),
    "decisions": RidgeClassifier(),
    "regressor": Ridge(),
    "ranker": LinearRankSVM(),
    "pipeline": make_pipeline(StandardScaler(), LinearSVOR()),
    "search": GridSearchCV(make_pipeline(StandardScaler(), LinearSVC()), {"linearsvc__C": [1.0]}),
}


def valid(P, K):
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    assert P.shape[1] == K
    assert (P >= 0.0).all()


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("inside", INSIDES)
@pytest.mark.parametrize("K", [2, 4])
def test_any_model_gets_valid_and_useful_probabilities(method, inside, K):
    X, y = ordinal_data(n=240, K=K)
    model = OrdinalCalibrator(INSIDES[inside], method=method).fit(X[:160], y[:160])
    P = model.predict_proba(X[160:])
    valid(P, K)
    shares = np.broadcast_to(np.bincount(y[:160]) / 160, P.shape)
    better = ranked_probability_score(y[160:], P, classes=range(K))
    assert better < 0.9 * ranked_probability_score(y[160:], shares, classes=range(K))
    assert np.isfinite(ordinal_log_loss(y[160:], P, classes=range(K)))
    np.testing.assert_array_equal(
        model.predict(X), minimum_cost_codes(model.predict_proba(X), cost_matrix("absolute", K))
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "overconfident",
    [AdaBoostOR(n_estimators=100), RandomForestClassifier(20, random_state=0)],
    ids=["boosting", "forest"],
)
def test_calibration_helps_rows_that_were_not_seen(method, overconfident):
    X, y = ordinal_data(n=1300, K=4, seed=5, noise=1.2)
    part, rest = slice(0, 500), slice(500, None)
    raw = overconfident.fit(X[part], y[part]).predict_proba(X[rest])
    model = OrdinalCalibrator(overconfident, method=method).fit(X[part], y[part])
    P = model.predict_proba(X[rest])
    # Raw probabilities may be zero; a floor makes the comparison one of numbers.
    floored = np.maximum(raw, 1e-3) / np.maximum(raw, 1e-3).sum(axis=1, keepdims=True)
    assert ordinal_log_loss(y[rest], P) < 0.95 * ordinal_log_loss(y[rest], floored)
    score = ranked_probability_score(y[rest], P)
    assert score < 0.97 * ranked_probability_score(y[rest], raw)


def test_cumulative_probabilities_fall_as_the_score_rises():
    X, y = ordinal_data(n=300)
    for inside in (LinearSVOR(), Ridge(), LinearRankSVM()):
        model = OrdinalCalibrator(inside).fit(X, y)
        fitted = model.estimator_
        f = fitted.predict_latent(X) if hasattr(fitted, "thresholds_") else fitted.predict(X)
        order = np.argsort(f)
        assert model.slope_ > 0.0
        below = np.cumsum(model.predict_proba(X)[order], axis=1)
        assert (np.diff(below, axis=0) <= 1e-12).all()
        np.testing.assert_allclose(
            below[:, :-1],
            expit(model.cutpoints_ - model.slope_ * f[order, None]),
        )


def test_isotonic_curves_over_one_score_do_not_cross():
    rng = np.random.default_rng(0)
    for _ in range(20):
        K = rng.integers(2, 7)
        s = rng.integers(0, 12, size=50) * 1.0
        codes, weights = rng.integers(0, K, size=50), rng.uniform(0.1, 2.0, size=50)
        found = calibrate_isotonic(s[:, None], codes, K, weights)
        grid = np.linspace(-1.0, 12.0, 60)
        heights = np.array([np.interp(grid, *curve) for curve in found.curves])
        assert (np.diff(heights, axis=0) <= 1e-12).all()
        assert (np.diff(heights, axis=1) >= 0.0).all()


def test_an_isotonic_curve_is_the_best_rising_one():
    from sklearn.isotonic import IsotonicRegression

    rng = np.random.default_rng(1)
    s, codes, w = rng.normal(size=80).round(1), rng.integers(0, 3, 80), rng.uniform(0.5, 2.0, 80)
    found = calibrate_isotonic(s[:, None], codes, 3, w)
    for k, curve in enumerate(found.curves):
        above = (codes > k) * 1.0
        twin = IsotonicRegression(out_of_bounds="clip").fit(s, above, sample_weight=w)
        grid = np.linspace(-4.0, 4.0, 101)
        np.testing.assert_allclose(np.interp(grid, *curve), twin.predict(grid), atol=1e-12)


def test_making_curves_valid_never_raises_the_score_of_any_row():
    rng = np.random.default_rng(2)
    K = 5
    codes = rng.integers(0, K, 200)
    scores = codes[:, None] + rng.normal(scale=3.0, size=(200, K - 1))
    found = calibrate_isotonic(scores, codes, K, np.ones(200))
    fresh = rng.normal(1.5, 3.0, size=(500, K - 1))
    crossed = np.column_stack([np.interp(fresh[:, k], *c) for k, c in enumerate(found.curves)])
    assert (np.diff(crossed, axis=1) > 0.0).any()
    # The weight of one row of class shares is next to nothing among so many.
    above = isotonic_exceedance(found._replace(mass=1e15), fresh, K)
    valid(exceedance_to_probabilities(above), K)
    for y in range(K):
        sides = y > np.arange(K - 1)
        before, after = (crossed - sides) ** 2, (above - sides) ** 2
        assert (after.sum(axis=1) <= before.sum(axis=1) + 1e-12).all()


@pytest.mark.parametrize("method", METHODS)
def test_thresholds_on_the_latent_score_are_where_probabilities_pass_one_half(method):
    X, y = ordinal_data(n=200, K=5)
    inside = make_pipeline(StandardScaler(), LinearSVOR())
    model = OrdinalCalibrator(inside, method=method).fit(X, y)
    f = model.predict_latent(X)
    np.testing.assert_allclose(f, inside.fit(X, y)[-1].predict_latent(inside[:-1].transform(X)))
    G = model.decision_function(X)
    np.testing.assert_allclose(G, f[:, None] - model.thresholds_)
    above = 1.0 - np.cumsum(model.predict_proba(X), axis=1)[:, :-1]
    clear = np.abs(above - 0.5) > 1e-9
    np.testing.assert_array_equal((G > 0.0)[clear], (above > 0.5)[clear])


@pytest.mark.parametrize("method", METHODS)
def test_useless_scores_give_the_shares_of_the_classes(method):
    rng = np.random.default_rng(0)
    X, y = np.zeros((90, 2)), rng.permutation(np.repeat([0, 1, 2], [45, 20, 25]))
    model = OrdinalCalibrator(RoundedRegressor(), method=method, cv="prefit")
    model.set_params(estimator=RoundedRegressor().fit(X, y)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X[:1]), [[0.5, 20 / 90, 25 / 90]], atol=1e-6)
    assert set(model.predict(X)) <= {0, 1}


def test_a_fitted_estimator_is_left_alone():
    X, y = ordinal_data(n=200)
    y = pd.Series(pd.Categorical.from_codes(y, WORDS, ordered=True))
    fitted = ProportionalOdds().fit(X[:100], y[:100])
    frozen = OrdinalCalibrator(FrozenEstimator(fitted)).fit(X[100:], y[100:])
    stated = OrdinalCalibrator(fitted, cv="prefit").fit(X[100:], y[100:])
    assert stated.estimator_ is fitted
    P = frozen.predict_proba(X)
    np.testing.assert_array_equal(P, stated.predict_proba(X))
    np.testing.assert_allclose(frozen.predict_latent(X), fitted.predict_latent(X))
    assert list(frozen.predict(X).categories) == WORDS.tolist()
    assert frozen.n_features_in_ == 3
    # The order of plain text is that of the fitted estimator, without a warning.
    plain = OrdinalCalibrator(FrozenEstimator(fitted)).fit(X[100:], WORDS[y[100:].cat.codes])
    np.testing.assert_array_equal(plain.predict_proba(X), P)
    with pytest.raises(NotFittedError):
        OrdinalCalibrator(ProportionalOdds(), cv="prefit").fit(X, y)


def test_a_fitted_classifier_may_lack_a_class_and_sort_its_labels():
    X, codes = ordinal_data(n=200)
    fitted = LogisticRegression().fit(X[codes != 3], WORDS[codes[codes != 3]])
    assert fitted.classes_.tolist() == ["fair", "good", "poor"]
    model = OrdinalCalibrator(fitted, cv="prefit", classes=WORDS, decision="inner")
    model.fit(X, WORDS[codes])
    assert model.classes_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(model.predict(X), fitted.predict(X))
    P = model.predict_proba(X)
    valid(P, 4)
    assert P[:, 3].min() > 0.0
    assert np.corrcoef(P @ np.arange(4), codes)[0, 1] > 0.5


def test_decisions_by_cost_and_by_the_estimator():
    X, y = ordinal_data(n=200)
    C = np.array([[0, 1, 2, 3], [5, 0, 1, 2], [10, 5, 0, 1], [15, 10, 5, 0]])
    dear = OrdinalCalibrator(cost=C).fit(X, y)
    np.testing.assert_array_equal(
        dear.predict(X), minimum_cost_codes(dear.predict_proba(X), C.astype(float))
    )
    assert dear.predict(X).mean() > OrdinalCalibrator().fit(X, y).predict(X).mean()
    assert dear.score(X, y) == pytest.approx(-C[y, dear.predict(X)].mean())
    inner = OrdinalCalibrator(LinearSVOR(), decision="inner").fit(X, y)
    own = LinearSVOR().fit(X, y)
    np.testing.assert_array_equal(inner.predict(X), own.predict(X))
    np.testing.assert_allclose(inner.decision_function(X), own.decision_function(X))
    np.testing.assert_allclose(inner.thresholds_, own.thresholds_)
    forest = OrdinalCalibrator(RandomForestClassifier(5, random_state=0), decision="inner")
    forest.fit(X, y)
    np.testing.assert_array_equal((forest.decision_function(X) > 0).sum(axis=1), forest.predict(X))
    with pytest.raises(ValueError, match=r"decision='inner' needs .* Ridge predicts scores"):
        OrdinalCalibrator(Ridge(), decision="inner").fit(X, y)


def test_frames_and_texts_go_through_to_the_estimator():
    words = ["bad", "so so", "fine", "superb"]
    texts = [f"{words[i % 4]} film {i}" for i in range(80)]
    y = np.arange(80) % 4
    model = OrdinalCalibrator(make_pipeline(CountVectorizer(), LinearSVOR())).fit(texts, y)
    np.testing.assert_array_equal(model.predict(texts), y)


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y = ordinal_data(n=150)
    w = np.random.default_rng(0).integers(0, 3, 150)
    inside = make_pipeline(StandardScaler(), ProportionalOdds())
    model = OrdinalCalibrator(inside, decision="inner").fit(X, y, sample_weight=w)
    expected = inside.fit(X, y, proportionalodds__sample_weight=w)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    with pytest.raises(ValueError, match="KNeighborsClassifier does not accept sample_weight"):
        OrdinalCalibrator(KNeighborsClassifier()).fit(X, y, sample_weight=w)


def test_a_weight_of_two_is_two_rows_where_copies_share_a_fold():
    X, y = ordinal_data(n=90)
    w = np.random.default_rng(1).integers(0, 3, 90)
    groups = np.arange(90) % 3
    splits = [(np.flatnonzero(groups != g), np.flatnonzero(groups == g)) for g in range(3)]
    copies = np.repeat(np.arange(90), w)
    repeats = [
        (np.flatnonzero(groups[copies] != g), np.flatnonzero(groups[copies] == g)) for g in range(3)
    ]
    for method in METHODS:
        once = OrdinalCalibrator(ProportionalOdds(alpha=0.1), method=method, cv=splits)
        twice = OrdinalCalibrator(ProportionalOdds(alpha=0.1), method=method, cv=repeats)
        np.testing.assert_allclose(
            once.fit(X, y, sample_weight=w).predict_proba(X),
            twice.fit(X[copies], y[copies]).predict_proba(X),
            atol=1e-6,
        )


@pytest.mark.parametrize("inside", ["latent", "chances", "regressor", "margins"])
@pytest.mark.parametrize("method", METHODS)
def test_a_class_of_one_row_and_levels_without_rows(inside, method):
    X, y = ordinal_data(n=120)
    y = np.where(y == 3, 2, y)
    y[7] = 4
    levels = [-1, 0, 1, 2, 3, 4, 9]
    model = OrdinalCalibrator(INSIDES[inside], method=method, classes=levels).fit(X, y)
    P = model.predict_proba(X)
    valid(P, 7)
    np.testing.assert_allclose(P[:, [0, 4, 6]], 0.0, atol=1e-15)
    assert P[:, 5].max() > 0.0


def test_folds_are_those_asked_for():
    X, y = ordinal_data()
    seeded = [OrdinalCalibrator(random_state=seed).fit(X, y).cutpoints_ for seed in (None, 0, 0, 1)]
    np.testing.assert_array_equal(seeded[1], seeded[2])
    assert (seeded[0] != seeded[1]).any()
    assert (seeded[1] != seeded[3]).any()
    model = OrdinalCalibrator(cv=StratifiedKFold(3)).fit(X, y)
    valid(model.predict_proba(X), 4)


def test_parameters_that_are_not_known():
    X, y = ordinal_data()
    for params, message in (
        ({"method": "sigmoid"}, "method must be 'cumulative_link' or 'isotonic'; found 'sigmoid'"),
        ({"decision": "mode"}, "decision must be 'cost' or 'inner'; found 'mode'"),
        ({"cv": 1}, "cv must be an integer of at least 2; found 1"),
        ({"cost": "cubic"}, "cost must be 'absolute'"),
    ):
        with pytest.raises(ValueError, match=message):
            OrdinalCalibrator(**params).fit(X, y)
    with pytest.raises(ValueError, match="leave only one class to learn from"):
        OrdinalCalibrator().fit(X[:3], [0, 1, 1])


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = ordinal_data(n=120)
    model = OrdinalCalibrator(LinearSVOR()).fit(X, y)
    assert hasattr(model, "slope_") and hasattr(model, "predict_latent")
    model.set_params(method="isotonic", estimator=Ridge()).fit(X, y)
    assert not hasattr(model, "slope_") and not hasattr(model, "cutpoints_")
    assert not hasattr(model, "predict_latent")
    model.set_params(method="cumulative_link").fit(X, y)
    assert not hasattr(model, "curves_")


def test_where_isotonic_curves_pass_one_half():
    def threshold(knots, heights):
        # A great mass leaves nothing to the shares.
        curve = np.array(knots), np.array(heights)
        found = IsotonicCalibration([curve], np.array([0, 1]), np.array([0.5]), 1e15)
        return isotonic_thresholds(found, 2)[0]

    assert threshold([0.0, 1.0, 3.0, 4.0], [0.1, 0.5, 0.5, 0.8]) == 2.0
    assert threshold([0.0, 2.0], [0.0, 1.0]) == pytest.approx(1.0)
    assert threshold([0.0, 2.0], [0.6, 0.9]) == -np.inf
    assert threshold([0.0, 2.0], [0.1, 0.4]) == np.inf


def test_weights_and_levels_go_through_a_search():
    X, y = ordinal_data(n=150)
    w = np.random.default_rng(0).integers(0, 3, 150)
    steps = make_pipeline(StandardScaler(), ProportionalOdds())
    search = GridSearchCV(steps, {"proportionalodds__alpha": [0.1]}, cv=3)
    model = OrdinalCalibrator(search, decision="inner").fit(X, y, sample_weight=w)
    expected = search.fit(X, y, proportionalodds__sample_weight=w)
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X))
    copy = fresh(search, classes=[0, 1, 2, 3, 4], colour="red", cost=None)
    assert copy.get_params()["estimator__proportionalodds__classes"] == [0, 1, 2, 3, 4]
    assert copy.get_params()["estimator__proportionalodds__cost"] == "absolute"
    assert search.get_params()["estimator__proportionalodds__classes"] is None


def test_rows_of_weight_zero_are_no_class_to_learn_from():
    X, y = ordinal_data(n=40, K=2)
    w = np.where(y == 0, 1.0, 0.0)
    w[np.flatnonzero(y == 1)[0]] = 1.0
    with pytest.raises(ValueError, match="leave only one class to learn from"):
        OrdinalCalibrator(LogisticRegression(), cv=StratifiedKFold(3)).fit(X, y, sample_weight=w)


class Drifting(ProportionalOdds):
    """The zero of its score is wherever the first row happens to lie; its labels are the same."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        self.drift_ = 50.0 * X[0, 0]
        self.thresholds_ = self.thresholds_ + self.drift_
        return self

    def _latent(self, X, offset=None):
        return super()._latent(X, offset) + self.drift_


@pytest.mark.parametrize("method", ["cumulative_link", "isotonic"])
def test_the_zero_of_a_latent_score_may_differ_between_folds(method):
    X, y = ordinal_data(n=200)
    steady, drifting = (
        OrdinalCalibrator(inside, method=method).fit(X, y)
        for inside in (ProportionalOdds(), Drifting())
    )
    # Folds of the steady model are shifted too, by what their own fits happen to differ.
    np.testing.assert_allclose(drifting.predict_proba(X), steady.predict_proba(X), atol=1e-8)
    assert drifting.score(X, y) == steady.score(X, y)


def test_a_ranker_whose_scores_start_anywhere_keeps_its_quality():
    X, y = ordinal_data(n=400, seed=3)
    train, test = slice(0, 200), slice(200, None)
    plain = ThresholdedRanker(RankBoost(60)).fit(X[train], y[train])
    calibrated = OrdinalCalibrator(ThresholdedRanker(RankBoost(60))).fit(X[train], y[train])
    assert calibrated.score(X[test], y[test]) > plain.score(X[test], y[test]) - 0.08


@pytest.mark.parametrize("method", ["cumulative_link", "isotonic"])
def test_one_missing_value_changes_little_around_a_stump(method):
    X, y = ordinal_data(n=200, K=4)
    model = OrdinalCalibrator(ORStump(), method=method)
    whole = model.fit(X, y)
    accuracy, thresholds = np.mean(whole.predict(X) == y), whole.thresholds_
    X[7] = np.nan
    model.fit(X, y)
    np.testing.assert_allclose(model.thresholds_, thresholds, atol=0.3)
    assert np.mean(model.predict(X) == y) > accuracy - 0.05
    assert np.isfinite(model.predict_proba(X)).all()


def test_scores_that_are_not_finite_are_refused():
    class Broken(RegressorMixin, BaseEstimator):
        def fit(self, X, y):
            self.is_fitted_ = True
            return self

        def predict(self, X):
            return np.where(np.arange(len(X)) == 0, np.inf, X[:, 0])

    X, y = ordinal_data(n=50, K=3)
    with pytest.raises(ValueError, match=r"must be finite; found .* in 1 of 50 ro"):
        OrdinalCalibrator(Broken()).fit(X, y)
