"""Nonconformity scores of labels by a fitted model, for rows that calibrate it and for new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing

from .._utils.types import Codes, Matrix, Vector
from ..base.nested import fit_on_codes
from ..base.reading import FittedModel
from ..base.validation import OrdinalData
from ..ordinal.intervals import margin_nonconformity, probability_nonconformity


@dataclass(frozen=True)
class CalibrationRows:
    """Calibration rows and their scores by a model that has not seen them.

    Parameters
    ----------
    model : estimator
    scores : ndarray of shape (n, K)
        Nonconformity scores of every label.
    codes : ndarray of shape (n,)
        The true labels.
    predicted : ndarray of shape (n,)
        The predicted ones.
    """

    model: Any
    scores: Matrix
    codes: Codes
    predicted: Codes

    @classmethod
    def of(cls, model: FittedModel, data: OrdinalData, rows: Codes) -> CalibrationRows:
        """Score rows by a model that is fitted already."""
        scores, predicted = nonconformity_scores(model, _safe_indexing(data.X, rows))
        return cls(model.model, scores, data.codes[rows], predicted)

    @classmethod
    def held_out(
        cls, estimator: Any, data: OrdinalData, inside: Codes, outside: Codes
    ) -> CalibrationRows:
        """Score the rows outside by a model that is fitted on those inside."""
        return cls.of(fit_on_codes(estimator, data, inside), data, outside)

    def ascending(self) -> tuple[Vector, Codes]:
        """Scores of the true labels in ascending order, and these labels."""
        own = self.scores[np.arange(len(self.codes)), self.codes]
        order = np.argsort(own, kind="stable")
        return own[order], self.codes[order]


def nonconformity_scores(model: FittedModel, X: Any) -> tuple[Matrix, Codes]:
    """Nonconformity score of every label for every row, and the predicted labels."""
    predicted, probabilities = model.codes_and_probabilities(X)
    if probabilities is not None:
        return probability_nonconformity(probabilities, predicted), predicted
    margins = model.margins(X)
    if margins is None:
        # A model that gives nothing but labels: margins say how many ranks away thresholds are.
        margins = predicted[:, None] - (np.arange(model.scale.n_classes - 1) + 0.5)
    return margin_nonconformity(margins, predicted), predicted
