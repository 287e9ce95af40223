"""Fitted models as ONNX graphs, for runtimes that have neither Python nor scikit-learn."""

from .columns import ExportError
from .onnx_model import onnx_inputs, to_onnx

__all__ = ["ExportError", "onnx_inputs", "to_onnx"]
