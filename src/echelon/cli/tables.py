"""Tables that users bring: reading them, and the order of their labels."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from echelon.ordinal.labels import read_scale

from .failures import UsageError

_MISSING = ["", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL", "None", "?"]


@dataclass(frozen=True)
class LabelledTable:
    """Inputs as a data frame, labels, and the labels' order."""

    X: Any
    y: Any
    classes: list[Any]


def read_labelled_table(path: Path, target: str | None, order: str | None) -> LabelledTable:
    """Read a CSV or TSV file, plain or gzipped, and split off its target column.

    Parameters
    ----------
    path : Path
    target : str, optional
        Name of the label column; the last one by default.
    order : str, optional
        The labels from lowest to highest, as ``"poor<fair<good"``; needed where they are text.
    """
    frame, target = _read(path, target)
    labels = frame[target]
    if labels.isna().any():
        raise UsageError(
            f"Column {target!r} of {path} has {int(labels.isna().sum())} rows without a label; "
            "remove or fill them."
        )
    y, classes = _ordered_labels(labels, order)
    X = frame.drop(columns=target).dropna(axis=1, how="all")
    if X.shape[1] == 0:
        raise UsageError(f"{path} has no column besides the target {target!r} that holds a value.")
    return LabelledTable(X, y, classes)


def _read(path: Path, target: str | None) -> tuple[Any, str]:
    """Whole table and the name of its target."""
    if not path.is_file():
        raise UsageError(f"{path} is not a file.")
    names = list(_parse(path, nrows=0).columns)
    if len(names) < 2:
        raise UsageError(
            f"{path} has one column only, {names[0]!r}; is it separated by commas, or by tabs and "
            "named .tsv?"
        )
    target = names[-1] if target is None else target
    if target not in names:
        raise UsageError(f"{path} has no column {target!r}; it has {', '.join(names)}.")
    # "None" is a fair label, as in none < some < marked, so a label is missing where it is empty.
    missing = {name: [""] if name == target else _MISSING for name in names}
    frame = _parse(path, keep_default_na=False, na_values=missing)
    if frame.empty:
        raise UsageError(f"{path} has no rows.")
    return frame, target


def _parse(path: Path, **options: Any) -> Any:
    import pandas as pd

    separator = "\t" if ".tsv" in path.suffixes else ","
    try:
        return pd.read_csv(path, sep=separator, encoding="utf-8-sig", **options)
    except (ValueError, OSError, EOFError) as error:
        reason = str(error).strip().splitlines()[0]
        raise UsageError(f"{path} cannot be read as a table: {reason}") from None


def _ordered_labels(labels: Any, order: str | None) -> tuple[Any, list[Any]]:
    found = labels.unique().tolist()
    if len(found) < 2:
        raise UsageError(f"The target has one class only, {found[0]!r}; at least two are needed.")
    if order is not None:
        stated = [label.strip() for label in order.split("<")]
        as_text = {str(label): label for label in found}
        unknown = [label for label in as_text if label not in stated]
        if unknown:
            raise UsageError(
                f"The target has labels that --order does not name: {', '.join(unknown[:10])}."
            )
        classes = [as_text.get(label, label) for label in stated]
        if len({type(label) for label in classes}) > 1:
            return labels.astype(str).to_numpy(), stated
        return labels.to_numpy(), classes
    if labels.dtype.kind not in "biuf":
        shown = "<".join(sorted(map(str, found))[:10])
        raise UsageError(
            f"The target holds text, whose order is not known; give it from lowest to highest, "
            f'for instance --order "{shown}".'
        )
    try:
        scale, _ = read_scale(labels, name="The target")
    except ValueError as error:
        raise UsageError(str(error)) from None
    return labels.to_numpy(), scale.classes.tolist()
