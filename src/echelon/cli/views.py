"""What a command shows: its table, the step under way, how far a contest is, what is written."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .failures import NO_BETTER, flag
from .output import say

if TYPE_CHECKING:
    from echelon.model_selection import ContestProgress, Leaderboard
    from echelon.model_selection.experiment_run import ExperimentRun
    from echelon.tables import LabelledTable

Show = Callable[["ContestProgress"], None]

# Seconds of fitting the saved model, and of the report: at least, and in folds of the model.
_SAVE, _REPORT = (1.0, 1.5), (4.0, 5.0)

#: Lines elsewhere than on a terminal: one for each model's first fold, then about so many.
_STEPS = 10


def show_table(table: LabelledTable, source: str) -> None:
    """Rows, inputs and labels in order in one line, then the notes on standard error."""
    name = "standard input" if source == "-" else source
    rows, columns = table.X.shape
    scale = " < ".join(map(str, table.classes))
    say(
        f"{name}: {rows:,} rows, {columns} inputs, {len(table.classes)} levels of {table.target}: "
        f"{scale}"
    )
    show_notes(*table.notes)


def show_notes(*notes: str) -> None:
    """A line on standard error for each, with arguments as options."""
    from echelon.tables.faults import Sentence

    for note in notes:
        told = note.worded(flag) if isinstance(note, Sentence) else note
        say(f"Note: {told}", err=True)


def json_text(content: dict[str, Any]) -> str:
    """JSON as commands write it."""
    return json.dumps(content, indent=2, ensure_ascii=False, default=str)


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file whole or not at all, and say so."""
    from echelon._utils.files import write_whole

    write_whole(path, content.encode("utf-8") if isinstance(content, str) else content)
    say(f"Written: {path}")


def write_report(path: Path, *content: Any, cost: Any, **options: Any) -> None:
    """Write a report on `content`, with the sections as steps, and say so."""
    from echelon.reporting import report

    with step_line() as step:
        step("Writing the report")
        report(
            *content,
            cost="absolute" if cost is None else cost,
            path=path,
            on_section=lambda key: step(f"Report: {key}"),
            **options,
        )
    say(f"Written: {path}")


def reserve_for(save: bool, report: bool) -> Callable[[float], float]:
    """How much of a budget saving and reporting need, from the seconds of a fold of the model.

    Examples
    --------
    >>> reserve_for(save=True, report=True)(2.0)
    18.0
    """

    def seconds(fold: float) -> float:
        return (_SAVE[0] + _SAVE[1] * fold) * save + (_REPORT[0] + _REPORT[1] * fold) * report

    return seconds


def end_if_no_better(board: Leaderboard, model: str) -> None:
    """Say so, and end with an exit code of its own, if one label for all rows is as good."""
    import typer

    from echelon.metrics.measures import MEASURES

    lost = board.lost_to_constant(model)
    if lost is None:
        return
    heading = MEASURES[board.measure].short
    say(
        f"Warning: {model} is no better than one label for all rows ({heading} {lost[0]:.3f} "
        f"against {lost[1]:.3f}). It is saved all the same, but do not rely on it.",
        err=True,
    )
    raise typer.Exit(NO_BETTER)


@contextmanager
def step_line(quiet: bool = False) -> Iterator[Callable[[str], None]]:
    """A function that names the step under way on standard error.

    A terminal shows the last one beside a spinner, and nothing of it afterwards; elsewhere each is
    a line, or nothing if `quiet`. Inside, nothing should go to standard output, which the spinner
    would take for its own.
    """
    if not sys.stderr.isatty():
        yield lambda text: None if quiet else say(text, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("Working") as status:
        yield status.update


@contextmanager
def live_view() -> Iterator[Show]:
    """A function that shows progress on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _PlainLines()
        return
    from rich.live import Live

    screen = _Screen()
    with Live(screen, console=console, transient=True, refresh_per_second=4):
        yield screen.show


class _Screen:
    """What a terminal shows; drawn again and again, so that the time goes on between folds."""

    def __init__(self) -> None:
        self._progress: ContestProgress | None = None
        self._shown = 0.0

    def show(self, progress: ContestProgress) -> None:
        self._progress, self._shown = progress, time.monotonic()

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Any]:
        if self._progress is None:
            yield "Starting …"
        else:
            yield picture(self._progress, console.height, time.monotonic() - self._shown)


class _PlainLines:
    """A line for the first figure of every model, and one whenever a tenth of the work is done."""

    def __init__(self) -> None:
        self._seen: set[str] = set()
        self._step = 0

    def __call__(self, progress: ContestProgress) -> None:
        from echelon.metrics.measures import MEASURES

        latest, board = progress.latest, progress.board
        step = _STEPS * progress.done // max(progress.total, 1)
        if latest is None:
            # What an earlier run has done is no news.
            self._seen, self._step = {row.model for row in board.rows}, step
            return
        if latest.error:
            say(f"  {latest.model}: {latest.error}", err=True)
        elif latest.model not in self._seen:
            self._seen.add(latest.model)
            figure = latest.figures[board.measure]
            heading = MEASURES[board.measure].short
            what = "its first fold" if latest.rows is None else f"a look at {latest.rows:,} rows"
            say(f"  {latest.model}: {heading} {figure:.3f} on {what}", err=True)
        if step > self._step:
            self._step = step
            say(f"  {describe(progress)}", err=True)


def show_board(board: Leaderboard) -> None:
    """Print a leaderboard, and what its differences and verdicts mean."""
    from echelon.metrics.measures import MEASURES

    short = MEASURES[board.measure].short
    say(f"Cross-validated ({board.how}), means over folds; best {short} first.")
    say(*str(board).split("\n"))
    if board.comparisons:
        say(
            "difference: how much worse than the best of the others on common folds, with 95 % "
            "intervals that hold for all models at once; equivalent: no other is better by more "
            f"than {board.margin_:.2g} ({100 * board.margin:.3g} % of the best)."
        )
    if board.stopped:
        say("stopped: left early; the difference is to the best, on what both had predicted.")


def show_other_folds(table: LabelledTable, contest: ExperimentRun, board: Leaderboard) -> None:
    """Say what the best model's figure is where rows that may belong together are kept together."""
    from echelon.model_selection.other_folds import other_folds

    with step_line(quiet=True) as step:
        step("Looking for rows that belong together")
        found = other_folds(table, contest.experiment, board)
    show_notes(*(other.sentence for other in found))


def show_choice(board: Leaderboard) -> None:
    """Print which model is taken where that need not be the best."""
    if board.prefer == "best":
        return
    equal = {board.best.model, *board.with_verdict("equivalent")}
    if len(equal) == 1:
        say(f"No other model is known to be equivalent to {board.best.model}, which is taken.")
    else:
        word = "simplest" if board.prefer == "simple" else "fastest"
        say(f"The {word} of {len(equal)} equivalent models is taken: {board.chosen.model}.")


def describe(progress: ContestProgress, since: float = 0.0) -> str:
    """Folds done and time left in words, so many seconds later."""
    text = f"{progress.done}/{progress.total} folds of models, {duration(progress.elapsed + since)}"
    if progress.seconds_left is None or progress.done >= progress.total:
        return text
    return f"{text}, up to {duration(max(0.0, progress.seconds_left - since))} left"


def duration(seconds: float) -> str:
    """Seconds in words.

    Examples
    --------
    >>> duration(7.2), duration(95), duration(3725)
    ('7 s', '1 min 35 s', '1 h 02 min')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes:02d} min"
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def picture(progress: ContestProgress, height: int, since: float = 0.0) -> Any:
    """The table so far, as much of it as fits, and a line with the time left."""
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    bar = Table.grid(padding=(0, 1, 0, 0))
    bar.add_row(
        ProgressBar(total=max(progress.total, 1), completed=progress.done, width=24),
        describe(progress, since),
    )
    return Group(_grid(progress.board, height - 4), bar) if progress.board.rows else bar


def _grid(board: Leaderboard, most_rows: int) -> Any:
    from rich.table import Table

    head, *rows = board.lines(compared=False)
    grid = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for position, heading in enumerate(head):
        grid.add_column(heading, justify="right" if position else "left", no_wrap=True)
    for position, row in enumerate(rows[: max(most_rows, 3)]):
        grid.add_row(*row, style=None if position else "bold")
    return grid
