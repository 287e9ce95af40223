import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.data import ordinal_data
from support.ordinal import weighted_median

from echelon import SVOR, AdaBoostOR, LinearSVOR, ORStump, ProportionalOdds
from echelon.datasets import load_era
from echelon.ordinal.costs import cost_matrix

ASYMMETRIC = np.array([[0, 1, 5, 5], [2, 0, 1, 4], [2, 2, 0, 0.5], [9, 4, 1, 0]])


def normalised_cost(model, X, y, cost):
    """Training cost as a share of that of both ends of the scale."""
    C = cost_matrix(cost, len(model.classes_))
    return -model.score(X, y) * len(y) / (C[y, 0] + C[y, -1]).sum()


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one", ASYMMETRIC])
def test_every_cost_trains_within_its_bound(cost):
    X, y = ordinal_data(n=200)
    model = AdaBoostOR(cost=cost, n_estimators=60).fit(X, y)
    for stage, bound in zip(model.staged_score(X, y), model.bound_, strict=True):
        C = cost_matrix(cost, 4)
        assert -stage * len(y) / (C[y, 0] + C[y, -1]).sum() <= bound + 1e-12
    assert normalised_cost(model, X, y, cost) < 0.85 * model.estimator_errors_[0]


@pytest.mark.parametrize("cost", ["squared", ASYMMETRIC])
def test_scaling_a_cost_changes_nothing(cost):
    X, y = ordinal_data()
    C = cost_matrix(cost, 4)
    one = AdaBoostOR(cost=C, n_estimators=25).fit(X, y)
    two = AdaBoostOR(cost=1e6 * C, n_estimators=25).fit(X, y)
    np.testing.assert_allclose(one.estimator_errors_, two.estimator_errors_)
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=1e-9)
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)


def test_prediction_is_the_weighted_median_of_the_rankers():
    X, y = ordinal_data()
    model = AdaBoostOR(n_estimators=40).fit(X, y)
    votes = np.stack([member.predict(X) for member in model.estimators_], axis=1)
    expected = weighted_median(votes, model.estimator_weights_)
    np.testing.assert_array_equal(model.predict(X), expected)
    *_, last = model.staged_predict(X)
    np.testing.assert_array_equal(last, expected)


def test_stages_are_models_of_fewer_rounds():
    X, y = ordinal_data()
    model = AdaBoostOR(n_estimators=12).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.estimators_) == 12
    shorter = AdaBoostOR(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(stages[4], shorter.predict(X))
    assert list(model.staged_score(X, y))[4] == pytest.approx(shorter.score(X, y))


@pytest.mark.parametrize(
    ("estimator", "conversion"),
    [
        (LinearSVOR(C=0.01), "auto"),
        (SVOR(C=0.1), "cost"),
        (ORStump(), "cost"),
        (ProportionalOdds(), "weight"),
        (DecisionTreeClassifier(max_depth=2), "weight"),
        (LinearRegression(), "weight"),
        (GaussianNB(), "auto"),
        (ProportionalOdds(), "resample"),
        (KNeighborsClassifier(15), "resample"),
        (make_pipeline(StandardScaler(), LogisticRegression(C=0.01)), "auto"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else value,
)
def test_any_estimator_is_boosted(estimator, conversion):
    X, y = ordinal_data(n=150)
    model = AdaBoostOR(estimator, 8, conversion=conversion, random_state=0).fit(X, y)
    assert (model.estimator_errors_ < 0.5).all()
    assert normalised_cost(model, X, y, "absolute") <= model.bound_[-1]
    assert (np.diff(model.bound_) < 0).all()


def test_costs_reach_stumps_the_same_way_by_signed_weights_and_by_costs():
    X, y = ordinal_data()

    class Plain(ProportionalOdds):
        """A stump behind the interface of an estimator that takes costs."""

        def fit(self, X, y, sample_cost=None):
            self.inner_ = ORStump(classes=self.classes).fit(X, y, sample_cost=sample_cost)
            return self

        def predict(self, X):
            return self.inner_.predict(X)

    fast = AdaBoostOR(n_estimators=20).fit(X, y)
    slow = AdaBoostOR(Plain(), 20).fit(X, y)
    np.testing.assert_allclose(fast.estimator_errors_, slow.estimator_errors_)
    np.testing.assert_array_equal(fast.predict(X), slow.predict(X))


def test_a_perfect_ranker_stands_alone():
    X = np.arange(9.0)[:, None]
    y = np.repeat([1, 2, 3], 3)
    model = AdaBoostOR(n_estimators=50).fit(X, y)
    assert len(model.estimators_) == 1
    assert model.bound_.tolist() == [0.0] and model.estimator_weights_.tolist() == [1.0]
    assert model.predict(X).tolist() == y.tolist()
    assert np.isfinite(model.predict_proba(X)).all()


class Contrary(DecisionTreeClassifier):
    """Gives the rank at the wrong end."""

    def predict(self, X):
        return np.where(super().predict(X) > 1, 0, 3)


def test_a_ranker_worse_than_chance_leaves_the_best_constant():
    X, y = ordinal_data()
    with pytest.warns(ConvergenceWarning, match="best constant rank stands alone"):
        model = AdaBoostOR(Contrary(), 5, random_state=0).fit(X, y)
    assert len(np.unique(model.predict(X))) == 1
    assert normalised_cost(model, X, y, "absolute") <= model.bound_[-1]


def test_all_zero_costs_give_the_middle_rank():
    X, y = ordinal_data()
    model = AdaBoostOR().fit(X, y, sample_cost=np.zeros((len(y), 4)))
    assert model.bound_.tolist() == [0.0]
    assert set(model.predict(X)) == {1}


def test_capacity_is_the_least_value_that_reaches_the_target():
    X, y = ordinal_data()
    values = [2.0**p for p in range(-12, 14, 2)]
    model = AdaBoostOR(SVOR(), 4, capacity={"C": values}, target_error=0.2).fit(X, y)
    first = model.estimators_[0].C
    assert (model.estimator_errors_ <= 0.2).all()
    weaker = values[values.index(first) - 1]
    alone = AdaBoostOR(SVOR(C=weaker), 1).fit(X, y)
    assert alone.estimator_errors_[0] > 0.2
    unreachable = AdaBoostOR(SVOR(), 1, capacity={"C": values}, target_error=1e-9).fit(X, y)
    best = min(AdaBoostOR(SVOR(C=C), 1).fit(X, y).estimator_errors_[0] for C in values)
    assert unreachable.estimator_errors_[0] == pytest.approx(best)


def test_held_out_rows_stop_it_at_their_least_cost():
    X, y = ordinal_data(n=400, noise=1.5)
    model = AdaBoostOR(
        n_estimators=400, n_iter_no_change=15, validation_fraction=0.3, random_state=0
    ).fit(X, y)
    rounds = len(model.estimators_)
    assert rounds < 400
    assert len(model.validation_costs_) == rounds + 15
    assert rounds - 1 == np.argmin(model.validation_costs_)


def test_importances_are_shares_of_the_weights():
    X, y = ordinal_data()
    X = np.column_stack([X, np.zeros(len(X))])
    model = AdaBoostOR(n_estimators=30).fit(X, y)
    expected = np.bincount(
        [member.feature_ for member in model.estimators_], model.estimator_weights_, minlength=4
    )
    expected /= model.estimator_weights_.sum()
    np.testing.assert_allclose(model.feature_importances_, expected)
    assert model.feature_importances_[3] == 0.0
    with pytest.raises(AttributeError):
        _ = AdaBoostOR(ProportionalOdds(), 2).fit(X, y).feature_importances_


def test_missing_values_and_threads():
    X, y = ordinal_data(n=300)
    X[::7, 0] = np.nan
    one = AdaBoostOR(n_estimators=40).fit(X, y)
    two = AdaBoostOR(n_estimators=40, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(one.decision_function(X), two.decision_function(X))
    assert normalised_cost(one, X, y, "absolute") <= one.bound_[-1]


@pytest.mark.parametrize("cost", ["absolute", "squared", "zero_one"])
def test_probabilities_are_near_the_truth(cost):
    rng = np.random.default_rng(3)
    truth = np.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    X = rng.integers(0, 2, size=4000)
    y = (rng.random(4000)[:, None] > truth[X].cumsum(axis=1)).sum(axis=1)
    # Weights only grow, so a full step that gives two ranks too much apart is never taken back.
    model = AdaBoostOR(cost=cost, n_estimators=500, learning_rate=0.1)
    model.fit(X[:, None].astype(float), y)
    np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), truth, atol=0.04)


def test_rounding_makes_no_probability_negative():
    X, y = load_era(return_X_y=True)
    P = AdaBoostOR().fit(X, y).predict_proba(X)
    assert (P >= 0.0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_estimators": 0}, "n_estimators must be an integer of at least 1"),
        ({"learning_rate": 0.0}, "learning_rate must be a positive number"),
        ({"conversion": "guess"}, "conversion must be 'auto', 'cost', 'weight' or 'resample'"),
        ({"conversion": "cost"}, "conversion='cost' needs an estimator whose fit accepts"),
        ({"capacity": {"C": [1], "tol": [1]}}, "capacity must be a dict with one parameter"),
        ({"capacity": {"C": []}}, "capacity must be a dict with one parameter"),
        ({"capacity": {"C": 3.0}}, "capacity must be a dict with one parameter"),
        ({"n_iter_no_change": 0}, "n_iter_no_change must be an integer"),
        ({"n_iter_no_change": 1, "validation_fraction": 2}, "validation_fraction must lie between"),
    ],
)
def test_bad_parameters_get_a_sentence(parameters, message):
    X, y = ordinal_data()
    with pytest.raises(ValueError, match=message):
        AdaBoostOR(ProportionalOdds(), **parameters).fit(X, y)


def test_unknown_levels_stay_on_the_scale():
    X, y = ordinal_data(K=3)
    model = AdaBoostOR(n_estimators=10, classes=[-1, 0, 1, 2, 5]).fit(X, y)
    assert model.classes_.tolist() == [-1, 0, 1, 2, 5]
    assert model.predict_proba(X).shape == (len(X), 5)
    assert set(model.predict(X)) <= {0, 1, 2}


def test_machines_are_those_of_separate_fits_on_costs():
    X, y = ordinal_data()
    machine = SVOR(C=0.5, regularize_thresholds="offset", tol=1e-8)
    asked = AdaBoostOR(machine, 4).fit(X, y)

    class Plain(SVOR):
        """The same machine, asked through the interface of estimators that take costs."""

        _free_parameters = frozenset()

    separate = AdaBoostOR(Plain(regularize_thresholds="offset", tol=1e-8), 4, capacity={"C": [0.5]})
    separate.fit(X, y)
    np.testing.assert_allclose(asked.estimator_errors_, separate.estimator_errors_, rtol=1e-6)
    np.testing.assert_allclose(
        asked.estimators_[-1].thresholds_, separate.estimators_[-1].thresholds_, atol=1e-4
    )
    assert all(member.kkt_gap_ <= 1e-8 for member in asked.estimators_)
    np.testing.assert_array_equal(asked.predict(X), separate.predict(X))


def test_machines_with_explicit_constraints_take_weights_instead_of_costs():
    X, y = ordinal_data()
    machine = SVOR(C=0.1, constraints="explicit")
    with pytest.raises(ValueError, match="boosting by costs needs constraints='implicit'"):
        AdaBoostOR(machine, 2).fit(X, y)
    model = AdaBoostOR(machine, 2, conversion="weight").fit(X, y)
    assert normalised_cost(model, X, y, "absolute") <= model.bound_[-1]


def test_sparse_inputs_reach_machines():
    X, y = ordinal_data()
    machine = SVOR(C=0.5, kernel="linear", tol=1e-6)
    dense = AdaBoostOR(machine, 3).fit(X, y)
    sparse = AdaBoostOR(machine, 3).fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(dense.predict(X), sparse.predict(sp.csr_array(X)))
