"""Every example runs as it is, without warnings, and what it says is asserted inside it."""

from __future__ import annotations

import ast
import runpy
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "examples"
EXAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
#: optional package -> examples that stop with a sentence where it is missing
OPTIONAL = {
    "mlflow": "plot_mlflow",
    "onnx": "plot_onnx",
    "polars": "plot_pandas_polars",
    "shap": "plot_shap",
    "skops.io": "plot_persistence",
}


def run(name, capsys):
    """Run an example; the sentence with which it stopped, if it did."""
    code = None
    try:
        runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    except SystemExit as stop:
        code = stop.code
    assert code in (None, 0)
    return None if code is None else capsys.readouterr().out.strip()


@pytest.fixture
def pictures(monkeypatch):
    matplotlib = pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    matplotlib.use("Agg", force=True)
    from matplotlib import pyplot

    pyplot.close("all")
    yield pyplot
    pyplot.close("all")


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, pictures, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    stopped = run(name, capsys)
    if stopped is not None:
        assert stopped.startswith("This example needs ")
        pytest.skip(stopped)
    for number in pictures.get_fignums():
        pictures.figure(number).canvas.draw()
    assert pictures.get_fignums()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("package", OPTIONAL)
def test_missing_package_is_named(package, pictures, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    stopped = run(OPTIONAL[package], capsys)
    assert stopped is not None and stopped.startswith(f"This example needs {package.split('.')[0]}")
    assert "pip install" in stopped and len(stopped.splitlines()) == 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_form_of_the_gallery(name):
    """A title, a text, cells, and statements that can fail."""
    source = (FOLDER / f"{name}.py").read_text(encoding="utf-8")
    tree = ast.parse(source)
    title, underline, *text = ast.get_docstring(tree).splitlines()
    assert name.startswith("plot_")
    assert underline == "=" * len(title) and len(" ".join(text)) > 60
    assert source.count("\n# %%\n") >= 3
    assert sum(isinstance(node, ast.Assert) for node in ast.walk(tree)) >= 2


def test_pages_asked_for_are_there():
    assert len(EXAMPLES) >= 19
