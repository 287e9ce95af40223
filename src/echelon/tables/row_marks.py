"""Which labelled rows a model was fitted to, told without keeping them."""

from __future__ import annotations

import base64
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._utils.types import Codes, Mask
from .faults import TableError

if TYPE_CHECKING:
    import pandas as pd

# Share of rows with an equal in the table from which on an equal row may well be another one.
_MANY_TWINS = 0.05


@dataclass(frozen=True, eq=False)
class RowMarks:
    """Marks of labelled rows: 32 bits of a hash with a key of its own for every table.

    From a mark no cell can be had back, and the marks of two tables have nothing in common; but
    whoever has the marks can ask whether a row that he knows was among the rows. A row that was not
    is taken for one that was with a probability of n/2³² for n rows.

    Parameters
    ----------
    key : str
    marks : ndarray of uint32
        Ascending, each once.
    twins : float
        Share of the rows that have an equal among them.

    Examples
    --------
    >>> import pandas as pd
    >>> X, codes = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([0, 1, 1])
    >>> marks = RowMarks.of(X[:2], codes[:2])
    >>> marks.among(X, codes)
    array([ True,  True, False])
    """

    key: str
    marks: np.ndarray
    twins: float

    @classmethod
    def of(cls, X: pd.DataFrame, codes: Codes) -> Self:
        """Mark the rows of a table.

        Parameters
        ----------
        X : DataFrame
            As `Schema.apply` gives it.
        codes : ndarray
            The labels as positions on their scale.
        """
        key = secrets.token_hex(16)
        marks, often = np.unique(_hashes(X, codes, key), return_counts=True)
        return cls(key, marks, float(often[often > 1].sum() / max(len(codes), 1)))

    def among(self, X: pd.DataFrame, codes: Codes) -> Mask:
        """Whether each row equals one of those that were marked."""
        return np.isin(_hashes(X, codes, self.key), self.marks)

    @property
    def many_twins(self) -> bool:
        """Whether so many rows equal others that an equal row may well be a new one."""
        return self.twins > _MANY_TWINS

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold of it."""
        # Differences of ascending numbers have short bytes.
        steps = np.diff(self.marks, prepend=np.uint32(0)).astype("<u4").tobytes()
        packed = base64.b64encode(zlib.compress(steps)).decode()
        return {"key": self.key, "marks": packed, "twins": round(self.twins, 4)}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Marks from what `to_dict` gave."""
        try:
            steps = np.frombuffer(zlib.decompress(base64.b64decode(stored["marks"])), "<u4")
            key, twins = bytes.fromhex(stored["key"]).hex(), float(stored["twins"])
        except (KeyError, TypeError, ValueError, zlib.error):
            raise TableError("The marks of the rows that it was fitted to are damaged.") from None
        return cls(key, np.cumsum(steps, dtype=np.uint32), twins)


def _hashes(X: pd.DataFrame, codes: Codes, key: str) -> np.ndarray:
    from pandas.util import hash_pandas_object

    labelled = X.reset_index(drop=True).assign(**{"": np.asarray(codes, dtype=np.int64)})
    found = hash_pandas_object(labelled, index=False, hash_key=key[:16]).to_numpy(np.uint64)
    first, second = (np.uint64(int(part, 16) | 1) for part in (key[:16], key[16:]))
    with np.errstate(over="ignore"):
        # Half of the bits are lost for good, so that nothing leads back.
        found = (found ^ first) * second
        found = (found ^ (found >> np.uint64(29))) * first
    return np.asarray(found >> np.uint64(32), dtype=np.uint32)
