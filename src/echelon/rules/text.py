"""Rule ensembles as text, as data frames and as tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._utils.frames import make_frame
from .._utils.text import aligned
from .._utils.types import Vector
from .rule import Naming, Rule
from .words import level, percent, score_ranges, table, typical, wrapped


def by_importance(rules: Sequence[Rule], n: int | None = None) -> list[Rule]:
    """The rules by falling importance, or the first `n` of them."""
    return sorted(rules, key=lambda rule: -rule.importance)[:n]


def to_text(
    rules: Sequence[Rule],
    naming: Naming,
    thresholds: Vector | None = None,
    n: int | None = None,
    width: int = 88,
) -> str:
    """Rules in sentences, the most important first, and how the score gives the label.

    Parameters
    ----------
    rules : sequence of Rule
    naming : Naming
        Its ``units`` and ``target`` are used here.
    thresholds : ndarray of shape (K−1,), optional
        Those of the model; without them the text ends with the rules. With an ensemble for each
        threshold, NaN where there is none.
    n : int, optional
        Most rules to write; by default all.
    width : int, default=88
        Most characters in a line.

    Returns
    -------
    text : str
    """
    shown = by_importance(rules, n)
    number = len(str(len(shown)))
    lines = [wrapped(_opening(shown, rules, naming), width), ""]
    for place, rule in enumerate(shown, start=1):
        mark = f"{place:>{number}}. "
        lines.append(wrapped(mark + sentence(rule, naming), width, len(mark)))
    if thresholds is not None:
        lines += ["", *_closing(rules, naming, thresholds, width)]
    return "\n".join(lines)


def sentence(rule: Rule, naming: Naming) -> str:
    """A rule in one sentence, with the labels that are typical of the rows that it covers."""
    note = f"covers {percent(rule.coverage)} of rows"
    found = typical(rule.class_histogram, rule.labels)
    if found:
        note += f"; typical {naming.target} {found}"
    return f"If {rule.text(naming.units)}, {rule.effect} ({note})."


def to_frame(rules: Sequence[Rule], naming: Naming, backend: Any = "pandas") -> Any:
    """One row per rule, as a data frame.

    Parameters
    ----------
    rules : sequence of Rule
    naming : Naming
    backend : {"pandas", "polars", "pyarrow"} or module, default="pandas"
        The library of the frame, which must be installed.

    Returns
    -------
    frame : data frame of that library
        ``rule``, ``response``, ``coverage``, ``importance``, ``rounds`` (how many found it), the
        share of every class, and ``threshold`` if there is an ensemble for each threshold.
    """
    columns: dict[str, list[Any]] = {
        "rule": [rule.text(naming.units, most=None) for rule in rules],
        "response": [rule.response for rule in rules],
        "coverage": [rule.coverage for rule in rules],
        "importance": [rule.importance for rule in rules],
        "rounds": [len(rule.rounds) for rule in rules],
    }
    if _by_threshold(rules):
        columns["threshold"] = [rule.threshold for rule in rules]
    for k, label in enumerate(naming.labels):
        columns[f"share of {label}"] = [float(rule.class_histogram[k]) for rule in rules]
    return make_frame(columns, backend)


def rules_html(
    rules: Sequence[Rule],
    naming: Naming,
    thresholds: Vector | None = None,
    n: int | None = 20,
) -> str:
    """Rules as a table for notebooks, the most important first.

    Parameters
    ----------
    rules : sequence of Rule
    naming : Naming
    thresholds : ndarray of shape (K−1,), optional
        Those of the model, for the note under the table.
    n : int, optional
        Most rules to show; None shows all.

    Returns
    -------
    html : str
        Without scripts, in the colours of the page around it.
    """
    shown = by_importance(rules, n)
    note = _opening(shown, rules, naming)
    if thresholds is not None and not _by_threshold(rules):
        ranges = score_ranges(thresholds, naming.labels)
        note += f" Score to {naming.target}: "
        note += "; ".join(f"{words}: {label}" for label, words in ranges) + "."
    header = ["rule", "adds", "covers", naming.target]
    rows = [rule.html_cells(naming.units) for rule in shown]
    if _by_threshold(rules):
        header.insert(1, "to the score for")
        for cells, rule in zip(rows, shown, strict=True):
            cells.insert(1, rule.html_threshold())
    return table(header, rows, note)


def _by_threshold(rules: Sequence[Rule]) -> bool:
    return any(rule.threshold is not None for rule in rules)


def _opening(shown: Sequence[Rule], rules: Sequence[Rule], naming: Naming) -> str:
    if not rules:
        return "There are no rules: every row has the score 0."
    if len(shown) < len(rules):
        count = f"The {len(shown)} most important of {len(rules)} rules."
    else:
        count = "One rule." if len(rules) == 1 else f"{len(rules)} rules, the most important first."
    if _by_threshold(rules):
        return f"{count} Each adds to the score of one threshold, which starts at 0."
    overall = typical(np.array(naming.class_shares), naming.labels)
    return (
        f"{count} The rules that a row satisfies add to its score, which starts at 0: "
        f"up towards {naming.labels[-1]}, down towards {naming.labels[0]}. "
        f"Over all rows the typical {naming.target} is {overall}."
    )


def _closing(rules: Sequence[Rule], naming: Naming, thresholds: Vector, width: int) -> list[str]:
    if not _by_threshold(rules):
        rows = [[label, words] for label, words in score_ranges(thresholds, naming.labels)]
        return [
            f"The score decides on the {naming.target}:",
            *("  " + line for line in aligned(rows, words=(0, 1))),
        ]
    own = np.flatnonzero(~np.isnan(thresholds))
    limits = level(np.asarray(thresholds)[own].tolist())
    rows = [
        [f"above {naming.labels[k]}", f"score above {limit}"]
        for k, limit in zip(own, limits, strict=True)
    ]
    last = (
        f"The {naming.target} is as many steps above {naming.labels[0]} as thresholds are passed; "
        "scores that contradict each other are reconciled first."
    )
    return [
        "A row passes a threshold where the score for it is high enough:",
        *("  " + line for line in aligned(rows, words=(0, 1))),
        *wrapped(last, width).splitlines(),
    ]
