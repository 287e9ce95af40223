"""How a command fails: one sentence on standard error and an exit code that says what went wrong.

2: something in the command or the table that the user can put right; 3: a model file is refused;
4: output cannot be written; 130: interrupted; 1: anything else. ``--debug``, anywhere on the line,
shows the traceback as well.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from . import install_hint

DEBUG = "--debug"
# Sentences of the library on an argument begin with it.
_ARGUMENT = re.compile(r"^[a-z_]+(?= must )")
UNEXPECTED, USAGE, MODEL_FILE, OUTPUT, INTERRUPTED = 1, 2, 3, 4, 130


class UsageError(ValueError):
    """Something that the user can put right; its text is the whole message."""


@contextmanager
def guarded() -> Iterator[None]:
    """Turn any error of a command's body into a sentence and an exit code, warnings into lines."""
    try:
        with _plain_warnings():
            yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except BrokenPipeError:
        # The reader of a pipe, say `head`, has seen enough; Python must not write there at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(OUTPUT) from None
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except Exception as error:
        if DEBUG in sys.argv:
            traceback.print_exc()
        code, sentence = _verdict(error)
        typer.echo(f"Error: {sentence}", err=True)
        raise typer.Exit(code) from None


@contextmanager
def usage_errors(*errors: type[Exception]) -> Iterator[None]:
    """Let errors of the library that the user can put right count as such, in the words of options.

    Examples
    --------
    >>> with usage_errors(ValueError):
    ...     raise ValueError("model must be 'a' or 'b'; found 'c'.")
    Traceback (most recent call last):
    echelon.cli.failures.UsageError: --model must be 'a' or 'b'; found 'c'.
    """
    try:
        yield
    except errors as error:
        worded = _ARGUMENT.sub(lambda found: f"--{found[0].replace('_', '-')}", str(error))
        raise UsageError(worded) from error


def _verdict(error: Exception) -> tuple[int, str]:
    from echelon.tables import TableError
    from echelon.trained import ModelFileError

    text = str(error).strip()
    if isinstance(error, TableError):
        return USAGE, error.worded(flag)
    if isinstance(error, UsageError):
        return USAGE, text
    if isinstance(error, ModelFileError):
        return MODEL_FILE, text
    if isinstance(error, OSError):
        where = error.filename if error.filename is not None else "The output"
        return OUTPUT, f"{where} cannot be written: {error.strerror or text or 'unknown reason'}."
    if isinstance(error, ModuleNotFoundError):
        return UNEXPECTED, f"This needs {install_hint(error.name)}"
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    first = text.splitlines()[0].rstrip(".") if text else "no reason given"
    hint = "" if DEBUG in sys.argv else f" ({DEBUG} shows where)"
    return UNEXPECTED, f"{kind}{first}{hint}."


def flag(argument: Any) -> str:
    """An argument of the library as the command line writes it.

    Examples
    --------
    >>> from echelon.tables.faults import Argument
    >>> flag(Argument("drop", ["a", "long name"])), flag(Argument("drop_unlabelled", True))
    ("--drop a --drop 'long name'", '--drop-unlabelled')
    """
    option = f"--{argument.name.replace('_', '-')}"
    if argument.value is None or argument.value is True:
        return option
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Every warning as one line on standard error, once."""
    said = set()

    def say(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in said:
            said.add(line)
            typer.echo(f"Warning: {line}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = say
        yield
