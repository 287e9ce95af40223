"""How good a saved ranker is on labelled rows: pairs in order and NDCG@10, drawn over queries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from .table_view import show_notes

if TYPE_CHECKING:
    import numpy as np

    from echelon.tables import RankingTable
    from echelon.trained import TrainedModel

DRAWS = 400


def evaluate_ranking(
    trained: TrainedModel,
    data: str,
    target: str | None,
    confidence: float,
    seed: int,
    **reading: Any,
) -> dict[str, Any]:
    """Measure a ranker on a table, print the figures, and give them by name."""
    from echelon.trained.ranking import read_judged_rows

    table = read_judged_rows(trained, data, target, **reading)
    scores = trained.estimator.predict(table.X)
    found = {}
    for name, measure in _measures(table).items():
        value = measure(table.y, scores, qid=table.queries)
        low, high = _interval(measure, table, scores, confidence, seed)
        found[name] = {"value": float(value), "low": low, "high": high}
    typer.echo(f"{trained.name} on {table.about()}")
    typer.echo("\n".join(_lines(found, confidence)))
    show_notes(*table.notes)
    return {"model": trained.name, "rows": len(table.X), "confidence": confidence, **found}


def _measures(table: RankingTable) -> dict[str, Callable[..., Any]]:
    """By name; gains of negative labels are not defined."""
    from echelon.metrics import ndcg_score, pairwise_accuracy

    measures: dict[str, Callable[..., Any]] = {
        "pairwise_accuracy": lambda *given, **more: float(pairwise_accuracy(*given, **more))
    }
    if table.y is not None and table.y.min() >= 0.0:
        measures["ndcg@10"] = partial(ndcg_score, k=10)
    return measures


def _interval(
    measure: Callable[..., Any],
    table: RankingTable,
    scores: np.ndarray,
    confidence: float,
    seed: int,
) -> tuple[float | None, float | None]:
    """Percentiles over draws of queries; nothing where there are no two of them."""
    import numpy as np

    names = list(dict.fromkeys(table.queries or ()))
    if len(names) < 2:
        return None, None
    rng = np.random.default_rng(seed)
    even = np.full(len(names), 1.0 / len(names))
    values = []
    for counts in rng.multinomial(len(names), even, size=DRAWS):
        weights = dict(zip(names, counts.astype(np.float64), strict=True))
        values.append(float(measure(table.y, scores, qid=table.queries, query_weight=weights)))
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def _lines(found: dict[str, dict[str, Any]], confidence: float) -> list[str]:
    from echelon._utils.text import aligned
    from echelon.metrics.measures import MEASURE_NAMES

    rows = [["", "value", f"{confidence:.0%} interval"]]
    for name, figure in found.items():
        low, high = figure["low"], figure["high"]
        interval = "–" if low is None else f"{low:.4f} to {high:.4f}"
        rows.append([MEASURE_NAMES[name], f"{figure['value']:.4f}", interval])
    return aligned(rows)
