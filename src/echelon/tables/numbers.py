"""Tables of nothing but numbers, which most inputs of models are, read in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._native._table_text import read_numbers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class NumberTable:
    """Columns of numbers as the rows of one array, NaN where missing."""

    names: list[str]
    numbers: np.ndarray

    @property
    def num_rows(self) -> int:
        """Number of rows of the table."""
        return int(self.numbers.shape[1])

    def to_pandas(self, **_: Any) -> pd.DataFrame:
        """The table as a data frame over the same memory."""
        import pandas as pd

        return pd.DataFrame(self.numbers.T, columns=self.names, copy=False)


def number_table(
    block: memoryview, delimiter: str, names: Sequence[str], wanted: Sequence[str]
) -> NumberTable | None:
    r"""Some columns of delimited text, or None where it takes more to read them.

    Parameters
    ----------
    block : memoryview
        Whole rows.
    delimiter : str
    names : sequence of str
        All columns of the text.
    wanted : sequence of str
        The columns to read, in the order of the text.

    Examples
    --------
    >>> text = memoryview(b"1,red,2.5\n,blue,3e2\n")
    >>> table = number_table(text, ",", ["a", "colour", "b"], ["a", "b"])
    >>> table.numbers
    array([[  1. ,   nan],
           [  2.5, 300. ]])
    >>> number_table(memoryview(b"1\nmany\n"), ",", ["a"], ["a"]) is None
    True
    """
    text = np.frombuffer(block, dtype=np.uint8)
    numbers = np.empty((len(wanted), int(np.count_nonzero(text == ord("\n")))))
    place = {name: row for row, name in enumerate(wanted)}
    places = np.array([place.get(name, -1) for name in names], dtype=np.int32)
    rows = read_numbers(text, ord(delimiter), places, numbers)
    return None if rows < 0 else NumberTable(list(wanted), numbers[:, :rows])
