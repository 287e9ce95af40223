"""Files whose columns are known only at their end."""

from __future__ import annotations

from .sources import Source


class TwoPassReader:
    """A file that is read once for its columns and once for its rows.

    A subclass gives ``kinds(target)``, which sets ``_names``, and ``tables(kinds, keep)``.

    Parameters
    ----------
    source : Source
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self._names: list[str] | None = None

    def names(self) -> list[str]:
        """Names of the columns, by all rows."""
        if self._names is None:
            self.kinds()
        assert self._names is not None
        return self._names

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all rows; what is missing in `target` is only an empty cell."""
        raise NotImplementedError
