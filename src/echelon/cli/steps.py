"""What a command is at while there is nothing to count."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import typer


@contextmanager
def step_line() -> Iterator[Callable[[str], None]]:
    """A function that names the step under way on standard error.

    A terminal shows the last one beside a spinner, and nothing of it afterwards; elsewhere each is
    a line. Inside, nothing should go to standard output, which the spinner would take for its own.
    """
    if not sys.stderr.isatty():
        yield lambda text: typer.echo(text, err=True)
        return
    from rich.console import Console

    with Console(stderr=True).status("Working") as status:
        yield status.update
