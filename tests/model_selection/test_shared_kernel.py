"""Candidates that share kernel matrices and starts, against the same candidates fitted alone."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import ordinal_data

from echelon import SVOR
from echelon.model_selection.shared_kernel import (
    CannotShareError,
    Scoring,
    evaluate_shared,
    machine_of,
)

X, y = ordinal_data(n=90, d=3, K=4)
FOLDS = list(KFold(3, shuffle=True, random_state=0).split(X))
CANDIDATES = [{"C": C, "gamma": g} for C in (10.0, 0.01, 300.0) for g in (0.05, "scale", 5.0)]


def figures(model, X, y):
    """Certificates in place of scores."""
    return {
        "objective": model.objective_,
        "kkt_gap": model.kkt_gap_,
        "duality_gap": model.duality_gap_,
    }


def evaluate(estimator, candidates, scorer=figures, X=X, y=y, folds=FOLDS, **parallel):
    scoring = Scoring(scorer, np.nan, False)
    return evaluate_shared(estimator, X, y, candidates, folds, scoring, **parallel)


@pytest.mark.parametrize(
    "machine",
    [
        SVOR(),
        SVOR(constraints="explicit"),
        SVOR(regularize_thresholds=True),
        SVOR(regularize_thresholds="offset"),
        SVOR(cost="zero_one", class_weight="balanced"),
    ],
    ids=str,
)
def test_every_model_is_optimal_and_in_its_place(machine):
    out = evaluate(machine, CANDIDATES)
    expected = [(candidate, train) for candidate in CANDIDATES for train, _ in FOLDS]
    assert len(out) == len(expected)
    for result, (candidate, train) in zip(out, expected, strict=True):
        found = result["test_scores"]
        alone = SVOR(**{**machine.get_params(), **candidate}).fit(X[train], y[train])
        assert found["kkt_gap"] <= machine.tol
        # Both objectives are this close to the same optimum; sums that should be zero are rounded.
        slack = found["duality_gap"] + alone.duality_gap_ + 1e-9 * abs(alone.objective_)
        assert abs(found["objective"] - alone.objective_) <= slack


def test_the_order_of_candidates_does_not_matter():
    shuffled = np.random.default_rng(0).permutation(len(CANDIDATES))
    plain = evaluate(SVOR(), CANDIDATES)
    other = evaluate(SVOR(), [CANDIDATES[i] for i in shuffled])
    for place, i in enumerate(shuffled):
        for fold in range(3):
            found = other[place * 3 + fold]["test_scores"]
            assert found == plain[i * 3 + fold]["test_scores"]


def test_jobs_change_nothing():
    candidates = [{"C": C, "gamma": g} for C in (0.1, 10.0) for g in np.logspace(-2, 1, 7)]
    alone = evaluate(SVOR(), candidates)
    with parallel_config(backend="threading"):
        together = evaluate(SVOR(), candidates, n_jobs=2)
    assert [r["test_scores"] for r in together] == [r["test_scores"] for r in alone]


def test_results_have_what_scikit_learn_puts_there():
    scoring = Scoring(figures, np.nan, True)
    out = evaluate_shared(SVOR(), X, y, [{"C": 1.0}], FOLDS, scoring)
    for result, (_, test) in zip(out, FOLDS, strict=True):
        assert result["fit_error"] is None and result["n_test_samples"] == len(test)
        assert result["fit_time"] > 0.0 and result["score_time"] > 0.0
        assert result["train_scores"] == result["test_scores"]


def test_long_arrays_of_rates_are_told_apart():
    # They print alike, for the middle is left out.
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(60, 1200))
    labels = np.searchsorted([-0.5, 0.5], wide[:, 600])
    first, second = np.zeros(1200), np.zeros(1200)
    first[600], second[601] = 1.0, 1.0
    assert repr(first) == repr(second)

    def accuracy(model, X, y):
        return float(np.mean(model.predict(X) == y))

    folds = [(np.arange(40), np.arange(40, 60))]
    out = evaluate(
        SVOR(C=10.0), [{"gamma": first}, {"gamma": second}], accuracy, wide, labels, folds
    )
    assert out[0]["test_scores"] > 0.7 > out[1]["test_scores"]


def test_a_precomputed_kernel_is_cut_along_both_sides():
    gram = X @ X.T

    def accuracy(model, X, y):
        return float(np.mean(model.predict(X) == y))

    out = evaluate(SVOR(kernel="precomputed"), [{"C": 1.0}], accuracy, X=gram)
    linear = evaluate(SVOR(kernel="linear"), [{"C": 1.0}], accuracy)
    assert [r["test_scores"] for r in out] == [r["test_scores"] for r in linear]


def test_preprocessing_is_fitted_once_per_fold_and_on_its_training_rows():
    seen = []

    class Spy(StandardScaler):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(np.array(X))
            return super().fit(X, y, sample_weight)

    def latent(model, X, y):
        return float(model[-1].predict_latent(model[:-1].transform(X)).mean())

    pipeline = Pipeline([("spy", Spy()), ("svor", SVOR())])
    candidates = [{"svor__C": C, "svor__gamma": g} for C in (0.1, 1.0) for g in (0.1, 1.0)]
    out = evaluate(pipeline, candidates, latent)
    assert len(seen) == len(FOLDS)
    for (train, test), rows, result in zip(FOLDS, seen, out[:3], strict=True):
        np.testing.assert_array_equal(rows, X[train])
        alone = make_pipeline(StandardScaler(), SVOR(C=0.1, gamma=0.1)).fit(X[train], y[train])
        expected = alone[-1].predict_latent(alone[:-1].transform(X[test])).mean()
        assert result["test_scores"] == pytest.approx(expected, abs=5e-3)


def test_machine_of():
    class Own(SVOR):
        pass

    assert machine_of(Ridge()) is None
    assert machine_of(Own()) is None
    assert machine_of(make_pipeline(StandardScaler(), Ridge())) is None
    assert machine_of(make_pipeline(SVOR())) is None
    pipeline = make_pipeline(StandardScaler(), SVOR())
    assert machine_of(pipeline) == ("svor__", pipeline[-1])


@pytest.mark.parametrize(
    ("estimator", "candidates"),
    [
        (Ridge(), [{"alpha": 1.0}]),
        (SVOR(), [{"kernel": "linear"}]),
        (SVOR(), [{"C": 1.0}, {"max_iter": 5}]),
        (SVOR(max_iter=0), [{"C": 1.0}]),
        (SVOR(probability=True), [{"C": 1.0}]),
        (SVOR(), [{"no_such_parameter": 1.0}]),
        (SVOR(), [{"C": 1.0}, {"C": -1.0}]),
        (SVOR(), [{"C": 1.0}, {"C": "many"}]),
        (make_pipeline(StandardScaler(), SVOR()), [{"standardscaler__with_mean": False}]),
    ],
    ids=str,
)
def test_what_cannot_be_shared(estimator, candidates):
    with pytest.raises(CannotShareError):
        evaluate(estimator, candidates)
