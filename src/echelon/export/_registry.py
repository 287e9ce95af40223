"""Which functions turn which fitted objects into operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ._columns import Columns
from ._decoding import Ordinal
from ._graph import Value

OrdinalConverter = Callable[[Any, Columns], Ordinal]
RankerConverter = Callable[[Any, Columns], Value]
TransformerConverter = Callable[[Any, Columns], Columns]
KindReader = Callable[[Any, int], list[str]]

ORDINAL: dict[type, OrdinalConverter] = {}
RANKERS: dict[type, RankerConverter] = {}
TRANSFORMERS: dict[type, TransformerConverter] = {}
#: how an object that reads texts says which of its input columns are texts
KINDS: dict[type, KindReader] = {}

Function = TypeVar("Function", bound=Callable[..., Any])


class ExportError(ValueError):
    """A model that has no form in ONNX; the text says which models have one."""


def registered(table: dict[type, Any], *kinds: type) -> Callable[[Function], Function]:
    """Enter a function into one of the tables for some classes."""

    def enter(function: Function) -> Function:
        table.update(dict.fromkeys(kinds, function))
        return function

    return enter


def convert_ordinal(model: Any, columns: Columns) -> Ordinal:
    """Operators of a model of ordered labels."""
    return _find(ORDINAL, model)(model, columns)


def convert_ranker(model: Any, columns: Columns) -> Value:
    """Operators of a ranker: its scores, (n,)."""
    return _find(RANKERS, model)(model, columns)


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


def _find(table: dict[type, Any], model: Any) -> Any:
    if type(model) in table:
        return table[type(model)]
    raise unsupported(type(model).__name__)


def unsupported(what: str) -> ExportError:
    """The refusal of a model, with the names of those that can be exported."""
    return ExportError(
        f"{what} cannot be exported to ONNX; models that can are {_names(ORDINAL)}, and the "
        f"rankers {_names(RANKERS)}."
    )


def _names(table: dict[type, Any]) -> str:
    return ", ".join(sorted({kind.__name__ for kind in table}))
