"""The two-stage search against brute force on surfaces whose best point is known."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from support.data import ordinal_data

from echelon import SVOR
from echelon.metrics import get_scorer
from echelon.model_selection import CoarseToFineSearchCV

X = np.zeros((10, 1))
y = np.arange(10.0)
EXPONENTS = np.logspace(-3, 3, 7)


class Bowl(RegressorMixin, BaseEstimator):
    """A score that is a convex function of the parameters' log10, on any data."""

    def __init__(self, a=1.0, b=1.0, centre=(0.0, 0.0), kind="bowl"):
        self.a = a
        self.b = b
        self.centre = centre
        self.kind = kind

    def fit(self, X, y):
        self.fitted_ = True
        return self

    def predict(self, X):
        return np.zeros(len(X))

    def score(self, X, y):
        height = {"bowl": 1.0, "steep": 5.0}[self.kind]
        u, v = np.log10(self.a) - self.centre[0], np.log10(self.b) - self.centre[1]
        return -height * (u * u + 2.0 * v * v)


def brute_force(centre, coarse, points=9, step=0.2):
    """Best point of the coarse grid and of the fine grid around the best coarse one."""

    def value(e):
        return (e[0] - centre[0]) ** 2 + 2.0 * (e[1] - centre[1]) ** 2

    best = min(product(coarse, coarse), key=value)
    offsets = step * (np.arange(points) - (points - 1) / 2)
    return min(
        value(best), min(value((best[0] + i, best[1] + j)) for i in offsets for j in offsets)
    )


@settings(max_examples=15, deadline=None)
@given(st.tuples(st.floats(-3.5, 3.5), st.floats(-3.5, 3.5)), st.sampled_from([1, 3, 4, 9]))
def test_finds_the_best_of_both_grids_on_a_bowl(centre, points):
    search = CoarseToFineSearchCV(
        Bowl(centre=centre), {"a": EXPONENTS, "b": EXPONENTS}, fine_points=points, cv=2
    ).fit(X, y)
    expected = brute_force(centre, range(-3, 4), points)
    assert -search.best_score_ == pytest.approx(expected, abs=1e-9)


def test_no_point_is_evaluated_twice():
    # with step ½ the fine grid meets three coarse values per parameter
    search = CoarseToFineSearchCV(
        Bowl(), {"a": EXPONENTS, "b": EXPONENTS}, fine_points=5, fine_step=0.5, cv=2
    ).fit(X, y)
    exponents = [tuple(np.log10([p["a"], p["b"]]).round(6)) for p in search.cv_results_["params"]]
    assert len(exponents) == len(set(exponents)) == 49 + 25 - 9
    assert list(search.cv_results_["stage"]) == ["coarse"] * 49 + ["fine"] * 16


def test_the_papers_grid_has_49_and_80_points():
    search = CoarseToFineSearchCV(Bowl(), {"a": EXPONENTS, "b": 0.5 * EXPONENTS}, cv=2).fit(X, y)
    fine = search.cv_results_["stage"] == "fine"
    assert (~fine).sum() == 49 and fine.sum() == 80
    # γ = κ/2: κ stays on the lattice of step 0.2 in log10
    kappa = 2.0 * np.array([p["b"] for p in search.cv_results_["params"]])
    steps = np.log10(kappa) / 0.2
    np.testing.assert_allclose(steps, steps.round(), atol=1e-9)


def test_ties_go_to_the_point_evaluated_first():
    class Flat(Bowl):
        def score(self, X, y):
            return 1.0

    search = CoarseToFineSearchCV(Flat(), {"b": [1.0, 10.0], "a": [10.0, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_ == {"a": 10.0, "b": 1.0}


def test_other_parameters_keep_their_best_value():
    grid = {"a": [0.01, 1.0, 100.0], "kind": ["steep", "bowl"], "b": [1.0]}
    search = CoarseToFineSearchCV(Bowl(centre=(0.7, 0.3)), grid, cv=2).fit(X, y)
    fine = [
        p
        for p, s in zip(search.cv_results_["params"], search.cv_results_["stage"], strict=True)
        if s == "fine"
    ]
    assert (
        len(fine) == 8 and {p["kind"] for p in fine} == {"bowl"} and {p["b"] for p in fine} == {1.0}
    )
    assert np.log10(search.best_params_["a"]) == pytest.approx(0.6)


def test_a_list_of_grids_refines_the_parameters_of_the_best_one():
    grids = [{"a": [1.0, 10.0]}, {"a": [1e-2], "b": [0.1, 1.0]}]
    search = CoarseToFineSearchCV(Bowl(centre=(-2.0, 0.2)), grids, cv=2).fit(X, y)
    assert search.best_params_["a"] == 1e-2
    assert np.log10(search.best_params_["b"]) == pytest.approx(0.2)


def test_refine_limits_the_fine_grid():
    search = CoarseToFineSearchCV(
        Bowl(centre=(0.4, 0.4)), {"a": [1.0, 10.0], "b": [1.0, 10.0]}, refine=["a"], cv=2
    ).fit(X, y)
    assert search.best_params_["b"] == 1.0
    assert np.log10(search.best_params_["a"]) == pytest.approx(0.4)


def test_both_stages_share_the_folds_of_a_splitter_that_draws_anew():
    data, target = load_diabetes(return_X_y=True)
    rng_split = ShuffleSplit(3, random_state=np.random.RandomState(0))
    search = CoarseToFineSearchCV(Ridge(), {"alpha": [1.0, 10.0]}, fine_points=3, cv=rng_split)
    search.fit(data, target)
    # a RandomState gives other folds at every call; the first call is the one both stages use
    folds = list(ShuffleSplit(3, random_state=np.random.RandomState(0)).split(data))
    for params, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        assert score == cross_val_score(Ridge(**params), data, target, cv=folds).mean()


def test_equals_grid_search_without_a_fine_stage():
    data, target = load_diabetes(return_X_y=True)
    grid = {"ridge__alpha": np.logspace(-3, 3, 7)}
    model = make_pipeline(StandardScaler(), Ridge())
    ours = CoarseToFineSearchCV(model, grid, fine_points=1, cv=KFold(5)).fit(data, target)
    theirs = GridSearchCV(model, grid, cv=KFold(5)).fit(data, target)
    assert ours.best_params_ == theirs.best_params_
    np.testing.assert_array_equal(ours.predict(data), theirs.predict(data))


def test_pipeline_with_a_fine_stage_never_does_worse_than_the_grid():
    data, target = load_diabetes(return_X_y=True)
    grid = {"ridge__alpha": np.logspace(-3, 3, 4)}
    model = make_pipeline(StandardScaler(), Ridge())
    ours = CoarseToFineSearchCV(model, grid, cv=KFold(5)).fit(data, target)
    theirs = GridSearchCV(model, grid, cv=KFold(5)).fit(data, target)
    assert ours.best_score_ > theirs.best_score_
    assert ours.best_estimator_.named_steps["ridge"].alpha == ours.best_params_["ridge__alpha"]


def test_clone_and_parameters():
    search = CoarseToFineSearchCV(Bowl(), {"a": [1.0]}, fine_points=5, refine=["a"], cv=3)
    copy = clone(search)
    assert copy.get_params()["fine_points"] == 5 and copy.get_params()["refine"] == ["a"]
    copy.set_params(estimator__b=7.0, fine_step=0.1)
    assert copy.estimator.b == 7.0 and search.estimator.b == 1.0


def test_several_metrics():
    data, target = load_diabetes(return_X_y=True)
    scoring = ["r2", "neg_mean_absolute_error"]
    grid = {"alpha": [0.1, 1.0]}
    search = CoarseToFineSearchCV(Ridge(), grid, scoring=scoring, refit="r2", cv=2)
    search.fit(data, target)
    assert search.best_index_ == search.cv_results_["rank_test_r2"].argmin()
    search.set_params(refit=False)
    with pytest.raises(ValueError, match="refit must name the metric"):
        search.fit(data, target)


def test_a_callable_refit_chooses_the_centre():
    search = CoarseToFineSearchCV(
        Bowl(), {"a": [1.0, 100.0]}, refit=lambda results: 1, fine_points=3, cv=2
    ).fit(X, y)
    assert search.cv_results_["param_a"].data[2:] == pytest.approx([10**1.8, 10**2.2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"param_grid": {"a": [1.0]}, "refine": ["c"]}, "refine names 'c'"),
        ({"param_grid": {"kind": ["bowl"]}, "refine": ["kind"]}, "kind='bowl'"),
        ({"param_grid": {"a": [1.0]}, "fine_points": 0}, "fine_points"),
        ({"param_grid": {"a": [1.0]}, "fine_step": 0.0}, "fine_step"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        CoarseToFineSearchCV(Bowl(), cv=2, **options).fit(X, y)


# ------------------------------------------------------------------------------ shared kernels


class SeparateSVOR(SVOR):
    """Not an SVOR in the eyes of the search, which therefore fits every candidate by itself."""


ORDINAL_X, ORDINAL_Y = ordinal_data(n=100, d=3, K=4)
GRID = {"C": [0.01, 1.0, 100.0], "gamma": [0.05, 0.5, 5.0]}


def both_ways(build, grid, X=ORDINAL_X, **options):
    """The search with and without sharing, fitted on the same folds."""
    options = {"fine_points": 3, "cv": KFold(3, shuffle=True, random_state=1), **options}
    return [
        CoarseToFineSearchCV(build(machine), grid, **options).fit(X, ORDINAL_Y)
        for machine in (SVOR(), SeparateSVOR())
    ]


def assert_same_search(shared, separate, atol=0.03):
    """Solutions agree to `tol`, so that the label of a row or two may differ."""
    assert set(vars(shared)) | {"_checked_cv_orig"} == set(vars(separate)) | {"_checked_cv_orig"}
    ours, theirs = shared.cv_results_, separate.cv_results_
    assert list(ours) == list(theirs)
    assert ours["params"] == theirs["params"]
    measured = [key for key in ours if "_test_" in key or "_train_" in key]
    for key in measured:
        assert ours[key].dtype == theirs[key].dtype
        if not key.startswith("rank"):
            np.testing.assert_allclose(ours[key], theirs[key], atol=atol, err_msg=key)
    assert shared.best_score_ == pytest.approx(separate.best_score_, abs=atol)


def count_fits(monkeypatch):
    fits = []
    plain = SVOR.fit

    def counted(self, *args, **kwargs):
        fits.append(self)
        return plain(self, *args, **kwargs)

    monkeypatch.setattr(SVOR, "fit", counted)
    return fits


@pytest.mark.parametrize("train", [False, True])
def test_sharing_gives_what_separate_fits_give(train):
    shared, separate = both_ways(lambda machine: machine, GRID, return_train_score=train)
    assert_same_search(shared, separate)
    np.testing.assert_array_equal(shared.predict(ORDINAL_X), separate.predict(ORDINAL_X))


def test_sharing_behind_a_scaler_on_a_data_frame():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(100.0 * ORDINAL_X, columns=["a", "b", "c"])
    grid = {f"machine__{name}": values for name, values in GRID.items()}
    shared, separate = both_ways(
        lambda machine: Pipeline([("scale", StandardScaler()), ("machine", machine)]), grid, frame
    )
    assert_same_search(shared, separate)
    assert list(shared.feature_names_in_) == ["a", "b", "c"]


def test_sharing_with_several_metrics_and_named_rates():
    name = "neg_mean_absolute_rank_error"
    scoring = {name: get_scorer(name), "accuracy": "accuracy"}
    grid = {"C": [0.1, 10.0], "gamma": ["scale", "auto"]}
    shared, separate = both_ways(
        lambda machine: machine, grid, scoring=scoring, refit="accuracy", cv=4
    )
    assert_same_search(shared, separate, atol=0.05)
    assert list(shared.scorer_) == list(scoring)


def test_sharing_with_a_function_that_gives_several_scores():
    def scoring(model, X, y):
        return {"hits": float(np.mean(model.predict(X) == y)), "rows": float(len(y))}

    shared, separate = both_ways(lambda machine: machine, GRID, scoring=scoring, refit="hits")
    assert_same_search(shared, separate)
    with pytest.raises(ValueError, match="refit"):
        CoarseToFineSearchCV(SVOR(), GRID, scoring=scoring).fit(ORDINAL_X, ORDINAL_Y)


def test_sharing_fits_the_best_point_alone(monkeypatch):
    fits = count_fits(monkeypatch)
    search = CoarseToFineSearchCV(SVOR(), GRID, fine_points=3, cv=GroupKFold(2))
    search.fit(ORDINAL_X, ORDINAL_Y, groups=np.arange(100) // 5)
    assert fits == [search.best_estimator_]
    fits.clear()
    search.set_params(refit=False).fit(ORDINAL_X, ORDINAL_Y, groups=np.arange(100) // 5)
    assert not fits


def test_weights_are_fitted_separately(monkeypatch):
    fits = count_fits(monkeypatch)
    grid = {"C": [0.1, 10.0]}
    search = CoarseToFineSearchCV(SVOR(), grid, fine_points=1, cv=2)
    search.fit(ORDINAL_X, ORDINAL_Y, sample_weight=np.ones(100))
    assert len(fits) == 5
    assert_same_search(
        CoarseToFineSearchCV(SVOR(), grid, fine_points=1, cv=2).fit(ORDINAL_X, ORDINAL_Y), search
    )


def test_a_candidate_that_fails_gets_the_error_score():
    search = CoarseToFineSearchCV(SVOR(), {"C": [-1.0, 1.0]}, refine=[], cv=2, error_score=-9.0)
    with pytest.warns(FitFailedWarning, match="C must be a positive number"):
        search.fit(ORDINAL_X, ORDINAL_Y)
    assert search.cv_results_["mean_test_score"][0] == -9.0
    assert search.best_params_ == {"C": 1.0}


def test_a_scorer_that_fails_gets_the_error_score():
    def scoring(model, X, y):
        if model.C > 5.0:
            raise RuntimeError("no score")
        return 1.0

    search = CoarseToFineSearchCV(
        SVOR(), {"C": [1.0, 10.0]}, scoring=scoring, refine=[], cv=2, error_score=-9.0
    )
    with pytest.warns(UserWarning, match="no score"):
        search.fit(ORDINAL_X, ORDINAL_Y)
    assert list(search.cv_results_["mean_test_score"]) == [1.0, -9.0]


def test_verbose_names_the_number_of_candidates(capsys):
    CoarseToFineSearchCV(SVOR(), {"C": [0.1, 1.0]}, fine_points=1, cv=2, verbose=1).fit(
        ORDINAL_X, ORDINAL_Y
    )
    assert "2 folds for each of 2 candidates" in capsys.readouterr().out
