"""Models inside models: pipelines, searches, rankers with thresholds, calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..base.reading import AroundModel
from ..base.wrappers import final_estimator, layers
from ..meta import ConformalOrdinal, OrdinalCalibrator, ThresholdedRanker
from .columns import (
    KINDS,
    ORDINAL,
    RANKERS,
    Columns,
    ExportError,
    convert,
    convert_transformer,
    input_kinds,
    registered,
)
from .decoding import Ordinal, decode, least_cost, link_probabilities, margins_of, threshold_model
from .graph import Value


def taken_apart(model: Any) -> tuple[list[Any], Any]:
    """The transformers of a fitted pipeline or search, and the model at its end."""
    final = final_estimator(model)
    before = next(layer.before for layer in layers(model) if layer.model is final)
    return list(before), final


def first_reader(model: Any) -> Any:
    """The transformer or model that reads the inputs themselves."""
    steps, final = taken_apart(model)
    if steps:
        return steps[0]
    if isinstance(final, ThresholdedRanker):
        return first_reader(final.ranker_)
    return first_reader(final.estimator_) if isinstance(final, AroundModel) else final


@registered(KINDS, ThresholdedRanker, OrdinalCalibrator, ConformalOrdinal)
def wrapped_kinds(model: Any, width: int) -> list[str]:
    """What the model inside reads."""
    return input_kinds(first_reader(model), width)


def prepared(model: Any, columns: Columns) -> tuple[Any, Columns]:
    """The model at the end, and its inputs."""
    steps, final = taken_apart(model)
    for step in steps:
        columns = convert_transformer(step, columns)
    return final, columns


@registered(ORDINAL, ThresholdedRanker)
def thresholded_ranker(model: ThresholdedRanker, columns: Columns) -> Ordinal:
    """A ranker's score with thresholds."""
    latent = convert(RANKERS, *prepared(model.ranker_, columns))
    return threshold_model(latent, model.thresholds_, model.calibration())


@registered(ORDINAL, ConformalOrdinal)
def conformal(model: ConformalOrdinal, columns: Columns) -> Ordinal:
    """What the model inside predicts; intervals stay in Python."""
    return convert(ORDINAL, *prepared(model.estimator_, columns))


@registered(ORDINAL, OrdinalCalibrator)
def calibrator(model: OrdinalCalibrator, columns: Columns) -> Ordinal:
    """Probabilities from the score of the model inside."""
    if model.method != "cumulative_link":
        raise ExportError(
            f"OrdinalCalibrator with method={model.method!r} cannot be exported to ONNX; "
            "method='cumulative_link' can."
        )
    final, columns = prepared(model.estimator_, columns)
    if type(final) in RANKERS:
        found, score = None, convert(RANKERS, final, columns)
    else:
        found = convert(ORDINAL, final, columns)
        score = _one_score(found, len(model.classes_))
    probabilities = link_probabilities("logit", score * float(model.slope_), model.cutpoints_)
    latent = None if found is None else found.latent
    if found is not None and model.decision == "inner":
        return Ordinal(found.codes, found.margins, latent, probabilities)
    margins = _calibrated_margins(model, latent, probabilities)
    if isinstance(model.cost, str) and model.cost == "absolute":
        codes = decode(margins)
    else:
        codes = least_cost(probabilities, model)
    return Ordinal(codes, margins, latent, probabilities)


def _one_score(found: Ordinal, n_classes: int) -> Value:
    """The latent score, or the mean of the margins, infinite ones as their neighbours'."""
    if found.latent is not None:
        return found.latent
    columns = [found.margins.column(k) for k in range(n_classes - 1)]
    known = [column.apply("Abs") < np.inf for column in columns]
    signs = [column.apply("Sign") for column in columns]
    upwards = [(k, k - 1) for k in range(1, n_classes - 1)]
    for k, other in [*upwards, *[(j, k) for k, j in reversed(upwards)]]:
        columns[k] = known[k].where(columns[k], columns[other])
        known[k] = known[k] | known[other]
    filled = [k.where(c, s) for k, c, s in zip(known, columns, signs, strict=True)]
    return found.margins.graph.concat(filled).sum() / float(n_classes - 1)


def _calibrated_margins(
    model: OrdinalCalibrator, latent: Value | None, probabilities: Value
) -> Value:
    if latent is not None:
        return margins_of(latent, model.thresholds_)
    K = len(model.classes_)
    # Summed from the highest label down, as the model does.
    above = [probabilities.column(K - 1)]
    for k in range(K - 2, 0, -1):
        above.append(above[-1] + probabilities.column(k))
    return probabilities.graph.concat(above[::-1]) - 0.5
