"""Lookup, checks and download of benchmark sets, on small tables made here; no network."""

import dataclasses
import gzip
import urllib.error
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from echelon.datasets import benchmarks, fetch_benchmark, list_benchmarks
from echelon.datasets.benchmarks import find_benchmark
from echelon.datasets.tables import (
    TextTable,
    cache_folder,
    content_checksum,
    data_folders,
    exact_checksum,
    read_table,
    write_table,
)

TABLE = TextTable(
    ["Length", "Sex", "tag", "y"],
    [
        ["0.5", "", "1.5", "2", "4"],
        ["M", "F", "", "I", "M"],
        ["a", "b", "c", "d", "e"],
        ["3", "1", "2", "5", "4"],
    ],
)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The abalone entry, shrunk to the five rows of TABLE, and empty folders."""
    facts = dataclasses.replace(
        find_benchmark("abalone"),
        rows=5,
        columns=3,
        aside=("tag",),
        checksum=content_checksum(TABLE, 3),
    )
    monkeypatch.setattr(benchmarks, "find_benchmark", lambda name: facts)
    monkeypatch.delenv("ECHELON_DATA", raising=False)
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path / "cache"))
    return facts


def answer(table=TABLE):
    frame = pd.DataFrame(
        {
            "Length": pd.to_numeric(pd.Series(table.columns[0])),
            "Sex": pd.Categorical([field or None for field in table.columns[1]]),
            "tag": table.columns[2],
        }
    )
    return Bunch(data=frame, target=pd.Series(pd.Categorical(table.target)))


def serve(monkeypatch, reply):
    calls = []

    def fetch_openml(**options):
        calls.append(options)
        if isinstance(reply, Exception):
            raise reply
        return reply

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch_openml)
    return calls


def files_below(folder):
    return sorted(path.name for path in Path(folder).rglob("*") if path.is_file())


def test_download_is_checked_written_once_and_read_again(small, monkeypatch, tmp_path):
    calls = serve(monkeypatch, answer())
    first = fetch_benchmark("abalone", bins=5)
    second = fetch_benchmark("abalone", bins=5)
    assert [call["data_id"] for call in calls] == [183]
    assert files_below(tmp_path) == ["abalone.csv.gz"]
    np.testing.assert_array_equal(first.data, second.data)
    assert first.target.tolist() == second.target.tolist() == [3, 1, 2, 5, 4]
    written = read_table(tmp_path / "cache" / small.file)
    assert content_checksum(written, 3) == small.checksum


def test_download_goes_to_data_home_if_given(small, monkeypatch, tmp_path):
    serve(monkeypatch, answer())
    fetch_benchmark("abalone", bins=2, data_home=tmp_path / "mine")
    assert files_below(tmp_path / "mine") == ["abalone.csv.gz"]
    assert not (tmp_path / "cache").exists()


def test_wrong_content_from_the_server_is_refused_and_not_kept(small, monkeypatch, tmp_path):
    wrong = TextTable(TABLE.names, [*TABLE.columns[:-1], ["3", "1", "2", "5", "5"]])
    serve(monkeypatch, answer(wrong))
    with pytest.raises(ValueError, match="OpenML data set 183 is not the abalone set") as caught:
        fetch_benchmark("abalone", bins=2)
    assert "regression/abalone.csv.gz" in str(caught.value)
    assert files_below(tmp_path) == []


@pytest.mark.parametrize(
    "error",
    [
        urllib.error.URLError("no route"),
        ConnectionResetError("reset"),
        ValueError("md5 checksum of local file differs"),
    ],
)
def test_a_failed_download_says_where_to_put_the_file(small, monkeypatch, tmp_path, error):
    serve(monkeypatch, error)
    with pytest.raises(FileNotFoundError, match="the download from OpenML failed") as caught:
        fetch_benchmark("abalone")
    assert str(tmp_path / "cache" / "regression" / "abalone.csv.gz") in str(caught.value)
    assert "ECHELON_DATA" in str(caught.value)
    assert caught.value.__cause__ is error
    assert files_below(tmp_path) == []


def test_missing_pandas_is_told(small, monkeypatch):
    serve(monkeypatch, ImportError("pandas"))
    with pytest.raises(FileNotFoundError, match="needs pandas, which is not installed"):
        fetch_benchmark("abalone")


def test_download_false_never_asks(small, monkeypatch):
    calls = serve(monkeypatch, answer())
    with pytest.raises(FileNotFoundError, match="download=False forbids asking OpenML"):
        fetch_benchmark("abalone", download=False)
    assert calls == []


def test_a_set_without_a_number_never_asks(monkeypatch, tmp_path):
    monkeypatch.delenv("ECHELON_DATA", raising=False)
    calls = serve(monkeypatch, answer())
    with pytest.raises(FileNotFoundError, match=r"'triazines' .* no OpenML number is known"):
        fetch_benchmark("triazines", data_home=tmp_path)
    assert calls == []


def test_a_write_that_fails_leaves_no_file(small, monkeypatch, tmp_path):
    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_table(tmp_path / "a.csv.gz", TABLE)
    assert files_below(tmp_path) == []


def test_a_local_file_with_other_content_is_refused(small, monkeypatch, tmp_path):
    calls = serve(monkeypatch, answer())
    short = TextTable(TABLE.names, [column[:4] for column in TABLE.columns])
    path = tmp_path / "cache" / small.file
    write_table(path, short)
    with pytest.raises(ValueError, match="found 4 rows and 3 inputs, expected 5 and 3") as caught:
        fetch_benchmark("abalone")
    assert str(path) in str(caught.value)
    assert calls == []


@pytest.mark.parametrize(
    "content",
    [
        b"not gzip",
        gzip.compress(b"a,y\n1,2\n" * 50)[:-12],
        gzip.compress(b"a,y\n1\n"),
        gzip.compress(b"a,y\n"),
        gzip.compress(b"\xff\xfe"),
        b"",
    ],
    ids=["plain", "truncated", "ragged", "no rows", "not text", "empty"],
)
def test_an_unreadable_local_file_is_told_by_its_path(small, tmp_path, content):
    path = tmp_path / "cache" / small.file
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"abalone\.csv\.gz"):
        fetch_benchmark("abalone")


def test_data_folder_comes_before_the_cache(small, monkeypatch, tmp_path):
    monkeypatch.setenv("ECHELON_DATA", str(tmp_path / "data"))
    moved = TextTable(TABLE.names, [column[::-1] for column in TABLE.columns])
    write_table(tmp_path / "cache" / small.file, TABLE)
    assert fetch_benchmark("abalone", bins=5).target.tolist() == [3, 1, 2, 5, 4]
    write_table(tmp_path / "data" / small.file, moved)
    assert fetch_benchmark("abalone", bins=5).target.tolist() == [4, 5, 2, 1, 3]


def test_nominal_inputs_missing_values_and_columns_aside(small, tmp_path):
    write_table(tmp_path / "cache" / small.file, TABLE)
    bunch = fetch_benchmark("abalone", bins=2)
    assert bunch.feature_names == ["Length", "Sex=M", "Sex=F", "Sex=I"]
    nan = np.nan
    expected = [[0.5, 1, 0, 0], [nan, 0, 1, 0], [1.5, nan, nan, nan], [2, 0, 0, 1], [4, 1, 0, 0]]
    np.testing.assert_array_equal(bunch.data, expected)
    assert bunch.aside["tag"].tolist() == ["a", "b", "c", "d", "e"]
    assert bunch.continuous_target.tolist() == [3, 1, 2, 5, 4]
    assert bunch.classes.tolist() == [1, 2]

    framed = fetch_benchmark("abalone", bins=2, as_frame=True)
    assert framed.data["Sex"].cat.categories.tolist() == ["M", "F", "I"]
    assert framed.data.isna().sum().tolist() == [1, 1]
    assert framed.target.cat.ordered
    assert framed.target.tolist() == bunch.target.tolist()


def test_an_unknown_level_is_told(small, monkeypatch, tmp_path):
    columns = [TABLE.columns[0], ["M", "F", "X", "I", "M"], *TABLE.columns[2:]]
    write_table(tmp_path / "cache" / small.file, TextTable(TABLE.names, columns))
    with pytest.raises(ValueError, match=r"Column 'Sex' has levels \['X'\]; accepted are"):
        fetch_benchmark("abalone")


def test_cache_folder_follows_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("ECHELON_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("ECHELON_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "echelon"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache_folder() == Path("~/.cache/echelon").expanduser()
    monkeypatch.setenv("ECHELON_DATA", str(tmp_path / "data"))
    assert data_folders() == [tmp_path / "data", cache_folder()]
    assert data_folders("here") == [Path("here")]


def test_content_checksum_ignores_row_order_and_number_format_only():
    moved = TextTable(TABLE.names, [column[::-1] for column in TABLE.columns])
    padded = TextTable(TABLE.names, [*TABLE.columns[:-1], ["3.0", "1", "2.00", "5", "4e0"]])
    assert content_checksum(moved, 3) == content_checksum(padded, 3) == content_checksum(TABLE, 3)
    assert content_checksum(TABLE, 4) != content_checksum(TABLE, 3)
    assert exact_checksum(moved.columns) != exact_checksum(TABLE.columns)
    assert exact_checksum(padded.columns) == exact_checksum(TABLE.columns)


def test_writing_is_reproducible_and_reads_back(tmp_path):
    write_table(tmp_path / "a.csv.gz", TABLE)
    write_table(tmp_path / "b.csv.gz", TABLE)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()
    back = read_table(tmp_path / "a.csv.gz")
    assert back.names == TABLE.names
    assert [list(column) for column in back.columns] == TABLE.columns


def test_registry_is_consistent():
    assert len(list_benchmarks("regression")) == 21
    assert len(list_benchmarks("ordinal")) == 21
    numbers = []
    for name in list_benchmarks():
        facts = find_benchmark(name)
        assert bool(facts.labels) == (facts.kind == "ordinal")
        assert len(facts.checksum) == 64
        numbers += [facts.openml] if facts.openml else []
    assert len(set(numbers)) == len(numbers)


def test_bad_names_are_told():
    with pytest.raises(ValueError, match=r"name must be '2dplanes', .*; found 'iris'"):
        fetch_benchmark("iris")
    with pytest.raises(ValueError, match="kind must be 'regression', 'ordinal' or None"):
        list_benchmarks("ranking")
