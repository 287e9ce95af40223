"""How a command fails: one sentence on standard error and a non-zero exit."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import typer

USAGE = 2


class UsageError(ValueError):
    """Something that the user can put right; its text is the whole message."""


@contextmanager
def one_sentence(*errors: type[Exception]) -> Iterator[None]:
    """Turn the given errors into a sentence and exit code 2."""
    try:
        yield
    except errors as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(USAGE) from None
