"""Calls of the loops that search and apply rules and trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from echelon._native import _rule_rows, _rules, _trees
from fuzz.kernel_call import Call, Rng, bytes_of, codes_of, draw_size, starts_of

# ------------------------------------------------------------------------------------ rows of rules


def _cover(rng: Rng) -> Call:
    n_bins, n = rng.integers(1, 9, draw_size(rng, 1, 4)), draw_size(rng, 1)
    arguments = {
        "codes": codes_of(rng, n_bins, n),
        "feature": int(rng.integers(len(n_bins))),
        "allowed": bytes_of(rng, 10),
        "inside": bytes_of(rng, n),
    }
    return Call(
        _rule_rows.cover,
        arguments,
        lambda codes, feature, allowed, inside: {"inside": inside & allowed[codes[feature]]},
    )


def _by_level(rng: Rng, K: int, n: int) -> Any:
    return rng.integers(0, K, n).astype(np.int32)


def _weigh_classes(rng: Rng) -> Call:
    n, K = draw_size(rng), draw_size(rng, 1, 6)
    arguments = {
        "inside": bytes_of(rng, n),
        "classes": _by_level(rng, K, n),
        "weights": rng.random(n),
        "sums": np.zeros(K),
    }
    return Call(
        _rule_rows.weigh_classes,
        arguments,
        lambda inside, classes, weights, sums: {
            "sums": np.bincount(classes, inside * weights, len(sums))
        },
    )


def _rule_sides(rng: Rng) -> Call:
    n, K = draw_size(rng), draw_size(rng, 1, 6)
    arguments = {
        "inside": bytes_of(rng, n),
        "levels": _by_level(rng, K, n),
        "u": rng.random(n),
        "v": rng.random(n),
        "sums": np.zeros((4, K)),
    }

    def twin(inside: Any, levels: Any, u: Any, v: Any, sums: Any) -> dict[str, Any]:
        parts = [(values * (inside == side)) for side in (0, 1) for values in (u, v)]
        return {"sums": [np.bincount(levels, part, sums.shape[1]) for part in parts]}

    return Call(_rule_rows.sum_sides, arguments, twin)


def _raise_scores(rng: Rng) -> Call:
    n = draw_size(rng)
    step = float(rng.standard_normal())
    arguments = {"inside": bytes_of(rng, n), "step": step}
    arguments |= {name: rng.random(n) for name in "fuv"}
    return Call(
        _rule_rows.raise_scores,
        arguments,
        lambda inside, step, f, u, v: {
            "f": f + inside * step,
            "u": u * np.exp(-step * inside),
            "v": v * np.exp(step * inside),
        },
    )


def _factors(rng: Rng) -> Call:
    n, K = draw_size(rng), draw_size(rng, 1, 6)
    arguments = {
        "f": rng.random(n),
        "weights": rng.random(n),
        "levels": _by_level(rng, K, n),
        "least": rng.random(K),
        "most": rng.random(K),
        "u": np.zeros(n),
        "v": np.zeros(n),
    }
    return Call(
        _rule_rows.factors,
        arguments,
        lambda f, weights, levels, least, most, u, v: {
            "u": weights * np.exp(least[levels] - f),
            "v": weights * np.exp(f - most[levels]),
        },
    )


def _extremes(rng: Rng) -> Call:
    n, K = draw_size(rng), draw_size(rng, 1, 6)
    arguments = {
        "f": rng.random(n),
        "levels": _by_level(rng, K, n),
        "least": np.ones(K),
        "most": np.zeros(K),
    }

    def twin(f: Any, levels: Any, least: Any, most: Any) -> dict[str, Any]:
        np.minimum.at(least, levels, f)
        np.maximum.at(most, levels, f)
        return {"least": least, "most": most}

    return Call(_rule_rows.extremes, arguments, twin)


def _add_responses(rng: Rng) -> Call:
    d, n, n_rules = draw_size(rng, 1, 4), int(rng.choice([1, 30, 4096, 5000])), draw_size(rng, 1, 5)
    n_bins = rng.integers(1, 9, d)
    sizes = rng.integers(1, 4, n_rules)
    features = rng.integers(0, d, sizes.sum())
    tables = n_bins[features] + 1
    arguments = {
        "codes": codes_of(rng, n_bins, n),
        "starts": starts_of(sizes),
        "features": features,
        "offsets": starts_of(tables),
        "allowed": bytes_of(rng, int(tables.sum())),
        "responses": rng.standard_normal(n_rules),
        "scores": rng.standard_normal(n),
    }

    def twin(
        codes: Any,
        starts: Any,
        features: Any,
        offsets: Any,
        allowed: Any,
        responses: Any,
        scores: Any,
    ) -> dict[str, Any]:
        for m, response in enumerate(responses):
            inside = np.ones(codes.shape[1], dtype=bool)
            for t in range(starts[m], starts[m + 1]):
                inside &= allowed[offsets[t] + codes[features[t]].astype(int)] > 0
            scores[inside] += response
        return {"scores": scores}

    return Call(_rule_rows.add_responses, arguments, twin)


def _grow_rule(rng: Rng) -> Call:
    d, n, K = draw_size(rng, 1, 4), draw_size(rng, 2, 60), draw_size(rng, 1, 5)
    n_bins = rng.integers(1, 9, d)
    codes = codes_of(rng, n_bins, n)
    additive = bool(rng.random() < 0.3)
    by_order = bool(rng.random() < 0.5)
    arguments = {
        "codes": codes,
        "n_bins": n_bins,
        "nominal": bytes_of(rng, d),
        "has_missing": (codes == n_bins[:, None]).any(axis=1).astype(np.uint8),
        "orders": np.argsort(codes, axis=1, kind="stable").astype(np.int32) if by_order else None,
        "n_levels": K,
        "technique": int(rng.integers(4)),
        "steps": (0.3, 0.4),
        "scratch": (K, int(n_bins.max()) + 1),
        "drawn": bytes_of(rng, n),
        "levels": _by_level(rng, 1 if additive else K, n),
        "u": rng.random(n),
        "v": rng.random(n),
        "weights": rng.random(n),
        "factors": rng.random((2, K)),
        "decay": rng.random(K),
        "additive": additive,
        "features": np.arange(d),
        "restricted": int(rng.integers(d)),
        "allowed": bytes_of(rng, 10),
    }
    return Call(_run_rule, arguments)


def _run_rule(
    codes: Any, n_bins: Any, nominal: Any, has_missing: Any, orders: Any, n_levels: int,
    technique: int, steps: Any, scratch: Any, drawn: Any, levels: Any, u: Any, v: Any,
    weights: Any, factors: Any, decay: Any, additive: bool, features: Any, restricted: int,
    allowed: Any,
) -> Any:  # fmt: skip
    memory = _rules.Scratch(*scratch)
    grower = _rules.RuleGrower(
        codes, n_bins, nominal, has_missing, orders, n_levels, technique, *steps
    )
    gain = grower.begin(
        drawn, levels, u, v, weights.copy(), factors, decay, technique % 2 == 0, additive
    )
    for _ in range(2):
        grower.scan(memory, features, gain)
        gain = memory.found()[0]
        grower.restrict(restricted, allowed)
    return float(gain)


# ------------------------------------------------------------------------------------------- trees


def _grow_tree(rng: Rng) -> Call:
    d, n, T = draw_size(rng, 1, 4), draw_size(rng, 1, 80), draw_size(rng, 1, 4)
    n_bins = rng.integers(1, int(rng.choice([5, 200])), d).astype(np.int32)
    V = rng.standard_normal((n, T))
    uniform = bool(rng.random() < 0.5)
    if uniform:
        V = np.sign(V) * rng.random((n, 1))
    arguments = {
        "stats": np.hstack([V, np.abs(V[:, :1]) if uniform else np.abs(V)]),
        "T": T,
        "rows": np.flatnonzero(rng.random(n) < 0.8).astype(np.int32),
        "features": rng.permutation(d).astype(np.int32),
        "n_bins": n_bins,
        "limits": (
            int(rng.integers(1, 9)),
            2,
            int(rng.integers(1, 4)),
            int(rng.integers(1, d + 1)),
        ),
        "min_share": float(rng.choice([0.0, 0.1])),
        "by_cost": bool(rng.random() < 0.5),
        "codes": codes_of(rng, n_bins, n),
        "work": int(rng.choice([1, 10**9])),
    }
    if not len(arguments["rows"]):
        arguments["rows"] = np.zeros(1, dtype=np.int32)
    return Call(_run_tree, arguments)


def _run_tree(
    stats: Any, T: int, rows: Any, features: Any, n_bins: Any, limits: Any, min_share: float,
    by_cost: bool, codes: Any, work: int,
) -> Any:  # fmt: skip
    max_depth, min_split, min_leaf, max_features = limits
    grower = _trees.Grower(
        stats,
        T,
        rows.copy(),
        features,
        n_bins,
        by_cost=by_cost,
        max_depth=max_depth,
        min_split=min_split,
        min_leaf=min_leaf,
        min_share=min_share,
        max_features=max_features,
        seed=1,
    )
    while grower.advance(codes, max(work, 1)):
        pass
    splits = grower.n_splits
    leaves = np.zeros(codes.shape[1], dtype=np.int32)
    _trees.find_leaves_by_code(
        codes,
        n_bins,
        grower.feature[:splits],
        grower.cut[:splits],
        grower.children[:splits],
        grower.missing_left[:splits],
        leaves,
    )
    if not np.array_equal(leaves[rows], grower.leaf_of_row[rows]):
        raise AssertionError("Rows are in other leaves than the tree that they grew gives.")
    return grower.leaf_stats[: grower.n_leaves]


def _tree(rng: Rng, d: int) -> dict[str, Any]:
    """Random partings, numbered depth first."""
    children: list[list[int]] = []
    leaves = 0

    def grow(depth: int) -> int:
        nonlocal leaves
        if depth == 0 or rng.random() < 0.2:
            leaves += 1
            return ~(leaves - 1)
        node = len(children)
        children.append([0, 0])
        children[node] = [grow(depth - 1), grow(depth - 1)]
        return node

    grow(draw_size(rng, 0, 5))
    P = len(children)
    return {
        "feature": rng.integers(0, d, P).astype(np.int32),
        "children": np.array(children, dtype=np.int32).reshape(P, 2),
        "missing_left": bytes_of(rng, P),
    }


def _walk(values: Any, limits: Any, is_missing: Any, tree: dict[str, Any]) -> Any:
    leaves = []
    for row, missing in zip(values, is_missing, strict=True):
        node = 0 if len(limits) else -1
        while node >= 0:
            j = tree["feature"][node]
            upper = not tree["missing_left"][node] if missing[j] else row[j] > limits[node]
            node = tree["children"][node, int(upper)]
        leaves.append(~node)
    return np.array(leaves, dtype=np.int32)


def _find_leaves(rng: Rng) -> Call:
    d, n = draw_size(rng, 1, 4), draw_size(rng, 1)
    tree = _tree(rng, d)
    X = rng.standard_normal((n, d))
    X[rng.random((n, d)) < 0.1] = np.nan
    arguments = {
        "X": X,
        "feature": tree["feature"],
        "edge": rng.standard_normal(len(tree["feature"])),
        "children": tree["children"],
        "missing_left": tree["missing_left"],
        "leaves": np.zeros(n, dtype=np.int32),
    }
    return Call(
        _trees.find_leaves,
        arguments,
        lambda X, edge, leaves, **tree: {"leaves": _walk(X, edge, np.isnan(X), tree)},
    )


def _find_leaves_by_code(rng: Rng) -> Call:
    d, n = draw_size(rng, 1, 4), draw_size(rng, 1)
    tree, n_bins = _tree(rng, d), rng.integers(1, 9, d).astype(np.int32)
    arguments = {
        "codes": codes_of(rng, n_bins, n),
        "n_bins": n_bins,
        "feature": tree["feature"],
        "cut": rng.integers(0, 9, len(tree["feature"])).astype(np.int32),
        "children": tree["children"],
        "missing_left": tree["missing_left"],
        "leaves": np.zeros(n, dtype=np.int32),
    }
    return Call(
        _trees.find_leaves_by_code,
        arguments,
        lambda codes, n_bins, cut, leaves, **tree: {
            "leaves": _walk(codes.T, cut, n_bins == codes.T, tree)
        },
    )


CALLS: dict[str, Callable[[Rng], Call]] = {
    "_rule_rows.cover": _cover,
    "_rule_rows.weigh_classes": _weigh_classes,
    "_rule_rows.sum_sides": _rule_sides,
    "_rule_rows.raise_scores": _raise_scores,
    "_rule_rows.factors": _factors,
    "_rule_rows.extremes": _extremes,
    "_rule_rows.add_responses": _add_responses,
    "_rules.RuleGrower": _grow_rule,
    "_rules.Scratch": _grow_rule,
    "_trees.Grower": _grow_tree,
    "_trees.find_leaves": _find_leaves,
    "_trees.find_leaves_by_code": _find_leaves_by_code,
}
