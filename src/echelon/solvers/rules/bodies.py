"""Bodies of rules: conjunctions of conditions on single inputs, and the rows that they cover.

An input is a number or the position of a category. A missing value (NaN) satisfies no condition. A
category that was not seen at ``fit`` has the position after the last; it is one of no set, and so
satisfies only the conditions that exclude a set.

Many weighted rules score rows fast as a `RuleTable`: the cuts of all rules on a feature part it
into a few bins; a condition is then a table of the bins that satisfy it, and a rule covers a row if
the tables of all its conditions say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._native._rule_rows import add_responses
from ..._utils.state import require_state
from ..._utils.types import Index, Mask, Matrix, Vector
from ..boosting.bins import code_inputs

_ROWS = 2**16


@dataclass(frozen=True, order=True)
class Interval:
    """lower < x ≤ upper, for the input x with the index `feature`."""

    feature: int
    lower: float = -np.inf
    upper: float = np.inf

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, make no condition."""
        numbers = all(type(end) in (int, float) and end == end for end in (self.lower, self.upper))
        require_state(numbers and _is_feature(self.feature), "its ends are no numbers")

    def covers(self, X: Matrix) -> Mask:
        """Rows that satisfy the condition."""
        column = X[:, self.feature]
        if self.lower == -np.inf:
            return np.asarray(column <= self.upper)
        if self.upper == np.inf:
            return np.asarray(column > self.lower)
        return np.asarray((column > self.lower) & (column <= self.upper))


@dataclass(frozen=True, order=True)
class Membership:
    """The category of an input is one of `members`, or with `negated` none of them."""

    feature: int
    members: tuple[int, ...]
    negated: bool = False

    def check_state(self) -> None:
        """Raise an error if the parts, as a file may hold them, make no condition."""
        listed = isinstance(self.members, tuple) and len(self.members) > 0
        places = listed and all(type(m) is int and 0 <= m < 2**31 for m in self.members)
        kinds = type(self.negated) is bool and _is_feature(self.feature)
        require_state(places and kinds, "its categories are none")

    def covers(self, X: Matrix) -> Mask:
        """Rows that satisfy the condition."""
        column = X[:, self.feature]
        inside = np.isin(column, self.members)
        return np.asarray(~inside & ~np.isnan(column)) if self.negated else inside


def _is_feature(value: object) -> bool:
    return type(value) is int and value >= 0


Condition = Interval | Membership
Body = tuple[Condition, ...]


def covers(body: Body, X: Matrix) -> Mask:
    """Rows that satisfy every condition; all rows if there is none.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [2.0, 1.0], [np.nan, 1.0]])
    >>> covers((Interval(0, upper=1.5),), X)
    array([ True, False, False])
    >>> covers((Membership(1, (0,), negated=True),), X)
    array([False,  True,  True])
    """
    inside = np.ones(len(X), dtype=bool)
    for condition in body:
        inside &= condition.covers(X)
    return inside


@dataclass(frozen=True)
class RuleTable:
    """Rules compiled by `tabulate_rules`; call it on rows to get their scores."""

    features: Index
    edges: tuple[Vector, ...]
    starts: Index
    places: Index
    offsets: Index
    allowed: npt.NDArray[np.uint8]
    responses: Vector

    def __call__(self, X: Matrix) -> Vector:
        """Sum of the responses of the rules that cover each row."""
        scores = np.zeros(len(X))
        for start in range(0, len(X), _ROWS):
            rows = slice(start, start + _ROWS)
            codes = code_inputs(X[rows][:, self.features], self.edges)
            add_responses(
                codes,
                self.starts,
                self.places,
                self.offsets,
                self.allowed,
                self.responses,
                scores[rows],
            )
        return scores


def tabulate_rules(bodies: Sequence[Body], responses: Vector) -> RuleTable:
    """Compile rules that have one condition or more each.

    Examples
    --------
    >>> rules = [(Interval(0, upper=1.5),), (Interval(0, lower=0.5), Interval(1, lower=2.0))]
    >>> tabulate_rules(rules, np.array([1.0, -3.0]))(np.array([[1.0, 5.0], [0.0, 5.0]]))
    array([-2.,  1.])
    """
    conditions = [condition for body in bodies for condition in body]
    by_feature: dict[int, list[Condition]] = {}
    for condition in conditions:
        by_feature.setdefault(condition.feature, []).append(condition)
    features = sorted(by_feature)
    edges = {j: np.unique(np.concatenate([_cuts(c) for c in by_feature[j]])) for j in features}
    tables = [_allowed(condition, edges[condition.feature]) for condition in conditions]
    return RuleTable(
        features=np.array(features, dtype=np.intp),
        edges=tuple(edges[j] for j in features),
        starts=_starts([len(body) for body in bodies]),
        places=np.searchsorted(features, [c.feature for c in conditions]).astype(np.intp),
        offsets=_starts([len(table) for table in tables]),
        allowed=np.concatenate([np.zeros(0, dtype=np.uint8), *tables]),
        responses=np.asarray(responses, dtype=np.float64),
    )


def _starts(sizes: Sequence[int]) -> Index:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def _cuts(condition: Condition) -> Vector:
    if isinstance(condition, Interval):
        ends = np.array([condition.lower, condition.upper])
        return np.asarray(ends[np.isfinite(ends)])
    members = np.array(condition.members)
    return np.concatenate([members - 0.5, members + 0.5])


def _allowed(condition: Condition, edges: Vector) -> npt.NDArray[np.uint8]:
    """Which bins between the edges satisfy the condition; the last stands for missing values."""
    allowed = np.zeros(len(edges) + 2, dtype=np.uint8)
    if isinstance(condition, Interval):
        first = np.searchsorted(edges, condition.lower, side="right")
        last = np.searchsorted(edges, condition.upper, side="left")
        allowed[first : last + 1] = 1
        allowed[-1] = 0
        return allowed
    allowed[np.searchsorted(edges, condition.members, side="left")] = 1
    if condition.negated:
        allowed[:-1] = 1 - allowed[:-1]
    return allowed
