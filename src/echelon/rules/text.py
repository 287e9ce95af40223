"""Rule ensembles as text, as data frames and as tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._utils.frames import aligned, make_frame
from .._utils.types import Vector
from .rule import Naming, Rule
from .words import level, score_ranges, table, typical, wrapped


def by_importance(rules: Sequence[Rule], n: int | None = None) -> list[Rule]:
    """The rules by falling importance, or the first `n` of them."""
    return sorted(rules, key=lambda rule: -rule.importance)[:n]


@dataclass(frozen=True, eq=False)
class RuleTexts:
    """What is shown of the rules of an ensemble; see `RankRules` for the arguments.

    Parameters
    ----------
    rules : sequence of Rule
    naming : Naming
        With the units of inputs and the word for the label.
    thresholds : ndarray of shape (K−1,), optional
        Those of the model; without them nothing says how the score gives the label. With an
        ensemble for each threshold, NaN where there is none.
    """

    rules: Sequence[Rule]
    naming: Naming
    thresholds: Vector | None = None

    @property
    def by_threshold(self) -> bool:
        """Whether there is an ensemble for each threshold."""
        return any(rule.threshold is not None for rule in self.rules)

    def to_text(self, n: int | None = None, width: int = 88) -> str:
        """Rules in sentences, the most important first, and how the score gives the label."""
        shown = by_importance(self.rules, n)
        number = len(str(len(shown)))
        lines = [wrapped(self._opening(shown), width), ""]
        for place, rule in enumerate(shown, start=1):
            mark = f"{place:>{number}}. "
            sentence = rule.sentence(self.naming.units, self.naming.target)
            lines.append(wrapped(mark + sentence, width, len(mark)))
        if self.thresholds is not None:
            lines += ["", *self._closing(self.thresholds, width)]
        return "\n".join(lines)

    def to_frame(self, backend: Any = "pandas") -> Any:
        """A row of a data frame for each rule, the most important first."""
        rules = by_importance(self.rules)
        columns: dict[str, list[Any]] = {
            "rule": [rule.text(self.naming.units, most=None) for rule in rules],
            "response": [rule.response for rule in rules],
            "coverage": [rule.coverage for rule in rules],
            "importance": [rule.importance for rule in rules],
            "rounds": [len(rule.rounds) for rule in rules],
        }
        if self.by_threshold:
            columns["threshold"] = [rule.threshold for rule in rules]
        for k, label in enumerate(self.naming.labels):
            columns[f"share of {label}"] = [float(rule.class_histogram[k]) for rule in rules]
        return make_frame(columns, backend)

    def to_html(self, n: int | None = 20) -> str:
        """A table for notebooks of the most important rules, in the colours of the page around."""
        shown = by_importance(self.rules, n)
        note = self._opening(shown)
        if self.thresholds is not None and not self.by_threshold:
            ranges = score_ranges(self.thresholds, self.naming.labels)
            note += f" Score to {self.naming.target}: "
            note += "; ".join(f"{words}: {label}" for label, words in ranges) + "."
        return rules_table(shown, self.naming, note, by_threshold=self.by_threshold)

    def _opening(self, shown: Sequence[Rule]) -> str:
        rules, naming = self.rules, self.naming
        if not rules:
            return "There are no rules: every row has the score 0."
        count = "One rule." if len(rules) == 1 else f"{len(rules)} rules, the most important first."
        if len(shown) < len(rules):
            count = f"The {len(shown)} most important of {len(rules)} rules."
        if self.by_threshold:
            return f"{count} Each adds to the score of one threshold, which starts at 0."
        overall = typical(np.array(naming.class_shares), naming.labels)
        return (
            f"{count} The rules that a row satisfies add to its score, which starts at 0: "
            f"up towards {naming.labels[-1]}, down towards {naming.labels[0]}. "
            f"Over all rows the typical {naming.target} is {overall}."
        )

    def _closing(self, thresholds: Vector, width: int) -> list[str]:
        target, labels = self.naming.target, self.naming.labels
        if not self.by_threshold:
            ranges = [[label, words] for label, words in score_ranges(thresholds, labels)]
            return [f"The score decides on the {target}:", *_indented(ranges)]
        own = np.flatnonzero(~np.isnan(thresholds))
        limits = zip(own, level(np.asarray(thresholds)[own].tolist()), strict=True)
        last = (
            f"The {target} is as many steps above {labels[0]} as thresholds are passed; "
            "scores that contradict each other are reconciled first."
        )
        return [
            "A row passes a threshold where the score for it is high enough:",
            *_indented([[f"above {labels[k]}", f"score above {limit}"] for k, limit in limits]),
            *wrapped(last, width).splitlines(),
        ]


def rules_table(rules: Sequence[Rule], naming: Naming, note: str, *, by_threshold: bool) -> str:
    """A table for notebooks with a row for each rule."""
    header = ["rule", "adds", "covers", naming.target]
    rows = [rule.html_cells(naming.units) for rule in rules]
    if by_threshold:
        header.insert(1, "to the score for")
        for cells, rule in zip(rows, rules, strict=True):
            cells.insert(1, rule.html_threshold())
    return table(header, rows, note)


def _indented(rows: list[list[str]]) -> list[str]:
    return ["  " + line for line in aligned(rows, words=(0, 1))]
