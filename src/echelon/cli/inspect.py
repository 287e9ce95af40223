"""``echelon inspect``: how a table would be read, before anything is fitted to it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from .failures import USAGE, flag, guarded
from .options import Data, DropUnlabelled, Order, Target, reads_table
from .output import say
from .values import require_places
from .views import write_file


@reads_table
def inspect(
    *,
    reading: dict[str, Any],
    data: Data,
    target: Target = None,
    order: Order = None,
    write: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Write what is shown to a schema file, to be edited and given to other commands "
            "as --schema.",
        ),
    ] = None,
    drop_unlabelled: DropUnlabelled = False,
) -> None:
    """Show how a table would be read: roles and kinds of columns, guesses, and all problems.

    The exit code is 2 if the table has problems.
    """
    with guarded():
        require_places((data, reading.get("schema")), write=write)
        from echelon.tables import inspect as inspect_table

        found = inspect_table(data, target, order, drop_unlabelled=drop_unlabelled, **reading)
        say(*found.lines(flag), needed=write is None)
        if write is not None:
            write_file(write, found.to_toml())
        if found.problems:
            raise typer.Exit(USAGE)
