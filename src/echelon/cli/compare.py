"""``echelon compare``: a cross-validated leaderboard of ordinal models."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from echelon._utils.processes import watched_workers

from . import install_hint
from .failures import INTERRUPTED, UsageError, guarded
from .options import (
    FILE_OPTIONS,
    Cost,
    DropUnlabelled,
    Gap,
    Jobs,
    Margin,
    MaybeData,
    Order,
    Prefer,
    Report,
    Seed,
    Sign,
    Target,
    reads_table,
)
from .output import say
from .values import read_cost, read_equivalence, read_seconds, require_key, require_places
from .views import (
    end_if_no_better,
    live_view,
    reserve_for,
    show_board,
    show_choice,
    show_other_folds,
    show_table,
    step_line,
    write_file,
    write_report,
)

if TYPE_CHECKING:
    from echelon.model_selection import Leaderboard
    from echelon.model_selection.experiment_run import ExperimentRun
    from echelon.tables import LabelledTable
    from echelon.trained import TrainedModel

_WRITERS = {".csv": "to_csv", ".json": "to_json", ".md": "to_markdown"}
# Endings of what is written, and the extra and packages that it needs.
_ENDINGS = {
    "out": tuple(_WRITERS),
    "report": (".html", ".htm"),
    "plot": (".svg", ".png", ".pdf"),
}
_NEEDS = {
    "plot": ("plot", "matplotlib"),
    "report": ("report", "jinja2", "matplotlib"),
}


@reads_table
def compare(
    *,
    reading: dict[str, Any],
    data: MaybeData = None,
    target: Target = None,
    order: Order = None,
    example: Annotated[
        str | None, typer.Option(help="Use an embedded data set instead of a file, e.g. lev.")
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Time for everything, such as 90s, 10m or 1h30m; what --save and --report need is "
            "kept back."
        ),
    ] = "4m",
    folds: Annotated[int, typer.Option(min=2, help="Folds of each cross-validation.")] = 5,
    repeats: Annotated[int, typer.Option(min=1, help="Cross-validations.")] = 2,
    models: Annotated[
        str | None, typer.Option(help="Models, separated by commas; all by default.")
    ] = None,
    cost: Cost = None,
    gap: Gap = 0.0,
    margin: Margin = "2%",
    prefer: Prefer = "best",
    resume: Annotated[
        bool, typer.Option("--resume", help="Take over what an earlier run on this table has done.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where the table goes: .csv, .json or .md.")] = Path(
        "leaderboard.csv"
    ),
    report: Report = None,
    save: Annotated[
        Path | None,
        typer.Option(help="Fit the best model, or what --prefer takes, to all rows and save it."),
    ] = None,
    sign: Sign = None,
    plot: Annotated[
        Path | None,
        typer.Option(help="Draw the critical-difference diagram into this .svg, .png or .pdf."),
    ] = None,
    drop_unlabelled: DropUnlabelled = False,
    seed: Seed = 0,
    jobs: Jobs = -1,
) -> None:
    """Compare ordinal models on a table by repeated stratified cross-validation.

    With --group whole groups are held out, with --time rows later than those learnt from.
    Columns are prepared and settings are searched on the training rows of each fold. Ctrl-C ends
    the comparison early and keeps what is done; --resume goes on from there.
    """
    started = time.monotonic()
    with guarded(), watched_workers():
        outputs = {"out": out, "report": report, "save": save, "plot": plot}
        _check(outputs)
        require_places((data, cost, sign), **outputs)
        require_key(sign)
        seconds, equivalence = read_seconds(budget), read_equivalence(margin, prefer)
        table, name = _load(
            data, target, order, example, drop_unlabelled=drop_unlabelled, **reading
        )
        show_table(table, name)
        matrix = read_cost(cost, table.classes)
        contest = _contest(table, models, matrix, folds, repeats, gap, seed, resume)
        left = max(1.0, seconds - (time.monotonic() - started))
        board = _run(contest, left, jobs, reserve_for(save is not None, report is not None))
        board = replace(board, **equivalence)
        _print(board)
        if board.rows and not board.interrupted:
            show_other_folds(table, contest, board)
        if board.rows:
            write_file(out, getattr(board, _WRITERS[out.suffix])())
        if board.interrupted:
            say("Interrupted; what is done is kept, and --resume goes on from it.", err=True)
            raise typer.Exit(INTERRUPTED)
        if plot is not None:
            _draw(board, plot)
        options = {"random_state": seed, "n_jobs": jobs}
        trained = None if save is None else _save(board, table, matrix, save, sign, **options)
        if report is not None:
            content = board if trained is None else trained
            known = {"leaderboard": board, "source": Path(name).name}
            write_report(report, content, table, cost=matrix, **known, **options)
        if trained is not None:
            end_if_no_better(board, board.chosen.model)


def _check(outputs: Mapping[str, Path | None]) -> None:
    """Refuse before the work what could not be written after it."""
    given = {option: path for option, path in outputs.items() if path is not None}
    for option, path in given.items():
        endings = _ENDINGS.get(option, (path.suffix,))
        if path.suffix not in endings:
            accepted = f"{', '.join(endings[:-1])} or {endings[-1]}"
            raise UsageError(f"--{option} must end in {accepted}; found {str(path)!r}.")
    for option in given:
        extra, *packages = _NEEDS.get(option, ("cli",))
        for package in packages:
            if find_spec(package) is None:
                raise UsageError(f"--{option} needs {install_hint(package, extra)}")


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
        return read_labelled_table(data, target, order, **reading), data
    from echelon._utils.messages import require_choice
    from echelon.datasets import list_datasets, load_dataset

    require_choice("example", example, list_datasets())
    frame = load_dataset(str(example), as_frame=True).frame
    options = {name: value for name, value in reading.items() if name not in FILE_OPTIONS}
    return labelled_table(frame, target, order, **options), f"example {example}"


def _contest(
    table: LabelledTable,
    models: str | None,
    cost: Any,
    folds: int,
    repeats: int,
    gap: float,
    seed: int,
    resume: bool,
) -> ExperimentRun:
    """Contest with the results of earlier ones, if the user wants to go on."""
    from echelon._utils.files import cache_folder
    from echelon.model_selection.contest import make_experiment
    from echelon.model_selection.experiment import experiment_key
    from echelon.model_selection.experiment_run import ExperimentRun
    from echelon.model_selection.roster import candidates, find_candidate

    roster = candidates(seed)
    if models is not None:
        wanted = [part.strip() for part in models.split(",") if part.strip()]
        found = {find_candidate(name, seed).name for name in wanted}
        roster = {name: entry for name, entry in roster.items() if name in found}
    experiment = make_experiment(
        table,
        candidates=roster,
        folds=folds,
        repeats=repeats,
        cost=cost,
        random_state=seed,
        gap=gap,
    )
    store = cache_folder() / "compare" / f"{experiment_key(experiment)[:32]}.jsonl"
    contest = ExperimentRun(experiment, store, fresh=not resume)
    total = len(experiment.entries) * len(experiment.splits)
    said = "There are no earlier results for this table, order, cost, folds and seed."
    if contest.reused:
        said = f"Taken over from an earlier run: {contest.reused} of {total} folds."
    elif contest.foreign:
        said = "The earlier results are of other models or versions and are not used."
    if resume:
        say(said, err=True)
    return contest


def _run(
    contest: ExperimentRun, seconds: float, jobs: int, reserve: Callable[[float], float]
) -> Leaderboard:
    from echelon.model_selection.contest import finish

    with live_view() as show:
        board = finish(contest, budget=seconds, n_jobs=jobs, reserve=reserve, on_progress=show)
    if not board.rows and board.failures:
        model, reason = next(iter(board.failures.items()))
        raise ValueError(f"No model could be measured; {model}: {reason}")
    return board


def _print(board: Leaderboard) -> None:
    if not board.rows:
        return
    show_board(board)
    stopped = {row.model: row.note for row in board.rows if row.behind is not None}
    for note, models in board.notes.items():
        if not set(models) & set(stopped):
            say(f"{', '.join(models)}: {note}")
    if stopped:
        told = [f"{m} {n.removeprefix('Stopped ').rstrip('.')}" for m, n in stopped.items()]
        say(f"Stopped early: {'; '.join(told)}.")
    for reason in dict.fromkeys(board.failures.values()):
        models = [model for model, found in board.failures.items() if found == reason]
        say(f"{', '.join(models)} {'has' if len(models) == 1 else 'have'} no figures: {reason}")
    short = [r for r in board.rows if r.n_folds < board.planned and r.behind is None]
    if short and not board.interrupted:
        say("Not all folds fitted into the budget; --resume goes on from here.")
    if 2 * board.best.n_folds < board.planned:
        say(
            f"{board.best.model} leads on {board.best.n_folds} of {board.planned} folds only; go "
            "on with --resume, or give more --budget, before you trust that."
        )


def _save(
    board: Leaderboard,
    table: LabelledTable,
    cost: Any,
    path: Path,
    sign: Path | None,
    **options: Any,
) -> TrainedModel:
    """The best model, or the one that is preferred to it, fitted to all rows and saved."""
    from echelon.trained import train

    from .info import save_model

    model = board.chosen.model
    show_choice(board)
    with step_line() as step:
        step(f"Fitting {model} to all rows")
        trained = train(table, model, cost=cost, leaderboard=board, **options)
    save_model(trained, path, sign)
    return trained


def _draw(board: Leaderboard, path: Path) -> None:
    from echelon.plots import CriticalDifferenceDisplay
    from echelon.plots.style import render

    display = CriticalDifferenceDisplay(board.nemenyi())

    def draw(canvas: Any) -> None:
        display.plot(ax=canvas.add_axes((0.01, 0.01, 0.98, 0.98)))

    write_file(path, render("compare", display.size, draw, format=path.suffix[1:], layout=None))
