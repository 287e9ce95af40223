"""What any fitted model says of rows on one scale of labels, whatever it is wrapped in."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted

from .._utils.types import Codes, EstimatorLike, LabelsLike, Matrix, Vector
from ..metrics._labels import stated_order
from ..ordinal.arrays import read_numbers
from ..ordinal.columns import plain_array
from ..ordinal.data import OrdinalData
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import exceedance, side_matrix
from .held_out_fit import HoldsRowsOutMixin
from .mixins import ThresholdModelMixin
from .validation import validate_ordinal_fit
from .wrappers import Wrapper, final_estimator, is_passage, layers, opened

# Sums of probabilities in single precision are as far from one.
_ROUNDING = 1e-6


def label_order(
    known: npt.NDArray[Any] | None, classes: Any = None, y: Any = None
) -> npt.NDArray[Any] | None:
    """Labels from lowest to highest: as stated, else by the type of `y`, else as a model has them.

    Examples
    --------
    >>> import pandas as pd
    >>> y = pd.Categorical(["poor"], ["poor", "fair", "good"], ordered=True)
    >>> label_order(np.array(["fair", "good", "poor"]), None, y).tolist()
    ['poor', 'fair', 'good']
    """
    if classes is not None:
        return plain_array(classes)
    stated = None if y is None else stated_order(y, "y")
    if stated is None or (known is not None and not set(known.tolist()) <= set(stated.tolist())):
        return known
    return stated


def has_latent(model: Any) -> bool:
    """Whether a fitted model is one latent score and thresholds on it."""
    last = final_estimator(model)
    return hasattr(last, "predict_latent") and hasattr(last, "thresholds_")


def latent_scores(model: Any, X: Any) -> Vector | None:
    """Latent score of the model at the end of pipelines and searches; None if it has none."""
    found = opened(model, X, "predict_latent")
    return None if found is None else np.asarray(found[0].predict_latent(found[1]), np.float64)


def labels_and_probabilities(model: Any, X: Any) -> tuple[Any, Any]:
    """Predicted labels and class probabilities; a pipeline's transformers run only once."""
    layer = next(layer for layer in layers(model) if not isinstance(layer.model, Pipeline))
    last, rows = layer.model, layer.rows(X)
    if hasattr(last, "predict_with_proba"):
        labels, probabilities = last.predict_with_proba(rows)
        return labels, probabilities
    return last.predict(rows), last.predict_proba(rows)


def finite_answers(values: Matrix, model: Any) -> Matrix:
    """What a model predicts, a line per row, unless some of it is no number."""
    bad = ~np.isfinite(values).all(axis=1)
    if bad.any():
        raise ValueError(
            f"What {type(final_estimator(model)).__name__} predicts must be finite; found NaN or "
            f"infinity in {int(bad.sum())} of {len(values)} rows."
        )
    return values


def proper_probabilities(values: Matrix, model: Any) -> Matrix:
    """Class probabilities of a model, with rows that do not sum to one scaled to do so.

    Bayes' rule on logarithms that are large gives such rows, as of GaussianNB far from its data.
    """
    total = finite_answers(values, model).sum(axis=1, keepdims=True)
    bad = (values < 0.0).any(axis=1) | (total[:, 0] == 0.0)
    if bad.any():
        raise ValueError(
            f"Probabilities of {type(final_estimator(model)).__name__} must not be negative, nor "
            f"zero for every class; found {values[bad][0].tolist()}."
        )
    return np.where(np.abs(total - 1.0) > _ROUNDING, values / total, values)


class FittedModel:
    """A fitted model and the scale that its labels belong to.

    Parameters
    ----------
    model : estimator
    scale : OrdinalScale
        Has all labels of the model, which may have seen only some.
    """

    def __init__(self, model: Any, scale: OrdinalScale) -> None:
        self.model = model
        self.scale = scale

    @property
    def has_probabilities(self) -> bool:
        """Whether the model gives class probabilities."""
        return hasattr(self.model, "predict_proba")

    @property
    def gives_labels(self) -> bool:
        """Whether the model predicts labels, and not numbers of its own scale."""
        return bool(is_classifier(self.model))

    def codes(self, X: Any) -> Codes:
        """Predicted labels as codes 0 … K−1."""
        return self.scale.encode(self.model.predict(X), name="the prediction of the model")

    def probabilities(self, X: Any) -> Matrix | None:
        """Class probabilities, (n, K), zero for classes that the model has not seen, or None."""
        if not self.has_probabilities:
            return None
        return self._spread(np.asarray(self.model.predict_proba(X), dtype=np.float64))

    def codes_and_probabilities(self, X: Any) -> tuple[Codes, Matrix | None]:
        """Both at once, for models that have them from the same work."""
        if not self.has_probabilities:
            return self.codes(X), None
        labels, found = labels_and_probabilities(self.model, X)
        codes = self.scale.encode(labels, name="the prediction of the model")
        return codes, self._spread(np.asarray(found, dtype=np.float64))

    def margins(self, X: Any) -> Matrix | None:
        """Margins at the thresholds, (n, K−1), of a model with one for each in order; else None.

        Where a model has the margins of the model inside, those are meant, and not the sides that
        stand in for them where there are none.
        """
        deciding = next(layer for layer in layers(self.model) if _decides(layer.model))
        if not hasattr(deciding.model, "decision_function"):
            return None
        places = self._places.tolist()
        if sorted(places) != list(range(self.scale.n_classes)):
            return None
        values = np.asarray(deciding.model.decision_function(deciding.rows(X)), dtype=np.float64)
        values = values.reshape(len(values), -1)
        if places == [1, 0]:
            # The two labels were sorted the other way round.
            return -values
        in_order = places == sorted(places) and values.shape[1] == self.scale.n_classes - 1
        return values if in_order else None

    def finite_margins(self, X: Any) -> Matrix | None:
        """The same as finite numbers."""
        margins = self.margins(X)
        return None if margins is None else without_infinity(margins)

    def margins_or_sides(self, X: Any) -> Matrix:
        """Margins, or ±1 for the sides of the predicted label, of any model that gives labels."""
        margins = self.margins(X)
        if margins is not None:
            return margins
        return side_matrix(self.codes(X), self.scale.n_classes).astype(np.float64)

    def threshold_scores(self, X: Any) -> Matrix:
        """A number for each threshold that rises with the label: margins, or P(y > k).

        Decisions of a classifier without probabilities, one for each class, are taken for their
        logarithms.
        """
        margins = self.finite_margins(X)
        if margins is not None:
            return margins
        probabilities = self.probabilities(X)
        return exceedance(self._softened(X) if probabilities is None else probabilities)

    def scores(self, X: Any) -> Matrix:
        """Numbers that rise with the label: one for each row, or one for each threshold.

        The latent score of a threshold model or the prediction of a regressor or ranker, (n, 1);
        else the scores at thresholds, (n, K−1).
        """
        if not self.has_one_score:
            return finite_answers(self.threshold_scores(X), self.model)
        latent = latent_scores(self.model, X) if has_latent(self.model) else None
        if latent is None:
            latent = read_numbers(self.model.predict(X), "the prediction of the model")
        return finite_answers(latent.reshape(_num_samples(X), 1), self.model)

    @property
    def has_one_score(self) -> bool:
        """Whether `scores` are one for each row, whose zero has no meaning of its own."""
        return has_latent(self.model) or not self.gives_labels

    def _softened(self, X: Any) -> Matrix:
        if not hasattr(self.model, "decision_function"):
            return np.eye(self.scale.n_classes)[self.codes(X)]
        values = np.asarray(self.model.decision_function(X), dtype=np.float64)
        values = values.reshape(len(values), -1)
        if values.shape[1] == 1:
            values = np.hstack([np.zeros_like(values), values])
        return self._spread(softmax(values, axis=1))

    def _spread(self, columns: Matrix) -> Matrix:
        """Columns of the model's classes among those of the whole scale."""
        spread = np.zeros((len(columns), self.scale.n_classes))
        spread[:, self._places] = proper_probabilities(columns, self.model)
        return spread

    @property
    def _places(self) -> Codes:
        """Where on the scale the model's classes are."""
        return self.scale.encode(self.model.classes_, name="classes_ of the model")


def _decides(model: Any) -> bool:
    """Whether margins are a model's own."""
    if isinstance(model, AroundModel) and hasattr(model, "estimator_"):
        return not bool(model._keeps_margins)
    return not is_passage(model)


def without_infinity(margins: Matrix) -> Matrix:
    """Margins with infinite ones, of labels never predicted, replaced by their neighbours'."""
    if np.isfinite(margins).all():
        return margins
    filled = np.where(np.isfinite(margins), margins, np.nan)
    thresholds = filled.shape[1]
    for order in (range(1, thresholds), range(thresholds - 2, -1, -1)):
        step = order.step
        for k in order:
            empty = np.isnan(filled[:, k])
            filled[empty, k] = filled[empty, k - step]
    return np.where(np.isnan(filled), np.sign(margins), filled)


def _is_threshold_model(model: AroundModel) -> bool:
    if not hasattr(model, "thresholds_"):
        raise AttributeError("The estimator inside has no latent score, or is not fitted yet.")
    return True


class AroundModel(Wrapper, HoldsRowsOutMixin):
    """Mixin of an ordinal estimator around one model, which sees the rows as they are.

    A subclass sets ``estimator_``, the fitted model; ``_on_codes``, whether that one knows ranks
    0 … K−1 in place of labels; and ``thresholds_`` if it has a latent score. ``_default`` is what
    stands in for a parameter ``estimator`` that is None.
    """

    classes: LabelsLike | None
    estimator: EstimatorLike | None
    _default: type[Any]
    _on_codes: bool
    _reads_numbers = False
    # The model inside knows.
    _one_thread = False

    @property
    def _given(self) -> Any:
        return self._default() if self.estimator is None else self.estimator

    def _validated(self, X: Any, y: Any, sample_weight: Any) -> OrdinalData:
        """Checked data; the scale of a model that is fitted already is taken over if it has one."""
        if self._on_codes:
            return super()._validated(X, y, sample_weight)
        check_is_fitted(self._given)
        scale = getattr(final_estimator(self._given), "_scale", None)
        if self.classes is not None or not isinstance(scale, OrdinalScale):
            return super()._validated(X, y, sample_weight)
        reader = clone(self).set_params(classes=scale.classes)
        data = validate_ordinal_fit(reader, X, y, sample_weight, convert=False)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(reader, name):
                setattr(self, name, getattr(reader, name))
        return replace(data, scale=scale)

    @property
    def _keeps_margins(self) -> bool:
        """Whether the margins are those of the model inside."""
        raise NotImplementedError

    @property
    def _inner(self) -> FittedModel:
        return self._read(self.estimator_)

    def _read(self, model: Any) -> FittedModel:
        """A model that was fitted to the same labels as the one inside."""
        scale = OrdinalScale(np.arange(len(self.classes_))) if self._on_codes else self._scale
        return FittedModel(model, scale)

    predict_latent = available_if(_is_threshold_model)(ThresholdModelMixin.predict_latent)

    def _latent(self, X: Any) -> Vector:
        """Latent score of the model inside."""
        scores = latent_scores(self.estimator_, self._inputs(X))
        assert scores is not None
        return scores
