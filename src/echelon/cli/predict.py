"""``echelon predict``: rows of a table through a saved model, of any size."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from .failures import UsageError, guarded
from .oddities import Oddities
from .options import Data, Model, Raw, TrustedKey, reads_file
from .output import say
from .values import refuse_model_as_table, require_places
from .views import show_notes, step_line

if TYPE_CHECKING:
    from echelon.trained import TrainedModel

# Rows that are read, predicted and written together: enough that the work is in the loops, few
# enough that the memory does not grow with the file.
_ROWS = 32_768

Piece = TypeVar("Piece")
Result = TypeVar("Result")
_END: Any = object()


@reads_file
def predict(
    *,
    reading: dict[str, Any],
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
    raw: Raw = False,
    trusted_key: TrustedKey = None,
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
        from echelon.trained.model import PROBABILITY

        require_places((data, model), out=out)
        trained = load_model(model, trusted_keys=trusted_key)
        kept = None if keep_all else tuple(keep or ())
        answer = partial(_answer, trained, kept, proba=proba, interval=interval)
        pieces = read_chunks(data, schema=trained.schema, keep=kept, rows=_ROWS, **reading)
        oddities = Oddities(trained.schema)
        shares = [f"{PROBABILITY}{label}" for label in trained.classes]
        # Pieces go through the model side by side, where threads of linear algebra only wait.
        with (
            threadpool_limits(1),
            TableWriter(out, shares=shares, raw=raw) as writer,
            step_line(quiet=True) as step,
        ):
            rows = 0
            for frame in in_order(answer, oddities.watch(pieces)):
                writer.write(frame)
                rows += len(frame)
                step(f"{rows:,} rows predicted")
        show_notes(*oddities.notes(data))
        if out != "-":
            count = "1 row" if rows == 1 else f"{rows:,} rows"
            say(f"Predictions of {count}: {out}", err=True)


def _answer(model: TrainedModel, keep: tuple[str, ...] | None, frame: Any, **options: bool) -> Any:
    """What is written for a piece of the table: columns to keep, then what the model says."""
    import pandas as pd

    said = model.predict_frame(frame, **options)
    wanted = [str(name) for name in frame.columns] if keep is None else list(dict.fromkeys(keep))
    twice = [name for name in wanted if name in said.columns]
    if twice:
        raise UsageError(
            f"The table's column {twice[0]!r} has the name of a column of the predictions; "
            "rename it, or keep only other columns with --keep."
        )
    return pd.concat([frame[wanted], said], axis=1) if wanted else said


def in_order(
    work: Callable[[Piece], Result], pieces: Iterable[Piece], threads: int = 2
) -> Iterator[Result]:
    """Results of `work` in the order of the pieces, while the next pieces are read.

    Examples
    --------
    >>> list(in_order(str, range(5)))
    ['0', '1', '2', '3', '4']
    """
    pool, reader = ThreadPoolExecutor(threads), ThreadPoolExecutor(1)
    source = iter(pieces)
    waiting: deque[Future[Result]] = deque()
    try:
        coming = reader.submit(next, source, _END)
        while (piece := coming.result()) is not _END:
            coming = reader.submit(next, source, _END)
            waiting.append(pool.submit(work, piece))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        # A reader may wait for input that does not come.
        for executor in (pool, reader):
            executor.shutdown(wait=False, cancel_futures=True)
