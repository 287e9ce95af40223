"""A table to learn a ranking from, or to rank: inputs, labels, queries, ids and judged pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from .._utils.types import Matrix, Vector
from .column import level_text
from .faults import Argument, TableError, opening, require_named
from .formats import LABEL, QUERY
from .interpretation import labelled_rows, read_inputs
from .labels import absent_levels, encode_target, ordered_labels
from .options import StatedCells, StatedColumn, TableOptions
from .reading import FileOptions, open_reader, read_table, whole_table
from .schema import Schema
from .sources import is_svmlight

if TYPE_CHECKING:
    import pandas as pd

SCORE, POSITION, ROW = "score", "position", "row"


@dataclass(frozen=True)
class RankingTable:
    """Rows to rank, and what is known of their order.

    Parameters
    ----------
    X : DataFrame
        Inputs as `schema` makes them.
    schema : Schema
        Of the inputs.
    y : ndarray, optional
        Numbers whose order is that of the labels.
    target : str, optional
        Name of the label column.
    levels : list of str, optional
        The labels from lowest to highest where they are text.
    queries : list, optional
        The query of each row; only rows of one query are compared.
    qid_name : str, optional
        Name of the column of queries.
    ids : list, optional
        The id of each row.
    id_name : str, optional
        Name of the column of ids.
    pairs : ndarray of shape (m, 2), optional
        Rows of winner and loser.
    pair_weight : ndarray of shape (m,), optional
    source : str
        What the table is called in messages.
    notes : tuple of str
        Sentences on what was left out.
    """

    X: pd.DataFrame
    schema: Schema
    y: Vector | None = None
    target: str | None = None
    levels: list[str] | None = None
    queries: list[Any] | None = None
    qid_name: str | None = None
    ids: list[Any] | None = None
    id_name: str | None = None
    pairs: Matrix | None = None
    pair_weight: Vector | None = None
    source: str = "the table"
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

    def require_a_pair(self) -> None:
        """Refuse a table in which nothing stands above anything."""
        from ..pairs import PairSet

        judged = self.pairs is not None and (self.pair_weight is None or self.pair_weight.any())
        implied = self.y is not None and PairSet.from_labels(self.y, self.queries).n_pairs > 0
        if judged or implied:
            return
        if self.y is None:
            raise TableError("There is no pair to learn from: no judgement has a positive weight.")
        among = f"no query of {self.qid_name!r} has two rows" if self.queries else "no two rows are"
        raise TableError(
            f"There is no pair to learn from in {self.source}: {among} with different labels "
            f"{self.target!r}."
        )


def read_ranking_table(
    source: str | Path,
    target: str | None = None,
    qid: str | None = None,
    *,
    pairs: str | Path | None = None,
    id: str | None = None,
    order: str | None = None,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | int | None = None,
    **stated: Unpack[StatedCells],
) -> RankingTable:
    """Read a table with labels, or with ids and a table of judged pairs, or both.

    Parameters
    ----------
    source, format, delimiter, encoding, sheet
        As for `read_table`. An svmlight file has labels and queries of its own.
    pairs : str or Path, optional
        A table of judged pairs, as for `ranking_table`.
    target, qid, id, order, **stated
        As for `ranking_table`.
    """
    svmlight = is_svmlight(source, format)
    if svmlight and target is None and pairs is None:
        target = LABEL
    marked = TableOptions(**stated).has_marks
    with open_reader(source, FileOptions(format, delimiter, encoding, sheet)) as reader:
        frame = whole_table(reader, target, as_text=marked)
    if svmlight and qid is None and QUERY in frame.columns:
        qid = QUERY
    if svmlight and target is None:
        stated["drop"] = [*stated.get("drop", ()), LABEL]
    return ranking_table(
        frame,
        target,
        qid,
        pairs=None if pairs is None else read_table(pairs),
        id=id,
        order=order,
        source=str(source),
        pairs_source="The table of pairs" if pairs is None else str(pairs),
        **stated,
    )


def ranking_table(
    frame: pd.DataFrame,
    target: str | None = None,
    qid: str | None = None,
    *,
    pairs: pd.DataFrame | None = None,
    id: str | None = None,
    order: str | None = None,
    source: str = "the table",
    pairs_source: str = "The table of pairs",
    **stated: Unpack[StatedCells],
) -> RankingTable:
    """Split a data frame into inputs, labels, queries, ids and judged pairs.

    Parameters
    ----------
    frame : DataFrame
    target : str, optional
        Column of labels to learn from, higher is better.
    qid : str, optional
        Column of queries: only rows of one query are compared.
    pairs : DataFrame, optional
        Columns ``winner`` and ``loser`` with ids of rows, and maybe ``weight``; needs `id`.
    id : str, optional
        Column with the id of each row.
    order : str, optional
        The labels from lowest to highest, as ``"poor<fair<good"``, where they are text.
    source, pairs_source : str
        What the tables are called in errors.
    **stated
        What is known of columns and cells, as for `TableOptions`: ``drop``, ``keep``, ``ordered``,
        ``missing``, ``decimal``, ``thousands``, ``date_format`` and ``drop_unlabelled``.

    Raises
    ------
    TableError
        One sentence that says what to do.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.0, 2.0, 3.0], "q": [1, 1, 2], "grade": [0, 2, 1]})
    >>> table = ranking_table(frame, "grade", "q")
    >>> table.schema.names, table.units()
    (['size'], (2, 'queries'))
    """
    if target is None and pairs is None:
        parts = ("labels with ", Argument("target"), ", or judged pairs with ", Argument("pairs"))
        raise TableError("Say what to learn from: ", *parts, ".")
    if pairs is not None and id is None:
        needs = (Argument("pairs"), " needs ", Argument("id"))
        raise TableError(*needs, ", the column that holds the ids of rows.")
    known = TableOptions(**stated)
    require_columns(source, frame, {"target": target, "qid": qid, "id": id}, known.drop)
    notes: list[str] = []
    y, levels = None, None
    if target is not None:
        frame, notes = labelled_rows(frame, target, known.drop_unlabelled, source)
        y, levels = _relevance(frame[target], order, target)
        if order is not None and levels is not None:
            notes += absent_levels(frame[target], levels)
        if qid is None:
            notes.append("All rows are compared, as no column of queries is named.")
    queries, ids = entries(source, frame, qid, "query"), entries(source, frame, id, "id")
    judged = (None, None) if pairs is None else _judged(pairs, ids, id, source, pairs_source)
    named = [name for name in (target, qid, id) if name is not None]
    names = [str(name) for name in frame.columns]
    columns = known.resolve(names, opening(source), with_target=False)
    columns |= {name: StatedColumn("id") for name in named}
    inputs = read_inputs(frame, columns, known, source, "to rank by", with_roles=False)
    if inputs.problems:
        raise TableError.joined(source, inputs.problems)
    schema = inputs.schema
    table = RankingTable(
        schema.apply(frame, source),
        schema,
        y=y,
        target=target,
        levels=levels,
        queries=queries,
        qid_name=qid,
        ids=ids,
        id_name=id,
        pairs=judged[0],
        pair_weight=judged[1],
        source=source,
        notes=(*notes, *inputs.notes),
    )
    table.require_a_pair()
    return table


def require_columns(
    where: str, frame: Any, named: dict[str, str | None], drop: Sequence[str] = ()
) -> None:
    """Refuse arguments that name columns that are not there, or the same one."""
    names = [str(name) for name in frame.columns]
    given = {argument: name for argument, name in named.items() if name is not None}
    require_named(opening(where), [*given.values(), *drop], names)
    seen: dict[str, str] = {}
    for argument, name in given.items():
        if argument != "target" and name in (SCORE, POSITION):
            taken = " has the name of a column of the ranking; rename it."
            raise TableError(Argument(argument, name), taken)
        if name in seen:
            both = (Argument(seen[name]), " and ", Argument(argument))
            raise TableError(*both, f" name the same column, {name!r}.")
        seen[name] = argument


def entries(where: str, frame: Any, name: str | None, what: str) -> list[Any] | None:
    """Queries or ids, which every row must have; None where no column is named."""
    if name is None:
        return None
    missing = frame[name].isna()
    if missing.any():
        row = int(missing.to_numpy().argmax()) + 1
        raise TableError(f"Column {name!r} of {where} has no {what} in row {row:,}.")
    return list(frame[name].tolist())


def _relevance(labels: Any, order: str | None, name: str) -> tuple[Vector, list[str] | None]:
    """Numbers in the order of the labels, and the levels of text from lowest to highest."""
    numeric = labels.dtype.kind in "biuf" and not hasattr(labels.dtype, "categories")
    if order is None and numeric:
        values = labels.to_numpy(dtype=np.float64)
        if np.isinf(values).any():
            raise TableError(f"The target {name!r} holds an infinite number.")
        return values, None
    _, classes = ordered_labels(labels, order, name)
    codes = encode_target(np.asarray(labels, dtype=object), classes, name)
    return codes.astype(np.float64), [str(label) for label in classes]


def _judged(
    pairs: pd.DataFrame, ids: Any, id: str | None, where: str, name: str
) -> tuple[Any, Any]:
    """Rows of winner and loser, and the weights of the judgements if there are any."""
    columns = [str(column) for column in pairs.columns]
    require_named(name, ("winner", "loser"), columns)
    rows: dict[str, int] = {}
    for row, entry in enumerate(ids):
        if rows.setdefault(level_text(entry).strip(), row) != row:
            raise TableError(
                f"Column {id!r} of {where} must hold distinct ids; found {entry!r} twice."
            )
    found = np.empty((len(pairs), 2), dtype=np.intp)
    for side, column in enumerate(("winner", "loser")):
        for place, entry in enumerate(pairs[column].tolist()):
            text = level_text(entry).strip()
            if text not in rows:
                raise TableError(
                    f"{name} names the id {text!r} as {column} in row {place + 1:,}, which no row "
                    f"of {where} has."
                )
            found[place, side] = rows[text]
    same = np.flatnonzero(found[:, 0] == found[:, 1])
    if len(same):
        raise TableError(f"{name} has a row {same[0] + 1:,} whose winner and loser are the same.")
    return found, _weights(pairs["weight"], name) if "weight" in columns else None


def _weights(column: Any, name: str) -> Vector:
    if column.dtype.kind in "biuf":
        weights = np.asarray(column, dtype=np.float64)
        if np.isfinite(weights).all() and (weights >= 0).all():
            return weights
    raise TableError(f"Column 'weight' of {name} must hold numbers that are not negative.")
