"""Calls of the loops over pairs of rows, of the perceptron and of the support vector solvers."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from echelon._native import _pair_boxes, _pair_counts, _pair_windows, _prank, _smo
from echelon.pairs.logistic import _tables, _tails
from fuzz.kernel_call import Call, Rng, draw_size, starts_of


def _rows(rng: Rng) -> dict[str, Any]:
    """Rows of few queries, by ascending score, with the levels of each query."""
    sizes = rng.integers(1, 40, draw_size(rng, 1, 3))
    bounds = starts_of(sizes)
    n_levels = rng.integers(1, int(rng.choice([4, 30])), len(sizes)).astype(np.int32)
    spread = float(rng.choice([1.0, 100.0]))
    parts = [np.sort((spread * rng.standard_normal(size)).round(1)) for size in sizes]
    return {
        "bounds": bounds,
        "n_levels": n_levels,
        "levels": np.concatenate(
            [rng.integers(0, K, size) for K, size in zip(n_levels, sizes, strict=True)]
        ).astype(np.int32),
        "scores": np.concatenate(parts),
        "weights": rng.random(int(bounds[-1])),
    }


def _won(bounds: Any, levels: Any) -> Any:
    """Which row wins over which, (n, n)."""
    query = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds))
    return (query[:, None] == query) & (levels[:, None] > levels)


def _count_pairs(rng: Rng) -> Call:
    rows = _rows(rng)
    bounds, b, a = rows["bounds"], rows["levels"], rows["scores"].round()
    for q in range(len(bounds) - 1):
        here = slice(bounds[q], bounds[q + 1])
        order = np.lexsort([b[here], a[here]])
        a[here], b[here] = a[here][order], b[here][order]
    arguments = {
        "bounds": bounds,
        "n_levels": rows["n_levels"],
        "a": a,
        "b": b,
        "weights": rows["weights"],
        "tree": np.zeros(64),
        "counts": np.zeros((len(bounds) - 1, 5)),
    }

    def twin(
        bounds: Any, n_levels: Any, a: Any, b: Any, weights: Any, tree: Any, counts: Any
    ) -> dict[str, Any]:
        for q in range(len(bounds) - 1):
            here = slice(bounds[q], bounds[q + 1])
            da, db = (np.sign(np.subtract.outer(x[here], x[here])) for x in (a, b))
            w = np.triu(np.outer(weights[here], weights[here]), 1)
            kinds = [da * db > 0, da * db < 0, (da == 0) & (db != 0), (da != 0) & (db == 0)]
            counts[q] = [w[kind].sum() for kind in [*kinds, (da == 0) & (db == 0)]]
        return {"counts": counts}

    return Call(_pair_counts.count_sorted_pairs, arguments, twin)


def _pair_fields(rng: Rng) -> Call:
    rows = _rows(rng)
    n, Q = len(rows["scores"]), len(rows["n_levels"])
    loss, slope, curvature = _tables()
    second = bool(rng.random() < 0.5)
    boxes = n
    arguments = {
        **{name: rows[name] for name in ("bounds", "n_levels", "levels", "scores")},
        "charges": rows["weights"],
        "table": curvature if second else slope,
        "loss_table": loss,
        "tails": _tails(),
        "second": second,
        "places": np.zeros((2, n), dtype=np.intp),
        "boxes": np.zeros((2, boxes * (1 + 2 * _pair_boxes.N_MOMENTS))),
        "starts": np.zeros((2, boxes + 1), dtype=np.intp),
        "won": np.zeros(n),
        "lost": np.zeros(n),
        "values": np.zeros(Q),
    }

    def twin(
        bounds: Any, levels: Any, scores: Any, charges: Any, second: bool, **rest: Any
    ) -> dict[str, Any]:
        margin = np.subtract.outer(scores, scores)
        sigma = 1.0 / (1.0 + np.exp(np.clip(margin, -700, 700)))
        f = np.where(_won(bounds, levels), sigma * (1.0 - sigma) if second else sigma, 0.0)
        return {"won": f @ charges, "lost": f.T @ charges}

    return Call(_pair_boxes.pair_fields, arguments, twin)


def _group_by_query(rng: Rng) -> Call:
    n, Q = draw_size(rng), draw_size(rng, 1, 5)
    queries = rng.integers(0, Q, n)
    starts = np.concatenate([[0], np.cumsum(np.bincount(queries, minlength=Q))])[:-1]
    arguments = {
        "order": rng.permutation(n),
        "queries": queries,
        "cursors": starts,
        "grouped": np.zeros(n, dtype=np.intp),
    }

    def twin(order: Any, queries: Any, cursors: Any, grouped: Any) -> dict[str, Any]:
        return {"grouped": order[np.argsort(queries[order], kind="stable")]}

    return Call(_pair_windows.group_by_query, arguments, twin)


def _windows(rows: dict[str, Any], margin: float, side: float) -> Any:
    """Shortfalls of each row's partners in its window, zero elsewhere, and who they are."""
    x = side * rows["scores"]
    shortfall = margin - np.subtract.outer(x, x)
    won = _won(rows["bounds"], rows["levels"])
    return shortfall, (won if side > 0 else won.T) & (np.subtract.outer(x, x) < margin)


def _window_moments(rng: Rng) -> Call:
    rows, n_tree = _rows(rng), 32
    n = len(rows["scores"])
    arguments = {
        **rows,
        "margin": float(rng.choice([-1.0, 0.0, 1.0, 7.5])) + 1e-6,
        "side": float(rng.choice([-1.0, 1.0])),
        "tree": np.zeros((n_tree, 4)),
        "moments": np.zeros((n, 3)),
        "entered": np.zeros(n, dtype=np.int32),
    }

    def twin(margin: float, side: float, weights: Any, **rest: Any) -> dict[str, Any]:
        u, inside = _windows(rest, margin, side)
        return {
            "moments": np.stack([np.where(inside, u**p, 0.0) @ weights for p in range(3)], axis=1)
        }

    return Call(_pair_windows.window_moments, arguments, twin)


def _window_sums(rng: Rng) -> Call:
    rows = _rows(rng)
    n, entered = len(rows["scores"]), np.zeros((2, len(rows["scores"])), dtype=np.int32)
    for role, side in enumerate((1.0, -1.0)):
        _pair_windows.window_moments(
            *rows.values(), 1.0, side, np.zeros((32, 4)), np.zeros((n, 3)), entered[role]
        )
    scores = rows["scores"]
    arguments = {
        **{name: rows[name] for name in ("bounds", "n_levels", "levels")},
        "charges": rows["weights"],
        "entered": entered,
        "tree": np.zeros(32),
        "sums": np.zeros(n),
    }

    def twin(bounds: Any, levels: Any, charges: Any, **rest: Any) -> dict[str, Any]:
        known = {"bounds": bounds, "levels": levels, "scores": scores}
        return {"sums": sum(_windows(known, 1.0, side)[1] @ charges for side in (1.0, -1.0))}

    return Call(_pair_windows.window_sums, arguments, twin)


def _mixed_levels(rng: Rng) -> Call:
    queries = np.concatenate([[0], np.cumsum(rng.integers(0, 6, draw_size(rng, 1, 4)))]).astype(
        np.intp
    )
    S = int(queries[-1])
    arguments: dict[str, Any] = {"queries": queries}
    arguments |= {name: rng.random(S) for name in ("kept", "joined", "values")}
    return Call(_pair_windows.mixed_levels, arguments | {"means": np.zeros(S)})


# -------------------------------------------------------------------------------------- perceptron


def _draw_rows(rng: Rng) -> Call:
    n, draws = draw_size(rng), draw_size(rng)
    cumulative = np.cumsum(rng.random(n) + 1e-3)
    cells = np.arange(n) / n * cumulative[-1]
    arguments = {
        "uniforms": rng.random(draws),
        "cumulative": cumulative,
        "guide": np.minimum(np.searchsorted(cumulative, cells, side="right"), n - 1).astype(
            np.int32
        ),
        "rows": np.zeros(draws, dtype=np.intp),
    }

    def twin(uniforms: Any, cumulative: Any, guide: Any, rows: Any) -> dict[str, Any]:
        return {"rows": np.searchsorted(cumulative, uniforms * cumulative[-1], side="right")}

    return Call(_prank.draw_rows, arguments, twin)


def _flat(rng: Rng) -> dict[str, Any]:
    """Dense or compressed rows."""
    n, d = draw_size(rng), draw_size(rng, 1, 6)
    if rng.random() < 0.5:
        empty = np.zeros(0, dtype=np.intp)
        return {"values": rng.random(n * d), "columns": empty, "starts": np.arange(n + 1) * d}
    sizes = rng.integers(0, d + 1, n)
    starts = starts_of(sizes)
    m = int(starts[-1])
    return {"values": rng.random(m), "columns": rng.integers(0, d, m), "starts": starts}


def _width(rows: dict[str, Any]) -> int:
    dense = int(np.diff(rows["starts"]).max(initial=0))
    return max(dense, int(rows["columns"].max(initial=-1)) + 1, 1)


def _row_scores(rng: Rng) -> Call:
    rows = _flat(rng)

    def twin(values: Any, columns: Any, starts: Any, w: Any) -> dict[str, Any]:
        scores = []
        for a, b in pairwise(starts):
            chosen = w[columns[a:b]] if len(columns) else w[: b - a]
            scores.append(values[a:b] @ chosen)
        return {"result": scores}

    return Call(_prank.row_scores, rows | {"w": rng.random(_width(rows))}, twin)


def _perceptron(rng: Rng) -> Call:
    rows, K = _flat(rng), draw_size(rng, 2, 7)
    n, d = len(rows["starts"]) - 1, _width(rows)
    codes = rng.integers(0, K, n)
    arguments = rows | {
        "codes": codes,
        "costs": np.abs(codes[:, None] - np.arange(K)).astype(float),
        "n_columns": d,
        "averaged": bool(rng.random() < 0.5),
        "shown": rng.integers(0, n, draw_size(rng)),
        "w": rng.random(d),
        "b": np.sort(rng.random(K - 1)),
    }
    return Call(_run_perceptron, arguments)


def _run_perceptron(
    values: Any, columns: Any, starts: Any, codes: Any, costs: Any, n_columns: int, averaged: bool,
    shown: Any, w: Any, b: Any,
) -> Any:  # fmt: skip
    if n_columns > 10**6:
        raise MemoryError
    learner = _prank.Perceptron(values, columns, starts, codes, costs, n_columns, averaged)
    learner.begin_window()
    learner.present(shown)
    learner.load(w, b, w, b, 1)
    learner.present(shown)
    return (*learner.current, *learner.longest_run, learner.total_cost(w, b, np.inf))


# ---------------------------------------------------------------------------------- support vectors


def _problem(rng: Rng) -> dict[str, Any]:
    n, m = draw_size(rng, 1, 40), draw_size(rng, 1, 5)
    upper = rng.random((m, n)) * (rng.random((m, n)) < 0.8)
    return {
        "f": rng.standard_normal(n),
        "alpha": upper * rng.choice([0.0, 0.5, 1.0], (m, n)),
        "upper": upper,
        "codes": rng.integers(0, m + 1, n),
    }


def _bounds(rng: Rng) -> Call:
    arguments = _problem(rng)
    m = len(arguments["alpha"])
    return Call(
        _smo.bounds, arguments | {name: rng.standard_normal(m) for name in ("shift", "up", "low")}
    )


def _partners(rng: Rng) -> Call:
    m = draw_size(rng, 1, 6)
    arguments = {
        **{name: rng.standard_normal(m) for name in ("up", "low")},
        "link": rng.choice([0.0, 1.0], m),
        "coupling": int(rng.integers(4)),
        **{name: np.zeros(m) for name in ("low_for_up", "up_for_low")},
    }
    return Call(_smo.partners, arguments)


def _violations(rng: Rng) -> Call:
    arguments = _problem(rng)
    m, n = arguments["alpha"].shape
    arguments |= {n_: rng.standard_normal(m) for n_ in ("shift", "low_for_up", "up_for_low")}
    return Call(_smo.violations, arguments | {"as_up": np.zeros(n), "as_low": np.zeros(n)})


def _gather(rng: Rng) -> Call:
    rows = rng.standard_normal((draw_size(rng), draw_size(rng)))
    rows = rows.astype(str(rng.choice(["float32", "float64"])))
    slots, columns = (rng.integers(0, size, draw_size(rng)) for size in rows.shape)
    block = np.zeros((len(slots), len(columns)), dtype=np.float32)
    return Call(
        _smo.gather,
        {"rows": rows, "slots": slots, "columns": columns, "block": block},
        lambda rows, slots, columns, block: {
            "block": rows[np.ix_(slots, columns)].astype(np.float32)
        },
    )


def _add_rows(rng: Rng) -> Call:
    size = int(rng.choice([1, 30, 2048, 2100]))
    rows = rng.standard_normal((draw_size(rng, 1, 9), size))
    rows = rows.astype(str(rng.choice(["float32", "float64"])))
    slots = rng.integers(0, len(rows), draw_size(rng, 1, 9))
    arguments = {
        "rows": rows,
        "slots": slots,
        "steps": rng.standard_normal(len(slots)),
        "f": rng.standard_normal(size),
    }
    return Call(
        _smo.add_rows,
        arguments,
        lambda rows, slots, steps, f: {"f": f + steps @ rows[slots].astype(float)},
    )


def _solve_block(rng: Rng) -> Call:
    problem = _problem(rng)
    m, n = problem["alpha"].shape
    Z = rng.standard_normal((n, 3))
    K = (Z @ Z.T).astype(np.float32)
    arguments = {
        "K": K,
        "diagonal": np.diag(K).astype(float).copy(),
        **problem,
        "first": np.zeros(m, dtype=np.intp),
        "last": np.full(m, n),
        "d": np.zeros(m),
        "link": np.zeros(m),
        "coupling": int(rng.integers(4)),
        "tol": 1e-3,
        "max_steps": 500,
    }
    return Call(_run_block, arguments)


def _run_block(*arguments: Any) -> Any:
    *arrays, max_steps = arguments
    # Steps are all that ends a block of odd numbers.
    return _smo.solve_block(*arrays, min(max_steps, 2000))


CALLS: dict[str, Callable[[Rng], Call]] = {
    "_pair_counts.count_sorted_pairs": _count_pairs,
    "_pair_boxes.pair_fields": _pair_fields,
    "_pair_windows.group_by_query": _group_by_query,
    "_pair_windows.window_moments": _window_moments,
    "_pair_windows.window_sums": _window_sums,
    "_pair_windows.mixed_levels": _mixed_levels,
    "_prank.draw_rows": _draw_rows,
    "_prank.row_scores": _row_scores,
    "_prank.Perceptron": _perceptron,
    "_smo.bounds": _bounds,
    "_smo.partners": _partners,
    "_smo.violations": _violations,
    "_smo.gather": _gather,
    "_smo.add_rows": _add_rows,
    "_smo.solve_block": _solve_block,
}
