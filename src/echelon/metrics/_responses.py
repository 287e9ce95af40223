"""What an estimator says about rows, as the labels, probabilities or scores that metrics take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.metrics._scorer import _cached_call

from .._utils.types import Matrix, Vector
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank
from ._labels import plain_labels, stated_order

#: Calls a method of an estimator; scikit-learn's way to share one prediction among scorers.
MethodCaller = Callable[..., Any]
#: Calls an estimator once, without sharing.
single_call: MethodCaller = partial(_cached_call, None)


class Response:
    """What an estimator says about X, put on the scale of a scorer."""

    def __init__(
        self, method_caller: MethodCaller, estimator: Any, X: Any, classes: npt.ArrayLike | None
    ) -> None:
        self.method_caller = method_caller
        self.estimator = estimator
        self.X = X
        self.known = getattr(estimator, "classes_", None)
        self.classes = np.asarray(self.known if classes is None else classes)

    def call(self, method: str) -> Any:
        """What a method of the estimator gives for X."""
        return self.method_caller(self.estimator, method, self.X, pos_label=None)

    def probabilities(self) -> Matrix:
        """Class probabilities with a column for every class of the scale."""
        if self.known is None or len(self.known) <= 2:
            # For two classes the shared call gives the upper column only, and one minus it would
            # round a small probability of the lower class to zero.
            p = np.asarray(self.estimator.predict_proba(self.X))
        else:
            p = np.asarray(self.call("predict_proba"))
        if self.known is None:
            return p
        full = np.zeros((len(p), len(self.classes)))
        full[:, OrdinalScale(self.classes).encode(self.known, name="classes_")] = p
        return full

    def scores(self, methods: Sequence[str]) -> Vector:
        """One score per row that grows with the label; the predicted rank for want of a better."""
        scores = self.first_scores([method for method in methods if method != "predict"])
        if scores is not None:
            return scores
        predicted = self.call("predict")
        if self.known is None:
            return np.asarray(predicted)
        codes = OrdinalScale(self.classes).encode(predicted, name="predictions")
        return codes.astype(np.float64)

    def first_scores(self, methods: Sequence[str]) -> Vector | None:
        """By the first of the methods that the estimator has and that gives one score per row."""
        for method in methods:
            if not hasattr(self.estimator, method):
                continue
            values = np.asarray(self.call(method), dtype=np.float64)
            if values.ndim == 1:
                return values
            # K−1 columns are margins at thresholds, and their sum grows with the label; K columns
            # are scores of classes without an order, and their sum says nothing.
            if self.known is not None and values.shape[1] == len(self.known) - 1:
                return np.asarray(values.sum(axis=1))
            if method == "predict_proba":
                return expected_rank(values)
        return None


def ranking_scores(estimator: Any, X: Any, method_caller: MethodCaller = single_call) -> Vector:
    """One score per row by which an estimator ranks, whatever kind of estimator it is."""
    response = Response(method_caller, estimator, X, None)
    if is_classifier(estimator):
        found = response.first_scores(("predict_latent", "decision_function", "predict_proba"))
        if found is not None:
            return found
    scores = np.asarray(response.call("predict"))
    if scores.ndim != 1 or scores.dtype.kind not in "iufb":
        raise ValueError(
            f"{type(estimator).__name__}.predict must give one number per row to rank by; found "
            f"shape {scores.shape} of {scores.dtype}."
        )
    return scores.astype(np.float64)


def scale_of(estimator: Any, y_true: Any) -> npt.NDArray[Any] | None:
    """Labels from lowest to highest as far as the estimator and the labels tell."""
    known = getattr(estimator, "classes_", None)
    if known is None:
        return None
    known = np.asarray(known)
    if _merely_sorted(known):
        stated, labels = stated_order(y_true), plain_labels(y_true)
        if stated is not None:
            known = stated
        elif known.dtype.kind in "biuf" and labels.dtype.kind in "biuf":
            known = np.union1d(known, labels)
    # The metrics read a scale of one class from the labels themselves.
    return known if len(known) > 1 else None


def _merely_sorted(classes: npt.NDArray[Any]) -> bool:
    labels = classes.tolist()
    try:
        return bool(labels == sorted(labels))
    except TypeError:
        return False
