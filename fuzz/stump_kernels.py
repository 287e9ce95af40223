"""Calls of the loops that search stumps and weak linear rankers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from echelon._native import _rank_stumps, _stumps, _weak_linear
from fuzz.kernel_call import Call, Rng, bytes_of, codes_of, draw_size, starts_of


def _code_column(rng: Rng) -> Call:
    n, m = draw_size(rng), int(rng.integers(0, 12))
    column = rng.standard_normal(n).round(1)
    column[rng.random(n) < 0.1] = np.nan
    arguments = {
        "column": column,
        "cuts": np.unique(rng.standard_normal(m).round(1)),
        "codes": np.zeros(n, dtype=str(rng.choice(["uint8", "int32"]))),
    }

    def twin(column: Any, cuts: Any, codes: Any) -> dict[str, Any]:
        places = np.searchsorted(cuts, column, side="left")
        return {"codes": np.where(np.isnan(column), len(cuts) + 1, places)}

    return Call(_stumps.code_column, arguments, twin)


def _sum_by_bin(rng: Rng) -> Call:
    d, n, T = draw_size(rng, 1, 4), int(rng.choice([1, 40, 600])), draw_size(rng, 1, 4)
    n_bins = rng.integers(1, 9, d)
    start = int(rng.integers(d))
    stop = int(rng.integers(start + 1, d + 1))
    first = starts_of(n_bins[start:stop] + 1)
    arguments = {
        "codes": codes_of(rng, n_bins, n),
        "V": rng.standard_normal((n, T)),
        "first": first,
        "sums": np.zeros((int(first[-1]), T)),
        "start": start,
        "stop": stop,
    }

    def twin(codes: Any, V: Any, first: Any, sums: Any, start: int, stop: int) -> dict[str, Any]:
        for j in range(start, stop):
            np.add.at(sums, first[j - start] + codes[j].astype(int), V)
        return {"sums": sums}

    return Call(_stumps.sum_by_bin, arguments, twin)


def _least_costs(rng: Rng) -> Call:
    first, T = starts_of(rng.integers(2, 9, draw_size(rng, 1, 4))), draw_size(rng, 1, 15)
    arguments = {
        "sums": rng.standard_normal((int(first[-1]), T)),
        "first": first,
        "limit": np.full(1, 1e9),
        "slack": 1e-9,
        "costs": np.zeros((len(first) - 1, 2)),
        "work": np.zeros(3 * T),
    }
    return Call(_stumps.least_costs, arguments)


def _trace_cuts(rng: Rng) -> Call:
    m, T = draw_size(rng, 1, 12), draw_size(rng, 1, 5)
    start = int(rng.integers(m))
    arguments = {
        "sums": rng.standard_normal((m, T)),
        "start": start,
        "stop": m,
        "rising": bool(rng.random() < 0.5),
        "slack": 1e-12,
        "at": np.zeros((T, m - start + 1), dtype=np.int32),
        "work": np.zeros(2 * T),
        "cuts": np.zeros(T, dtype=np.intp),
    }
    return Call(_stumps.trace_cuts, arguments)


def _stump_sides(rng: Rng) -> Call:
    n, T = draw_size(rng), draw_size(rng, 1, 4)
    return Call(
        _stumps.sum_sides,
        {"V": rng.standard_normal((n, T)), "sums": np.zeros((2, T))},
        lambda V, sums: {"sums": [np.maximum(V, 0).sum(axis=0), np.maximum(-V, 0).sum(axis=0)]},
    )


def _votes(rng: Rng) -> dict[str, Any]:
    n, T = draw_size(rng), draw_size(rng, 1, 5)
    return {
        "V": rng.standard_normal((n, T)),
        "votes": rng.integers(0, T + 1, n),
        "sides": np.where(np.arange(T) < np.arange(T + 1)[:, None], 1.0, -1.0),
    }


def _weigh_votes(rng: Rng) -> Call:
    def twin(V: Any, votes: Any, sides: Any, weighed: Any) -> dict[str, Any]:
        return {"weighed": [np.abs(V)[V * sides[votes] < 0].sum(), np.abs(V).sum()]}

    return Call(_stumps.weigh_votes, _votes(rng) | {"weighed": np.zeros(2)}, twin)


def _scale_sides(rng: Rng) -> Call:
    def twin(V: Any, votes: Any, sides: Any, wrong: float, right: float) -> dict[str, Any]:
        return {"V": V * np.where(V * sides[votes] < 0, wrong, right)}

    return Call(_stumps.scale_sides, _votes(rng) | {"wrong": 1.5, "right": 0.5}, twin)


# ------------------------------------------------------------------------------------- rank stumps


def _best_edges(rng: Rng) -> Call:
    first = starts_of(rng.integers(2, 9, draw_size(rng, 1, 4)))
    arguments = {
        "sums": rng.standard_normal((int(first[-1]), 1)),
        "first": first,
        "two_sided": bool(rng.random() < 0.5),
        "edges": np.zeros(len(first) - 1),
    }
    return Call(_rank_stumps.best_edges, arguments)


def _segments(rng: Rng, A: int) -> dict[str, Any]:
    starts = starts_of(rng.integers(1, 9, draw_size(rng, 1, 8)))
    n, S, n_bins = int(starts[-1]), len(starts) - 1, draw_size(rng, 1, 9)
    return {
        "codes": codes_of(rng, [n_bins], n)[0],
        "classes": rng.integers(0, A, n_bins + 1).astype(np.uint8),
        "starts": starts,
        "wins": bytes_of(rng, S),
        "loses": bytes_of(rng, S),
        "u": rng.random(n),
        "v": rng.random(n),
    }


def _sum_classes(rng: Rng) -> Call:
    A = draw_size(rng, 1, 3)
    arguments = _segments(rng, A)
    S = len(arguments["wins"])

    def twin(
        codes: Any, classes: Any, starts: Any, wins: Any, loses: Any, u: Any, v: Any, U: Any, V: Any
    ) -> dict[str, Any]:
        segment = np.repeat(np.arange(len(wins)), np.diff(starts))
        np.add.at(U, (segment, classes[codes]), u * wins[segment])
        np.add.at(V, (segment, classes[codes]), v * loses[segment])
        return {"U": U, "V": V}

    return Call(
        _rank_stumps.sum_classes,
        arguments | {"U": np.zeros((S, A)), "V": np.zeros((S, A))},
        twin,
    )


def _step_rows(rng: Rng) -> Call:
    A = draw_size(rng, 1, 3)
    arguments = _segments(rng, A)
    S, n = len(arguments["wins"]), len(arguments["u"])
    ordered = {name: arguments[name] for name in ("codes", "classes")}
    ordered |= {"steps": rng.standard_normal(A)}
    ordered |= {name: arguments[name] for name in ("starts", "wins", "loses")}
    ordered |= {"upper": rng.random(S), "lower": rng.random(S), "scores": rng.random(n)}
    ordered |= {"u": arguments["u"], "v": arguments["v"], "weights": np.zeros(n)}
    return Call(_rank_stumps.step_rows, ordered)


def _queries(rng: Rng, A: int) -> dict[str, Any]:
    queries = starts_of(rng.integers(1, 5, draw_size(rng, 1, 4)))
    S = int(queries[-1])
    return {
        "U": rng.random((S, A)),
        "V": rng.random((S, A)),
        "queries": queries,
        "log_scales": rng.standard_normal(len(queries) - 1),
        "low": rng.standard_normal(S),
        "high": rng.standard_normal(S),
        "log_total": 0.3,
    }


def _pair_masses(rng: Rng) -> Call:
    A = draw_size(rng, 1, 3)

    def twin(
        U: Any, V: Any, queries: Any, log_scales: Any, low: Any, high: Any, log_total: float,
        masses: Any,
    ) -> dict[str, Any]:  # fmt: skip
        masses[:] = 0.0
        for q, scale in enumerate(log_scales):
            for s in range(queries[q], queries[q + 1]):
                for t in range(queries[q], s):
                    unit = np.exp(scale + high[t] - low[s] - log_total)
                    masses += np.outer(U[s], V[t]) * unit
        return {"masses": masses}

    return Call(_rank_stumps.pair_masses, _queries(rng, A) | {"masses": np.ones((A, A))}, twin)


def _segment_factors(rng: Rng) -> Call:
    arguments = _queries(rng, 1)
    S = len(arguments["low"])
    return Call(
        _rank_stumps.segment_factors, arguments | {"upper": np.zeros(S), "lower": np.zeros(S)}
    )


def _descend(rng: Rng) -> Call:
    d, n, steps = draw_size(rng, 1, 4), draw_size(rng, 1, 40), draw_size(rng, 1, 9)
    columns, coef = rng.standard_normal((d, n)).round(1), rng.standard_normal(d + 1)
    cells = 2 * draw_size(rng, 1, 16) + 1
    arguments = {
        "columns": columns,
        "pull": rng.standard_normal(n),
        "features": rng.integers(0, d, steps),
        "offsets": rng.standard_normal(steps),
        "coef": coef,
        "scores": coef[:-1] @ columns + coef[-1],
        "changes": np.zeros((2 * n, 2)),
        "cells": np.zeros((2, cells)),
    }
    return Call(_weak_linear.descend, arguments)


CALLS: dict[str, Callable[[Rng], Call]] = {
    "_stumps.code_column": _code_column,
    "_stumps.sum_by_bin": _sum_by_bin,
    "_stumps.least_costs": _least_costs,
    "_stumps.trace_cuts": _trace_cuts,
    "_stumps.sum_sides": _stump_sides,
    "_stumps.weigh_votes": _weigh_votes,
    "_stumps.scale_sides": _scale_sides,
    "_rank_stumps.best_edges": _best_edges,
    "_rank_stumps.sum_classes": _sum_classes,
    "_rank_stumps.step_rows": _step_rows,
    "_rank_stumps.pair_masses": _pair_masses,
    "_rank_stumps.segment_factors": _segment_factors,
    "_weak_linear.descend": _descend,
}
