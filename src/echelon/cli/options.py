"""Arguments and options that several commands share, declared once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

MOST_JOBS = 1_000
TABLE = (
    "Table: CSV, TSV, Parquet, Arrow, JSON lines, SVMlight, Excel, ODS, Stata or SPSS, text also "
    'gzipped; a folder or a pattern ("in/*.csv") of several; - for standard input.'
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
        help="csv, tsv, parquet, arrow, jsonl, svmlight, xlsx, xls, xlsb, ods, dta, sav or por; by "
        "default what the file's name says."
    ),
]
Delimiter = Annotated[
    str | None, typer.Option(help="Character between the columns of a text table.")
]
Encoding = Annotated[
    str | None, typer.Option(help="Encoding of a text table, such as latin-1; UTF-8 by default.")
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
Gap = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Time between the rows of a fold and those learnt from, with --time: days, or units "
        "of its numbers.",
    ),
]
Margin = Annotated[
    str,
    typer.Option(
        help="Largest difference between equivalent models, as a share of the best one's figure."
    ),
]
Prefer = Annotated[
    str,
    typer.Option(
        help="Which of the models that are equivalent to the best is saved: best, simple or fast."
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


def _column(help: str) -> Any:
    return Annotated[str | None, typer.Option(metavar="COL", help=help)]


def _several(metavar: str, help: str) -> Any:
    return Annotated[
        list[str] | None, typer.Option(metavar=metavar, help=f"{help} May be given again.")
    ]


FILE_OPTIONS = {
    "format": Format,
    "delimiter": Delimiter,
    "encoding": Encoding,
    "sheet": Annotated[
        str | None, typer.Option(help="Sheet of a spreadsheet, by its name or its number from 1.")
    ],
}
_SCHEMA = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="What `echelon inspect --write` wrote; other options go before it.",
        readable=False,
    ),
]
_ROLES = {
    "weight": _column("Column of row weights, which is no input."),
    "group": _column("Column that says which rows belong together, which is no input."),
    "time": _column("Column of dates or waves, which is no input."),
}
_CELLS = {
    "ordered": _several(
        '"COLS: LOW<…<HIGH"',
        "Columns of ordered answers, by name, pattern (Q*) or range (Q1..Q30), and their order.",
    ),
    "text": _several("COLS", "Columns that are read by their words."),
    "stop_words": _several("WORDS", "Words to leave out of texts; english for a list of them."),
    "missing": _several(
        "VALUES", 'Cells that stand for missing values: "99,-99", or in columns "income: -99".'
    ),
    "decimal": Annotated[str | None, typer.Option(help="Decimal mark, a point or a comma.")],
    "thousands": Annotated[str | None, typer.Option(help="Mark between thousands.")],
    "date_format": Annotated[
        str | None, typer.Option(metavar="FORM", help="How dates are written, such as %d/%m/%Y.")
    ],
    "drop": _several("COL", "Column to leave out."),
    "keep": _several("COL", "Column to take although it looks like an identifier."),
}


def reads_file(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of files, which it gets as a dict, ``reading``."""
    return _with_options(command, FILE_OPTIONS)


def reads_table(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of files and of labelled tables, as a dict, ``reading``."""
    return _with_options(command, {"schema": _SCHEMA, **FILE_OPTIONS, **_ROLES, **_CELLS})


def reads_ranking(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of files and of their cells, as a dict, ``reading``."""
    return _with_options(command, {**FILE_OPTIONS, **_CELLS})


def _with_options(command: Callable[..., None], options: dict[str, Any]) -> Callable[..., None]:
    hints = get_type_hints(command, include_extras=True)
    own = {
        name: parameter.default
        for name, parameter in inspect.signature(command).parameters.items()
        if name != "reading"
    }
    types = {**{name: hints[name] for name in own}, **options}
    defaults = {**dict.fromkeys(options), **own}

    @wraps(command)
    def with_options(**given: Any) -> None:
        reading = {name: given.pop(name) for name in options}
        # An option that may be given again is None where it is not given at all.
        stated = {name: value for name, value in reading.items() if value is not None}
        command(**given, reading=stated)

    parameters = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation
        )
        for name, annotation in types.items()
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = types
    return with_options
