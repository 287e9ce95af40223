"""From a fitted model to an ONNX file."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from sklearn.compose import ColumnTransformer
from sklearn.utils.validation import check_is_fitted

from .._utils.choices import require_choice
from ..base.wrappers import inner_estimator
from . import _kernel_models, _linear_models, _rule_models, _tree_models  # noqa: F401 - registered
from ._columns import TEXT, Columns, as_double
from ._decoding import Ordinal
from ._graph import LEAST_OPSET, Graph, Value
from ._preparation import input_kinds
from ._registry import (
    RANKERS,
    ExportError,
    convert_ordinal,
    convert_ranker,
    convert_transformer,
)
from ._running import require_agreement
from ._wrapped_models import first_reader, taken_apart


def to_onnx(
    model: Any,
    *,
    inputs: str = "auto",
    dtype: str = "float64",
    target_opset: int | None = None,
    sample: Any = None,
) -> Any:
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
    graph = Graph(_opset(target_opset))
    columns = _read_inputs(graph, steps[0] if steps else final, inputs, dtype)
    for step in steps:
        columns = convert_transformer(step, columns)
    if type(final) in RANKERS:
        graph.output("score", convert_ranker(final, columns), "float64", None)
    else:
        _write_outputs(graph, final, convert_ordinal(final, columns))
    name = type(final).__name__
    proto = graph.model(name, f"{name}, fitted and exported by Echelon.")
    if sample is not None:
        require_agreement(proto, model, sample)
    return proto


def _opset(target: int | None) -> int:
    newest = onnx.defs.onnx_opset_version()
    if target is None:
        return LEAST_OPSET
    if isinstance(target, bool) or not LEAST_OPSET <= target <= newest:
        raise ValueError(
            f"target_opset must be an integer from {LEAST_OPSET} to {newest}, the newest that the "
            f"installed onnx knows; found {target!r}."
        )
    return int(target)


def _read_inputs(graph: Graph, outer: Any, inputs: str, dtype: str) -> Columns:
    """The inputs of the first step, declared."""
    width = int(outer.n_features_in_)
    names = getattr(outer, "feature_names_in_", None)
    names = [f"x{j}" for j in range(width)] if names is None else [str(name) for name in names]
    kinds = input_kinds(outer, width)
    if TEXT in kinds and inputs == "matrix":
        raise ValueError(
            f"inputs='matrix' needs numbers alone, where column {names[kinds.index(TEXT)]!r} holds "
            "texts; choose 'columns' or 'auto'."
        )
    first = first_reader(outer)
    parted = isinstance(first, ColumnTransformer) and hasattr(first, "feature_names_in_")
    if TEXT in kinds or inputs == "columns" or (inputs == "auto" and parted):
        return Columns.of_inputs(graph, names, kinds, dtype)
    return Columns.of_matrix(as_double(graph.input("X", dtype, width), dtype), width)


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


def _labels(graph: Graph, classes: Any, codes: Value) -> tuple[Value, str]:
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
