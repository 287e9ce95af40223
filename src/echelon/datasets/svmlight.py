"""Ranking data in SVMlight's format: ``label qid:query index:value … # comment``."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.utils import Bunch

from .._utils.types import KeysLike, MatrixLike
from ..ordinal.arrays import finite_vector
from ..pairs.queries import query_codes
from .tables import FileLike, is_number, name_of, read_text, shortest_texts, write_text

_QUERY = re.compile(r"\s*(\S+)\s+qid:(\S+)")
_WHOLE = re.compile(r"-?(0|[1-9]\d*)")
# Numbers beyond this do not fit scikit-learn's reader.
_MOST_DIGITS = 18


def load_ranking_svmlight(
    source: FileLike,
    *,
    n_features: int | None = None,
    zero_based: bool = False,
    comments: bool = False,
) -> Bunch:
    r"""Read rows with labels and queries from a file in SVMlight's format.

    Parameters
    ----------
    source : path or file
        Text, or gzip-compressed text, which is recognised by its content.
    n_features : int, optional
        Number of columns; by default the largest index that occurs.
    zero_based : bool, default=False
        Whether the first column has the index 0, not 1.
    comments : bool, default=False
        Whether to keep what stands after ``#``.

    Returns
    -------
    Bunch
        With ``data`` (a sparse matrix in CSR form), ``target``, ``qid`` (whole numbers if all ids
        are written as such, else texts; None if the file has none; in any order) and ``comments``
        (a list of texts, or None).

    Raises
    ------
    ValueError
        In one sentence, with the number of the line.

    Examples
    --------
    >>> import io
    >>> rows = load_ranking_svmlight(io.StringIO("2 qid:7 1:0.5 3:1\n0 qid:7 2:4 # d2\n"))
    >>> rows.data.toarray().tolist(), rows.target.tolist(), rows.qid.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 4.0, 0.0]], [2.0, 0.0], [7, 7])
    """
    where = name_of(source)
    bodies, notes, numbers = _rows(read_text(source))
    if not bodies:
        raise ValueError(f"{where} must have at least one row; found none.")
    qid, plain = _queries(bodies, numbers, where)
    try:
        X, y = load_svmlight_file(
            io.BytesIO("\n".join(plain).encode()), n_features=n_features, zero_based=zero_based
        )
    except (ValueError, OverflowError) as error:
        raise ValueError(_complaint(plain, numbers, where, zero_based, n_features, error)) from None
    return Bunch(data=X, target=y, qid=qid, comments=notes if comments else None)


def dump_ranking_svmlight(
    target: FileLike,
    X: MatrixLike,
    y: npt.ArrayLike,
    qid: KeysLike | None = None,
    *,
    zero_based: bool = False,
    comments: Sequence[str] | None = None,
) -> None:
    """Write rows with labels and queries in SVMlight's format.

    Numbers are written so that they are read back exactly, and zeros are left out.

    Parameters
    ----------
    target : path or file
        A path is written whole or not at all, compressed if it ends in ``.gz``.
    X : array-like or sparse matrix of shape (n, d)
        Finite or missing numbers.
    y : array-like of shape (n,)
        Labels.
    qid : sequence of shape (n,), optional
        Query of each row: whole numbers, or texts without spaces and ``#``.
    zero_based : bool, default=False
        Whether the first column gets the index 0, not 1.
    comments : sequence of str, optional
        A text for each row, put after ``#``; an empty one is left out.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> dump_ranking_svmlight(file, [[0.5, 0.0], [0.0, 4.0]], [2, 0], ["q1", "q1"])
    >>> print(file.getvalue(), end="")
    2 qid:q1 1:0.5
    0 qid:q1 2:4
    """
    matrix = sparse.csr_matrix(X, dtype=np.float64, copy=True)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    n = matrix.shape[0]
    labels = finite_vector(y, n, "y")
    if np.isinf(matrix.data).any():
        raise ValueError("X must hold finite or missing numbers; found infinity.")
    ids = [""] * n if qid is None else [f" qid:{text}" for text in _id_texts(qid, n)]
    ends = [""] * n if comments is None else _comment_texts(comments, n)
    first = 0 if zero_based else 1
    cells = [
        f" {j}:{value}"
        for j, value in zip(
            (matrix.indices + first).tolist(), shortest_texts(matrix.data), strict=True
        )
    ]
    starts = matrix.indptr.tolist()
    lines = [
        f"{label}{query}{''.join(cells[a:b])}{end}\n"
        for label, query, a, b, end in zip(
            shortest_texts(labels), ids, starts[:-1], starts[1:], ends, strict=True
        )
    ]
    write_text(target, "".join(lines))


def _rows(text: str) -> tuple[list[str], list[str], list[int]]:
    """Rows without comments, their comments, and their line numbers; blank lines are none."""
    bodies, notes, numbers = [], [], []
    for number, line in enumerate(text.split("\n"), start=1):
        body, _, note = line.partition("#")
        if body and not body.isspace():
            bodies.append(body)
            notes.append(note.strip())
            numbers.append(number)
    return bodies, notes, numbers


def _queries(
    bodies: list[str], numbers: list[int], where: str
) -> tuple[npt.NDArray[Any] | None, list[str]]:
    """Query of each row, and the rows without it."""
    found = [_QUERY.match(body) for body in bodies]
    present = [match is not None for match in found]
    if not any(present):
        return None, bodies
    if not all(present):
        line = numbers[present.index(False)]
        raise ValueError(
            f"{where}, line {line}: a row must have its query after the label, as qid:…, where "
            "other rows have one."
        )
    ids = [match[2] for match in found if match]
    plain = [match[1] + match.string[match.end() :] for match in found if match]
    whole = all(_WHOLE.fullmatch(entry) and len(entry) <= _MOST_DIGITS for entry in set(ids))
    return np.array(ids, dtype=np.int64 if whole else None), plain


def _complaint(
    plain: list[str],
    numbers: list[int],
    where: str,
    zero_based: bool,
    n_features: int | None,
    error: Exception,
) -> str:
    """What is wrong with the first bad row, which scikit-learn's reader does not say."""
    least = 0 if zero_based else 1
    most = float("inf") if n_features is None else n_features - 1 + least
    for number, row in zip(numbers, plain, strict=True):
        label, *cells = row.split()
        fault = f"the label must be a number; found {label!r}"
        if is_number(label):
            fault = _cells_fault(cells, least, most) or ""
        if fault:
            return f"{where}, line {number}: {fault}."
    return f"{where} is not in SVMlight's format: {error}."


def _cells_fault(cells: list[str], least: int, most: float) -> str | None:
    before = least - 1
    for cell in cells:
        index, colon, value = cell.partition(":")
        if not colon or not _WHOLE.fullmatch(index) or not is_number(value):
            return f"an input must be written index:value with numbers; found {cell!r}"
        if not least <= int(index) <= most:
            limit = f"at least {least}" if int(index) < least else f"at most {most:g}"
            return f"an index must be {limit}; found {cell!r}"
        if int(index) <= before:
            return f"indices must rise along a row; found {cell!r} after index {before}"
        before = int(index)
    return None


def _id_texts(qid: Any, n: int) -> list[str]:
    codes, ids = query_codes(qid, n)
    texts = [str(entry) for entry in ids]
    for text in texts:
        if not text or re.search(r"[\s#]", text):
            raise ValueError(f"qid must have no space and no # in it; found {text!r}.")
    if len(set(texts)) < len(texts):
        raise ValueError("qid must differ as texts, not only by type.")
    return [texts[code] for code in codes.tolist()]


def _comment_texts(comments: Sequence[str], n: int) -> list[str]:
    if len(comments) != n:
        raise ValueError(f"comments must have a text per row, {n}; found {len(comments)}.")
    for text in comments:
        if str(text).splitlines() not in ([], [str(text)]):
            raise ValueError(f"comments must be single lines; found {text!r}.")
    return [f" # {text}" if text else "" for text in comments]
