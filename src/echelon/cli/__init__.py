"""The command line: parse, call, print."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the ``echelon`` command."""
    try:
        import rich  # noqa: F401
        import typer
    except ImportError as missing:
        sys.exit(
            f"echelon's command line needs {missing.name}; install it with the cli extra: "
            "pip install 'echelon[cli]'."
        )
    from .compare import compare
    from .reproduce import reproduce

    app = typer.Typer(
        help="Models of ordered labels: compare them, and reproduce published tables and figures.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.command()(compare)
    app.command()(reproduce)
    app()
