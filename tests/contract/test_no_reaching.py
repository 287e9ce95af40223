"""Packages above the families read models by public names, not by their private attributes."""

import ast
from pathlib import Path

import pytest

import echelon

PACKAGES = ("export", "inspection", "model_selection", "plots", "reporting", "trained")
SOURCE = Path(echelon.__file__).parent
# Public, whatever they begin with: the fields of named tuples, and the end of a process.
DOCUMENTED = {"_asdict", "_fields", "_replace", "_exit"}
# They check the state of other packages' estimators before they are built from a file.
OF_OTHERS = {"trained/forms.py", "trained/one_hot.py"}


def reaches(source):
    """Lines where a private attribute of another object is read or set."""
    nodes = list(ast.walk(ast.parse(source)))
    bases = {b.id for n in nodes if isinstance(n, ast.ClassDef) for b in n.bases if is_name(b)}
    for node in nodes:
        if not isinstance(node, ast.Attribute) or node.attr in DOCUMENTED:
            continue
        private = node.attr.startswith("_") and not node.attr.endswith("__")
        own = is_name(node.value) and node.value.id in {"self", "cls", *bases}
        if private and not own and not is_super(node.value):
            yield f"{node.lineno}: {ast.unparse(node)}"


def is_name(node):
    return isinstance(node, ast.Name)


def is_super(node):
    return isinstance(node, ast.Call) and ast.unparse(node.func) == "super"


@pytest.mark.parametrize("package", PACKAGES)
def test_no_private_attributes_of_others(package):
    found = {
        str(path.relative_to(SOURCE)): lines
        for path in sorted((SOURCE / package).rglob("*.py"))
        if path.relative_to(SOURCE).as_posix() not in OF_OTHERS
        and (lines := list(reaches(path.read_text(encoding="utf-8"))))
    }
    assert found == {}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("model._tables", ["1: model._tables"]),
        ("self.model._fit()", ["1: self.model._fit"]),
        ("f(x)._y = 1", ["1: f(x)._y"]),
        ("class A(B):\n    _x = B._x + C._x", ["2: C._x"]),
        ("self._own, cls._own, super()._own, x.__class__, pair._replace(a=1)", []),
    ],
)
def test_what_counts_as_reaching(source, expected):
    assert list(reaches(source)) == expected
