"""What the inputs of a fitted estimator are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def input_names(estimator: Any) -> list[str]:
    """Column names seen at ``fit``, else x0, x1, ….

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> input_names(SimpleNamespace(n_features_in_=2))
    ['x0', 'x1']
    >>> input_names(SimpleNamespace(n_features_in_=1, feature_names_in_=["age"]))
    ['age']
    """
    names = getattr(estimator, "feature_names_in_", None)
    return names_or_numbers(names, int(estimator.n_features_in_))


def names_or_numbers(names: Sequence[Any] | None, n: int) -> list[str]:
    """Names as texts, or x0, x1, … where there are none or not n of them."""
    if names is None or len(names) != n:
        return [f"x{j}" for j in range(n)]
    return [str(name) for name in names]
