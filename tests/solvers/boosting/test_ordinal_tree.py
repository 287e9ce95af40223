"""Ordinal trees against a slow twin, brute force over all splits, and symmetries."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stumps import grow_tree

from echelon.ordinal.costs import cost_matrix, threshold_weights
from echelon.ordinal.reduction import decode, signed_weights
from echelon.solvers.boosting.bins import bin_inputs
from echelon.solvers.boosting.ordinal_tree import TreeLearner, TreeLimits

EQUAL = 1e-10


def impurity(V):
    above, below = np.clip(V, 0, None).sum(axis=0), np.clip(-V, 0, None).sum(axis=0)
    whole = np.where(above + below > 0, above + below, 1.0)
    return float((above * below / whole).sum())


def rank_costs(V):
    ups, downs = np.clip(V, 0, None), np.clip(-V, 0, None)
    return np.array([downs[:, :r].sum() + ups[:, r:].sum() for r in range(V.shape[1] + 1)])


def least_cost(V):
    return float(rank_costs(V).min())


def partings(codes, n_bins, rows):
    """All ways to part rows, in the order in which the first of equals wins."""
    for j, column in enumerate(codes):
        here = column[rows]
        gone = here == n_bins[j]
        values = np.unique(here[~gone])
        for low, high in pairwise(values):
            cut = low + (high - low - 1) // 2
            yield j, cut, False, gone.any(), (here <= cut)
            if gone.any():
                yield j, cut, True, True, (here <= cut) | gone
        if gone.any() and len(values):
            yield j, n_bins[j] - 1, False, True, ~gone


class Twin:
    """The same tree by loops over all partings and sums over all of their rows."""

    def __init__(self, bins, V, limits):
        self.codes, self.n_bins, self.V, self.limits = bins.codes, bins.n_bins, V, limits
        self.splits, self.leaves, self.gains = [], [], []
        self.grow(np.flatnonzero(V.any(axis=1)), 0)

    def best(self, rows):
        V, whole = self.V[rows], np.abs(self.V[rows]).sum()
        blind = impurity(V) <= 0.25 * EQUAL * whole
        by_cost = self.limits.criterion == "cost" or blind
        best, least, second = None, np.inf, np.inf
        for parting in partings(self.codes, self.n_bins, rows):
            low = parting[-1]
            if min(low.sum(), (~low).sum()) < self.limits.min_samples_leaf:
                continue
            lighter = min(np.abs(V[low]).sum(), np.abs(V[~low]).sum())
            if lighter < (self.limits.min_share_leaf - 1e-12) * np.abs(self.V).sum():
                continue
            mixed = 4 * (impurity(V[low]) + impurity(V[~low]))
            paid = least_cost(V[low]) + least_cost(V[~low])
            first, then = (paid, mixed) if by_cost else (mixed, 0.0)
            level = first <= least + EQUAL * whole
            if first < least - EQUAL * whole or (level and then < second - EQUAL * whole):
                best, least, second = parting, first, then
        return best, by_cost

    def grow(self, rows, depth):
        """Number of the node, as children have it."""
        V, limits = self.V[rows], self.limits
        settled = least_cost(V) <= EQUAL * np.abs(V).sum() or len(rows) < limits.min_samples_split
        best, by_cost = None, False
        if not settled and depth != limits.max_depth:
            best, by_cost = self.best(rows)
        if best is None:
            self.leaves.append(rows)
            return ~(len(self.leaves) - 1)
        j, cut, missing_low, seen, low = best
        if not seen:
            missing_low = np.abs(V[low]).sum() >= np.abs(V[~low]).sum()
        node = len(self.splits)
        self.splits.append(None)
        self.gains.append(self.gain(V, low, by_cost))
        children = [self.grow(rows[side], depth + 1) for side in (low, ~low)]
        self.splits[node] = (j, int(cut), int(missing_low), *children)
        return node

    def gain(self, V, low, by_cost):
        if self.limits.criterion == "cost":
            return least_cost(V) - least_cost(V[low]) - least_cost(V[~low])
        return 0.0 if by_cost else impurity(V) - impurity(V[low]) - impurity(V[~low])


@st.composite
def problems(draw, integer_weights=False):
    """Few values, missing ones, rows without weight, and weights of any kind."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, d, K = draw(st.integers(2, 25)), draw(st.integers(1, 3)), draw(st.integers(2, 5))
    X = rng.integers(0, draw(st.sampled_from([2, 5, 50])), (n, d)).astype(float)
    if draw(st.booleans()):
        X[rng.random((n, d)) < 0.3] = np.nan
    y = rng.integers(0, K, n)
    cost = draw(st.sampled_from(["absolute", "squared", "zero_one", "any"]))
    if cost == "any":
        W = rng.integers(0, 4, (n, K - 1)).astype(float)
    else:
        W = threshold_weights(cost_matrix(cost, K))[y]
    weights = rng.integers(0, 3, n).astype(float)
    if not integer_weights and draw(st.booleans()):
        weights *= rng.random(n)
    if not (W * weights[:, None]).any():
        weights[:], W[:] = 1.0, 1.0
    return X, y, W, weights


@st.composite
def limits(draw):
    return TreeLimits(
        criterion=draw(st.sampled_from(["gini", "cost"])),
        max_depth=draw(st.sampled_from([None, 1, 2, 4])),
        min_samples_split=draw(st.sampled_from([2, 5])),
        min_samples_leaf=draw(st.sampled_from([1, 1, 3])),
        min_share_leaf=draw(st.sampled_from([0.0, 0.0, 0.1])),
    )


def signed(y, W, weights):
    return signed_weights(y, W * weights[:, None])


@settings(max_examples=300, deadline=None)
@given(problems(), limits())
def test_the_twin_grows_the_same_tree(problem, limit):
    X, y, W, weights = problem
    V, bins = signed(y, W, weights), bin_inputs(X)
    twin = Twin(bins, V, limit)
    tree, leaves = TreeLearner(bins, limit).grow(V)
    grown = zip(
        tree.feature.tolist(),
        tree.cut.tolist(),
        tree.missing_low.tolist(),
        *tree.children.T.tolist(),
        strict=True,
    )
    assert list(grown) == twin.splits
    np.testing.assert_allclose(tree.gain, twin.gains, atol=1e-9 * np.abs(V).sum())
    assert tree.n_leaves == len(twin.leaves)
    for leaf, rows in enumerate(twin.leaves):
        np.testing.assert_array_equal(leaves[rows], leaf)
    assert (leaves[~V.any(axis=1)] == -1).all()
    np.testing.assert_array_equal(tree.apply(X), tree.apply_codes(bins))
    seen = leaves >= 0
    np.testing.assert_array_equal(tree.apply(X)[seen], leaves[seen])


@settings(max_examples=100, deadline=None)
@given(problems(), st.sampled_from(["gini", "cost"]))
def test_no_split_of_the_root_is_better(problem, criterion):
    X, y, W, weights = problem
    V = signed(y, W, weights)
    tree = grow_tree(bin_inputs(X), V, TreeLimits(criterion, max_depth=1))
    measure = least_cost if criterion == "cost" else impurity
    leaves = tree.apply(X)
    ours = sum(measure(V[leaves == leaf]) for leaf in range(tree.n_leaves))
    # Of rows without weight no split can be told; they do no harm in the sums.
    weighted = V.any(axis=1)
    sums = [measure(V)] if tree.n_leaves == 1 else []
    for j in range(X.shape[1]):
        gone = np.isnan(X[:, j])
        for value in np.unique(X[weighted & ~gone, j]):
            low = X[:, j] <= value
            for side in (low, low | gone):
                if (side & weighted).any() and (~side & weighted).any():
                    sums.append(measure(V[side]) + measure(V[~side]))
    if tree.n_leaves == 1:
        assert least_cost(V) <= 1e-9 * np.abs(V).sum() or len(sums) == 1
    else:
        assert ours <= min(sums) + 1e-9 * np.abs(V).sum()


@settings(max_examples=100, deadline=None)
@given(problems(), limits())
def test_leaves_have_the_rank_of_least_cost_and_margins_that_say_how_much(problem, limit):
    X, y, W, weights = problem
    V = signed(y, W, weights)
    tree, leaves = TreeLearner(bin_inputs(X), limit).grow(V)
    np.testing.assert_array_equal(decode(tree.margins), tree.leaf_ranks)
    K = V.shape[1] + 1
    for leaf in range(tree.n_leaves):
        here = V[leaves == leaf]
        costs = rank_costs(here)
        size = np.abs(here).sum() / (K - 1)
        best = np.flatnonzero(costs <= costs.min() + 1e-11 * size)
        assert tree.leaf_ranks[leaf] == best[0]
        margins = [costs[: k + 1].min() - costs[k + 1 :].min() for k in range(K - 1)]
        np.testing.assert_allclose(tree.margins[leaf], np.array(margins) / size, atol=1e-9)


def same_splits(one, other):
    for name in ("feature", "edge", "children", "missing_low"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


@settings(max_examples=100, deadline=None)
@given(problems(integer_weights=True), limits())
def test_integer_weights_are_repeated_rows(problem, limit):
    X, y, W, weights = problem
    # Limits count rows, so only those that a repeated row does not pass are comparable.
    limit = TreeLimits(limit.criterion, limit.max_depth, min_share_leaf=limit.min_share_leaf)
    V, repeats = signed(y, W, np.ones(len(y))), weights.astype(int)
    weighted = grow_tree(bin_inputs(X, weights=weights), V * weights[:, None], limit)
    repeated = grow_tree(
        bin_inputs(np.repeat(X, repeats, axis=0)), np.repeat(V, repeats, axis=0), limit
    )
    same_splits(weighted, repeated)
    np.testing.assert_allclose(weighted.margins, repeated.margins, atol=1e-12)


@settings(max_examples=100, deadline=None)
@given(problems(), limits(), st.sampled_from([1e-6, 0.3, 7.0, 1e9]))
def test_the_unit_of_weights_does_not_matter(problem, limit, unit):
    X, y, W, weights = problem
    V, bins = signed(y, W, weights), bin_inputs(X)
    one, other = grow_tree(bins, V, limit), grow_tree(bins, unit * V, limit)
    same_splits(one, other)
    np.testing.assert_allclose(other.margins, one.margins, atol=1e-9)
    np.testing.assert_allclose(other.gain, unit * one.gain, atol=1e-9 * unit * np.abs(V).sum())
    np.testing.assert_array_equal(other.leaf_ranks, one.leaf_ranks)


@settings(max_examples=100, deadline=None)
@given(problems(), limits())
def test_reversed_ranks_mirror_the_margins(problem, limit):
    X, y, W, weights = problem
    V, bins = signed(y, W, weights), bin_inputs(X)
    one, other = (
        grow_tree(bins, V, limit),
        grow_tree(bins, np.ascontiguousarray(-V[:, ::-1]), limit),
    )
    same_splits(one, other)
    np.testing.assert_allclose(other.margins, -one.margins[:, ::-1], atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(problems(), limits())
def test_increasing_transformations_change_no_leaf(problem, limit):
    X, y, W, weights = problem
    V = signed(y, W, weights)
    bins, bent = bin_inputs(X), bin_inputs(np.exp(X / 3.0))
    one, other = grow_tree(bins, V, limit), grow_tree(bent, V, limit)
    np.testing.assert_array_equal(one.apply(X), other.apply(np.exp(X / 3.0)))


def large(n=3000, d=4, K=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    scores = X[:, 0] + np.sin(3 * X[:, 1]) + 0.5 * rng.normal(size=n)
    y = np.searchsorted(np.quantile(scores, np.arange(1, K) / K), scores)
    return X, signed_weights(y, rng.random((n, 1)) * np.ones(K - 1))


def test_many_values_and_rows_agree_with_the_twin():
    X, V = large(400)
    for criterion in ("gini", "cost"):
        limit = TreeLimits(criterion, max_depth=3)
        bins = bin_inputs(X)
        twin, tree = Twin(bins, V, limit), grow_tree(bins, V, limit)
        assert tree.feature.tolist() == [split[0] for split in twin.splits]
        assert tree.cut.tolist() == [split[1] for split in twin.splits]


def test_bytes_and_integers_give_the_same_tree():
    X, V = large()
    bins = bin_inputs(X, 200)
    assert bins.codes.dtype == np.uint8
    wide = type(bins)(bins.codes.astype(np.int32), bins.edges)
    same_splits(grow_tree(bins, V), grow_tree(wide, V))


def test_a_tree_without_limits_fits_distinct_rows_and_its_depth_is_that_of_its_leaves():
    X, V = large()
    tree = grow_tree(bin_inputs(X), V)
    ranks = tree.ranks(X)
    np.testing.assert_array_equal((V > 0).sum(axis=1), ranks)
    assert tree.n_leaves == len(tree.feature) + 1
    depth = {0: 0}
    for node, children in enumerate(tree.children.tolist()):
        for child in children:
            depth[child] = depth[node] + 1
    assert tree.depth == max(depth.values())
    assert sorted(~c for c in depth if c < 0) == list(range(tree.n_leaves))


def test_importances_add_up_and_belong_to_the_features_that_matter():
    X, V = large()
    tree = grow_tree(bin_inputs(X), V, TreeLimits(max_depth=4))
    importances = tree.importances(4)
    assert importances.sum() == pytest.approx(1.0)
    assert importances[:2].min() > 10 * importances[2:].max()
    np.testing.assert_allclose(
        tree.gain.sum(),
        impurity(V) - sum(impurity(V[tree.apply(X) == leaf]) for leaf in range(tree.n_leaves)),
    )


def test_where_nothing_costs_anything_there_is_one_leaf():
    tree = grow_tree(bin_inputs(np.array([[1.0], [2.0]])), np.zeros((2, 3)))
    assert tree.n_leaves == 1 and tree.depth == 0
    np.testing.assert_array_equal(tree.ranks(np.array([[5.0], [np.nan]])), [0, 0])
    np.testing.assert_array_equal(tree.importances(1), [0.0])


def test_values_missing_only_later_go_to_the_heavier_side():
    X = np.arange(5.0)[:, None]
    light_low = signed_weights(np.array([0, 1, 1, 1, 1]), np.ones((5, 1)))
    tree = grow_tree(bin_inputs(X), light_low)
    assert tree.ranks(np.array([[np.nan]])) == [1]
    mirrored = grow_tree(bin_inputs(-X), light_low)
    assert mirrored.ranks(np.array([[np.nan]])) == [1]
    assert not tree.saw_missing


def test_missing_values_can_be_parted_from_all_others():
    X = np.array([[1.0], [np.nan], [3.0], [np.nan]])
    tree = grow_tree(bin_inputs(X), np.array([[-1.0], [1.0], [-1.0], [1.0]]))
    assert tree.edge.tolist() == [np.inf] and tree.saw_missing
    assert tree.ranks(np.array([[-99.0], [99.0], [np.nan]])).tolist() == [0, 0, 1]


def test_random_features_depend_on_the_seed_alone_and_constants_change_nothing():
    X, V = large()
    limit = TreeLimits(max_features=1, max_depth=5)
    bins = bin_inputs(X)
    same_splits(grow_tree(bins, V, limit, seed=3), grow_tree(bins, V, limit, seed=3))
    roots = {int(grow_tree(bins, V, limit, seed).feature[0]) for seed in range(40)}
    assert roots == {0, 1, 2, 3}
    padded = np.column_stack([np.ones(len(X)), X, np.zeros(len(X))])
    tree, other = grow_tree(bins, V, limit), grow_tree(bin_inputs(padded), V, limit)
    np.testing.assert_array_equal(tree.feature + 1, other.feature)
    np.testing.assert_array_equal(tree.edge, other.edge)


def test_a_feature_that_is_constant_in_the_node_does_not_use_up_the_choice():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.repeat([0.0, 1.0], 50), rng.random(100)])
    y = np.repeat([0, 1], 50) * 2 + (X[:, 1] > 0.5)
    V = signed_weights(y, np.ones((100, 3)))
    for seed in range(10):
        tree = grow_tree(bin_inputs(X), V, TreeLimits(max_features=1), seed)
        np.testing.assert_array_equal(tree.ranks(X), y)


@pytest.mark.parametrize(
    ("value", "count"), [(None, 9), ("sqrt", 3), (4, 4), (20, 9), (0.5, 4), (0.01, 1), (1.0, 9)]
)
def test_how_many_features_are_looked_at(value, count):
    assert TreeLimits(max_features=value).features_of(9) == count


def test_classes_are_counted_by_leaf():
    X, V = large(50)
    tree, leaves = TreeLearner(bin_inputs(X), TreeLimits(max_depth=2)).grow(V)
    codes, weights = (V > 0).sum(axis=1), np.arange(50.0)
    mass = tree.count_classes(leaves, codes, weights, 5).class_mass
    assert mass.shape == (tree.n_leaves, 5)
    for leaf, level in np.ndindex(mass.shape):
        assert mass[leaf, level] == weights[(leaves == leaf) & (codes == level)].sum()
