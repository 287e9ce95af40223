"""Whether two tables have the same labelled rows, told without keeping them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

from .._utils.types import Codes

if TYPE_CHECKING:
    import pandas as pd


def rows_digest(X: pd.DataFrame, codes: Codes) -> str:
    """A digest of labelled rows, in whatever order.

    Parameters
    ----------
    X : DataFrame
        As `Schema.apply` gives it.
    codes : ndarray
        The labels as positions on their scale.

    Examples
    --------
    >>> import pandas as pd
    >>> X, codes = pd.DataFrame({"a": [1.0, 2.0]}), np.array([0, 1])
    >>> rows_digest(X, codes) == rows_digest(X[::-1], codes[::-1])
    True
    """
    from pandas.util import hash_pandas_object

    labelled = X.reset_index(drop=True).assign(**{"": np.asarray(codes, dtype=np.int64)})
    hashes = np.sort(hash_pandas_object(labelled, index=False).to_numpy())
    return hashlib.sha256(hashes.astype("<u8").tobytes()).hexdigest()
