"""What is written is read again, and parts are the whole, for any table."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from echelon.tables import Schema, TableWriter, blocks, read_chunks, read_table

# A text that a CSV reader could take for something else keeps its column's kind by a first word.
WORDS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0", exclude_categories=["Cs"]), min_size=1
)
VALUES = {
    "number": st.none() | st.floats(allow_nan=False, allow_infinity=False),
    "whole": st.integers(-(2**53), 2**53),
    "text": st.none() | WORDS,
    "flag": st.none() | st.booleans(),
    "moment": st.none() | st.datetimes(pd.Timestamp(1900, 1, 1), pd.Timestamp(2100, 1, 1)),
}
MAKERS = {
    "number": lambda values: pd.Series(values, dtype=float),
    "whole": lambda values: pd.Series(values, dtype="int64"),
    "text": lambda values: pd.Series(["word", *values[1:]], dtype=object),
    "flag": lambda values: pd.Series([True, *values[1:]], dtype="boolean"),
    "moment": lambda values: pd.Series(
        pd.to_datetime([pd.Timestamp(2020, 1, 1), *values[1:]])
    ).astype("datetime64[us]"),
}


@st.composite
def frames(draw):
    rows = draw(st.integers(2, 12))
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=2, max_size=5))
    columns = {}
    for place, kind in enumerate(kinds):
        values = draw(st.lists(VALUES[kind], min_size=rows, max_size=rows))
        columns[f"{kind} {place}"] = MAKERS[kind](values)
    return pd.DataFrame(columns)


def same_values(found, expected):
    """Compare values; whole floats may come back as integers, and columns of nothing as NaN."""
    assert found.columns.tolist() == expected.columns.tolist()
    assert len(found) == len(expected)
    for name in expected.columns:
        missing = expected[name].isna().to_numpy()
        np.testing.assert_array_equal(found[name].isna().to_numpy(), missing)
        one, other = found[name][~missing].tolist(), expected[name][~missing].tolist()
        assert one == other, name


SUFFIXES = ["csv", "tsv", "csv.gz", "parquet", "arrow", "jsonl", "jsonl.gz"]
relaxed = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.mark.parametrize("suffix", SUFFIXES)
@relaxed
@given(frame=frames(), cut=st.integers(1, 11))
def test_a_table_that_is_written_is_read_again(tmp_path, suffix, frame, cut):
    path = tmp_path / f"table.{suffix}"
    with TableWriter(path, raw=True) as writer:
        writer.write(frame[:cut])
        writer.write(frame[cut:])
    same_values(read_table(path), frame)


@pytest.mark.parametrize("suffix", ["csv", "parquet", "arrow", "jsonl"])
@relaxed
@given(frame=frames(), rows=st.integers(1, 5), size=st.integers(16, 300))
def test_parts_are_the_whole(tmp_path, monkeypatch, suffix, frame, rows, size):
    path = tmp_path / f"table.{suffix}"
    with TableWriter(path, raw=True) as writer:
        writer.write(frame)
    whole = read_table(path)
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        parts = list(read_chunks(path, rows=rows))
        pd.testing.assert_frame_equal(read_table(path), whole)
    assert max(map(len, parts)) <= rows
    pd.testing.assert_frame_equal(pd.concat(parts), whole)


@relaxed
@given(frame=frames(), size=st.integers(16, 300))
def test_a_schema_reads_what_it_was_made_from(tmp_path, monkeypatch, frame, size):
    path = tmp_path / "table.csv"
    with TableWriter(path, raw=True) as writer:
        writer.write(frame)
    whole = read_table(path)
    schema = Schema.of(whole)
    expected = schema.apply(whole)
    with monkeypatch.context() as patch:
        patch.setattr(blocks, "BLOCK_BYTES", size)
        parts = [schema.apply(part) for part in read_chunks(path, schema=schema)]
    pd.testing.assert_frame_equal(pd.concat(parts), expected)


@relaxed
@given(frame=frames())
def test_schemas_are_stored_and_applied_twice_alike(frame):
    schema = Schema.of(frame)
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    ready = schema.apply(frame)
    pd.testing.assert_frame_equal(schema.apply(ready), ready)
    assert ready.columns.tolist() == schema.names
