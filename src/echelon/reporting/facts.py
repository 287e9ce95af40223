"""What a report is about: a model, its rows, and what is measured on rows it has not seen."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes
from ..inspection.holdout import rows_of, unfitted
from ..inspection.response import Response, stated_kinds
from ..metrics import OrdinalReport, ordinal_report
from ..model_selection.splitters import dealt_splits
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import OrdinalScale

#: folds of the split that gives a quarter of the rows to look at
_QUARTER = 4
#: most rows whose sections look at single rows or shuffle columns
MOST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for every row by a model that has not seen it, in the order of the rows."""

    codes: Codes
    probabilities: npt.NDArray[np.float64] | None


@dataclass(frozen=True, eq=False)
class Trial:
    """A fitted model, rows that it has not seen, how this came about, and rows it was fitted to.

    The latter are None where they are not known. `seconds` is the processor time of the fit.
    """

    model: Any
    rows: npt.NDArray[np.intp]
    how: str
    training: npt.NDArray[np.intp] | None = None
    seconds: float = 0.0


@dataclass(eq=False)
class Facts:
    """All that sections draw on; what takes time is found when it is first asked for.

    Parameters
    ----------
    title : str
    name : str
        Of the model.
    target : str
        Of the label column.
    board : Leaderboard, optional
    trained : TrainedModel, optional
    model : estimator, optional
        Fitted; the one that the report describes.
    X, y : inputs and labels, optional
    schema : Schema, optional
        Of inputs in which truth values and dates are numbers.
    scale : OrdinalScale, optional
    codes : ndarray, optional
        Labels as positions on the scale.
    cost : str or ndarray of shape (K, K)
    cv : int or "prefit"
        Folds, or that the rows are new to the model.
    random_state : int
    n_jobs : int, optional
    is_patient : bool
        Whether to make sections that take long.
    """

    title: str
    name: str
    target: str
    board: Any = None
    trained: Any = None
    model: Any = None
    X: Any = None
    y: Any = None
    schema: Any = None
    scale: OrdinalScale | None = None
    codes: Any = None
    cost: Any = "absolute"
    cv: Any = 5
    random_state: int = 0
    n_jobs: int | None = None
    is_patient: bool = False

    @property
    def has_rows(self) -> bool:
        """Whether there are labelled rows."""
        return self.codes is not None

    @property
    def labels(self) -> list[str]:
        """The labels from lowest to highest, as texts."""
        return [] if self.scale is None else [str(label) for label in self.scale.classes.tolist()]

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns are, by name, as far as their types do not tell."""
        return stated_kinds(self.schema)

    @property
    def n_rows(self) -> int:
        """Number of labelled rows."""
        return 0 if self.codes is None else len(self.codes)

    @property
    def is_new(self) -> bool:
        """Whether the rows are new to the model as it is."""
        return self.cv == "prefit"

    @property
    def how(self) -> str:
        """How held-out figures came about, to stand after a semicolon."""
        if self.is_new:
            return "rows that the model has not seen"
        return f"out-of-fold predictions, {self.folds} folds"

    @property
    def folds(self) -> int:
        """Folds that the rows allow."""
        return min(int(self.cv), self.n_rows)

    @property
    def cost_words(self) -> str:
        """The cost in words."""
        if isinstance(self.cost, str):
            return f"{self.cost.replace('_', '-')} cost"
        return "the given cost matrix"

    @cached_property
    def cost_matrix(self) -> npt.NDArray[np.float64]:
        """The cost of predicting r (column) for the truth y (row)."""
        return cost_matrix(self.cost, self.scale.n_classes)

    @cached_property
    def held_out(self) -> HeldOut | None:
        """Predictions by models that have not seen the rows; None without a model or rows."""
        if self.model is None or not self.has_rows:
            return None
        if self.is_new:
            response = self.response
            return HeldOut(response.codes(self.X), response.probabilities(self.X))
        from ..inspection import holdout_predictions

        found = holdout_predictions(
            self.model,
            self.X,
            self.y,
            self.folds,
            classes=self.scale.classes,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        order = np.argsort(found.rows, kind="stable")
        p = found.probabilities
        return HeldOut(found.codes[order], None if p is None else p[order])

    @cached_property
    def response(self) -> Response:
        """The model, read through its predictions."""
        return Response(self.model, self.scale.classes, kinds=self.kinds)

    @cached_property
    def quality(self) -> OrdinalReport:
        """Figures of the held-out predictions by class."""
        ranks = np.arange(len(self.labels))
        return ordinal_report(self.codes, self.held_out.codes, classes=ranks)

    @cached_property
    def mean_cost(self) -> float:
        """Mean cost of the held-out predictions."""
        return float(self.cost_matrix[self.codes, self.held_out.codes].mean())

    @cached_property
    def trial(self) -> Trial | None:
        """The model on rows it has not seen: as it is, or fitted to three quarters of the rows."""
        if self.model is None or not self.has_rows:
            return None
        if self.is_new:
            return Trial(self.model, np.arange(self.n_rows), "rows that the model has not seen")
        folds = min(_QUARTER, self.n_rows)
        rest, held = dealt_splits(self.codes, folds, 1, self.random_state)[0]
        fresh = unfitted(self.model, self.scale)
        begun = time.process_time()
        fitted = fresh.fit(rows_of(self.X, rest), rows_of(self.y, rest))
        seconds = time.process_time() - begun
        how = f"a quarter of the rows, {len(held):,}, with the model fitted to the others"
        return Trial(fitted, held, how, rest, seconds)

    @cached_property
    def interval_model(self) -> Any:
        """What gives intervals for the rows of the trial; None if nothing does."""
        if self.trial is None:
            return None
        own = getattr(self.trained, "intervals", None)
        if own is None:
            model = self.trial.model
            return model if hasattr(model, "predict_interval") else None
        if self.is_new:
            return own
        rows = self.trial.training
        return unfitted(own, self.scale).fit(self.inputs(rows), self.targets(rows))

    def some_rows(self, rows: npt.NDArray[np.intp], most: int) -> npt.NDArray[np.intp]:
        """At most so many of the rows, drawn at random, in their order."""
        if len(rows) <= most:
            return rows
        rng = np.random.default_rng(self.random_state)
        return np.sort(rng.choice(rows, most, replace=False))

    def inputs(self, rows: npt.NDArray[np.intp]) -> Any:
        """Inputs of some rows."""
        return rows_of(self.X, rows)

    def targets(self, rows: npt.NDArray[np.intp]) -> Any:
        """Labels of some rows."""
        return rows_of(self.y, rows)

    @cached_property
    def importance(self) -> Any:
        """Rise of the mean cost when a column is shuffled, on rows the model has not seen."""
        from ..inspection import ordinal_importance

        rows = self.some_rows(self.trial.rows, MOST_ROWS)
        return ordinal_importance(
            self.trial.model,
            self.inputs(rows),
            self.targets(rows),
            cost=self.cost,
            random_state=self.random_state,
            classes=self.scale.classes,
        )

    @cached_property
    def profile(self) -> Any:
        """What the table looks like, with warnings; None without rows."""
        if not self.has_rows or self.X is None:
            return None
        from ..inspection import profile_table

        return profile_table(
            self.X, self.y, list(self.scale.classes), target=self.target, kinds=self.kinds
        )
