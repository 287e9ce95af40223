"""``echelon predict``: rows of a table through a saved model, of any size."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .failures import UsageError, guarded
from .new_categories import NewCategories
from .options import Data, Delimiter, Format, Model
from .table_view import show_notes
from .values import refuse_model_as_table, require_place

if TYPE_CHECKING:
    from echelon.trained import TrainedModel

# Rows that are read, predicted and written together: enough that the work is in the loops, few
# enough that the memory does not grow with the file.
_ROWS = 65_536

Piece = TypeVar("Piece")
Result = TypeVar("Result")
_END: Any = object()


def predict(
    model: Model,
    data: Data,
    out: Annotated[
        str,
        typer.Option(
            help="Where predictions go: .csv, .tsv, .jsonl (also .gz), .parquet or .arrow; - for "
            "standard output, as CSV."
        ),
    ] = "-",
    proba: Annotated[
        bool, typer.Option("--proba/--no-proba", help="Columns with the labels' probabilities.")
    ] = True,
    interval: Annotated[
        bool, typer.Option("--interval/--no-interval", help="Columns with prediction intervals.")
    ] = True,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COL", help="Column of DATA to copy; may be given again."),
    ] = None,
    keep_all: Annotated[bool, typer.Option("--keep-all", help="Copy all columns of DATA.")] = False,
    format: Format = None,
    delimiter: Delimiter = None,
) -> None:
    """Predict the rows of a table with a saved model.

    The table may be larger than memory: it is read and written in pieces, in the order of its rows.
    The output appears when all of it is written. Text formats have six digits of probabilities.
    """
    with guarded():
        refuse_model_as_table(data, "predict MODEL DATA")
        from threadpoolctl import threadpool_limits

        from echelon.tables import TableWriter, read_chunks
        from echelon.trained import load_model

        require_place("--out", out, data, model)
        trained = load_model(model)
        answer = Answer(trained, proba, interval, tuple(keep or ()), keep_all)
        pieces = read_chunks(
            data,
            format=format,
            delimiter=delimiter,
            schema=trained.schema,
            keep=None if keep_all else answer.keep,
            rows=_ROWS,
        )
        empty = EmptyColumns(trained.schema.names)
        new = NewCategories(trained.schema)
        # Pieces go through the model side by side, where threads of linear algebra only wait.
        with (
            threadpool_limits(1),
            TableWriter(out, shares=_shares(trained)) as writer,
            _progress() as show,
        ):
            rows = 0
            for frame in in_order(answer, new.watch(empty.watch(pieces))):
                writer.write(frame)
                rows += len(frame)
                show(rows)
        show_notes(
            *(f"No row of {data} has a value in column {name!r}." for name in sorted(empty.names)),
            *new.notes(),
        )
        if out != "-":
            count = "1 row" if rows == 1 else f"{rows:,} rows"
            typer.echo(f"Predictions of {count}: {out}", err=True)


def _shares(model: TrainedModel) -> list[str]:
    """Columns of probabilities."""
    from echelon.trained.model import PROBABILITY

    return [f"{PROBABILITY}{label}" for label in model.classes]


@dataclass(frozen=True)
class Answer:
    """What is written for a piece of the table."""

    model: TrainedModel
    proba: bool
    interval: bool
    keep: tuple[str, ...]
    keep_all: bool

    def __call__(self, frame: Any) -> Any:
        """Columns to keep, then what the model says."""
        import pandas as pd

        said = self.model.predict_frame(frame, proba=self.proba, interval=self.interval)
        kept = self._kept(frame, list(said.columns))
        return pd.concat([frame[kept], said], axis=1) if kept else said

    def _kept(self, frame: Any, said: list[str]) -> list[str]:
        names = [str(name) for name in frame.columns]
        wanted = names if self.keep_all else list(self.keep)
        twice = [name for name in wanted if name in said]
        if twice:
            raise UsageError(
                f"The table's column {twice[0]!r} has the name of a column of the predictions; "
                "rename it, or keep only other columns with --keep."
            )
        return wanted


class EmptyColumns:
    """Names of the columns that have had no value so far.

    Parameters
    ----------
    names : iterable of str
    """

    def __init__(self, names: Iterable[str]) -> None:
        self.names = set(names)

    def watch(self, pieces: Iterable[Any]) -> Iterator[Any]:
        """The pieces as they are."""
        for frame in pieces:
            if self.names:
                self.names -= {name for name in self.names if frame[name].notna().any()}
            yield frame


@contextmanager
def _progress() -> Iterator[Callable[[int], None]]:
    """A count of rows on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        yield lambda rows: None
        return
    from rich.console import Console

    console = Console(stderr=True)
    with console.status("Reading") as status:
        yield lambda rows: status.update(f"{rows:,} rows predicted")


def in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int = 2
) -> Iterator[Result]:
    """Results of `work` in the order of the pieces, while the next pieces are read.

    Examples
    --------
    >>> list(in_order(str, range(5)))
    ['0', '1', '2', '3', '4']
    """
    with ThreadPoolExecutor(threads) as pool, ThreadPoolExecutor(1) as reader:
        source = iter(pieces)
        waiting: deque[Future[Result]] = deque()
        coming = reader.submit(next, source, _END)
        try:
            while (piece := coming.result()) is not _END:
                coming = reader.submit(next, source, _END)
                waiting.append(pool.submit(work, piece))
                if len(waiting) > threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
