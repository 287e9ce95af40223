"""A fitted model on labelled rows, and the one evaluation of it that every section shows."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from .._utils.types import Codes, Index, Mask, Matrix, Vector
from ..base.nested import fit_arguments
from ..base.row_design import RowDesign, Split
from ..base.wrappers import inner_estimator
from ..inspection import Effect, Importance, feature_effects, ordinal_importance
from ..inspection.holdout import unfitted
from ..inspection.table import Response, Table, read_features
from ..metrics import OrdinalReport, ordinal_report
from ..model_selection import Leaderboard, LeaderboardRow, compare_models
from ..model_selection.holdout import Holdout
from ..model_selection.splitters import dealt_splits
from ..ordinal.costs import cost_matrix
from ..plots.display import name_of
from .rows import MOST_ROWS, Rows, Settings, row_weights

#: folds of the split that gives a quarter of the rows to look at
_QUARTER = 4
#: columns whose effects are found, the values and rows they are found at, and the central share
#: of the values
_MOST_EFFECTS, _POINTS, _EFFECT_ROWS, BULK = 6, 16, 200, 0.98
#: parts of the rows, each of which is left out once to see how much an effect depends on it
PARTS = 5
#: processor time of a fit beyond which no models are fitted for that
_MOST_SECONDS = 1.0
#: of intervals where nobody has asked for another
CONFIDENCE = 0.9
_AS_GIVEN = "the rows given, with the model as it is"
_NEW = "rows that the model was not fitted to, as it is"
_EQUAL = "equal rows that it was fitted to"
_TRAINING = "the rows that the model was fitted to, on which figures tend to be too good"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Predictions for rows, by models not fitted to them or by the model as it is.

    A row occurs once in each repeat of the folds, and not at all if no fold tests it.

    Parameters
    ----------
    rows : ndarray of shape (m,)
        Which row each prediction is for.
    truth, codes : ndarray of shape (m,)
        True and predicted label as positions on the scale.
    probabilities : ndarray of shape (m, K), or None
    counts : ndarray of shape (m,)
        What the row of each prediction counts.
    fold : ndarray of shape (m,)
    """

    rows: Index
    truth: Codes
    codes: Codes
    probabilities: Matrix | None
    counts: Vector
    fold: Index

    @classmethod
    def of(cls, found: Holdout, design: RowDesign) -> HeldOut:
        """Out-of-fold predictions of all repeats."""
        p = found.probabilities
        return cls(
            found.rows,
            found.truth,
            found.codes,
            None if p is None else p.astype(np.float64),
            row_weights(design, found.rows),
            np.unique(np.stack([found.repeat, found.fold]), axis=1, return_inverse=True)[1].ravel(),
        )

    @cached_property
    def times(self) -> Index:
        """How often the row of each prediction occurs."""
        return np.bincount(self.rows)[self.rows]

    @cached_property
    def weights(self) -> Vector:
        """What each prediction counts: all those for a row together what the row counts."""
        return self.counts / self.times

    def mean(self, values: Any, some: Any = ...) -> float:
        """Mean over folds of the weighted means of some predictions, as leaderboards have it."""
        fold, weights = self.fold[some], self.counts[some]
        total = np.bincount(fold, weights)
        sums = np.bincount(fold, weights * np.asarray(values, dtype=np.float64))
        return float((sums[total > 0] / total[total > 0]).mean()) if total.any() else np.nan


@dataclass(frozen=True, eq=False)
class Ends:
    """First and last rank of an interval for each of some held-out predictions.

    Parameters
    ----------
    held : HeldOut
    low, high : ndarray of shape (m,)
        −1 where there is none.
    confidence : float or None
        What share of labels the intervals are meant to hold.
    how : str
        How they came about.
    """

    held: HeldOut
    low: Codes
    high: Codes
    confidence: float | None
    how: str

    @property
    def known(self) -> Mask:
        """Where there is an interval."""
        return self.low >= 0

    @property
    def inside(self) -> Mask:
        """Where it holds the label."""
        return (self.low <= self.held.truth) & (self.held.truth <= self.high)

    @property
    def width(self) -> Codes:
        """Number of labels in each."""
        return self.high - self.low + 1


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
    def evaluated(self) -> tuple[Leaderboard, LeaderboardRow] | None:
        """The one evaluation: of a contest on these very rows, or else in folds of its own.

        None where the model is judged as it is.
        """
        if self.is_prefit:
            return None
        rows, design = self.rows, self.rows.design
        row = _measured(self.board, self.name, rows.codes)
        if self.board is not None and row is not None:
            return self.board, row
        name = self.name or name_of(self.model) or "the model"
        largest = int(np.bincount(rows.codes).max())
        made = compare_models(
            {name: inner_estimator(self.model)},
            rows.X,
            rows.y,
            classes=rows.classes,
            folds=max(2, min(int(self.settings.cv), largest)),
            repeats=1,
            sample_weight=design.weights,
            groups=design.groups,
            time=design.times,
            gap=design.gap,
            random_state=self.settings.random_state,
            n_jobs=self.settings.n_jobs,
        )
        return made, made.best

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
    def how(self) -> str:
        """How held-out figures came about, to stand after a semicolon."""
        if self.evaluated is None:
            return self._as_given
        board, row = self.evaluated
        return ", ".join(filter(None, ["out-of-fold predictions", board.how_of(row)]))

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
        """Predictions by models that were not fitted to the rows, or by the model as it is."""
        if self.evaluated is None:
            return self.trial_answers
        board, row = self.evaluated
        return HeldOut.of(board.held_out(row), self.rows.design)

    @cached_property
    def trial_answers(self) -> HeldOut:
        """What the model of the trial says of the rows to look at."""
        rows = self.trial.rows
        response = Response(self.trial.model, self.rows.classes, kinds=self.rows.kinds)
        X, weights = self.rows.inputs(rows), row_weights(self.rows.design, rows)
        found = response.codes(X), response.probabilities(X)
        return HeldOut(rows, self.rows.codes[rows], *found, weights, np.zeros_like(rows))

    @cached_property
    def interval_ends(self) -> Ends | None:
        """Prediction intervals of the evaluation; None for a model that gives none."""
        held = self.held_out
        if self.evaluated is not None and held.probabilities is not None:
            board, row = self.evaluated
            confidence = getattr(self.intervals, "confidence", CONFIDENCE)
            ends = board.held_out(row).intervals(confidence, self.rows.design)
            return Ends(held, *ends, confidence, f"{self.how}, each calibrated on the other folds")
        trial = self.trial
        model = trial.model if self.intervals is None else self.intervals
        if not (self.is_prefit or self.intervals is None) or not hasattr(model, "predict_interval"):
            return None
        held = self.trial_answers
        X = self.rows.inputs(trial.rows)
        low, high = (self.rows.scale.encode(labels) for labels in model.predict_interval(X))
        low, high = np.minimum(low, held.codes), np.maximum(high, held.codes)
        return Ends(held, low, high, getattr(model, "confidence", None), trial.how)

    @cached_property
    def quality(self) -> OrdinalReport:
        """Figures of the held-out predictions by class."""
        held, ranks = self.held_out, np.arange(self.rows.scale.n_classes)
        return ordinal_report(held.truth, held.codes, classes=ranks, sample_weight=held.weights)

    @cached_property
    def costs(self) -> Matrix:
        """Cost of each held-out prediction."""
        return self.cost_matrix[self.held_out.truth, self.held_out.codes]

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

    @property
    def is_slow(self) -> bool:
        """Whether the model takes long to fit and nobody has said to wait."""
        return self.trial.seconds > _MOST_SECONDS and not self.settings.is_patient

    @cached_property
    def replicates(self) -> list[Any]:
        """Models fitted without one part of the rows, or of the groups, each.

        None of them where they would take long, or where the model is judged as it is.
        """
        rows, settings = self.rows, self.settings
        if self.is_prefit or self.is_slow or len(rows) < 2 * PARTS:
            return []
        design = replace(rows.design, times=None, gap=0.0)
        rng = np.random.RandomState(settings.random_state)
        found = []
        for rest, _ in design.folds(rows.codes, PARTS, rng):
            fresh = unfitted(self.model, rows.scale)
            known = fit_arguments(fresh, rows.design.take(rest))
            found.append(fresh.fit(rows.inputs(rest), rows.targets(rest), **known))
        return found

    @cached_property
    def importance(self) -> Importance:
        """Rise of the mean cost when a column is shuffled, on the rows of the trial.

        Columns are called as a reader would; the mean cost itself is the evaluation's to tell.
        """
        rows = self.settings.sample(self.trial.rows, MOST_ROWS)
        found = ordinal_importance(
            self.trial.model,
            self.rows.inputs(rows),
            self.rows.targets(rows),
            cost=self.settings.cost,
            sample_weight=self.rows.design.take(rows).weights,
            random_state=self.settings.random_state,
            classes=self.rows.classes,
        )
        called = [self.rows.called(name) for name in found.features]
        return replace(found, features=called, baseline=np.nan)

    @cached_property
    def effects(self) -> list[Effect]:
        """Effects of the most important columns over the bulk of their values, with errors."""
        rows, settings = self.rows, self.settings
        # Values to show are sought among these, for all models alike.
        chosen = settings.sample(np.arange(len(rows)), MOST_ROWS)
        X = rows.inputs(chosen)
        read = read_features(Table(X, rows.kinds))
        wanted = [
            int(j)
            for j in self.importance.order
            if read[j].kind != "text" and len(np.unique(read[j].numbers[read[j].present])) > 1
        ]
        told = partial(
            feature_effects,
            X=X,
            features=wanted[:_MOST_EFFECTS],
            n_points=_POINTS,
            max_rows=_EFFECT_ROWS,
            bulk=BULK,
            sample_weight=rows.design.take(chosen).weights,
            random_state=settings.random_state,
            classes=rows.classes,
            kinds=rows.kinds,
        )
        if not wanted:
            return []
        found = [replace(e, feature=rows.called(e.feature)) for e in told(self.model)]
        others = [[e.expected_rank for e in told(model)] for model in self.replicates]
        if len(others) < 2 or found[0].unit != "ranks":
            return found
        return [
            replace(effect, error=jackknife_errors(np.array([one[i] for one in others])))
            for i, effect in enumerate(found)
        ]


def _measured(board: Leaderboard | None, name: str, codes: Codes) -> LeaderboardRow | None:
    """A model's row of a contest on rows of these labels, if its predictions were kept."""
    if board is None or board.truth is None or not np.array_equal(board.truth, codes):
        return None
    row = board.find(name)
    return row if row is not None and row.predictions else None


def jackknife_errors(found: Matrix) -> Vector:
    """Standard errors of figures from those without one part of the rows each, part by part."""
    parts = len(found)
    away = found - found.mean(axis=0)
    return np.sqrt((parts - 1.0) / parts * (away**2).sum(axis=0))
