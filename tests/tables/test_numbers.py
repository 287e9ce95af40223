"""Text to numbers and numbers to text in native loops: what the slow ways say."""

import io
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.tables import Column, Schema, TableWriter, read_chunks
from echelon.tables.numbers import number_table


def table_of(text, names=("a", "b"), wanted=None, delimiter=","):
    return number_table(memoryview(text), delimiter, names, wanted or list(names))


@st.composite
def decimals(draw):
    digits = draw(st.one_of(st.integers(0, 2**53), st.integers(2**53, 10**19 - 1)))
    text = str(digits)
    point = draw(st.integers(0, len(text)))
    text = text[:point] + draw(st.sampled_from(["", "."])) + text[point:]
    power = draw(st.sampled_from(["", "e0", "E2", "e+03", "e-4"]))
    return draw(st.sampled_from(["", "-"])) + text + power


def is_middle(text):
    value, nearest = Fraction(text), float(text)
    gaps = {abs(value - Fraction(math.nextafter(nearest, end))) for end in (-math.inf, math.inf)}
    return abs(value - Fraction(nearest)) in gaps


@pytest.mark.parametrize("seed", range(3))
def test_all_digits_of_doubles(seed):
    rng = np.random.default_rng(seed)
    values = rng.normal(size=2000) * 10.0 ** rng.integers(-30, 30, 2000)
    text = "".join(f"{value!r}\n" for value in values.tolist())
    np.testing.assert_array_equal(table_of(text.encode(), ["a"]).numbers[0], values)


@given(st.lists(decimals(), min_size=1, max_size=12), st.sampled_from(["\n", "\r\n"]))
def test_every_value_is_the_nearest_double(texts, end):
    found = table_of("".join(text + end for text in texts).encode(), names=["a"])
    if found is None:
        # Given up only where a value is in the middle between two doubles.
        assert any(is_middle(text) for text in texts)
        return
    np.testing.assert_array_equal(found.numbers[0], [float(text) for text in texts])
    assert np.signbit(found.numbers[0]).tolist() == [text[0] == "-" for text in texts]


def test_missing_cells_blank_lines_and_columns_to_pass_over():
    text = b"1,x y,2\n\n,,\r\n\r\n-0,z,.5\n"
    found = table_of(text, ("a", "word", "b"), ["a", "b"])
    np.testing.assert_array_equal(found.numbers, [[1, np.nan, -0.0], [2, np.nan, 0.5]])
    one = table_of(b"1\n\n2\n", ["a"])
    np.testing.assert_array_equal(one.numbers, [[1, np.nan, 2]])
    assert one.to_pandas().columns.tolist() == ["a"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"1,2",  # no end of the line
        b"1\n",
        b"1,2,3\n",
        b"1,2\n3\n",
        b'"1",2\n',
        b'1,2\n3,"4\n"\n',
        b" 1,2\n",
        b"1 ,2\n",
        b"1,NA\n",
        b"1,nan\n",
        b"1,inf\n",
        b"+1,2\n",
        b"1,-\n",
        b"1,.\n",
        b"1,-.\n",
        b"1,2e\n",
        b"1,2e-\n",
        b"1,e5\n",
        b"1,2e9999\n",
        b"1,2e99\n",
        b"1,0x10\n",
        b"1,1_0\n",
        b"1,2\r3,4\n",
        b"1,12345678901234567890\n",
        b"1,9007199254740993\n",
        b"1,0.1000000000000000055511151231257827\n",
        b"1,\xc2\xa02\n",
    ],
)
def test_anything_else_is_left_to_the_other_reader(text):
    assert table_of(text) is None


def test_quotation_marks_in_a_column_to_pass_over():
    assert table_of(b'1,"a\n2,b"\n', ("a", "word"), ["a"]) is None


def test_files_are_read_the_same_by_both(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)).round(6), columns=list("abc"))
    frame.iloc[::7, 1] = np.nan
    path = tmp_path / "t.csv"
    frame.to_csv(path, index=False)
    schema = Schema(tuple(Column(name, "number") for name in ("c", "a", "b")))
    fast = pd.concat(read_chunks(path, schema=schema, keep=()))
    monkeypatch.setattr("echelon.tables.delimited.number_table", lambda *_: None)
    slow = pd.concat(read_chunks(path, schema=schema, keep=()))
    pd.testing.assert_frame_equal(fast, slow)
    pd.testing.assert_frame_equal(fast, frame)


def written(values, suffix, tmp_path, **more):
    path = tmp_path / f"t.{suffix}"
    with TableWriter(path, shares=["p"]) as writer:
        writer.write(pd.DataFrame({"p": values, **more}))
    return path.read_text().splitlines()


@given(values=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_shares_have_six_digits(tmp_path_factory, values):
    texts = written(values, "csv", tmp_path_factory.mktemp("shares"))[1:]
    for value, text in zip(values, texts, strict=True):
        digits = text.partition("e")[0].replace(".", "").lstrip("0")
        assert len(digits) <= 6
        # Numbers below the least normal one have fewer digits themselves.
        assert float(text) == pytest.approx(value, rel=5.001e-6, abs=1e-307)


def test_shares_as_people_write_them(tmp_path):
    values = [0.0, 1.0, 0.5, 0.1234565, 0.99999951, 0.09999999, 1e-4, 1.25e-5, 9.9999996e-5, 3e-120]
    expected = ["0", "1", "0.5", "0.123457", "1", "0.1", "0.0001", "1.25e-05", "0.0001", "3e-120"]
    assert written(values, "csv", tmp_path)[1:] == expected
    assert written(values[2:4], "jsonl", tmp_path) == ['{"p":0.5}', '{"p":0.123457}']


def test_columns_that_are_no_shares_are_written_in_full(tmp_path):
    assert written([1.23456789, 0.1], "csv", tmp_path)[1:] == ["1.23456789", "0.1"]
    assert written([np.nan, 0.123456789], "jsonl", tmp_path)[0] == '{"p":null}'
    assert written([0.12345678], "csv", tmp_path, q=[0.12345678])[1] == "0.123457,0.12345678"


def test_binary_formats_hold_shares_as_they_are(tmp_path):
    path = tmp_path / "t.parquet"
    with TableWriter(path, shares=["p"]) as writer:
        writer.write(pd.DataFrame({"p": [0.123456789]}))
    assert pd.read_parquet(io.BytesIO(path.read_bytes()))["p"].tolist() == [0.123456789]
