"""A graph of ONNX operators, written like arithmetic on arrays.

Numbers are double precision throughout. What onnxruntime lacks in double precision is composed of
what it has, see `_functions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

# The package can be imported without its extra; `to_onnx` says what is missing.
with suppress(ModuleNotFoundError):
    import onnx
    from onnx import helper, numpy_helper

#: the operators used here have had their present form since this version of ONNX
LEAST_OPSET = 18
_ML_DOMAIN = "ai.onnx.ml"
_ML_OPSET = 3

#: numbers of types in the format's enumeration TensorProto.DataType
_TYPES = {"float64": 11, "float32": 1, "int64": 7, "bool": 9, "text": 8}


class Value:
    """What one operator gives; arithmetic on it adds operators to its graph."""

    # NumPy leaves ``array − value`` to this class.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    def __add__(self, other: Any) -> Value:
        return self.graph.op("Add", self, other)

    def __radd__(self, other: Any) -> Value:
        return self.graph.op("Add", other, self)

    def __sub__(self, other: Any) -> Value:
        return self.graph.op("Sub", self, other)

    def __rsub__(self, other: Any) -> Value:
        return self.graph.op("Sub", other, self)

    def __mul__(self, other: Any) -> Value:
        return self.graph.op("Mul", self, other)

    def __rmul__(self, other: Any) -> Value:
        return self.graph.op("Mul", other, self)

    def __truediv__(self, other: Any) -> Value:
        return self.graph.op("Div", self, other)

    def __rtruediv__(self, other: Any) -> Value:
        return self.graph.op("Div", other, self)

    def __neg__(self) -> Value:
        return self.graph.op("Neg", self)

    def __matmul__(self, other: Any) -> Value:
        return self.graph.op("MatMul", self, other)

    def __gt__(self, other: Any) -> Value:
        return self.graph.op("Greater", self, other)

    def __lt__(self, other: Any) -> Value:
        return self.graph.op("Less", self, other)

    def __le__(self, other: Any) -> Value:
        return self.graph.op("LessOrEqual", self, other)

    def __and__(self, other: Any) -> Value:
        return self.graph.op("And", self, other)

    def __or__(self, other: Any) -> Value:
        return self.graph.op("Or", self, other)

    def __invert__(self) -> Value:
        return self.graph.op("Not", self)

    def equals(self, other: Any) -> Value:
        """Where both are equal."""
        return self.graph.op("Equal", self, other)

    def apply(self, function: str) -> Value:
        """A function of one argument by its ONNX name, such as "Exp"."""
        return self.graph.op(function, self)

    def clip(self, low: float | None = None, high: float | None = None) -> Value:
        """Entries kept within bounds."""
        return self.graph.op("Clip", self, low, high)

    def cast(self, kind: str) -> Value:
        """The same numbers as another type."""
        return self.graph.op("Cast", self, to=_TYPES[kind])

    def is_missing(self) -> Value:
        """Where numbers are NaN."""
        return self.graph.op("IsNaN", self)

    def where(self, chosen: Any, other: Any) -> Value:
        """One value where this condition holds, another elsewhere."""
        return self.graph.op("Where", self, chosen, other)

    def sum(self, axis: int = 1, *, keep: bool = False) -> Value:
        """Sum along an axis."""
        return self.graph.op("ReduceSum", self, _axes(axis), keepdims=int(keep))

    def max(self, axis: int = 1, *, keep: bool = False) -> Value:
        """Largest along an axis."""
        return self.graph.op("ReduceMax", self, _axes(axis), keepdims=int(keep))

    def argmin(self) -> Value:
        """Position of the first least entry of each row."""
        return self.graph.op("ArgMin", self, axis=1, keepdims=0)

    def take(self, positions: Any, axis: int = 1) -> Value:
        """Entries at given positions along an axis."""
        return self.graph.op("Gather", self, positions, axis=axis)

    def column(self, j: int) -> Value:
        """One column, of shape (n, 1)."""
        return self.take(np.array([j]))

    def flat(self) -> Value:
        """A column as a vector."""
        return self.graph.op("Squeeze", self, _axes(1))

    def upright(self, axis: int = 1) -> Value:
        """A new axis: a vector as a column."""
        return self.graph.op("Unsqueeze", self, _axes(axis))

    def at_most(self, other: Any) -> Value:
        """The lesser of two, entry by entry."""
        return self.graph.op("Min", self, other)

    def at_least(self, other: Any) -> Value:
        """The greater of two, entry by entry."""
        return self.graph.op("Max", self, other)


class Graph:
    """Operators, constants, inputs and outputs, gathered one by one.

    Parameters
    ----------
    opset : int
        Version of ONNX's operators.
    """

    def __init__(self, opset: int) -> None:
        self._opset = opset
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []
        self._domains: set[str] = set()

    def input(self, name: str, kind: str, width: int) -> Value:
        """An input of so many columns and any number of rows."""
        self._inputs.append(helper.make_tensor_value_info(name, _TYPES[kind], ["rows", width]))
        return Value(self, name)

    def output(self, name: str, value: Value, kind: str, width: int | None) -> None:
        """An output of so many columns, or a vector."""
        shape = ["rows"] if width is None else ["rows", width]
        self._nodes.append(helper.make_node("Identity", [value.name], [name], name=f"give_{name}"))
        self._outputs.append(helper.make_tensor_value_info(name, _TYPES[kind], shape))

    def op(self, name: str, *inputs: Any, domain: str = "", **attributes: Any) -> Value:
        """What one operator gives. Inputs are values, or numbers and arrays as constants."""
        result = f"v{len(self._nodes)}"
        names = [self._name_of(value) for value in inputs]
        while names and not names[-1]:
            names.pop()
        if domain:
            self._domains.add(domain)
        # Runtimes join nodes and name the result after them, so each needs a name of its own.
        self._nodes.append(
            helper.make_node(
                name, names, [result], name=f"{name}_{result}", domain=domain, **attributes
            )
        )
        return Value(self, result)

    def learned_op(self, name: str, *inputs: Any, **attributes: Any) -> Value:
        """The same for operators of ONNX's part for machine learning."""
        return self.op(name, *inputs, domain=_ML_DOMAIN, **attributes)

    def constant(self, array: Any) -> Value:
        """A constant; the same numbers are stored once."""
        values = np.asarray(array)
        if values.dtype.kind in "OUT":
            values = values.astype(object)
            key: tuple[Any, ...] = (tuple(values.ravel().tolist()), values.shape, "text")
        else:
            kind = values.dtype if values.dtype.kind in "ib" else np.dtype(np.float64)
            kind = np.dtype(np.int64) if values.dtype.kind == "i" else kind
            values = np.ascontiguousarray(values, dtype=kind).reshape(values.shape)
            key = (values.tobytes(), values.shape, kind.str)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = numpy_helper.from_array(values, name)
        return Value(self, self._constants[key].name)

    @staticmethod
    def tensor(array: npt.NDArray[Any]) -> Any:
        """An array as an attribute of an operator takes it."""
        return numpy_helper.from_array(array)

    def concat(self, values: Sequence[Value], axis: int = 1) -> Value:
        """Values side by side."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def model(self, name: str, text: str) -> Any:
        """The whole as a checked ``ModelProto``."""
        graph = helper.make_graph(
            self._nodes,
            name,
            self._inputs,
            self._outputs,
            initializer=list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", self._opset)]
        opsets += [helper.make_opsetid(domain, _ML_OPSET) for domain in sorted(self._domains)]
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="echelon",
            doc_string=text,
        )
        onnx.checker.check_model(model, full_check=True)
        return model

    def _name_of(self, value: Any) -> str:
        if value is None:
            return ""
        return value.name if isinstance(value, Value) else self.constant(value).name


def in_double(value: Value) -> Value:
    """The same numbers, kept from being fused with a product of matrices.

    onnxruntime draws a factor that is a single number into a product that follows, in single
    precision, and older versions cannot draw in a transposition of doubles.
    """
    return value.at_least(-np.inf)


def _axes(axis: int) -> npt.NDArray[np.int64]:
    return np.array([axis], dtype=np.int64)
