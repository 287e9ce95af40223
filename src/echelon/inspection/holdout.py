"""Predictions for rows held out, and what more rows would give."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from .._utils.frames import aligned
from .._utils.types import (
    Codes,
    Index,
    KeysLike,
    LabelsLike,
    Matrix,
    MatrixLike,
    Vector,
    VectorLike,
)
from ..base.nested import fit_arguments, fresh
from ..base.reading import label_order
from ..base.row_design import RowDesign, Split
from ..base.wrappers import inner_estimator, known_classes, known_inputs
from ..model_selection.holdout import Holdout
from ..model_selection.splitters import dealt_splits
from ..ordinal.arrays import require_count
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import OrdinalScale, read_scale
from .table import Response


def holdout_predictions(
    model: Any,
    X: MatrixLike,
    y: LabelsLike,
    cv: int = 5,
    *,
    repeats: int = 1,
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
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
    sample_weight : array-like of shape (n,), optional
        What each row counts where a model is fitted.
    groups : array-like of shape (n,), optional
        What each row belongs to: groups are held out whole.
    time : array-like of shape (n,), optional
        When each row was taken: `cv` windows of later rows are predicted, each by a model of what
        lies before, and the earliest rows by none.
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
    design = RowDesign.of(len(codes), sample_weight, groups, time)
    splits = _splits(codes, design, cv, repeats, random_state)
    parts = Parallel(n_jobs=n_jobs)(
        delayed(_predict_fold)(copy, X, y, scale.classes, design, train, test)
        for train, test in splits
    )
    found = [(test, *part) for (_, test), part in zip(splits, parts, strict=True)]
    return Holdout.of(found, codes, scale.classes)


def _splits(
    codes: Codes, design: RowDesign, cv: int, repeats: int, random_state: int
) -> list[Split]:
    if design.is_plain:
        return dealt_splits(codes, cv, repeats, random_state)
    rng = np.random.RandomState(random_state)
    return [split for _ in range(repeats) for split in design.folds(codes, cv, rng)]


def scale_for(model: Any, y: Any, classes: Any) -> tuple[OrdinalScale, Codes]:
    """Scale and codes of labels; where neither `classes` nor `y` states an order, a model does."""
    return read_scale(y, label_order(known_classes(model), classes, y))


def unfitted(model: Any, scale: OrdinalScale) -> Any:
    """Clone that knows the whole scale, also where a training fold lacks a class."""
    return fresh(inner_estimator(model), classes=scale.classes.tolist())


def rows_of(X: Any, rows: Index) -> Any:
    """Some rows of inputs or labels of any kind."""
    return _safe_indexing(X, rows)


def _fitted(model: Any, X: Any, y: Any, classes: Any, design: RowDesign, train: Index) -> Response:
    known = fit_arguments(model, design.take(train))
    return Response(clone(model).fit(rows_of(X, train), rows_of(y, train), **known), classes)


def _predict_fold(
    model: Any, X: Any, y: Any, classes: Any, design: RowDesign, train: Index, test: Index
) -> tuple[Codes, Matrix | None]:
    response, rows = _fitted(model, X, y, classes, design, train), rows_of(X, test)
    return response.codes(rows), response.probabilities(rows)


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Mean cost by number of training rows, from `learning_curve`.

    Parameters
    ----------
    sizes : ndarray of shape (m,)
        Numbers of training rows.
    train_mean, train_sd : ndarray of shape (m,)
        Mean cost on the training rows themselves, and its standard deviation over the folds.
    test_mean, test_sd : ndarray of shape (m,)
        The same on the rows held out.
    """

    sizes: npt.NDArray[np.intp]
    train_mean: Vector
    train_sd: Vector
    test_mean: Vector
    test_sd: Vector

    def __str__(self) -> str:
        rows = [["rows", "training cost", "held-out cost"]]
        for m, size in enumerate(self.sizes.tolist()):
            train = f"{self.train_mean[m]:.4f} ± {self.train_sd[m]:.4f}"
            test = f"{self.test_mean[m]:.4f} ± {self.test_sd[m]:.4f}"
            rows.append([str(size), train, test])
        return "\n".join(aligned(rows, words=()))


def learning_curve(
    model: Any,
    X: MatrixLike,
    y: LabelsLike,
    *,
    sizes: Sequence[float] | None = None,
    cv: int = 5,
    cost: str | npt.ArrayLike = "absolute",
    classes: LabelsLike | None = None,
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> LearningCurve:
    """Mean cost on training and on held-out rows for growing training sets.

    The training sets of a fold are nested, and each has about the same share of every class.

    Parameters
    ----------
    model : estimator, pipeline or trained model
        Fitted or not; it is cloned.
    X : data frame or array-like of shape (n, d)
    y : label column of shape (n,)
    sizes : sequence, optional
        Numbers of training rows, or shares of the rows of a training fold if at most 1; by default
        0.1, 0.2, 0.4, 0.7 and 1.
    cv : int, default=5
        Folds.
    cost : {"absolute", "squared", "zero_one"} or array-like of shape (K, K), default="absolute"
    classes : sequence, optional
        The labels from lowest to highest.
    sample_weight, groups, time : array-like of shape (n,), optional
        As for `holdout_predictions`; weights count in the costs too.
    random_state : int, default=0
    n_jobs : int, optional
        Processes, as in joblib.

    Returns
    -------
    curve : LearningCurve

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True)
    >>> curve = learning_curve(ProportionalOdds(), X, y, sizes=[50, 1.0], cv=3)
    >>> curve.sizes
    array([ 50, 325])
    >>> bool(curve.test_mean[1] < curve.test_mean[0])
    True
    """
    require_count("cv", cv, 2)
    scale, codes = scale_for(model, y, classes)
    fresh, X = unfitted(model, scale), known_inputs(model, X)
    matrix = cost_matrix(cost, scale.n_classes)
    shares = (0.1, 0.2, 0.4, 0.7, 1.0) if sizes is None else sizes
    design = RowDesign.of(len(codes), sample_weight, groups, time)
    splits = _splits(codes, design, cv, 1, random_state)
    counts = _sizes(shares, min(len(rest) for rest, _ in splits))
    jobs = []
    for number, (rest, held) in enumerate(splits):
        order = rest[_spread(codes[rest], np.random.default_rng((random_state, number)))]
        jobs += [(order[:count], held) for count in counts]
    figures = Parallel(n_jobs=n_jobs)(
        delayed(_costs)(fresh, X, y, codes, scale.classes, matrix, design, *job) for job in jobs
    )
    by_fold = np.array(figures).reshape(len(splits), len(counts), 2)
    mean, sd = by_fold.mean(axis=0), by_fold.std(axis=0, ddof=1)
    return LearningCurve(counts, mean[:, 0], sd[:, 0], mean[:, 1], sd[:, 1])


def _sizes(sizes: Sequence[float], most: int) -> npt.NDArray[np.intp]:
    counts = [round(size * most) if size <= 1 else round(size) for size in sizes]
    if not counts or min(counts) < 1 or max(counts) > most:
        raise ValueError(
            f"sizes must be numbers of rows from 2 to {most}, those of a training fold, or shares "
            f"of them; found {list(sizes)!r}."
        )
    return np.unique(np.maximum(counts, min(2, most)))


def _spread(codes: Codes, rng: np.random.Generator) -> Index:
    """Order of rows of which every beginning has about the same shares of classes."""
    place = np.empty(len(codes))
    for code in np.unique(codes):
        own = rng.permutation(np.flatnonzero(codes == code))
        # Half a step in, so that the frequent classes come first and the rare ones soon.
        place[own] = (np.arange(len(own)) + 0.5) / len(own)
    order = np.argsort(place, kind="stable")
    # A second class is put among the first two rows: no model can be fitted to one class.
    other = int(np.argmax(codes[order] != codes[order[0]]))
    return np.concatenate([order[[0, other]], np.delete(order, [0, other])]) if other else order


def _costs(
    model: Any,
    X: Any,
    y: Any,
    codes: Codes,
    classes: Any,
    matrix: Matrix,
    design: RowDesign,
    train: Index,
    held: Index,
) -> tuple[float, float]:
    response = _fitted(model, X, y, classes, design, train)
    inside, outside = (
        float(
            np.average(
                matrix[codes[rows], response.codes(rows_of(X, rows))],
                weights=None if design.weights is None else design.weights[rows],
            )
        )
        for rows in (train, held)
    )
    return inside, outside
