import numpy as np
import pandas as pd
import pytest
from support.mixed_tables import ORDER, WORDS, mixed_frame

from echelon.model_selection import roster
from echelon.trained import load_model


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "ratings.csv"
    mixed_frame().to_csv(path, index=False)
    return path


def test_a_named_model(run, table, tmp_path, capsys):
    out = tmp_path / "m.echelon"
    line = ["fit", table, "--order", ORDER, "--model", "linear-svor", "--jobs", 1, "--save", out]
    assert run(*line) == 0
    said = capsys.readouterr().out
    assert "90 rows, 4 inputs, 4 levels of rating: poor < fair < good < great" in said
    assert "Model: LinearSVOR" in said
    assert "Settings: C=" in said
    assert "\nCross-validated (5 folds, with its settings fixed):\n  mean absolute error" in said
    assert f"Written: {out}" in said
    model = load_model(out)
    assert model.classes == WORDS
    assert set(model.metrics) >= {"mae", "zero_one", "qwk", "rps", "interval_coverage"}
    found = model.predict_frame(mixed_frame(30, seed=4))
    np.testing.assert_allclose(found.filter(like="p_").sum(axis=1), 1.0)
    rank = {word: code for code, word in enumerate(WORDS)}
    low, at, high = (found[c].map(rank) for c in ("interval_low", "predicted", "interval_high"))
    assert ((low <= at) & (at <= high)).all()


def test_the_best_of_a_contest(run, table, tmp_path, monkeypatch, capsys):
    both = {n: roster.candidates()[n] for n in ("median label", "ProportionalOdds logit")}
    monkeypatch.setattr(roster, "candidates", lambda seed=0: both)
    out = tmp_path / "m.echelon"
    line = ["fit", table, "--order", ORDER, "--budget", "30s", "--jobs", 1, "--save", out]
    assert run(*line) == 0
    assert "Model: ProportionalOdds logit" in capsys.readouterr().out
    assert load_model(out).name == "ProportionalOdds logit"


def test_figures_of_a_model_without_settings_need_no_caveat(run, table, tmp_path, capsys):
    out = tmp_path / "m.echelon"
    order = f"{ORDER}<superb"
    line = ["fit", table, "--order", order, "--model", "median label", "--jobs", 1, "--save", out]
    assert run(*line) == 0
    said = capsys.readouterr()
    assert "\nCross-validated (5 folds):\n  mean absolute error" in said.out
    note = "No row has the label 'superb' that the order names."
    assert f"Note: {note}\n" in said.err
    assert "Fitting median label to all rows\n" in said.err
    assert run("info", out) == 0
    said = capsys.readouterr().out
    assert note in said
    assert "\nCross-validated (5 folds)\n" in said
    # All folds were measured, which goes without saying.
    assert "were run" not in said


def test_costs_reach_the_model(run, table, tmp_path, capsys):
    cost = tmp_path / "cost.csv"
    # Too high a label is very dear, so that the lowest is the best guess everywhere.
    cost.write_text("0,99,99,99\n1,0,99,99\n1,1,0,99\n1,1,1,0\n")
    out = tmp_path / "m.echelon"
    line = ["fit", table, "--order", ORDER, "--model", "proportionalodds logit", "--jobs", 1]
    assert run(*line, "--cost", cost, "--save", out) == 0
    assert "mean cost" in capsys.readouterr().out
    model = load_model(out)
    assert model.extra["cost"][0] == [0, 99, 99, 99]
    assert (model.predict(mixed_frame(30, seed=4)) == "poor").mean() > 0.9


def test_numbers_as_labels_keep_their_type(run, tmp_path):
    frame = mixed_frame().assign(rating=lambda f: f["rating"].map(WORDS.index) + 1)
    path, out = tmp_path / "stars.parquet", tmp_path / "m.echelon"
    frame.to_parquet(path)
    assert run("fit", path, "--model", "prank", "--jobs", 1, "--save", out) == 0
    model = load_model(out)
    assert model.classes == [1, 2, 3, 4]
    assert pd.api.types.is_integer_dtype(model.predict_frame(frame)["predicted"])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--model", "alchemy"], "There is no model 'alchemy'"),
        (["--model", "stack"], "--model auto and echelon compare --save fit it where it wins"),
        (["--confidence", "1.5"], "--confidence must lie between 0 and 1"),
        (["--budget", "soon"], "--budget must be a duration"),
        (["--cost", "absent.csv"], "cannot be read"),
        (["--save", "."], "is a folder"),
        (["--save", "no/such/folder/m.echelon"], "does not exist"),
        (["--target", "ratings"], "did you mean 'rating'?"),
    ],
)
def test_usage_errors_are_one_sentence(run, table, tmp_path, monkeypatch, capsys, options, words):
    monkeypatch.chdir(tmp_path)
    assert run("fit", table, "--order", ORDER, *options) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("Error: ") == 1 and "Traceback" not in said
    assert [p.name for p in tmp_path.iterdir()] == [table.name]
