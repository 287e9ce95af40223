"""Names and words for the conditions of rules."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._utils.types import Codes, Matrix, Vector
from ..solvers.rules.bodies import Body, Condition, Interval, Membership
from .columns import InputColumns
from .cuts import Gaps, ShownCut, cut_gaps, plain_number, shown_cut
from .words import category, listing

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
        if self.members_shown:
            return self._membership(most)
        unit = f" {unit}" if unit and self.takes_unit else ""
        low, high = self.lower_shown, self.upper_shown
        if not low and not high:
            return "is known"
        if not low:
            return f"is at most {high}{unit}"
        if not high:
            return f"is at least {low}{unit}"
        return f"is {low}{unit}" if low == high else f"is between {low} and {high}{unit}"

    def _membership(self, most: int | None) -> str:
        names = self.members_shown
        if len(names) == 1:
            return f"is {'not ' if self.excludes else ''}{names[0]}"
        return f"is {'none' if self.excludes else 'one'} of {listing(names, most)}"


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


def name_rules(
    bodies: Sequence[Body],
    X: Matrix,
    codes: Codes,
    sample_weight: Vector,
    labels: Sequence[Any],
    columns: InputColumns,
    features: Sequence[str] | None = None,
) -> Naming:
    """Names for the rules of a model, from its training rows.

    Parameters
    ----------
    bodies : sequence of Body
    X : ndarray of shape (n, d)
        Training inputs as the model sees them.
    codes : ndarray of int of shape (n,)
    sample_weight : ndarray of shape (n,)
    labels : sequence of length K
        The labels from lowest to highest.
    columns : InputColumns
    features : sequence of str, optional
        Names of the inputs; by default x0, x1, …

    Returns
    -------
    naming : Naming
    """
    mass = np.bincount(codes, sample_weight, minlength=len(labels))
    numeric = {j for j, known in enumerate(columns.categories) if known is None}
    cut = [tuple(c for c in body if c.feature in numeric) for body in bodies]
    return Naming(
        features=tuple(f"x{j}" for j in range(X.shape[1])) if features is None else tuple(features),
        labels=tuple(category(label) for label in np.asarray(labels).tolist()),
        columns=columns,
        gaps=cut_gaps(X, cut),
        class_shares=tuple((mass / mass.sum()).tolist()),
    )


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
