"""``read_labelled_table`` on an SPSS file of forty columns, beside pyreadstat reading it.

Answers with labels, numbers and texts, some of them missing; pyreadstat gives codes, and ours are
read into levels, kinds and inputs as models take them.
"""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case, Peer, Skip

ANSWERS = ("never", "rarely", "sometimes", "often", "always")
REGIONS = ("north", "south", "east", "west")
COLUMNS = {"answer": 15, "number": 17, "region": 7}


class File(NamedTuple):
    """The file; ``folder`` keeps it alive."""

    path: Path
    folder: tempfile.TemporaryDirectory[str]


def build(n: int) -> File:
    """Fifteen labelled questions, seventeen measured numbers, seven texts and a target."""
    if find_spec("pyreadstat") is None:
        raise Skip("install the survey extra")
    import pandas as pd
    import pyreadstat

    rng = np.random.default_rng(1)
    columns: dict[str, Any] = {}
    for j in range(COLUMNS["answer"]):
        codes = rng.integers(1, len(ANSWERS) + 1, n).astype(float)
        columns[f"answer{j}"] = np.where(rng.random(n) < 0.05, np.nan, codes)
    for j in range(COLUMNS["number"]):
        columns[f"number{j}"] = rng.standard_normal(n)
    for j in range(COLUMNS["region"]):
        columns[f"region{j}"] = rng.choice(REGIONS, n)
    columns["satisfied"] = rng.integers(1, len(ANSWERS) + 1, n).astype(float)
    names = dict(enumerate(ANSWERS, 1))
    labelled = [name for name in columns if name.startswith(("answer", "satisfied"))]
    folder = tempfile.TemporaryDirectory(prefix="echelon-survey-")
    file = File(Path(folder.name) / "survey.sav", folder)
    pyreadstat.write_sav(
        pd.DataFrame(columns),
        str(file.path),
        variable_value_labels=dict.fromkeys(labelled, names),
        variable_measure=dict.fromkeys(labelled, "ordinal"),
    )
    return file


def ours(file: File) -> Any:
    from echelon.tables import read_labelled_table

    return read_labelled_table(file.path, "satisfied")


def read_sav(file: File) -> Any:
    import pyreadstat

    return pyreadstat.read_sav(str(file.path))[0]


def seen(file: File, table: Any, frame: Any) -> dict[str, float]:
    """Cells that either has, so that nobody is fast by reading less."""
    return {
        "columns read": table.X.shape[1] + 1 - frame.shape[1],
        "missing answers": float(table.X["answer0"].isna().sum() - frame["answer0"].isna().sum()),
    }


CASES = (
    Case(
        "survey_file",
        sizes=(200_000,),
        quick_sizes=(2_000,),
        build=build,
        ours=ours,
        peers=(Peer("pyreadstat.read_sav", "pyreadstat", read_sav, target=1.3, agreement=seen),),
        rounds=7,
    ),
)
