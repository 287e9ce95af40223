"""A revision stands for results: code that gives others is noticed before it adds cells."""

import json

import pytest

from echelon import ORStump
from reproduction import ReproductionError, ResultStore, list_models, make_plan, probes, run
from reproduction.models import get_model, registry


def test_every_model_gives_the_results_of_its_revision():
    record = probes.read_record()
    assert sorted(record) == list_models()
    for name in list_models():
        assert record[name]["revision"] == get_model(name).revision
        probes.require_same_results(get_model(name))


@pytest.fixture
def stump(tiny, monkeypatch, tmp_path):
    """Registers a stump as the model NEAR under a cost and a revision, with a record of its own."""
    monkeypatch.setattr(probes, "RECORD", tmp_path / "probes.json")

    def register(cost, revision):
        model = registry.Model("NEAR", lambda problem: ORStump(cost=cost), revision)
        monkeypatch.setattr(registry, "_MODELS", {"NEAR": model})

    return register


def test_results_that_change_under_one_revision_are_refused(stump, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    stump("absolute", 1)
    probes.record()
    list(run(make_plan(table, models=["NEAR"], splits=1), store))
    recorded = probes.RECORD.read_text()
    stump("zero_one", 1)
    for refused in (
        probes.record,
        lambda: list(run(make_plan(table, models=["NEAR"], splits=2), store)),
    ):
        with pytest.raises(ReproductionError, match="NEAR does not give the results of its revi"):
            refused()
    assert len(list(store)) == 2
    assert probes.RECORD.read_text() == recorded
    # Nothing is added to, so nothing can be mixed.
    assert list(run(make_plan(table, models=["NEAR"], splits=1), store)) == []


def test_a_raised_revision_is_recorded_and_measured_anew(stump, table, tmp_path):
    store = ResultStore(tmp_path, "tiny")
    stump("absolute", 1)
    probes.record()
    stump("zero_one", 2)
    probes.record()
    assert json.loads(probes.RECORD.read_text())["NEAR"]["revision"] == 2
    list(run(make_plan(table, models=["NEAR"], splits=1), store))
    assert {cell.key.revision for cell in store} == {2}
