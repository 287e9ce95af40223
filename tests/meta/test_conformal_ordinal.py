import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import ordinal_data

from echelon import GPOR, AdaBoostOR, LinearSVOR, OrdinalReduction, ProportionalOdds
from echelon.base.reading import FittedModel
from echelon.meta.calibration import OrdinalCalibrator
from echelon.meta.conformal import ConformalOrdinal, CoverageWarning, nonconformity_scores
from echelon.ordinal.labels import OrdinalScale

WORDS = ["poor", "fair", "good", "great"]


def estimator_coverage(make, draws, n, test=40, K=4, by_class=False, seed=0):
    shares, per_class = [], []
    X, y = ordinal_data(n=draws * (n + test), K=K, seed=seed)
    for t in range(draws):
        part = slice(t * (n + test), (t + 1) * (n + test))
        Xt, yt = X[part], y[part]
        model = make(t).fit(Xt[:n], yt[:n])
        low, high = model.predict_interval(Xt[n:])
        inside = (low <= yt[n:]) & (yt[n:] <= high)
        shares.append(inside.mean())
        per_class.append([inside[yt[n:] == k].mean() for k in range(K)] if by_class else 0.0)
    return np.mean(shares), np.mean(per_class, axis=0)


@pytest.mark.filterwarnings("ignore::echelon.meta.CoverageWarning")
@pytest.mark.parametrize(
    "params",
    [
        {"estimator": ProportionalOdds(alpha=1.0)},
        {"estimator": LinearSVOR()},
        {"estimator": ProportionalOdds(alpha=1.0), "method": "cross"},
        {"estimator": RandomForestClassifier(5, max_depth=3, random_state=0)},
    ],
    ids=["probabilities", "margins", "cross", "forest"],
)
def test_the_estimator_covers_what_it_promises(params):
    draws = 60
    mean, _ = estimator_coverage(
        lambda t: ConformalOrdinal(confidence=0.8, random_state=t, **params), draws, n=100
    )
    # A draw's coverage of 40 rows has a standard deviation below 0.1.
    assert 0.8 - 3.5 * 0.1 / np.sqrt(draws) <= mean <= 0.93


def test_every_class_is_covered_where_asked():
    params = {"estimator": ProportionalOdds(alpha=1.0), "confidence": 0.8}
    for method in ("split", "cross"):
        _, each = estimator_coverage(
            lambda t, m=method: ConformalOrdinal(
                per_class=True, calibration_size=0.4, method=m, cv=3, random_state=t, **params
            ),
            25,
            n=160,
            test=120,
            by_class=True,
        )
        # The standard deviation of a class's coverage in a draw is below 0.15.
        assert (each >= 0.8 - 3.5 * 0.15 / 5.0).all(), method


@pytest.mark.parametrize("per_class", [False, True])
@pytest.mark.parametrize("method", ["split", "cross"])
@pytest.mark.parametrize("inside", [ProportionalOdds(), LinearSVOR(), RidgeClassifier()])
def test_intervals_contain_the_prediction_and_grow_with_the_confidence(inside, method, per_class):
    X, y = ordinal_data(n=300)
    model = ConformalOrdinal(inside, 0.7, method=method, per_class=per_class, random_state=0).fit(
        X, y
    )
    codes = model.predict(X)
    before = codes, codes
    for confidence in (0.3, 0.5, 0.7, 0.8):
        low, high = model.predict_interval_codes(X, confidence)
        assert (low <= before[0]).all()
        assert (before[1] <= high).all()
        before = low, high
    own = model.predict_interval_codes(X)
    np.testing.assert_array_equal(own, model.predict_interval_codes(X, 0.7))
    assert 1.0 <= model.mean_size_ < 4.0
    assert 0.65 <= model.coverage_ <= 1.0


def test_everything_else_is_the_estimator_inside():
    X, y = ordinal_data(n=200)
    inside = make_pipeline(StandardScaler(), ProportionalOdds())
    model = ConformalOrdinal(inside, method="cross", random_state=0).fit(X, y)
    own = inside.fit(X, y)
    np.testing.assert_array_equal(model.predict(X), own.predict(X))
    np.testing.assert_allclose(model.predict_proba(X), own.predict_proba(X))
    np.testing.assert_allclose(model.decision_function(X), own.decision_function(X))
    np.testing.assert_allclose(model.thresholds_, own[-1].thresholds_)
    np.testing.assert_allclose(
        model.predict_latent(X), own[-1].predict_latent(own[:-1].transform(X))
    )
    assert len(model.estimators_) == 5
    assert not hasattr(ConformalOrdinal(LinearSVOR()).fit(X, y), "predict_proba")
    assert not hasattr(ConformalOrdinal(AdaBoostOR(n_estimators=3)).fit(X, y), "predict_latent")


def test_score_follows_the_cost_of_the_estimator_inside():
    X, y = ordinal_data(n=80)
    model = ConformalOrdinal(GPOR(inference="laplace"), 0.8, random_state=0).fit(X, y)
    assert model.cost == "zero_one"
    assert model.score(X, y) == pytest.approx(-(model.predict(X) != y).mean())


def test_a_fitted_estimator_calibrates_on_all_rows():
    X, codes = ordinal_data(n=200)
    y = pd.Series(pd.Categorical.from_codes(codes, WORDS, ordered=True))
    fitted = ProportionalOdds().fit(X[:100], y[:100])
    frozen = ConformalOrdinal(FrozenEstimator(fitted)).fit(X[100:], y[100:])
    stated = ConformalOrdinal(fitted, method="prefit").fit(X[100:], y[100:])
    assert len(stated.calibration_scores_[0]) == 100
    low, high = stated.predict_interval(X)
    assert isinstance(low, pd.Categorical)
    assert (low <= high).all()
    np.testing.assert_array_equal(low.codes, frozen.predict_interval_codes(X)[0])
    assert stated.estimator_ is fitted
    nominal = LogisticRegression().fit(X[:100], np.array(WORDS)[codes[:100]])
    model = ConformalOrdinal(nominal, method="prefit", classes=WORDS)
    low, high = model.fit(X[100:], np.array(WORDS)[codes[100:]]).predict_interval(X)
    assert set(low) | set(high) <= set(WORDS)


def test_labels_of_intervals_have_the_type_that_came_in():
    X, codes = ordinal_data()
    y = pl.Series([WORDS[c] for c in codes], dtype=pl.Enum(WORDS))
    low, high = ConformalOrdinal(random_state=0).fit(X, y).predict_interval(X)
    assert low.dtype == high.dtype == pl.Enum(WORDS)
    numbers = ConformalOrdinal(random_state=0).fit(X, codes * 10).predict_interval(X)
    np.testing.assert_array_equal(low.to_physical(), numbers[0] // 10)
    np.testing.assert_array_equal(high.to_physical(), numbers[1] // 10)


def test_two_classes():
    X, y = ordinal_data(n=200, K=2)
    low, high = ConformalOrdinal(confidence=0.95, random_state=0).fit(X, y).predict_interval(X)
    assert set(zip(low.tolist(), high.tolist(), strict=True)) == {(0, 0), (0, 1), (1, 1)}


def test_levels_without_rows_and_rare_classes():
    X, y = ordinal_data(n=200)
    levels = [-1, 0, 1, 2, 3, 4]
    model = ConformalOrdinal(classes=levels, random_state=0).fit(X, y)
    low, high = model.predict_interval(X)
    assert (low <= high).all()
    y = np.where((y == 3) & (np.cumsum(y == 3) > 8), 2, y)
    rare = ConformalOrdinal(classes=levels, per_class=True, random_state=0)
    with pytest.warns(CoverageWarning, match=r"needs 9 calibration rows of each; .*: 3 \(2\)"):
        rare.fit(X, y)
    # A class that cannot be ruled out is in every interval; levels never seen are in none.
    low, high = rare.predict_interval(X)
    assert (high == 3).all()
    assert low.min() >= 0


def test_too_few_rows_keep_every_label():
    X, y = ordinal_data(n=40)
    with pytest.warns(CoverageWarning, match="0.99 needs 99 calibration rows; found 10") as seen:
        model = ConformalOrdinal(confidence=0.99, random_state=0).fit(X, y)
    assert seen[0].filename == __file__
    low, high = model.predict_interval(X)
    assert (low == 0).all()
    assert (high == 3).all()


def test_seeds_deal_the_rows():
    X, y = ordinal_data(n=200)
    first, again, other = (
        ConformalOrdinal(random_state=seed).fit(X, y).calibration_scores_[0] for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    counted = ConformalOrdinal(random_state=0, calibration_size=30).fit(X, y)
    assert len(counted.calibration_scores_[0]) == 30
    by_class = ConformalOrdinal(random_state=0, per_class=True, confidence=0.8).fit(X, y)
    assert np.ptp(np.bincount(by_class.calibration_codes_[0])) <= 1


def test_rows_of_weight_zero_do_not_calibrate():
    X, y = ordinal_data(n=200)
    w = np.repeat([1.0, 0.0], 100)
    model = ConformalOrdinal(method="cross", random_state=0).fit(X, y, sample_weight=w)
    assert sum(map(len, model.calibration_scores_)) == 100
    half = ConformalOrdinal(method="cross", random_state=0).fit(X[:100], y[:100])
    np.testing.assert_allclose(
        np.concatenate(model.calibration_scores_), np.concatenate(half.calibration_scores_)
    )


def test_a_calibrated_model_inside():
    X, y = ordinal_data(n=900)
    model = ConformalOrdinal(OrdinalCalibrator(LinearSVOR()), 0.8, random_state=0)
    low, high = model.fit(X[:600], y[:600]).predict_interval(X[600:])
    # With 150 calibration rows and 300 others the standard deviation is 0.04.
    assert ((low <= y[600:]) & (y[600:] <= high)).mean() > 0.66
    assert model.mean_size_ < 3.0


def test_saved_without_pickle_it_answers_the_same(tmp_path):
    io = pytest.importorskip("skops.io")
    X, y = ordinal_data(n=120)
    model = ConformalOrdinal(
        OrdinalCalibrator(LinearSVOR(), method="isotonic"), method="cross", cv=2, random_state=0
    ).fit(X, y)
    path = tmp_path / "model.skops"
    io.dump(model, path)
    again = io.load(path, trusted=io.get_untrusted_types(file=path))
    np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))
    np.testing.assert_allclose(again.predict_proba(X), model.predict_proba(X))
    assert not any("function" in name for name in io.get_untrusted_types(file=path))


def test_parameters_that_are_not_known():
    X, y = ordinal_data()
    for params, message in (
        ({"method": "jackknife"}, "method must be 'split', 'cross' or 'prefit'"),
        ({"confidence": 1.0}, r"confidence must be a number between 0 and 1; found 1\.0"),
        ({"calibration_size": 1.5}, "calibration_size must be a share"),
        ({"estimator": Ridge()}, "Ridge predicts numbers: put a regressor into RoundedRegressor"),
        ({"method": "cross", "cv": 1}, "cv must be an integer of at least 2"),
    ):
        with pytest.raises(ValueError, match=message):
            ConformalOrdinal(**params).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = ConformalOrdinal(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="confidence must be a number"):
        model.predict_interval(X, 90)


def test_rows_are_dealt_without_a_look_at_labels_unless_by_class():
    X, y = ordinal_data(n=120)

    def counts(seed, **params):
        model = ConformalOrdinal(confidence=0.6, random_state=seed, **params).fit(X, y)
        return [np.bincount(codes, minlength=4) for codes in model.calibration_codes_]

    for params in ({"calibration_size": 40}, {"method": "cross", "cv": 3}):
        free = np.array([counts(seed, **params) for seed in range(4)])
        even = np.array([counts(seed, per_class=True, **params) for seed in range(4)])
        assert np.ptp(free, axis=(0, 1)).max() > 2
        assert np.ptp(even, axis=(0, 1)).max() <= 1


def test_a_model_of_labels_alone_counts_ranks():
    class Labels(ClassifierMixin, BaseEstimator):
        classes_ = np.arange(5)

        def predict(self, X):
            return np.asarray(X)[:, 0].astype(int)

    scores, predicted = nonconformity_scores(
        FittedModel(Labels(), OrdinalScale(np.arange(5))), [[0.0], [3.0]]
    )
    np.testing.assert_array_equal(predicted, [0, 3])
    away = np.abs(np.arange(5) - predicted[:, None])
    np.testing.assert_array_equal(scores, np.where(away > 0, away - 0.5, 0.0))


def test_every_judge_needs_its_own_rows():
    X, y = ordinal_data(n=40)
    with pytest.warns(CoverageWarning, match=r"0\.9 needs 45 calibration rows; found 40"):
        ConformalOrdinal(method="cross", random_state=0).fit(X, y)


def test_rows_of_weight_zero_do_not_calibrate_a_fitted_estimator():
    X, y = ordinal_data(n=150)
    fitted = ProportionalOdds().fit(X[:50], y[:50])
    w = np.repeat([0.0, 2.0], 75)
    model = ConformalOrdinal(fitted, method="prefit").fit(X, y, sample_weight=w)
    alone = ConformalOrdinal(fitted, method="prefit").fit(X[75:], y[75:])
    np.testing.assert_array_equal(model.calibration_scores_[0], alone.calibration_scores_[0])


def test_rows_must_be_left_to_learn_from():
    X, y = ordinal_data(n=40)
    for size in (1.0, 40, 39):
        with pytest.raises(ValueError, match="leave only one class to learn from"):
            ConformalOrdinal(calibration_size=size, random_state=0).fit(X, y)


def test_a_second_fit_leaves_nothing_of_the_first():
    X, y = ordinal_data(n=120)
    model = ConformalOrdinal(ProportionalOdds(), method="cross", cv=2, random_state=0).fit(X, y)
    assert hasattr(model, "thresholds_") and len(model.estimators_) == 2
    model.set_params(estimator=AdaBoostOR(n_estimators=2), method="split").fit(X, y)
    assert not hasattr(model, "thresholds_") and model.estimators_ == []


def test_a_class_that_the_average_hides_is_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2000, 1))
    y = (x[:, 0] + rng.logistic(size=2000) > 0.0).astype(int)
    # Few rows are of a class that the inputs do not tell.
    y[rng.permutation(2000)[:60]] = 2
    with pytest.warns(CoverageWarning, match=r"of the labels '2' .*per_class=True"):
        model = ConformalOrdinal(random_state=0).fit(x, y)
    codes = model.calibration_codes_[0]
    assert model.coverage_ >= 0.9
    assert model.coverage_by_class_[2] < 0.5
    together = model.coverage_by_class_ @ np.bincount(codes) / len(codes)
    assert together == pytest.approx(model.coverage_)
    fair = ConformalOrdinal(random_state=0, per_class=True).fit(x, y)
    assert fair.coverage_by_class_.min() >= 0.9


@pytest.mark.filterwarnings("ignore::echelon.meta.conformal.CoverageWarning")
def test_rows_of_new_groups_are_covered_as_promised():
    covered: dict[bool, list[float]] = {True: [], False: []}
    for seed in range(12):
        rng = np.random.default_rng(seed)
        groups = np.repeat(np.arange(44), 8)
        # The first column tells groups apart, and nothing of new ones.
        X = np.column_stack([rng.normal(size=44)[groups], rng.normal(size=len(groups))])
        noise = 1.5 * rng.normal(size=44)[groups] + 0.3 * rng.normal(size=len(groups))
        y = np.digitize(X[:, 1] + noise, [-1, 0, 1])
        old = groups < 40
        for whole, shares in covered.items():
            trees = OrdinalReduction(RandomForestClassifier(20, random_state=0))
            model = ConformalOrdinal(trees, 0.8, calibration_size=0.5, random_state=seed)
            model.fit(X[old], y[old], groups=groups[old] if whole else None)
            low, high = model.predict_interval(X[~old])
            shares.append(float(np.mean((low <= y[~old]) & (y[~old] <= high))))
    assert np.mean(covered[True]) > 0.8 - 2 * 0.05
    assert np.mean(covered[False]) < 0.7


def test_a_group_counts_as_one_calibration_row():
    X, y = ordinal_data(n=200)
    fitted = ProportionalOdds().fit(X[:100], y[:100])
    alone = ConformalOrdinal(fitted, method="prefit").fit(X[100:], y[100:])
    twice = np.repeat(np.arange(100, 200), 3)
    grouped = ConformalOrdinal(fitted, method="prefit").fit(X[twice], y[twice], groups=twice)
    assert grouped.calibration_weights_[0].sum() == pytest.approx(100)
    for left, right in zip(alone.predict_interval(X), grouped.predict_interval(X), strict=True):
        np.testing.assert_array_equal(left, right)
    with pytest.warns(CoverageWarning, match=r"needs 9 calibration groups; found 5"):
        ConformalOrdinal(fitted, method="prefit").fit(X[:100], y[:100], groups=np.arange(100) // 20)


def test_groups_and_times_reach_a_calibrated_model_inside():
    X, y = ordinal_data(n=240)
    groups, times = np.arange(240) % 40, np.arange(240) // 12
    inside = OrdinalCalibrator(ProportionalOdds(alpha=1.0), random_state=0)
    plain = ConformalOrdinal(inside, random_state=0).fit(X, y)
    for known in ({"groups": groups}, {"time": times}, {"groups": groups, "time": times}):
        model = ConformalOrdinal(inside, random_state=0).fit(X, y, **known)
        assert model.estimator_.slope_ != plain.estimator_.slope_
        assert len(model.calibration_codes_[0]) in range(40, 81)
    cross = ConformalOrdinal(inside, method="cross", cv=4, random_state=0).fit(X, y, time=times)
    # The first window has nothing before it, and calibrates nothing.
    assert sum(map(len, cross.calibration_codes_)) == 240 - 48
