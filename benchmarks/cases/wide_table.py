"""Tables of 500 rows and many columns: read, and made ready and fitted, in time linear in cells.

The columns are numbers with a few whole ones, truth values and categories among them. There is no
peer: the exponent of the seconds in the number of columns is what is asked for, and the memory.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..registry import Case

ROWS = 500
SIZES = (12_500, 25_000, 50_000, 100_000)
QUICK = (1_000, 2_000, 4_000)
_EXPONENT = 1.15
# Besides what the libraries take; a cell of a table has 8 bytes.
_BYTES_FOR_A_CELL = 64


class Wide(NamedTuple):
    """A file, and the table in it where it is not to be read; ``folder`` keeps the file alive."""

    path: Path
    folder: tempfile.TemporaryDirectory[str]
    table: Any = None


def build(ending: str, d: int) -> Wide:
    import pyarrow as pa
    from pyarrow import csv, parquet

    rng = np.random.default_rng(0)
    columns: dict[str, Any] = {f"number{j}": rng.normal(size=ROWS).round(4) for j in range(d)}
    for j in range(0, d, 10):
        columns[f"number{j}"] = rng.integers(0, 3, ROWS)
    for j in range(7, d, 250):
        columns[f"number{j}"] = np.array(["red", "green", "blue"])[rng.integers(0, 3, ROWS)]
    latent = columns["number1"] + columns["number2"] + rng.normal(size=ROWS)
    columns["grade"] = np.digitize(latent, [-1.0, 1.0])
    folder = tempfile.TemporaryDirectory(prefix="echelon-wide-")
    wide = Wide(Path(folder.name) / f"table.{ending}", folder)
    (csv.write_csv if ending == "csv" else parquet.write_table)(pa.table(columns), wide.path)
    return wide


def read(wide: Wide) -> Any:
    from echelon.tables import read_labelled_table

    return read_labelled_table(wide.path, "grade")


def inspect(wide: Wide) -> int:
    from echelon.tables import inspect as inspected

    return len(str(inspected(wide.path, "grade")))


def build_read(d: int) -> Wide:
    wide = build("parquet", d)
    return wide._replace(table=read(wide))


def fit(wide: Wide) -> Any:
    """Prepare the columns, fit a model and predict with it."""
    from echelon.model_selection import candidate_pipeline, find_candidate

    candidate, table = find_candidate("ProportionalOdds logit"), wide.table
    model = candidate_pipeline(candidate, table.schema, classes=table.classes)
    return model.fit(table.X, table.y).predict(table.X)


def _case(name: str, build: Any, ours: Any) -> Case:
    return Case(
        f"wide_table/{name}",
        sizes=SIZES,
        quick_sizes=QUICK,
        build=build,
        ours=ours,
        rounds=3,
        scaling=True,
        memory=True,
        exponent_target=_EXPONENT,
        memory_target=lambda d: 5e8 + _BYTES_FOR_A_CELL * ROWS * d,
    )


CASES = (
    _case("csv", partial(build, "csv"), read),
    _case("parquet", partial(build, "parquet"), read),
    _case("inspect", partial(build, "csv"), inspect),
    _case("fit", build_read, fit),
)
