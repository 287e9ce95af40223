"""Files of svmlight and LIBSVM: a label and numbered features on every line."""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.datasets import load_svmlight_file

from ..ordinal.arrays import are_whole
from .blocks import TwoPassReader, line_blocks
from .faults import TableError
from .formats import LABEL, QUERY

_MOST_FEATURES = 20_000
_MOST_CELLS = 1 << 23


class SvmlightReader(TwoPassReader):
    """An svmlight file as pyarrow tables with columns ``label``, ``x1`` … and maybe ``qid``.

    Feature numbers are the columns' names, so files of the same origin have the same columns
    whichever features some of their rows lack. A feature that a row does not name is zero.

    Parameters
    ----------
    source : Source
    """

    absent_is_zero = True

    def kinds(self, target: str | None = None) -> dict[str, str]:
        """Kind of every column, by all rows."""
        self.source.keep()
        first, last, whole, queries, rows = 1, 0, True, False, 0
        for X, labels, qid in self._parts():
            rows += len(labels)
            whole = whole and bool(are_whole(labels).all())
            queries = queries or qid is not None
            if X.nnz:
                first, last = min(first, int(X.indices.min())), max(last, int(X.indices.max()))
        if not rows:
            raise TableError(f"{self.source.name} has no rows.")
        if last > _MOST_FEATURES:
            raise TableError(
                f"{self.source.name} has features up to number {last:,}; tables have at most "
                f"{_MOST_FEATURES:,} columns."
            )
        kinds = {QUERY: "integer"} if queries else {}
        kinds.update((f"x{place}", "number") for place in range(first, last + 1))
        kinds[LABEL] = "integer" if whole else "number"
        self._names = list(kinds)
        return kinds

    def tables(
        self, kinds: Mapping[str, str], keep: Collection[str] | None = None
    ) -> Iterator[Any]:
        """The table in parts, with the columns that `kinds` names."""
        wanted = [name for name in kinds if keep is None or name in keep]
        step = max(1, _MOST_CELLS // max(len(wanted), 1))
        for X, labels, qid in self._parts():
            for start in range(0, len(labels), step):
                part = slice(start, start + step)
                queries = None if qid is None else qid[part]
                rows = X[part].tocsc(), labels[part], queries
                yield pa.table([_column(name, kinds[name], *rows) for name in wanted], names=wanted)

    def _parts(self) -> Iterator[tuple[Any, np.ndarray, np.ndarray | None]]:
        """Sparse inputs by feature number, labels and queries, block by block."""
        with self.source.open() as stream:
            for block, line in line_blocks(stream, self.source.name):
                try:
                    X, labels, qid = _load(block)
                except (ValueError, OverflowError):
                    raise self._bad_line(block, line) from None
                if len(labels):
                    yield X, labels, qid if len(qid) == len(labels) else None

    def _bad_line(self, block: bytes, line: int) -> TableError:
        for place, text in enumerate(block.split(b"\n"), start=line):
            try:
                _load(text + b"\n")
            except (ValueError, OverflowError):
                return TableError(
                    f"{self.source.name} has no label and features in line {place}, such as "
                    "'3 1:0.5 2:1'."
                )
        return TableError(f"{self.source.name} has a query id in some rows only.")


def _load(block: bytes) -> Any:
    return load_svmlight_file(io.BytesIO(block), zero_based=True, query_id=True)


def _column(name: str, kind: str, X: Any, labels: np.ndarray, qid: np.ndarray | None) -> np.ndarray:
    """Labels, queries, or the feature whose number is in the name; zero where rows lack it."""
    if name == LABEL:
        return labels.astype(np.int64) if kind == "integer" else labels
    if name == QUERY:
        return np.zeros(len(labels), np.int64) if qid is None else qid
    column = np.zeros(len(labels))
    place = int(name[1:]) if name[:1] == "x" and name[1:].isdecimal() else X.shape[1]
    if place < X.shape[1]:
        part = slice(X.indptr[place], X.indptr[place + 1])
        column[X.indices[part]] = X.data[part]
    return column
