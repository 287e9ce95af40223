"""Bodies of rules: conjunctions of conditions on single inputs, and the rows that they cover.

An input is a number or the position of a category. A missing value (NaN) satisfies no condition. A
category that was not seen at ``fit`` has the position after the last; it is one of no set, and so
satisfies only the conditions that exclude a set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._utils.types import Mask, Matrix


@dataclass(frozen=True, order=True)
class Interval:
    """lower < x ≤ upper, for the input x with the index `feature`."""

    feature: int
    lower: float = -np.inf
    upper: float = np.inf

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

    def covers(self, X: Matrix) -> Mask:
        """Rows that satisfy the condition."""
        column = X[:, self.feature]
        inside = np.isin(column, self.members)
        return np.asarray(~inside & ~np.isnan(column)) if self.negated else inside


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
