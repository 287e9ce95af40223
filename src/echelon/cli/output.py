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
    if needed:
        require_output()
    typer.echo("\n".join(map(printable, lines)), err=err)


def require_output() -> None:
    """Refuse to go on where standard output was closed from the start."""
    if sys.__stdout__ is None:
        raise OSError(errno.EBADF, "it is closed", "Standard output")


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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            # Libraries flush them without a look.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        if hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(errors="backslashreplace")
