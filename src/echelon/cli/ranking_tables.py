"""Tables to learn rankings from or to rank: inputs, labels, queries, ids and judgements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .failures import UsageError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

    from echelon.tables import Schema
    from echelon.trained import TrainedModel

SCORE, POSITION, ROW = "score", "position", "row"


@dataclass(frozen=True)
class RankingTable:
    """Rows to rank, and what is known of their order.

    ``y`` are numbers whose order is that of the labels, ``pairs`` rows of winner and loser.
    """

    source: str
    X: pd.DataFrame
    schema: Schema
    y: np.ndarray | None = None
    target: str | None = None
    levels: list[str] | None = None
    queries: list[Any] | None = None
    qid_name: str | None = None
    ids: list[Any] | None = None
    id_name: str | None = None
    pairs: np.ndarray | None = None
    pair_weight: np.ndarray | None = None
    notes: tuple[str, ...] = ()

    def fit_arguments(self) -> dict[str, Any]:
        """What ``fit`` takes besides inputs and labels."""
        given = {
            "qid": None if self.y is None else self.queries,
            "pairs": self.pairs,
            "pair_weight": self.pair_weight,
        }
        return {name: value for name, value in given.items() if value is not None}

    def units(self) -> tuple[int, str]:
        """How many of what a cross-validation holds out."""
        if self.pairs is not None:
            return len(self.pairs), "pairs"
        if self.queries is not None:
            return len(set(self.queries)), "queries"
        return len(self.X), "rows"

    def about(self) -> str:
        """One line about the table."""
        parts = [f"{len(self.X):,} rows", f"{self.X.shape[1]} inputs"]
        if self.queries is not None:
            parts.append(f"{len(set(self.queries)):,} queries")
        if self.pairs is not None:
            parts.append(f"{len(self.pairs):,} judged pairs")
        return f"{self.source}: {', '.join(parts)}"

    def ranked(self, scores: np.ndarray, top: int | None) -> pd.DataFrame:
        """Rows best first within their queries, with score and position."""
        import numpy as np
        import pandas as pd

        from echelon.base.mixins import best_first

        order = best_first(scores, self.queries, top)
        columns: dict[str, Any] = {}
        if self.queries is not None:
            columns[self.qid_name or "qid"] = [self.queries[i] for i in order]
        if self.ids is None:
            columns[ROW] = order + 1
        else:
            columns[self.id_name or "id"] = [self.ids[i] for i in order]
        columns[SCORE] = scores[order]
        if self.queries is None:
            columns[POSITION] = np.arange(1, len(order) + 1)
            return pd.DataFrame(columns)
        group = pd.Series(columns[self.qid_name or "qid"])
        columns[POSITION] = group.groupby(group, sort=False).cumcount().to_numpy() + 1
        return pd.DataFrame(columns)


def is_svmlight(data: str, format: str | None) -> bool:
    """Whether a table is one of svmlight, which has names for labels and queries of its own."""
    from echelon.tables.formats import checked_format, named_format

    return (checked_format(format) or named_format(Path(data))) == "svmlight"


def read_training_table(
    data: str,
    target: str | None,
    qid: str | None,
    pairs: Path | None,
    id: str | None,
    order: str | None,
    *,
    format: str | None,
    delimiter: str | None,
    drop: Sequence[str],
    drop_unlabelled: bool,
) -> RankingTable:
    """Read a table with labels, or with ids and a table of judgements, or both."""
    from echelon.tables import Schema, read_table
    from echelon.tables.labels import absent_levels
    from echelon.tables.svmlight import LABEL, QUERY

    svmlight = is_svmlight(data, format)
    if svmlight and target is None and pairs is None:
        target = LABEL
    frame = read_table(data, format=format, delimiter=delimiter, target=target)
    if svmlight and qid is None and QUERY in frame.columns:
        qid = QUERY
    require_columns(data, frame, [("--target", target), ("--qid", qid), ("--id", id)], drop)
    notes: list[str] = []
    if target is not None:
        frame, notes = labelled_rows(data, frame, target, drop_unlabelled)
    y, levels = (None, None) if target is None else _relevance(frame[target], order, target)
    if order is not None and levels is not None:
        notes += absent_levels(frame[target], levels)
    if target is not None and qid is None:
        notes += ["All rows are compared; if they belong to queries, name the column with --qid."]
    queries = None if qid is None else entries(data, frame, qid, "query")
    ids = None if id is None else entries(data, frame, id, "id")
    stated = _read_pairs(pairs, ids, id, data) if pairs is not None else (None, None)
    names = [name for name in (target, qid, id) if name is not None]
    if svmlight and target is None:
        names.append(LABEL)
    inputs, more = _inputs(data, frame.drop(columns=list(dict.fromkeys([*names, *drop]))))
    schema = Schema.of(inputs)
    table = RankingTable(
        data,
        schema.apply(inputs, data),
        schema,
        y,
        target,
        levels,
        queries,
        qid,
        ids,
        id,
        *stated,
        (*notes, *more),
    )
    require_a_pair(table)
    return table


def read_new_table(
    data: str,
    trained: TrainedModel,
    qid: str | None,
    id: str | None,
    *,
    one_query: bool,
    format: str | None,
    delimiter: str | None,
) -> RankingTable:
    """Read rows to rank with a saved model; its names of queries and ids hold unless others do."""
    from echelon.tables import read_table

    frame = read_table(data, format=format, delimiter=delimiter, schema=trained.schema)
    names = [str(name) for name in frame.columns]
    known = trained.extra.get("qid")
    if one_query:
        qid = None
    elif qid is None and known is not None:
        if known not in names:
            raise UsageError(
                f"{data} has no column {known!r}, which holds the queries of this model; name "
                "another with --qid, or compare all rows with --one-query."
            )
        qid = known
    if id is None and trained.extra.get("id") in names:
        id = trained.extra["id"]
    require_columns(data, frame, [("--qid", qid), ("--id", id)], ())
    return RankingTable(
        data,
        trained.schema.apply(frame, data),
        trained.schema,
        queries=None if qid is None else entries(data, frame, qid, "query"),
        qid_name=qid,
        ids=None if id is None else entries(data, frame, id, "id"),
        id_name=id,
    )


def require_columns(
    data: str, frame: Any, named: list[tuple[str, str | None]], drop: Sequence[str]
) -> None:
    """Refuse options that name columns that are not there, or the same one."""
    from echelon.tables.faults import no_such_column

    names = [str(name) for name in frame.columns]
    for _, name in [*named, *(("--drop", name) for name in drop)]:
        if name is not None and name not in names:
            raise no_such_column(data, name, names)
    taken = [(option, name) for option, name in named if name is not None]
    for option, name in taken:
        if option != "--target" and name in (SCORE, POSITION):
            raise UsageError(f"{option} {name} has the name of a column of the ranking; rename it.")
    for place, (option, name) in enumerate(taken):
        for other, same in taken[:place]:
            if same == name:
                raise UsageError(f"{other} and {option} name the same column, {name!r}.")


def labelled_rows(
    data: str, frame: Any, target: str, drop_unlabelled: bool
) -> tuple[Any, list[str]]:
    """Rows with a label, and a note on the others."""
    missing = frame[target].isna()
    count = int(missing.sum())
    if not count:
        return frame, []
    if not drop_unlabelled:
        raise UsageError(
            f"The target {target!r} of {data} is missing in {count:,} of {len(frame):,} rows; "
            "leave these out with --drop-unlabelled."
        )
    return frame[~missing].reset_index(drop=True), [f"{count:,} rows without a label left out."]


def _relevance(labels: Any, order: str | None, name: str) -> tuple[Any, list[str] | None]:
    """Numbers in the order of the labels, and the levels of text from lowest to highest."""
    import numpy as np

    from echelon.tables import encode_target
    from echelon.tables.labels import ordered_labels

    numeric = labels.dtype.kind in "biuf" and not hasattr(labels.dtype, "categories")
    if order is None and numeric:
        values = labels.to_numpy(dtype=np.float64)
        if np.isinf(values).any():
            raise UsageError(f"The target {name!r} holds an infinite number.")
        return values, None
    _, classes = ordered_labels(labels, order, name)
    codes = encode_target(np.asarray(labels, dtype=object), classes, name)
    return codes.astype(np.float64), [str(label) for label in classes]


def entries(data: str, frame: Any, name: str, what: str) -> list[Any]:
    """Queries or ids, which every row must have."""
    column = frame[name]
    missing = column.isna()
    if missing.any():
        row = int(missing.to_numpy().argmax()) + 1
        raise UsageError(f"Column {name!r} of {data} has no {what} in row {row:,}.")
    return column.tolist()


def _read_pairs(path: Path, ids: Any, id: str | None, data: str) -> tuple[Any, Any]:
    """Rows of winner and loser, and the weights of the judgements if there are any."""
    import numpy as np

    from echelon.tables import read_table
    from echelon.tables.faults import no_such_column

    frame = read_table(path)
    names = [str(name) for name in frame.columns]
    for name in ("winner", "loser"):
        if name not in names:
            raise no_such_column(str(path), name, names)
    rows: dict[str, int] = {}
    for row, entry in enumerate(ids):
        if rows.setdefault(_text(entry), row) != row:
            raise UsageError(
                f"Column {id!r} of {data} must hold distinct ids; found {entry!r} twice."
            )
    columns = [
        _rows_of(path, name, frame[name].tolist(), rows, data) for name in ("winner", "loser")
    ]
    pairs = np.column_stack(columns)
    same = np.flatnonzero(pairs[:, 0] == pairs[:, 1])
    if len(same):
        raise UsageError(f"{path} has a row {same[0] + 1:,} whose winner and loser are the same.")
    if "weight" not in names:
        return pairs, None
    weights = (
        np.asarray(frame["weight"], dtype=np.float64)
        if frame["weight"].dtype.kind in "biuf"
        else None
    )
    if weights is None or not np.isfinite(weights).all() or (weights < 0).any():
        raise UsageError(f"Column 'weight' of {path} must hold numbers that are not negative.")
    return pairs, weights


def _rows_of(
    path: Path, name: str, entries: list[Any], rows: dict[str, int], data: str
) -> list[int]:
    found = []
    for number, entry in enumerate(entries):
        row = rows.get(_text(entry))
        if row is None:
            raise UsageError(
                f"{path} names the id {_text(entry)!r} as {name} in row {number + 1:,}, which no "
                f"row of {data} has."
            )
        found.append(row)
    return found


def _text(entry: Any) -> str:
    """An id as text: 7, 7.0 and "7" are the same."""
    if isinstance(entry, float) and entry.is_integer():
        return str(int(entry))
    return str(entry).strip()


def _inputs(data: str, frame: Any) -> tuple[Any, list[str]]:
    """Input columns without those that only name rows, which are noted."""
    from echelon.tables import Schema
    from echelon.tables.identifiers import identifier_reason
    from echelon.tables.lookalikes import notes_on_texts, refuse_written_numbers

    empty = [str(name) for name in frame.columns if frame[name].isna().all()]
    if empty:
        raise UsageError(f"{data} has no value in column {empty[0]!r}; leave it out with --drop.")
    schema = Schema.of(frame)
    refuse_written_numbers(schema, data)
    reasons = {
        column.name: identifier_reason(column.name, frame[column.name], column.kind)
        for column in schema.columns
    }
    left_out = {name: reason for name, reason in reasons.items() if reason is not None}
    if len(left_out) == frame.shape[1]:
        raise UsageError(f"{data} has no input column to rank by.")
    notes = [f"Column {name!r} left out as an identifier: {why}." for name, why in left_out.items()]
    kept = frame.drop(columns=list(left_out))
    return kept, [*notes, *notes_on_texts(Schema.of(kept), len(kept))]


def require_a_pair(table: RankingTable) -> None:
    """Refuse a table in which nothing stands above anything."""
    from echelon.pairs import PairSet

    judged = table.pairs is not None and (table.pair_weight is None or table.pair_weight.any())
    implied = table.y is not None and PairSet.from_labels(table.y, table.queries).n_pairs > 0
    if judged or implied:
        return
    if table.y is None:
        raise UsageError("There is no pair to learn from: no judgement has a positive weight.")
    among = f"no query of {table.qid_name!r} has two rows" if table.queries else "no two rows are"
    raise UsageError(
        f"There is no pair to learn from in {table.source}: {among} with different labels "
        f"{table.target!r}."
    )
