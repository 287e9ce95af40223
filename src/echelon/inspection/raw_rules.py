"""Rules of a model at the end of a pipeline, told in the columns that the user knows.

A model of rules sees prepared columns: scaled numbers, categories as zeros and ones. What each of
these comes from is found by trying values: a prepared column that moves with one column of the
table only, and along a line, or level by level, is put back into the values of that column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._utils.types import Index, LabelArray, LabelsLike, MatrixLike, Vector
from ..base.wrappers import last_step, output_names, transformed
from ..model_selection.text_terms import TermColumn, term_columns
from ..rules.explanations import by_importance
from ..rules.rule import Rule, RuleCondition
from ..rules.words import ShownCut, category, plain_number, shown_cut
from ..solvers.rules.bodies import Interval
from .table import Feature, Response, Table, read_features, stated_kinds

# Values of a number that are tried, and how near a line they must lie.
_TRIED = 20
_STRAIGHT = 1e-9
# Stands for levels that a file does not name and those that were not seen.
_NEW = "any other"
# Digits that survive the way through a scaling and back.
_DIGITS = 10


@dataclass(frozen=True, eq=False)
class Source:
    """The column that a prepared column comes from.

    Parameters
    ----------
    feature : Feature
    slope, offset : float
        Of a number or a date: prepared = slope · value + offset.
    prepared : ndarray
        Of a category or a boolean: the prepared value of each level; empty otherwise.
    """

    feature: Feature
    slope: float
    offset: float
    prepared: Vector

    def allowed(self, condition: Interval) -> npt.NDArray[np.bool_]:
        """Levels that satisfy a condition on the prepared column."""
        return (condition.lower < self.prepared) & (self.prepared <= condition.upper)


@dataclass(frozen=True, eq=False)
class RawRules:
    """Words for rules in terms of the columns of the table.

    Parameters
    ----------
    last : estimator
        The fitted model of rules.
    sources : dict from int to Source
        Where prepared columns come from, those for which it is known.
    names : sequence of str
        Names of the prepared columns.
    labels : tuple of str
        The labels from lowest to highest.
    terms : dict from int to TermColumn
        Prepared columns that tell of texts.
    """

    last: Any
    sources: dict[int, Source]
    names: Sequence[str]
    labels: tuple[str, ...]
    terms: dict[int, TermColumn]

    def retold(self, rule: Rule) -> Rule:
        """A rule with the conditions in the table's own terms."""
        conditions: list[RuleCondition] = []
        levels: dict[str, tuple[RuleCondition, Source, npt.NDArray[np.bool_]]] = {}
        for named in rule.conditions:
            source, term = self.sources.get(named.feature), self.terms.get(named.feature)
            if term is not None and isinstance(named.condition, Interval):
                conditions.append(_of_text(named, named.condition, term))
            elif source is None or not isinstance(named.condition, Interval):
                conditions.append(replace(named, name=self.names[named.feature]))
            elif source.feature.levels:
                name, allowed = source.feature.name, source.allowed(named.condition)
                before = levels[name][2] if name in levels else True
                levels[name] = (named, source, allowed & before)
            else:
                conditions.append(self._limits(named, named.condition, source))
        conditions += [_membership(*entry) for entry in levels.values()]
        return replace(rule, conditions=tuple(conditions), labels=self.labels)

    def _limits(self, named: RuleCondition, condition: Interval, source: Source) -> RuleCondition:
        ends = [
            self._cut(condition.feature, end, source) for end in (condition.lower, condition.upper)
        ]
        if source.slope < 0:
            ends.reverse()
        return replace(
            named, name=source.feature.name, lower_shown=ends[0].least, upper_shown=ends[1].most
        )

    def _cut(self, feature: int, cut: float, source: Source) -> ShownCut:
        if not np.isfinite(cut):
            return ShownCut("", "")
        gap = self.last.naming_.gaps.get(feature, {}).get(cut, (cut, cut))
        below, above = sorted((end - source.offset) / source.slope for end in gap)
        value = (cut - source.offset) / source.slope
        if source.feature.kind == "date":
            day = np.datetime64(0, "D") + int(np.floor(value))
            return ShownCut(str(day), str(day + 1))
        below, above = _rounded(below), _rounded(above)
        if not below < above:
            return ShownCut(plain_number(_rounded(value)), plain_number(_rounded(value)))
        # The cut itself may have been a value; short numbers need it strictly below the next one.
        return shown_cut(min(max(value, below), np.nextafter(above, below)), below, above)


def raw_rules(model: Any, labels: LabelArray, table: Table | None = None) -> RawRules | None:
    """Words for the rules of a model; None if it has none.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
    labels : sequence of length K
        The labels from lowest to highest.
    table : Table, optional
        Inputs whose values are tried; by default made up from the schema of a trained model.
    """
    before, last = last_step(model)
    if not hasattr(last, "rules_") or not hasattr(last, "explain"):
        return None
    if table is None and hasattr(model, "schema"):
        table = _made_up(model.schema)
    shown = tuple(category(label) for label in np.asarray(labels).tolist())
    names = list(last.naming_.features)
    if not before:
        return RawRules(last, {}, names, shown, {})
    known = output_names(before)
    names = known if known is not None and len(known) == len(names) else names
    sources = {} if table is None else _sources(before, table)
    return RawRules(last, sources, names, shown, term_columns(before))


def rule_sentences(
    model: Any,
    X: MatrixLike | None = None,
    *,
    classes: LabelsLike | None = None,
    kinds: Mapping[str, str] | None = None,
) -> list[str] | None:
    """The rules of a model in sentences, the most important first.

    Parameters
    ----------
    model : fitted estimator, pipeline or trained model
    X : data frame or array-like of shape (n, d), optional
        Rows by which rules after a preparation are put into the table's own values; a trained
        model needs none.
    classes : sequence, optional
        The labels from lowest to highest.
    kinds : mapping from str to str, optional
        What columns of numbers are: "boolean" for 0 and 1, "date" for days since 1970; by default
        as the schema of a trained model has it.

    Returns
    -------
    sentences : list of str, or None
        None if the model is not one of rules.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from echelon import RankRules
    >>> from echelon.datasets import load_esl
    >>> X, y = load_esl(return_X_y=True, as_frame=True)
    >>> model = make_pipeline(StandardScaler(), RankRules(1, max_conditions=1, random_state=0))
    >>> rule_sentences(model.fit(X, y), X)[0].split(",")[0]
    'If in3 is at most 5'
    """
    response = Response(model, classes, kinds=kinds)
    words = raw_rules(model, response.classes, None if X is None else response.table(X))
    if words is None:
        return None
    return [str(words.retold(rule)) for rule in by_importance(words.last.rules_)]


def _of_text(named: RuleCondition, condition: Interval, column: TermColumn) -> RuleCondition:
    """A condition on a term of a text, or on how many words it has."""
    if column.term:
        lacks = condition.lower == -np.inf
        return replace(
            named, name=column.text, members_shown=(column.term,), excludes=lacks, contains=True
        )
    least, most = (column.length(end) for end in (condition.lower, condition.upper))
    low = f"{int(np.floor(least)) + 1:,}" if np.isfinite(least) and least >= 0.0 else ""
    high = f"{int(np.floor(most)):,}" if np.isfinite(most) else ""
    name = f"length of {column.text} in {column.unit}s"
    return replace(named, name=name, lower_shown=low, upper_shown=high)


def _membership(
    named: RuleCondition, source: Source, allowed: npt.NDArray[np.bool_]
) -> RuleCondition:
    levels = source.feature.levels
    if source.feature.ordered and allowed.any() and not allowed.all():
        first, last = np.flatnonzero(allowed)[[0, -1]]
        if allowed[first : last + 1].all():
            low = category(levels[first]) if first else ""
            high = category(levels[last]) if last + 1 < len(levels) else ""
            return RuleCondition(named.condition, source.feature.name, low, high)
    excludes = bool(allowed.sum() > 0.5 * len(allowed)) and not allowed.all() and len(levels) > 2
    listed = ~allowed if excludes else allowed
    members = tuple(category(level) for level, is_in in zip(levels, listed, strict=True) if is_in)
    return RuleCondition(
        named.condition,
        source.feature.name,
        members_shown=members or ("no known level",),
        excludes=excludes,
    )


def _sources(before: Sequence[Any], table: Table) -> dict[int, Source]:
    found: dict[int, Source | None] = {}
    for j, feature in enumerate(read_features(table)):
        rows = _tried(feature)
        if len(rows) < 2 or feature.kind == "text":
            continue
        X = transformed(before, table.gather(np.zeros(len(rows), dtype=np.intp), {j: rows}))
        for t, prepared in enumerate(read_features(Table(X))):
            if prepared.levels or not np.ptp(prepared.numbers) > 0:
                continue
            # A column that moves with two columns of the table belongs to neither.
            found[t] = None if t in found else _source(feature, rows, prepared.numbers)
    return {t: source for t, source in found.items() if source is not None}


def _tried(feature: Feature) -> Index:
    present = np.flatnonzero(feature.present)
    _, first = np.unique(feature.numbers[present], return_index=True)
    if not feature.levels and len(first) > _TRIED:
        first = first[np.linspace(0, len(first) - 1, _TRIED).astype(np.intp)]
    return present[first]


def _source(feature: Feature, rows: Index, prepared: Vector) -> Source | None:
    values = feature.numbers[rows]
    if feature.levels:
        return Source(feature, 0.0, 0.0, prepared) if len(rows) == len(feature.levels) else None
    slope = float((prepared[-1] - prepared[0]) / (values[-1] - values[0]))
    offset = float(prepared[0] - slope * values[0])
    gap = np.abs(prepared - (slope * values + offset)).max()
    straight = slope != 0.0 and gap <= _STRAIGHT * (1.0 + np.abs(prepared).max())
    return Source(feature, slope, offset, np.zeros(0)) if straight else None


def _made_up(schema: Any) -> Table:
    """A frame in which every level of every column occurs, and of categories one that is new."""
    import pandas as pd

    levels = {
        column.name: [*(column.levels or ()), *([_NEW] if column.kind == "category" else [])]
        for column in schema.columns
    }
    n = max([2, *map(len, levels.values())])
    rows = np.arange(n)
    made = {
        "boolean": rows % 2 == 1,
        "date": np.datetime64("2000-01-01", "us") + 1000 * rows.astype("timedelta64[D]"),
        "number": rows.astype(np.float64),
    }
    columns: dict[str, Any] = {
        column.name: np.resize(np.array(levels[column.name] or ["none"], dtype=object), n)
        if column.is_text
        else made[column.kind]
        for column in schema.columns
    }
    return Table(schema.apply(pd.DataFrame(columns)), stated_kinds(schema))


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")
