"""What displays ask of estimators: a name, their labels, probabilities, one score per row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from .._utils.types import Matrix, Vector
from ..base.reading import (
    FittedModel,
    answering_model,
    inner_estimator,
    known_classes,
    known_inputs,
    label_order,
    last_step,
    opened,
    output_names,
)
from ..metrics.scorers import ranking_scores
from ..ordinal.labels import OrdinalScale
from ..ordinal.reduction import expected_rank


def name_of(estimator: Any, name: str | None = None) -> str:
    """What to call an estimator: the name given, its own, or its class at the end of a pipeline."""
    if name is not None:
        return name
    own = getattr(estimator, "name", None)
    return own if isinstance(own, str) else type(answering_model(estimator)).__name__


def classes_of(estimator: Any, y: Any = None) -> npt.NDArray[Any] | None:
    """Labels from lowest to highest, by the type of `y` or as far as the estimator knows them."""
    known = known_classes(estimator)
    return None if known is None else label_order(known, None, y)


def labelling_model(estimator: Any, classes: Any = None) -> FittedModel | None:
    """The estimator on an ordered scale, its own by default; None for a ranker or regressor."""
    estimator = inner_estimator(estimator)
    if not is_classifier(estimator):
        return None
    check_is_fitted(estimator)
    return FittedModel(estimator, OrdinalScale(label_order(known_classes(estimator), classes)))


def probabilities_of(estimator: Any, X: Any, classes: Any = None) -> Matrix:
    """Class probabilities in the order of the classes; an estimator without them is refused."""
    model = labelling_model(estimator, classes)
    found = None if model is None else model.probabilities(known_inputs(estimator, X))
    if found is None:
        raise ValueError(
            f"estimator must have predict_proba; {name_of(estimator)} has not, and "
            "OrdinalCalibrator gives probabilities to any model."
        )
    return found


@dataclass(frozen=True)
class Latent:
    """One score per row, thresholds on its scale where there are any, and what the score is."""

    scores: Vector
    thresholds: Vector | None
    name: str


def latent_of(estimator: Any, X: Any, classes: Any = None) -> Latent:
    """The latent score of a threshold model; else the mean margin, expected rank or score."""
    found = opened(estimator, X, "predict_latent")
    if found is not None:
        scores, thresholds = found[0].predict_latent(found[1]), found[0].thresholds_
        return Latent(np.asarray(scores), np.asarray(thresholds), "latent score f(x)")
    model, inputs = labelling_model(estimator, classes), known_inputs(estimator, X)
    if model is None:
        return Latent(ranking_scores(inner_estimator(estimator), inputs), None, "score")
    margins = model.finite_margins(inputs)
    if margins is None:
        ranks = expected_rank(probabilities_of(estimator, X, classes))
        return Latent(ranks, None, "expected rank, from 0")
    if margins.shape[1] == 1:
        return Latent(margins[:, 0], np.zeros(1), "margin")
    return Latent(margins.mean(axis=1), None, "mean margin over thresholds")


def threshold_scores(estimator: Any, X: Any, classes: Any = None) -> npt.NDArray[np.float64]:
    """Margins at the thresholds, or P(y > k); the one score of a ranker."""
    model = labelling_model(estimator, classes)
    if model is None:
        return latent_of(estimator, X).scores
    return model.threshold_scores(known_inputs(estimator, X))


def feature_names(estimator: Any, n: int) -> list[str]:
    """Names of the inputs of the model at the end of an estimator; x0, x1, … where it has none."""
    before, last = last_step(estimator)
    names = getattr(last, "feature_names_in_", None)
    names = output_names(before) if names is None else names
    if names is None or len(names) != n:
        return [f"x{j}" for j in range(n)]
    return [str(name) for name in names]
