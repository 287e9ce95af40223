"""Functions composed of operators, and the package without onnx."""

from __future__ import annotations

import sys
from importlib import import_module

import numpy as np
import pytest
from scipy.special import ndtr

pytest.importorskip("onnx", reason="onnx is not installed")
onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

from echelon import ProportionalOdds  # noqa: E402
from echelon.export import to_onnx  # noqa: E402
from echelon.export.decoding import (  # noqa: E402
    arctangent,
    monotone_exceedance,
    normal_cdf,
    sigmoid,
)
from echelon.export.graph import Graph  # noqa: E402
from echelon.ordinal.reduction import monotone_exceedance as expected_exceedance  # noqa: E402


def evaluate(function, X):
    graph = Graph(18)
    graph.output("y", function(graph.input("X", "float64", X.shape[1])), "float64", X.shape[1])
    session = onnxruntime.InferenceSession(
        graph.model("f", "").SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, {"X": X})[0]


def test_normal_distribution_has_relative_accuracy_below():
    z = np.concatenate([np.linspace(-37.0, 9.0, 5001), [0.0, -1e-300, 1e-300]])[:, None]
    np.testing.assert_allclose(evaluate(normal_cdf, z), ndtr(z), rtol=1e-12)


def test_normal_distribution_at_the_ends():
    z = np.array([[-np.inf], [-1e300], [1e300], [np.inf]])
    np.testing.assert_array_equal(evaluate(normal_cdf, z)[:, 0] > 0.5, [False, False, True, True])
    np.testing.assert_allclose(evaluate(normal_cdf, z)[:, 0], [0, 0, 1, 1], atol=1e-300)


def test_arctangent():
    z = np.concatenate([np.linspace(-3, 3, 4001), np.logspace(-300, 300, 601), [np.inf, -np.inf]])
    np.testing.assert_allclose(evaluate(arctangent, z[:, None])[:, 0], np.arctan(z), rtol=1e-13)


def test_sigmoid():
    z = np.array([[-np.inf, -800.0, -20.0, 0.0, 20.0, np.inf]])
    with np.errstate(over="ignore"):
        np.testing.assert_allclose(evaluate(sigmoid, z), 1 / (1 + np.exp(-z)), rtol=1e-15)


def test_nearest_falling_sequence():
    rows = np.random.default_rng(0).random((200, 6))
    found = evaluate(lambda X: monotone_exceedance(X, 6), rows)
    np.testing.assert_allclose(found, expected_exceedance(rows), atol=1e-14)


def test_missing_onnx_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    model = ProportionalOdds(alpha=1.0).fit([[0.0], [1.0], [2.0]], [1, 2, 3])
    with pytest.raises(ModuleNotFoundError, match="needs onnx; install it with the onnx"):
        to_onnx(model)


def test_the_package_is_imported_without_onnx(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("echelon.export")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert callable(import_module("echelon.export").to_onnx)
