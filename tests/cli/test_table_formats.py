"""Commands on spreadsheets, surveys and several files."""

import sys

import pandas as pd
import pyreadstat
import pytest
from support.mixed_tables import ORDER, WORDS, mixed_frame
from support.sheets import write_xlsx

from echelon.reporting import report
from echelon.tables import read_table
from echelon.trained import load_model

MODEL = ["--model", "ProportionalOdds logit", "--jobs", 1, "--save"]


@pytest.fixture
def survey(tmp_path):
    frame = mixed_frame()
    frame["rating"] = [1.0 + WORDS.index(word) for word in frame["rating"]]
    path = tmp_path / "survey.sav"
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels=["Age of respondent", "Income", "", "Favourite colour", "Satisfaction"],
        variable_value_labels={"rating": dict(enumerate(WORDS, 1))},
        variable_measure={"rating": "ordinal"},
    )
    return path


def test_a_survey_needs_no_order(run, survey, tmp_path, capsys):
    model, out = tmp_path / "m.echelon", tmp_path / "p.csv"
    assert run("fit", survey, "--target", "rating", *MODEL, model) == 0
    assert load_model(model).classes == WORDS
    assert run("predict", model, survey, "--keep", "rating", "--out", out) == 0
    predicted = read_table(out)
    assert len(predicted) == 90
    assert set(predicted["predicted"]) <= set(WORDS)
    assert predicted["rating"].tolist() == read_table(survey)["rating"].tolist()
    assert run("evaluate", model, survey) == 0
    assert run("inspect", survey) == 0
    assert "Age of respondent" in capsys.readouterr().out


def test_reports_name_inputs_by_their_labels(run, survey, tmp_path):
    pytest.importorskip("jinja2", reason="reports need jinja2")
    pytest.importorskip("matplotlib", reason="reports need matplotlib")
    model = tmp_path / "m.echelon"
    assert run("fit", survey, *MODEL, model) == 0
    trained = load_model(model)
    frame = trained.schema.apply(read_table(survey))
    labels = read_table(survey)["rating"]
    page = report(trained, frame, labels, cv="prefit", sections=["data", "importance", "effects"])
    assert page.html.count("a (Age of respondent)") >= 3
    assert "colour (Favourite colour)" in page.html


def test_a_sheet_is_named_on_the_command_line(run, tmp_path, capsys):
    frame = mixed_frame().astype(object)
    rows = [list(frame), *frame.where(frame.notna(), None).to_numpy().tolist()]
    path = write_xlsx(tmp_path / "t.xlsx", {"first": rows, "second": rows})
    assert run("inspect", path, "--order", ORDER) == 2
    assert "name one with --sheet first" in capsys.readouterr().err
    model = tmp_path / "m.echelon"
    assert run("fit", path, "--sheet", 2, "--order", ORDER, *MODEL, model) == 0
    assert run("predict", model, path, "--sheet", "first", "--out", tmp_path / "p.csv") == 0
    assert run("inspect", tmp_path / "p.csv", "--sheet", "first") == 2
    assert "is of format csv, which has no sheets" in capsys.readouterr().err


def test_predictions_for_many_files_are_one_file(run, model_file, tmp_path, capsys):
    folder, out = tmp_path / "in", tmp_path / "p.csv"
    folder.mkdir()
    for place in range(3):
        mixed_frame(seed=place).to_csv(folder / f"{place}.csv", index=False)
    assert run("predict", model_file, folder, "--out", out, "--keep", "a") == 0
    several = read_table(out)
    single = []
    for place in range(3):
        assert run("predict", model_file, folder / f"{place}.csv", "--keep", "a", "--out", out) == 0
        single.append(read_table(out))
    pd.testing.assert_frame_equal(several, pd.concat(single, ignore_index=True))
    capsys.readouterr()
    assert run("predict", model_file, folder / "*.csv", "--out", folder / "2.csv") == 2
    assert "would replace what is read" in capsys.readouterr().err
    assert run("predict", model_file, folder / "*.parquet", "--out", out) == 2
    assert f"No file matches '{folder}/*.parquet'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "package", "use"),
    [
        ("t.sav", "pyreadstat", "Files of format sav need"),
        ("t.xlsx", "python_calamine", "Spreadsheets need"),
    ],
)
def test_what_to_install_is_said(run, survey, tmp_path, monkeypatch, capsys, name, package, use):
    path = tmp_path / name
    if name == "t.sav":
        survey.rename(path)
    else:
        write_xlsx(path, {"one": [["a", "y"], [1, 2], [2, 1]]})
    monkeypatch.setitem(sys.modules, package, None)
    assert run("inspect", path) != 0
    said = capsys.readouterr().err
    assert f"This needs {package}; install it with pip install 'echelon[survey]'." in said
    with pytest.raises(ModuleNotFoundError, match=f"{use} {package}; install it with the survey"):
        read_table(path)
