import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from echelon.ordinal.labels import LabelOrderWarning, OrdinalScale, read_relevance, read_scale


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([3, 1, 2, 1], [1, 2, 3]),
        ([0.5, 1.5, 1.0], [0.5, 1.0, 1.5]),
        ([True, False], [False, True]),
        (np.array([7, 0], dtype=np.uint8), [0, 7]),
        (pd.Series([5, 4]), [4, 5]),
        (pl.Series([5, 4]), [4, 5]),
        (pa.array([5, 4]), [4, 5]),
        (pd.DataFrame({"y": [5, 4]}), [4, 5]),
        (pl.DataFrame({"y": [5, 4]}), [4, 5]),
        (np.array([2, 1], dtype=object), [1, 2]),
    ],
)
def test_numbers_and_booleans_sort_by_value(labels, expected):
    scale, codes = read_scale(labels)
    assert scale.classes.tolist() == expected
    assert scale.container == "numpy"
    values = labels.to_pylist() if isinstance(labels, pa.Array) else np.asarray(labels).ravel()
    assert [expected[code] for code in codes] == list(values)


ORDER = ["10", "5", "1"]
ORDERED = {
    "pandas": lambda values: pd.Series(pd.Categorical(values, ORDER, ordered=True)),
    "polars": lambda values: pl.Series(values, dtype=pl.Enum(ORDER)),
    "pyarrow": lambda values: pa.DictionaryArray.from_arrays(
        pa.array([ORDER.index(v) for v in values]), ORDER, ordered=True
    ),
}


@pytest.mark.parametrize("container", ORDERED)
def test_a_stated_order_is_kept_and_comes_back_in_its_own_type(container):
    column = ORDERED[container](["1", "10", "5", "1"])
    scale, codes = read_scale(column)
    assert scale.classes.tolist() == ORDER
    assert codes.tolist() == [2, 0, 1, 2]
    back = scale.decode(codes)
    assert type(back).__module__.startswith(container)
    again, codes_again = read_scale(back)
    assert again.classes.tolist() == ORDER
    assert codes_again.tolist() == codes.tolist()


def test_ordered_categories_of_numbers_keep_their_order():
    scale, codes = read_scale(pd.Categorical([1, 10, 5], categories=[10, 5, 1], ordered=True))
    assert scale.classes.tolist() == [10, 5, 1]
    assert codes.tolist() == [2, 0, 1]


def test_chunked_dictionary():
    chunk = ORDERED["pyarrow"](["1", "5"])
    scale, codes = read_scale(pa.chunked_array([chunk, chunk]))
    assert scale.classes.tolist() == ORDER
    assert codes.tolist() == [2, 1, 2, 1]
    scale, codes = read_scale(pa.chunked_array([[3, 1], [2]]))
    assert codes.tolist() == [2, 0, 1]


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64])
def test_narrow_and_wide_integers(dtype):
    limits = np.iinfo(dtype)
    y = np.array([limits.max, limits.min, limits.max], dtype=dtype)
    scale, codes = read_scale(y)
    assert codes.tolist() == [1, 0, 1]
    assert scale.decode(codes).tolist() == y.tolist()
    with pytest.raises(ValueError, match="outside the scale"):
        scale.encode(np.array([5], dtype=dtype))
    with pytest.raises(ValueError, match="outside the scale"):
        read_scale(np.array([100], dtype=dtype), classes=[3, 4])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b"], dtype="category"),
        pl.Series(["a", "b"], dtype=pl.Categorical),
        pa.array(["a", "b"]).dictionary_encode(),
    ],
)
def test_an_unordered_category_is_refused_with_advice(column):
    with pytest.raises(ValueError, match=r"no order of labels; give the order .*classes="):
        read_scale(column)
    scale, codes = read_scale(column, classes=["b", "a"])
    assert codes.tolist() == [1, 0]
    assert scale.container == "numpy"


@pytest.mark.parametrize(
    "labels",
    [
        ["low", "high"],
        np.array(["low", "high"], dtype=object),
        pd.Series(["low", "high"]),
        pl.Series(["low", "high"]),
        pa.array(["low", "high"]),
    ],
)
def test_plain_text_is_sorted_with_a_warning_that_names_the_order(labels):
    with pytest.warns(LabelOrderWarning, match="high < low"):
        scale, codes = read_scale(labels)
    assert scale.classes.tolist() == ["high", "low"]
    assert codes.tolist() == [1, 0]


def test_stated_classes_win_and_may_be_unobserved():
    scale, codes = read_scale(["low", "high"], classes=["low", "mid", "high"])
    assert scale.n_classes == 3
    assert codes.tolist() == [0, 2]
    scale, codes = read_scale([2, 0], classes=[2, 1, 0])
    assert codes.tolist() == [0, 2]


@pytest.mark.parametrize(
    ("labels", "classes", "message"),
    [
        ([1, 2, 9], [1, 2, 3], "outside the scale: 9; the scale is 1 < 2 < 3"),
        (["a"], [1, 2], "outside the scale: a"),
        ([1.0, np.nan], None, r"1 missing labels \(NaN\), the first in row 1"),
        (["a", None], ["a", "b"], "1 missing labels"),
        (pd.Series([1, None], dtype="Int64"), None, "1 missing labels"),
        (pl.Series([1, None]), None, "1 missing labels"),
        (pd.Series(pd.Categorical(["a", None], ["a", "b"], ordered=True)), None, "1 missing"),
        (pl.Series(["a", None], dtype=pl.Enum(["a", "b"])), None, "1 missing"),
        (pl.Series(["a", None], dtype=pl.Categorical), ["a", "b"], "1 missing"),
        (pa.array(["a", None]).dictionary_encode(), ["a", "b"], "1 missing"),
        (pa.array([1, None]), None, "1 missing"),
        (np.array([1, pd.NA], dtype=object), None, "1 missing"),
        (pl.DataFrame({"a": [1, 2], "b": [3, 4]}), None, r"one column of labels; .*\(2, 2\)"),
        (pd.DataFrame({"a": [1, 2], "b": [3, 4]}), None, r"one column of labels; .*\(2, 2\)"),
        ([1, 2], [1], "at least two labels"),
        ([1, 2], [1, 2, 1], "must not repeat"),
        ([[1, 2], [3, 4]], None, r"one column of labels; found an array of shape \(2, 2\)"),
        (np.array([1, "a"], dtype=object), None, "mixes text and numbers"),
        (np.array([1 + 2j, 3j]), None, "Unknown label type"),
        (np.linspace(0, 1, 50), None, "looks continuous: 50 distinct fractional values"),
    ],
)
def test_bad_labels_get_one_sentence(labels, classes, message):
    with pytest.raises(ValueError, match=message) as caught:
        read_scale(labels, classes)
    assert "\n" not in str(caught.value)


def test_half_star_ratings_are_labels():
    ratings = np.tile(np.arange(0.5, 5.5, 0.5), 3)
    scale, _ = read_scale(ratings)
    assert scale.n_classes == 10


@given(
    st.lists(st.integers(-5, 5), min_size=2, max_size=8, unique=True),
    st.data(),
)
def test_round_trip(classes, data):
    codes = data.draw(st.lists(st.integers(0, len(classes) - 1), min_size=1, max_size=20))
    scale = OrdinalScale(np.array(classes))
    assert scale.encode(scale.decode(codes)).tolist() == codes


def test_no_labels_at_all():
    with pytest.raises(ValueError, match="stars must have at least one label; found none"):
        read_scale([], name="stars")


@pytest.mark.parametrize("start", [0, 2**63 - 1, 2**63, 2**64 - 5])
def test_whole_numbers_of_any_size_are_labels(start):
    y = np.array([start + step for step in (3, 0, 1, 0)], dtype=np.uint64)
    scale, codes = read_scale(y)
    assert scale.classes.tolist() == [start, start + 1, start + 3]
    assert codes.tolist() == [2, 0, 1, 0]
    assert scale.decode(codes).tolist() == y.tolist()
    assert scale.encode(y.tolist()).tolist() == codes.tolist()
    with pytest.raises(ValueError, match="outside the scale: -7"):
        scale.encode(np.array([-7, 3]))


def test_a_scale_of_small_integers_meets_large_ones():
    scale, _ = read_scale(np.array([-128, 127], dtype=np.int8))
    assert scale.encode(np.array([127, -128], dtype=np.int64)).tolist() == [1, 0]
    with pytest.raises(ValueError, match="outside the scale: 18446744073709551615"):
        scale.encode(np.array([127, 2**64 - 1], dtype=np.uint64))


@pytest.mark.parametrize(
    "labels", [[1, 2, 3], [1.0, 2.0, 3.0], ["a", "b", "c"], [True, False, True]]
)
def test_masked_labels_are_missing(labels):
    masked = np.ma.array(labels, mask=[False, True, False])
    with pytest.raises(ValueError, match=r"y has 1 missing labels \(NaN\), the first in row 1"):
        read_scale(masked, classes=labels[:2])
    with pytest.raises(ValueError, match="1 missing labels"):
        read_relevance(masked)
    assert len(read_scale(np.ma.array([1, 2, 3]))[1]) == 3


def test_relevance_beyond_what_doubles_tell_apart_is_refused():
    with pytest.raises(ValueError, match=r"at most 2\*\*53 in size"):
        read_relevance(np.array([2**53 + 2, 2**53 + 3]))


def test_whole_numbers_of_more_than_64_bits_are_refused():
    with pytest.raises(ValueError, match="numbers of at most 64 bits"):
        read_scale([-1, 2**63, 2**63 + 1])
