"""How strange labels are to a fitted model, for rows that calibrate it and for new ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from .._utils.types import Codes, Matrix
from ..base.nested import fit_on_codes
from ..base.reading import FittedModel
from ..base.validation import OrdinalData
from ..ordinal.intervals import margin_strangeness, probability_strangeness


@dataclass(frozen=True)
class JudgedRows:
    """Calibration rows as a model that has not seen them judges them.

    Parameters
    ----------
    model : estimator
    strangeness : ndarray of shape (n, K)
        Of every label.
    codes : ndarray of shape (n,)
        The true labels.
    seeds : ndarray of shape (n,)
        The predicted ones.
    """

    model: Any
    strangeness: Matrix
    codes: Codes
    seeds: Codes

    def ascending(self) -> tuple[npt.NDArray[np.float64], Codes]:
        """Strangeness of the true labels in ascending order, and these labels."""
        own = self.strangeness[np.arange(len(self.codes)), self.codes]
        order = np.argsort(own, kind="stable")
        return own[order], self.codes[order]


def label_strangeness(model: FittedModel, X: Any) -> tuple[Matrix, Codes]:
    """Strangeness of every label for every row, and the labels that the model predicts."""
    seeds, probabilities = model.codes_and_probabilities(X)
    if probabilities is not None:
        return probability_strangeness(probabilities, seeds), seeds
    margins = model.margins(X)
    if margins is None:
        # A model that gives nothing but labels: margins say how many ranks away thresholds are.
        margins = seeds[:, None] - (np.arange(model.scale.n_classes - 1) + 0.5)
    return margin_strangeness(margins, seeds), seeds


def judge_rows(model: FittedModel, data: OrdinalData, rows: Codes) -> JudgedRows:
    """Rows as a model judges them that has not seen them."""
    strangeness, seeds = label_strangeness(model, _safe_indexing(data.X, rows))
    return JudgedRows(model.model, strangeness, data.codes[rows], seeds)


def fit_and_judge(
    estimator: Any, data: OrdinalData, inside: Codes, outside: Codes, weighted: bool
) -> JudgedRows:
    """Rows as a model judges them that is fitted on others."""
    return judge_rows(fit_on_codes(estimator, data, inside, weighted=weighted), data, outside)
