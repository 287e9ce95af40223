"""TREC's files: judgements of documents (qrels), and ranked lists that a system gave (runs)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._utils.messages import require_choice
from .._utils.types import KeysLike
from ..ordinal.arrays import are_whole
from ..pairs.queries import query_codes
from .tables import FileLike, is_number, name_of, read_text, shortest_texts, write_text

Texts = npt.NDArray[np.str_]


class Qrels(NamedTuple):
    """Judgements: the relevance of a document for a query, a row each."""

    qid: Texts
    doc_id: Texts
    relevance: npt.NDArray[Any]


class Run(NamedTuple):
    """Documents that a system found for queries, with their scores, ranks and the system's tag."""

    qid: Texts
    doc_id: Texts
    score: npt.NDArray[np.float64]
    rank: npt.NDArray[np.int64]
    tag: Texts


class JudgedRun(NamedTuple):
    """What ranking metrics take: labels, scores and queries, and the documents they belong to."""

    y_true: npt.NDArray[np.float64]
    y_score: npt.NDArray[np.float64]
    qid: Texts
    doc_id: Texts


def read_qrels(source: FileLike) -> Qrels:
    r"""Read judgements, lines of ``query iteration document relevance``.

    Parameters
    ----------
    source : path or file
        Text, or gzip-compressed text.

    Returns
    -------
    qrels : Qrels
        ``qid`` and ``doc_id`` as texts; ``relevance`` whole where all of it is.

    Examples
    --------
    >>> import io
    >>> qrels = read_qrels(io.StringIO("q1 0 d7 2\nq1 0 d3 0\n"))
    >>> qrels.doc_id.tolist(), qrels.relevance.tolist()
    (['d7', 'd3'], [2, 0])
    """
    lines = _read_lines(source, "query iteration document relevance")
    qid, _, doc_id, _ = lines.columns
    numbers = lines.floats(3, "relevance")
    whole = bool(are_whole(numbers).all())
    return Qrels(np.array(qid), np.array(doc_id), numbers.astype(np.int64) if whole else numbers)


def write_qrels(
    target: FileLike, qid: KeysLike, doc_id: KeysLike, relevance: npt.ArrayLike
) -> None:
    """Write judgements in TREC's format.

    Parameters
    ----------
    target : path or file
        A path is written whole or not at all, compressed if it ends in ``.gz``.
    qid, doc_id : sequence of shape (n,)
        Ids without spaces.
    relevance : array-like of shape (n,)

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> write_qrels(file, ["q1", "q1"], ["d7", "d3"], [2, 0])
    >>> print(file.getvalue(), end="")
    q1 0 d7 2
    q1 0 d3 0
    """
    queries, documents = _words(qid, "qid"), _words(doc_id, "doc_id")
    grades = _figures(relevance, "relevance")
    _same_length(qid=queries, doc_id=documents, relevance=grades)
    rows = zip(queries, documents, grades, strict=True)
    write_text(target, "".join(f"{q} 0 {d} {r}\n" for q, d, r in rows))


def read_run(source: FileLike) -> Run:
    r"""Read a run, lines of ``query Q0 document rank score tag``.

    Parameters
    ----------
    source : path or file
        Text, or gzip-compressed text.

    Returns
    -------
    run : Run
        Rows in the order of the file.

    Examples
    --------
    >>> import io
    >>> run = read_run(io.StringIO("q1 Q0 d7 1 0.75 mine\n"))
    >>> run.score.tolist(), run.rank.tolist(), run.tag.tolist()
    ([0.75], [1], ['mine'])
    """
    lines = _read_lines(source, "query Q0 document rank score tag")
    qid, _, doc_id, _, _, tag = lines.columns
    ranks = lines.integers(3, "rank")
    return Run(np.array(qid), np.array(doc_id), lines.floats(4, "score"), ranks, np.array(tag))


def write_run(
    target: FileLike,
    qid: KeysLike,
    doc_id: KeysLike,
    score: npt.ArrayLike,
    *,
    tag: str = "echelon",
) -> None:
    """Write a run in TREC's format, each query from its best document to its worst.

    Parameters
    ----------
    target : path or file
        A path is written whole or not at all, compressed if it ends in ``.gz``.
    qid, doc_id : sequence of shape (n,)
        Ids without spaces. Queries are written in the order of their first rows.
    score : array-like of shape (n,)
        A greater one is ranked higher; equal ones stay in their order. They are written so that
        they are read back exactly.
    tag : str, default="echelon"
        Name of the system, without spaces.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> write_run(file, ["q1", "q2", "q1"], ["d7", "d1", "d3"], [0.2, 3, 0.8])
    >>> print(file.getvalue(), end="")
    q1 Q0 d3 1 0.8 echelon
    q1 Q0 d7 2 0.2 echelon
    q2 Q0 d1 1 3 echelon
    """
    (tag,) = _words([tag], "tag")
    queries, documents = _words(qid, "qid"), _words(doc_id, "doc_id")
    scores = np.asarray(score, dtype=np.float64)
    figures = _figures(scores, "score")
    _same_length(qid=queries, doc_id=documents, score=figures)
    codes, _ = query_codes(queries, len(queries))
    order = np.lexsort((-scores, codes))
    ranks = np.arange(len(order)) - np.searchsorted(codes[order], codes[order]) + 1
    write_text(
        target,
        "".join(
            f"{queries[i]} Q0 {documents[i]} {rank} {figures[i]} {tag}\n"
            for i, rank in zip(order.tolist(), ranks.tolist(), strict=True)
        ),
    )


def judged_run(
    run: Run, qrels: Qrels, *, unjudged: float | str = 0, unretrieved: str = "append"
) -> JudgedRun:
    r"""Join a run with judgements into what ranking metrics take.

    Queries that only one of the two has are left out, as trec_eval does.

    Parameters
    ----------
    run : Run
        By `read_run`.
    qrels : Qrels
        By `read_qrels`.
    unjudged : float or "drop", default=0
        Label of a document of the run without a judgement, or to leave it out.
    unretrieved : {"append", "drop"}, default="append"
        What becomes of documents with a judgement that the run lacks. ``"append"`` puts them at
        the end of their query with the score −∞, so that recall and the ideal order know of them;
        ``"drop"`` leaves them out, and the run is judged against the best order of what it found.
        Average precision counts appended documents at the last places, trec_eval at none.

    Returns
    -------
    judged : JudgedRun
        Rows of the run in their order, then appended ones.

    Examples
    --------
    >>> import io
    >>> run = read_run(io.StringIO("q1 Q0 d7 1 0.75 a\nq1 Q0 d8 2 0.5 a\n"))
    >>> qrels = read_qrels(io.StringIO("q1 0 d7 2\nq1 0 d3 1\nq2 0 d7 1\n"))
    >>> judged = judged_run(run, qrels)
    >>> judged.doc_id.tolist(), judged.y_true.tolist(), judged.y_score.tolist()
    (['d7', 'd8', 'd3'], [2.0, 0.0, 1.0], [0.75, 0.5, -inf])
    """
    require_choice("unretrieved", unretrieved, ("append", "drop"))
    if isinstance(unjudged, str):
        require_choice("unjudged", unjudged, ("drop",), "a number")
    found, known = _keys(run, "run"), _keys(qrels, "qrels")
    grades = dict(zip(known, qrels.relevance.tolist(), strict=True))
    shared = np.intersect1d(run.qid, qrels.qid)
    kept = np.isin(run.qid, shared)
    labels = [grades.get(key) for key in found]
    if isinstance(unjudged, str):
        kept &= np.array([label is not None for label in labels], dtype=bool)
    fill = math.nan if isinstance(unjudged, str) else float(unjudged)
    filled = np.array([fill if label is None else label for label in labels])
    more = np.zeros(len(known), dtype=bool)
    if unretrieved == "append":
        retrieved = set(found)
        more = np.isin(qrels.qid, shared)
        more &= np.array([key not in retrieved for key in known], dtype=bool)
    return JudgedRun(
        np.concatenate([filled[kept], qrels.relevance[more]]).astype(np.float64),
        np.concatenate([run.score[kept], np.full(more.sum(), -np.inf)]),
        np.concatenate([run.qid[kept], qrels.qid[more]]),
        np.concatenate([run.doc_id[kept], qrels.doc_id[more]]),
    )


def _keys(rows: Run | Qrels, name: str) -> list[str]:
    """One text per row for its query and document; an error if two rows have the same."""
    pairs = zip(rows.qid.tolist(), rows.doc_id.tolist(), strict=True)
    keys = [f"{query}\n{document}" for query, document in pairs]
    if len(set(keys)) < len(keys):
        query, document = next(key for key, times in Counter(keys).items() if times > 1).split("\n")
        raise ValueError(
            f"{name} must have a document once in a query; found {document!r} twice in {query!r}."
        )
    return keys


@dataclass(frozen=True)
class _Lines:
    """Fields of a file's lines, column by column, and where each line stands."""

    where: str
    columns: list[list[str]]
    numbers: list[int]

    def floats(self, column: int, name: str) -> npt.NDArray[np.float64]:
        """One column as finite numbers."""
        fields = self.columns[column]
        try:
            values = np.array(list(map(float, fields)))
        except ValueError:
            values = np.array([float(field) if is_number(field) else np.nan for field in fields])
        self._require(np.isfinite(values), column, f"the {name} must be a finite number")
        return values

    def integers(self, column: int, name: str) -> npt.NDArray[np.int64]:
        """One column as whole numbers."""
        values = self.floats(column, name)
        self._require(are_whole(values), column, f"the {name} must be a whole number")
        return values.astype(np.int64)

    def _require(self, right: npt.NDArray[np.bool_], column: int, rule: str) -> None:
        if not right.all():
            row = int(np.argmin(right))
            raise ValueError(
                f"{self.where}, line {self.numbers[row]}: {rule}; found "
                f"{self.columns[column][row]!r}."
            )


def _read_lines(source: FileLike, fields: str) -> _Lines:
    """Lines of as many fields as are named; blank ones are left out."""
    where, width = name_of(source), len(fields.split())
    text = read_text(source)
    # Lists of fields kept for every line would keep the garbage collector busy.
    counts = [len(line.split()) for line in text.split("\n")]
    numbers = [number for number, count in enumerate(counts, start=1) if count]
    if not numbers:
        raise ValueError(f"{where} must have at least one line; found none.")
    if set(counts) - {0, width}:
        number = next(number for number in numbers if counts[number - 1] != width)
        raise ValueError(
            f"{where}, line {number}: a line must have the {width} fields {fields}; found "
            f"{counts[number - 1]}."
        )
    words = text.split()
    return _Lines(where, [words[k::width] for k in range(width)], numbers)


def _words(values: Any, name: str) -> list[str]:
    texts = [str(value) for value in (values.tolist() if hasattr(values, "tolist") else values)]
    for text in set(texts):
        if len(text.split()) != 1:
            raise ValueError(f"{name} must be without spaces and not empty; found {text!r}.")
    return texts


def _figures(values: npt.ArrayLike, name: str) -> list[str]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not np.isfinite(numbers).all():
        raise ValueError(f"{name} must be one column of finite numbers.")
    return shortest_texts(numbers)


def _same_length(**columns: Sequence[Any]) -> None:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ValueError(f"Columns must have as many entries each; found {found}.")
