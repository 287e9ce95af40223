"""A candidate with its preparation, and the search of its settings by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from .._utils.types import CostLike, LabelsLike, MatrixLike
from ..base.nested import fresh
from ..metrics import cost_scorer
from ..ordinal.labels import read_scale
from .coarse_to_fine import CoarseToFineSearchCV
from .preparation import prepare
from .splitters import stratified_folds

if TYPE_CHECKING:
    from .roster import Candidate

#: Folds of the search inside a training part.
SEARCH_FOLDS = 3


def candidate_pipeline(
    candidate: Candidate, schema: Any, *, classes: Sequence[Any], cost: CostLike | None = None
) -> Pipeline:
    """Preparation and model in one estimator, with the candidate's own parameters.

    Parameters
    ----------
    candidate : Candidate
    schema : Schema or None
        Columns of the table; None for arrays of numbers, which may have missing values.
    classes : sequence
        The labels from lowest to highest.
    cost : str or array-like of shape (K, K), optional
        What a wrong label costs, for models that take a cost.

    Returns
    -------
    pipeline : Pipeline
        Unfitted, with the steps "prepare" and "model".

    Examples
    --------
    >>> from echelon.model_selection import candidate_pipeline, find_candidate
    >>> model = candidate_pipeline(find_candidate("PRank"), None, classes=[1, 2, 3])
    >>> list(model.named_steps), model["model"].classes
    (['prepare', 'model'], [1, 2, 3])
    """
    if not hasattr(candidate, "estimator") or not hasattr(candidate, "settings"):
        raise TypeError(
            "A candidate must be one of echelon.model_selection.candidates() or a Candidate of "
            f"your own; found {type(candidate).__name__}."
        )
    model = fresh(candidate.estimator, classes=list(classes), cost=cost)
    if schema is None:
        preparation = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    else:
        preparation = prepare(schema)
    return Pipeline([("prepare", preparation), ("model", model)])


def tune(
    candidate: Candidate,
    X: MatrixLike,
    y: LabelsLike,
    *,
    schema: Any = None,
    classes: Sequence[Any],
    cost: CostLike | None = None,
    folds: int = SEARCH_FOLDS,
    n_jobs: int | None = None,
    random_state: int = 0,
) -> Pipeline:
    """Choose a candidate's settings by cross-validation on the given rows.

    Parameters
    ----------
    candidate : Candidate
    X : data frame or array-like of shape (n, d)
    y : array-like of shape (n,)
    schema, classes, cost
        As for `candidate_pipeline`. The settings of least mean cost are chosen; without `cost`
        that is the mean absolute difference of ranks.
    folds : int
        Stratified folds.
    n_jobs : int, optional
        Processes, as in joblib.
    random_state : int
        Seed of the folds.

    Returns
    -------
    pipeline : Pipeline
        Unfitted, with the best settings.

    Examples
    --------
    >>> from echelon.datasets import load_esl
    >>> from echelon.model_selection import find_candidate, tune
    >>> X, y = load_esl(return_X_y=True)
    >>> model = tune(find_candidate("LinearSVOR"), X, y, classes=range(1, 10))
    >>> model["model"].C in find_candidate("LinearSVOR").settings["C"]
    True
    """
    pipeline = candidate_pipeline(candidate, schema, classes=classes, cost=cost)
    grid = for_pipeline(candidate.settings)
    settings = best_settings(pipeline, grid, X, y, classes, cost, random_state, folds, n_jobs)
    return pipeline.set_params(**settings)


def for_pipeline(settings: Mapping[str, Sequence[Any]]) -> dict[str, Sequence[Any]]:
    """A candidate's settings, as parameters of its pipeline."""
    return {f"model__{name}": values for name, values in settings.items()}


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
) -> dict[str, Any]:
    """Parameters of least mean cost over stratified folds; {} where there is nothing to search."""
    if not settings:
        return {}
    search = CoarseToFineSearchCV(
        estimator,
        {name: list(values) for name, values in settings.items()},
        fine_points=1,
        scoring=cost_scorer("absolute" if cost is None else cost, classes=list(classes)),
        cv=stratified_folds(read_scale(y, list(classes))[1], folds, random_state),
        refit=False,
        n_jobs=n_jobs,
        error_score="raise",
    )
    return dict(search.fit(X, y).best_params_)
