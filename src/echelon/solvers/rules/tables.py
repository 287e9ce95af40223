"""Many weighted rules in a form that scores rows fast.

The cuts of all rules on a feature part it into a few bins; a condition is then a table of the bins
that satisfy it, and a rule covers a row if the tables of all its conditions say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._native._rule_rows import add_responses
from ..._utils.types import Matrix, Vector
from ..boosting.bins import code_inputs
from .bodies import Body, Condition, Interval

_ROWS = 2**16


@dataclass(frozen=True)
class RuleTable:
    """Rules compiled by `tabulate_rules`; call it on rows to get their scores."""

    features: npt.NDArray[np.intp]
    edges: tuple[Vector, ...]
    starts: npt.NDArray[np.intp]
    places: npt.NDArray[np.intp]
    offsets: npt.NDArray[np.intp]
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


def _starts(sizes: Sequence[int]) -> npt.NDArray[np.intp]:
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
