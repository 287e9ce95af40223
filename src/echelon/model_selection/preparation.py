"""Tables of mixed columns made ready for models, inside the cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

if TYPE_CHECKING:
    from echelon.tables import Schema

# Levels of a category in fewer rows share one column, and no category gets more columns.
_FEWEST_ROWS = 3
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


def prepare(schema: Schema) -> ColumnTransformer:
    """Transformer for tables of a schema, over named columns and without functions inside.

    Numbers and dates are imputed by the median and scaled; truth values are imputed by the more
    frequent one and stay 0 and 1; categories are one-hot encoded. A missing category is a level of
    its own, rare levels share a column, and a level that was not seen is counted among them.

    Parameters
    ----------
    schema : Schema
        What the tables hold; they come as `Schema.apply` makes them.

    Examples
    --------
    >>> import pandas as pd
    >>> from echelon.tables import Schema
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0], "sold": [True, False, True]})
    >>> schema = Schema.of(frame)
    >>> prepare(schema).fit(schema.apply(frame)).get_feature_names_out().tolist()
    ['size', 'sold']
    """
    scaled = make_pipeline(
        SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler()
    )
    truths = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    levels = OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_FEWEST_ROWS,
        max_categories=_MOST_LEVELS,
        sparse_output=False,
    )
    parts = [
        ("numbers", scaled, schema.of_kind("number", "date")),
        ("truths", truths, schema.of_kind("boolean")),
        ("categories", levels, schema.of_kind("category")),
    ]
    return ColumnTransformer(
        [part for part in parts if part[2]], verbose_feature_names_out=_names_may_collide(schema)
    )


def _names_may_collide(schema: Schema) -> bool:
    """Whether a level's column, such as ``colour_red``, may have the name of another column."""
    starts = tuple(f"{name}_" for name in schema.of_kind("category"))
    return bool(starts) and any(name.startswith(starts) for name in schema.names)
