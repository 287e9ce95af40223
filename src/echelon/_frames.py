"""Data frames in the library that the caller prefers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


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
