"""The commands by name; the module of a command is imported when that command runs."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from . import COMMANDS

START = """To start with:

\b
  echelon compare reviews.csv --target rating --order "poor<fair<good" \\
    --report report.html --save model.echelon"""
EXIT_CODES = (
    "Exit codes: 0 done, 2 something to put right in the command or the table, 3 model file "
    "refused, 4 output cannot be written, 130 interrupted, 1 anything else."
)


class LazyCommands(TyperGroup):
    """Commands that are one line of help until one of them is asked for."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Put the whole command in the place of its line."""
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = whole_command(args[0])
        return super().resolve_command(ctx, args)


def whole_command(name: str) -> Any:
    """The command with its options, from the function of that name in the module of that name."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name)(getattr(import_module(f".{name}", __package__), name))
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
        import echelon

        typer.echo(f"echelon {echelon.__version__}")
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
