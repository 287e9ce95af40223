"""Fitted estimators as a tree of JSON nodes and one run of bytes for the numbers of their arrays.

The numbers of arrays follow each other in the order in which the tree names them, so that each byte
belongs to one array and a small file stays small in memory. `echelon.trained.grammar` says what a
tree may hold, and checks it as a whole before anything is imported or built for it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.state import StateError, require_state
from .forms import FORMS, check_foreign
from .grammar import CLASSES, DEEPEST, DTYPE, GENERATORS, IS, NOT_FINITE, NUMBERS, SPARSE
from .one_hot import ENCODER, without_rare_names
from .trust import OWN_TYPES, find_type, name_of


class NotSaveableError(TypeError):
    """A value that no node stands for; the text goes on after "holds"."""


# ----------------------------------------------------------------------------------- from a model


class Packer:
    """Turns values into nodes; ``numbers`` has the bytes of their arrays."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    @property
    def numbers(self) -> bytes:
        """The bytes of all arrays so far."""
        return b"".join(self._parts)

    def node(self, value: Any, depth: int = 0) -> Any:
        """The node of a value."""
        if depth > DEEPEST:
            raise NotSaveableError("parts inside parts without end")
        if isinstance(value, np.generic):
            return self._scalar(value)
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is list:
            return self._nodes(value, depth)
        for kind, pack in self._by_type.items():
            if type(value) is kind:
                return pack(self, value, depth)
        return self._other(value, depth)

    def _nodes(self, values: Any, depth: int) -> list[Any]:
        return [self.node(value, depth + 1) for value in values]

    def _float(self, value: float, depth: int) -> Any:
        return value if math.isfinite(value) else {IS: "float", "value": str(value)}

    def _tuple(self, value: tuple[Any, ...], depth: int) -> Any:
        return {IS: "tuple", "items": self._nodes(value, depth)}

    def _slice(self, value: slice, depth: int) -> Any:
        parts = (value.start, value.stop, value.step)
        return {IS: "slice", "items": self._nodes(parts, depth)}

    def _dict(self, value: dict[Any, Any], depth: int) -> Any:
        return {IS: "dict", "items": [self._nodes(pair, depth) for pair in value.items()]}

    def _scalar(self, value: np.generic) -> Any:
        if isinstance(value, np.str_):
            return {IS: "text", "value": str(value)}
        return {IS: "scalar", "dtype": self._write(np.asarray(value))}

    def _array(self, value: np.ndarray, depth: int) -> Any:
        shape = list(value.shape)
        if value.dtype.kind == "O":
            return {IS: "objects", "shape": shape, "items": self._nodes(value.ravel(), depth)}
        if value.dtype.kind == "U":
            width, items = value.dtype.itemsize // 4, value.ravel().tolist()
            return {IS: "texts", "shape": shape, "width": width, "items": items}
        # The last bit of a product can depend on the order in which a matrix is kept.
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        return {IS: "array", "dtype": self._write(value, order), "shape": shape, "order": order}

    def _write(self, value: np.ndarray, order: Any = "C") -> str:
        code = f"{value.dtype.kind}{value.dtype.itemsize}"
        if code not in NUMBERS:
            raise NotSaveableError(f"an array of {value.dtype}")
        self._parts.append(value.astype(f"<{code}").tobytes(order))
        return code

    def _random(self, value: Any, depth: int) -> Any:
        if isinstance(value, np.random.RandomState):
            state: Any = value.get_state(legacy=False)
        else:
            state = value.bit_generator.state
        if state["bit_generator"] not in GENERATORS:
            raise NotSaveableError(f"a generator of random numbers by {state['bit_generator']}")
        legacy = isinstance(value, np.random.RandomState)
        return {IS: "random", "state": self.node({"legacy": legacy, **state}, depth + 1)}

    def _class(self, value: type, depth: int) -> Any:
        if CLASSES.get(value.__name__) is not value:
            raise NotSaveableError(f"the class {value.__name__}")
        return {IS: "class", "name": value.__name__}

    def _other(self, value: Any, depth: int) -> Any:
        if isinstance(value, type):
            return self._class(value, depth)
        if isinstance(value, np.dtype):
            if not DTYPE.fullmatch(str(value)):
                raise NotSaveableError(f"the type of numbers {value}")
            return {IS: "dtype", "name": str(value)}
        if type(value).__name__ in SPARSE and sp.issparse(value):
            parts = self._nodes((value.data, value.indices, value.indptr), depth)
            shape = list(value.shape)
            return {IS: "sparse", "format": type(value).__name__, "shape": shape, "items": parts}
        return self._object(value, depth)

    def _object(self, value: Any, depth: int) -> Any:
        name = name_of(type(value))
        state = {key: self.node(part, depth + 1) for key, part in state_of(name, value).items()}
        return {IS: "object", "type": name, "state": state}

    _by_type: dict[type, Callable[..., Any]] = {  # noqa: RUF012 - a table, never changed
        float: _float,
        tuple: _tuple,
        dict: _dict,
        slice: _slice,
        np.ndarray: _array,
        np.random.Generator: _random,
        np.random.RandomState: _random,
    }


def state_of(name: str, value: Any) -> dict[str, Any]:
    """What an object of a listed type is made of, by name."""
    if name in FORMS:
        return _without_jobs(FORMS[name].take_apart(value))
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple):
        return dict(value._asdict())  # type: ignore[attr-defined]
    state = _without_jobs(dict(value.__getstate__() or {}))
    return without_rare_names(state) if name == ENCODER else state


def _without_jobs(state: dict[str, Any]) -> dict[str, Any]:
    """A file does not say how many processes to start."""
    return {**state, "n_jobs": None} if "n_jobs" in state else state


# ---------------------------------------------------------------------------------------- a model


class Unpacker:
    """Builds values from nodes that `check_tree` has passed, in the order of their arrays."""

    def __init__(self, numbers: bytes) -> None:
        self._numbers = numbers
        self._at = 0

    def finish(self) -> None:
        """Raise an error if some bytes belong to no array."""
        require_state(self._at == len(self._numbers), "it holds numbers that belong to no array")

    def value(self, node: Any) -> Any:
        """The value of a node."""
        if isinstance(node, list):
            return self._values(node)
        if not isinstance(node, dict):
            return node
        build: Callable[[dict[str, Any]], Any] = getattr(self, f"_{node[IS]}")
        return build(node)

    def _values(self, nodes: Any) -> list[Any]:
        return [self.value(node) for node in nodes]

    def _float(self, node: dict[str, Any]) -> float:
        return NOT_FINITE[node["value"]]

    def _tuple(self, node: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self._values(node["items"]))

    def _slice(self, node: dict[str, Any]) -> slice:
        return slice(*node["items"])

    def _dict(self, node: dict[str, Any]) -> dict[Any, Any]:
        return dict(self._values(node["items"]))

    def _text(self, node: dict[str, Any]) -> np.str_:
        return np.str_(node["value"])

    def _scalar(self, node: dict[str, Any]) -> np.generic:
        found: np.generic = self._read(node["dtype"], 1)[0]
        return found

    def _array(self, node: dict[str, Any]) -> np.ndarray:
        shape = node["shape"]
        return self._read(node["dtype"], math.prod(shape)).reshape(shape, order=node["order"])

    def _read(self, code: str, count: int) -> np.ndarray:
        size = count * int(code[1])
        part = self._numbers[self._at : self._at + size]
        require_state(len(part) == size, "its arrays are longer than their numbers")
        self._at += size
        found = np.frombuffer(part, f"<{code}").copy() if size else np.empty(0, f"<{code}")
        if code == "b1":
            require_state(found.view(np.uint8) <= 1, "a truth value is neither 0 nor 1")
        return found.astype(found.dtype.newbyteorder("="), copy=False)

    def _texts(self, node: dict[str, Any]) -> np.ndarray:
        return np.array(node["items"], dtype=f"<U{node['width']}").reshape(node["shape"])

    def _objects(self, node: dict[str, Any]) -> np.ndarray:
        found = np.empty(len(node["items"]), dtype=object)
        found[:] = [_Boxed(value) for value in self._values(node["items"])]
        for place, boxed in enumerate(found):
            found[place] = boxed.value
        return found.reshape(node["shape"])

    def _dtype(self, node: dict[str, Any]) -> np.dtype:
        return np.dtype(node["name"])

    def _class(self, node: dict[str, Any]) -> type:
        return CLASSES[node["name"]]

    def _sparse(self, node: dict[str, Any]) -> Any:
        found = SPARSE[node["format"]](tuple(self._values(node["items"])), shape=node["shape"])
        found.check_format(full_check=True)
        return found

    def _random(self, node: dict[str, Any]) -> Any:
        state = self.value(node["state"])
        legacy = state.pop("legacy")
        name = state["bit_generator"]
        require_state(isinstance(name, str) and name in GENERATORS, "it draws in an unknown way")
        if name == "MT19937":
            _check_twister(state["state"])
        generator = GENERATORS[name](0)
        if not legacy:
            generator.state = state
            return np.random.Generator(generator)
        drawn = np.random.RandomState(0)
        require_state(name == "MT19937", "it draws in an unknown way")
        drawn.set_state(state)
        return drawn

    def _object(self, node: dict[str, Any]) -> Any:
        name = node["type"]
        state = {key: self.value(part) for key, part in node["state"].items()}
        try:
            return _build(name, state)
        except StateError as error:
            raise StateError(f"{name.rpartition('.')[2]} is not whole: {error}") from None


class _Boxed:
    """Keeps NumPy from looking into what an array of objects holds."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _check_twister(state: dict[str, Any]) -> None:
    key, place = state["key"], state["pos"]
    fits = isinstance(key, np.ndarray) and key.shape == (624,) and key.dtype == np.uint32
    require_state(fits and type(place) is int and 0 <= place <= 624, "it draws in an unknown way")


def _build(name: str, state: dict[str, Any]) -> Any:
    """An object of a listed type from what `state_of` gave, checked."""
    kind = find_type(name)
    own = name in OWN_TYPES
    made: Any
    if name in FORMS:
        return FORMS[name].put_together(kind, state)
    if dataclasses.is_dataclass(kind):
        wanted = {field.name for field in dataclasses.fields(kind)}
        require_state(state.keys() == wanted, "its parts are others")
        made = kind(**state)
    elif issubclass(kind, tuple):
        made = kind(**state)
    else:
        _refuse_shadows(kind, state, own)
        made = object.__new__(kind)
        if hasattr(made, "__setstate__"):
            made.__setstate__(state)
        else:
            made.__dict__.update(state)
    if not own:
        check_foreign(name, made)
    elif hasattr(made, "check_state"):
        made.check_state()
    return made


def _refuse_shadows(kind: type, state: dict[str, Any], own: bool) -> None:
    """Refuse attributes that stand in front of methods, of what is derived, of what others fix."""
    missing = object()
    for name in state:
        found = getattr(kind, name, missing)
        if found is missing:
            continue
        plain = own and not callable(found) and not hasattr(type(found), "__get__")
        require_state(plain, f"its attribute {name} is part of its class")
