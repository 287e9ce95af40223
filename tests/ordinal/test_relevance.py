"""Labels of rankings as numbers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from echelon.ordinal.labels import read_relevance


@pytest.mark.parametrize(
    ("labels", "numbers"),
    [
        ([2, 0, 1], [2, 0, 1]),
        (np.array([True, False]), [1, 0]),
        (np.array([1, 2.5], dtype=object), [1, 2.5]),
        (pd.Series([3, 1], dtype="Int64"), [3, 1]),
        (pd.Categorical([3, 1], [3, 1], ordered=True), [0, 1]),
        (pl.Series(["lo", "hi"], dtype=pl.Enum(["lo", "mid", "hi"])), [0, 2]),
        (
            pa.DictionaryArray.from_arrays(pa.array([1, 0]), ["bad", "good"], ordered=True),
            [1, 0],
        ),
    ],
)
def test_numbers_stay_and_ordered_labels_become_ranks(labels, numbers):
    found = read_relevance(labels)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, numbers)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["bad", "good"], "y must hold numbers or an ordered category .* found str, which has no"),
        (pd.Categorical(["a", "b"]), "found an unordered category of pandas, which has no order"),
        ([1.0, np.inf], "y must hold finite numbers"),
        ([1.0, np.nan], "y has 1 missing labels"),
        ([[1.0]], "y must be one column"),
    ],
)
def test_labels_without_an_order_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        read_relevance(labels)
