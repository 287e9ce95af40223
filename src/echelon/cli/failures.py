"""How a command fails: one sentence on standard error and an exit code that says what went wrong.

2: something in the command or the table that the user can put right; 3: a model file is refused, or
the model that was saved is no better than one label for all rows; 4: output cannot be written; 130:
interrupted; 129 and 143: ended by SIGHUP or SIGTERM; 1: anything else. ``--debug``, anywhere
on the line, shows the traceback as well.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any, NoReturn

import typer

from . import install_hint
from .output import say

# Where a package is not among those of the command line itself.
_EXTRAS = {"cryptography": "sign", "pyreadstat": "survey", "python_calamine": "survey"}
DEBUG = "--debug"
# Sentences of the library on an argument begin with it.
_ARGUMENT = re.compile(r"^[a-z_]+(?= must )")
_OPTIONS = {
    "n_jobs": "jobs",
    "random_state": "seed",
    "key": "sign",
    "trusted_keys": "trusted-key",
}
UNEXPECTED, USAGE, MODEL_FILE, OUTPUT = 1, 2, 3, 4
NO_BETTER = MODEL_FILE
_ENDED = 128
INTERRUPTED = _ENDED + signal.SIGINT
# Seconds in which threads may end by themselves.
_PATIENCE = 2.0
_SIGNALS = ("SIGTERM", "SIGHUP")


class UsageError(ValueError):
    """Something that the user can put right; its text is the whole message."""


class _EndedError(BaseException):
    """A signal asked the process to end; not an Exception, so that nothing takes it for its own."""

    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def guarded() -> Iterator[None]:
    """Turn any error of a command's body into a sentence and an exit code, warnings into lines."""
    threads = set(threading.enumerate())
    try:
        with _ending_signals(), _plain_warnings():
            yield
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except BrokenPipeError:
        # The reader of a pipe, say `head`, has seen enough; Python must not write there at exit.
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        _leave(OUTPUT, threads)
    except (KeyboardInterrupt, _EndedError, Exception) as error:
        ending = _ending_signal(error)
        if ending is not None:
            interrupted = ending == signal.SIGINT
            _complain("Interrupted." if interrupted else f"Ended by {ending.name}.")
            _leave(_ENDED + ending, threads)
        if DEBUG in sys.argv:
            _complain(*traceback.format_exc().split("\n"))
        code, sentence, *more = _verdict(error)
        _complain(f"Error: {sentence}", *more)
        _leave(code, threads)


def _complain(*lines: str) -> None:
    """Say why the command ends, if anything can still be said."""
    with suppress(OSError):
        say(*lines, err=True)


def _leave(code: int, threads: set[threading.Thread]) -> NoReturn:
    """End with an exit code, even if a thread that is not one of these waits for input."""
    others = [t for t in threading.enumerate() if t not in threads and not t.daemon]
    end = time.monotonic() + _PATIENCE
    for thread in others:
        thread.join(max(0.0, end - time.monotonic()))
    if any(thread.is_alive() for thread in others):
        for stream in (sys.stdout, sys.stderr):
            with suppress(AttributeError, OSError):
                stream.flush()
        os._exit(code)
    raise typer.Exit(code) from None


@contextmanager
def _ending_signals() -> Iterator[None]:
    """Let signals that end the process do so through its clean-up: no part of a file, no worker."""

    def end(number: int, frame: FrameType | None) -> None:
        # A second one must not end the clean-up.
        signal.signal(number, signal.SIG_IGN)
        raise _EndedError(number)

    numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
    if threading.current_thread() is not threading.main_thread():
        numbers = []
    # What the caller ignores, as nohup does, stays ignored.
    numbers = [n for n in numbers if signal.getsignal(n) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


def _ending_signal(error: BaseException | None) -> signal.Signals | None:
    """The signal that an error comes from, if any.

    Until Python 3.12, one that arrives while a class is made is the cause of a RuntimeError.
    """
    while error is not None:
        if isinstance(error, KeyboardInterrupt):
            return signal.SIGINT
        if isinstance(error, _EndedError):
            return signal.Signals(error.number)
        error = error.__cause__
    return None


def _verdict(error: BaseException) -> tuple[Any, ...]:
    from echelon.tables import TableError
    from echelon.trained import ModelFileError

    text = str(error).strip()
    if isinstance(error, TableError):
        sentences = [problem.sentence.worded(flag) for problem in error.problems]
        if len(sentences) == 1:
            return USAGE, sentences[0]
        listed = [f"- {sentence}" for sentence in sentences]
        return USAGE, f"The table has {len(sentences)} problems:", *listed
    if isinstance(error, ModelFileError):
        return MODEL_FILE, text
    if isinstance(error, UsageError) or (isinstance(error, ValueError) and _is_ours(error)):
        return USAGE, _ARGUMENT.sub(lambda found: _option(found[0]), text)
    if isinstance(error, OSError):
        where = error.filename if error.filename is not None else "The output"
        return OUTPUT, f"{where} cannot be written: {error.strerror or text or 'unknown reason'}."
    if isinstance(error, ModuleNotFoundError):
        extra = _EXTRAS.get(str(error.name), "cli")
        return UNEXPECTED, f"This needs {install_hint(error.name, extra)}"
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    first = text.splitlines()[0].rstrip(".") if text else "no reason given"
    hint = "" if DEBUG in sys.argv else f" ({DEBUG} shows where)"
    return UNEXPECTED, f"{kind}{first}{hint}."


def _is_ours(error: BaseException) -> bool:
    """Whether this package raised an error, here or in a worker: then its sentence is ours."""
    # joblib gives the traceback of a worker as the text of the cause.
    remote = re.findall(r'^  File "(.+?)", line ', str(error.__cause__ or ""), re.MULTILINE)
    if remote:
        return f"{os.sep}echelon{os.sep}" in remote[-1]
    frames = list(traceback.walk_tb(error.__traceback__))
    module: str = frames[-1][0].f_globals.get("__name__", "") if frames else ""
    return module.partition(".")[0] == "echelon"


def _option(name: str) -> str:
    return f"--{_OPTIONS.get(name, name).replace('_', '-')}"


def flag(argument: Any) -> str:
    """An argument of the library as the command line writes it.

    Examples
    --------
    >>> from echelon.tables.faults import Argument
    >>> flag(Argument("drop", ["a", "long name"])), flag(Argument("drop_unlabelled", True))
    ("--drop a --drop 'long name'", '--drop-unlabelled')
    """
    option = _option(argument.name)
    if argument.value is None or argument.value is True:
        return option
    values = argument.value if isinstance(argument.value, list) else [argument.value]
    return " ".join(f"{option} {shlex.quote(str(value))}" for value in values)


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """Every warning as one line on standard error, once."""
    said = set()

    def show(message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        line = " ".join(str(message).split())
        if line not in said:
            said.add(line)
            say(f"Warning: {line}", err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield
