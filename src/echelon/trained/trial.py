"""Whether a model is what its card says, found out by looking at it and by asking it.

The same is asked before a model is saved and after it was loaded, so that what is saved can be
loaded again.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.state import require_state
from ..base.wrappers import known_classes
from ..meta.conformal import ConformalOrdinal

if TYPE_CHECKING:
    import pandas as pd

    from ..tables import Schema
    from .model import TrainedModel

# Rows that are asked, at most: a row for every level of a category, so far.
_MOST_ROWS = 64
_ROUNDING = 1e-6


def check_model(model: TrainedModel, missing: bool = False) -> None:
    """Raise an error where the estimators of a model do not fit its card, or cannot answer.

    With `missing` it is asked about a row without any value as well.
    """
    require_state(hasattr(model.estimator, "predict"), "what it holds cannot predict")
    require_state(
        model.intervals is None or isinstance(model.intervals, ConformalOrdinal),
        "its prediction intervals are something else",
    )
    for estimator in (model.estimator, model.intervals):
        if estimator is not None:
            _check_labels(estimator, model.classes)
            _check_width(estimator, len(model.schema.columns))
    _ask(model, _rows(model.schema, missing))


def takes_missing(model: TrainedModel) -> bool:
    """Whether a model that `check_model` has passed answers where all values are missing."""
    try:
        _ask(model, _rows(model.schema, missing=True))
    except Exception:
        return False
    return True


def _ask(model: TrainedModel, rows: pd.DataFrame) -> None:
    # The warnings of a prediction that nobody asked for are of no use.
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        _check_answers(model, model.predict_frame(rows))


def _check_labels(estimator: Any, classes: list[Any]) -> None:
    known = known_classes(estimator) if classes else None
    if classes:
        require_state(known is not None, "its estimator knows no labels")
        found = [] if known is None else known.tolist()
        require_state(
            found == list(classes),
            f"its estimator's labels are {found}, and those of its card {list(classes)}",
        )


def _check_width(estimator: Any, width: int) -> None:
    found = getattr(estimator, "n_features_in_", None)
    require_state(
        found is None or found == width, f"its estimator has {found} inputs, and its card {width}"
    )


def _rows(schema: Schema, missing: bool) -> pd.DataFrame:
    """Rows with every level of the categories, and maybe one with nothing."""
    import pandas as pd

    most = max([1, *(len(column.levels or ()) for column in schema.columns)])
    n = 1 + min(most, _MOST_ROWS)
    columns: dict[str, Any] = {}
    for column in schema.columns:
        if column.is_text:
            levels = column.levels or (np.nan,)
            cells: Any = np.array([levels[i % len(levels)] for i in range(n)], dtype=object)
        else:
            cells = np.arange(n) % 2.0
        if missing:
            cells[0] = np.nan
        columns[column.name] = cells
    return pd.DataFrame(columns)


def _check_answers(model: TrainedModel, found: pd.DataFrame) -> None:
    from .model import HIGH, LOW, PREDICTED, PROBABILITY, RANKING

    if model.task == RANKING:
        return
    labels = set(model.classes)
    for name in (PREDICTED, LOW, HIGH):
        if name in found:
            require_state(set(found[name].tolist()) <= labels, f"its {name} labels are others")
    shares = [f"{PROBABILITY}{label}" for label in model.classes]
    if shares[0] in found:
        values = found[shares].to_numpy(np.float64)
        sums = np.abs(values.sum(axis=1) - 1.0) <= _ROUNDING
        require_state(values >= 0.0, "its probabilities are none")
        require_state(sums, "its probabilities do not sum to one")
