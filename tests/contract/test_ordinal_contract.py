"""What every ordinal estimator promises, on every public one."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted
from support.data import ascending, ordinal_data
from support.estimators import label, ordinal_instances

from echelon import OrdinalCalibrator
from echelon.ordinal.costs import cost_matrix, minimum_cost_codes
from echelon.ordinal.labels import LabelOrderWarning
from echelon.ordinal.reduction import decode

pytestmark = [
    pytest.mark.parametrize("estimator", ordinal_instances(), ids=label),
    # The data of a contract are few for intervals, which are not its subject.
    pytest.mark.filterwarnings("ignore::echelon.meta.CoverageWarning"),
]

WORDS = np.array(["poor", "fair", "good", "great"])


def margins_of(model, X):
    values = model.decision_function(X)
    return values[:, None] if values.ndim == 1 else values


def fitted(estimator, X, y, **params):
    return clone(estimator).fit(X, y, **params)


def cost_of(model):
    """Cost that ``predict`` and ``score`` are about."""
    return getattr(model, "cost", "absolute")


def test_predict_decodes_the_margins(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    G = margins_of(model, X)
    assert G.shape == (len(X), 3)
    codes = decode(G)
    if cost_of(model) != "absolute":
        codes = minimum_cost_codes(model.predict_proba(X), cost_matrix(model.cost, 4))
    np.testing.assert_array_equal(model.classes_[codes], model.predict(X))
    assert np.abs(model.predict(X) - y).mean() < np.abs(np.median(y) - y).mean()


def test_latent_scores_and_thresholds_make_the_margins(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    if not hasattr(model, "thresholds_"):
        assert not hasattr(model, "predict_latent")
        return
    assert ascending(model.thresholds_)
    scores = model.predict_latent(X)
    assert scores.shape == (len(X),)
    np.testing.assert_allclose(margins_of(model, X), scores[:, None] - model.thresholds_)


def test_probabilities_are_valid(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    if not hasattr(model, "predict_proba"):
        pytest.skip("gives no probabilities")
    P = model.predict_proba(X)
    assert P.shape == (len(X), 4)
    assert (P >= 0).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_scores_are_about_ranks_and_labels_come_back(estimator):
    X, codes = ordinal_data()
    expected = fitted(estimator, X, codes).predict(X)
    model = fitted(estimator, X, codes * 10)
    np.testing.assert_array_equal(model.predict(X), expected * 10)
    cost = cost_matrix(cost_of(model), 4)
    assert model.score(X, codes * 10) == pytest.approx(-cost[codes, expected].mean())


def test_text_labels_follow_the_stated_classes(estimator):
    X, codes = ordinal_data()
    expected = fitted(estimator, X, codes).predict(X)
    model = clone(estimator).set_params(classes=WORDS.tolist()).fit(X, WORDS[codes])
    assert model.classes_.tolist() == WORDS.tolist()
    np.testing.assert_array_equal(model.predict(X), WORDS[expected])


def test_text_without_an_order_warns_at_the_callers_line(estimator):
    X, codes = ordinal_data()
    with pytest.warns(LabelOrderWarning, match="fair < good < great < poor") as seen:
        clone(estimator).fit(X, WORDS[codes])
    assert seen[0].filename == __file__


def test_an_order_that_is_not_sorted_is_kept(estimator):
    X, codes = ordinal_data(K=3)
    expected = fitted(estimator, X, codes).predict(X)
    y = pd.Categorical.from_codes(codes, [10, 5, 1], ordered=True)
    model = fitted(estimator, X, y)
    assert model.classes_.tolist() == [10, 5, 1]
    np.testing.assert_array_equal(np.asarray(model.predict(X)), np.array([10, 5, 1])[expected])


def test_integer_weights_are_repeated_rows(estimator, rng):
    if getattr(estimator, "bootstrap", False) or getattr(estimator, "subsample", 1.0) < 1.0:
        pytest.skip("draws rows, and a row of weight two is not two rows")
    if getattr(estimator, "method", "") == "split":
        pytest.skip("draws calibration rows, and a row of weight two is not two rows")
    learns_on_folds = getattr(estimator, "weights", 0) is None or (
        isinstance(estimator, OrdinalCalibrator) and estimator.decision == "cost"
    )
    if learns_on_folds:
        pytest.skip("learns on folds, and copies of a row fall into several of them")
    X, y = ordinal_data(n=60)
    counts = rng.integers(0, 4, size=len(y))
    weighted = fitted(estimator, X, y, sample_weight=counts)
    repeated = fitted(estimator, np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(
        margins_of(weighted, X), margins_of(repeated, X), rtol=1e-3, atol=1e-3
    )
    assert weighted.score(X, y, sample_weight=counts) == pytest.approx(
        repeated.score(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    )


def test_reversed_labels_mirror_the_margins(estimator):
    X, y = ordinal_data()
    forward = margins_of(fitted(estimator, X, y), X)
    backward = margins_of(fitted(estimator, X, 3 - y), X)
    np.testing.assert_allclose(forward, -backward[:, ::-1], rtol=1e-3, atol=1e-3)


def test_two_classes_have_one_signed_decision(estimator):
    X, y = ordinal_data(K=2)
    model = fitted(estimator, X, y)
    decision = model.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))


@pytest.mark.parametrize("levels", [[0, 1, 2, 9, 3], [-1, 0, 1, 2, 3], [0, 1, 2, 3, 4]])
def test_levels_without_rows(estimator, levels):
    X, y = ordinal_data()
    model = clone(estimator).set_params(classes=levels).fit(X, y)
    assert model.classes_.tolist() == levels
    assert margins_of(model, X).shape == (len(X), 4)
    assert set(model.predict(X)) <= set(levels)
    if hasattr(model, "thresholds_"):
        assert ascending(model.thresholds_)
    if hasattr(model, "predict_proba"):
        P = model.predict_proba(X)
        assert P.shape == (len(X), 5)
        np.testing.assert_allclose(P.sum(axis=1), 1.0)


def test_a_class_of_one_row(estimator):
    X, y = ordinal_data()
    y = np.where(y == 3, 2, y)
    y[0] = 3
    model = fitted(estimator, X, y)
    assert margins_of(model, X).shape == (len(X), 3)
    # A rank that a stump does not give lies beyond an infinite threshold.
    assert not np.isnan(margins_of(model, X)).any()


def test_constant_features_are_harmless(estimator):
    X, y = ordinal_data()
    # The default rate of a kernel is taken from all entries of X, so constant ones change it.
    rates = [name for name in estimator.get_params() if name.split("__")[-1] == "gamma"]
    estimator = clone(estimator).set_params(**dict.fromkeys(rates, 0.3))
    padded = np.column_stack([np.full(len(X), 7.0), X, np.zeros(len(X))])
    model = fitted(estimator, padded, y)
    assert not np.isnan(margins_of(model, padded)).any()
    np.testing.assert_array_equal(model.predict(padded), fitted(estimator, X, y).predict(X))


def test_memory_layout_and_precision_do_not_matter(estimator):
    X, y = ordinal_data()
    expected = margins_of(fitted(estimator, X, y), X)
    fortran = np.asfortranarray(X)
    np.testing.assert_allclose(margins_of(fitted(estimator, fortran, y), fortran), expected)
    frozen, labels = X.copy(), y.copy()
    frozen.setflags(write=False)
    labels.setflags(write=False)
    np.testing.assert_allclose(margins_of(fitted(estimator, frozen, labels), frozen), expected)
    single = X.astype(np.float32)
    np.testing.assert_allclose(
        margins_of(fitted(estimator, single, y), single), expected, rtol=1e-2, atol=1e-2
    )


def test_lists_are_arrays(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X.tolist(), y.tolist())
    np.testing.assert_array_equal(model.predict(X.tolist()), fitted(estimator, X, y).predict(X))


def test_inputs_are_not_changed(estimator):
    X, y = ordinal_data()
    X_before, y_before = X.copy(), y.copy()
    fitted(estimator, X, y).predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


def test_data_frames_and_their_column_names(estimator):
    X, y = ordinal_data()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = fitted(estimator, frame, y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(model.predict(frame), fitted(estimator, X, y).predict(X))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match=r"2 features, but .* is expecting 3 features"):
        fitted(estimator, X, y).predict(X[:, :2])


def test_clone_and_pickle(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    with pytest.raises(NotFittedError):
        clone(model).predict(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


BAD = {
    "nan in X": (lambda X, y: (np.where(X[0, 0] == X, np.nan, X), y, None), "NaN"),
    "inf in X": (lambda X, y: (np.where(X[0, 0] == X, np.inf, X), y, None), "infinity"),
    "empty": (lambda X, y: (X[:0], y[:0], None), "0 sample"),
    "one class": (lambda X, y: (X, np.zeros_like(y), None), "one class only, "),
    "missing label": (lambda X, y: (X, np.where(y == 0, np.nan, y), None), "missing labels"),
    "lengths": (lambda X, y: (X, y[:-1], None), "inconsistent numbers of samples"),
    "negative weight": (
        lambda X, y: (X, y, -np.ones(len(y))),
        "sample_weight must not be negative; found -1",
    ),
    "zero weights": (lambda X, y: (X, y, np.zeros(len(y))), "sample_weight must have a positive"),
    "nan weight": (lambda X, y: (X, y, np.full(len(y), np.nan)), "NaN"),
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_input_gets_a_sentence_and_leaves_no_half_fitted_estimator(estimator, problem):
    X, y = ordinal_data()
    spoil, message = BAD[problem]
    bad_X, bad_y, weight = spoil(X, y)
    if problem == "nan in X" and estimator.__sklearn_tags__().input_tags.allow_nan:
        pytest.skip("accepts NaN")
    model = clone(estimator)
    with pytest.raises(ValueError, match=message):
        model.fit(bad_X, bad_y, sample_weight=weight)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    model.fit(X, y)
    before = margins_of(model, X)
    with pytest.raises(ValueError, match=message):
        model.fit(bad_X, bad_y, sample_weight=weight)
    np.testing.assert_array_equal(margins_of(model, X), before)


def test_labels_that_do_not_fit_at_score(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    with pytest.raises(ValueError, match="labels outside the scale: 99; the scale is 0 < 1 < 2"):
        model.score(X, np.full(len(y), 99))
    with pytest.raises(ValueError, match=r"y must have as many rows as X, 120; found 119"):
        model.score(X, y[:-1])


def test_wrong_shapes_are_refused_everywhere(estimator):
    X, y = ordinal_data()
    model = fitted(estimator, X, y)
    for method in ("predict", "decision_function", "predict_proba", "predict_latent"):
        if hasattr(model, method):
            with pytest.raises(ValueError, match="features"):
                getattr(model, method)(X[:, :1])


def test_fitting_is_deterministic_and_silent(estimator):
    X, y = ordinal_data()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = fitted(estimator, X, y), fitted(estimator, X, y)
    np.testing.assert_array_equal(margins_of(first, X), margins_of(second, X))
