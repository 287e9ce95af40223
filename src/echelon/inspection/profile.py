"""What a table of labelled rows is like, and what problems it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.frames import aligned
from .._utils.types import LabelsLike, MatrixLike
from ..ordinal.labels import read_scale
from .findings import Finding, Labelled, column_concordance, find_all
from .table import Feature, Table, read_features

__all__ = ["ColumnProfile", "Finding", "Profile", "profile_table"]

_BARS = 20
_MOST_LEVELS = 10


@dataclass(frozen=True, eq=False)
class ColumnProfile:
    """One column in figures.

    Parameters
    ----------
    name : str
    kind : {"number", "boolean", "category", "date"}
    missing, distinct : int
        Rows without a value, and different values among the others.
    minimum, median, maximum : object
        Of a number or a date; None otherwise.
    mean, sd : float, or None
        Of a number.
    levels : list of (level, count)
        The most frequent ones of a category or boolean; empty otherwise.
    histogram : tuple of two ndarrays, or None
        Edges and counts of a number or a date (in days since 1970).
    concordance : float
        How well the column alone orders rows that were kept from it: the share of pairs of rows
        with different labels in the right order, 0.5 for a useless column.
    """

    name: str
    kind: str
    missing: int
    distinct: int
    minimum: Any = None
    median: Any = None
    maximum: Any = None
    mean: float | None = None
    sd: float | None = None
    levels: list[tuple[Any, int]] = field(default_factory=list)
    histogram: tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]] | None = None
    concordance: float = 0.5


@dataclass(frozen=True, eq=False)
class Profile:
    """A table in figures, from `profile_table`.

    Parameters
    ----------
    rows : int
    columns : list of ColumnProfile
    class_counts : dict from label to int
        Rows of each label, from lowest to highest.
    warnings : list of Finding
        Problems that a reader should know of, the most serious first.
    """

    rows: int
    columns: list[ColumnProfile]
    class_counts: dict[Any, int]
    warnings: list[Finding] = field(default_factory=list)

    def __str__(self) -> str:
        counts = ", ".join(f"{label}: {count}" for label, count in self.class_counts.items())
        lines = [f"{self.rows} rows, {len(self.columns)} inputs; rows by label {counts}"]
        table = [["", "kind", "missing", "distinct", "orders labels"]]
        for column in self.columns:
            figures = [str(column.missing), str(column.distinct), f"{column.concordance:.2f}"]
            table.append([column.name, column.kind, *figures])
        lines += aligned(table, words=(0, 1))
        return "\n".join([*lines, *(f"{found.severity}: {found.text}" for found in self.warnings)])


def profile_table(
    X: MatrixLike,
    y: LabelsLike,
    classes: Sequence[Any] | None = None,
    *,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
) -> Profile:
    """Describe labelled rows and look for what makes models of them untrustworthy.

    Parameters
    ----------
    X : data frame or array-like of shape (n, d)
    y : label column of shape (n,)
    classes : sequence, optional
        The labels from lowest to highest.
    target : str, optional
        Name of the label column, which the names of inputs are compared with.
    kinds : mapping from str to str, optional
        What columns of numbers are: "boolean" for 0 and 1, "date" for days since 1970.

    Returns
    -------
    profile : Profile
        Its ``warnings`` may be of the kinds ``tiny_class``, ``empty_class``, ``imbalance``,
        ``leakage``, ``target_name``, ``duplicates``, ``conflicts``, ``constant``,
        ``mostly_missing``, ``missing_predicts`` and ``identifier``.

    Examples
    --------
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> profile = profile_table(X.assign(copy=[10 * label for label in y]), y)
    >>> [found.columns for found in profile.warnings if found.kind == "leakage"]
    [('copy',)]
    """
    table = Table(X, kinds)
    scale, codes = read_scale(y, classes)
    table.require_labels(codes)
    if not table.n_rows:
        raise ValueError("X must have at least one row; found none.")
    features = read_features(table)
    labelled = Labelled(features, codes, scale.classes, target)
    concordances = [column_concordance(feature, codes) for feature in features]
    columns = [_column(table, j, feature, concordances[j]) for j, feature in enumerate(features)]
    counts = np.bincount(codes, minlength=scale.n_classes)
    return Profile(
        table.n_rows,
        columns,
        dict(zip(scale.classes.tolist(), counts.tolist(), strict=True)),
        find_all(labelled, concordances),
    )


def _column(table: Table, j: int, feature: Feature, concordance: float) -> ColumnProfile:
    values = feature.numbers[feature.present]
    figures: dict[str, Any] = {}
    if feature.levels:
        counts = np.bincount(values.astype(np.intp), minlength=len(feature.levels))
        order = np.argsort(-counts, kind="stable")[:_MOST_LEVELS]
        figures["levels"] = [(feature.levels[k], int(counts[k])) for k in order]
    elif len(values) and feature.kind in ("number", "date"):
        order = np.argsort(values, kind="stable")[[0, (len(values) - 1) // 2, -1]]
        shown = table.cells(j, np.flatnonzero(feature.present)[order])
        figures = dict(zip(("minimum", "median", "maximum"), shown, strict=True))
        finite = values[np.isfinite(values)]
        figures["histogram"] = np.histogram(finite, bins=_BARS)[::-1]
        if feature.kind == "number" and len(finite):
            figures["mean"] = float(finite.mean())
            figures["sd"] = float(finite.std(ddof=1)) if len(finite) > 1 else None
    missing, distinct = int((~feature.present).sum()), len(np.unique(values))
    return ColumnProfile(
        feature.name, feature.kind, missing, distinct, concordance=concordance, **figures
    )
