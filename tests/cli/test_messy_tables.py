"""Tables as people have them, from the shell to a model and back."""

import numpy as np
import pandas as pd
import pytest

from echelon.trained import load_model

ANSWERS = ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"]


def survey(n=120, seed=0):
    rng = np.random.default_rng(seed)
    answer, income = rng.integers(0, 5, n), rng.normal(30_000, 9_000, n).round(2)
    latent = answer + income / 20_000 + rng.normal(size=n)
    grade = np.digitize(latent, [2.5, 4.5])
    euros = [f"{v:,.2f} €".replace(",", "_").replace(".", ",").replace("_", ".") for v in income]
    return pd.DataFrame(
        {
            "patient": rng.integers(0, 40, n),
            "pw": rng.uniform(0.5, 2.0, n).round(3),
            "seen": [f"{1 + i % 28:02d}/{1 + i % 12:02d}/2022" for i in range(n)],
            "q1": np.array(ANSWERS, dtype=object)[answer],
            "income": euros,
            "q2": np.where(rng.random(n) < 0.1, 99, rng.integers(1, 6, n)),
            "grade": np.array(["low", "middle", "high"])[grade],
        }
    )


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "umfrage.csv"
    survey().to_csv(path, index=False, sep=";", encoding="cp1252")
    return path


LINE = ("--target", "grade", "--order", "low<middle<high", "--delimiter", ";", "--jobs", 1)
MODEL = ("--model", "ProportionalOdds logit")


def test_all_that_was_guessed_is_said(run, messy, tmp_path, capsys):
    out = tmp_path / "m.echelon"
    line = ["fit", messy, *LINE, *MODEL, "--encoding", "cp1252", "--save", out]
    assert run(*line, "--group", "patient", "--time", "seen", "--missing", "99") == 0
    said = capsys.readouterr()
    assert "120 rows, 3 inputs, 3 levels of grade: low < middle < high" in said.out
    assert (
        "Column 'pw' left out, because its name is that of a survey weight: give --weight pw"
        in (said.err)
    )
    assert "Column 'q1' is taken as ordered, strongly disagree < disagree < neutral <" in said.err
    assert "'income' is read as numbers in € with decimal commas and points between" in said.err
    model = load_model(out)
    assert model.schema.roles == {"group": "patient", "time": "seen"}
    assert [column.kind for column in model.schema.columns] == ["ordered", "number", "number"]
    assert not any("--" in note or "weight=" in note for note in model.notes)


def test_predictions_of_the_same_file_whole_and_in_pieces(run, messy, tmp_path, monkeypatch):
    out = tmp_path / "m.echelon"
    line = ["fit", messy, *LINE, *MODEL, "--encoding", "cp1252", "--save", out]
    assert run(*line, "--missing", "99", "--drop", "seen") == 0
    monkeypatch.setattr("echelon.cli.predict._ROWS", 7)
    found = tmp_path / "p.csv"
    reading = ["--delimiter", ";", "--encoding", "cp1252", "--out", found]
    assert run("predict", out, messy, *reading) == 0
    expected = load_model(out).predict_frame(survey())
    assert pd.read_csv(found)["predicted"].tolist() == expected["predicted"].tolist()


def test_every_problem_is_listed_with_its_option(run, messy, tmp_path, capsys):
    frame = survey().assign(
        sum=[f"{1 + i % 9},{100 + i}" for i in range(120)], seen=["03/01/2022", "02/05/2022"] * 60
    )
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    assert run("fit", path, "--target", "grade", "--weight", "q1", "--jobs", 1) == 2
    assert capsys.readouterr().err.strip().split("\n") == [
        "Error: The table has 4 problems:",
        "- The target 'grade' has text labels: high, low, middle; give their order from lowest to "
        "highest with --order 'lowest<…<highest'.",
        "- Column 'seen' holds dates, such as '02/05/2022', that can be read in two ways; give "
        "--date-format %d/%m/%Y or --date-format %m/%d/%Y.",
        "- Column 'sum' holds numbers with a comma, such as '1,100', that can be read in two ways; "
        "give --decimal , or --thousands ,.",
        "- The weights 'q1' must be numbers; found 'strongly agree'.",
    ]


def test_text_in_another_encoding_and_in_utf16(run, messy, tmp_path, capsys):
    assert run("fit", messy, *LINE) == 2
    assert "that is not UTF-8; if it was written by an older program, give --encoding cp1252" in (
        capsys.readouterr().err
    )
    assert run("fit", messy, *LINE, "--encoding", "klingon") == 2
    assert "There is no encoding of text 'klingon'" in capsys.readouterr().err
    wide = tmp_path / "wide.csv"
    survey().to_csv(wide, index=False, sep=";", encoding="utf-16")
    out = tmp_path / "m.echelon"
    assert run("fit", wide, *LINE, *MODEL, "--drop", "seen", "--save", out) == 0
    assert run("predict", out, wide, "--delimiter", ";", "--out", tmp_path / "p.csv") == 0


def test_a_saved_ranking_takes_no_options_of_cells(run, tmp_path, capsys):
    assert run("rank", "t.csv", "--model-file", "m.echelon", "--date-format", "%d") == 2
    assert "--date-format is for training a model" in capsys.readouterr().err
