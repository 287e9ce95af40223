"""Which functions turn which fitted objects into operators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .columns import NUMBER, Columns
from .decoding import Ordinal
from .graph import Value

ORDINAL: dict[type, Callable[[Any, Columns], Ordinal]] = {}
RANKERS: dict[type, Callable[[Any, Columns], Value]] = {}
TRANSFORMERS: dict[type, Callable[[Any, Columns], Columns]] = {}
#: how an object that reads texts says which of its input columns are texts
KINDS: dict[type, Callable[[Any, int], list[str]]] = {}

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
    if type(model) not in ORDINAL:
        raise unsupported(type(model).__name__)
    return ORDINAL[type(model)](model, columns)


def convert_ranker(model: Any, columns: Columns) -> Value:
    """Operators of a ranker: its scores, (n,)."""
    if type(model) not in RANKERS:
        raise unsupported(type(model).__name__)
    return RANKERS[type(model)](model, columns)


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
