"""The driver of models that grow by rounds."""

import numpy as np
import pytest
from sklearn.base import clone
from support.data import ordinal_data

from echelon import AdaBoostOR, ORBoost, RankBoost, RankRules
from echelon.base.rounds import EarlyStopping, RoundsMixin, StagedMixin

MODELS = {
    "AdaBoostOR": (AdaBoostOR(n_estimators=12, random_state=0), "validation_costs_"),
    "ORBoost": (ORBoost(12, base="stump", random_state=0), "validation_costs_"),
    "RankRules": (RankRules(12, random_state=0), "validation_costs_"),
    "RankBoost": (RankBoost(12, random_state=0), "validation_scores_"),
}
EARLY = {"n_iter_no_change": 4, "validation_fraction": 0.3}


@pytest.fixture(params=MODELS)
def case(request):
    model, figures = MODELS[request.param]
    return clone(model), figures


def n_rounds(model):
    return len(list(model.staged_predict(np.zeros((1, 3)))))


def test_a_fit_without_early_stopping_keeps_no_figures_of_one_with(case):
    model, figures = case
    X, y = ordinal_data(80, 3, 4, seed=3)
    model.set_params(**EARLY).fit(X, y)
    assert len(getattr(model, figures)) > 0
    model.set_params(n_iter_no_change=None).fit(X, y)
    assert not hasattr(model, figures)


def test_a_costless_fit_keeps_no_figures_of_an_earlier_one():
    X, y = ordinal_data(80, 3, 4, seed=3)
    model = AdaBoostOR(n_estimators=5, **EARLY, random_state=0).fit(X, y)
    model.fit(X, y, sample_cost=np.zeros((len(y), 4)))
    assert not hasattr(model, "validation_costs_")


def test_the_rounds_kept_end_at_the_best_one_and_are_those_of_a_longer_fit(case):
    model, figures = case
    X, y = ordinal_data(80, 3, 4, seed=3)
    early = clone(model).set_params(**EARLY).fit(X, y)
    found = getattr(early, figures)
    best = np.argmax(found) if figures == "validation_scores_" else np.argmin(found)
    assert n_rounds(early) == best + 1
    assert len(found) == min(12, best + 1 + EARLY["n_iter_no_change"])
    patient = clone(early).set_params(n_iter_no_change=100).fit(X, y)
    np.testing.assert_array_equal(getattr(patient, figures)[: len(found)], found)


def test_the_last_stage_is_the_model_and_scores_are_those_of_the_stages(case):
    model, _ = case
    X, y = ordinal_data(60, 3, 4, seed=1)
    model.fit(X, y)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, model.predict(X), atol=1e-12)
    *_, score = model.staged_score(X, y)
    assert score == pytest.approx(model.score(X, y))


def test_about_ten_rounds_are_printed(case, capsys):
    model, _ = case
    X, y = ordinal_data(60, 3, 4, seed=1)
    model.set_params(verbose=1, **{model._most_rounds: 20}).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == n_rounds(model) // 2
    assert lines[0].startswith(f"{type(model).__name__}: round 2 of 20, ")


class Grown(RoundsMixin):
    n_estimators, learning_rate, validation_fraction = 10, 1.0, 0.1
    n_iter_no_change, tol, verbose = 2, 0.5, 0


def test_rounds_are_drawn_one_by_one_and_no_more_than_needed():
    costs = iter([3.0, 2.0, 1.8, 1.7, 0.0])
    model = Grown()
    assert model._grow(costs, lambda cost: cost, str) == [3.0, 2.0]
    assert model.validation_costs_.tolist() == [3.0, 2.0, 1.8, 1.7]
    assert next(costs) == 0.0
    assert model._grow([], lambda cost: cost, str) == []
    assert model.validation_costs_.tolist() == []
    assert model._grow([5.0], None, str) == [5.0]
    assert not hasattr(model, "validation_costs_")


def test_early_stopping_waits_for_a_fall_that_counts():
    stopping = EarlyStopping(2, 0.1)
    assert [stopping.should_stop(cost) for cost in (1.0, 0.95, 0.8, 0.75, 0.71)] == [
        False, False, False, False, True,
    ]  # fmt: skip
    assert stopping.best == 2


def test_all_four_grow_by_the_same_driver():
    for model, _ in MODELS.values():
        assert isinstance(model, RoundsMixin)
        assert type(model)._grow is RoundsMixin._grow
        assert isinstance(model, StagedMixin) != isinstance(model, RankBoost)
