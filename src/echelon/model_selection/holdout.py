"""Predictions for rows that were held out, and intervals calibrated on those of other folds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Codes, Index, Matrix
from ..base.row_design import RowDesign
from ..ordinal.intervals import (
    conformal_p_values,
    covering_interval,
    miscoverage,
    one_per_group,
    probability_nonconformity,
)

#: Test rows of a fold, the ranks predicted for them, and their class probabilities or None.
FoldPredictions = tuple[Index, Codes, Matrix | None]


@dataclass(frozen=True, eq=False)
class Holdout:
    """Out-of-fold predictions; a row occurs once per repeat, or not at all if no fold tests it.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Labels from lowest to highest.
    rows : ndarray of shape (m,)
        Which row of the inputs each entry is about.
    repeat, fold : ndarray of shape (m,)
    truth, codes : ndarray of shape (m,)
        True and predicted label as positions in `classes`.
    probabilities : ndarray of shape (m, K), or None
    """

    classes: npt.NDArray[Any]
    rows: Index
    repeat: Index
    fold: Index
    truth: Codes
    codes: Codes
    probabilities: Matrix | None

    @classmethod
    def of(
        cls, folds: Iterable[FoldPredictions], truth: Codes, classes: npt.NDArray[Any]
    ) -> Holdout:
        """Put folds together; those that follow each other and share no row are one repeat."""
        parts = list(folds)
        seen, repeat, fold, place = np.zeros(len(truth), dtype=bool), [], [], (0, 0)
        for rows, _, _ in parts:
            if seen[rows].any():
                seen[:] = False
                place = place[0] + 1, 0
            seen[rows] = True
            repeat.append(np.full(len(rows), place[0]))
            fold.append(np.full(len(rows), place[1]))
            place = place[0], place[1] + 1
        together = np.concatenate([rows for rows, _, _ in parts])
        probabilities = [p for _, _, p in parts if p is not None]
        return cls(
            classes=classes,
            rows=together,
            repeat=np.concatenate(repeat),
            fold=np.concatenate(fold),
            truth=truth[together],
            codes=np.concatenate([codes for _, codes, _ in parts]).astype(np.intp),
            probabilities=np.concatenate(probabilities)
            if len(probabilities) == len(parts)
            else None,
        )

    @property
    def y_true(self) -> npt.NDArray[Any]:
        """True labels."""
        return self.classes[self.truth]

    @property
    def y_pred(self) -> npt.NDArray[Any]:
        """Predicted labels."""
        return self.classes[self.codes]

    def intervals(self, confidence: float, design: RowDesign | None = None) -> tuple[Codes, Codes]:
        """First and last rank of an interval for each entry, calibrated on other folds.

        These are the folds of the same repeat, or with times the folds before. Ranks are −1 where
        there is no such fold or no probability.

        Parameters
        ----------
        confidence : float
        design : RowDesign, optional
            Groups, which count one each, and times of the rows.

        Returns
        -------
        low, high : ndarray of shape (m,)
        """
        design = RowDesign() if design is None else design
        low, high = np.full((2, len(self.rows)), -1)
        if self.probabilities is None:
            return low, high
        scores = probability_nonconformity(self.probabilities.astype(np.float64), self.codes)
        own = scores[np.arange(len(scores)), self.truth]
        groups = np.arange(len(self.truth)) if design.groups is None else design.groups[self.rows]
        for repeat, fold in np.unique(np.stack([self.repeat, self.fold]), axis=1).T:
            others = (self.repeat == repeat) & (
                self.fold != fold if design.times is None else self.fold < fold
            )
            if not others.any():
                continue
            rows = (self.repeat == repeat) & (self.fold == fold)
            order = np.flatnonzero(others)[np.argsort(own[others], kind="stable")]
            weights = one_per_group(groups[order])
            p_values = conformal_p_values(scores[rows], own[order], weights)
            low[rows], high[rows] = covering_interval(
                p_values, self.codes[rows], miscoverage(confidence)
            )
        return low, high

    def interval_figures(
        self, confidence: float, design: RowDesign | None = None
    ) -> dict[str, list[float]]:
        """Coverage and mean width of these intervals, for each fold that has any."""
        weights = None if design is None else design.weights
        low, high = self.intervals(confidence, design)
        found: dict[str, list[float]] = {"interval_coverage": [], "interval_width": []}
        for repeat, fold in np.unique(np.stack([self.repeat, self.fold]), axis=1).T:
            own = (self.repeat == repeat) & (self.fold == fold) & (low >= 0)
            if own.any():
                of_rows = None if weights is None else weights[self.rows[own]]
                inside = (low[own] <= self.truth[own]) & (self.truth[own] <= high[own])
                found["interval_coverage"].append(float(np.average(inside, weights=of_rows)))
                width = high[own] - low[own] + 1
                found["interval_width"].append(float(np.average(width, weights=of_rows)))
        return found
