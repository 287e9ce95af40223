"""What a command says of the table that it has read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from echelon.tables import LabelledTable


def show_table(table: LabelledTable, name: str) -> None:
    """Rows, inputs and labels in order in one line, then the notes on standard error."""
    rows, columns = table.X.shape
    scale = " < ".join(map(str, table.classes))
    typer.echo(
        f"{name}: {rows:,} rows, {columns} inputs, {len(table.classes)} levels of {table.target}: "
        f"{scale}"
    )
    show_notes(*table.notes)


def show_notes(*notes: str) -> None:
    """A line on standard error for each."""
    for note in notes:
        typer.echo(f"Note: {note}", err=True)
