"""The commands by name; the module of a command is imported when that command runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from echelon._utils.messages import printable

from . import COMMANDS
from .output import say

# The error of options and arguments that do not fit, whichever click Typer is built on.
WrongWords: type[Exception] = typer.BadParameter.__mro__[1]

START = """To start with:

\b
  echelon compare reviews.csv --target rating --order "poor<fair<good" \\
    --report report.html --save model.echelon"""
EXIT_CODES = (
    "Exit codes: 0 done, 2 something to put right in the command or the table, 3 model file "
    "refused, or saved model no better than one label for all rows, 4 output cannot be written, "
    "130 interrupted, 143 ended by SIGTERM, 1 anything else."
)
OPTION_PLACE = "Options come after the command: echelon COMMAND … --option."
EXTRA = "a word too many"
_QUERIES = "Queries are for rankings: echelon rank."
# By command and what it does not take.
HINTS: dict[tuple[str | None, str | None], str] = {
    ("compare", "--qid"): _QUERIES,
    ("fit", "--qid"): _QUERIES,
    ("rank", EXTRA): "To use a saved model: echelon rank DATA --model-file MODEL.",
}


class LazyCommands(TyperGroup):
    """Commands that are one line of help until one of them is asked for."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Say where an option belongs that stands before its command."""
        with _hint(lambda error: OPTION_PLACE if _misfit(error) else None):
            return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the whole command in the place of its line."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = whole_command(args[0])
        return super().resolve_command(ctx, args)


class WholeCommand(TyperCommand):
    """A command that knows with which others it is mixed up."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Say what was probably meant by words that do not fit."""
        with _hint(lambda error: HINTS.get((self.name, _misfit(error)))):
            return super().parse_args(ctx, args)


@contextmanager
def _hint(find: Callable[[Any], str | None]) -> Iterator[None]:
    """Let an error of the line end in a hint, where there is one for it."""
    try:
        yield
    except WrongWords as error:
        hint, message = find(error), error.message  # type: ignore[attr-defined]
        worded = message if hint is None else f"{message.rstrip('.')}. {hint}"
        error.message = printable(worded)  # type: ignore[attr-defined]
        raise


def _misfit(error: Any) -> str | None:
    """The option that a command does not have, or `EXTRA`; None for errors of other kinds."""
    if hasattr(error, "possibilities"):
        return str(error.option_name)
    return EXTRA if "unexpected extra argument" in error.message else None


def whole_command(name: str) -> Any:
    """The command with its options, from the function of that name in the module of that name."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name, cls=WholeCommand)(getattr(import_module(f".{name}", __package__), name))
    return typer.main.get_command(alone)


def application() -> Any:
    """Everything after ``echelon`` on the command line."""
    app = typer.Typer(
        cls=LazyCommands,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        epilog=f"{START}\n\n{EXIT_CODES}",
    )
    app.callback()(_options)
    for name, about in COMMANDS.items():
        app.command(name, help=about)(_nothing)
    return typer.main.get_command(app)


def _nothing() -> None: ...


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        say(f"echelon {version('echelon')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True),
    ] = False,
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of a failure; anywhere on the line."),
    ] = False,
) -> None:
    """Models of ordered labels and rankings, from a table to a trusted model."""
