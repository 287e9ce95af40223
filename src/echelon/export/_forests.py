"""Trees and rules as ONNX's tree ensembles, whose answers are used as places in tables.

ONNX's ensemble sums its answers in single precision, so a tree here answers with the number of its
leaf, which is exact; what the leaf holds is looked up in double precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..solvers.boosting.ordinal_tree import OrdinalTree
from ..solvers.rules.bodies import Body, Interval, Membership
from ._graph import Graph, Value

# Whole numbers up to this are exact in single precision.
_MOST_LEAVES = 2**24


@dataclass
class _Nodes:
    """Nodes of all trees in the columns that ONNX asks for."""

    tree: list[int] = field(default_factory=list)
    node: list[int] = field(default_factory=list)
    feature: list[int] = field(default_factory=list)
    mode: list[str] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    low: list[int] = field(default_factory=list)
    high: list[int] = field(default_factory=list)
    missing_true: list[int] = field(default_factory=list)
    leaf_tree: list[int] = field(default_factory=list)
    leaf_node: list[int] = field(default_factory=list)
    leaf_answer: list[float] = field(default_factory=list)

    def branch(
        self, at: tuple[int, int], test: tuple[int, str, float], to: tuple[int, int], missing: bool
    ) -> None:
        """A question: feature, mode, value; the nodes for yes and no; where missing values go."""
        self._add(at, test, to, int(missing))

    def leaf(self, at: tuple[int, int], answer: float) -> None:
        """A leaf with the answer of its tree."""
        self._add(at, (0, "LEAF", 0.0), (0, 0), 0)
        self.leaf_tree.append(at[0])
        self.leaf_node.append(at[1])
        self.leaf_answer.append(answer)

    def _add(
        self, at: tuple[int, int], test: tuple[int, str, float], to: tuple[int, int], missing: int
    ) -> None:
        self.tree.append(at[0])
        self.node.append(at[1])
        self.feature.append(test[0])
        self.mode.append(test[1])
        self.value.append(test[2])
        self.low.append(to[0])
        self.high.append(to[1])
        self.missing_true.append(missing)

    def answers(self, graph: Graph, X: Value, n_trees: int) -> Value:
        """The answer of every tree for every row, (n, trees), in double precision."""
        found = graph.learned_op(
            "TreeEnsembleRegressor",
            X,
            n_targets=n_trees,
            aggregate_function="SUM",
            post_transform="NONE",
            nodes_treeids=self.tree,
            nodes_nodeids=self.node,
            nodes_featureids=self.feature,
            nodes_modes=self.mode,
            nodes_values_as_tensor=graph.tensor(np.array(self.value)),
            nodes_truenodeids=self.low,
            nodes_falsenodeids=self.high,
            nodes_missing_value_tracks_true=self.missing_true,
            target_treeids=self.leaf_tree,
            target_nodeids=self.leaf_node,
            target_ids=self.leaf_tree,
            target_weights_as_tensor=graph.tensor(np.array(self.leaf_answer)),
        )
        return found.cast("float64")


def leaf_numbers(graph: Graph, X: Value, trees: Sequence[OrdinalTree], columns: Any) -> Value:
    """Leaf of every tree for every row, counted through all trees, (n, trees) of int64.

    Parameters
    ----------
    columns : sequence of ndarray
        The columns of X that the features of each tree stand for.
    """
    total = sum(tree.n_leaves for tree in trees)
    if total > _MOST_LEAVES:
        raise ValueError(
            f"A forest with {total:,} leaves cannot be exported; at most {_MOST_LEAVES:,} can."
        )
    nodes, first = _Nodes(), 0
    for number, (tree, places) in enumerate(zip(trees, columns, strict=True)):
        _add_tree(nodes, number, tree, np.asarray(places), first)
        first += tree.n_leaves
    return nodes.answers(graph, X, len(trees)).cast("int64")


def _add_tree(
    nodes: _Nodes, number: int, tree: OrdinalTree, places: npt.NDArray[Any], first: int
) -> None:
    partings = len(tree.feature)
    # Leaves are numbered after the partings; a tree without partings is leaf 0 alone.
    for p in range(partings):
        low, high = (int(c) if c >= 0 else partings + int(~c) for c in tree.children[p])
        test = (int(places[tree.feature[p]]), "BRANCH_LEQ", float(tree.edge[p]))
        nodes.branch((number, p), test, (low, high), bool(tree.missing_low[p]))
    for leaf in range(tree.n_leaves):
        nodes.leaf((number, partings + leaf), float(first + leaf))


def places_between_cuts(graph: Graph, X: Value, cuts: Sequence[tuple[int, Any]]) -> Value:
    """Number of cuts below each row's value, for pairs of a column and its ascending cuts.

    Returns (n, pairs) of int64; each column is a balanced tree, so many cuts cost little.
    """
    nodes = _Nodes()
    for number, (feature, values) in enumerate(cuts):
        _add_search(nodes, number, feature, np.asarray(values, dtype=np.float64))
    return nodes.answers(graph, X, len(cuts)).cast("int64")


def _add_search(nodes: _Nodes, number: int, feature: int, cuts: npt.NDArray[np.float64]) -> None:
    """A balanced tree whose leaf g answers g; leaves are numbered after the cuts."""
    m = len(cuts)

    def node_of(first: int, last: int) -> int:
        return m + first if first == last else (first + last) // 2

    # ONNX takes the first node of a tree as its root.
    waiting = [(0, m)]
    while waiting:
        first, last = waiting.pop()
        if first == last:
            nodes.leaf((number, m + first), float(first))
            continue
        middle = (first + last) // 2
        test = (int(feature), "BRANCH_LEQ", float(cuts[middle]))
        children = node_of(first, middle), node_of(middle + 1, last)
        nodes.branch((number, middle), test, children, missing=False)
        waiting += [(middle + 1, last), (first, middle)]


def rule_coverage(graph: Graph, X: Value, width: int, bodies: Sequence[Body]) -> Value:
    """One where a rule covers a row and zero elsewhere, (n, rules).

    Sets of categories are columns of their own, so that every condition is a comparison.
    """
    sets = {c: None for body in bodies for c in body if isinstance(c, Membership)}
    places = {condition: width + number for number, condition in enumerate(sets)}
    if sets:
        X = graph.concat([X, *(_holds(X, condition) for condition in sets)])
    nodes = _Nodes()
    for number, body in enumerate(bodies):
        _add_chain(nodes, number, [test for c in body for test in _tests(c, places)])
    return nodes.answers(graph, X, len(bodies))


def _add_chain(nodes: _Nodes, number: int, tests: list[tuple[int, str, float]]) -> None:
    """A tree that answers one where all tests hold."""
    n = len(tests)
    # Every test has a leaf of its own to fail to: ONNX's trees share no nodes.
    for place, test in enumerate(tests):
        nodes.branch((number, place), test, (place + 1, n + 1 + place), missing=False)
    nodes.leaf((number, n), 1.0)
    for place in range(n):
        nodes.leaf((number, n + 1 + place), 0.0)


def _tests(condition: Any, places: dict[Membership, int]) -> list[tuple[int, str, float]]:
    if isinstance(condition, Membership):
        return [(places[condition], "BRANCH_GT", 0.5)]
    assert isinstance(condition, Interval)
    tests = []
    if condition.lower != -np.inf:
        tests.append((condition.feature, "BRANCH_GT", condition.lower))
    if condition.upper != np.inf or not tests:
        tests.append((condition.feature, "BRANCH_LEQ", condition.upper))
    return tests


def _holds(X: Value, condition: Membership) -> Value:
    column = X.column(condition.feature)
    members = np.array(condition.members, dtype=np.float64)[None, :]
    inside = column.equals(members).cast("float64").max(keep=True)
    if not condition.negated:
        return inside
    return column.is_missing().where(0.0, 1.0 - inside)
