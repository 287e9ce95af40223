"""Data frames in the caller's library, names of columns, and plain text tables."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .messages import printable

# Cells that are made Python's own together.
_CELLS = 512


def make_frame(columns: Mapping[str, Any], backend: Any) -> Any:
    """A data frame of "pandas", "polars" or "pyarrow", or of the module that is given."""
    import narwhals as nw

    try:
        return nw.from_dict(dict(columns), backend=backend).to_native()
    except ImportError as error:
        raise ImportError(
            f"backend={backend!r} is not installed; install it, or pass another of 'pandas', "
            "'polars' and 'pyarrow'."
        ) from error


def cell_blocks(column: Any) -> Iterator[list[Any]]:
    """The cells of a column in its order, some at a time.

    Data frames make texts of their cells when asked, and all of them would double the table.

    Examples
    --------
    >>> list(cell_blocks(["so", None]))
    [['so', None]]
    """
    rows = getattr(column, "iloc", column)
    for start in range(0, len(column), _CELLS):
        part = rows[start : start + _CELLS]
        yield part.to_list() if hasattr(part, "to_list") else list(part)


def one_row(row: Any) -> Any:
    """A row as a table of one row: a row of a pandas frame keeps its names, others as they are."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        return row.to_frame().T.infer_objects()
    return row if hasattr(row, "columns") or np.ndim(row) == 2 else [row]


def input_names(estimator: Any) -> list[str]:
    """Column names seen at ``fit``, else x0, x1, ….

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> input_names(SimpleNamespace(n_features_in_=2))
    ['x0', 'x1']
    >>> input_names(SimpleNamespace(n_features_in_=1, feature_names_in_=["age"]))
    ['age']
    """
    names = getattr(estimator, "feature_names_in_", None)
    return names_or_numbers(names, int(estimator.n_features_in_))


def names_or_numbers(names: Sequence[Any] | None, n: int) -> list[str]:
    """Names as texts, or x0, x1, … where there are none or not n of them."""
    if names is None or len(names) != n:
        return [f"x{j}" for j in range(n)]
    return [str(name) for name in names]


def aligned(
    rows: Sequence[Sequence[str]], words: Collection[int] = (0,), gap: str = "  "
) -> list[str]:
    """Lines of columns of equal width: words to the left, figures to the right.

    Characters that would break a line or act on a terminal are written out.

    Examples
    --------
    >>> aligned([["name", "n"], ["b", "10"]])
    ['name   n', 'b     10']
    """
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        gap.join(
            cell.ljust(width) if j in words else cell.rjust(width)
            for j, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
