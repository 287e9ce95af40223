"""Finished cells, one JSON object per line, only ever appended.

A cell is done when its line ends in a newline. A line that a killed process left unfinished at
the end of the file is dropped when the file is opened for writing again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from echelon._utils.files import cache_folder

from .errors import ReproductionError
from .protocol import PROTOCOL_VERSION
from .published import Table

TUNING_SPLIT = -1
#: Effort of the cells of a model that has nothing to tune.
ANY_EFFORT = "any"


@dataclass(frozen=True)
class CellKey:
    """What a result belongs to; two results with the same key are the same measurement."""

    table: str
    set: str
    model: str
    revision: int
    effort: str
    split: int
    protocol: int = PROTOCOL_VERSION


@dataclass(frozen=True)
class Cell:
    """A finished cell.

    Parameters
    ----------
    key : CellKey
        With split −1 the cell is the tuning that all splits of the effort "quick" share.
    errors : dict
        Measure -> value; empty for a tuning.
    parameters : dict
        Tuned parameters; empty for a model without tuning.
    seconds : float
        Wall time of tuning, fit and prediction.
    versions : dict
        Versions of what computed the cell.
    """

    key: CellKey
    errors: dict[str, float]
    parameters: dict[str, Any]
    seconds: float
    versions: dict[str, str] = field(default_factory=dict)


class ResultStore:
    """The results file of one table.

    Parameters
    ----------
    folder : path
        Made when the first cell is kept.
    table : str
    """

    def __init__(self, folder: Path | str, table: str) -> None:
        self.path = Path(folder) / f"{table}.jsonl"
        self._cells = {cell.key: cell for cell in self._read()}
        self._tail_checked = False

    def __contains__(self, key: CellKey) -> bool:
        return key in self._cells

    def __getitem__(self, key: CellKey) -> Cell:
        return self._cells[key]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def append(self, cell: Cell) -> None:
        """Keep a finished cell, on disk before this returns."""
        line = json.dumps(asdict(cell), default=_to_python, sort_keys=True, allow_nan=False) + "\n"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not self._tail_checked:
            self._drop_unfinished_line()
        # One write to a file opened for appending: lines of two processes do not mix.
        with open(self.path, "ab", buffering=0) as file:
            file.write(line.encode())
            os.fsync(file.fileno())
        self._cells[cell.key] = cell

    def _read(self) -> Iterator[Cell]:
        if not self.path.exists():
            return
        *lines, _unfinished = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            try:
                content = json.loads(line)
                yield Cell(**{**content, "key": CellKey(**content["key"])})
            except (ValueError, TypeError, KeyError) as error:
                raise ReproductionError(
                    f"Line {number} of {self.path} is not a result; remove that line, or choose "
                    "another folder with --out."
                ) from error

    def _drop_unfinished_line(self) -> None:
        if self.path.exists():
            content = self.path.read_bytes()
            if not content.endswith(b"\n"):
                os.truncate(self.path, content.rfind(b"\n") + 1)
        self._tail_checked = True


def gather(table: Table, folder: Path | str) -> list[Cell]:
    """All finished cells of a table, those that it shares with other tables among them."""
    homes = dict.fromkeys([table.name, *table.measured_under.values()])
    return [cell for home in homes for cell in ResultStore(folder, home)]


def default_folder() -> Path:
    """Where results are kept unless a folder is given: the user's cache."""
    return cache_folder() / "reproduction"


def _to_python(value: Any) -> Any:
    """NumPy scalars as Python's own; parameters that JSON cannot hold are an error."""
    if hasattr(value, "item"):
        return value.item()
    raise TypeError(f"A tuned parameter of type {type(value).__name__} cannot be kept as JSON.")
