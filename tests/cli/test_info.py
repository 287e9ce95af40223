import json

from support.mixed_tables import WORDS

from echelon.trained.model import read_card


def test_what_the_model_is(run, model_file, capsys):
    assert run("info", model_file) == 0
    said = capsys.readouterr().out
    for words in (
        "ProportionalOdds logit",
        "poor < fair < good < great",
        "rating",
        "scikit-learn",
        "mean absolute error",
        "interval coverage",
        "blue, green, red",
    ):
        assert words in said
    assert "None" not in said


def test_as_json(run, model_file, capsys):
    assert run("info", model_file, "--json") == 0
    card = json.loads(capsys.readouterr().out)
    assert card["classes"] == WORDS
    assert card["name"] == "ProportionalOdds logit"
    assert 0.0 < card["metrics"]["mae"] < 2.0
    assert card == read_card(model_file).card()


def test_the_estimators_are_not_loaded(run, model_file, monkeypatch, capsys):
    import skops.io

    monkeypatch.setattr(skops.io, "loads", None)
    monkeypatch.setattr(skops.io, "get_untrusted_types", None)
    assert run("info", model_file) == 0
