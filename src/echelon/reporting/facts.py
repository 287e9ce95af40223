"""What a report is about: a model, rows, and what is measured on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..inspection import Profile, profile_table
from ..model_selection import Leaderboard
from ..model_selection.other_folds import suspects
from ..tables import LabelledTable
from ..trained import TrainedModel
from .rows import Rows, Settings
from .study import Study


@dataclass(frozen=True, eq=False)
class Facts:
    """All that sections draw on.

    Parameters
    ----------
    name : str
        Of the model.
    target : str
        Of the label column.
    settings : Settings
    board : Leaderboard, optional
    trained : TrainedModel, optional
    rows : Rows, optional
    study : Study, optional
        The model on the rows; None without a model or rows.
    table : LabelledTable, optional
        Where the rows are from.
    source : str
        What the table is called.
    """

    name: str
    target: str
    settings: Settings
    board: Leaderboard | None = None
    trained: TrainedModel | None = None
    rows: Rows | None = None
    study: Study | None = None
    table: LabelledTable | None = None
    source: str = ""

    @property
    def title(self) -> str:
        """What the page is about."""
        if self.board is not None and self.trained is None:
            return f"Comparison of models for {self.target}"
        return f"{self.name} for {self.target}"

    @cached_property
    def suspicions(self) -> list[str]:
        """Ways in which rows may belong together without anyone having said so, in sentences."""
        if self.table is None or self.rows is None:
            return []
        found = suspects(self.table, self.rows.codes, self.rows.design)
        return [f"{suspect.reason}: {suspect.advice}" for suspect in found]

    @cached_property
    def profile(self) -> Profile | None:
        """What the table looks like, with warnings; None without rows."""
        rows = self.rows
        if rows is None:
            return None
        return profile_table(rows.X, rows.y, rows.classes, target=self.target, kinds=rows.kinds)
