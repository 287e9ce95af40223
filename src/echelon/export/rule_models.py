"""Rules, with missing values and categories."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..ordinal.thresholds import level_of_threshold
from ..rules import RankRules
from ..rules.columns import InputColumns
from ..rules.ensemble import Levels, RuleEnsemble
from .columns import NUMBER, TEXT, Columns, number_positions, text_positions
from .converters import KINDS, ORDINAL, ExportError, registered
from .decoding import (
    Ordinal,
    decode,
    fall_probabilities,
    margins_of,
    monotone_exceedance,
    sigmoid,
    threshold_model,
)
from .graph import Value
from .tree_ensembles import rule_coverage

_MISSING = -1


@registered(ORDINAL, RankRules)
def rules(model: RankRules, columns: Columns) -> Ordinal:
    """Sums of responses, with thresholds; or one sum for every threshold."""
    parts = model.rule_model()
    X, K = _positions(parts.columns, columns), len(model.classes_)
    scores = [_score(part, X, len(columns)) for part in parts.ensembles]
    calibration = model.calibration()
    if calibration is not None:
        return threshold_model(scores[0], model.thresholds_, calibration)
    if parts.levels.joint:
        margins = margins_of(scores[0], model.thresholds_)
    else:
        pairs = zip(scores, parts.ensembles, strict=True)
        found = [margins_of(score, part.thresholds) for score, part in pairs]
        margins = _whole_scale(parts.levels, columns.graph.concat(found))
    probabilities = fall_probabilities(sigmoid(2.0 * margins), K)
    latent = scores[0] if parts.levels.joint else None
    return Ordinal(decode(margins), margins, latent, probabilities)


@registered(KINDS, RankRules)
def rule_inputs(model: RankRules, width: int) -> list[str]:
    """Columns of categories that are texts."""
    known = model.rule_model().columns.categories[:width]
    return [TEXT if categories and _is_text(categories) else NUMBER for categories in known]


def _score(ensemble: RuleEnsemble, X: Value, width: int) -> Value:
    if not ensemble.bodies:
        return X.column(0).is_missing().cast("float64").flat() * 0.0
    covered = rule_coverage(X.graph, X, width, ensemble.bodies)
    return (covered @ ensemble.responses[:, None]).flat()


def _positions(known: InputColumns, columns: Columns) -> Value:
    """Inputs as numbers, categories as their positions."""
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
    return number_positions(column, np.array([float(c) for c in categories]), unseen, _MISSING)


def _is_text(categories: tuple[Any, ...]) -> bool:
    return all(isinstance(category, str) for category in categories)


def _whole_scale(levels: Levels, found: Value) -> Value:
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
