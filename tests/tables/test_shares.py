"""Probabilities in text: six significant digits, the same by the slow way."""

import io

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.tables import TableWriter


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
    expected = ["0", "1", "0.5", "0.123457", "1", "0.1", "0.0001", "0.0000125", "0.0001", "3e-120"]
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
