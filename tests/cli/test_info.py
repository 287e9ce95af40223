import json

from support.mixed_tables import WORDS, mixed_frame

from echelon.trained import load_model
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
    monkeypatch.setattr("echelon.trained.model.load_estimators", None)
    assert run("info", model_file) == 0


def test_signed_and_trusted(run, model_file, tmp_path, capsys):
    key, signed, table = tmp_path / "key", tmp_path / "signed.echelon", tmp_path / "t.csv"
    mixed_frame(20, seed=4).to_csv(table, index=False)
    assert run("keygen", key) == 0
    assert run("keygen", key) == 4
    load_model(model_file).save(signed, key=key)
    public = f"{key}.pub"
    commands = (["info", signed], ["predict", signed, table], ["evaluate", signed, table])
    for command in commands:
        assert run(*command, "--trusted-key", public) == 0
    capsys.readouterr()
    assert run("info", model_file, "--trusted-key", public) == 3
    assert "not signed" in capsys.readouterr().err
    assert run("predict", signed, table, "--trusted-key", table) == 2
    assert capsys.readouterr().err.startswith("Error: --trusted-key must name a file")
    assert run("fit", table, "--sign", public) == 2
    assert capsys.readouterr().err.startswith("Error: --sign must name a file")
