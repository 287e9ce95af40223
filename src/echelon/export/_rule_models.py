"""Rules, with missing values and categories."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ..ordinal.thresholds import level_of_threshold
from ..rules.rank_rules import RankRules
from ._columns import NUMBER, TEXT, Columns, number_positions, text_positions
from ._decoding import (
    Ordinal,
    decode,
    fall_probabilities,
    margins_of,
    monotone_exceedance,
    sigmoid,
)
from ._forests import rule_coverage
from ._graph import Value
from ._registry import KINDS, ORDINAL, ExportError, registered

_MISSING = -1


@registered(ORDINAL, RankRules)
def rules(model: Any, columns: Columns) -> Ordinal:
    """Sums of responses, with thresholds; or one sum for every threshold."""
    X, K = _positions(model, columns), len(model.classes_)
    scores = [_score(part, X, len(columns)) for part in model._ensembles]
    if model._levels.joint:
        latent = scores[0]
        margins = margins_of(latent, model.thresholds_)
    else:
        latent = None
        parts = zip(scores, model._ensembles, strict=True)
        found = [margins_of(score, part.thresholds) for score, part in parts]
        margins = _whole_scale(model._levels, columns.graph.concat(found))
    if model._calibration is None:
        above = sigmoid(2.0 * margins)
    else:
        slope, thresholds = model._calibration
        above = sigmoid(margins_of(scores[0] * float(slope), thresholds))
    return Ordinal(decode(margins), margins, latent, fall_probabilities(above, K))


@registered(KINDS, RankRules)
def rule_inputs(model: Any, width: int) -> list[str]:
    """Columns of categories that are texts."""
    known = model._columns.categories
    return [TEXT if known[j] and _is_text(known[j]) else NUMBER for j in range(width)]


def _score(ensemble: Any, X: Value, width: int) -> Value:
    if not ensemble.bodies:
        return X.column(0).is_missing().cast("float64").flat() * 0.0
    covered = rule_coverage(X.graph, X, width, ensemble.bodies)
    return (covered @ ensemble.responses[:, None]).flat()


def _positions(model: Any, columns: Columns) -> Value:
    """Inputs as numbers, categories as their positions."""
    known = model._columns
    if all(categories is None for categories in known.categories):
        return columns.matrix()
    read = []
    for j, categories in enumerate(known.categories):
        column = columns.column(j)
        if categories is None:
            read.append(column)
            continue
        unseen = _MISSING if known.ordered[j] else len(categories)
        place = _places(column, categories, unseen, known.shown_name(j))
        read.append((place < np.int64(0)).where(np.nan, place.cast("float64")))
    return columns.graph.concat(read)


def _places(column: Value, categories: tuple[Any, ...], unseen: int, name: str) -> Value:
    if _is_text(categories):
        return text_positions(column, categories, unseen, _MISSING)
    if not all(isinstance(c, int | float | np.number | np.bool_) for c in categories):
        raise ExportError(
            f"Column {name} holds categories that are neither texts nor numbers, which ONNX does "
            "not have; turn them into texts before fit."
        )
    numbers: npt.NDArray[np.float64] = np.array([float(c) for c in categories])
    return number_positions(column, numbers, unseen, _MISSING)


def _is_text(categories: tuple[Any, ...]) -> bool:
    return all(isinstance(category, str) for category in categories)


def _whole_scale(levels: Any, found: Value) -> Value:
    """Margins of separate thresholds made to fall, for all levels of the scale."""
    K, n_found = levels.n_classes, len(levels.observed) - 1
    above = monotone_exceedance(sigmoid(2.0 * found), n_found)
    margins = 0.5 * (above / (1.0 - above)).apply("Log")
    if len(levels.observed) == K:
        return margins
    ends = margins.column(0) * 0.0
    ends = ends.is_missing().where(0.0, ends)
    framed = margins.graph.concat([ends + np.inf, margins, ends - np.inf])
    return framed.take(level_of_threshold(levels.observed, K))
