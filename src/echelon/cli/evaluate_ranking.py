"""How good a saved ranker is on labelled rows: pairwise accuracy and NDCG@10, over queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from .views import show_notes

if TYPE_CHECKING:
    import numpy as np

    from echelon.metrics.measures import Measure
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
    for measure in _measures(table):
        value = measure.function(table.y, scores, qid=table.queries, **measure.options)
        low, high = _interval(measure, table, scores, confidence, seed)
        found[measure.key] = {"value": float(value), "low": low, "high": high}
    typer.echo(f"{trained.name} on {table.about()}")
    typer.echo("\n".join(_lines(found, confidence)))
    show_notes(*table.notes)
    return {"model": trained.name, "rows": len(table.X), "confidence": confidence, **found}


def _measures(table: RankingTable) -> list[Measure]:
    """What can be measured; gains of negative labels are not defined."""
    from echelon.metrics.measures import known_measures

    with_gains = table.y is not None and table.y.min() >= 0.0
    return known_measures(["pairwise_accuracy", *(["ndcg@10"] if with_gains else [])])


def _interval(
    measure: Measure,
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
        options = {"qid": table.queries, "query_weight": weights, **measure.options}
        values.append(float(measure.function(table.y, scores, **options)))
    tail = (1.0 - confidence) / 2.0
    low, high = np.nanquantile(values, [tail, 1.0 - tail])
    return float(low), float(high)


def _lines(found: dict[str, dict[str, Any]], confidence: float) -> list[str]:
    from echelon._utils.frames import aligned
    from echelon.metrics.measures import find_measure

    rows = [["", "value", f"{confidence:.0%} interval"]]
    for name, figure in found.items():
        low, high = figure["low"], figure["high"]
        interval = "–" if low is None else f"{low:.4f} to {high:.4f}"
        rows.append([find_measure(name).heading, f"{figure['value']:.4f}", interval])
    return aligned(rows)
