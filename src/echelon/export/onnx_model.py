"""From a fitted model to an ONNX model, its inputs, and whether it agrees with the fitted one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from .._utils.frames import input_names
from .._utils.messages import require_choice
from .._utils.types import EstimatorLike, LabelArray, MatrixLike
from ..base.wrappers import inner_estimator
from ..ordinal.columns import is_missing
from . import score_models, transformers, tree_models  # noqa: F401 - registered
from .columns import (
    MISSING_TEXT,
    ORDINAL,
    RANKERS,
    TEXT,
    Columns,
    ExportError,
    convert,
    input_kinds,
)
from .decoding import Ordinal
from .graph import TYPES, Graph, Value
from .wrapped_models import first_reader, prepared, taken_apart

if TYPE_CHECKING:
    import onnx

_AGREEMENT = 1e-5
_METHODS = {
    "decision": "decision_function",
    "latent": "predict_latent",
    "probabilities": "predict_proba",
}


def to_onnx(
    model: EstimatorLike,
    *,
    inputs: str = "auto",
    dtype: str = "float64",
    target_opset: int | None = None,
    sample: MatrixLike | None = None,
) -> onnx.ModelProto:
    """Turn a fitted model, or a pipeline that ends in one, into an ONNX model.

    Parameters
    ----------
    model : estimator
        Fitted: a linear, kernel, stump, tree or rule model of ordered labels, a ranker of these
        kinds, a pipeline of transformers and such a model, or a search that found one.
    inputs : {"auto", "matrix", "columns"}, default="auto"
        One input "X" with a column for each feature, or an input of shape (n, 1) for each column
        that is used, named as at ``fit``. "auto" takes the matrix unless a column holds texts or a
        ``ColumnTransformer`` parts columns by name.
    dtype : {"float64", "float32"}, default="float64"
        Type of numbers that come in. The graph computes in double precision either way.
    target_opset : int, optional
        Version of ONNX's operators, 18 or above; 18 by default, which most runtimes know.
    sample : array-like or data frame, optional
        Rows to try the graph on with onnxruntime: it is refused if its numbers differ from the
        model's by more than 1e-5 or any label differs.

    Returns
    -------
    proto : onnx.ModelProto
        Its outputs are named "label", "decision" (margins), "latent" and "probabilities", as far
        as the model has them, or "score" for a ranker; they have the shapes of the model's own.

    Raises
    ------
    ExportError
        If the model has no form in ONNX; the text names those that have.

    Notes
    -----
    A missing number is NaN, where the model takes missing values, and a missing text is empty. A
    category that an encoder does not know gives zeros, also where scikit-learn would raise an
    error. Offsets of ``ProportionalOdds`` are zero. Of ``ConformalOrdinal`` the predictions of the
    model inside are exported, not its intervals.

    Examples
    --------
    >>> from echelon import ProportionalOdds
    >>> from echelon.datasets import load_lev
    >>> from echelon.export import to_onnx
    >>> X, y = load_lev(return_X_y=True)
    >>> proto = to_onnx(ProportionalOdds().fit(X, y))
    >>> [output.name for output in proto.graph.output]
    ['label', 'decision', 'latent', 'probabilities']
    """
    require_choice("inputs", inputs, ("auto", "matrix", "columns"))
    require_choice("dtype", dtype, ("float64", "float32"))
    if not hasattr(inner_estimator(model), "predict"):
        raise TypeError(f"model must be a fitted model; found {model!r}.")
    steps, final = taken_apart(model)
    check_is_fitted(final)
    graph = Graph(target_opset)
    columns = _read_inputs(graph, steps[0] if steps else final, inputs, dtype)
    final, columns = prepared(model, columns)
    if type(final) in RANKERS:
        graph.output("score", convert(RANKERS, final, columns), "float64", None)
    else:
        _write_outputs(graph, final, convert(ORDINAL, final, columns))
    name = type(final).__name__
    proto = graph.model(name, f"{name}, fitted and exported by Echelon.")
    if sample is not None:
        _require_agreement(proto, model, sample)
    return proto


def _read_inputs(graph: Graph, outer: Any, inputs: str, dtype: str) -> Columns:
    """The inputs of the first step, declared."""
    width = int(outer.n_features_in_)
    names, kinds = input_names(outer), input_kinds(outer, width)
    if TEXT in kinds and inputs == "matrix":
        raise ValueError(
            f"inputs='matrix' needs numbers alone, where column {names[kinds.index(TEXT)]!r} holds "
            "texts; choose 'columns' or 'auto'."
        )
    first = first_reader(outer)
    parted = isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_")
    if TEXT in kinds or inputs == "columns" or (inputs == "auto" and parted):
        return Columns.of_inputs(graph, names, kinds, dtype)
    return Columns.of_matrix(graph.input("X", dtype, width), width)


def _write_outputs(graph: Graph, model: Any, found: Ordinal) -> None:
    classes = np.asarray(model.classes_)
    K = len(classes)
    graph.output("label", *_labels(graph, classes, found.codes), None)
    decision = found.margins.flat() if K == 2 else found.margins
    graph.output("decision", decision, "float64", None if K == 2 else K - 1)
    if found.latent is not None:
        graph.output("latent", found.latent, "float64", None)
    if found.probabilities is not None:
        graph.output("probabilities", found.probabilities, "float64", K)


def _labels(graph: Graph, classes: LabelArray, codes: Value) -> tuple[Value, str]:
    if classes.dtype.kind in "iu":
        values, kind = classes.astype(np.int64), "int64"
    elif classes.dtype.kind in "fb":
        values, kind = classes, "bool" if classes.dtype.kind == "b" else "float64"
    elif all(isinstance(label, str) for label in classes.tolist()):
        values, kind = classes.astype(object), "text"
    else:
        raise ExportError(
            f"Labels such as {classes.tolist()[0]!r} have no form in ONNX; labels must be whole "
            "numbers, numbers, booleans or texts."
        )
    return graph.constant(values).take(codes, axis=0), kind


def onnx_inputs(proto: onnx.ModelProto, X: MatrixLike) -> dict[str, npt.NDArray[Any]]:
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


def _column(one: onnx.ValueInfoProto, frame: Any) -> npt.NDArray[Any]:
    if _has_column(frame, one.name):
        values = frame[one.name].to_list()
    elif not isinstance(frame, nw.DataFrame) and one.name[1:].isdigit():
        values = np.asarray(frame, dtype=object)[:, int(one.name[1:])].tolist()
    else:
        raise ValueError(f"X must have the column {one.name!r}, which the exported model reads.")
    if one.type.tensor_type.elem_type == TYPES["text"]:
        texts = [MISSING_TEXT if is_missing(value) else str(value) for value in values]
        return np.array(texts, dtype=object)[:, None]
    numbers = [np.nan if is_missing(value) else value for value in values]
    return np.array(numbers, dtype=_number_type(one))[:, None]


def _number_type(one: onnx.ValueInfoProto) -> type[np.floating]:
    return np.float32 if one.type.tensor_type.elem_type == TYPES["float32"] else np.float64


def _require_agreement(proto: onnx.ModelProto, model: Any, X: MatrixLike) -> None:
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
    names = [output.name for output in proto.graph.output]
    for name, values in zip(names, session.run(None, onnx_inputs(proto, X)), strict=True):
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
