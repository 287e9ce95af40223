"""A graph of ONNX operators, written like arithmetic on arrays.

Numbers are double precision throughout. What onnxruntime lacks in double precision is composed of
what it has, see `echelon.export.decoding`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from .._utils.packages import require_extra

if TYPE_CHECKING:
    import onnx

#: the operators used here have had their present form since this version of ONNX
_LEAST_OPSET = 18
#: ONNX's part for machine learning, and what is used of it
_ML_DOMAIN, _ML_OPSET = "ai.onnx.ml", 3
_LEARNED = ("LabelEncoder", "TreeEnsembleRegressor")

# Numbers of types by ONNX's standard (TensorProto.DataType).
TYPES = {"float64": 11, "float32": 1, "int64": 7, "bool": 9, "text": 8}


def _operator(name: str) -> Callable[..., Value]:
    return lambda value, *others: value.graph.op(name, value, *others)


def _reflected(name: str) -> Callable[[Value, Any], Value]:
    return lambda right, left: right.graph.op(name, left, right)


class Value:
    """What one operator gives; arithmetic on it adds operators to its graph."""

    # NumPy leaves ``array − value`` to this class.
    __array_ufunc__ = None

    def __init__(self, graph: Graph, name: str) -> None:
        self.graph = graph
        self.name = name

    __add__, __radd__ = _operator("Add"), _reflected("Add")
    __sub__, __rsub__ = _operator("Sub"), _reflected("Sub")
    __mul__, __rmul__ = _operator("Mul"), _reflected("Mul")
    __truediv__, __rtruediv__ = _operator("Div"), _reflected("Div")
    __matmul__ = _operator("MatMul")
    __gt__, __lt__, __le__ = _operator("Greater"), _operator("Less"), _operator("LessOrEqual")
    __or__, __neg__ = _operator("Or"), _operator("Neg")
    #: Where two are equal; the lesser, and the greater of two, entry by entry.
    equals, at_most, at_least = _operator("Equal"), _operator("Min"), _operator("Max")
    #: Where numbers are NaN; and where a condition holds one of two values, else the other.
    is_missing, where = _operator("IsNaN"), _operator("Where")

    def apply(self, function: str) -> Value:
        """A function of one argument by its ONNX name, such as "Exp"."""
        return self.graph.op(function, self)

    def clip(self, low: float | None = None, high: float | None = None) -> Value:
        """Entries kept within bounds."""
        return self.graph.op("Clip", self, low, high)

    def cast(self, kind: str) -> Value:
        """The same numbers as another type."""
        return self.graph.op("Cast", self, to=TYPES[kind])

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


class Graph:
    """Operators, constants, inputs and outputs, gathered one by one.

    Parameters
    ----------
    opset : int, optional
        Version of ONNX's operators, the oldest that has them by default.
    """

    def __init__(self, opset: int | None = None) -> None:
        require_extra("to_onnx needs", "onnx", "onnx")
        import onnx

        self._onnx = onnx
        self._opset = self._checked_opset(opset)
        self._nodes: list[onnx.NodeProto] = []
        self._constants: dict[tuple[Any, ...], onnx.TensorProto] = {}
        self._inputs: list[onnx.ValueInfoProto] = []
        self._outputs: list[onnx.ValueInfoProto] = []

    def _checked_opset(self, target: int | None) -> int:
        newest = self._onnx.defs.onnx_opset_version()
        if target is None:
            return _LEAST_OPSET
        if isinstance(target, bool) or not _LEAST_OPSET <= target <= newest:
            raise ValueError(
                f"target_opset must be an integer from {_LEAST_OPSET} to {newest}, the newest that "
                f"the installed onnx knows; found {target!r}."
            )
        return int(target)

    def _info(self, name: str, kind: str, width: int | None) -> onnx.ValueInfoProto:
        shape: list[str | int | None] = ["rows"] if width is None else ["rows", width]
        return self._onnx.helper.make_tensor_value_info(name, TYPES[kind], shape)

    def input(self, name: str, kind: str, width: int) -> Value:
        """An input of so many columns and any number of rows, numbers in double precision."""
        self._inputs.append(self._info(name, kind, width))
        value = Value(self, name)
        return value.cast("float64") if kind == "float32" else value

    def output(self, name: str, value: Value, kind: str, width: int | None) -> None:
        """An output of so many columns, or a vector."""
        make_node = self._onnx.helper.make_node
        self._nodes.append(make_node("Identity", [value.name], [name], name=f"give_{name}"))
        self._outputs.append(self._info(name, kind, width))

    def op(self, name: str, *inputs: Any, **attributes: Any) -> Value:
        """What one operator gives. Inputs are values, or numbers and arrays as constants."""
        result = f"v{len(self._nodes)}"
        names = [self._name_of(value) for value in inputs]
        while names and not names[-1]:
            names.pop()
        domain = _ML_DOMAIN if name in _LEARNED else ""
        # Runtimes join nodes and name the result after them, so each needs a name of its own.
        self._nodes.append(
            self._onnx.helper.make_node(
                name, names, [result], name=f"{name}_{result}", domain=domain, **attributes
            )
        )
        return Value(self, result)

    def constant(self, array: Any) -> Value:
        """A constant; the same numbers are stored once."""
        values = np.asarray(array)
        if values.dtype.kind in "OUT":
            values = values.astype(object)
            key: tuple[Any, ...] = (tuple(values.ravel().tolist()), values.shape, "text")
        else:
            kind = np.dtype({"i": np.int64, "b": np.bool_}.get(values.dtype.kind, np.float64))
            values = np.ascontiguousarray(values, dtype=kind).reshape(values.shape)
            key = (values.tobytes(), values.shape, kind.str)
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = self._onnx.numpy_helper.from_array(values, name)
        return Value(self, self._constants[key].name)

    def tensor(self, array: npt.NDArray[Any]) -> onnx.TensorProto:
        """An array as an attribute of an operator takes it."""
        return self._onnx.numpy_helper.from_array(array)

    def concat(self, values: Sequence[Value], axis: int = 1) -> Value:
        """Values side by side."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def model(self, name: str, text: str) -> onnx.ModelProto:
        """The whole as a checked model."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes,
            name,
            self._inputs,
            self._outputs,
            initializer=list(self._constants.values()),
        )
        opsets = [helper.make_opsetid("", self._opset)]
        if any(node.domain == _ML_DOMAIN for node in self._nodes):
            opsets.append(helper.make_opsetid(_ML_DOMAIN, _ML_OPSET))
        model = helper.make_model(
            graph,
            opset_imports=opsets,
            ir_version=helper.find_min_ir_version_for(opsets),
            producer_name="echelon",
            doc_string=text,
        )
        self._onnx.checker.check_model(model, full_check=True)
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
