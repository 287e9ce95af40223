"""Fitted models as ONNX graphs, for runtimes that have neither Python nor scikit-learn."""

from __future__ import annotations

from typing import Any

__all__ = ["ExportError", "onnx_inputs", "to_onnx"]

_HOMES = {"ExportError": "_registry", "onnx_inputs": "_running", "to_onnx": "_export"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'echelon.export' has no attribute {name!r}")
    try:
        from importlib import import_module

        return getattr(import_module(f"echelon.export.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            "echelon.export needs onnx; install it with: pip install 'echelon[onnx]'.",
            name="onnx",
        ) from None
