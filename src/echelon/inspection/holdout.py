"""Predictions for rows that the model did not see, by repeated stratified folds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._utils.types import Codes, Index, LabelsLike, Matrix, MatrixLike
from ..base.nested import fresh
from ..base.reading import label_order
from ..base.wrappers import inner_estimator, known_classes, known_inputs
from ..model_selection.splitters import held_out_parts
from ..ordinal.arrays import require_count
from ..ordinal.labels import OrdinalScale, read_scale
from .response import Response


@dataclass(frozen=True, eq=False)
class Holdout:
    """Out-of-fold predictions, from `holdout_predictions`; each row occurs once per repeat.

    Parameters
    ----------
    classes : ndarray of shape (K,)
        Labels from lowest to highest.
    rows : ndarray of shape (n·repeats,)
        Which row of the inputs each entry is about.
    repeat, fold : ndarray of shape (n·repeats,)
    truth, codes : ndarray of shape (n·repeats,)
        True and predicted label as positions in `classes`.
    probabilities : ndarray of shape (n·repeats, K), or None
    """

    classes: npt.NDArray[Any]
    rows: Index
    repeat: Index
    fold: Index
    truth: Codes
    codes: Codes
    probabilities: Matrix | None

    @property
    def y_true(self) -> npt.NDArray[Any]:
        """True labels."""
        return self.classes[self.truth]

    @property
    def y_pred(self) -> npt.NDArray[Any]:
        """Predicted labels."""
        return self.classes[self.codes]


def holdout_predictions(
    model: Any,
    X: MatrixLike,
    y: LabelsLike,
    cv: int = 5,
    *,
    repeats: int = 1,
    classes: LabelsLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> Holdout:
    """Predict every row by a model fitted to other rows.

    Parameters
    ----------
    model : estimator, pipeline or trained model
        Fitted or not; it is cloned for every fold.
    X : data frame or array-like of shape (n, d)
    y : label column of shape (n,)
    cv : int, default=5
        Folds, over which every class is spread evenly.
    repeats : int, default=1
    classes : sequence, optional
        The labels from lowest to highest.
    random_state : int, default=0
    n_jobs : int, optional
        Processes, as in joblib.

    Returns
    -------
    holdout : Holdout

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> held = holdout_predictions(ProportionalOdds(), X, y)
    >>> held.codes.shape, held.probabilities.shape
    ((488,), (488, 9))
    """
    require_count("cv", cv, 2)
    require_count("repeats", repeats)
    scale, codes = scale_for(model, y, classes)
    copy, X = unfitted(model, scale), known_inputs(model, X)
    splits = held_out_parts(codes, cv, repeats, random_state)
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(copy, X, y, scale.classes, train, test) for train, test in splits
    )
    sizes = [len(test) for _, test in splits]
    together = np.concatenate([test for _, test in splits])
    probabilities = [p for _, p in parts]
    return Holdout(
        classes=scale.classes,
        rows=together,
        repeat=np.repeat(np.arange(len(splits)) // cv, sizes),
        fold=np.repeat(np.arange(len(splits)) % cv, sizes),
        truth=codes[together],
        codes=np.concatenate([predicted for predicted, _ in parts]),
        probabilities=None if probabilities[0] is None else np.concatenate(probabilities),
    )


def scale_for(model: Any, y: Any, classes: Any) -> tuple[OrdinalScale, Codes]:
    """Scale and codes of labels; where neither `classes` nor `y` states an order, a model does."""
    return read_scale(y, label_order(known_classes(model), classes, y))


def unfitted(model: Any, scale: OrdinalScale) -> Any:
    """Clone that knows the whole scale, also where a training fold lacks a class."""
    return fresh(inner_estimator(model), classes=scale.classes.tolist())


def rows_of(X: Any, rows: Index) -> Any:
    """Some rows of inputs or labels of any kind."""
    return _safe_indexing(X, rows)


def _predict_fold(
    model: Any, X: Any, y: Any, classes: Any, train: Index, test: Index
) -> tuple[Codes, Matrix | None]:
    fitted = clone(model).fit(rows_of(X, train), rows_of(y, train))
    response = Response(fitted, classes)
    rows = rows_of(X, test)
    return response.codes(rows), response.probabilities(rows)
