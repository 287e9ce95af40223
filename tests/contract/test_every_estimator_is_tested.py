"""No public estimator without its own tests."""

import ast
import re
from pathlib import Path

import pytest
from support.estimators import public_estimators

TESTS = Path(__file__).parent.parent


def test_estimators_are_found():
    names = {cls.__name__ for cls in public_estimators()}
    assert {"ProportionalOdds", "CoarseToFineSearchCV"} <= names


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_estimator_has_a_test_module_that_uses_it(cls):
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", cls.__name__).lower()
    path = TESTS / cls.__module__.split(".")[1] / f"test_{snake}.py"
    assert path.exists(), f"{cls.__name__} needs {path.name}"
    tree = ast.parse(path.read_text())
    tests = [
        n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name.startswith("test")
    ]
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert tests
    assert cls.__name__ in names
    assert cls.__doc__ and "Examples" in cls.__doc__
