"""Every cell is run once, whatever happens in between."""

import dataclasses

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from reproduction import (
    ReproductionError,
    ResultStore,
    make_duels,
    make_plan,
    make_rows,
    read_table,
    run,
    runner,
)
from reproduction import protocol as rules
from reproduction.measures import negative_log_likelihood
from reproduction.models import registry
from reproduction.protocol import Dataset, draw_split
from reproduction.rows import current


def errors(store):
    return {cell.key: cell.errors for cell in store if cell.key.split >= 0}


def test_a_whole_run(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    plan = make_plan(table, effort="paper")
    steps = list(run(plan, store))
    assert [m.name for m in plan.models] == ["NEAR", "FAR"]  # UNBUILT has no model
    assert tiny.fits == len(errors(store)) == 2 * 2 * 4
    assert steps[-1].done == steps[-1].total == 16 and steps[-1].seconds_left == 0.0
    assert [s.done for s in steps] == sorted(s.done for s in steps)
    assert all(0.0 <= e["zero_one"] <= e["absolute"] for e in errors(store).values())


def test_errors_are_those_of_the_protocols_split(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    plan = make_plan(table, sets=["two"], models=["FAR"], effort="paper")
    list(run(plan, store))
    X, y = runner.load("two", table.protocol).X, runner.load("two", table.protocol).y
    split = draw_split(Dataset(X, y, (1, 2, 3)), 20, seed=0, index=2)
    predicted = tiny(shift=0.5).fit(split.X_train, split.y_train).predict(split.X_test)
    cell = store[plan.key(plan.sets[0], plan.models[0], 2)]
    assert cell.errors == {
        "zero_one": np.mean(predicted != split.y_test),
        "absolute": np.mean(np.abs(predicted - split.y_test)),
    }


@pytest.mark.parametrize("stop", [1, 5, 11])
def test_resumes_after_an_interruption(tiny, table, tmp_path, monkeypatch, stop):
    whole = ResultStore(tmp_path / "whole", "tiny")
    list(run(make_plan(table, effort="paper"), whole))

    real = runner._run_cell
    calls = []

    def interrupted(*args):
        calls.append(args)
        if len(calls) > stop:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(runner, "_run_cell", interrupted)
    store = ResultStore(tmp_path / "parts", "tiny")
    with pytest.raises(KeyboardInterrupt):
        list(run(make_plan(table, effort="paper"), store))
    assert len(errors(ResultStore(tmp_path / "parts", "tiny"))) == stop

    monkeypatch.setattr(runner, "_run_cell", real)
    tiny.fits = 0
    again = ResultStore(tmp_path / "parts", "tiny")
    list(run(make_plan(table, effort="paper"), again))
    assert tiny.fits == 16 - stop
    assert errors(again) == errors(whole)


def test_a_caller_may_drop_the_run(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    steps = run(make_plan(table), store)
    while next(steps).done < 3:
        pass
    steps.close()
    assert len(errors(ResultStore(tmp_path, "tiny"))) == 3


def test_a_finished_run_does_nothing_and_more_splits_add_cells(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, splits=2), store))
    tiny.fits = 0
    assert list(run(make_plan(table, splits=2), store)) == []
    assert tiny.fits == 0
    list(run(make_plan(table, splits=3), store))
    assert tiny.fits == 4


def test_a_new_revision_of_a_model_is_measured_anew(tiny, table, tmp_path, monkeypatch):
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, sets=["one"], models=["NEAR"]), store))
    new = registry.Model("NEAR", lambda problem: tiny(), revision=2)
    monkeypatch.setitem(registry._MODELS, "NEAR", new)
    tiny.fits = 0
    list(run(make_plan(table, sets=["one"], models=["NEAR"]), store))
    assert tiny.fits == 4


def tuned_model(tiny, seen):
    def build(problem):
        seen.append(problem)
        return GridSearchCV(tiny(), {"shift": [50.0, 0.0]}, cv=2)

    return registry.Model("NEAR", build)


def test_quick_tunes_once_per_set(tiny, table, tmp_path, monkeypatch):
    monkeypatch.setitem(registry._MODELS, "NEAR", tuned_model(tiny, []))
    store = ResultStore(tmp_path, "tiny")
    plan = make_plan(table, models=["NEAR"], effort="quick")
    steps = [s.step for s in run(plan, store)]
    assert steps.count("tuning") == 2
    assert tiny.fits == 2 * (2 * 2 + 4)
    assert all(cell.parameters == {"shift": 0.0} for cell in store)

    # the tuning is a cell too: more splits do not tune again
    tiny.fits = 0
    list(run(make_plan(table, models=["NEAR"], splits=5), store))
    assert tiny.fits == 2


def test_quick_tunes_on_the_first_rows_of_a_large_training_part(tiny, table, tmp_path, monkeypatch):
    rows = []

    class Recorder(tiny):
        def fit(self, X, y):
            rows.append(X)
            return super().fit(X, y)

    def build(problem):
        return GridSearchCV(Recorder(), {"shift": [0.0]}, cv=[([0, 1], [2, 3])])

    monkeypatch.setitem(registry._MODELS, "NEAR", registry.Model("NEAR", build))
    monkeypatch.setattr(rules, "QUICK_ROWS", 12)
    seen = []
    real = runner._tune

    def tune(key, model, split, problem):
        seen.append(split)
        return real(key, model, split, problem)

    monkeypatch.setattr(runner, "_tune", tune)
    plan = make_plan(table, sets=["one"], models=["NEAR"], splits=1)
    list(run(plan, ResultStore(tmp_path, "tiny")))
    whole = draw_split(runner.load("one", table.protocol), 20, seed=0, index=0)
    (part,) = seen
    np.testing.assert_array_equal(part.X_train, whole.X_train[:12])
    np.testing.assert_array_equal(part.y_train, whole.y_train[:12])
    # The fit that is measured has all rows of the training part.
    assert [len(X) for X in rows] == [2, 20]


def test_paper_tunes_on_every_split_with_its_own_seed(tiny, table, tmp_path, monkeypatch):
    seen = []
    monkeypatch.setitem(registry._MODELS, "NEAR", tuned_model(tiny, seen))
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(table, sets=["one"], models=["NEAR"], effort="paper"), store))
    assert tiny.fits == 4 * (2 * 2 + 1)
    problems = [problem for problem in seen if problem.classes == (1, 2, 3)]
    assert [problem.seed for problem in problems] == [0, 1, 2, 3]
    assert {cell.key.split for cell in store} == {0, 1, 2, 3}


def test_a_model_with_nothing_to_tune_is_measured_once_for_all_efforts(tiny, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    steps = [s.step for s in run(make_plan(table, models=["NEAR"], effort="quick"), store)]
    assert "tuning" not in steps and tiny.fits == 8
    assert {(c.key.effort, c.key.split) for c in store} == {("any", split) for split in range(4)}
    assert list(run(make_plan(table, models=["NEAR"], effort="paper"), store)) == []
    assert tiny.fits == 8


def test_one_fit_gives_the_errors_of_both_parts(tiny, table, tmp_path):
    both = dataclasses.replace(table, measures=("training_absolute", "absolute"))
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(both, sets=["one"], models=["FAR"], splits=2), store))
    assert tiny.fits == 2
    data = runner.load("one", table.protocol)
    for cell in store:
        split = draw_split(data, 20, seed=0, index=cell.key.split)
        fitted = tiny(shift=0.5).fit(split.X_train, split.y_train)
        assert cell.errors == {
            "training_absolute": np.mean(np.abs(fitted.predict(split.X_train) - split.y_train)),
            "absolute": np.mean(np.abs(fitted.predict(split.X_test) - split.y_test)),
        }


def test_a_part_that_no_measure_is_of_is_not_predicted(tiny, table, tmp_path, monkeypatch):
    seen = []

    class Recorder(tiny):
        def predict(self, X):
            seen.append(len(X))
            return super().predict(X)

    monkeypatch.setitem(registry._MODELS, "NEAR", registry.Model("NEAR", lambda _: Recorder()))
    plan = make_plan(table, sets=["one"], models=["NEAR"], splits=1)
    list(run(plan, ResultStore(tmp_path, "tiny")))
    assert seen == [10]


def test_a_column_of_another_table_is_not_run_here(tiny, table):
    shared = dataclasses.replace(table, measured_under={"FAR": "other"})
    assert [model.name for model in make_plan(shared).models] == ["NEAR"]
    with pytest.raises(ReproductionError, match="FAR of tiny is measured under other; run it th"):
        make_plan(shared, models=["NEAR", "FAR"])


def test_results_do_not_depend_on_jobs(tmp_path, monkeypatch):
    from echelon import datasets

    def fetch(name, **options):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(60, 2))
        return X, 1 + (X[:, 0] > 0) + (X[:, 0] + X[:, 1] > 1)

    monkeypatch.setattr(datasets, "fetch_benchmark", fetch)
    table = read_table("ck07-table1")
    found = []
    for jobs in (1, 2):
        store = ResultStore(tmp_path / str(jobs), table.name)
        plan = make_plan(table, sets=["pyrimidines"], models=["SVR"], splits=3, jobs=jobs)
        list(run(plan, store))
        found.append({cell.key: (cell.errors, cell.parameters) for cell in store})
    assert found[0] == found[1] and len(found[0]) == 4


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"sets": ["six"]}, "no data set 'six'"),
        ({"models": ["SIX"]}, "no model 'SIX'; there are FAR, NEAR"),
        ({"models": ["UNBUILT"]}, "UNBUILT of tiny is published only: it has no model yet"),
        ({"splits": 0}, "splits must be at least 1; found 0"),
        ({"effort": "huge"}, "effort must be one of quick, paper; found 'huge'"),
    ],
)
def test_bad_requests(tiny, table, request_, message):
    with pytest.raises(ReproductionError, match=message):
        make_plan(table, **request_)


def test_a_table_without_models(tiny, table, monkeypatch):
    monkeypatch.setattr(registry, "_MODELS", {})
    with pytest.raises(ReproductionError, match="No column of tiny has a model"):
        make_plan(table)


def test_registering_twice_is_an_error(tiny):
    with pytest.raises(ValueError, match="registered already"):
        registry.register_model("NEAR")(lambda problem: None)


def test_a_set_with_a_generator_is_drawn_and_not_fetched(tiny, table, tmp_path, monkeypatch):
    monkeypatch.delattr("echelon.datasets.fetch_benchmark")
    drawn = dataclasses.replace(table.sets["one"], generator="make_quadratic_ordinal")
    protocol = dataclasses.replace(table.protocol, bins=4)
    fresh = dataclasses.replace(table, sets={"one": drawn}, protocol=protocol)
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(fresh, models=["FAR"], splits=3), store))
    population = rules.Population("make_quadratic_ordinal", drawn.test, (1, 2, 3, 4))
    for cell in store:
        split = draw_split(population, drawn.training, seed=0, index=cell.key.split)
        assert len(split.y_test) == drawn.test
        predicted = tiny(shift=0.5).fit(split.X_train, split.y_train).predict(split.X_test)
        assert cell.errors["absolute"] == np.mean(np.abs(predicted - split.y_test))
    assert len({cell.errors["absolute"] for cell in store}) > 1


def test_a_table_with_published_splits_has_theirs(tiny, table, tmp_path, monkeypatch):
    X, y = np.random.default_rng(1).normal(size=(30, 2)), 1 + np.arange(30) % 3
    masks = np.array([np.arange(30) < 20, np.arange(30) >= 10])
    source = rules.PublishedSplits("one_3bins", X, y, masks, (1, 2, 3))
    monkeypatch.setattr(runner, "load_splits", lambda name, protocol: source)
    protocol = rules.Protocol(3, splits="gpor")
    fixed = dataclasses.replace(table, protocol=protocol)
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(fixed, sets=["one"], models=["FAR"], splits=2), store))
    for cell in store:
        split = draw_split(source, 20, seed=9, index=cell.key.split)
        predicted = tiny(shift=0.5).fit(split.X_train, split.y_train).predict(split.X_test)
        assert cell.errors["absolute"] == np.mean(np.abs(predicted - split.y_test))
    with pytest.raises(ReproductionError, match="one_3bins has 2 published splits"):
        list(run(make_plan(fixed, sets=["one"], models=["FAR"], splits=3), store))


def test_probabilities_are_measured_where_a_model_has_them(tiny, table, tmp_path, monkeypatch):
    class Certain(tiny):
        def predict_proba(self, X):
            return 0.7 * (self.predict(X)[:, None] == self.classes_) + 0.1

    monkeypatch.setitem(registry._MODELS, "FAR", registry.Model("FAR", lambda _: Certain()))
    both = dataclasses.replace(table, measures=("zero_one", "negative_log_likelihood"))
    store = ResultStore(tmp_path, "tiny")
    list(run(make_plan(both, sets=["one"], splits=3), store))
    for cell in store:
        if cell.key.model == "NEAR":
            assert set(cell.errors) == {"zero_one"}
        else:
            wrong = cell.errors["zero_one"]
            expected = -wrong * np.log(0.1) - (1.0 - wrong) * np.log(0.8)
            assert cell.errors["negative_log_likelihood"] == pytest.approx(expected)
    cells = current(store, both, "quick")
    likelihoods = [r for r in make_rows(both, cells) if r.measure == "negative_log_likelihood"]
    assert [row.model for row in likelihoods] == ["FAR"]
    assert {duel.measure for duel in make_duels(both, cells)} == {"zero_one"}


def test_a_probability_of_zero_keeps_the_mean_finite():
    P = np.array([[1.0, 0.0], [0.5, 0.5]])
    found = negative_log_likelihood(np.array(["b", "a"]), P, classes=("a", "b"))
    tiny_number = np.finfo(np.float64).tiny
    assert found == pytest.approx(-(np.log(tiny_number) + np.log(0.5)) / 2)
