import gzip
import io
import os
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from echelon.tables import TableError, TableWriter, read_table

FRAME = pd.DataFrame({"word": ['a "b", c', None, "x"], "number": [0.1, np.nan, 1e20]})


def test_quotation_marks_stand_only_where_they_are_needed(tmp_path):
    path = tmp_path / "table.csv"
    with TableWriter(path) as writer:
        writer.write(FRAME)
        writer.write(FRAME[2:])
    assert path.read_text() == 'word,number\n"a ""b"", c",0.1\n,\nx,1e+20\nx,1e+20\n'


def test_json_lines(tmp_path):
    path = tmp_path / "table.jsonl"
    with TableWriter(path) as writer:
        writer.write(FRAME)
    first, second, _ = path.read_text().splitlines()
    assert first == '{"word":"a \\"b\\", c","number":0.1}'
    assert second == '{"word":null,"number":null}'
    with pytest.raises(TableError, match="infinite number, which JSON cannot hold"):
        write(tmp_path / "infinite.jsonl", FRAME.assign(number=np.inf))


def write(path, *frames, format=None):
    with TableWriter(path, format) as writer:
        for frame in frames:
            writer.write(frame)


def test_days_have_no_hours(tmp_path):
    path = tmp_path / "days.csv"
    write(path, pd.DataFrame({"day": pd.to_datetime(["2020-01-31", None]), "n": [1, 2]}))
    assert path.read_text() == "day,n\n2020-01-31,1\n,2\n"


def fail_after_a_part(writer, failure):
    writer.write(FRAME)
    raise failure


@pytest.mark.parametrize("suffix", ["csv", "tsv.gz", "parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, suffix, failure):
    path = tmp_path / f"table.{suffix}"
    path.write_bytes(b"old")
    with pytest.raises(failure), TableWriter(path) as writer:
        fail_after_a_part(writer, failure)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == [path.name]


def test_a_failure_at_the_end_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("os.replace", lambda *_: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / "table.parquet", FRAME)
    assert os.listdir(tmp_path) == []


def test_nothing_is_seen_before_the_end(tmp_path):
    path = tmp_path / "new" / "table.csv"
    with TableWriter(path) as writer:
        writer.write(FRAME)
        assert not path.exists()
    assert path.exists()


@pytest.mark.parametrize("format", [None, "jsonl", "parquet"])
def test_standard_output(monkeypatch, tmp_path, format):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=out))
    write("-", FRAME, format=format)
    path = tmp_path / f"table.{format or 'csv'}"
    path.write_bytes(out.getvalue())
    pd.testing.assert_frame_equal(read_table(path), FRAME, check_dtype=False)


def test_the_same_rows_give_the_same_gz(tmp_path):
    for name in ("one.csv.gz", "two.csv.gz"):
        write(tmp_path / name, FRAME)
    one, two = ((tmp_path / name).read_bytes() for name in ("one.csv.gz", "two.csv.gz"))
    assert one == two and gzip.decompress(one).startswith(b"word,number")


def test_ordered_categories_keep_their_order(tmp_path):
    grades = pd.Categorical(["good", "poor"], categories=["poor", "fair", "good"], ordered=True)
    frame = pd.DataFrame({"grade": grades, "colour": pd.Categorical(["red", None])})
    for suffix in ("parquet", "arrow"):
        path = tmp_path / f"table.{suffix}"
        write(path, frame, frame[1:])
        found = read_table(path)["grade"]
        assert found.dtype == grades.dtype and found.tolist() == ["good", "poor", "poor"]


def test_types_that_change_from_part_to_part(tmp_path):
    whole, gaps = pd.DataFrame({"n": [1, 2]}), pd.DataFrame({"n": [1.0, None]})
    write(tmp_path / "table.parquet", whole, gaps)
    assert read_table(tmp_path / "table.parquet")["n"].isna().sum() == 1
    with pytest.raises(TableError, match="A column's type changed"):
        write(tmp_path / "table.arrow", whole, pd.DataFrame({"n": ["x"]}))
    with pytest.raises(TableError, match="All parts of a table have the same columns, n; found m"):
        write(tmp_path / "table.csv", whole, pd.DataFrame({"m": [1]}))
    assert os.listdir(tmp_path) == ["table.parquet"]


def test_no_part_at_all(tmp_path):
    for suffix in ("csv", "parquet", "arrow", "jsonl"):
        write(tmp_path / f"table.{suffix}")
        assert (tmp_path / f"table.{suffix}").exists()


@pytest.mark.parametrize(
    ("name", "format", "message"),
    [
        ("table.xlsx", None, "must end in .csv, .tsv"),
        ("table.svmlight", None, "must end in .csv, .tsv"),
        ("table.parquet.gz", None, "is not gzipped"),
        ("table.csv", "excel", "format must be one of csv, tsv, parquet, arrow, jsonl; found"),
    ],
)
def test_bad_outputs_are_refused_before_any_work(tmp_path, name, format, message):
    with pytest.raises(TableError, match=message):
        TableWriter(tmp_path / name, format)
    assert os.listdir(tmp_path) == []


FORMULAS = pd.DataFrame({"=name": ["=1+1", "-5", "@x", None], "kind": pd.Categorical(list("a+bc"))})


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_spreadsheets_run_nothing_unless_texts_are_written_raw(tmp_path, suffix):
    frame = FORMULAS.assign(kind=FORMULAS["kind"].cat.rename_categories({"+": "+run()"}))
    path, between = tmp_path / f"table.{suffix}", "," if suffix == "csv" else "\t"
    write(path, frame)
    expected = ["'=name,kind", "'=1+1,a", "-5,'+run()", "'@x,b", ",c"]
    assert path.read_text().splitlines() == [line.replace(",", between) for line in expected]
    with TableWriter(path, raw=True) as writer:
        writer.write(frame)
    assert path.read_text().replace(between, ",").splitlines()[:3] == [
        "=name,kind",
        "=1+1,a",
        "-5,+run()",
    ]


def test_columns_of_one_name_are_not_written(tmp_path):
    frame = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(TableError, match="to write has more than one column 'a'"):
        write(tmp_path / "table.csv", frame)


def test_a_name_that_begins_as_marks_of_an_encoding_do_is_read_again(tmp_path):
    path = tmp_path / "table.csv"
    write(path, pd.DataFrame({"\ufeff": ["x", "y"]}))
    assert read_table(path).columns.tolist() == ["\ufeff"]


def test_a_closed_standard_output_is_an_error_of_the_output(monkeypatch):
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OSError, match="it is closed"):
        write("-", FRAME)
