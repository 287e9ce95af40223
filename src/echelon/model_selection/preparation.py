"""Tables of mixed columns made ready for models, inside the cross-validation."""

from __future__ import annotations

from typing import Any

from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler


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
