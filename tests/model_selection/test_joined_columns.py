"""Dense columns before sparse ones, in the latter's own arrays."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import echelon.model_selection.joined_columns as joined_columns
from echelon.model_selection import prepare
from echelon.model_selection.joined_columns import JoinedColumns, put_before
from echelon.tables import Column, Schema


def _owned(matrix: np.ndarray) -> sp.csr_array:
    """Sparse, in arrays that can grow."""
    found = sp.csr_array(matrix)
    found.data, found.indices = found.data.copy(), found.indices.copy()
    return found


@given(
    n=st.integers(0, 40),
    widths=st.tuples(st.integers(1, 4), st.integers(1, 9)),
    full=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    moved=st.integers(1, 50),
    seed=st.integers(0, 99),
)
def test_equals_scipys_own(n, widths, full, moved, seed):
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(n, widths[0])) * (rng.random((n, widths[0])) < full[0])
    dense = rng.normal(size=(n, widths[1])) * (rng.random((n, widths[1])) < full[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(joined_columns, "_MOVED", moved)
        grown = put_before(left, _owned(dense))
    for found in (grown, put_before(left, sp.csr_array(dense))):
        np.testing.assert_array_equal(found.toarray(), np.hstack([left, dense]))
        found.check_format()
        assert found.has_canonical_format


def test_the_arrays_are_those_of_the_sparse_part():
    right = _owned(np.eye(3))
    data = right.data
    assert put_before(np.ones((3, 1)), right).data is data


def _table() -> tuple[Schema, pd.DataFrame]:
    words = ["good", "bad", "long", "short", "fine", "dull"]
    texts = [f"{words[i % 6]} {words[i % 5]} and {words[i % 4]}" for i in range(60)]
    frame = pd.DataFrame({"size": np.arange(60.0), "hue": ["red", "blue"] * 30, "review": texts})
    columns = [Column("size", "number"), Column("hue", "category"), Column("review", "text")]
    schema = Schema(tuple(columns))
    return schema, schema.apply(frame)


def test_a_preparation_gives_what_parts_give_side_by_side():
    schema, table = _table()
    steps = prepare(schema, "linear")
    assert isinstance(steps, JoinedColumns)
    found = steps.fit_transform(table)
    parts = [
        step.transform(table.iloc[:, columns])
        for _, step, columns in steps.transformers_
        if step != "drop"
    ]
    dense = [part.toarray() if sp.issparse(part) else part for part in parts]
    np.testing.assert_array_equal(found.toarray(), np.hstack(dense))
    np.testing.assert_array_equal(steps.transform(table).toarray(), found.toarray())
    assert found.shape[1] == len(steps.get_feature_names_out())
