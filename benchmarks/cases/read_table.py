"""A table of mixed columns read as ``echelon compare`` reads it, beside ``pandas.read_csv``.

pandas parses; ours tells numbers, dates, truth values and categories by all cells, looks for
identifiers, codes and orders, and makes labels and inputs of the columns.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer

CATEGORIES = (3, 8, 20, 200)


class File(NamedTuple):
    """A CSV file; ``folder`` keeps it alive."""

    path: Path
    folder: tempfile.TemporaryDirectory[str]


def build(n: int) -> File:
    """Twelve numbers, four categories, two dates, a truth value and a target of five labels."""
    import pandas as pd

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number{j}": rng.normal(size=n).round(4) for j in range(12)}
    for j, count in enumerate(CATEGORIES):
        levels = np.array([f"level {level}" for level in range(count)])
        columns[f"category{j}"] = levels[rng.integers(0, count, n)]
    for j in range(2):
        columns[f"date{j}"] = (np.datetime64("2015-01-01") + rng.integers(0, 3000, n)).astype(str)
    columns["boolean"] = rng.random(n) < 0.3
    columns["grade"] = rng.integers(1, 6, n)
    folder = tempfile.TemporaryDirectory(prefix="echelon-read-")
    file = File(Path(folder.name) / "table.csv", folder)
    pd.DataFrame(columns).to_csv(file.path, index=False)
    return file


def ours(file: File) -> Any:
    from echelon.tables import read_labelled_table

    return read_labelled_table(file.path, "grade")


def read_csv(file: File) -> Any:
    import pandas as pd

    return pd.read_csv(file.path)


def seen(file: File, table: Any, frame: Any) -> dict[str, float]:
    """Largest difference of a number, and inputs that are read as categories or dates."""
    numbers = [name for name in frame.columns if name.startswith("number")]
    gap = np.abs(table.X[numbers].to_numpy() - frame[numbers].to_numpy()).max()
    others = len(table.schema.of_kind("category", "date"))
    return {"gap": float(gap), "categories and dates": float(others)}


CASES = (
    Case(
        "read_table/mixed",
        sizes=(1_000_000,),
        quick_sizes=(20_000,),
        build=build,
        ours=ours,
        peers=(Peer("pandas.read_csv", "pandas", read_csv, target=1.5, agreement=seen),),
        rounds=5,
    ),
)
