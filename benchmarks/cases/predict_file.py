"""``echelon predict`` on a CSV file of twenty columns, beside what pandas needs to read it.

The command is timed as a user runs it, from the start of the interpreter to the finished file of
labels, probabilities and intervals; pandas reads in an interpreter that has it loaded already.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..registry import Case, Peer

COLUMNS = 20
CLASSES = 5
TRAINING_ROWS = 2_000


class Files(NamedTuple):
    """The model, the table, and where predictions go; ``folder`` keeps them alive."""

    model: Path
    table: Path
    predictions: Path
    rows: int
    folder: tempfile.TemporaryDirectory[str]


def build(name: str, n: int) -> Files:
    """A table of numbers with five decimals, and a model fitted to another of the same kind."""
    from echelon.tables import TableWriter
    from echelon.trained import train

    folder = tempfile.TemporaryDirectory(prefix="echelon-predict-")
    files = Files(*(Path(folder.name) / p for p in ("m.echelon", "t.csv", "p.csv")), n, folder)
    training = _table(TRAINING_ROWS, seed=1)
    train(training, target="level", model=name, evaluate=False).save(files.model)
    with TableWriter(files.table) as writer:
        writer.write(_table(n, seed=2).drop(columns="level"))
    return files


def _table(n: int, seed: int):
    import pandas as pd

    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS)).round(5)
    latent = X[:, :5].sum(axis=1) + X[:, 5] * (X[:, 6] > 0) + rng.logistic(size=n)
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(COLUMNS)])
    cuts = np.linspace(-3.0, 3.0, CLASSES - 1)
    return frame.assign(level=np.searchsorted(cuts, latent))


def ours(files: Files) -> int:
    """Run the command; the size of what it wrote."""
    program = [sys.executable, "-m", "echelon.cli", "predict", files.model, files.table]
    subprocess.run(
        [*map(str, program), "--out", str(files.predictions)], check=True, capture_output=True
    )
    return files.predictions.stat().st_size


def read_csv(files: Files) -> int:
    import pandas as pd

    return len(pd.read_csv(files.table))


def seen(files: Files, written: int, read: int) -> dict[str, float]:
    """Rows that either saw, so that nobody is fast by reading less."""
    with open(files.predictions, "rb") as file:
        return {"rows predicted": sum(1 for _ in file) - 1, "rows read": read}


def _case(name: str, model: str, rows: int) -> Case:
    return Case(
        f"predict_file/{name}",
        sizes=(rows,),
        quick_sizes=(2_000,),
        build=partial(build, model),
        ours=ours,
        peers=(Peer("pandas.read_csv", "pandas", read_csv, target=3.0, agreement=seen),),
        rounds=3,
    )


CASES = (
    _case("proportional_odds", "ProportionalOdds logit", 5_000_000),
    _case("rank_rules", "RankRules", 1_000_000),
)
