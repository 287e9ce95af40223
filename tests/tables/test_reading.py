import gzip
import io
import os
import sys
import threading
import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from echelon.tables import Column, Schema, TableError, TableWriter, blocks, read_chunks, read_table

MESSY = (
    "\ufeffid, size ,colour,when,sold,zip,grade\n"
    "1, 3.5 ,red,2020-01-01,yes,1234,None\n"
    '2,?,"light ""blue"", pale",2021-06-30T12:00,NO,5678,good\n'
    '3,1e3,"two\nlines",,true,?,good\n'
    "\n"
    '4,NA,5" pipe,2020-01-01T06:00:00+02:00,,99,\n'
)


@pytest.fixture
def messy(tmp_path):
    path = tmp_path / "messy.csv"
    path.write_bytes(MESSY.encode())
    return path


def test_a_messy_file(messy):
    frame = read_table(messy, target="grade")
    expected = pd.DataFrame(
        {
            "id": [1, 2, 3, 4],
            "size": [3.5, np.nan, 1000.0, np.nan],
            "colour": ["red", 'light "blue", pale', "two\nlines", '5" pipe'],
            "when": pd.to_datetime(
                ["2020-01-01", "2021-06-30T12:00", None, "2020-01-01T04:00"], format="ISO8601"
            ).astype("datetime64[us]"),
            "sold": pd.array([True, False, True, None], dtype="boolean"),
            "zip": [1234, 5678, np.nan, 99],
            "grade": ["None", "good", "good", None],
        }
    )
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    assert [str(dtype) for dtype in frame.dtypes.iloc[[0, 1, 4, 5]]] == [
        "int64",
        "float64",
        "boolean",
        "float64",
    ]


@pytest.mark.parametrize("way", ["gz", "misnamed gz", "standard input", "gz by input", "pipe"])
def test_the_same_table_by_other_ways(messy, tmp_path, monkeypatch, way):
    expected = read_table(messy)
    content = MESSY.encode()
    content = gzip.compress(content) if "gz" in way else content
    source = tmp_path / ("other.csv.gz" if way == "gz" else "other.csv")
    if "input" in way:
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
        source = "-"
    elif way == "pipe":
        os.mkfifo(source)
        threading.Thread(target=source.write_bytes, args=[content]).start()
    else:
        source.write_bytes(content)
    pd.testing.assert_frame_equal(read_table(source), expected)


@pytest.mark.parametrize("size", [7, 64, 200])
def test_small_blocks_give_the_same_table(messy, monkeypatch, size):
    expected = read_table(messy, target="grade")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
    pd.testing.assert_frame_equal(read_table(messy, target="grade"), expected)
    parts = list(read_chunks(messy, target="grade", rows=3))
    assert max(map(len, parts)) <= 3
    pd.testing.assert_frame_equal(pd.concat(parts), expected)


def test_the_kind_of_a_column_is_told_from_the_last_row_too(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 256)
    path = tmp_path / "late.csv"
    rows = "".join(f"{place},007,yes,2020-01-01,5\n" for place in range(200))
    path.write_text(f"a,b,c,d,e\n{rows}1.5,x,1,soon,\n")
    frame = next(read_chunks(path, rows=5))
    assert frame["a"].dtype == np.float64 and frame["e"].dtype == np.float64
    assert frame.loc[0, ["b", "c", "d"]].tolist() == ["007", "yes", "2020-01-01"]


def test_a_schema_states_the_kinds_in_one_pass(messy, monkeypatch):
    schema = Schema((Column("zip", "category"), Column("size", "number")))
    content = MESSY.encode()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: pytest.fail("the input was kept"))
    (frame,) = read_chunks("-", schema=schema, keep=["id"])
    assert frame.columns.tolist() == ["id", "size", "zip"]
    assert frame["id"].tolist() == ["1", "2", "3", "4"]
    assert frame["zip"].tolist() == ["1234", "5678", "?", "99"]
    assert schema.apply(frame)["zip"].isna().tolist() == [False, False, True, False]


def test_a_category_of_a_schema_stays_text_whatever_it_looks_like(tmp_path):
    schema = Schema((Column("code", "category"), Column("vote", "category")))
    frames = {
        "csv": "n,vote,code\n1,yes,007\n2,no,008\n",
        "jsonl": '{"n": 1, "vote": "yes", "code": "007"}\n{"n": 2, "vote": "no", "code": "008"}\n',
    }
    for suffix, text in frames.items():
        path = tmp_path / f"new.{suffix}"
        path.write_text(text)
        for frame in (read_table(path, schema=schema), *read_chunks(path, schema=schema)):
            assert frame["code"].tolist() == ["007", "008"]
            assert frame["vote"].tolist() == ["yes", "no"]
        with pytest.raises(TableError, match="lacks column 'other'"):
            read_table(path, schema=Schema((Column("other", "number"),)))


def test_memory_stays_bounded(tmp_path, monkeypatch):
    import pyarrow as pa

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 16)
    path = tmp_path / "long.csv"
    numbers = np.arange(300_000.0).reshape(-1, 3) + 0.5
    with TableWriter(path) as writer:
        for _ in range(16):
            writer.write(pd.DataFrame(numbers, columns=list("abc")))
    schema = Schema.of(pd.DataFrame(numbers[:1], columns=list("abc")))
    # Also what pandas and pyarrow load on first use is not counted.
    next(read_chunks(path, schema=schema))
    tracemalloc.start()
    rows = in_arrow = 0
    before = pa.total_allocated_bytes()
    for part in read_chunks(path, schema=schema, rows=4_096):
        rows += len(part)
        in_arrow = max(in_arrow, pa.total_allocated_bytes() - before)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert rows == 1_600_000
    assert path.stat().st_size > 400 * (1 << 16)
    # The streaming reader has up to 32 blocks of text in its queue.
    assert peak < 48 * (1 << 16)
    assert in_arrow < 16 * (1 << 16)


def test_a_reader_that_is_left_early_closes_its_file(messy):
    parts = read_chunks(messy, rows=1)
    next(parts)
    parts.close()


def test_quotation_marks_inside_fields(tmp_path, monkeypatch):
    text = "a,b\n" + '5" pipe,1\n"x\ny",2\n"say ""hi""",3\n' * 40
    path = tmp_path / "pipes.csv"
    path.write_text(text)
    expected = read_table(path)
    assert expected["a"].tolist()[:3] == ['5" pipe', "x\ny", 'say "hi"']
    for size in (20, 31, 50):
        monkeypatch.setattr(blocks, "BLOCK_BYTES", size)
        pd.testing.assert_frame_equal(read_table(path), expected)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_ends_of_lines(tmp_path, end):
    path = tmp_path / "ends.csv"
    path.write_bytes(end.join(["a,b", "1,x", "2,y"]).encode())
    frame = read_table(path)
    assert frame["a"].tolist() == [1, 2] and frame["b"].tolist() == ["x", "y"]


@pytest.mark.parametrize("delimiter", [";", "|", "tab", "\\t", " "])
def test_delimiters(tmp_path, delimiter):
    mark = {"tab": "\t", "\\t": "\t"}.get(delimiter, delimiter)
    path = tmp_path / "table.txt"
    path.write_text(f"a{mark}b\n1{mark}2,5\n")
    frame = read_table(path, delimiter=delimiter)
    assert frame.to_dict("list") == {"a": [1], "b": ["2,5"]}


def test_a_column_without_a_name_and_one_column_alone(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(",a\n0,5\n")
    assert read_table(path).columns.tolist() == ["column 1", "a"]
    path.write_text("a\n1\n\n3\n")
    assert read_table(path)["a"].isna().tolist() == [False, True, False]


def test_formats_are_told_from_content_where_the_name_is_silent(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    for writer in ("to_parquet", "to_feather"):
        path = tmp_path / writer
        getattr(frame, writer)(path)
        pd.testing.assert_frame_equal(read_table(path), frame, check_dtype=False)
    path = tmp_path / "objects"
    frame.to_json(path, orient="records", lines=True)
    pd.testing.assert_frame_equal(read_table(path), frame, check_dtype=False)


def test_arrow_streams_and_ordered_dictionaries(tmp_path):
    import pyarrow as pa

    grades = pd.Categorical(["mid", "low"], categories=["low", "mid", "high"], ordered=True)
    colours = pd.Categorical(["red", "blue"])
    table = pa.Table.from_pandas(pd.DataFrame({"grade": grades, "colour": colours}))
    path = tmp_path / "stream.arrow"
    with pa.ipc.new_stream(path, table.schema) as stream:
        stream.write_table(table)
    frame = read_table(path)
    assert frame["grade"].dtype.categories.tolist() == ["low", "mid", "high"]
    assert frame["grade"].dtype.ordered
    assert frame["colour"].tolist() == ["red", "blue"]


def test_arrow_types_become_plain_ones(tmp_path):
    import datetime
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    day = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)
    path = tmp_path / "types.parquet"
    table = pa.table(
        {
            "small": pa.array([1, None], pa.int8()),
            "unsigned": pa.array([1, 2], pa.uint64()),
            "money": pa.array([decimal.Decimal("1.50"), None]),
            "half": pa.array([1.5, 2.5], pa.float32()),
            "day": pa.array([day.date(), None]),
            "moment": pa.array([day, None]),
            "flag": pa.array([True, None]),
            "nothing": pa.nulls(2),
        }
    )
    pq.write_table(table, path)
    frame = read_table(path)
    kinds = [column.kind for column in Schema.of(frame).columns]
    assert kinds == ["number"] * 4 + ["date"] * 2 + ["boolean", "number"]
    assert frame["day"][0] == frame["moment"][0] == pd.Timestamp("2020-01-01")
    assert frame["money"][0] == 1.5


def test_json_lines_mix_types_as_cells_do(tmp_path, monkeypatch):
    lines = [
        '{"a": 1, "b": "x", "c": true, "d": 1, "e": "007"}',
        '{"a": "NA", "b": 2.50, "c": null, "e": "8"}',
        "",
        '{"a": 3, "b": true, "c": false, "d": 2, "late": "2020-01-01"}',
    ]
    path = tmp_path / "objects.jsonl"
    path.write_text("\n".join(lines))
    frame = read_table(path)
    assert frame["a"].tolist()[::2] == [1, 3] and np.isnan(frame["a"][1])
    assert frame["b"].tolist() == ["x", "2.50", "true"]
    assert str(frame["c"].dtype) == "boolean"
    assert frame["d"].isna().tolist() == [False, True, False]
    assert frame["e"].tolist()[:2] == ["007", "8"]
    assert str(frame["late"].dtype).startswith("datetime64")
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 60)
    pd.testing.assert_frame_equal(read_table(path), frame)


def test_svmlight(tmp_path, monkeypatch):
    path = tmp_path / "rank.svmlight"
    path.write_text("2 qid:1 1:0.5 3:2 # first\n1 qid:1 2:1\n0 qid:2 1:-1\n")
    frame = read_table(path)
    assert frame.columns.tolist() == ["qid", "x1", "x2", "x3", "label"]
    assert frame.to_numpy().tolist() == [
        [1, 0.5, 0, 2, 2],
        [1, 0, 1, 0, 1],
        [2, -1, 0, 0, 0],
    ]
    assert frame["label"].dtype == np.int64
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 30)
    pd.testing.assert_frame_equal(pd.concat(read_chunks(path, rows=2)), frame)
    schema = Schema.of(frame.assign(x7=0.0)[["x1", "x7"]])
    assert next(read_chunks(path, schema=schema, keep=[])).columns.tolist() == ["x1", "x7"]


def test_labels_beyond_integers_stay_numbers(tmp_path):
    path = tmp_path / "large.svmlight"
    path.write_text("44000000000000000000 1:1\n3 1:2\n")
    assert read_table(path)["label"].tolist() == [4.4e19, 3.0]


def test_features_that_count_from_zero_keep_their_numbers(tmp_path):
    path = tmp_path / "zero.libsvm"
    path.write_text("1.5 0:1 2:3\n2 1:1\n")
    frame = read_table(path)
    assert frame.columns.tolist() == ["x0", "x1", "x2", "label"]
    assert frame["label"].tolist() == [1.5, 2.0]


def test_no_rows_in_a_typed_file(tmp_path):
    path = tmp_path / "none.parquet"
    pd.DataFrame({"a": np.zeros(0)}).to_parquet(path)
    for read in (read_table, lambda path: list(read_chunks(path))):
        with pytest.raises(TableError, match="has no rows"):
            read(path)


def test_a_late_cell_that_takes_a_closer_look(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 128)
    rows = "".join(f"{place},{place / 4}\n" for place in range(100))
    path = tmp_path / "late.csv"
    path.write_text(f"a,b\n{rows} NA ,1\n7, nan \n")
    schema = Schema((Column("a", "number"), Column("b", "number")))
    frame = pd.concat(read_chunks(path, schema=schema))
    assert frame.index.tolist() == list(range(102))
    assert frame["a"].tolist()[:100] == list(range(100)) and frame["a"].isna()[100]
    assert frame["b"].tolist()[99:101] == [24.75, 1.0] and frame["b"].isna()[101]
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(path.read_bytes())))
    pd.testing.assert_frame_equal(pd.concat(read_chunks("-", schema=schema)), frame)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a,b\n1,2\n3\n", r"has 1 cells in a row that begins with '3', where the header has 2\.$"),
        (b'a,b\n1,2\n3,"4\n', r"has a quotation mark that is not closed\.$"),
        (b"a,b\n1,2\n3\xe9,4\n", r"has a byte that is not UTF-8; if .* give encoding="),
    ],
)
def test_what_is_wrong_with_bytes_that_pass_once(monkeypatch, text, message):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text)))
    with pytest.raises(TableError, match=message):
        list(read_chunks("-", schema=Schema((Column("a", "category"),)), keep=()))


def test_a_row_that_is_longer_than_a_block(tmp_path, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 64)
    path = tmp_path / "long.csv"
    path.write_text(f"a,b\n1,x\n2,{'y' * 1000}\n3,z\n")
    assert read_table(path)["b"].str.len().tolist() == [1, 1000, 1]


def test_a_header_longer_than_the_first_bytes(tmp_path):
    names = [f"{'n' * 100}{place}" for place in range(1000)]
    path = tmp_path / "wide.csv"
    path.write_text(f"{','.join(names)}\n{','.join(['1'] * 1000)}\n")
    assert read_table(path).columns.tolist() == names
