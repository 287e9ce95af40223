"""The arrays of a fitted model, where it is one that `echelon.trained.array_model` can predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline

from ..linear.linear_svor import LinearSVOR
from ..linear.proportional_odds import ProportionalOdds
from ..meta.calibration import OrdinalCalibrator
from ..model_selection.preparation import prepare
from ..ordinal.costs import cost_matrix
from ..ordinal.intervals import conformal_p_values, miscoverage
from ..rules.rank_rules import RankRules
from .array_model import Arrays

if TYPE_CHECKING:
    from ..tables import Schema
    from .model import TrainedModel

_ROUNDING = 1e-12
# A level that no table has, to see what the encoder makes of one.
_UNSEEN = "\x00unseen"


class _NoArrays(Exception):  # noqa: N818 - it is no error
    """The model is not made of a score, or has parts that are not known here."""


def array_form(trained: TrainedModel) -> Arrays | None:
    """Arrays for `ArrayModel`, or None for models that it cannot predict."""
    try:
        arrays = {"model": _part(trained.estimator, trained.schema, len(trained.classes))}
        judge = trained.intervals
        if judge is None:
            return arrays
        if judge.per_class or len(judge.calibration_scores_) != 1:
            return None
        arrays["judge"] = _part(judge.estimator_, trained.schema, len(trained.classes))
    except _NoArrays:
        return None
    arrays["reach"] = _reach(judge.calibration_scores_[0], miscoverage(judge.confidence))
    return arrays


def _reach(calibration: Any, missed: float) -> float:
    """The greatest strangeness whose p-value is above the share of rows that may be missed.

    Bisection over the p-values themselves: they fall with strangeness, and only near one of the
    calibration rows' own.
    """

    def inside(strangeness: Any) -> Any:
        return conformal_p_values(np.atleast_2d(strangeness), calibration)[0] > missed + _ROUNDING

    # The last one is stranger than all, beyond what counts as rounding.
    tried = np.array([0.0, *calibration, 2.0 * calibration[-1] + 1.0])
    kept = inside(tried)
    if kept.all():
        return np.inf
    low, high = float(tried[kept][-1]), float(tried[~kept][0])
    while low < (middle := low + (high - low) / 2.0) < high:
        low, high = (middle, high) if inside(middle)[0] else (low, middle)
    return low


def _part(estimator: Any, schema: Schema, n_classes: int) -> Arrays:
    pipeline = estimator.estimator_ if isinstance(estimator, OrdinalCalibrator) else estimator
    if not isinstance(pipeline, Pipeline) or len(pipeline.steps) != 2:
        raise _NoArrays
    preparation, model = (step for _, step in pipeline.steps)
    arrays = {"preparation": _preparation(preparation, schema), "score": _score(model)}
    if isinstance(estimator, OrdinalCalibrator):
        return {**arrays, **_calibrated(estimator, model, n_classes)}
    return {**arrays, "chances": _chances(model), "decision": _decision(model, n_classes)}


def _chances(model: Any) -> Arrays:
    """Chances of the model itself."""
    if isinstance(model, ProportionalOdds):
        cuts = np.asarray(model.thresholds_, dtype=np.float64)
        return {"kind": "link", "link": model.link, "slope": 1.0, "cuts": cuts}
    if isinstance(model, RankRules):
        slope, cuts = model._calibration or (2.0, 2.0 * model.thresholds_)
        return {"kind": "sides", "slope": float(slope), "cuts": np.asarray(cuts)}
    raise _NoArrays


def _decision(model: Any, n_classes: int) -> Arrays:
    """Decision of the model itself, for one that `_score` knows."""
    if isinstance(model, ProportionalOdds):
        return {"kind": "cost", "cost": cost_matrix(model.cost, n_classes)}
    return {"kind": "cuts", "cuts": np.asarray(model.thresholds_)}


def _calibrated(calibrator: OrdinalCalibrator, model: Any, n_classes: int) -> Arrays:
    if calibrator.method != "cumulative_link":
        raise _NoArrays
    if calibrator.decision == "inner":
        decision = _decision(model, n_classes)
        if decision["kind"] == "cost":
            # The model decides by its own chances, which are not those that it answers with.
            decision["chances"] = _chances(model)
    elif isinstance(calibrator.cost, str) and calibrator.cost == "absolute":
        decision = {"kind": "cuts", "cuts": np.asarray(calibrator.thresholds_)}
    else:
        decision = {"kind": "cost", "cost": cost_matrix(calibrator.cost, n_classes)}
    return {
        "chances": {
            "kind": "link",
            "link": "logit",
            "slope": float(calibrator.slope_),
            "cuts": np.asarray(calibrator.cutpoints_),
        },
        "decision": decision,
    }


def _score(model: Any) -> Arrays:
    if isinstance(model, ProportionalOdds | LinearSVOR):
        return {"kind": "linear", "coef": np.asarray(model.coef_, dtype=np.float64)}
    if isinstance(model, RankRules) and model._levels.joint:
        table = dict(vars(model._ensembles[0].table))
        edges = {str(j): np.asarray(cuts) for j, cuts in enumerate(table.pop("edges"))}
        return {"kind": "rules", "table": table, "edges": edges}
    raise _NoArrays


def _preparation(prepared: Any, schema: Schema) -> Arrays:
    """What `echelon.model_selection.preparation.prepare` has learnt, column by column."""
    if not isinstance(prepared, ColumnTransformer) or _recipe(prepared) != _recipe(prepare(schema)):
        raise _NoArrays
    numbers: list[str] = []
    fills, centres, scales = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    categories: list[str] = []
    tables: Arrays = {}
    for name, step, columns in prepared.transformers_:
        if name == "numbers":
            impute, scale = (inner for _, inner in step.steps)
            numbers += columns
            fills.append(impute.statistics_)
            centres.append(scale.mean_)
            scales.append(scale.scale_)
        elif name == "truths":
            numbers += columns
            fills.append(np.asarray(step.statistics_, dtype=np.float64))
            centres.append(np.zeros(len(columns)))
            scales.append(np.ones(len(columns)))
        elif name == "categories":
            categories = list(columns)
            tables = _category_tables(step, categories, schema)
    return {
        "numbers": numbers,
        "fills": np.concatenate(fills),
        "centres": np.concatenate(centres),
        "scales": np.concatenate(scales),
        "categories": categories,
        "tables": tables,
    }


def _recipe(prepared: ColumnTransformer) -> list[Any]:
    """What a transformer was made of, which another one with the same names of parts may not be."""
    parts = [(name, repr(step), repr(columns)) for name, step, columns in prepared.transformers]
    return [prepared.transformer_weights, *parts]


def _category_tables(encoder: Any, names: list[str], schema: Schema) -> Arrays:
    """For every level of every category, and for unseen and missing ones, the encoder's columns."""
    known = {column.name: list(column.levels or ()) for column in schema.columns}
    most = max(len(known[name]) for name in names) + 2
    filled = {
        name: [*known[name], _UNSEEN, np.nan, *[np.nan] * (most - len(known[name]) - 2)]
        for name in names
    }
    encoded = np.asarray(encoder.transform(pd.DataFrame(filled, dtype=object)), dtype=np.float64)
    tables, start = {}, 0
    for j, name in enumerate(names):
        rare = encoder.infrequent_categories_[j]
        width = len(encoder.categories_[j]) - (0 if rare is None else len(rare) - 1)
        rows = encoded[: len(known[name]) + 2, start : start + width]
        tables[name] = {"levels": known[name], "rows": rows.copy()}
        start += width
    return tables
