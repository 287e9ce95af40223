"""Rules with names: conditions in words, and what a rule ensemble shows of each rule."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np

from .._utils.html import html_table
from .._utils.types import LabelArray, Mask, Matrix, Vector
from ..solvers.rules.bodies import Body, Condition, Interval, Membership, covers
from .columns import InputColumns
from .words import (
    Gaps,
    ShownCut,
    amount,
    bar,
    category,
    histogram,
    listing,
    percent,
    plain_number,
    shown_cut,
    signed,
    typical,
)

# Categories that a sentence names before it only counts them.
MOST_NAMES = 8


@dataclass(frozen=True)
class RuleCondition:
    """One condition of a rule, with the words for it.

    Parameters
    ----------
    condition : Interval or Membership
        The condition on the inputs as the model sees them.
    name : str
        Name of the input.
    lower_shown, upper_shown : str
        For an interval: the limits as text, both inclusive; empty where it is open. They part the
        training rows as the condition does.
    members_shown : tuple of str
        For categories: their names.
    excludes : bool
        Whether the category is none of these.
    takes_unit : bool
        Whether the limits are numbers, which a unit can follow.
    contains : bool
        Whether the input is a text, and the one member a term that it has.

    Examples
    --------
    >>> print(RuleCondition(Interval(0, 34.5), "age", lower_shown="35"))
    age is at least 35
    >>> print(RuleCondition(Membership(1, (0, 2)), "colour", members_shown=("red", "blue")))
    colour is one of red, blue
    """

    condition: Condition
    name: str
    lower_shown: str = ""
    upper_shown: str = ""
    members_shown: tuple[str, ...] = ()
    excludes: bool = False
    takes_unit: bool = False
    contains: bool = False

    @property
    def feature(self) -> int:
        """Index of the input."""
        return self.condition.feature

    def text(self, unit: str = "", most: int | None = MOST_NAMES) -> str:
        """The condition in words.

        Parameters
        ----------
        unit : str
            Written after numbers.
        most : int, optional
            Most categories to name; None names all.

        Returns
        -------
        text : str
        """
        return f"{self.name} {self._predicate(unit, most)}"

    def __str__(self) -> str:
        return self.text()

    def _predicate(self, unit: str, most: int | None) -> str:
        names = self.members_shown
        if self.contains:
            return f"{'does not contain' if self.excludes else 'contains'} “{names[0]}”"
        if len(names) == 1:
            return f"is {'not ' if self.excludes else ''}{names[0]}"
        if names:
            return f"is {'none' if self.excludes else 'one'} of {listing(names, most)}"
        unit = f" {unit}" if unit and self.takes_unit else ""
        low, high = self.lower_shown, self.upper_shown
        if not low and not high:
            return "is known"
        if not low:
            return f"is at most {high}{unit}"
        if not high:
            return f"is at least {low}{unit}"
        return f"is {low}{unit}" if low == high else f"is between {low} and {high}{unit}"


@dataclass(frozen=True)
class Naming:
    """Names for inputs, categories, cuts and labels.

    Parameters
    ----------
    features : tuple of str
        Names of the inputs.
    labels : tuple of str
        The labels from lowest to highest.
    columns : InputColumns
        The categories of the inputs.
    gaps : mapping from feature to a mapping from cut to two float
        Neighbouring training values of cuts, by `cut_gaps`, for short numbers; a cut that is not in
        it is shown as it is.
    class_shares : tuple of float
        Share of each class among the training rows.
    units : mapping from str to str
        Units of inputs by their names.
    target : str
        What the labels tell.
    """

    features: tuple[str, ...]
    labels: tuple[str, ...]
    columns: InputColumns
    gaps: Gaps = field(default_factory=dict)
    class_shares: tuple[float, ...] = ()
    units: Mapping[str, str] = field(default_factory=dict)
    target: str = "label"

    @classmethod
    def of(
        cls,
        columns: InputColumns,
        labels: LabelArray,
        class_mass: Vector,
        gaps: Gaps,
        features: Sequence[str] | None = None,
    ) -> Naming:
        """Names from what ``fit`` has kept: inputs without names are x0, x1, …"""
        if features is None:
            features = [f"x{j}" for j in range(len(columns.categories))]
        return cls(
            features=tuple(features),
            labels=tuple(category(label) for label in labels.tolist()),
            columns=columns,
            gaps=gaps,
            class_shares=tuple((class_mass / class_mass.sum()).tolist()),
        )

    def condition(self, condition: Condition) -> RuleCondition:
        """A condition with names."""
        name = self.features[condition.feature]
        known = self.columns.categories[condition.feature]
        if isinstance(condition, Membership):
            return _named_membership(condition, name, known or ())
        if known is not None:
            return RuleCondition(condition, name, *_ordered_limits(condition, known))
        return RuleCondition(condition, name, *self._limits(condition), takes_unit=True)

    def _limits(self, condition: Interval) -> tuple[str, str]:
        lower = self._cut(condition.feature, condition.lower).least
        upper = self._cut(condition.feature, condition.upper).most
        if lower and upper and float(lower) > float(upper):
            # No training value lies between the cuts, so that short numbers may change places.
            return repr(float(np.nextafter(condition.lower, np.inf))), repr(condition.upper)
        return lower, upper

    def _cut(self, feature: int, cut: float) -> ShownCut:
        if not math.isfinite(cut):
            return ShownCut("", "")
        gap = self.gaps.get(feature, {}).get(cut)
        if gap is None:
            above = plain_number(float(np.nextafter(cut, np.inf)))
            return ShownCut(plain_number(cut), above)
        return shown_cut(cut, *gap)


def _named_membership(condition: Membership, name: str, known: tuple[Any, ...]) -> RuleCondition:
    members, excludes = condition.members, condition.negated
    if excludes and known == (False, True) and len(members) == 1:
        # A boolean that is not true is false.
        members, excludes = (1 - members[0],), False
    shown = tuple(category(known[position]) for position in members)
    return RuleCondition(condition, name, members_shown=shown, excludes=excludes)


def _ordered_limits(condition: Interval, known: tuple[Any, ...]) -> tuple[str, str]:
    """Lowest and highest category that satisfy the condition; one of them for an end."""
    last = len(known) - 1
    lowest = 0 if condition.lower == -np.inf else min(math.floor(condition.lower) + 1, last)
    highest = last if condition.upper == np.inf else max(math.floor(condition.upper), 0)
    low, high = category(known[lowest]), category(known[highest])
    if lowest == highest:
        return low, high
    return "" if lowest == 0 else low, "" if highest == last else high


@dataclass(frozen=True, eq=False)
class Rule:
    """A conjunction of conditions, and what it adds to the score of the rows that satisfy it.

    ``str()`` gives a sentence; notebooks show a small table.

    Parameters
    ----------
    conditions : tuple of RuleCondition
    response : float
        What the rule adds to the score, over all rounds that found it and with shrinkage.
    coverage : float
        Share of the weight of the training rows that satisfy it.
    class_histogram : ndarray of shape (K,)
        Share of each class in the weight of these rows; zeros if there are none.
    importance : float
        |response|·√(coverage·(1 − coverage)), the standard deviation that it gives the score.
    rounds : tuple of int
        The rounds that found it, from 0.
    threshold : int or None
        With an ensemble for each threshold, the one that the rule belongs to, from 0.
    labels : tuple of str
        The labels from lowest to highest.
    """

    conditions: tuple[RuleCondition, ...]
    response: float
    coverage: float
    class_histogram: Vector
    importance: float
    rounds: tuple[int, ...]
    threshold: int | None
    labels: tuple[str, ...]

    @property
    def body(self) -> Body:
        """The conditions on the inputs as the model sees them."""
        return tuple(named.condition for named in self.conditions)

    def covers(self, X: Matrix) -> Mask:
        """Rows that satisfy all conditions, of inputs as the model sees them."""
        return covers(self.body, X)

    def text(self, units: Mapping[str, str] | None = None, most: int | None = MOST_NAMES) -> str:
        """The conditions in words.

        Parameters
        ----------
        units : mapping from str to str, optional
            Units of inputs by their names.
        most : int, optional
            Most categories of a condition to name; None names all.

        Returns
        -------
        text : str
        """
        units = units or {}
        return " and ".join(
            named.text(units.get(named.name, ""), most) for named in self.conditions
        )

    @property
    def effect(self) -> str:
        """What the rule does to the score, in words."""
        whose = "" if self.threshold is None else f" for being above {self.labels[self.threshold]}"
        change = "rises" if self.response > 0 else "falls"
        return f"the score{whose} {change} by {amount(self.response)}"

    def sentence(self, units: Mapping[str, str] | None = None, target: str = "label") -> str:
        """The rule in one sentence, with the labels that are typical of the rows that it covers."""
        found = typical(self.class_histogram, self.labels)
        labels = f"; typical {target} {found}" if found else ""
        covered = f"covers {percent(self.coverage)} of rows"
        return f"If {self.text(units)}, {self.effect} ({covered}{labels})."

    def __str__(self) -> str:
        return self.sentence()

    def _repr_html_(self) -> str:
        return html_table(["rule", "adds", "covers", "labels"], [self.html_cells()])

    def html_threshold(self) -> str:
        """Cell for the threshold that the rule belongs to."""
        return "" if self.threshold is None else f"above {escape(self.labels[self.threshold])}"

    def html_cells(self, units: Mapping[str, str] | None = None) -> list[str]:
        """Cells of the rule in a table: conditions, response, coverage and classes."""
        full = escape(self.text(units, most=None), quote=True)
        return [
            f'<span title="{full}">{escape(self.text(units))}</span>',
            signed(self.response),
            bar(self.coverage),
            histogram(self.class_histogram, self.labels),
        ]


def merge_rounds(
    bodies: Sequence[Body],
    responses: Sequence[float] | Vector,
    class_shares: Matrix,
    naming: Naming,
    thresholds: Sequence[int] | None = None,
) -> list[Rule]:
    """Rules of an ensemble, each body once, in the order in which they were found.

    Parameters
    ----------
    bodies : sequence of Body
        The body of every round.
    responses : sequence of float
        What every round adds to the score of the rows that its body covers.
    class_shares : ndarray of shape (M, K)
        Share of the weight of all training rows that the body of every round covers, by class.
    naming : Naming
    thresholds : sequence of int, optional
        With an ensemble for each threshold, the one that every round belongs to; rounds are then
        counted for each threshold by itself.

    Returns
    -------
    rules : list of Rule

    Examples
    --------
    >>> from echelon.rules.words import cut_gaps
    >>> from echelon.solvers.rules.bodies import Interval
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> columns = InputColumns((None,), (False,))
    >>> bodies = [(Interval(0, upper=2.5),), (Interval(0, lower=1.5),), (Interval(0, upper=2.5),)]
    >>> labels, mass = np.array(["low", "high"]), np.array([2.0, 2.0])
    >>> naming = Naming.of(columns, labels, mass, cut_gaps(X, bodies))
    >>> shares = np.array([[0.5, 0.0], [0.25, 0.5], [0.5, 0.0]])
    >>> for rule in merge_rounds(bodies, [-0.2, 0.1, -0.1], shares, naming):
    ...     print(rule)
    If x0 is at most 2, the score falls by 0.30 (covers 50 % of rows; typical label low).
    If x0 is at least 2, the score rises by 0.10 (covers 75 % of rows; typical label low to high).
    """
    found: dict[tuple[int | None, Body], list[tuple[int, float]]] = {}
    covered: dict[Body, Vector] = {}
    counts: dict[int | None, int] = {}
    problems = [None] * len(bodies) if thresholds is None else list(thresholds)
    rounds = zip(problems, bodies, responses, class_shares, strict=True)
    for problem, body, response, shares in rounds:
        covered[body] = shares
        number = counts.get(problem, 0)
        counts[problem] = number + 1
        found.setdefault((problem, body), []).append((number, float(response)))
    return [
        _merged(body, found_in, problem, covered[body], naming)
        for (problem, body), found_in in found.items()
    ]


def feature_importances(rules: Sequence[Rule], n_features: int) -> Vector:
    """Share of each input in the importance of the rules, (d,); zeros if it is nothing.

    The importance of a rule is shared equally by the inputs in it.
    """
    importances = np.zeros(n_features)
    for rule in rules:
        for named in rule.conditions:
            importances[named.feature] += rule.importance / len(rule.conditions)
    total = importances.sum()
    return importances / total if total > 0 else importances


def _merged(
    body: Body,
    rounds: list[tuple[int, float]],
    threshold: int | None,
    shares: Vector,
    naming: Naming,
) -> Rule:
    response = math.fsum(value for _, value in rounds)
    covered = float(shares.sum())
    coverage = min(covered, 1.0)
    return Rule(
        conditions=tuple(naming.condition(condition) for condition in body),
        response=response,
        coverage=coverage,
        class_histogram=shares / covered if covered > 0 else np.zeros_like(shares),
        importance=abs(response) * math.sqrt(coverage * (1.0 - coverage)),
        rounds=tuple(number for number, _ in rounds),
        threshold=None if threshold is None else int(threshold),
        labels=naming.labels,
    )
