"""``echelon compare``: a cross-validated leaderboard of ordinal models."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress

from .failures import UsageError, one_sentence

if TYPE_CHECKING:
    from echelon.model_selection import Leaderboard

    from .tables import LabelledTable

_WRITERS = {".csv": "to_csv", ".json": "to_json", ".md": "to_markdown"}


def compare(
    data: Annotated[
        Path | None, typer.Argument(help="CSV or TSV file, plain or gzipped.", show_default=False)
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Label column; the last one by default.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(help='Labels from lowest to highest, "poor<fair<good"; needed for text.'),
    ] = None,
    example: Annotated[
        str | None, typer.Option(help="Use an embedded data set instead of a file, e.g. lev.")
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of each cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations.")] = 2,
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = -1,
    seed: Annotated[int, typer.Option(help="Seed of folds and models.")] = 0,
    out: Annotated[Path, typer.Option(help="Where the table goes: .csv, .json or .md.")] = Path(
        "leaderboard.csv"
    ),
) -> None:
    """Compare ordinal models on a table by repeated stratified cross-validation."""
    with one_sentence(UsageError):
        if out.suffix not in _WRITERS:
            raise UsageError(f"--out must end in .csv, .json or .md; found {str(out)!r}.")
        table, name = _load(data, target, order, example)
        _describe(table, name)
        board = _run(table, folds, repeats, jobs, seed)
        typer.echo("Cross-validated, mean±standard error over folds; best MAE first.")
        typer.echo(str(board))
        _write(board, out)


def _load(
    data: Path | None, target: str | None, order: str | None, example: str | None
) -> tuple[LabelledTable, str]:
    from echelon.datasets import list_datasets, load_dataset

    from .tables import LabelledTable, read_labelled_table

    if (data is None) == (example is None):
        raise UsageError("Name a data file, or an embedded data set with --example.")
    if data is not None:
        return read_labelled_table(data, target, order), str(data)
    if example not in list_datasets():
        raise UsageError(
            f"--example must be one of {', '.join(list_datasets())}; found {example!r}."
        )
    bunch = load_dataset(example, as_frame=True)
    return LabelledTable(bunch.data, bunch.target, list(bunch.classes)), f"example {example}"


def _describe(table: LabelledTable, name: str) -> None:
    rows, columns = table.X.shape
    scale = " < ".join(map(str, table.classes))
    typer.echo(f"{name}: {rows} rows, {columns} inputs, {len(table.classes)} levels: {scale}")


def _run(table: LabelledTable, folds: int, repeats: int, jobs: int, seed: int) -> Leaderboard:
    from sklearn.pipeline import make_pipeline

    from echelon.model_selection import compare_models, default_models, mixed_columns

    models = {
        name: make_pipeline(mixed_columns(), model) for name, model in default_models(seed).items()
    }
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(f"{folds} folds × {repeats}", total=len(models))

        def advance(row: Any) -> None:
            progress.console.print(f"  {row.model}: MAE {row.mean('mae'):.3f}", highlight=False)
            progress.advance(task)

        with one_sentence(ValueError):
            return compare_models(
                models,
                table.X,
                table.y,
                classes=table.classes,
                folds=folds,
                repeats=repeats,
                n_jobs=jobs,
                random_state=seed,
                on_row=advance,
            )


def _write(board: Leaderboard, out: Path) -> None:
    from echelon._files import write_whole

    try:
        write_whole(out, getattr(board, _WRITERS[out.suffix])().encode("utf-8"))
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from None
    typer.echo(f"Written: {out}")
