"""The labelled rows that a report is about, and how figures on them are computed."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._utils.types import Codes, CostLike, Index, Vector
from ..base.row_design import RowDesign
from ..inspection.holdout import rows_of
from ..inspection.table import stated_kinds
from ..ordinal.labels import OrdinalScale
from ..tables import Schema

#: most rows whose sections look at single rows or shuffle columns
MOST_ROWS = 1000
_LONGEST_LABEL = 48


def _short(label: str) -> str:
    """The first words of what a column is about."""
    return label if len(label) <= _LONGEST_LABEL else f"{label[: _LONGEST_LABEL - 1].rstrip()}…"


@dataclass(frozen=True, eq=False)
class Settings:
    """How figures are computed.

    Parameters
    ----------
    cost : str or array-like of shape (K, K)
    cv : int or "prefit"
        Folds, or that the model is judged as it is.
    random_state : int
    n_jobs : int, optional
    is_patient : bool
        Whether to make sections that take long.
    """

    cost: CostLike = "absolute"
    cv: int | Literal["prefit"] = 5
    random_state: int = 0
    n_jobs: int | None = None
    is_patient: bool = False

    @property
    def is_absolute(self) -> bool:
        """Whether the cost is the difference of ranks."""
        return isinstance(self.cost, str) and self.cost == "absolute"

    @property
    def cost_words(self) -> str:
        """The cost in words."""
        if isinstance(self.cost, str):
            return f"{self.cost.replace('_', '-')} cost"
        return "the given cost matrix"

    def sample(self, rows: Index, most: int, weights: Vector | None = None) -> Index:
        """At most so many of the rows, drawn at random, in their order; with weights, by them."""
        if weights is None and len(rows) <= most:
            return rows
        rng = np.random.default_rng(self.random_state)
        share = None if weights is None else weights / weights.sum()
        return np.sort(rng.choice(rows, most, replace=share is not None, p=share))


@dataclass(frozen=True, eq=False)
class Rows:
    """Labelled rows.

    Parameters
    ----------
    X, y : inputs and labels
    scale : OrdinalScale
    codes : ndarray
        Labels as positions on the scale.
    schema : Schema, optional
        Of inputs in which truth values and dates are numbers.
    design : RowDesign
        Weights, groups and times.
    """

    X: Any
    y: Any
    scale: OrdinalScale
    codes: Codes
    schema: Schema | None = None
    design: RowDesign = field(default_factory=RowDesign)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def classes(self) -> list[Any]:
        """The labels from lowest to highest."""
        return list(self.scale.classes)

    @property
    def labels(self) -> list[str]:
        """The labels from lowest to highest, as texts."""
        return [str(label) for label in self.scale.classes.tolist()]

    @property
    def counted(self) -> str:
        """What sums over rows are of, as a heading."""
        return "Rows" if self.design.weights is None else "Weighted rows"

    def role(self, role: str, otherwise: str) -> str:
        """The column with a role, in quotes, or what to say where its name is not known."""
        name = None if self.schema is None else self.schema.roles.get(role)
        return otherwise if name is None else f"“{name}”"

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns are, by name, as far as their types do not tell."""
        return stated_kinds(self.schema)

    @cached_property
    def _called(self) -> dict[str, str]:
        columns = () if self.schema is None else self.schema.columns
        return {c.name: f"{c.name} ({_short(c.label)})" for c in columns if c.label}

    def called(self, name: str) -> str:
        """Name of a column, with what it is about where that is known."""
        return self._called.get(name, name)

    def inputs(self, rows: Index) -> Any:
        """Inputs of some rows."""
        return rows_of(self.X, rows)

    def targets(self, rows: Index) -> Any:
        """Labels of some rows."""
        return rows_of(self.y, rows)


def row_weights(design: RowDesign, rows: Index) -> Vector:
    """What rows count, one each where nothing is known."""
    return np.ones(len(rows)) if design.weights is None else design.weights[rows]


def weighted_quantile(values: Vector, weights: Vector, share: float) -> float:
    """Middle of the values below and above which so much of the weight lies."""
    if not weights.sum() > 0:
        return np.nan
    order = np.argsort(values, kind="stable")
    at = np.cumsum(weights[order]) - 0.5 * weights[order]
    return float(np.interp(share * weights.sum(), at, values[order]))
