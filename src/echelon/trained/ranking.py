"""From a ranking table to a ranker that can be taken away, and new rows through it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._utils.messages import require_choice
from .._utils.types import Vector
from ..base.mixins import best_first
from ..tables import RankingTable, TableError, encode_target, read_table
from ..tables.faults import Argument, lasting
from ..tables.interpretation import labelled_rows
from ..tables.ranking import POSITION, ROW, SCORE, entries, require_columns
from .model import RANKING, TrainedModel

if TYPE_CHECKING:
    import pandas as pd
    from sklearn.pipeline import Pipeline

RANKERS = ("LinearRankSVM", "RankSVM", "RankBoost", "PreferenceRanker", "RankPerceptron")


def find_ranker(name: str) -> str:
    """The ranker that was meant, whatever its case.

    Examples
    --------
    >>> find_ranker("rank-boost")
    'RankBoost'
    """
    plain = {ranker.lower(): ranker for ranker in RANKERS}
    found = plain.get(name.lower().replace("-", "").replace("_", "").replace(" ", ""), name)
    require_choice("model", found, RANKERS)
    return found


def train_ranker(
    table: RankingTable,
    model: Any = "LinearRankSVM",
    *,
    folds: int = 5,
    random_state: int = 0,
    evaluate: bool = True,
    n_jobs: int | None = None,
) -> TrainedModel:
    """Fit a ranker to all rows of a ranking table, and measure it by cross-validation.

    Parameters
    ----------
    table : RankingTable
        As `echelon.tables.ranking_table` and `read_ranking_table` give it.
    model : str or ranker
        One of LinearRankSVM, RankSVM, RankBoost, PreferenceRanker and RankPerceptron, or an
        unfitted ranker.
    folds : int
        Folds of the cross-validation, over queries, rows or judged pairs.
    random_state : int
        Seed of models that are named.
    evaluate : bool
        Whether to measure the model.
    n_jobs : int, optional
        Folds at a time, as in joblib.

    Returns
    -------
    model : TrainedModel
        Its ``extra["folds"]`` says what was held out, if anything.
    """
    from sklearn.base import clone
    from sklearn.pipeline import Pipeline
    from sklearn.utils import get_tags

    from ..model_selection.preparation import prepare

    if isinstance(model, str):
        import echelon

        model = getattr(echelon, find_ranker(model))()
        if "random_state" in model.get_params(deep=False):
            model.set_params(random_state=random_state)
    # Without labels there is nothing by which telling words could be chosen.
    inputs = "linear" if get_tags(model).input_tags.sparse else "scaled"
    pipeline = Pipeline([("prepare", prepare(table.schema, inputs)), ("model", clone(model))])
    notes = lasting(table.notes)
    metrics, held_out = _figures(pipeline, table, folds, n_jobs, notes) if evaluate else ({}, None)
    given = {f"model__{key}": value for key, value in table.fit_arguments().items()}
    pipeline.fit(table.X, table.y, **given)
    return TrainedModel(
        estimator=pipeline,
        schema=table.schema.without_rare_levels(table.X),
        classes=[],
        target=table.target or "",
        name=type(model).__name__,
        task=RANKING,
        metrics=metrics,
        notes=tuple(notes),
        extra={
            "qid": table.qid_name,
            "id": table.id_name,
            "levels": table.levels,
            "folds": held_out,
        },
    )


def _figures(
    pipeline: Pipeline, table: RankingTable, folds: int, n_jobs: int | None, notes: list[str]
) -> tuple[dict[str, float], str | None]:
    """Pair accuracy, and NDCG@10 of labels, on queries, rows or pairs that were held out."""
    from ..model_selection import cross_validate_ranker

    units, what = table.units()
    if units < 2:
        notes.append(f"There is no cross-validation, which needs two {what} or more.")
        return {}, None
    folds = min(folds, units)
    found = cross_validate_ranker(
        pipeline,
        table.X,
        table.y,
        cv=folds,
        scoring=_measures(table, notes),
        n_jobs=n_jobs,
        **table.fit_arguments(),
    )
    figures: dict[str, float] = {}
    for key in ("pairwise_accuracy", "ndcg@10"):
        if key in found.scores:
            summary = found.summary(key)
            figures |= {key: summary.mean, f"{key}_se": summary.se}
    return figures, f"{folds} folds of {what}"


def _measures(table: RankingTable, notes: list[str]) -> list[str] | None:
    """What is measured on held-out rows; None for what judged pairs allow."""
    if table.pairs is not None or table.y is None:
        return None
    lowest = float(table.y.min())
    if lowest < 0.0:
        notes.append(f"NDCG@10 is left out: it needs labels of 0 or more, and there is {lowest:g}.")
        return ["pairwise_accuracy"]
    return ["pairwise_accuracy", "ndcg@10"]


def read_rows_to_rank(
    trained: TrainedModel,
    source: str | Path,
    qid: str | None = None,
    id: str | None = None,
    *,
    one_query: bool = False,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
) -> RankingTable:
    """Read rows to rank with a trained ranker.

    Parameters
    ----------
    trained : TrainedModel
    source, format, delimiter, encoding, sheet
        As for `echelon.tables.read_table`.
    qid, id : str, optional
        Columns of queries and of ids; those of the table that it was trained on by default.
    one_query : bool
        Whether to compare all rows, though the model has queries.
    """
    where = str(source)
    reading: dict[str, Any] = {
        "format": format,
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
    }
    frame = read_table(source, schema=trained.schema, **reading)
    names = [str(name) for name in frame.columns]
    known = trained.extra.get("qid")
    if one_query:
        qid = None
    elif qid is None and known is not None:
        if known not in names:
            raise TableError(
                f"{where} has no column {known!r}, which holds the queries of this model; name "
                "another with ",
                Argument("qid"),
                ", or compare all rows with ",
                Argument("one_query", True),
                ".",
            )
        qid = known
    if id is None and trained.extra.get("id") in names:
        id = trained.extra["id"]
    require_columns(where, frame, {"qid": qid, "id": id})
    return RankingTable(
        trained.schema.apply(frame, where),
        trained.schema,
        queries=entries(where, frame, qid, "query"),
        qid_name=qid,
        ids=entries(where, frame, id, "id"),
        id_name=id,
        source=where,
    )


def read_judged_rows(
    trained: TrainedModel,
    source: str | Path,
    target: str | None = None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    drop_unlabelled: bool = False,
) -> RankingTable:
    """Read labelled rows, in the queries of a trained ranker, to measure it on.

    Parameters
    ----------
    trained : TrainedModel
    source, format, delimiter, encoding, sheet
        As for `echelon.tables.read_table`.
    target : str, optional
        The label column; that of the table that it was trained on by default.
    drop_unlabelled : bool
        Leave out rows without a label instead of refusing them.
    """
    where, name, qid = str(source), target or trained.target, trained.extra.get("qid")
    if not name:
        advice = ("name them with ", Argument("target"), ".")
        raise TableError(f"{trained.name} was trained without labels; ", *advice)
    reading: dict[str, Any] = {
        "format": format,
        "delimiter": delimiter,
        "encoding": encoding,
        "sheet": sheet,
    }
    frame = read_table(source, schema=trained.schema, target=name, **reading)
    require_columns(where, frame, {"target": name, "qid": qid})
    frame, notes = labelled_rows(frame, name, drop_unlabelled, where)
    table = RankingTable(
        trained.schema.apply(frame, where),
        trained.schema,
        y=_known_relevance(frame[name], trained.extra.get("levels"), name),
        target=name,
        queries=entries(where, frame, qid, "query"),
        qid_name=qid,
        source=where,
        notes=tuple(notes),
    )
    table.require_a_pair()
    return table


def _known_relevance(labels: Any, levels: Sequence[str] | None, name: str) -> Vector:
    """Numbers in the order of the labels that a model was trained with."""
    if levels is not None:
        return encode_target(labels, levels, name).astype(np.float64)
    try:
        values = labels.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.inf])
    if not np.isfinite(values).all():
        raise TableError(f"The target {name!r} must hold numbers, as in training.")
    return np.asarray(values)


def ranked_rows(trained: TrainedModel, table: RankingTable, top: int | None = None) -> pd.DataFrame:
    """Rows best first within their queries, with score and position.

    Parameters
    ----------
    trained : TrainedModel
    table : RankingTable
    top : int, optional
        Most rows of each query; all by default.

    Returns
    -------
    frame : DataFrame
        The query, if there are queries; the id, or the number of the row; ``score`` and
        ``position``.
    """
    import pandas as pd

    scores = trained.estimator.predict(table.X)
    order = best_first(scores, table.queries, top)
    columns: dict[str, Any] = {}
    if table.queries is not None:
        columns[table.qid_name or "qid"] = [table.queries[i] for i in order]
    if table.ids is None:
        columns[ROW] = order + 1
    else:
        columns[table.id_name or "id"] = [table.ids[i] for i in order]
    columns[SCORE] = scores[order]
    columns[POSITION] = np.arange(1, len(order) + 1)
    if table.queries is not None:
        group = pd.Series(columns[table.qid_name or "qid"])
        columns[POSITION] = group.groupby(group, sort=False).cumcount().to_numpy() + 1
    return pd.DataFrame(columns)
