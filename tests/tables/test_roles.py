"""Weights, groups and times of rows: read, checked, kept in the schema, and no inputs."""

import numpy as np
import pandas as pd
import pytest

from echelon.tables import Schema, TableError, labelled_table


def frame_of(**columns):
    return pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], **columns, "y": [1, 2, 1, 2]})


def test_roles_are_read_and_kept():
    frame = frame_of(w=[1, 0.5, 2, 0], who=["x", "x", "z", "z"], day=["13/1/2022"] * 4)
    table = labelled_table(frame, weight="w", group="who", time="day")
    assert table.weights.tolist() == [1.0, 0.5, 2.0, 0.0]
    assert table.groups.tolist() == [0, 0, 1, 1]
    assert table.times.tolist() == [19005.0] * 4
    assert table.schema.names == ["a"]
    assert table.schema.roles == {"weight": "w", "group": "who", "time": "day"}
    assert Schema.from_dict(table.schema.to_dict()) == table.schema
    with pytest.raises(TableError, match="Roles must be names of columns by role"):
        Schema.from_dict({"columns": [], "roles": {"boss": "w"}})


@pytest.mark.parametrize(
    ("role", "values", "message"),
    [
        ("weight", [1, -2, 1, 1], r"must not be negative; found -2 in row 2"),
        ("weight", [1, np.nan, 1, 1], r"'c' are missing in 1 row; give such rows a weight"),
        ("weight", [0, 0, 0, 0], r"'c' are zero in all rows"),
        ("weight", ["a", "b", "c", "d"], r"must be numbers; found 'a'"),
        ("group", ["a", "b", "c", "d"], r"have one row each, so that nothing is grouped"),
        ("group", ["a", "a", "a", "a"], r"one group only, 'a'"),
        ("group", ["a", None, "a", "b"], r"are missing in 1 row; name the group"),
        ("time", ["soon", "later", "now", "now"], r"must be dates or numbers; found 'soon'"),
        ("time", [2020, 2021, np.nan, 2022], r"'c' are missing in 1 row"),
        ("time", ["03/01/2022", "02/05/2022"] * 2, r"read in two ways; give date_format="),
    ],
)
def test_roles_that_do_not_fit(role, values, message):
    with pytest.raises(TableError, match=message):
        labelled_table(frame_of(c=values), **{role: "c"})


def test_a_nullable_column_may_begin_with_a_missing_value():
    frame = pd.DataFrame({"a": pd.array([None, 1, 2] * 10, dtype="Int64"), "y": [1, 2, 3] * 10})
    assert labelled_table(frame).X["a"].isna().sum() == 10
