"""The grammar of the tree that stands for estimators in a model file, checked before it is built.

A text, a number, a truth value, null or a list stands for itself. Anything else is an object whose
entry "is" says what: see `_ENTRIES`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._utils.state import require_state
from .trust import require_known

IS = "is"
# The entries of every kind of node, besides "is".
_ENTRIES = {
    "float": {"value"},
    "tuple": {"items"},
    "dict": {"items"},
    "slice": {"items"},
    "array": {"dtype", "shape", "order"},
    "texts": {"shape", "width", "items"},
    "objects": {"shape", "items"},
    "scalar": {"dtype"},
    "text": {"value"},
    "dtype": {"name"},
    "class": {"name"},
    "random": {"state"},
    "sparse": {"format", "shape", "items"},
    "object": {"type", "state"},
}
NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NUMBERS = {"b1", "f2", "f4", "f8", *(f"{sign}{size}" for sign in "iu" for size in (1, 2, 4, 8))}
DTYPE = re.compile(r"bool|object|float(16|32|64)|u?int(8|16|32|64)|<U\d{1,6}")
CLASSES: dict[str, type] = {
    kind.__name__: kind
    for kind in (float, int, str, bool, np.float32, np.float64, np.int32, np.int64, np.uint8)
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*|_[A-Za-z0-9][A-Za-z0-9_]*")
SPARSE = {"csr_matrix": sp.csr_matrix, "csr_array": sp.csr_array, "csc_matrix": sp.csc_matrix}
GENERATORS = {"PCG64": np.random.PCG64, "MT19937": np.random.MT19937}
DEEPEST = 100
# An array without elements takes no bytes, whatever its shape says.
_LONGEST_EMPTY = 10**7


def check_tree(node: Any, depth: int = 0) -> None:
    """Raise an error unless a tree has only nodes of the kinds and types that models are made of.

    Nothing is imported or built for this.
    """
    require_state(depth <= DEEPEST, "it is nested too deep")
    if isinstance(node, list):
        for part in node:
            check_tree(part, depth + 1)
        return
    if not isinstance(node, dict):
        require_state(not isinstance(node, float) or math.isfinite(node), "a number is not finite")
        return
    kind: Any = node.get(IS)
    require_state(isinstance(kind, str) and kind in _ENTRIES, f"it has a node that is {kind!r}")
    require_state(node.keys() - {IS} == _ENTRIES[kind], f"a node that is {kind!r} is not complete")
    _CHECKS.get(kind, _check_items)(node)
    for part in _parts(node):
        check_tree(part, depth + 1)


def _parts(node: dict[str, Any]) -> Iterator[Any]:
    """The nodes inside a node."""
    if node[IS] == "object":
        yield from node["state"].values()
    elif node[IS] == "random":
        yield node["state"]
    else:
        yield from node.get("items", ())


def _check_items(node: dict[str, Any]) -> None:
    items = node["items"]
    require_state(isinstance(items, list), f"the parts of a {node[IS]} are no list")
    if "shape" in node:
        count = math.prod(_shape(node["shape"]))
        require_state(
            len(items) == (3 if node[IS] == "sparse" else count),
            "an array has another number of elements than its shape says",
        )
    if node[IS] == "slice":
        whole = [part is None or type(part) is int for part in items]
        require_state(len(items) == 3 and all(whole), "a slice is not made of three integers")
    if node[IS] == "dict":
        pairs = [isinstance(pair, list) and len(pair) == 2 for pair in items]
        require_state(all(pairs), "a mapping is not made of pairs")
    if node[IS] == "sparse":
        require_state(
            isinstance(node["format"], str)
            and node["format"] in SPARSE
            and len(node["shape"]) == 2,
            "a sparse matrix is of an unknown format",
        )


def _shape(shape: Any) -> list[int]:
    whole = isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    require_state(whole and len(shape) <= 8, "the shape of an array is not made of integers")
    empty = 0 in shape
    require_state(
        not empty or math.prod(max(size, 1) for size in shape) <= _LONGEST_EMPTY,
        "an array without elements has a shape that is too large",
    )
    return list(shape)


def _check_numbers(node: dict[str, Any]) -> None:
    known = isinstance(node["dtype"], str) and node["dtype"] in NUMBERS
    require_state(known, "an array is of an unknown type of numbers")
    if node[IS] == "array":
        _shape(node["shape"])
        require_state(node["order"] in ("C", "F"), "an array is kept in an unknown order")


def _check_texts(node: dict[str, Any]) -> None:
    _check_items(node)
    width = node["width"]
    require_state(type(width) is int and 0 <= width < 10**6, "texts have no width")
    fit = all(isinstance(text, str) and len(text) <= width for text in node["items"])
    require_state(fit, "an array of texts holds something else")


def _check_object(node: dict[str, Any]) -> None:
    require_state(isinstance(node["type"], str), "a type has no name")
    require_known(node["type"])
    state = node["state"]
    named = isinstance(state, dict) and all(map(_NAME.fullmatch, state))
    require_state(named, f"{node['type']} has attributes that are none")
    # How many processes to start is for whoever predicts to choose.
    require_state(state.get("n_jobs") is None, f"{node['type']} asks for processes")


def _check_choice(node: dict[str, Any], key: str, holds: Callable[[str], Any]) -> None:
    found = node[key]
    require_state(isinstance(found, str) and bool(holds(found)), f"a {node[IS]} is {found!r}")


_CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    "float": lambda node: _check_choice(node, "value", NOT_FINITE.__contains__),
    "array": _check_numbers,
    "scalar": _check_numbers,
    "texts": _check_texts,
    "text": lambda node: _check_choice(node, "value", lambda _: True),
    "dtype": lambda node: _check_choice(node, "name", DTYPE.fullmatch),
    "class": lambda node: _check_choice(node, "name", CLASSES.__contains__),
    "random": lambda node: None,
    "object": _check_object,
}
