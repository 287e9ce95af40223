import datetime
import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal

import echelon.tables.schema
from echelon.tables import Column, Schema, TableError

FRAME = pd.DataFrame(
    {
        "whole": [1, 2, 3],
        "number": [1.5, np.nan, 2.5],
        "nullable": pd.array([1, None, 3], dtype="Int64"),
        "objects": pd.Series([1, 2.5, None], dtype=object),
        "flag": [True, False, True],
        "maybe": pd.array([True, None, False], dtype="boolean"),
        "day": pd.to_datetime(["1970-01-02", None, "1970-01-01T12:00"], format="ISO8601"),
        "dates": pd.Series([datetime.date(1970, 1, 3), None, None], dtype=object),
        "zoned": pd.to_datetime(["1970-01-01T02:00+02:00"] * 3),
        "word": ["b", None, "a"],
        "mark": ["b", "?", "a"],
        "grade": pd.Categorical(["lo", "hi", None], categories=["lo", "mid", "hi"], ordered=True),
        "code": pd.Categorical([2, 1, 2]),
    }
)
KINDS = ["number"] * 4 + ["boolean"] * 2 + ["date"] * 3 + ["category"] * 2 + ["ordered", "category"]


def test_kinds_and_levels():
    schema = Schema.of(FRAME)
    assert [column.kind for column in schema.columns] == KINDS
    levels = {column.name: column.levels for column in schema.columns if column.levels}
    assert levels == {
        "word": ("a", "b"),
        "mark": ("a", "b"),
        "grade": ("lo", "mid", "hi"),
        "code": ("1", "2"),
    }


def test_applied_frames_are_floats_and_texts():
    schema = Schema.of(FRAME)
    ready = schema.apply(FRAME)
    assert all(ready[name].dtype == np.float64 for name in ready.columns[:9])
    assert all(ready[name].dtype == object for name in ("word", "mark", "code"))
    assert ready["grade"].cat.ordered and list(ready["grade"].cat.categories) == ["lo", "mid", "hi"]
    assert ready["day"].tolist()[::2] == [1.0, 0.5] and np.isnan(ready["day"][1])
    assert ready["dates"][0] == 2.0 and ready["zoned"].tolist() == [0, 0, 0]
    assert ready["flag"].tolist() == [1, 0, 1]
    assert ready["mark"].isna().tolist() == [False, True, False]
    assert ready["code"].tolist() == ["2", "1", "2"]
    pd.testing.assert_frame_equal(schema.apply(ready), ready)


def test_columns_come_in_order_and_others_are_reported():
    schema = Schema.of(FRAME[["word", "number"]])
    frame = FRAME[["flag", "number", "day", "word"]]
    assert schema.apply(frame).columns.tolist() == ["word", "number"]
    assert schema.extra(frame) == ["flag", "day"]
    assert schema.of_kind("category") == ["word"]


def test_a_schema_is_json():
    schema = Schema.of(FRAME)
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    with pytest.raises(TableError, match=r"kind must be one of .* found 'colour'"):
        Schema.from_dict({"columns": [{"name": "a", "kind": "colour", "levels": None}]})


def test_other_types_of_the_same_values_are_taken():
    schema = Schema((Column("n", "number"), Column("b", "boolean"), Column("c", "category")))
    frame = pd.DataFrame(
        {"n": [" 1.5", "NA", "+2"], "b": ["Yes", "no", "?"], "c": [1.0, 2.0, None]}
    )
    ready = schema.apply(frame)
    assert ready["n"].tolist()[::2] == [1.5, 2.0] and np.isnan(ready["n"][1])
    assert ready["b"].tolist()[:2] == [1, 0] and np.isnan(ready["b"][2])
    assert ready["c"].tolist()[:2] == ["1", "2"]
    assert schema.apply(frame.assign(b=[0, 1, 1]))["b"].tolist() == [0, 1, 1]


BAD = {
    "text": ("n", ["1", "many"], "holds 'many' in row 12, where a number is expected"),
    "dates": ("n", pd.to_datetime(["2020-01-01"] * 2), "where a number is expected"),
    "two": ("b", [0, 2], "holds 2 in row 12, where one of true, false, yes and no is expected"),
    "day": ("d", ["2020-01-01", "soon"], "holds 'soon' in row 12, where a date such as"),
    "infinite": ("n", [1.0, np.inf], "holds an infinite number in row 12"),
}


@pytest.mark.parametrize("case", BAD)
def test_wrong_kinds_are_named_with_their_row(case):
    name, values, message = BAD[case]
    kind = {"n": "number", "b": "boolean", "d": "date"}[name]
    frame = pd.DataFrame({name: values}, index=[10, 11])
    with pytest.raises(TableError, match=f"^Column '{name}' of new.csv .*{message}"):
        Schema((Column(name, kind),)).apply(frame, "new.csv")


def test_numbers_whose_sum_is_infinite_are_fine():
    frame = pd.DataFrame({"n": [1e308, 1e308]})
    assert Schema.of(frame).apply(frame)["n"].tolist() == [1e308, 1e308]


def test_an_unseen_level_is_fine():
    schema = Schema.of(pd.DataFrame({"c": ["a", "b"]}))
    assert schema.apply(pd.DataFrame({"c": ["z"]}))["c"].tolist() == ["z"]


def test_missing_columns():
    schema = Schema.of(FRAME[["word", "number"]])
    with pytest.raises(TableError, match=r"^new\.csv lacks column 'word'\.$"):
        schema.apply(FRAME[["number", "day"]], "new.csv")


@pytest.mark.parametrize("own", [False, True])
def test_many_columns_come_as_few_do(monkeypatch, own):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": [1.5, np.nan, -2.0] * 10,
            "word": ["a", "b", None] * 10,
            "whole": rng.integers(0, 9, 30),
            "truth": [True, False, True] * 10,
            "day": pd.date_range("2020-01-01", periods=30),
            "coded": [1.0, 2.0, -9.0] * 10,
        }
    )
    columns = [replace(c, missing=("-9",) * (c.name == "coded")) for c in Schema.of(frame).columns]
    schema = Schema(tuple(columns[::-1]))
    expected = schema.apply(frame)
    before = frame.copy()
    monkeypatch.setattr(echelon.tables.schema, "_WIDE", 1)
    assert_frame_equal(schema.apply(frame, own=own), expected)
    numbers = Schema(tuple(c for c in columns if c.name in ("number", "whole")))
    assert_frame_equal(numbers.apply(frame, own=own), expected[["number", "whole"]])
    assert_frame_equal(frame, before)
    infinite = frame.assign(number=[np.inf, *frame["number"][1:]])
    with pytest.raises(TableError, match="'number' of the table holds an infinite number in row 1"):
        schema.apply(infinite, own=own)
