"""Scorers: the scale they use, the response they ask for, and scikit-learn's model selection."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from echelon import metrics
from echelon.metrics import cost_scorer, get_scorer, scorer_names

PROBABILITY = ("neg_ranked_probability_score", "neg_ordinal_log_loss")
BY_LABELS = [name for name in scorer_names() if name not in (*PROBABILITY, "concordance_index")]


class Margins(ClassifierMixin, BaseEstimator):
    """An ordinal model of the first column with fixed thresholds; counts its calls."""

    def __init__(self, classes=(1, 2, 3), latent=False):
        self.classes = classes
        self.latent = latent

    def fit(self, X, y=None):
        self.classes_ = np.asarray(self.classes)
        self.calls_ = []
        return self

    def decision_function(self, X):
        self.calls_.append("decision_function")
        return np.asarray(X)[:, :1] - np.arange(len(self.classes_) - 1)

    def predict(self, X):
        self.calls_.append("predict")
        margins = np.asarray(X)[:, :1] - np.arange(len(self.classes_) - 1)
        return self.classes_[(margins > 0).sum(axis=1)]


class Latent(Margins):
    """The same with a latent score that runs against the margins, to tell the two apart."""

    def predict_latent(self, X):
        return -np.asarray(X)[:, 0]


@pytest.fixture
def data():
    generator = np.random.default_rng(11)
    X = generator.normal(size=(240, 2))
    y = 10 * np.digitize(X[:, 0] + generator.normal(size=240) / 2, [-1, 0, 1])
    return X, y, generator.integers(0, 4, 240)


def expected_score(name, model, X, y, **kwargs):
    """The metric of the same name on what the model says, with the sign of the name."""
    sign = -1 if name.startswith("neg_") else 1
    metric = getattr(metrics, name.removeprefix("neg_"))
    if name in PROBABILITY:
        response = model.predict_proba(X)
    else:
        response = model.predict(X)
    return sign * metric(y, response, classes=model.classes_, **kwargs)


@pytest.mark.parametrize("name", scorer_names())
def test_a_scorer_is_its_metric(name, data):
    X, y, weights = data
    model = LogisticRegression().fit(X, y)
    scorer = get_scorer(name)
    assert scorer(model, X, y) == expected_score(name, model, X, y)
    assert scorer(model, X, y, sample_weight=weights) == expected_score(
        name, model, X, y, sample_weight=weights
    )
    assert np.isfinite(scorer(model, X, y))


@pytest.mark.parametrize("name", scorer_names())
def test_better_predictions_score_higher(name, data):
    X, y, _ = data
    good, bad = LogisticRegression().fit(X, y), LogisticRegression().fit(X, 30 - y)
    assert get_scorer(name)(good, X, y) > get_scorer(name)(bad, X, y)


@pytest.mark.parametrize("name", scorer_names())
def test_pipelines_and_searches_forward_their_classes(name, data):
    X, y, _ = data
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    search = GridSearchCV(pipeline, {"logisticregression__C": [1.0]}, cv=2).fit(X, y)
    middle = (y == 10) | (y == 30)
    expected = expected_score(name, pipeline, X[middle], y[middle])
    assert get_scorer(name)(pipeline, X[middle], y[middle]) == expected
    assert get_scorer(name)(search, X[middle], y[middle]) == expected


def test_a_fold_without_a_class_is_scored_on_the_whole_scale():
    model = DummyClassifier(strategy="constant", constant=3).fit(np.zeros((3, 1)), [1, 2, 3])
    X = np.zeros((2, 1))
    assert get_scorer("neg_mean_absolute_rank_error")(model, X, [1, 1]) == -2
    # The labels alone would give a scale of two classes, one rank apart.
    assert metrics.mean_absolute_rank_error([1, 1], model.predict(X)) == 1


def test_a_number_that_training_lacked_takes_its_place():
    model = DummyClassifier(strategy="prior").fit(np.zeros((4, 1)), [1, 1, 4, 4])
    X = np.zeros((2, 1))
    assert get_scorer("neg_mean_absolute_rank_error")(model, X, [2, 3]) == -1.5
    assert get_scorer("neg_ordinal_log_loss")(model, X, [2, 4]) == -np.inf
    # F = ½ at all three thresholds, so every row pays ¾ of three.
    assert get_scorer("neg_ranked_probability_score")(model, X, [2, 3]) == -0.25


def test_an_order_that_the_labels_state_beats_sorted_classes():
    order = ["poor", "fair", "good"]
    y = pd.Series(pd.Categorical(["poor", "fair", "good", "good"], order, ordered=True))
    X = np.array([[0.0], [1.0], [2.0], [2.1]])
    model = LogisticRegression(C=1e4).fit(X, y)
    assert model.classes_.tolist() == sorted(order)
    swapped = y.iloc[[2, 1, 0, 0]]
    assert get_scorer("neg_mean_absolute_rank_error")(model, X, swapped) == -1.5
    p = model.predict_proba(X)[:, [2, 0, 1]]
    for name in PROBABILITY:
        metric = getattr(metrics, name.removeprefix("neg_"))
        assert get_scorer(name)(model, X, swapped) == -metric(swapped, p)
    assert get_scorer("concordance_index")(model, X, swapped) == 0


def test_an_order_that_the_estimator_knows_beats_the_labels():
    model = Margins(classes=["low", "mid", "high"]).fit(None)
    y = pd.Categorical(["low", "high"], ["high", "low", "mid"], ordered=True)
    X = [[-1.0], [0.5]]
    assert get_scorer("neg_mean_absolute_rank_error")(model, X, y) == -0.5


def test_classes_of_the_scorer_win():
    model = LogisticRegression(C=1e4).fit([[0], [1], [2]], ["low", "mid", "top"])
    arguments = (model, [[0], [2]], ["top", "top"])
    assert get_scorer("neg_mean_absolute_rank_error")(*arguments) == -1
    other = get_scorer("neg_mean_absolute_rank_error", classes=["low", "top", "mid"])
    assert other(*arguments) == -0.5


def test_a_text_label_outside_the_estimators_scale_is_an_error():
    model = DummyClassifier().fit(np.zeros((2, 1)), ["a", "b"])
    with pytest.raises(ValueError, match="y_true has labels outside the scale: c"):
        get_scorer("quadratic_weighted_kappa")(model, np.zeros((1, 1)), ["c"])


def test_an_estimator_of_one_class():
    model = DummyClassifier().fit(np.zeros((2, 1)), [7, 7])
    X = np.zeros((2, 1))
    assert get_scorer("quadratic_weighted_kappa")(model, X, [7, 7]) == 1.0
    assert get_scorer("neg_ordinal_log_loss")(model, X, [7, 7]) == 0.0
    assert get_scorer("neg_mean_absolute_rank_error")(model, X, [7, 8]) == -0.5


def test_an_estimator_without_classes_is_scored_by_its_labels():
    X = np.arange(4.0)[:, None]
    model = LinearRegression().fit(X, [1, 2, 3, 4])
    assert get_scorer("concordance_index")(model, X, [1, 2, 4, 3]) == pytest.approx(5 / 6)


def test_two_classes_keep_small_probabilities():
    class Certain(Margins):
        def predict_proba(self, X):
            return np.tile([1e-20, 1.0], (len(X), 1))

    model = Certain(classes=(1, 2)).fit(None)
    assert get_scorer("neg_ordinal_log_loss")(model, [[0.0]], [1]) == np.log(1e-20)


class TestConcordance:
    X = np.array([[-3.0], [-2.0], [0.5], [3.0]])
    y = np.array([1, 2, 2, 3])

    def test_latent_score_first(self):
        assert get_scorer("concordance_index")(Latent().fit(None), self.X, self.y) == 0

    def test_margins_are_summed(self):
        model = Margins().fit(None)
        assert get_scorer("concordance_index")(model, self.X, self.y) == 1
        assert model.calls_ == ["decision_function"]
        # The labels tie the first two rows, which the margins tell apart.
        assert metrics.concordance_index(self.y, model.predict(self.X)) < 1

    def test_two_classes_have_one_margin(self):
        model = LogisticRegression().fit(self.X, [1, 1, 2, 2])
        assert get_scorer("concordance_index")(model, self.X, [1, 2, 1, 2]) == 0.75

    def test_scores_of_classes_are_not_margins(self, data):
        X, y, _ = data
        model = LogisticRegression().fit(X, y)
        assert model.decision_function(X).shape[1] == 4
        found = get_scorer("concordance_index")(model, X, y)
        assert found == metrics.concordance_index(y, model.predict(X))


def test_cost_scorer(data):
    X, y, weights = data
    model = LogisticRegression().fit(X, y)
    cost = np.triu(np.full((4, 4), 5.0), 1) + np.tril(np.ones((4, 4)), -1)
    expected = -metrics.mean_cost(y, model.predict(X), cost=cost, sample_weight=weights)
    assert cost_scorer(cost)(model, X, y, sample_weight=weights) == expected
    assert cost_scorer("squared")(model, X, y) == -metrics.mean_cost(
        y, model.predict(X), cost="squared"
    )
    assert cost_scorer("absolute", classes=[0, 10, 20, 30])(model, X, y) == get_scorer(
        "neg_mean_absolute_rank_error"
    )(model, X, y)


def test_unknown_name():
    with pytest.raises(ValueError, match=r"name must be 'concordance_index', .*; found 'mae'"):
        get_scorer("mae")


@pytest.mark.parametrize("name", scorer_names())
def test_copies_and_pickles_score_the_same(name, data):
    X, y, _ = data
    model = LogisticRegression().fit(X, y)
    scorer = get_scorer(name)
    expected = scorer(model, X, y)
    assert copy.deepcopy(scorer)(model, X, y) == expected
    assert pickle.loads(pickle.dumps(scorer))(model, X, y) == expected
    assert name.removeprefix("neg_") in repr(scorer)


def test_a_scorer_with_classes_leaves_the_named_one_alone():
    get_scorer("quadratic_weighted_kappa", classes=["b", "a"])
    assert get_scorer("quadratic_weighted_kappa")._classes is None


def named(names):
    """Scorers by name, as scikit-learn takes several."""
    return {name: get_scorer(name) for name in names}


def test_scikit_learn_is_left_alone():
    assert not {*scorer_names(), *metrics.ranking_scorer_names()} & set(
        sklearn.metrics.get_scorer_names()
    )


def test_grid_search_by_name_and_by_cost(data):
    X, y, _ = data
    for scoring in (get_scorer("quadratic_weighted_kappa"), cost_scorer("squared")):
        search = GridSearchCV(
            LogisticRegression(), {"C": [1e-6, 1.0]}, scoring=scoring, cv=3, error_score="raise"
        ).fit(X, y)
        assert search.best_params_ == {"C": 1.0}
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_cross_validation_scores_are_the_metrics_of_the_folds(data):
    X, y, _ = data
    cv = KFold(3)
    found = cross_validate(
        LogisticRegression(), X, y, scoring=named(scorer_names()), cv=cv, error_score="raise"
    )
    for fold, (train, test) in enumerate(cv.split(X)):
        model = LogisticRegression().fit(X[train], y[train])
        for name in scorer_names():
            expected = expected_score(name, model, X[test], y[test])
            assert found[f"test_{name}"][fold] == pytest.approx(expected, rel=1e-12)


def test_several_scorers_share_one_prediction(data):
    X, y, _ = data
    model = Margins(classes=(0, 10, 20, 30)).fit(X)
    scorer = sklearn.metrics.check_scoring(model, scoring=named(BY_LABELS))
    scores = scorer(model, X, y)
    assert set(scores) == set(BY_LABELS)
    assert model.calls_ == ["predict"]


def test_sorted_folds_that_lack_classes_are_scored():
    y = np.repeat([1, 2, 3, 4], 10)
    X = y[:, None] + np.random.default_rng(0).normal(size=(40, 1))
    scores = cross_val_score(
        LogisticRegression(), X, y, cv=KFold(4), error_score="raise",
        scoring=get_scorer("neg_mean_absolute_rank_error"),
    )  # fmt: skip
    # Every fold's class is missing from its training rows, so no label can be right.
    assert (scores <= -1).all()


def test_metadata_routing_passes_weights(data):
    X, y, weights = data
    cv = KFold(3)
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_mean_absolute_rank_error").set_score_request(sample_weight=True)
        model = LogisticRegression().set_fit_request(sample_weight=False)
        found = cross_validate(
            model, X, y, scoring=scorer, cv=cv, params={"sample_weight": weights},
            error_score="raise",
        )["test_score"]  # fmt: skip
    expected = []
    for train, test in cv.split(X):
        predicted = LogisticRegression().fit(X[train], y[train]).predict(X[test])
        expected.append(
            -metrics.mean_absolute_rank_error(y[test], predicted, sample_weight=weights[test])
        )
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_metadata_that_nobody_asked_for_is_refused(data):
    X, y, weights = data
    with sklearn.config_context(enable_metadata_routing=True):
        scorer = get_scorer("neg_mean_absolute_rank_error")
        model = LogisticRegression().set_fit_request(sample_weight=False)
        # The type of the error depends on the version of scikit-learn.
        with pytest.raises((TypeError, ValueError), match="sample_weight"):
            cross_validate(model, X, y, scoring=scorer, params={"sample_weight": weights})
