"""Tables of mixed columns made ready for models, and the search of a candidate's settings.

Both happen inside the cross-validation.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.utils.validation import _num_samples

from .._utils.types import CostLike, KeysLike, LabelsLike, MatrixLike, VectorLike
from ..base.nested import fresh, knows_order
from ..base.row_design import RowDesign
from ..base.scores import CODINGS, TAILS, LevelCodes, TailScores, heavy_tails
from ..meta.calibration import OrdinalCalibrator
from ..tables.schema import FEWEST_ROWS
from .joined_columns import JoinedColumns
from .settings_search import SEARCH_FOLDS, best_settings
from .text_terms import TextTerms

if TYPE_CHECKING:
    from echelon.tables import Schema

    from .roster import Candidate


# No category gets more columns; levels beyond, and those in few rows, share one.
_MOST_LEVELS = 50


def mixed_columns() -> ColumnTransformer:
    """Transformer for a data frame: numbers imputed and scaled, the rest one-hot encoded.

    A missing number becomes the median; a missing name is a category of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "colour": ["red", "blue", None]})
    >>> mixed_columns().fit_transform(frame).shape
    (3, 4)
    """
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    names = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [
            ("numbers", numbers, make_column_selector(dtype_include="number")),
            ("names", names, _not_numbers),
        ]
    )


def _not_numbers(frame: Any) -> list[str]:
    numbers = set(make_column_selector(dtype_include="number")(frame))
    return [name for name in frame.columns if name not in numbers]


#: how texts come to models that depend on a sum of inputs, on distances, or on the order of each
_REDUCED = {"linear": None, "scaled": "svd", "any": "select"}
_MOST_TERMS = {None: 50_000, "svd": 10_000, "select": 50_000}
_TEXT_SIZE = {None: 1, "svd": 100, "select": 200}


def prepare(
    schema: Schema,
    inputs: str = "any",
    classes: Sequence[Any] | None = None,
) -> ColumnTransformer:
    """Transformer for tables of a schema, over its columns in order and without functions inside.

    Numbers and dates are imputed by the median and scaled, and so are the ranks of ordered levels;
    truth values are imputed by the more frequent one and stay 0 and 1; categories are one-hot
    encoded. A missing category is a level of its own, levels in fewer than five rows share a
    column, and a level that was not seen is counted among them. Texts are weights of their terms,
    see `TextTerms`: all of them in a sparse matrix for a model that is linear in its inputs, their
    main directions for one that measures distances, and the most telling ones as zeros and ones for
    any other.

    Two parameters are there to be searched: with ``numbers__tailscores__tails="normal scores"``
    numbers with heavy tails are replaced by normal scores of their ranks, and with
    ``ordered__levelcodes__coding="thermometer"`` an ordered column by one for each boundary between
    its levels.

    Parameters
    ----------
    schema : Schema
        What the tables hold; they come as `Schema.apply` makes them.
    inputs : {"any", "scaled", "linear"}
        What the model makes of its inputs, as `Candidate` has it.
    classes : sequence, optional
        The labels from lowest to highest, by which telling terms are chosen.

    Examples
    --------
    >>> import pandas as pd
    >>> from echelon.tables import Schema
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "sold": [True, False, True]})
    >>> schema = Schema.of(frame)
    >>> prepare(schema).fit(schema.apply(frame)).get_feature_names_out().tolist()
    ['size', 'sold']
    """
    middle = SimpleImputer(strategy="median", keep_empty_features=True)
    ordered = [column for column in schema.columns if column.kind == "ordered"]
    ranks = OrdinalEncoder(
        categories=[list(column.levels or ()) for column in ordered],
        handle_unknown="use_encoded_value",
        unknown_value=np.nan,
        encoded_missing_value=np.nan,
    )
    codes = LevelCodes([list(column.levels or ()) for column in ordered])
    truths = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=FEWEST_ROWS,
        max_categories=_MOST_LEVELS,
        sparse_output=False,
    )
    ranked = make_pipeline(ranks, middle, codes, StandardScaler())
    parts = [
        ("numbers", _scaled(middle), schema.of_kind("number", "date")),
        ("ordered", ranked, schema.of_kind("ordered")),
        ("truths", truths, schema.of_kind("boolean")),
        ("categories", levels, schema.of_kind("category")),
        ("texts", _text_terms(schema, inputs, classes), schema.of_kind("text")),
    ]
    # By position, because scikit-learn looks each of a list of names up among all of them.
    place = {name: j for j, name in enumerate(schema.names)}
    sparse = inputs == "linear" and bool(schema.of_kind("text"))
    return (JoinedColumns if sparse else ColumnTransformer)(
        [(part, step, [place[name] for name in names]) for part, step, names in parts if names],
        # Any sparse part makes the whole sparse.
        sparse_threshold=1.0,
        verbose_feature_names_out=_names_may_collide(schema),
    )


def _text_terms(schema: Schema, inputs: str, classes: Sequence[Any] | None) -> TextTerms:
    reduce = _REDUCED[inputs]
    left_out = {word for column in schema.columns for word in column.stop_words}
    return TextTerms(
        reduce,
        _TEXT_SIZE[reduce],
        max_terms=_MOST_TERMS[reduce],
        stop_words=sorted(left_out),
        classes=None if classes is None else list(classes),
    )


def _scaled(imputer: SimpleImputer) -> Pipeline:
    return make_pipeline(imputer, TailScores(), StandardScaler())


def _names_may_collide(schema: Schema) -> bool:
    """Whether a level's column, such as ``colour_red``, may have the name of another column."""
    starts = {f"{name}_" for name in schema.of_kind("category")}
    starts |= {f"{name} ≥ " for name in schema.of_kind("ordered")}
    starts |= {f"{name}: " for name in schema.of_kind("text")}
    lengths = {len(start) for start in starts}
    return any(name[:length] in starts for name in schema.names for length in lengths)


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
    if candidate.inputs == "table":
        return Pipeline([("model", model)])
    if schema is None:
        preparation = _scaled(SimpleImputer(strategy="median"))
    else:
        preparation = prepare(schema, candidate.inputs, classes)
    return Pipeline([("prepare", preparation), ("model", model)])


# Folds whose scores a model's probabilities are learnt from, where it has none of its own.
_SCORE_FOLDS = 3


def with_probabilities(
    pipeline: Any,
    *,
    classes: Sequence[Any],
    cost: CostLike | None = None,
    random_state: int = 0,
    decision: str = "inner",
) -> Any:
    """A model as it is, or inside an `OrdinalCalibrator` if it has no probabilities of its own.

    Those of a classifier that knows no order have columns in an order of their own.

    Parameters
    ----------
    pipeline : estimator
        Unfitted.
    classes, cost, random_state
        As for `candidate_pipeline`; the seed deals out the folds of scores.
    decision : {"inner", "cost"}
        Whether the labels stay the model's, or are those of least expected cost.

    Examples
    --------
    >>> from echelon import LinearSVOR, ProportionalOdds
    >>> [
    ...     type(with_probabilities(model, classes=[1, 2, 3])).__name__
    ...     for model in (LinearSVOR(), ProportionalOdds())
    ... ]
    ['OrdinalCalibrator', 'ProportionalOdds']
    """
    if hasattr(pipeline, "predict_proba") and knows_order(pipeline):
        return pipeline
    return OrdinalCalibrator(
        pipeline,
        cv=_SCORE_FOLDS,
        decision=decision,
        cost="absolute" if cost is None else cost,
        classes=list(classes),
        random_state=random_state,
    )


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
    sample_weight: VectorLike | None = None,
    groups: KeysLike | None = None,
    time: VectorLike | None = None,
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
    sample_weight, groups, time : array-like of shape (n,), optional
        What rows count, what they belong to and when they were taken: groups are held out whole,
        and rows that are held out are later than those learnt from.

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
    grid = searched_settings(candidate, schema, X)
    design = RowDesign.of(_num_samples(X), sample_weight, groups, time)
    known = classes, cost, random_state, folds, n_jobs, design
    settings = best_settings(pipeline, grid, X, y, *known)
    return pipeline.set_params(**settings)


def searched_settings(candidate: Candidate, schema: Any, X: Any) -> dict[str, Sequence[Any]]:
    """What is searched for a candidate, as parameters of its pipeline.

    Beside its own settings that is the coding of ordered levels, for a model that is linear in its
    inputs if some column has three levels or more, and what is done to heavy tails, for one to
    which the scale of inputs matters if some column has them.
    """
    found: dict[str, Sequence[Any]] = {
        f"model__{name}": values for name, values in candidate.grid(_num_samples(X)).items()
    }
    if candidate.inputs == "linear" and schema is not None and _has_levels(schema):
        found["prepare__ordered__levelcodes__coding"] = CODINGS
    if candidate.inputs in ("scaled", "linear") and _has_tails(schema, X):
        part = "" if schema is None else "numbers__"
        found[f"prepare__{part}tailscores__tails"] = TAILS
    return found


def _has_levels(schema: Schema) -> bool:
    return any(c.kind == "ordered" and len(c.levels or ()) > 2 for c in schema.columns)


def _has_tails(schema: Schema | None, X: Any) -> bool:
    """Whether a number or date has heavy tails; the labels are not asked."""
    if schema is not None:
        X = X[schema.of_kind("number", "date")]
    return not issparse(X) and bool(heavy_tails(X).any())
