"""``echelon keygen``: keys to sign model files with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .failures import guarded
from .output import say
from .values import require_places


def keygen(
    path: Annotated[
        Path,
        typer.Argument(metavar="KEY", help="File of the private key; must not be there yet."),
    ],
) -> None:
    """Make a pair of keys to sign model files with.

    The private key, which only you can read, signs: --sign KEY. The public key, KEY.pub, goes to
    those who load your files: --trusted-key KEY.pub.
    """
    with guarded():
        require_places((), key=path)
        from echelon.trained import make_keys

        private, public = make_keys(path)
        say(f"Private key, to sign with: {private}")
        say(f"Public key, to give away: {public}")
