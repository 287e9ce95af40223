"""Finished cells, one JSON object per line, only ever appended."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from echelon._utils.files import AppendLog, cache_folder

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
        self._log = AppendLog(Path(folder) / f"{table}.jsonl")
        self.path = self._log.path
        self._cells = {cell.key: cell for cell in self._read()}

    def __contains__(self, key: CellKey) -> bool:
        return key in self._cells

    def __getitem__(self, key: CellKey) -> Cell:
        return self._cells[key]

    def __iter__(self) -> Iterator[Cell]:
        return iter(self._cells.values())

    def append(self, cell: Cell) -> None:
        """Keep a finished cell, on disk before this returns."""
        self._log.append(asdict(cell), sort_keys=True, allow_nan=False)
        self._cells[cell.key] = cell

    def _read(self) -> Iterator[Cell]:
        for number, line in enumerate(self._log.lines(), start=1):
            try:
                content = json.loads(line)
                yield Cell(**{**content, "key": CellKey(**content["key"])})
            except (ValueError, TypeError, KeyError) as error:
                raise ReproductionError(
                    f"Line {number} of {self.path} is not a result; remove that line, or choose "
                    "another folder with --out."
                ) from error


def gather(table: Table, folder: Path | str) -> list[Cell]:
    """All finished cells of a table, those that it shares with other tables among them."""
    homes = dict.fromkeys([table.name, *table.measured_under.values()])
    return [cell for home in homes for cell in ResultStore(folder, home)]


def default_folder() -> Path:
    """Where results are kept unless a folder is given: the user's cache."""
    return cache_folder() / "reproduction"
