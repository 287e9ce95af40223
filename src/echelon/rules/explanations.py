"""What a fitted ensemble of rules shows of itself: texts, tables, and why a row has its score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import aligned, make_frame
from .._utils.html import html_table
from .._utils.types import FrameLike, Matrix, MatrixLike, Vector
from ..base.estimator import BaseEstimator
from ..base.mixins import ThresholdModelMixin
from ..base.pair_explanations import PairExplanation, PairTerm, explanation
from ..base.validation import validate_inputs
from ..ordinal.data import OrdinalData
from ..ordinal.reduction import decode
from .columns import InputColumns, as_positions
from .ensemble import Levels, RuleEnsemble
from .rule import Naming, Rule, feature_importances, merge_rounds
from .words import (
    Gaps,
    category,
    cut_gaps,
    level,
    score_ranges,
    signed,
    typical,
    wrapped,
)


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
        return _rules_table(shown, self.naming, note, by_threshold=self.by_threshold)

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


def _rules_table(rules: Sequence[Rule], naming: Naming, note: str, *, by_threshold: bool) -> str:
    """A table for notebooks with a row for each rule."""
    header = ["rule", "adds", "covers", naming.target]
    rows = [rule.html_cells(naming.units) for rule in rules]
    if by_threshold:
        header.insert(1, "to the score for")
        for cells, rule in zip(rows, rules, strict=True):
            cells.insert(1, rule.html_threshold())
    return html_table(header, rows, note)


def _indented(rows: list[list[str]]) -> list[str]:
    return ["  " + line for line in aligned(rows, words=(0, 1))]


@dataclass(frozen=True, eq=False)
class Explanation:
    """The score of a row, taken apart into rules.

    Parameters
    ----------
    score : float, or ndarray of shape (K−1,) with an ensemble for each threshold
        The sum of the parts; NaN for a threshold without an ensemble.
    label : object
        The label of the row.
    parts : list of (Rule, float)
        The rules that the row satisfies and what each adds, by falling size.
    thresholds : ndarray of shape (K−1,)
        What the score is compared with.
    naming : Naming
    """

    score: float | Vector
    label: Any
    parts: list[tuple[Rule, float]]
    thresholds: Vector
    naming: Naming

    def to_text(self, n: int | None = None, width: int = 88) -> str:
        """The explanation in words.

        Parameters
        ----------
        n : int, optional
            Most rules to write; the others are summed up in a line.
        width : int, default=88
            Most characters in a line.

        Returns
        -------
        text : str
        """
        lines = [wrapped(line, width) for line in self._summary()]
        if not self.parts:
            return "\n".join([*lines, "It satisfies no rule."])
        entries = [(signed(added), self._words(rule)) for rule, added in self.parts[:n]]
        if len(entries) < len(self.parts):
            entries.append(self._rest(self.parts[len(entries) :]))
        wide = max(len(figure) for figure, _ in entries)
        for figure, words in entries:
            lines.append(wrapped(f"  {figure:>{wide}}  {words}", width, wide + 4))
        return "\n".join(lines)

    def to_frame(self, backend: Any = "pandas") -> Any:
        """One row per rule that the row satisfies, as a data frame.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"} or module, default="pandas"
            The library of the frame, which must be installed.

        Returns
        -------
        frame : data frame of that library
            ``rule``, ``adds``, ``coverage``, and ``threshold`` with an ensemble for each.
        """
        rules = [rule for rule, _ in self.parts]
        columns: dict[str, list[Any]] = {
            "rule": [rule.text(self.naming.units, most=None) for rule in rules],
            "adds": [added for _, added in self.parts],
            "coverage": [rule.coverage for rule in rules],
        }
        if np.ndim(self.score):
            columns["threshold"] = [rule.threshold for rule in rules]
        return make_frame(columns, backend)

    def __str__(self) -> str:
        return self.to_text()

    def _repr_html_(self) -> str:
        rules, separate = [rule for rule, _ in self.parts], bool(np.ndim(self.score))
        return _rules_table(rules, self.naming, " ".join(self._summary()), by_threshold=separate)

    def _summary(self) -> list[str]:
        target, label = self.naming.target.capitalize(), category(self.label)
        if not np.ndim(self.score):
            score = float(self.score)
            figure = level([score, *self.thresholds.tolist()])[0]
            ranges = dict(score_ranges(self.thresholds, self.naming.labels, [score]))
            words = ranges.get(label, "")
            within = "" if words in ("", "never", "always") else f" ({words})"
            return [f"{target} {label}: the score is {figure}{within}."]
        scores = np.asarray(self.score).tolist()
        limits = self.thresholds.tolist()
        passed = [
            f"above {name}: score {level([score, limit])[0]}, "
            f"{'passes' if score > limit else 'does not pass'} {level([score, limit])[1]}"
            for name, score, limit in zip(self.naming.labels[:-1], scores, limits, strict=True)
            if not math.isnan(limit)
        ]
        return [f"{target} {label}: " + "; ".join(passed) + "."]

    def _words(self, rule: Rule) -> str:
        words = rule.text(self.naming.units)
        if rule.threshold is None:
            return words
        return f"for being above {rule.labels[rule.threshold]}: {words}"

    def _rest(self, others: Sequence[tuple[Rule, float]]) -> tuple[str, str]:
        if np.ndim(self.score):
            return "", f"and {len(others)} more"
        count = "1 other rule" if len(others) == 1 else f"{len(others)} other rules together"
        return signed(_total(others)), count


def explain_rows(
    rules: Sequence[Rule],
    naming: Naming,
    X: Matrix,
    thresholds: Vector,
    labels: Sequence[Any] | None = None,
) -> list[Explanation]:
    """Explain the scores of rows.

    Parameters
    ----------
    rules : sequence of Rule
    naming : Naming
    X : ndarray of shape (n, d)
        Inputs as the model sees them.
    thresholds : ndarray of shape (K−1,)
        What the score, or the score for each threshold, is compared with; NaN for a threshold
        without an ensemble of its own.
    labels : sequence of length n, optional
        The labels that the model predicts; by default the names of those that follow here.

    Returns
    -------
    explanations : list of Explanation
    """
    satisfied = np.array([rule.covers(X) for rule in rules], dtype=bool).reshape(len(rules), len(X))
    order = sorted(range(len(rules)), key=lambda r: -abs(rules[r].response))
    ranked = [rules[r] for r in order]
    separate = any(rule.threshold is not None for rule in rules)
    thresholds = np.asarray(thresholds, dtype=np.float64)
    explanations = []
    for i, column in enumerate(satisfied[order].T):
        parts = [(ranked[r], ranked[r].response) for r in np.flatnonzero(column)]
        score = _separate_scores(parts, thresholds) if separate else _total(parts)
        code = int(decode(np.atleast_2d(np.asarray(score) - thresholds))[0])
        label = naming.labels[code] if labels is None else labels[i]
        explanations.append(Explanation(score, label, parts, thresholds, naming))
    return explanations


def explain_rule_pair(a: Explanation, b: Explanation) -> PairExplanation:
    """Rules that one row satisfies and the other does not, with what each adds to a − b."""
    covers = [{id(rule): (rule, added) for rule, added in part.parts} for part in (a, b)]
    terms = [
        PairTerm(rule.text(), sign * added, float(sign > 0), float(sign < 0))
        for sign, own, other in ((1.0, covers[0], covers[1]), (-1.0, covers[1], covers[0]))
        for key, (rule, added) in own.items()
        if key not in other
    ]
    return explanation(float(a.score), float(b.score), terms)


def _total(parts: Sequence[tuple[Rule, float]]) -> float:
    return math.fsum(added for _, added in parts)


def _separate_scores(parts: Sequence[tuple[Rule, float]], thresholds: Vector) -> Vector:
    scores = [
        _total([part for part in parts if part[0].threshold == k]) for k in range(len(thresholds))
    ]
    return np.where(np.isnan(thresholds), np.nan, scores)


class ReadableRulesMixin(ThresholdModelMixin, BaseEstimator):
    """Texts for an estimator whose ``_ensembles``, ``_levels`` and ``_columns`` are set.

    ``fit`` calls ``_keep_for_names`` with the training rows.
    """

    _ensembles: list[RuleEnsemble]
    _levels: Levels
    _columns: InputColumns
    _gaps: Gaps
    _class_mass: Vector
    thresholds_: Vector

    def _positions(self, X: Any) -> Matrix:
        check_is_fitted(self)
        positions: Matrix = validate_inputs(self, as_positions(X, self._columns))
        return positions

    def _keep_for_names(self, data: OrdinalData, class_mass: Vector) -> None:
        """Keep the figures of the training rows that words for the rules will need."""
        self.__dict__.pop("rules_", None)
        bodies = [body for part in self._ensembles for body in part.bodies]
        self._gaps = cut_gaps(data.X, bodies, self._columns.categories)
        self._class_mass = class_mass

    @property
    def naming_(self) -> Naming:
        """Names for inputs, categories, cuts and labels, as texts about the rules use them."""
        check_is_fitted(self)
        features = getattr(self, "feature_names_in_", None)
        return Naming.of(self._columns, self.classes_, self._class_mass, self._gaps, features)

    @cached_property
    def rules_(self) -> list[Rule]:
        """The rules, each body once, in the order in which they were found."""
        parts = self._ensembles
        bodies = [body for part in parts for body in part.bodies]
        responses = np.concatenate([part.responses for part in parts])
        shares = np.concatenate([part.class_shares for part in parts])
        problems = None
        if not self._levels.joint:
            below = self._levels.observed
            problems = [int(below[k]) for k, part in enumerate(parts) for _ in part.bodies]
        return merge_rounds(bodies, responses, shares, self.naming_, problems)

    @property
    def feature_importances_(self) -> Vector:
        """Importance of the rules that use each input, shared equally; they sum to one."""
        check_is_fitted(self)
        return feature_importances(self.rules_, self.n_features_in_)

    @property
    def _shown_thresholds(self) -> Vector:
        """Thresholds that texts name; NaN for those of a level that has no score of its own."""
        if self._levels.joint:
            return self.thresholds_
        shown = np.full(len(self.classes_) - 1, np.nan)
        shown[self._levels.observed[:-1]] = [float(part.thresholds[0]) for part in self._ensembles]
        return shown

    def _texts(self, **words: Any) -> RuleTexts:
        return RuleTexts(self.rules_, replace(self.naming_, **words), self._shown_thresholds)

    def to_text(
        self,
        n: int | None = None,
        *,
        units: Mapping[str, str] | None = None,
        target: str = "label",
        width: int = 88,
    ) -> str:
        """The rules in sentences, the most important first, and how scores become labels.

        Parameters
        ----------
        n : int, optional
            Most rules to tell; by default all.
        units : mapping from str to str, optional
            Units of inputs by their names.
        target : str, default="label"
            What the labels tell, such as "quality".
        width : int, default=88
            Most characters of a line.

        Returns
        -------
        text : str
        """
        check_is_fitted(self)
        return self._texts(units=units or {}, target=target).to_text(n, width)

    def to_frame(self, backend: str = "pandas") -> FrameLike:
        """The rules as a data frame, a row for each, the most important first.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, default="pandas"
            Library of the frame.

        Returns
        -------
        frame : data frame
            Conditions, response, coverage, importance, share of each class among the covered rows
            and the number of rounds that found the rule.
        """
        check_is_fitted(self)
        frame: FrameLike = self._texts().to_frame(backend)
        return frame

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Why rows get their labels: the rules that cover them and what each adds to the score.

        Parameters
        ----------
        X : array-like or data frame of shape (n, d)

        Returns
        -------
        explanations : list of Explanation
            One for each row, with ``score``, ``label`` and ``parts``; ``print`` tells it in words.
        """
        check_is_fitted(self)
        labels = list(self.classes_[self._codes(X)])
        return explain_rows(
            self.rules_, self.naming_, self._positions(X), self._shown_thresholds, labels
        )

    def _repr_html_inner(self) -> str:
        """What notebooks show: the rules once there are any."""
        if not hasattr(self, "rules_"):
            return super()._repr_html_inner()
        return self._texts().to_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] = self._repr_html_inner()
        return bundle
