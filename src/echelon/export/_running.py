"""Rows as the inputs of an exported model, and whether it agrees with the model it came from."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt

from .._utils.types import MatrixLike
from ..ordinal.columns import is_missing
from ._columns import MISSING_TEXT
from ._registry import ExportError

_STRING, _FLOAT = 8, 1
_AGREEMENT = 1e-5
_METHODS = {
    "decision": "decision_function",
    "latent": "predict_latent",
    "probabilities": "predict_proba",
}


def onnx_inputs(proto: Any, X: MatrixLike) -> dict[str, npt.NDArray[Any]]:
    """Rows of a table as the inputs of an exported model, for ``InferenceSession.run``.

    Parameters
    ----------
    proto : onnx.ModelProto
        What `to_onnx` gave.
    X : array-like or data frame of shape (n, d)
        Columns as at ``fit``.

    Returns
    -------
    inputs : dict of ndarray
        By the name of the input, in its type; missing numbers are NaN, missing texts empty.

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.export import onnx_inputs, to_onnx
    >>> model = ProportionalOdds(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    >>> onnx_inputs(to_onnx(model), [[0.5], [1.5]])
    {'X': array([[0.5],
           [1.5]])}
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    inputs = list(proto.graph.input)
    if len(inputs) == 1 and inputs[0].name == "X" and not _has_column(frame, "X"):
        values = frame.to_numpy() if isinstance(frame, nw.DataFrame) else np.asarray(X)
        return {"X": np.ascontiguousarray(values, dtype=_number_type(inputs[0]))}
    return {one.name: _column(one, frame) for one in inputs}


def _has_column(frame: Any, name: str) -> bool:
    return isinstance(frame, nw.DataFrame) and name in frame.columns


def _column(one: Any, frame: Any) -> npt.NDArray[Any]:
    if _has_column(frame, one.name):
        values = frame[one.name].to_list()
    elif not isinstance(frame, nw.DataFrame) and one.name[1:].isdigit():
        values = np.asarray(frame, dtype=object)[:, int(one.name[1:])].tolist()
    else:
        raise ValueError(f"X must have the column {one.name!r}, which the exported model reads.")
    if one.type.tensor_type.elem_type == _STRING:
        texts = [MISSING_TEXT if is_missing(value) else str(value) for value in values]
        return np.array(texts, dtype=object)[:, None]
    numbers = [np.nan if is_missing(value) else value for value in values]
    return np.array(numbers, dtype=_number_type(one))[:, None]


def _number_type(one: Any) -> Any:
    return np.float32 if one.type.tensor_type.elem_type == _FLOAT else np.float64


def require_agreement(proto: Any, model: Any, X: Any) -> None:
    """Refuse a graph that does not give what the model gives."""
    try:
        import onnxruntime
    except ImportError:
        raise ImportError(
            "sample needs onnxruntime to try the exported model; install it or leave sample out."
        ) from None
    session = onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found = dict(
        zip(
            [output.name for output in proto.graph.output],
            session.run(None, onnx_inputs(proto, X)),
            strict=True,
        )
    )
    for name, values in found.items():
        # A pipeline or a search has no method for latent scores.
        method = getattr(model, _METHODS.get(name, "predict"), None)
        if method is None:
            continue
        expected = np.asarray(method(X))
        if not _agree(expected, np.asarray(values)):
            raise ExportError(
                f"The exported model disagrees with the model on {name!r} for some rows of sample."
            )


def _agree(expected: npt.NDArray[Any], found: npt.NDArray[Any]) -> bool:
    if expected.shape != found.shape:
        return False
    if expected.dtype.kind not in "f":
        return bool((expected.astype(object) == found.astype(object)).all())
    return bool(np.allclose(found, expected, rtol=_AGREEMENT, atol=_AGREEMENT, equal_nan=True))
