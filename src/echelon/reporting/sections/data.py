"""What the table is like, and what in it should be looked at before a model is trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...inspection.table import shown_value
from ..content import (
    Cell,
    Column,
    Findings,
    Section,
    Table,
    Text,
    count,
    figure_cell,
    percent,
    percent_cell,
    shown,
    table,
)
from ..facts import Facts

_MOST_COLUMNS, _MOST_FINDINGS = 60, 20


def data(facts: Facts) -> Section | None:
    """Classes, columns and warnings."""
    profile = facts.profile
    if profile is None:
        return None
    n = len(profile.warnings)
    size = f"{count(profile.rows, 'row')} with {count(len(profile.columns), 'column')}"
    serious = sum(found.severity == "high" for found in profile.warnings)
    lead = f"{size} and {count(len(profile.class_counts), 'class', 'classes')}; " + (
        "none of the checks of the data found anything to report."
        if not n
        else f"{count(n, 'finding')} to look at"
        + (f", {serious} of them serious." if serious else ".")
    )
    parts: list[Any] = []
    if n:
        items = [(found.severity, found.text) for found in profile.warnings[:_MOST_FINDINGS]]
        if n > _MOST_FINDINGS:
            items.append(("low", f"And {count(n - _MOST_FINDINGS, 'more finding')}."))
        parts.append(Findings(items))
    called = str if facts.rows is None else facts.rows.called
    parts += [_classes(facts, profile), _columns(profile, called)]
    if facts.rows is not None and facts.rows.design.weights is not None:
        parts.append(Text("But for the weighted shares, figures of this section count rows."))
    if len(profile.columns) > _MOST_COLUMNS:
        parts.append(Text(f"{len(profile.columns) - _MOST_COLUMNS} more columns are not shown."))
    return Section("data", "Data", lead, parts)


def _classes(facts: Facts, profile: Any) -> Table:
    top = max(profile.class_counts.values()) or 1
    rows = [
        [str(label), Cell(f"{n:,}", key=n, share=n / top), percent_cell(n / profile.rows, 1)]
        for label, n in profile.class_counts.items()
    ]
    columns = ["Class, lowest first", "Rows", "Share"]
    weights = None if facts.rows is None else facts.rows.design.weights
    if facts.rows is not None and weights is not None:
        columns.append("Weighted share")
        shares = np.bincount(facts.rows.codes, weights, minlength=len(rows)) / weights.sum()
        rows = [[*row, percent_cell(share, 1)] for row, share in zip(rows, shares, strict=True)]
    return table("Rows by class", columns, rows, style="compact")


def _columns(profile: Any, called: Callable[[str], str]) -> Table:
    rows = [
        [
            called(column.name),
            column.kind,
            Cell(_missing(column.missing, profile.rows), key=column.missing),
            column.distinct,
            Cell(_values(column), kind="settings"),
            figure_cell(column.concordance, 2),
        ]
        for column in profile.columns[:_MOST_COLUMNS]
    ]
    columns = [
        "Column",
        Column("Kind", number=False),
        "Missing",
        "Distinct",
        Column("Values", number=False),
        Column("Orders labels", about="share of pairs in the right order by this column alone"),
    ]
    note = (
        "“Orders labels” is the share of pairs of rows with different labels that the column alone "
        "puts in the right order: 0.5 is chance, close to 1 may be a leak."
    )
    return table("Columns", columns, rows, sortable=True, note=note)


def _missing(missing: int, rows: int) -> str:
    return "0" if not missing else f"{missing:,} ({percent(missing / rows)})"


def _values(column: Any) -> str:
    if column.levels:
        most = ", ".join(f"{shown_value(level)} ({n:,})" for level, n in column.levels[:4])
        rest = column.distinct - min(len(column.levels), 4)
        return most + (f" and {rest:,} more" if rest > 0 else "")
    if column.minimum is None:
        return "–"
    ends = [shown(value) for value in (column.minimum, column.median, column.maximum)]
    return f"{ends[0]} to {ends[2]}, median {ends[1]}"
