"""Data frames in the library that the caller prefers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


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


def one_row(row: Any) -> Any:
    """A row as a table of one row: a row of a pandas frame keeps its names, others as they are."""
    if hasattr(row, "to_frame") and hasattr(row, "index"):
        return row.to_frame().T.infer_objects()
    return row if hasattr(row, "columns") or np.ndim(row) == 2 else [row]
