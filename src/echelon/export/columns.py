"""The inputs of a graph: one matrix of numbers, or an input for every column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
import numpy.typing as npt

from .._utils.types import Vector
from .graph import Graph, Value

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

        def read(name: str, kind: str) -> Value:
            if kind == TEXT:
                return graph.input(name, "text", 1)
            return as_double(graph.input(name, dtype, 1), dtype)

        pairs = zip(names, kinds, strict=True)
        return cls(graph, tuple(kinds), tuple(cache(partial(read, *pair)) for pair in pairs))

    @classmethod
    def joined(cls, graph: Graph, parts: Sequence[Columns]) -> Columns:
        """The columns of several after each other."""
        kinds = tuple(kind for part in parts for kind in part.kinds)
        return cls(graph, kinds, tuple(read for part in parts for read in part.reads))

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


def as_double(value: Value, dtype: str) -> Value:
    """Numbers in double precision."""
    return value if dtype == "float64" else value.cast("float64")


def text_positions(column: Value, texts: Sequence[str], unseen: int, missing: int) -> Value:
    """Position of each text in a list, as whole numbers; others for texts not in it.

    An empty text is a missing one unless the list has it.
    """
    known = {text: position for position, text in enumerate(texts)}
    known.setdefault(MISSING_TEXT, missing)
    return column.graph.learned_op(
        "LabelEncoder",
        column,
        keys_strings=list(known),
        values_int64s=list(known.values()),
        default_int64=unseen,
    )


def number_positions(column: Value, numbers: Vector, unseen: int, missing: int) -> Value:
    """The same for numbers, with NaN as the missing one."""
    if not len(numbers):
        found = (column * 0.0).cast("int64") * np.int64(0) + np.int64(unseen)
    else:
        # The count of the place from its own number on: zero where no number fits.
        places = np.arange(1, len(numbers) + 1)
        place = column.equals(numbers[None, :]).cast("int64") * places
        place = place.max(keep=True)
        found = place.equals(np.int64(0)).where(np.int64(unseen), place - np.int64(1))
    return column.is_missing().where(np.int64(missing), found)
