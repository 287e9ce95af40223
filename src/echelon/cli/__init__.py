"""The command line: parse, call, print."""

from __future__ import annotations

import gc
import sys

COMMANDS = {
    "inspect": "Show how a table would be read, and all that is wrong with it.",
    "compare": "Compare ordinal models on a table, best first.",
    "fit": "Fit a model to a table and save it to a file.",
    "predict": "Predict the rows of a table with a saved model.",
    "evaluate": "Measure a saved model on a table with labels.",
    "explain": "Explain a saved model and its predictions.",
    "rank": "Learn to rank rows, or rank them with a saved model.",
    "info": "Show what a model file holds.",
    "keygen": "Make a pair of keys to sign model files with.",
}


def install_hint(package: str | None, extra: str = "cli") -> str:
    """What is needed, and how to get it; the end of a sentence.

    Examples
    --------
    >>> "This needs " + install_hint("rich")
    "This needs rich; install it with pip install 'echelon[cli]'."
    """
    return f"{package}; install it with pip install 'echelon[{extra}]'."


def main() -> None:
    """Run the ``echelon`` command."""
    # Looking for cycles among the many lasting objects of imports takes a fifth of the start.
    gc.set_threshold(100_000, 50, 50)
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as missing:
        sys.exit(f"echelon's command line needs {install_hint(missing.name)}")
    from .commands import application
    from .failures import DEBUG, OUTPUT
    from .output import open_streams, say

    open_streams()
    try:
        application()(args=[word for word in sys.argv[1:] if word != DEBUG], prog_name="echelon")
    except OSError as error:
        # Help and the version are printed outside of any command.
        say(f"Error: Standard output cannot be written: {error.strerror}.", err=True)
        sys.exit(OUTPUT)
