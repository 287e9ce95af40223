"""Which functions turn which fitted objects into operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .decoding import Ordinal
from .graph import Graph, Value

ORDINAL: dict[type, Callable[[Any, Columns], Ordinal]] = {}
RANKERS: dict[type, Callable[[Any, Columns], Value]] = {}
TRANSFORMERS: dict[type, Callable[[Any, Columns], Columns]] = {}
#: how an object that reads texts says which of its input columns are texts
KINDS: dict[type, Callable[[Any, int], list[str]]] = {}

Function = TypeVar("Function", bound=Callable[..., Any])
Found = TypeVar("Found")


class ExportError(ValueError):
    """A model that has no form in ONNX; the text says which models have one."""


def registered(table: dict[type, Any], *kinds: type) -> Callable[[Function], Function]:
    """Enter a function into one of the tables for some classes."""

    def enter(function: Function) -> Function:
        table.update(dict.fromkeys(kinds, function))
        return function

    return enter


def convert(
    table: dict[type, Callable[[Any, Columns], Found]], model: Any, columns: Columns
) -> Found:
    """Operators of a model of `ORDINAL`, or of a ranker of `RANKERS`: its scores, (n,)."""
    if type(model) not in table:
        raise unsupported(type(model).__name__)
    return table[type(model)](model, columns)


def convert_transformer(transformer: Any, columns: Columns) -> Columns:
    """Operators of a transformer."""
    if type(transformer) in TRANSFORMERS:
        return TRANSFORMERS[type(transformer)](transformer, columns)
    if hasattr(transformer, "get_support"):
        return columns.take(transformer.get_support(indices=True))
    raise ExportError(
        f"{type(transformer).__name__} cannot be exported to ONNX; transformers that can are "
        f"{_names(TRANSFORMERS)}, and those that select columns."
    )


def input_kinds(step: Any, width: int) -> list[str]:
    """Which input columns of a fitted object are texts."""
    return KINDS[type(step)](step, width) if type(step) in KINDS else [NUMBER] * width


def unsupported(what: str) -> ExportError:
    """The refusal of a model, with the names of those that can be exported."""
    return ExportError(
        f"{what} cannot be exported to ONNX; models that can are {_names(ORDINAL)}, and the "
        f"rankers {_names(RANKERS)}."
    )


def _names(table: dict[type, Any]) -> str:
    return ", ".join(sorted({kind.__name__ for kind in table}))


NUMBER, TEXT = "number", "text"
#: what a missing text is in a graph, where texts cannot be absent
MISSING_TEXT = ""


@dataclass(frozen=True)
class Columns:
    """Columns on their way through a graph, of numbers or of texts.

    Columns that belong to one matrix are taken from it, so that a model on all of them reads the
    matrix itself.

    Parameters
    ----------
    graph : Graph
    kinds : tuple of {"number", "text"}
    reads : tuple of callable
        Each gives one column, of shape (n, 1), when it is first needed.
    whole : Value, optional
        The matrix (n, d) whose columns these are.
    """

    graph: Graph
    kinds: tuple[str, ...]
    reads: tuple[Callable[[], Value], ...]
    whole: Value | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    @classmethod
    def of_matrix(cls, matrix: Value, width: int) -> Columns:
        """The columns of a matrix of numbers."""
        reads = tuple(cache(partial(matrix.column, j)) for j in range(width))
        return cls(matrix.graph, (NUMBER,) * width, reads, matrix)

    @classmethod
    def of_inputs(
        cls, graph: Graph, names: Sequence[str], kinds: Sequence[str], dtype: str
    ) -> Columns:
        """An input for every column, declared when it is first read."""
        types = [TEXT if kind == TEXT else dtype for kind in kinds]
        pairs = zip(names, types, strict=True)
        reads = (cache(partial(graph.input, name, type, 1)) for name, type in pairs)
        return cls(graph, tuple(kinds), tuple(reads))

    def take(self, positions: Sequence[int] | npt.NDArray[np.intp]) -> Columns:
        """Some columns in another order."""
        chosen = [int(j) for j in positions]
        if chosen == list(range(len(self))):
            return self
        kinds = tuple(self.kinds[j] for j in chosen)
        reads = tuple(self.reads[j] for j in chosen)
        if self.whole is None or not chosen:
            return Columns(self.graph, kinds, reads)
        return Columns(self.graph, kinds, reads, self.whole.take(np.array(chosen)))

    def matrix(self) -> Value:
        """All columns as one matrix of numbers."""
        if TEXT in self.kinds:
            raise ValueError(
                "The model reads numbers where its inputs are texts; put an encoder such as "
                "OneHotEncoder before it."
            )
        if self.whole is not None:
            return self.whole
        if len(self) == 0:
            raise ValueError("The model has no input columns left, so there is nothing to export.")
        return self.graph.concat([read() for read in self.reads])

    def column(self, j: int) -> Value:
        """One column, (n, 1)."""
        return self.reads[j]()


def positions(column: Value, entries: Sequence[Any], unseen: int, missing: int) -> Value:
    """Position of each row's text or number in a list, as whole numbers; others for the rest.

    A missing number is NaN; a missing text is empty, unless the list has an empty one.
    """
    if holds_texts(entries):
        known = {str(text): position for position, text in enumerate(entries)}
        known.setdefault(MISSING_TEXT, missing)
        return column.graph.op(
            "LabelEncoder",
            column,
            keys_strings=list(known),
            values_int64s=list(known.values()),
            default_int64=unseen,
        )
    if len(entries):
        # The count of the place from its own number on: zero where no number fits.
        numbers = np.array([[float(number) for number in entries]])
        place = column.equals(numbers).cast("int64") * np.arange(1, len(entries) + 1)
        place = place.max(keep=True)
        found = place.equals(np.int64(0)).where(np.int64(unseen), place - np.int64(1))
    else:
        found = (column * 0.0).cast("int64") * np.int64(0) + np.int64(unseen)
    return column.is_missing().where(np.int64(missing), found)


def holds_texts(entries: Sequence[Any]) -> bool:
    """Whether categories are texts."""
    return any(isinstance(entry, str) for entry in entries)
