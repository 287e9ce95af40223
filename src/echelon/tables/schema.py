"""What a model expects of a table: names, order and kinds of its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from .column import Column
from .faults import TableError, columns_phrase, listed, nearest, opening
from .guessing import guess_column
from .options import SINGLE_ROLES

if TYPE_CHECKING:
    import pandas as pd

#: Levels of a category, and terms of texts, in fewer rows may tell who somebody is.
FEWEST_ROWS = 5
# Of more columns than these, numbers are not looked at one by one.
_WIDE = 1_000
_PLAIN = (np.dtype(np.float64), np.dtype(np.int64))


@dataclass(frozen=True)
class Schema:
    """The input columns of a model, in order.

    Parameters
    ----------
    columns : tuple of Column
    roles : dict of str to str
        Columns of the table that are no inputs, by role: ``weight``, ``group``, ``time``.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1, 2], "colour": ["red", "blue"], "sold": [True, False]})
    >>> schema = Schema.of(frame)
    >>> [(column.name, column.kind) for column in schema.columns]
    [('size', 'number'), ('colour', 'category'), ('sold', 'boolean')]
    >>> schema.apply(frame[["sold", "colour", "size"]]).columns.tolist()
    ['size', 'colour', 'sold']
    """

    columns: tuple[Column, ...]
    roles: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Schema:
        """Schema of a data frame's columns, by their types and all their values."""
        return cls(tuple(guess_column(str(name), frame[name]).column for name in frame.columns))

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.columns]

    def of_kind(self, *kinds: str) -> list[str]:
        """Names of the columns of some kinds."""
        return [column.name for column in self.columns if column.kind in kinds]

    def without_rare_levels(self, frame: pd.DataFrame) -> Schema:
        """The schema as a model file keeps it: categories have the levels of `FEWEST_ROWS` rows.

        An ordered column keeps its whole scale, which somebody stated or which is a usual one.

        Parameters
        ----------
        frame : DataFrame
            As `apply` makes it.
        """
        columns = []
        for column in self.columns:
            if column.kind == "category":
                rows = frame[column.name].value_counts()
                often = tuple(n for n in column.levels or () if rows.get(n, 0) >= FEWEST_ROWS)
                column = replace(column, levels=often)
            columns.append(column)
        return replace(self, columns=tuple(columns))

    def extra(self, frame: pd.DataFrame) -> list[str]:
        """Columns of a data frame that the schema does not name."""
        known = set(self.names)
        return [str(name) for name in frame.columns if str(name) not in known]

    def refuse_missing(self, names: Iterable[Any], where: str = "the table") -> None:
        """Raise an error that names the columns that are not there, and what may be meant."""
        found = dict.fromkeys(str(name) for name in names)
        missing = [name for name in self.names if name not in found]
        if not missing:
            return
        known = set(self.names)
        spare = [name for name in found if name not in known]
        meant = {name: nearest(name, spare) for name in missing}
        hints = [f"{close!r} for {name!r}" for name, close in meant.items() if close is not None]
        hint = f"; is it {listed(hints, 5)}?" if hints else "."
        raise TableError(f"{opening(where)} lacks {columns_phrase(missing)}{hint}")

    def apply(
        self, frame: pd.DataFrame, where: str = "the table", own: bool = False
    ) -> pd.DataFrame:
        """The columns in order, as models take them.

        Numbers, truth values (0 and 1) and dates (days since 1970) are floats with NaN where
        missing; categories are text with NaN where missing, and ordered levels an ordered
        Categorical of texts. Other columns are left out. Of a frame that nobody else has (`own`),
        floats are taken as they are and not copied.

        Raises
        ------
        TableError
            If a column is missing, or a cell is not of its column's kind.
        """
        import pandas as pd

        if self._fits(frame):
            return frame
        self.refuse_missing(frame.columns, where)
        by_name = {str(name): name for name in frame.columns}
        numbers = self._numbers(frame, by_name) if len(self.columns) > _WIDE else None
        columns = {
            column.name: column.converted(frame[by_name[column.name]], where, own)
            for column in self.columns
            if numbers is None or column.name not in numbers
        }
        others = pd.DataFrame(columns, index=frame.index, copy=False)
        if numbers is None or not len(numbers.columns):
            return others
        return pd.concat([numbers, others], axis=1)[self.names] if columns else numbers

    def _numbers(self, frame: pd.DataFrame, by_name: Mapping[str, Any]) -> pd.DataFrame | None:
        """Columns of finite or missing numbers all at once; None if some number is infinite."""
        types = dict(zip(frame.columns, frame.dtypes, strict=True))
        plain = [
            column.name
            for column in self.columns
            if column.kind == "number"
            and not column.missing
            and types[by_name[column.name]] in _PLAIN
        ]
        found = frame[[by_name[name] for name in plain]].astype(np.float64)
        found.columns = plain
        return None if np.isinf(found.to_numpy()).any() else found

    def _fits(self, frame: pd.DataFrame) -> bool:
        """Whether a frame is as `apply` would make it, seen at a glance."""
        if frame.columns.tolist() != self.names:
            return False
        if any(
            column.is_text or column.missing or column.kind == "boolean" for column in self.columns
        ):
            return False
        if any(dtype != np.float64 for dtype in frame.dtypes):
            return False
        # An infinite number makes the sum infinite or NaN; so may others, which are looked at.
        return bool(np.isfinite(frame.to_numpy()).all())

    def to_dict(self) -> dict[str, Any]:
        """The schema as plain lists and texts."""
        found: dict[str, Any] = {"columns": [column.to_dict() for column in self.columns]}
        return {**found, "roles": dict(self.roles)} if self.roles else found

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Schema:
        """A schema from what `to_dict` gave."""
        roles = dict(stored.get("roles", {}))
        if not set(roles) <= set(SINGLE_ROLES) or not all(type(n) is str for n in roles.values()):
            raise TableError(f"Roles must be names of columns by role; found {roles!r}.")
        return cls(tuple(Column.from_dict(entry) for entry in stored["columns"]), roles)
