"""``echelon compare``: a cross-validated leaderboard of ordinal models."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import install_hint
from .failures import INTERRUPTED, UsageError, guarded, usage_errors
from .options import Cost, Delimiter, Drop, DropUnlabelled, Format, Jobs, Order, Seed, Target
from .table_view import show_table
from .values import read_cost, read_seconds, require_place

if TYPE_CHECKING:
    from echelon.model_selection import Leaderboard
    from echelon.model_selection.contest import ExperimentRun
    from echelon.tables import LabelledTable

_WRITERS = {".csv": "to_csv", ".json": "to_json", ".md": "to_markdown"}
_PICTURES = (".svg", ".png", ".pdf")


@dataclass(frozen=True)
class _Outputs:
    """Files that are written, each where it was asked for."""

    out: Path
    report: Path | None
    save: Path | None
    plot: Path | None


def compare(
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="[DATA]",
            help="Table: CSV, TSV, Parquet, Arrow, JSON lines or SVMlight, text also gzipped; "
            "- for standard input.",
            show_default=False,
        ),
    ] = None,
    target: Target = None,
    order: Order = None,
    example: Annotated[
        str | None, typer.Option(help="Use an embedded data set instead of a file, e.g. lev.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Time for comparing all models, such as 90s, 10m or 1h30m; --save and --report "
            "come after it."
        ),
    ] = "4m",
    folds: Annotated[int, typer.Option(min=2, help="Folds of each cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations.")] = 2,
    models: Annotated[
        str | None, typer.Option(help="Models, separated by commas; all by default.")
    ] = None,
    cost: Cost = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Take over what an earlier run on this table has done.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where the table goes: .csv, .json or .md.")] = Path(
        "leaderboard.csv"
    ),
    report: Annotated[
        Path | None, typer.Option(help="Write a report to this HTML file.", metavar="FILE.html")
    ] = None,
    save: Annotated[
        Path | None, typer.Option(help="Fit the best model to all rows and save it to this file.")
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the critical-difference diagram into this .svg, .png or .pdf."),
    ] = None,
    format: Format = None,
    delimiter: Delimiter = None,
    drop: Drop = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Compare ordinal models on a table by repeated stratified cross-validation.

    Columns are prepared and settings are searched on the training rows of each fold. Ctrl-C ends
    the comparison early and keeps what is done; --resume goes on from there.
    """
    with guarded():
        outputs = _Outputs(out, report, save, plot)
        _check(outputs, data, cost)
        seconds = read_seconds(budget)
        reading = {"format": format, "delimiter": delimiter, "drop": tuple(drop or ())}
        table, name = _load(
            data, target, order, example, drop_unlabelled=drop_unlabelled, **reading
        )
        show_table(table, name)
        matrix = read_cost(cost, table.classes)
        contest = _contest(table, models, matrix, folds, repeats, seed, resume)
        board = _run(contest, seconds, jobs)
        _print(board, folds, repeats)
        _write(board, out)
        if board.interrupted:
            typer.echo("Interrupted; what is done is kept, and --resume goes on from it.", err=True)
            raise typer.Exit(INTERRUPTED)
        _write_more(board, table, matrix, outputs, seed, jobs)


def _check(outputs: _Outputs, *sources: str | Path | None) -> None:
    """Refuse before the work what could not be written after it."""
    if outputs.out.suffix not in _WRITERS:
        raise UsageError(f"--out must end in .csv, .json or .md; found {str(outputs.out)!r}.")
    if outputs.plot is not None and outputs.plot.suffix not in _PICTURES:
        raise UsageError(f"--plot must end in .svg, .png or .pdf; found {str(outputs.plot)!r}.")
    if outputs.report is not None and outputs.report.suffix not in (".html", ".htm"):
        raise UsageError(f"--report must end in .html; found {str(outputs.report)!r}.")
    for option, path, package, extra in (
        ("--plot", outputs.plot, "matplotlib", "plot"),
        ("--report", outputs.report, "jinja2", "report"),
        ("--report", outputs.report, "matplotlib", "report"),
        ("--save", outputs.save, "skops", "cli"),
    ):
        if path is not None and find_spec(package) is None:
            raise UsageError(f"{option} needs {install_hint(package, extra)}")
    for option in ("out", "report", "save", "plot"):
        path = getattr(outputs, option)
        if path is not None:
            require_place(f"--{option}", path, *sources)


def _load(
    data: str | None, target: str | None, order: str | None, example: str | None, **reading: Any
) -> tuple[LabelledTable, str]:
    from echelon.tables import labelled_table, read_labelled_table

    if (data is None) == (example is None):
        raise UsageError(
            "Name a data file, as in echelon compare reviews.csv --target rating, or an embedded "
            "data set, as in echelon compare --example lev."
        )
    if data is not None:
        name = "standard input" if data == "-" else data
        return read_labelled_table(data, target, order, **reading), name
    from echelon.datasets import list_datasets, load_dataset

    if example not in list_datasets():
        raise UsageError(
            f"--example must be one of {', '.join(list_datasets())}; found {example!r}."
        )
    frame = load_dataset(example, as_frame=True).frame
    options = {key: reading[key] for key in ("drop", "drop_unlabelled")}
    return labelled_table(frame, target, order, **options), f"example {example}"


def _contest(
    table: LabelledTable,
    models: str | None,
    cost: Any,
    folds: int,
    repeats: int,
    seed: int,
    resume: bool,
) -> ExperimentRun:
    """Contest with the results of earlier ones, if the user wants to go on."""
    from echelon._utils.files import cache_folder
    from echelon.model_selection.contest import ExperimentRun, make_experiment
    from echelon.model_selection.experiment import experiment_key
    from echelon.model_selection.roster import candidates, find_candidate

    with usage_errors(ValueError):
        roster = candidates(seed)
        if models is not None:
            wanted = [part.strip() for part in models.split(",") if part.strip()]
            found = {find_candidate(name, seed).name for name in wanted}
            roster = {name: entry for name, entry in roster.items() if name in found}
        experiment = make_experiment(
            table, candidates=roster, folds=folds, repeats=repeats, cost=cost, random_state=seed
        )
    store = cache_folder() / "compare" / f"{experiment_key(experiment)[:32]}.jsonl"
    contest = ExperimentRun(experiment, store, fresh=not resume)
    if resume:
        total = len(experiment.entries) * len(experiment.splits)
        typer.echo(_resumed(contest, total), err=True)
    return contest


def _resumed(contest: ExperimentRun, total: int) -> str:
    if contest.reused:
        return f"Taken over from an earlier run: {contest.reused} of {total} folds."
    if contest.foreign:
        return "The earlier results are of other models or versions and are not used."
    return "There are no earlier results for this table, order, cost, folds and seed."


def _run(contest: ExperimentRun, seconds: float, jobs: int) -> Leaderboard:
    from echelon.model_selection.contest import finish

    from .contest_view import live_view

    with live_view() as show:
        board = finish(contest, budget=seconds, n_jobs=jobs, on_progress=show)
    if not board.rows and board.failures:
        model, reason = next(iter(board.failures.items()))
        raise ValueError(f"No model could be measured; {model}: {reason}")
    return board


def _print(board: Leaderboard, folds: int, repeats: int) -> None:
    if not board.rows:
        return
    from echelon.metrics.measures import MEASURES

    typer.echo(
        f"Cross-validated ({folds} folds × {repeats}), mean±standard error over folds; best "
        f"{MEASURES[board.measure].short} first."
    )
    typer.echo(str(board))
    if board.undistinguished:
        typer.echo(
            "≈ is not significantly different from the best at the 5 % level (corrected resampled "
            "t-test, Holm)."
        )
    if board.untested:
        typer.echo("? has too few folds in common with the best to be compared with it.")
    for note, models in board.notes.items():
        typer.echo(f"{', '.join(models)}: {note}")
    for model, reason in board.failures.items():
        typer.echo(f"{model} has no figures: {reason}")
    if not board.interrupted and any(row.n_folds < board.planned for row in board.rows):
        typer.echo("Not all folds fitted into the budget; --resume goes on from here.")
    if 2 * board.best.n_folds < board.planned:
        typer.echo(
            f"{board.best.model} leads on {board.best.n_folds} of {board.planned} folds only; go "
            "on with --resume, or give more --budget, before you trust that."
        )


def _write(board: Leaderboard, out: Path) -> None:
    from echelon._utils.files import write_whole

    if board.rows:
        write_whole(out, getattr(board, _WRITERS[out.suffix])().encode("utf-8"))
        typer.echo(f"Written: {out}")


def _write_more(
    board: Leaderboard, table: LabelledTable, cost: Any, outputs: _Outputs, seed: int, jobs: int
) -> None:
    """Diagram, model and report, as far as asked for."""
    from .steps import step_line

    if outputs.plot is not None:
        _draw(board, outputs.plot)
    trained = None
    if outputs.save is not None:
        from echelon.trained import train

        from .info import show_figures

        with step_line() as step:
            step(f"Fitting {board.best.model} to all rows")
            trained = train(table, board.best.model, cost=cost, random_state=seed, n_jobs=jobs)
        show_figures(trained)
        trained.save(outputs.save)
        typer.echo(f"Written: {outputs.save}")
    if outputs.report is not None:
        from echelon.reporting import report

        with step_line() as step:
            step("Writing the report")
            report(
                board if trained is None else trained,
                table,
                leaderboard=board,
                cost="absolute" if cost is None else cost,
                random_state=seed,
                n_jobs=jobs,
                path=outputs.report,
                on_section=lambda key: step(f"Report: {key}"),
            )
        typer.echo(f"Written: {outputs.report}")


def _draw(board: Leaderboard, path: Path) -> None:
    from echelon._utils.files import write_whole
    from echelon.plots import CriticalDifferenceDisplay
    from echelon.plots.style import render

    with usage_errors(ValueError):
        display = CriticalDifferenceDisplay(board.nemenyi())

    def draw(canvas: Any) -> None:
        display.plot(ax=canvas.add_axes((0.01, 0.01, 0.98, 0.98)))

    picture = render("compare", display.size, draw, format=path.suffix[1:], layout=None)
    write_whole(path, picture)
    typer.echo(f"Written: {path}")
