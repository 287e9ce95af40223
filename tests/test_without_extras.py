"""The package where no extra is installed: every name imports, and use names the extra."""

import re
import subprocess
import sys
from textwrap import dedent

REFUSE = """
import sys

EXTRAS = {
    "matplotlib", "jinja2", "pandas", "polars", "pyarrow", "skops", "typer", "rich", "onnx",
    "onnxruntime", "lightgbm", "shap", "cryptography", "pyreadstat", "python_calamine",
}

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in EXTRAS:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Refuse())
"""
DATA = """
import numpy as np
X = np.arange(60.0).reshape(30, 2)
y = np.repeat([1, 2, 3], 10)
"""
MODEL = (
    DATA
    + """
from echelon import *
model = ProportionalOdds(alpha=1.0).fit(X, y)
"""
)


def run(code):
    """What a program prints that finds none of the extras."""
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", REFUSE + dedent(code)],
        capture_output=True,
        text=True,
    )


def test_every_name_imports():
    answer = run("""
        from echelon import *
        import echelon
        import importlib
        for package in (datasets, export, inspection, metrics, model_selection, plots, reporting,
                        tables, trained):
            for name in package.__all__:
                getattr(package, name)
        assert not EXTRAS & {name.split(".")[0] for name in sys.modules}
        print(len([name for name in echelon.__all__ if name in globals()]) == len(echelon.__all__))
        """)
    assert (answer.stdout, answer.stderr) == ("True\n", "")


def test_models_need_no_extra():
    answer = run(DATA + "from echelon import SVOR; print(SVOR().fit(X, y).predict(X[:1]))")
    assert (answer.stdout, answer.stderr) == ("[1]\n", "")


USES = {
    "to_onnx(model)": "to_onnx needs onnx; install it with the onnx extra",
    "plots.LatentDisplay.from_estimator(model, X, y)": "Plots need matplotlib; install it",
    "report(model, X, y)": "Reports need jinja2; install it with the report extra",
    "tables.read_table('t.csv')": "Tables need pandas; install it with the cli extra",
    "tables.TableWriter('t.csv')": "Tables need pandas; install it with the cli extra",
    "datasets.load_lev(as_frame=True)": "Data frames need pandas; install it with the cli",
}


def test_use_names_the_extra(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,2\n")
    answer = run(
        f"""{MODEL}
import os
os.chdir({str(tmp_path)!r})
for use in {list(USES)!r}:
    try:
        eval(use)
    except ModuleNotFoundError as error:
        print(error)
    else:
        print(use, "needs no extra")
"""
    )
    assert not answer.stderr
    for found, sentence in zip(answer.stdout.splitlines(), USES.values(), strict=True):
        assert found.startswith(sentence)
        assert re.search(r"pip install 'echelon\[\w+\]'\.$", found)
