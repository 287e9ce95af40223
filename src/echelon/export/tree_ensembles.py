"""Trees and rules as ONNX's tree ensembles, whose answers are used as places in tables.

ONNX's ensemble sums its answers in single precision, so a tree here answers with the number of its
leaf, which is exact; what the leaf holds is looked up in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector
from ..solvers.boosting.ordinal_tree import OrdinalTree
from ..solvers.rules.bodies import Body, Condition, Membership
from .graph import Graph, Value

# Whole numbers up to this are exact in single precision.
_MOST_LEAVES = 2**24


class _Node(NamedTuple):
    """A question: feature, mode and value; the nodes for yes and no; where missing values go."""

    tree: int
    node: int
    feature: int = 0
    mode: str = "LEAF"
    value: float = 0.0
    yes: int = 0
    no: int = 0
    missing_yes: int = 0
    answer: float = 0.0


def _answers(graph: Graph, X: Value, nodes: Sequence[_Node], n_trees: int) -> Value:
    """The answer of every tree for every row, (n, trees), in double precision."""
    of = dict(zip(_Node._fields, zip(*nodes, strict=True), strict=True))
    leaves = [node for node in nodes if node.mode == "LEAF"]
    trees = [leaf.tree for leaf in leaves]
    found = graph.op(
        "TreeEnsembleRegressor",
        X,
        n_targets=n_trees,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=of["tree"],
        nodes_nodeids=of["node"],
        nodes_featureids=of["feature"],
        nodes_modes=of["mode"],
        nodes_values_as_tensor=graph.tensor(np.array(of["value"])),
        nodes_truenodeids=of["yes"],
        nodes_falsenodeids=of["no"],
        nodes_missing_value_tracks_true=of["missing_yes"],
        target_treeids=trees,
        target_nodeids=[leaf.node for leaf in leaves],
        target_ids=trees,
        target_weights_as_tensor=graph.tensor(np.array([leaf.answer for leaf in leaves])),
    )
    return found.cast("float64")


def leaf_numbers(
    graph: Graph,
    X: Value,
    trees: Sequence[OrdinalTree],
    columns: Sequence[Sequence[int] | npt.NDArray[np.intp]],
) -> Value:
    """Leaf of every tree for every row, counted through all trees, (n, trees) of int64.

    Parameters
    ----------
    columns : sequence of array-like
        The columns of X that the features of each tree stand for.
    """
    total = sum(tree.n_leaves for tree in trees)
    if total > _MOST_LEAVES:
        raise ValueError(
            f"A forest with {total:,} leaves cannot be exported; at most {_MOST_LEAVES:,} can."
        )
    nodes: list[_Node] = []
    first = 0
    for number, (tree, places) in enumerate(zip(trees, columns, strict=True)):
        nodes += _tree_nodes(number, tree, np.asarray(places), first)
        first += tree.n_leaves
    return _answers(graph, X, nodes, len(trees)).cast("int64")


def _tree_nodes(
    number: int, tree: OrdinalTree, places: npt.NDArray[np.intp], first: int
) -> Iterator[_Node]:
    splits = len(tree.feature)
    # Leaves are numbered after the splits; a tree without splits is leaf 0 alone.
    for p in range(splits):
        low, high = (int(c) if c >= 0 else splits + int(~c) for c in tree.children[p])
        test = (int(places[tree.feature[p]]), "BRANCH_LEQ", float(tree.edge[p]))
        yield _Node(number, p, *test, low, high, int(tree.missing_low[p]))
    for leaf in range(tree.n_leaves):
        yield _Node(number, splits + leaf, answer=float(first + leaf))


def places_between_cuts(graph: Graph, X: Value, cuts: Sequence[tuple[int, Vector]]) -> Value:
    """Number of cuts below each row's value, for pairs of a column and its ascending cuts.

    Returns (n, pairs) of int64; each column is a balanced tree, so many cuts cost little.
    """
    nodes: list[_Node] = []
    for number, (feature, values) in enumerate(cuts):
        nodes += _search_nodes(number, feature, np.asarray(values, dtype=np.float64))
    return _answers(graph, X, nodes, len(cuts)).cast("int64")


def _search_nodes(number: int, feature: int, cuts: Vector) -> Iterator[_Node]:
    """A balanced tree whose leaf g answers g; leaves are numbered after the cuts."""
    m = len(cuts)

    def node_of(first: int, last: int) -> int:
        return m + first if first == last else (first + last) // 2

    # ONNX takes the first node of a tree as its root.
    waiting = [(0, m)]
    while waiting:
        first, last = waiting.pop()
        if first == last:
            yield _Node(number, m + first, answer=float(first))
            continue
        middle = (first + last) // 2
        test = (int(feature), "BRANCH_LEQ", float(cuts[middle]))
        yield _Node(number, middle, *test, node_of(first, middle), node_of(middle + 1, last))
        waiting += [(middle + 1, last), (first, middle)]


def rule_coverage(graph: Graph, X: Value, width: int, bodies: Sequence[Body]) -> Value:
    """One where a rule covers a row and zero elsewhere, (n, rules).

    Sets of categories are columns of their own, so that every condition is a comparison.
    """
    sets = {c: None for body in bodies for c in body if isinstance(c, Membership)}
    places = {condition: width + number for number, condition in enumerate(sets)}
    if sets:
        X = graph.concat([X, *(_holds(X, condition) for condition in sets)])
    nodes: list[_Node] = []
    for number, body in enumerate(bodies):
        nodes += _chain_nodes(number, [test for c in body for test in _tests(c, places)])
    return _answers(graph, X, nodes, len(bodies))


def _chain_nodes(number: int, tests: Sequence[tuple[int, str, float]]) -> Iterator[_Node]:
    """A tree that answers one where all tests hold."""
    n = len(tests)
    # Every test has a leaf of its own to fail to: ONNX's trees share no nodes.
    for place, test in enumerate(tests):
        yield _Node(number, place, *test, place + 1, n + 1 + place)
    yield _Node(number, n, answer=1.0)
    for place in range(n):
        yield _Node(number, n + 1 + place)


def _tests(condition: Condition, places: dict[Membership, int]) -> list[tuple[int, str, float]]:
    if isinstance(condition, Membership):
        return [(places[condition], "BRANCH_GT", 0.5)]
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
