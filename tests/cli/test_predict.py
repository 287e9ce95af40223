import io
import json
import sys

import numpy as np
import pandas as pd
import pytest
from support.mixed_tables import WORDS, mixed_frame

from echelon.cli import predict as command
from echelon.cli.predict import in_order
from echelon.trained import load_model

ALL = ["predicted", *(f"p_{word}" for word in WORDS), "interval_low", "interval_high"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "new.csv"
    mixed_frame(60, seed=7).drop(columns="rating").to_csv(path, index=False)
    return path


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(command, "_ROWS", 7)


def test_the_model_s_own_answers_in_the_order_of_rows(
    run, model_file, table, tmp_path, small_pieces
):
    out = tmp_path / "p.csv"
    assert run("predict", model_file, table, "--out", out) == 0
    found = pd.read_csv(out)
    assert list(found.columns) == ALL
    expected = load_model(model_file).predict_frame(pd.read_csv(table))
    pd.testing.assert_frame_equal(found, expected, check_dtype=False, rtol=5e-6)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow", ".jsonl", ".tsv", ".csv.gz"])
def test_formats(run, model_file, table, tmp_path, small_pieces, suffix):
    from echelon.tables import read_table

    out = tmp_path / f"p{suffix}"
    assert run("predict", model_file, table, "--out", out) == 0
    expected = load_model(model_file).predict_frame(pd.read_csv(table))
    found = read_table(out)
    tolerance = 1e-14 if suffix in (".parquet", ".arrow") else 5e-6
    assert found["predicted"].tolist() == expected["predicted"].tolist()
    np.testing.assert_allclose(found["p_good"], expected["p_good"], rtol=tolerance)


def test_standard_input_and_output(run, model_file, table, monkeypatch, capsys):
    stream = io.TextIOWrapper(io.BytesIO(table.read_bytes()))
    monkeypatch.setattr(sys, "stdin", stream)
    assert run("predict", model_file, "-", "--no-proba", "--no-interval") == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[0] == "predicted"
    assert len(said.out.splitlines()) == 61
    assert said.err == ""


def test_kept_columns_come_first(run, model_file, tmp_path, small_pieces):
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    frame = mixed_frame(60, seed=7).assign(id=[f"{i:04d}" for i in range(60)])
    frame.to_csv(path, index=False)
    assert run("predict", model_file, path, "--keep", "id", "--keep", "rating", "--out", out) == 0
    found = pd.read_csv(out, dtype={"id": str})
    assert list(found.columns) == ["id", "rating", *ALL]
    assert found["id"].tolist() == frame["id"].tolist()
    assert run("predict", model_file, path, "--keep-all", "--no-proba", "--out", out) == 0
    assert list(pd.read_csv(out).columns) == [*frame.columns, ALL[0], *ALL[-2:]]


def test_columns_in_another_order_and_unseen_categories(
    run, model_file, tmp_path, capsys, small_pieces
):
    frame = mixed_frame(60, seed=7)
    frame.loc[[0, 59], "colour"] = ["ultraviolet", "infrared"]
    frame.loc[1, "colour"] = "?"
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    frame[["colour", "c", "b", "a"]].to_csv(path, index=False)
    assert run("predict", model_file, path, "--out", out) == 0
    assert len(pd.read_csv(out)) == 60
    assert capsys.readouterr().err.splitlines()[0] == (
        "Note: Column 'colour' has categories of fewer than 5 training rows, or of none, "
        "such as 'ultraviolet', in 2 rows."
    )


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda f: f.rename(columns={"colour": "color"}), [], "is it 'color' for 'colour'?"),
        (lambda f: f.drop(columns=["a", "b"]), [], "'a', 'b'"),
        (lambda f: f.assign(a="tall"), [], "'a'"),
        (lambda f: f, ["--keep", "name"], "has no column 'name'; it has a, b, c, colour, rating."),
        (lambda f: f, ["--keep", "Rating"], "has no column 'Rating'; did you mean 'rating'?"),
        (lambda f: f.assign(predicted=1), ["--keep-all"], "'predicted'"),
        (lambda f: f.iloc[:0], [], "no rows"),
    ],
)
def test_mismatches_name_the_column_and_leave_no_file(
    run, model_file, tmp_path, capsys, change, options, words
):
    path, out = tmp_path / "t.csv", tmp_path / "p.csv"
    change(mixed_frame(60, seed=7)).to_csv(path, index=False)
    out.write_text("before")
    assert run("predict", model_file, path, *options, "--out", out) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1 and "Traceback" not in said
    assert out.read_text() == "before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["p.csv", "t.csv"]


def test_a_fault_in_the_last_row_leaves_no_file(run, model_file, table, tmp_path, small_pieces):
    with open(table, "a") as file:
        file.write("1,2,3\n")
    out = tmp_path / "p.csv"
    assert run("predict", model_file, table, "--out", out) == 2
    assert not out.exists()


def test_output_that_cannot_be_written(run, model_file, table, tmp_path, capsys):
    assert run("predict", model_file, table, "--out", tmp_path) in (2, 4)
    assert run("predict", model_file, table, "--out", table / "p.csv") in (2, 4)
    assert "Traceback" not in capsys.readouterr().err


def test_ctrl_c_leaves_no_file(run, model_file, table, tmp_path, monkeypatch, small_pieces):
    def interrupted(model, keep, frame, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_answer", interrupted)
    assert run("predict", model_file, table, "--out", tmp_path / "p.csv") == 130
    assert [p.name for p in tmp_path.iterdir()] == ["new.csv"]


def test_few_pieces_are_in_memory_and_results_in_order():
    taken = []

    def pieces():
        for i in range(50):
            taken.append(i)
            yield i

    given = []
    for result in in_order(lambda i: -i, pieces(), threads=2):
        given.append(result)
        assert len(taken) - len(given) <= 4
    assert given == [-i for i in range(50)]


def test_json_lines_of_probabilities(run, model_file, table, tmp_path):
    out = tmp_path / "p.jsonl"
    assert run("predict", model_file, table, "--out", out) == 0
    first = json.loads(out.read_text().splitlines()[0])
    assert sum(first[f"p_{word}"] for word in WORDS) == pytest.approx(1.0, abs=1e-5)


def test_output_that_would_replace_an_input(run, model_file, table, tmp_path, capsys):
    before = table.read_bytes()
    assert run("predict", model_file, table, "--out", table) == 2
    assert "would replace what is read" in capsys.readouterr().err
    assert table.read_bytes() == before
    assert run("predict", model_file, table, "--out", tmp_path / "new" / "p.csv") == 2
    assert "folder that does not exist" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_columns_without_any_value_are_noted(
    run, model_file, table, tmp_path, capsys, small_pieces
):
    pd.read_csv(table).assign(a=None).to_csv(table, index=False)
    assert run("predict", model_file, table, "--out", tmp_path / "p.csv") == 0
    assert "has a value in column 'a'" in capsys.readouterr().err


def test_columns_that_are_not_read_may_hold_anything(run, model_file, tmp_path):
    frame = mixed_frame(20, seed=7).assign(more=[[1, 2]] * 20)
    frame.to_parquet(tmp_path / "t.parquet")
    assert run("predict", model_file, tmp_path / "t.parquet", "--out", tmp_path / "p.csv") == 0
    assert len(pd.read_csv(tmp_path / "p.csv")) == 20
