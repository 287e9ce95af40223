"""What a report is about: a model, rows, and what is measured on them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np

from .._utils.types import Codes, CostLike, Index, Matrix, Vector
from ..base.nested import fit_arguments
from ..base.row_design import RowDesign, Split
from ..inspection import (
    Importance,
    Profile,
    holdout_predictions,
    ordinal_importance,
    profile_table,
)
from ..inspection.holdout import rows_of, unfitted
from ..inspection.table import Response, stated_kinds
from ..metrics import OrdinalReport, ordinal_report
from ..model_selection import Leaderboard, LeaderboardRow
from ..model_selection.holdout import Holdout
from ..model_selection.splitters import dealt_splits
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import OrdinalScale
from ..tables import Schema
from ..trained import TrainedModel

#: folds of the split that gives a quarter of the rows to look at
_QUARTER = 4
#: most rows whose sections look at single rows or shuffle columns
MOST_ROWS = 1000
_LONGEST_LABEL = 48
_AS_GIVEN = "the rows given, with the model as it is"
_NEW = "rows that the model was not fitted to, as it is"
_EQUAL = "equal rows that it was fitted to"
_TRAINING = "the rows that the model was fitted to, on which figures tend to be too good"


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

    def sample(self, rows: Index, most: int) -> Index:
        """At most so many of the rows, drawn at random, in their order."""
        if len(rows) <= most:
            return rows
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(rows, most, replace=False))


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


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for rows in order, by models not fitted to them or by the model as it is.

    All rows, but where times leave the earliest without a model of what lies before.
    """

    rows: Index
    truth: Codes
    codes: Codes
    probabilities: Matrix | None
    weights: Vector | None = None

    @classmethod
    def first_repeat(cls, found: Holdout, design: RowDesign) -> HeldOut:
        """The predictions of the first repeat of out-of-fold predictions."""
        first = np.flatnonzero(found.repeat == 0)
        order = first[np.argsort(found.rows[first], kind="stable")]
        rows, p = found.rows[order], found.probabilities
        return cls(
            rows,
            found.truth[order],
            found.codes[order],
            None if p is None else p[order].astype(np.float64),
            design.take(rows).weights,
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """A fitted model, rows to look at it with, how they were chosen, and those it was fitted to.

    The latter are None where they are not known. `seconds` is the processor time of the fit.
    """

    model: Any
    rows: Index
    how: str
    training: Index | None = None
    seconds: float = 0.0


@dataclass(frozen=True, eq=False)
class Study:
    """A fitted model on labelled rows; what takes time is computed once, when first asked for.

    Parameters
    ----------
    model : estimator
        Fitted; the one that the report describes.
    rows : Rows
    settings : Settings
    intervals : estimator, optional
        What gives intervals in place of the model.
    seen : int, optional
        How many of the rows equal rows that the model was fitted to; None if that is not known.
    board : Leaderboard, optional
        Of a contest on the rows, whose predictions of the model of this name are taken.
    name : str
    """

    model: Any
    rows: Rows
    settings: Settings
    intervals: Any = None
    seen: int | None = None
    board: Leaderboard | None = None
    name: str = ""

    @cached_property
    def entry(self) -> LeaderboardRow | None:
        """The model's row of a contest on these very rows."""
        if self.board is None or self.board.truth is None:
            return None
        row = self.board.find(self.name)
        known = row is not None and bool(row.predictions)
        return row if known and np.array_equal(self.board.truth, self.rows.codes) else None

    @property
    def is_prefit(self) -> bool:
        """Whether the model is judged as it is; whether rows are new to it is not known then."""
        return self.settings.cv == "prefit"

    @property
    def _as_given(self) -> str:
        if self.is_training:
            return _TRAINING
        if self.seen == 0:
            return _NEW
        return f"{_AS_GIVEN}; {self.seen:,} of them {_EQUAL}" if self.seen else _AS_GIVEN

    @property
    def is_training(self) -> bool:
        """Whether all rows equal rows that the model was fitted to."""
        return self.seen == len(self.rows)

    @property
    def folds(self) -> int:
        """Folds that the rows allow."""
        return min(int(self.settings.cv), len(self.rows))

    @property
    def how(self) -> str:
        """How held-out figures came about, to stand after a semicolon."""
        if self.is_prefit:
            return self._as_given
        if self.entry is not None and self.board is not None:
            return f"out-of-fold predictions, {self.board.how}"
        return f"out-of-fold predictions, {self.folds} {self._fold_words}"

    @property
    def _fold_words(self) -> str:
        design = self.rows.design
        if design.times is not None:
            return "windows of later rows"
        return "folds" if design.groups is None else "folds of whole groups"

    @cached_property
    def cost_matrix(self) -> Matrix:
        """The cost of predicting r (column) for the truth y (row)."""
        return cost_matrix(self.settings.cost, self.rows.scale.n_classes)

    @cached_property
    def response(self) -> Response:
        """The model, read through its predictions."""
        return Response(self.model, self.rows.classes, kinds=self.rows.kinds)

    @cached_property
    def held_out(self) -> HeldOut:
        """Predictions by models that were not fitted to the rows."""
        rows, design = self.rows, self.rows.design
        if self.is_prefit:
            codes, p = self.response.codes(rows.X), self.response.probabilities(rows.X)
            return HeldOut(np.arange(len(rows)), rows.codes, codes, p, design.weights)
        if self.entry is not None and self.board is not None:
            return HeldOut.first_repeat(self.board.held_out(self.entry), design)
        found = holdout_predictions(
            self.model,
            rows.X,
            rows.y,
            self.folds,
            classes=rows.classes,
            sample_weight=design.weights,
            groups=design.groups,
            time=design.times,
            random_state=self.settings.random_state,
            n_jobs=self.settings.n_jobs,
        )
        return HeldOut.first_repeat(found, design)

    @cached_property
    def quality(self) -> OrdinalReport:
        """Figures of the held-out predictions by class."""
        held, ranks = self.held_out, np.arange(self.rows.scale.n_classes)
        return ordinal_report(held.truth, held.codes, classes=ranks, sample_weight=held.weights)

    @cached_property
    def costs(self) -> Matrix:
        """Cost of each held-out prediction."""
        return self.cost_matrix[self.held_out.truth, self.held_out.codes]

    def mean(self, values: Any) -> float:
        """Mean of numbers of the held-out rows, each with its weight."""
        return float(np.average(values, weights=self.held_out.weights))

    @cached_property
    def trial(self) -> Trial:
        """The model as it is, or fitted to three of four rows and looked at on the others."""
        rows = self.rows
        if self.is_prefit:
            return Trial(self.model, np.arange(len(rows)), self._as_given)
        rest, held = self._quarter()
        fresh = unfitted(self.model, rows.scale)
        begun = time.process_time()
        known = fit_arguments(fresh, rows.design.take(rest))
        fitted = fresh.fit(rows.inputs(rest), rows.targets(rest), **known)
        seconds = time.process_time() - begun
        which = {
            (False, False): ("a quarter of the rows", "the others"),
            (True, False): ("the rows of some groups", "those of the others"),
            (False, True): ("the latest rows", "what lies before"),
            (True, True): ("the latest rows of some groups", "what lies before in the others"),
        }[rows.design.groups is not None, rows.design.times is not None]
        how = f"{which[0]}, {len(held):,}, with the model fitted to {which[1]}"
        return Trial(fitted, held, how, rest, seconds)

    def _quarter(self) -> Split:
        """Rows to learn from, and about a quarter of the rows to look at."""
        codes, design = self.rows.codes, self.rows.design
        if design.is_plain:
            folds = min(_QUARTER, len(codes))
            return dealt_splits(codes, folds, 1, self.settings.random_state)[0]
        rng = np.random.RandomState(self.settings.random_state)
        return design.held_out(codes, 1.0 / _QUARTER, rng)

    @cached_property
    def interval_model(self) -> Any:
        """What gives intervals for the rows of the trial; None if nothing does."""
        trial = self.trial
        if self.intervals is None:
            return trial.model if hasattr(trial.model, "predict_interval") else None
        if trial.training is None:
            return self.intervals
        fresh, training = unfitted(self.intervals, self.rows.scale), trial.training
        known = fit_arguments(fresh, self.rows.design.take(training))
        return fresh.fit(self.rows.inputs(training), self.rows.targets(training), **known)

    @cached_property
    def importance(self) -> Importance:
        """Rise of the mean cost when a column is shuffled, on the rows of the trial."""
        rows = self.settings.sample(self.trial.rows, MOST_ROWS)
        return ordinal_importance(
            self.trial.model,
            self.rows.inputs(rows),
            self.rows.targets(rows),
            cost=self.settings.cost,
            random_state=self.settings.random_state,
            classes=self.rows.classes,
        )


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
    """

    name: str
    target: str
    settings: Settings
    board: Leaderboard | None = None
    trained: TrainedModel | None = None
    rows: Rows | None = None
    study: Study | None = None

    @property
    def title(self) -> str:
        """What the page is about."""
        if self.board is not None and self.trained is None:
            return f"Comparison of models for {self.target}"
        return f"{self.name} for {self.target}"

    @cached_property
    def profile(self) -> Profile | None:
        """What the table looks like, with warnings; None without rows."""
        rows = self.rows
        if rows is None:
            return None
        return profile_table(rows.X, rows.y, rows.classes, target=self.target, kinds=rows.kinds)
