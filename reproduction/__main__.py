"""``python -m reproduction``: measure a published table or plot again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
from rich.progress import Progress as ProgressBar
from rich.table import Table as Grid

from echelon.cli.failures import INTERRUPTED, UsageError, guarded

if TYPE_CHECKING:
    from .published import Table
    from .ranking import Ranking
    from .rows import Duel, Row, Tally
    from .runner import Plan, Progress
    from .store import Cell, ResultStore


def reproduce(
    name: Annotated[
        str | None, typer.Argument(help="Name of a published table or plot; --list names them.")
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="List the tables and plots and stop.")
    ] = False,
    record: Annotated[
        bool,
        typer.Option("--record", help="Record what new models and revisions compute and stop."),
    ] = False,
    sets: Annotated[
        str | None, typer.Option(help="Data sets, separated by commas; all by default.")
    ] = None,
    models: Annotated[
        str | None, typer.Option(help="Models, separated by commas; all columns by default.")
    ] = None,
    splits: Annotated[
        int | None, typer.Option(min=1, help="Random splits; as many as the paper by default.")
    ] = None,
    effort: Annotated[
        str,
        typer.Option(
            help="'paper' tunes on every split; 'quick' tunes once per data set, on at most 1,000 "
            "training rows of the first, and draws plots from fewer measurements. Models with "
            "nothing to tune are measured once for both."
        ),
    ] = "quick",
    jobs: Annotated[int, typer.Option(help="Processes; -1 for one per core.")] = 1,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder of the results file; in the user's cache by default."),
    ] = None,
    write: Annotated[
        Path | None,
        typer.Option(
            help="Folder to write <name>.md and its pictures into. The page of a table is from "
            "all results kept; a plot goes into the user's cache by default."
        ),
    ] = None,
) -> None:
    """Measure a published table or plot again, with the paper's protocol.

    Finished cells of a table are kept and never run twice: after an interruption the same command
    goes on where it stopped. A plot takes --effort and --write alone.
    """
    from . import probes, published
    from .plots import list_plots

    request = {
        "sets": _names(sets),
        "models": _names(models),
        "splits": splits,
        "effort": effort,
        "jobs": jobs,
    }
    with guarded():
        if show_list:
            _print_tables()
            _print_plots()
            return
        if record:
            probes.record()
            return
        if name is None:
            raise UsageError("Name a table or plot; --list lists them.")
        if name in list_plots():
            _refuse_options_of_tables(name, {**request, "out": out})
            _reproduce_plot(name, effort, write)
            return
        if name not in published.list_tables():
            known = ", ".join([*published.list_tables(), *list_plots()])
            raise UsageError(f"There is no table or plot {name!r}; there are {known}.")
        finished = _reproduce(name, request, out, write)
    if not finished:
        raise typer.Exit(INTERRUPTED)


def _reproduce(name: str, request: dict[str, Any], out: Path | None, write: Path | None) -> bool:
    """Run, print and write; False if the run was interrupted."""
    from echelon._utils.files import write_whole

    from . import ResultStore, gather, make_plan, page_files, read_table
    from .drawing import require_matplotlib
    from .store import default_folder

    plan = make_plan(read_table(name), **request)
    if write is not None and plan.table.comparison:
        require_matplotlib()  # before the work, not after it
    folder = out or default_folder()
    store = ResultStore(folder, name)
    finished = _run_with_progress(plan, store)
    cells = gather(plan.table, folder)
    _print_results(plan.table, cells, plan.effort)
    typer.echo(f"Results: {store.path}")
    if write is not None:
        for file, content in page_files(plan.table, cells).items():
            write_whole(write / file, content)
            typer.echo(f"Written: {write / file}")
    return finished


def _refuse_options_of_tables(name: str, options: dict[str, Any]) -> None:
    defaults = {"sets": None, "models": None, "splits": None, "jobs": 1, "out": None}
    given = [f"--{option}" for option, value in defaults.items() if options[option] != value]
    if given:
        raise UsageError(f"{name} is a plot, for which there is no {given[0]}.")


def _reproduce_plot(name: str, effort: str, write: Path | None) -> None:
    """Measure, print and draw."""
    from echelon._utils.files import write_whole

    from .plots import (
        measure,
        picture,
        plot_page,
        read_plot,
        require_matplotlib,
    )
    from .store import default_folder

    plot = read_plot(name)
    require_matplotlib()  # before the work, not after it
    exhibit = measure(plot, effort, tell=lambda text: typer.echo(text, err=True))
    sheet = exhibit.sheets()[0]
    grid = _grid(*sheet.headings, title=f"{plot.source}: {plot.title}")
    for row in sheet.rows:
        grid.add_row(*row)
    Console().print(grid)
    typer.echo(plot.published)
    folder = write or default_folder()
    for suffix, content in (
        ("svg", picture(plot, exhibit)),
        ("md", plot_page(plot, exhibit, effort).encode("utf-8")),
    ):
        write_whole(folder / f"{name}.{suffix}", content)
        typer.echo(f"Written: {folder / name}.{suffix}")


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _run_with_progress(plan: Plan, store: ResultStore) -> bool:
    from . import run

    try:
        with _progress_line() as show:
            for progress in run(plan, store):
                show(progress)
    except KeyboardInterrupt:
        typer.echo(
            "Interrupted; what is done is kept. The same command goes on from here.", err=True
        )
        return False
    return True


@contextmanager
def _progress_line() -> Iterator[Any]:
    """A bar on a terminal, a line per step elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda progress: typer.echo(_describe(progress), err=True)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with ProgressBar(*columns, console=console) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda progress: bar.update(
            task,
            description=_describe(progress),
            completed=progress.done,
            total=progress.total,
        )


def _describe(progress: Progress) -> str:
    text = f"{progress.set} {progress.model}: {progress.step}, {progress.done}/{progress.total}"
    if progress.seconds_left is None:
        return text
    return f"{text}, {_duration(progress.seconds_left)} left for this set"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def _grid(*headings: str, title: str | None = None) -> Grid:
    # Without lines a row of figures fits into 80 columns.
    return Grid(*headings, title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)


def _print_tables() -> None:
    from . import list_models, list_tables, read_table

    grid = _grid("Table", "What", "Columns with a model", "Data sets")
    for name in list_tables():
        table = read_table(name)
        columns = [column for column in table.columns if column in list_models()]
        what = f"{table.source}: {table.title}"
        grid.add_row(name, what, ", ".join(columns) or "none yet", ", ".join(table.sets))
    Console().print(grid)


def _print_plots() -> None:
    from .plots import list_plots, read_plot

    grid = _grid("Plot", "What")
    for name in list_plots():
        plot = read_plot(name)
        grid.add_row(name, f"{plot.source}: {plot.title}")
    Console().print(grid)


def _print_results(table: Table, kept: list[Cell], effort: str) -> None:
    from . import make_rankings
    from .measures import MEASURES
    from .rows import current, make_duels, make_rows, make_tallies

    cells = current(kept, table, effort)
    rows, duels = make_rows(table, cells), make_duels(table, cells)
    for measure in table.measures:
        _print_rows(table, MEASURES[measure].heading, [r for r in rows if r.measure == measure])
        _print_tallies([tally for tally in make_tallies(rows) if tally.measure == measure])
        _print_duels([duel for duel in duels if duel.measure == measure])
        _print_rankings([r for r in make_rankings(table, cells) if r.measure == measure])


def _print_rows(table: Table, heading: str, rows: list[Row]) -> None:
    from .rendering import row_cells, row_headings

    grid = _grid(*row_headings(table), "s/split", title=f"{table.source}, {heading}")
    for row in rows:
        grid.add_row(*row_cells(table, row), "–" if row.seconds is None else f"{row.seconds:.2f}")
    Console().print(grid)


def _print_tallies(tallies: list[Tally]) -> None:
    from .rendering import TALLY_HEADINGS, tally_cells

    if tallies:
        typer.echo("Data sets on which ours is within the published figure:")
        grid = _grid(*TALLY_HEADINGS)
        for tally in tallies:
            grid.add_row(*tally_cells(tally))
        Console().print(grid)


def _print_duels(duels: list[Duel]) -> None:
    from .rendering import DUEL_HEADINGS, duel_cells

    if duels:
        grid = _grid(*DUEL_HEADINGS, title="Our models on the same splits")
        for duel in duels:
            grid.add_row(*duel_cells(duel))
        Console().print(grid)


def _print_rankings(rankings: list[Ranking]) -> None:
    from .rank_page import RANKING_HEADINGS, rank_cells, ranking_cells

    if rankings:
        grid = _grid(*RANKING_HEADINGS, title="All models over the data sets")
        for ranking in rankings:
            grid.add_row(*ranking_cells(ranking))
        Console().print(grid)
        headings, rows = rank_cells(rankings)
        grid = _grid(*headings)
        for row in rows:
            grid.add_row(*row)
        Console().print(grid)


if __name__ == "__main__":
    typer.run(reproduce)
