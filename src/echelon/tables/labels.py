"""Labels of a target column and their order, which is stated or numeric and never guessed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from echelon.ordinal.labels import read_scale

from .faults import Argument, TableError, counted, listed

MOST_CLASSES = 1_000


def parse_order(text: str) -> list[str]:
    """Labels from lowest to highest, from text such as ``"poor<fair<good"``.

    Examples
    --------
    >>> parse_order("poor < fair < good")
    ['poor', 'fair', 'good']
    """
    labels = [label.strip() for label in text.split("<")]
    repeated = sorted({label for label in labels if labels.count(label) > 1})
    if "" in labels or len(labels) < 2:
        other = next((sign for sign in ">,;|" if sign in text), None)
        hint = f", with '<' between them and not {other!r}" if len(labels) < 2 and other else ""
        raise TableError(
            f"The order must list at least two labels from lowest to highest{hint}, such as "
            f'"poor<fair<good"; found {text!r}.'
        )
    if repeated:
        raise TableError(f"The order names more than once: {listed_labels(repeated)}.")
    return labels


def ordered_labels(labels: Any, order: str | None, name: str) -> tuple[Any, list[Any]]:
    """Labels without missing ones as models take them, and the classes in order.

    Parameters
    ----------
    labels : Series
    order : str, optional
        Such as ``"poor<fair<good"``.
    name : str
        The target's name.
    """
    found = labels.unique().tolist()
    if len(found) < 2:
        raise TableError(
            f"The target {name!r} has one class only, {found[0]!r}; at least two are needed."
        )
    if len(found) > MOST_CLASSES:
        raise TableError(
            f"The target {name!r} has {len(found):,} classes; at most {MOST_CLASSES:,} are "
            "accepted: is it the right column, or should it be cut into fewer ordered classes?"
        )
    if order is not None:
        return _in_stated_order(labels, found, parse_order(order), name)
    if getattr(labels.dtype, "ordered", False):
        return labels.array, labels.dtype.categories.tolist()
    if labels.dtype.kind not in "biuf":
        shown = listed_labels(sorted(map(str, found)))
        raise TableError(
            f"The target {name!r} has text labels: {shown}; give their order from lowest to "
            "highest with ",
            Argument("order", "lowest<…<highest"),
            ".",
        )
    return _in_numeric_order(labels.to_numpy(), found, name)


def absent_levels(labels: Any, classes: Sequence[Any]) -> list[str]:
    """A sentence on the levels of a stated order that no row has, if there are any.

    Examples
    --------
    >>> absent_levels(["poor", "good"], ["poor", "good", "superb"])
    ["No row has the label 'superb' that the order names."]
    """
    present = {str(label) for label in set(np.asarray(labels, dtype=object).tolist())}
    numbers = {_number(label) for label in present} - {None}
    absent = [
        repr(str(label))
        for label in classes
        if str(label) not in present and _number(label) not in numbers
    ]
    if not absent:
        return []
    word = "label" if len(absent) == 1 else "labels"
    return [f"No row has the {word} {listed(absent)} that the order names."]


def _in_stated_order(
    labels: Any, found: list[Any], stated: list[str], name: str
) -> tuple[Any, list[Any]]:
    as_text = {str(label): label for label in found}
    by_number = {_number(label): label for label in found if _number(label) is not None}
    classes = [as_text.get(text, by_number.get(_number(text), text)) for text in stated]
    unknown = [label for label in found if label not in set(classes)]
    if unknown:
        absent = [label for label in classes if label not in set(found)]
        more = f"; and it names labels that no row has: {listed_labels(absent)}" if absent else ""
        raise TableError(
            f"The target {name!r} has labels that ",
            Argument("order"),
            f" does not name: {listed_labels(unknown)}{more}{spelling_hint(unknown, classes)}.",
        )
    if hasattr(labels.dtype, "categories"):
        labels = labels.astype(labels.dtype.categories.dtype)
    if len({isinstance(label, str) for label in classes}) == 1:
        return labels.to_numpy(), classes
    # Levels that no row has are only known as text; numbers they may still be.
    numbers = [_number(label) for label in classes]
    if all(number is not None for number in numbers):
        return labels.to_numpy(), numbers
    return labels.astype(str).to_numpy(dtype=object), [str(label) for label in classes]


def _in_numeric_order(values: np.ndarray, found: list[Any], name: str) -> tuple[Any, list[Any]]:
    try:
        scale, _ = read_scale(values)
    except ValueError:
        raise TableError(
            f"The target {name!r} looks continuous: {len(found)} distinct fractional values in "
            f"{len(values)} rows; cut it into ordered classes, or list them with ",
            Argument("order"),
            ".",
        ) from None
    return values, scale.classes.tolist()


def encode_target(values: Any, classes: Sequence[Any], name: str = "target") -> np.ndarray:
    """Codes 0 … K−1 of labels on a known scale; numbers may be written in any way.

    Parameters
    ----------
    values : sequence of labels, without missing ones
    classes : sequence
        The labels from lowest to highest.
    name : str
        The column's name for errors.

    Raises
    ------
    TableError
        If a label is missing, or not on the scale.

    Examples
    --------
    >>> encode_target(["fair", "good"], ["poor", "fair", "good"])
    array([1, 2])
    >>> encode_target(["2.0", "1"], [1, 2])
    array([1, 0])
    """
    import pandas as pd

    column = pd.Series(values).astype("category")
    missing = int(column.isna().sum())
    if missing:
        raise TableError(f"Column {name!r} has {counted(missing)} without a label.")
    places = {str(label): code for code, label in enumerate(classes)}
    numbers = {
        _number(label): code for code, label in enumerate(classes) if not isinstance(label, str)
    }
    numbers.pop(None, None)
    found = column.cat.categories
    codes = [places.get(str(label), numbers.get(_number(label), -1)) for label in found]
    unknown = [label for label, code in zip(found, codes, strict=True) if code < 0]
    if unknown:
        raise TableError(
            f"Column {name!r} has labels that the model does not know: "
            f"{listed_labels(unknown, 5)}; it knows {listed_labels(classes, 12)}"
            f"{spelling_hint(unknown, classes)}."
        )
    return np.array(codes, dtype=np.intp)[column.cat.codes.to_numpy()]


def listed_labels(labels: Sequence[Any], limit: int = 10) -> str:
    """Labels with commas between them, in quotation marks if spaces or breaks would mislead.

    Examples
    --------
    >>> listed_labels(["good", "fair "])
    "'good', 'fair '"
    """
    texts = [str(label) for label in labels]
    misleading = any(text != text.strip() or not text.isprintable() for text in texts)
    return listed((repr(text) if misleading else text for text in texts), limit)


def spelling_hint(unknown: Sequence[Any], classes: Sequence[Any]) -> str:
    """What to do about labels that are others but for spaces around them or their case."""
    known = {str(label).strip().casefold(): str(label) for label in classes}
    for label in map(str, unknown):
        other = known.get(label.strip().casefold())
        if other is not None and other != label:
            return f"; write {label!r} and {other!r} alike if they are the same"
    return ""


def _number(label: Any) -> float | int | None:
    if isinstance(label, bool | np.bool_):
        return None
    try:
        number = float(label)
    except (TypeError, ValueError):
        return None
    if number != number:
        return None
    return int(number) if number.is_integer() else number
