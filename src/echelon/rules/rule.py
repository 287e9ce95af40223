"""Rules with names: what a rule ensemble shows of itself."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from .._utils.types import Mask, Matrix, Vector
from ..solvers.rules.bodies import Body, covers
from .html import bar, histogram, table
from .names import MOST_NAMES, Naming, RuleCondition
from .words import amount, percent, signed, typical


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

    def __str__(self) -> str:
        found = typical(self.class_histogram, self.labels)
        labels = f"; typical label {found}" if found else ""
        covered = f"covers {percent(self.coverage)} of rows"
        return f"If {self.text()}, {self.effect} ({covered}{labels})."

    def _repr_html_(self) -> str:
        return table(["rule", "adds", "covers", "labels"], [self.html_cells()])

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
    >>> from echelon.rules.columns import InputColumns
    >>> from echelon.rules.names import name_rules
    >>> from echelon.solvers.rules.bodies import Interval
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> columns = InputColumns((None,), (False,))
    >>> codes, weights = np.array([0, 0, 1, 1]), np.ones(4)
    >>> bodies = [(Interval(0, upper=2.5),), (Interval(0, lower=1.5),), (Interval(0, upper=2.5),)]
    >>> naming = name_rules(bodies, X, codes, weights, ["low", "high"], columns)
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
