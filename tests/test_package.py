"""The public surface, and what importing it costs."""

import subprocess
import sys
from importlib import resources

import pytest

import echelon

HEAVY = ("pandas", "matplotlib", "dask", "typer", "rich", "polars", "pyarrow", "sklearn", "scipy")


def modules_after(statement):
    code = f"import sys; {statement}; print(*sorted(m for m in sys.modules if '.' not in m))"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return set(answer.stdout.split())


def test_import_is_lazy():
    assert not modules_after("import echelon") & set(HEAVY)


def test_importing_our_own_modules_adds_no_data_frame_library():
    # scikit-learn itself may import pandas where it is installed; we add nothing to that.
    base = modules_after(
        "import sklearn.metrics, sklearn.linear_model, sklearn.ensemble, scipy.sparse"
    )
    ours = modules_after("from echelon import ProportionalOdds, OrdinalReduction")
    assert not (ours - base) & {
        "pandas",
        "polars",
        "pyarrow",
        "matplotlib",
        "dask",
        "typer",
        "rich",
    }


def test_every_public_name_exists_and_is_listed():
    for name in echelon.__all__:
        assert getattr(echelon, name) is not None
    assert set(echelon.__all__) < set(dir(echelon))
    assert echelon.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = echelon.nonsense


def test_package_files_are_installed():
    root = resources.files("echelon")
    assert (root / "py.typed").is_file()
    assert (root / "datasets" / "data" / "lev.csv").is_file()
    assert not [f for f in (root / "_native").iterdir() if f.name.endswith((".pyx", ".pxd", ".c"))]
