"""Arguments and options that several commands share, declared once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

MOST_JOBS = 1_000
TABLE = (
    "Table: CSV, TSV, Parquet, Arrow, JSON lines or SVMlight, text also gzipped; - for standard "
    "input."
)
Data = Annotated[str, typer.Argument(metavar="DATA", help=TABLE, show_default=False)]
MaybeData = Annotated[str | None, typer.Argument(metavar="[DATA]", help=TABLE, show_default=False)]
# Files that cannot be read get their sentence where they are read.
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", help="Model file that fit, compare or rank saved.", readable=False
    ),
]
Target = Annotated[str | None, typer.Option(help="Label column; the last one by default.")]
Order = Annotated[
    str | None,
    typer.Option(help='Labels from lowest to highest, "poor<fair<good"; needed for text.'),
]
Format = Annotated[
    str | None,
    typer.Option(
        help="csv, tsv, parquet, arrow, jsonl or svmlight; by default what the file's name says."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Character between the columns of a text table.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="Column to leave out; may be given again."),
]
DropUnlabelled = Annotated[
    bool, typer.Option("--drop-unlabelled", help="Leave out rows that have no label.")
]
Cost = Annotated[
    Path | None,
    typer.Option(
        help="CSV file with a square of costs, a row for each true label and a column for each "
        "predicted one, in their order.",
        show_default="absolute difference of ranks",
        readable=False,
    ),
]
Report = Annotated[
    Path | None, typer.Option(help="Write a report to this HTML file.", metavar="FILE.html")
]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw",
        help="Write texts to CSV and TSV as they are, also those that spreadsheets take for "
        "formulas.",
    ),
]
Sign = Annotated[
    Path | None,
    typer.Option(metavar="KEY", help="Sign the model file with this private key.", readable=False),
]
TrustedKey = Annotated[
    list[Path] | None,
    typer.Option(
        "--trusted-key",
        metavar="KEY",
        help="Public key that must have signed the model file; may be given again, for one of "
        "several.",
        readable=False,
    ),
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, help="Seed of folds and models.")]


def _processes(jobs: int) -> int:
    if jobs == 0 or jobs > MOST_JOBS:
        raise typer.BadParameter(
            f"{jobs} is not a number of processes: from 1 to {MOST_JOBS}, or -1 for one per core."
        )
    return jobs


Jobs = Annotated[int, typer.Option(help="Processes; -1 for one per core.", callback=_processes)]
