"""Settings of a model chosen by cross-validation inside the rows that it may learn from."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed

from ..base.nested import fit_arguments
from ..base.reading import FittedModel
from ..base.row_design import RowDesign, Split
from ..metrics import cost_scorer
from ..ordinal.arrays import require_count
from ..ordinal.costs import cost_matrix
from ..ordinal.labels import OrdinalScale, read_scale
from .coarse_to_fine import CoarseToFineSearchCV
from .shared_kernel import machine_of
from .splitters import stratified_folds

#: Folds of the search inside a training part.
SEARCH_FOLDS = 3
#: Rows that settings are searched on at the least, where there are so many.
SEARCH_ROWS = 2000

Settings = dict[str, Any]


def best_settings(
    estimator: Any,
    settings: Mapping[str, Sequence[Any]],
    X: Any,
    y: Any,
    classes: Sequence[Any],
    cost: Any,
    random_state: int,
    folds: int = SEARCH_FOLDS,
    n_jobs: int | None = None,
    design: RowDesign | None = None,
) -> Settings:
    """Parameters of least mean cost over folds of the rows; {} where there is nothing to search.

    Among equals the first in the order of ``sklearn.model_selection.ParameterGrid`` wins. Rows are
    prepared once for all settings of the model. Of many rows a part is searched, so that all fits
    together see about as many rows as one fit to all of them, `SEARCH_ROWS` at the least.
    """
    if not settings:
        return {}
    require_count("folds", folds, 2)
    design = RowDesign() if design is None else design
    scale, codes = read_scale(y, list(classes))
    size = max(SEARCH_ROWS, len(codes) // (len(ParameterGrid(dict(settings))) * (folds - 1)))
    if size < len(codes):
        counted = design.counted(len(codes))
        part = design.take(counted).part(codes[counted], size, np.random.RandomState(random_state))
        rows = counted[part]
        X, y, codes = _safe_indexing(X, rows), _safe_indexing(y, rows), codes[rows]
        design = design.take(rows)
    splits = inner_splits(codes, design, folds, random_state)
    grid = {name: list(values) for name, values in settings.items()}
    cost = "absolute" if cost is None else cost
    # Settings that do not converge are no news where others are chosen.
    with warnings.catch_warnings(action="ignore"):
        if design.weights is None and machine_of(estimator) is not None:
            search = CoarseToFineSearchCV(
                estimator,
                grid,
                fine_points=1,
                scoring=cost_scorer(cost, classes=list(classes)),
                cv=splits,
                refit=False,
                n_jobs=n_jobs,
                error_score="raise",
            )
            return dict(search.fit(X, y).best_params_)
        costs = cost_matrix(cost, scale.n_classes)
        preparations, points = _two_grids(estimator, grid)
        found = Parallel(n_jobs=n_jobs)(
            delayed(_fold_costs)(estimator, first, points, X, y, codes, scale, costs, design, split)
            for first in preparations
            for split in splits
        )
    means = np.reshape(found, (len(preparations), len(splits), len(points))).mean(axis=1)
    together = {
        tuple(sorted({**first, **point}.items())): means[i, j]
        for i, first in enumerate(preparations)
        for j, point in enumerate(points)
    }
    return min(ParameterGrid(grid), key=lambda point: together[tuple(sorted(point.items()))])


def inner_splits(codes: Any, design: RowDesign, folds: int, random_state: int) -> list[Split]:
    """Folds of rows that are learnt from, which groups and times shape as far as they can."""
    rows = design.counted(len(codes))
    counted, known = design.take(rows), codes[rows]
    if counted.is_plain:
        found = stratified_folds(known, folds, random_state)
    else:
        found = counted.folds_as_far(known, folds, np.random.RandomState(random_state))
    return [(rows[inside], rows[outside]) for inside, outside in found]


def _two_grids(
    estimator: Any, grid: Mapping[str, list[Any]]
) -> tuple[list[Settings], list[Settings]]:
    """Points of the parameters of the preparation, and points of those of the model after it."""
    last = f"{estimator.steps[-1][0]}__" if isinstance(estimator, Pipeline) else ""
    of_model = {name: values for name, values in grid.items() if name.startswith(last)}
    of_preparation = {name: values for name, values in grid.items() if name not in of_model}
    return list(ParameterGrid(of_preparation)), list(ParameterGrid(of_model))


def _fold_costs(
    estimator: Any,
    preparation: Settings,
    points: Sequence[Settings],
    X: Any,
    y: Any,
    codes: Any,
    scale: OrdinalScale,
    costs: Any,
    design: RowDesign,
    split: Split,
) -> list[float]:
    """Mean cost on the rows held out, for every point of the model's parameters."""
    inside, outside = split
    X_inside, X_outside = _safe_indexing(X, inside), _safe_indexing(X, outside)
    y_inside, of_inside = _safe_indexing(y, inside), design.take(inside)
    whole = clone(estimator).set_params(**preparation)
    if isinstance(whole, Pipeline) and len(whole.steps) > 1:
        X_inside = whole[:-1].fit_transform(X_inside, y_inside)
        X_outside = whole[:-1].transform(X_outside)
        last, prefix = whole.steps[-1][1], f"{whole.steps[-1][0]}__"
    else:
        last, prefix = whole, ""
    weights = None if design.weights is None else design.weights[outside]

    def mean_cost(point: Settings) -> float:
        model = clone(last).set_params(**{k.removeprefix(prefix): v for k, v in point.items()})
        model.fit(X_inside, y_inside, **fit_arguments(model, of_inside))
        predicted = FittedModel(model, scale).codes(X_outside)
        return float(np.average(costs[codes[outside], predicted], weights=weights))

    return [mean_cost(point) for point in points]
