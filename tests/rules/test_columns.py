import pickle
from datetime import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from echelon.rules.columns import InputColumns, as_positions, learn_columns
from echelon.tree import ORStump

SIZES = ["small", "medium", "large"]
COLOURS = ["red", "blue", None, "red"]


def pandas_frame(colours=COLOURS, sizes=("large", "small", None, "small")):
    return pd.DataFrame(
        {
            "age": [1.5, 2.5, np.nan, 4.0],
            "colour": pd.Categorical(list(colours)),
            "size": pd.Categorical(list(sizes), categories=SIZES, ordered=True),
            "word": pd.Series(["b", "a", None, "b"], dtype=object),
            "bio": [True, True, True, True],
        }
    ).set_axis([7, 7, 3, 1])


def polars_frame(colours=COLOURS, sizes=("large", "small", None, "small")):
    return pl.DataFrame(
        {
            "age": [1.5, 2.5, None, 4.0],
            "colour": pl.Series(list(colours), dtype=pl.Categorical),
            "size": pl.Series(list(sizes), dtype=pl.Enum(SIZES)),
            "word": ["b", "a", None, "b"],
            "bio": [True, True, True, True],
        }
    )


def arrow_table(colours=COLOURS, sizes=("large", "small", None, "small")):
    codes = pa.array([None if s is None else SIZES.index(s) for s in sizes], pa.int8())
    return pa.table(
        {
            "age": [1.5, 2.5, None, 4.0],
            "colour": pa.array(list(colours)).dictionary_encode(),
            "size": pa.DictionaryArray.from_arrays(codes, SIZES, ordered=True),
            "word": ["b", "a", None, "b"],
            "bio": [True, True, True, True],
        }
    )


FRAMES = pytest.mark.parametrize("build", [pandas_frame, polars_frame, arrow_table])


def numbers(frame):
    if isinstance(frame, pa.Table):
        frame = frame.to_pandas()
    return np.asarray(frame, dtype=np.float64)


def column_names(frame):
    return frame.column_names if isinstance(frame, pa.Table) else list(frame.columns)


@FRAMES
def test_types_of_a_frame_say_what_is_a_category(build):
    columns = learn_columns(build())
    assert columns.categories[0] is None
    assert sorted(columns.categories[1]) == ["blue", "red"]
    assert columns.categories[2:] == (tuple(SIZES), ("a", "b"), (False, True))
    assert columns.ordered == (False, False, True, False, False)
    assert columns.nominal.tolist() == [False, True, False, True, True]
    assert pickle.loads(pickle.dumps(columns)) == columns


@FRAMES
def test_positions_missing_and_unseen_in_a_frame_of_the_same_library(build):
    columns = learn_columns(build())
    red, blue = map(columns.categories[1].index, ("red", "blue"))
    new = build(["blue", "green", None, "red"], ["medium", "large", None, "small"])
    result = as_positions(new, columns)
    assert type(result) is type(new)
    assert column_names(result) == column_names(new)
    expected = [
        [1.5, blue, 1, 1, 1],
        [2.5, 2, 2, 0, 1],
        [np.nan, np.nan, np.nan, np.nan, 1],
        [4.0, red, 0, 1, 1],
    ]
    np.testing.assert_array_equal(numbers(result), expected)
    if build is pandas_frame:
        assert result.index.tolist() == [7, 7, 3, 1]
        assert isinstance(new["colour"].dtype, pd.CategoricalDtype)


def test_declared_categories_without_rows_are_unseen_unless_ordered():
    values = pd.Categorical(["b", "a"], categories=["b", "c", "a"])
    nominal = pd.DataFrame({"x": values})
    columns = learn_columns(nominal)
    assert columns.categories == (("b", "a"),)
    new = pd.DataFrame({"x": pd.Categorical(["a", "c", "b"], categories=["c", "b", "a"])})
    assert numbers(as_positions(new, columns)).ravel().tolist() == [1, 2, 0]
    ordered = learn_columns(pd.DataFrame({"x": values.as_ordered()}))
    assert ordered.categories == (("b", "c", "a"),)


def test_category_outside_an_order_is_missing():
    columns = learn_columns(pl.DataFrame({"x": pl.Series(["a", "b"], dtype=pl.Enum(["a", "b"]))}))
    new = as_positions(pl.DataFrame({"x": ["b", "c"]}), columns)
    np.testing.assert_array_equal(new["x"].to_numpy(), [1.0, np.nan])


def test_texts_of_pandas_and_columns_that_mix_kinds():
    frame = pd.DataFrame(
        {
            "text": pd.Series(["x", "y"], dtype="string"),
            "mixed": pd.Series(["x", 3], dtype=object),
            "numbers": pd.Series([1, 2.5], dtype=object),
            "nothing": pd.Series([None, None], dtype=object),
            "maybe": pd.array([True, None], dtype="boolean"),
            "when": pd.to_datetime(["2020-01-01", "2021-01-01"]),
        }
    )
    columns = learn_columns(frame)
    assert columns.categories == (("x", "y"), None, None, (), (False, True), None)


def test_columns_without_rows_and_without_values():
    frame = pd.DataFrame({"a": pd.Series([], dtype=float), "b": pd.Series([], dtype="category")})
    columns = learn_columns(frame)
    assert columns.categories == (None, ())
    assert as_positions(frame, columns).shape == (0, 2)
    empty = learn_columns(pl.DataFrame({"b": pl.Series([None, None], dtype=pl.String)}))
    assert empty.categories == ((),)
    seen = as_positions(pl.DataFrame({"b": ["x", None]}), empty)
    np.testing.assert_array_equal(seen["b"].to_numpy(), [0.0, np.nan])


@pytest.mark.parametrize("nominal", ["from_dtype", None])
@pytest.mark.parametrize(
    "X",
    [
        [[1, 2], [3, 4]],
        np.array([[1, 2], [3, 4]], dtype=object),
        np.array([["a", 2], [3, 4]], dtype=object),
        csr_array(np.eye(2)),
        np.array([[True, False]]),
    ],
    ids=["list", "objects", "texts", "sparse", "booleans"],
)
def test_arrays_without_a_list_pass_untouched(X, nominal):
    columns = learn_columns(X, nominal)
    assert columns.nominal.tolist() == [False, False]
    assert as_positions(X, columns) is X


@pytest.mark.parametrize("X", [[1, 2], np.ones(3), [], np.ones((2, 2, 2)), [[1], [1, 2]]])
@pytest.mark.parametrize("nominal", ["from_dtype", [0]])
def test_what_has_not_two_dimensions_is_left_to_scikit_learn(X, nominal):
    columns = learn_columns(X, nominal)
    assert not columns.nominal.any()
    assert as_positions(X, columns) is X


class ArrayLike:
    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.values, dtype=dtype)


def test_array_likes_without_a_shape():
    X = ArrayLike([[1.0, 5.0], [2.0, 7.0]])
    assert learn_columns(X).nominal.tolist() == [False, False]
    assert learn_columns(X, [1]).categories == (None, (5.0, 7.0))


def test_none_takes_frames_as_they_are():
    frame = pandas_frame()
    columns = learn_columns(frame, None)
    assert not columns.nominal.any()
    assert as_positions(frame, columns) is frame
    with pytest.raises(ValueError, match="could not convert string to float"):
        ORStump().fit(as_positions(frame[["word"]], columns), [1, 2, 1, 2])


@pytest.mark.parametrize("nominal", [["age", "size"], [0, 2], [True, False, True, False, False]])
@FRAMES
def test_listed_columns_are_nominal_whatever_their_type(build, nominal):
    columns = learn_columns(build(), nominal)
    assert columns.categories[0] == (1.5, 2.5, 4.0)
    assert columns.categories[2] == ("small", "large")
    assert columns.nominal.tolist() == [True, False, True, False, False]


def test_orders_that_are_not_listed_stay():
    columns = learn_columns(pandas_frame(), ["colour", "word"])
    assert columns.ordered == (False, False, True, False, False)
    assert columns.categories[2] == tuple(SIZES)


def test_lists_of_rows_keep_the_types_of_values():
    rows = [[1, "a"], [2.5, "b"], [3, None]]
    columns = learn_columns(rows, [1])
    result = as_positions(rows, columns)
    np.testing.assert_array_equal(result, [[1, 0], [2.5, 1], [3, np.nan]])
    assert result.dtype == np.float64


@given(st.data())
def test_positions_of_arrays_lead_back_to_values(data):
    values = st.sampled_from([0.0, -1.5, 3.0, np.nan, 7.0])
    rows = data.draw(st.lists(st.tuples(values, values), min_size=1, max_size=12))
    X = np.array(rows)
    columns = learn_columns(X, nominal=[1])
    result = as_positions(X, columns)
    np.testing.assert_array_equal(result[:, 0], X[:, 0])
    known = columns.categories[1]
    assert list(known) == sorted(set(X[~np.isnan(X[:, 1]), 1].tolist()))
    back = [np.nan if np.isnan(p) else known[int(p)] for p in result[:, 1]]
    np.testing.assert_array_equal(back, X[:, 1])
    other = as_positions(np.array([[1.0, 99.0]]), columns)
    assert other[0, 1] == len(known)


def test_values_of_many_types_are_sorted_by_type():
    X = np.array([["b"], [2], ["a"], [1]], dtype=object)
    assert learn_columns(X, [0]).categories == ((1, 2, "a", "b"),)


@pytest.mark.parametrize(
    ("X", "nominal", "message"),
    [
        (np.eye(2), "all", "nominal must be 'from_dtype', None or a list .* found 'all'"),
        (np.eye(2), 1, "nominal must be .* found 1"),
        (np.eye(2), [2], "nominal lists the column 2, which X does not have; X is 2 columns"),
        (np.eye(2), [-1], "nominal lists the column -1"),
        (np.eye(2), [True, 1], "nominal lists the column True"),
        (np.eye(2), ["a"], "column 'a', which X does not have; X is an array without"),
        (pd.DataFrame({"b": [1]}), ["a"], "X does not have; X is 1 columns?, 'b'"),
        (np.eye(2), [True], "one entry for each of the 2 columns of X if it is a mask; found 1"),
    ],
)
def test_errors_name_what_is_wrong(X, nominal, message):
    with pytest.raises(ValueError, match=message):
        learn_columns(X, nominal)


def test_sparse_inputs_cannot_have_listed_columns():
    columns = learn_columns(np.eye(2), [0])
    with pytest.raises(ValueError, match="X is sparse, where column 0 is nominal"):
        as_positions(csr_array(np.eye(2)), columns)


@pytest.mark.parametrize(
    "new", [pd.DataFrame({"x": [1.5]}), np.array([[1.5]]), pl.DataFrame({"x": [2]})]
)
def test_numbers_in_place_of_texts_are_refused(new):
    columns = learn_columns(pd.DataFrame({"x": ["a", "b", "c", "d"]}))
    message = "X holds numbers in column 'x', which had the categories 'a', 'b', 'c', … at fit"
    with pytest.raises(ValueError, match=message):
        as_positions(new, columns)


def test_texts_in_place_of_numbers_are_refused_and_numbers_stand_for_booleans():
    columns = learn_columns(np.array([[1.0], [2.0]]), [0])
    with pytest.raises(ValueError, match="X holds text in column 0"):
        as_positions([["a"]], columns)
    columns = learn_columns(pl.DataFrame({"x": [True, False]}))
    assert as_positions(pl.DataFrame({"x": [1, 0]}), columns)["x"].to_list() == [1.0, 0.0]


def test_other_columns_are_reported_by_scikit_learn():
    frame = pandas_frame()[["age", "colour"]].fillna({"age": 0.0}).dropna()
    columns = learn_columns(frame)
    model = ORStump().fit(as_positions(frame, columns), [1, 2, 1])
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(as_positions(frame[["colour", "age"]], columns))
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(as_positions(frame[["colour"]], columns))
    assert len(model.predict(as_positions(frame, columns))) == 3


def test_array_after_a_frame_goes_by_position():
    columns = learn_columns(pl.DataFrame({"a": [1.0, 2.0], "b": ["u", "v"]}))
    result = as_positions(np.array([[5.0, "v"], [6.0, "w"]], dtype=object), columns)
    np.testing.assert_array_equal(result, [[5.0, 1.0], [6.0, 2.0]])
    narrow = np.array([["v"]], dtype=object)
    assert as_positions(narrow, columns) is narrow


def test_names_that_are_not_texts_and_names_that_repeat():
    frame = pd.DataFrame({0: [1.0, 2.0], 1: ["u", "v"]})
    columns = learn_columns(frame)
    assert columns == InputColumns((None, ("u", "v")), (False, False))
    np.testing.assert_array_equal(numbers(as_positions(frame, columns)), [[1, 0], [2, 1]])
    twice = pd.DataFrame(np.eye(2), columns=["a", "a"])
    assert as_positions(twice, learn_columns(twice)) is twice


@pytest.mark.parametrize("unit", ["ns", "us", "s"])
def test_categories_that_are_dates(unit):
    days = pd.to_datetime(["2021-01-01", "2020-01-01", None]).as_unit(unit)
    frame = pd.DataFrame({"day": pd.Categorical(days)})
    columns = learn_columns(frame)
    assert columns.categories == ((datetime(2020, 1, 1), datetime(2021, 1, 1)),)
    np.testing.assert_array_equal(numbers(as_positions(frame, columns)).ravel(), [1, 0, np.nan])
