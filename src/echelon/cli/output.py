"""The one function through which commands print."""

from __future__ import annotations

import errno
import os
import sys

import typer

from echelon._utils.messages import printable


def say(*lines: str, err: bool = False, needed: bool = False) -> None:
    """Print lines, with characters written out that would act on a terminal.

    Parameters
    ----------
    *lines : str
        Names of files, columns and labels in them may hold anything.
    err : bool
        Whether to print to standard error.
    needed : bool
        Whether the lines are what the command is for: then a closed standard output is an error.
    """
    if needed and sys.stdout is None:
        raise OSError(errno.EBADF, "it is closed", "Standard output")
    typer.echo("\n".join(map(printable, lines)), err=err)


def open_streams() -> None:
    """Have a place for standard streams that are closed.

    A file that is opened later would get their number, and what is printed with it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free.
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
