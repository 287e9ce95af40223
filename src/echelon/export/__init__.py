"""Fitted models as ONNX graphs, for runtimes that have neither Python nor scikit-learn."""

from ._export import to_onnx
from ._registry import ExportError
from ._running import onnx_inputs

__all__ = ["ExportError", "onnx_inputs", "to_onnx"]
