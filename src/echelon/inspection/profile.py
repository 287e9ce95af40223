"""What a table of labelled rows is like, and the problems that a reader should know of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from .._utils.frames import aligned
from .._utils.types import Codes, LabelsLike, MatrixLike
from ..base.folds import deal_folds
from ..ordinal.labels import read_scale
from ..pairs.misranking import count_pairs
from .table import Feature, Table, read_features

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


_TINY_CLASS = 10
_LARGE_SHARE = 0.8
_LEAK = 0.99
_MOSTLY = 0.5
_FEW_ROWS = 20
_FOLDS = 5
_BINS = 64


@dataclass(frozen=True)
class Finding:
    """A problem that a reader should know of.

    Parameters
    ----------
    kind : str
        What it is, see `profile_table`.
    severity : {"high", "medium", "low"}
    text : str
        One sentence.
    columns : tuple of str
        The columns it is about, if any.
    """

    kind: str
    severity: str
    text: str
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Labelled:
    """Columns of a table, the codes of its labels, and the labels' names."""

    features: list[Feature]
    codes: Codes
    classes: npt.NDArray[Any]
    target: str | None = None


def find_all(table: Labelled, concordances: list[float]) -> list[Finding]:
    """All findings, the most serious first."""
    found = [
        *_class_sizes(table),
        *_leaks(table, concordances),
        *_target_names(table),
        *_repeats(table),
    ]
    for feature in table.features:
        found += _column_findings(feature, table.codes)
    return sorted(found, key=lambda finding: ("high", "medium", "low").index(finding.severity))


def column_concordance(feature: Feature, codes: Codes) -> float:
    """How well one column alone orders rows that were kept from it, 0.5 if not at all.

    The score of a row is the mean label of rows of other folds with the same level, or in the same
    one of a few bins; for a number, its own order counts too if it does better.
    """
    n = len(codes)
    if n < 2 or not (codes != codes[0]).any():
        return 0.5
    groups = _groups(feature)
    fold = deal_folds(codes, min(_FOLDS, n), np.random.RandomState(0))
    size = int(groups.max()) + 1
    # Sums over a group less those of the fold give the means without it.
    cells = fold * size + groups
    n_folds = int(fold.max()) + 1
    sums = np.bincount(cells, codes, n_folds * size).reshape(n_folds, size)
    counts = np.bincount(cells, minlength=n_folds * size).reshape(n_folds, size)
    rest_sums, rest_counts = sums.sum(axis=0) - sums, counts.sum(axis=0) - counts
    means = np.divide(
        rest_sums, rest_counts, out=np.full(sums.shape, codes.mean()), where=rest_counts > 0
    )
    best = count_pairs(means[fold, groups], codes).concordance
    if feature.kind in ("number", "date") and feature.present.all():
        plain = count_pairs(feature.numbers, codes).concordance
        best = max(best, plain, 1.0 - plain)
    return best


def _groups(feature: Feature) -> npt.NDArray[np.intp]:
    """Level or bin of each row; missing values are a group of their own."""
    present = feature.present
    values = feature.numbers[present]
    groups = np.zeros(len(present), dtype=np.intp)
    distinct, inverse = np.unique(values, return_inverse=True)
    if not feature.levels and len(distinct) > _BINS:
        edges = np.quantile(values, np.arange(1, _BINS) / _BINS, method="closest_observation")
        inverse = np.searchsorted(np.unique(edges), values)
    groups[present] = inverse + 1
    return groups


def _class_sizes(table: Labelled) -> Iterator[Finding]:
    counts = np.bincount(table.codes, minlength=len(table.classes))
    for label, count in zip(table.classes.tolist(), counts.tolist(), strict=True):
        if count == 0:
            yield Finding("empty_class", "low", f"No row has the label {label}.")
        elif count < _TINY_CLASS:
            severity = "high" if count < 3 else "medium"
            rows = "1 row has" if count == 1 else f"{count} rows have"
            text = f"Only {rows} the label {label}, too few to learn it or to measure its error."
            yield Finding("tiny_class", severity, text)
    share = counts.max() / max(counts.sum(), 1)
    if share >= _LARGE_SHARE:
        label = table.classes.tolist()[int(counts.argmax())]
        text = (
            f"{share:.0%} of the rows have the label {label}: always predicting it is right that "
            "often, so judge models by class."
        )
        yield Finding("imbalance", "medium", text)


def _leaks(table: Labelled, concordances: list[float]) -> Iterator[Finding]:
    if len(table.codes) < _FEW_ROWS:
        return
    for feature, concordance in zip(table.features, concordances, strict=True):
        if concordance >= _LEAK:
            text = (
                f"Column {feature.name} alone puts {_percent(concordance)} of the pairs of rows in "
                "the order of their labels; is it known before the label is?"
            )
            yield Finding("leakage", "high", text, (feature.name,))


def _percent(share: float) -> str:
    return "all" if share == 1.0 else f"{np.floor(1000 * share) / 10:.1f} %"


def _target_names(table: Labelled) -> Iterator[Finding]:
    target = (table.target or "").strip().lower()
    if len(target) < 3:
        return
    for feature in table.features:
        if target in feature.name.lower():
            text = (
                f"The name of column {feature.name} contains that of the target, {table.target}; "
                "is it known before the label is?"
            )
            yield Finding("target_name", "medium", text, (feature.name,))


def _repeats(table: Labelled) -> Iterator[Finding]:
    if not table.features:
        return
    group = _equal_rows(table.features)
    sizes = np.bincount(group)
    repeated = int((sizes - 1).sum())
    if not repeated:
        return
    n = len(group)
    # Few distinct rows are what a table of a few ratings has; they do not point to a mistake.
    usual = len(sizes) < 0.5 * n
    text = (
        f"{_rows(repeated)} of {n:,} {'repeats' if repeated == 1 else 'repeat'} the inputs of an "
        "earlier one; folds that part such rows make models look better than they are."
    )
    yield Finding("duplicates", "low" if usual else "medium", text)
    lowest = np.full(len(sizes), len(table.classes))
    highest = np.full(len(sizes), -1)
    np.minimum.at(lowest, group, table.codes)
    np.maximum.at(highest, group, table.codes)
    conflicting = int(sizes[lowest < highest].sum())
    if conflicting:
        text = (
            f"{_rows(conflicting)} of {n:,} have the same inputs as a row with another label, so "
            "no model can get them all right."
        )
        yield Finding("conflicts", "low" if usual else "medium", text)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _equal_rows(features: list[Feature]) -> npt.NDArray[np.intp]:
    """Number of the group of rows with equal inputs."""
    group = np.zeros(len(features[0].numbers), dtype=np.intp)
    for feature in features:
        values, level = np.unique(feature.numbers, return_inverse=True)
        _, group = np.unique(group * len(values) + level, return_inverse=True)
        if int(group.max()) == len(group) - 1:
            break
    return group


def _column_findings(feature: Feature, codes: Codes) -> Iterator[Finding]:
    name, present = feature.name, feature.present
    n, held = len(present), int(present.sum())
    values = feature.numbers[present]
    if held == 0 or (held == n and (values == values[0]).all()):
        what = "no values" if held == 0 else "one value"
        yield Finding("constant", "low", f"Column {name} has {what} only.", (name,))
        return
    if n - held > _MOSTLY * n:
        text = f"Column {name} is missing in {(n - held) / n:.0%} of the rows."
        yield Finding("mostly_missing", "medium", text, (name,))
    if _looks_like_identifier(feature, values):
        text = f"Column {name} looks like an identifier: every row has a value of its own."
        yield Finding("identifier", "medium", text, (name,))
    strength = _missing_strength(present, codes)
    if strength:
        text = (
            f"Whether column {name} is missing goes with the label (Cramér's V {strength:.2f}); "
            "is it missing for the same reason when the model is used?"
        )
        yield Finding("missing_predicts", "medium", text, (name,))


def _looks_like_identifier(feature: Feature, values: npt.NDArray[np.float64]) -> bool:
    if len(values) < _FEW_ROWS:
        return False
    if feature.kind == "category":
        return len(feature.levels) == len(values)
    if feature.kind != "number":
        return False
    # Whole numbers one after another, each once: the numbers of rows.
    return bool(np.ptp(values) == len(values) - 1 and (values % 1 == 0).all()) and len(
        np.unique(values)
    ) == len(values)


def _missing_strength(present: npt.NDArray[np.bool_], codes: Codes) -> float:
    """Cramér's V of missingness and label where it is plain to see, else 0."""
    missing = int((~present).sum())
    if min(missing, len(present) - missing) < 10:
        return 0.0
    table = np.array(
        [np.bincount(codes[side], minlength=codes.max() + 1) for side in (present, ~present)]
    )
    table = table[:, table.sum(axis=0) > 0]
    if table.shape[1] < 2:
        return 0.0
    result = stats.chi2_contingency(table, correction=False)
    strength = float(np.sqrt(result.statistic / len(present)))
    return strength if strength >= 0.2 and result.pvalue < 1e-3 else 0.0
